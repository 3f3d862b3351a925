// A chain of layers rewritten to run in bands of rows.
#pragma once
#include "tests/seams/support.h"

namespace linnet::seams {

// One nest over bands; the buffers between the layers hold a few rows.
inline std::vector<uint8_t> in_bands(const InCore& in_core, const BuildTable& table, const std::vector<int32_t>& bands) {
  auto layers = plan::layer_steps(in_core.program, *table.kernels);
  plan::Chain chain = plan::plan_chain(layers, bands);
  plan::ProgramWriter program(in_core.program);
  const Header& header = in_core.program.header();
  auto* in_port = ports_of(in_core.program.bytes.data(), header.inputs);
  auto* out_port = ports_of(in_core.program.bytes.data(), header.outputs);

  plan::NestBuilder nest({chain.trips});
  uint32_t input = nest.take(in_port->bytes), output = nest.take(out_port->bytes);
  std::vector<int> runs;
  for (size_t i = 0; i < layers.size(); ++i) runs.push_back(nest.run(layers[i], {.y = chain.rows[i]}));
  for (size_t i = 0; i < layers.size(); ++i) {
    int out = 0;
    while (layers[i].operand(out).role != role_out) ++out;
    if (i == 0) nest.buffer(runs[i], 0, {input, region_arena, role_in, 0});
    if (i + 1 == layers.size()) {
      nest.buffer(runs[i], out, {output, region_arena, role_out, 0});
    } else {
      const View& dense = layers[i].views[static_cast<size_t>(out)];
      uint32_t bytes = static_cast<uint32_t>(chain.rolling_rows[i] * dense.stride[1]) * layers[i].extents[static_cast<size_t>(out)].element_bytes;
      Operand place = {nest.take(bytes), region_arena, role_out, 0};
      nest.buffer(runs[i], out, place, chain.rolling_rows[i]);
      nest.buffer(runs[i + 1], chain.inputs[i], place, chain.rolling_rows[i]);
    }
    nest.compute(runs[i]);
  }
  program.header().arena_bytes = 0;
  program.add(nest);
  std::vector<uint8_t> bytes = program.finish();
  reinterpret_cast<Port*>(bytes.data() + header.inputs.offset)->place.offset = input;
  reinterpret_cast<Port*>(bytes.data() + header.outputs.offset)->place.offset = output;
  return bytes;
}

}  // namespace linnet::seams
