#include "linnet/run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace linnet {

GuardedMemory::GuardedMemory(size_t bytes, size_t misalignment, uint8_t fill)
    : storage_(bytes + misalignment + 2 * zone_bytes + 64, 0xC3), bytes_(bytes) {
  uintptr_t first = reinterpret_cast<uintptr_t>(storage_.data()) + zone_bytes;
  data_ = storage_.data() + zone_bytes + ((64 - first % 64) % 64 + misalignment);
  std::fill_n(data_, bytes, fill);
}

bool GuardedMemory::intact() const {
  auto untouched = [](uint8_t b) { return b == 0xC3; };
  return std::all_of(storage_.data(), static_cast<const uint8_t*>(data_), untouched) &&
         std::all_of(static_cast<const uint8_t*>(data_) + bytes_, storage_.data() + storage_.size(), untouched);
}

std::vector<TensorBytes> infer(Interpreter& net, const std::vector<TensorBytes>& inputs,
                               const std::function<void(uint32_t)>& after_step) {
  if (inputs.size() != net.input_count())
    throw Error(fmt::format("the network has {} inputs, {} were given", net.input_count(), inputs.size()));
  for (uint32_t i = 0; i < net.input_count(); ++i) {
    Tensor t = net.input(i);
    if (inputs[i].size() != t.bytes())
      throw Error(fmt::format("input {} has {} bytes, {} were given", i, t.bytes(), inputs[i].size()));
    std::memcpy(t.data<uint8_t>(), inputs[i].data(), t.bytes());
  }
  uint32_t steps = 0;
  Progress progress = Progress::more;
  if (!after_step) {
    if (!net.run().ok()) progress = Progress::failed;
  } else {
    while ((progress = net.step()) == Progress::more) after_step(++steps);
  }
  if (progress == Progress::failed) throw Error(describe(net.status(), net.where()));
  std::vector<TensorBytes> outputs;
  for (uint32_t i = 0; i < net.output_count(); ++i) {
    Tensor t = net.output(i);
    outputs.emplace_back(t.data<uint8_t>(), t.data<uint8_t>() + t.bytes());
  }
  return outputs;
}

uint32_t crc32(Bytes bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xEDB88320u ^ (c >> 1) : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  uint32_t crc = 0xFFFFFFFFu;
  for (uint8_t b : bytes) crc = table[(crc ^ b) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

std::vector<NodeCrc> node_crcs(const BuiltProgram& program, const KernelTable& kernels, const std::vector<TensorBytes>& inputs,
                               Bytes model) {
  GuardedMemory arena(program.arena_bytes_ready());
  Interpreter net;
  Resources resources;
  resources.model = model;
  if (Status s = net.init({program.bytes.data(), program.bytes.size()}, kernels, arena.span(), resources); !s.ok())
    throw Error(describe(s, net.where()));
  std::vector<NodeCrc> crcs;
  size_t next = 0;
  auto collect = [&](uint32_t steps) {
    for (; next < program.nodes.size() && program.nodes[next].end_step <= steps; ++next)
      for (const NodeOutput& output : program.nodes[next].outputs) {
        const uint8_t* data = net.address(output.place);
        crcs.push_back({program.nodes[next].subgraph, program.nodes[next].node, output.tensor, output.bytes,
                        crc32({data, output.bytes})});
        break;
      }
  };
  infer(net, inputs, [&](uint32_t steps) { collect(steps); });
  return crcs;
}

}  // namespace linnet
