// Seam: chains of layers computed in bands of rows through rolling buffers give the bits of the whole-layer run.
#include "tests/seams/support.h"

namespace linnet::seams {
namespace {

using graph::NetworkBuilder;

// One nest over bands; the buffers between the layers hold a few rows.
std::vector<uint8_t> in_bands(const InCore& in_core, const BuildTable& table, const std::vector<int32_t>& bands) {
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

struct Case {
  Type type;
  int32_t rows;
};
class Bands : public ::testing::TestWithParam<Case> {
 protected:
  // 3x3 stride 2, depthwise 3x3, 1x1: the start of a MobileNet.
  NetworkBuilder mobile_start() {
    NetworkBuilder n(7);
    graph::Quantization q = GetParam().type == Type::float32 ? graph::Quantization{} : graph::per_tensor(0.05f, GetParam().type == Type::int8 ? -3 : 0);
    int x = n.input(GetParam().type, {1, GetParam().rows, 10, 3}, q);
    x = n.conv_2d(x, {.channels = 8, .kernel = {3, 3}, .stride = {2, 2}, .activation = graph::Activation::relu});
    x = n.depthwise_conv_2d(x, {.channels = 8, .kernel = {3, 3}, .activation = graph::Activation::relu6});
    n.output(n.conv_2d(x, {.channels = 6}));
    return n;
  }
};

TEST_P(Bands, AConvolutionADepthwiseAndAPointwiseOneInBandsGiveTheBitsOfWholeLayers) {
  NetworkBuilder n = mobile_start();
  InCore in_core(n, all_table());
  for (int32_t band : {1, 2, 3, 7}) {
    std::vector<uint8_t> program = in_bands(in_core, all_table(), {band, band, band});
    EXPECT_EQ(run_program(program, all_table(), in_core.inputs), in_core.outputs) << "bands of " << band;
  }
}

TEST_P(Bands, StridesDeepInTheChainAndBandsOfUnequalHeightGiveTheSameBits) {
  NetworkBuilder n(3);
  int x = n.input(GetParam().type, {1, GetParam().rows, 6, 2}, GetParam().type == Type::float32 ? graph::Quantization{} : graph::per_tensor(0.1f));
  x = n.conv_2d(x, {.channels = 4, .kernel = {5, 3}, .padding = graph::Padding::same});
  x = n.max_pool_2d(x, {.kernel = {2, 2}, .stride = {2, 2}, .padding = graph::Padding::same});
  n.output(n.conv_2d(x, {.channels = 3, .kernel = {3, 3}, .stride = {2, 1}}));
  InCore in_core(n, all_table());
  for (int32_t band : {1, 2}) {
    std::vector<uint8_t> program = in_bands(in_core, all_table(), {4 * band, 2 * band, band});
    EXPECT_EQ(run_program(program, all_table(), in_core.inputs), in_core.outputs) << "bands of " << band;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Bands, ::testing::Values(Case{Type::int8, 21}, Case{Type::int8, 8}, Case{Type::float32, 21}, Case{Type::float32, 17}, Case{Type::int16, 13}));

TEST(BandsOfRows, TakeLessMemoryThanWholeLayers) {
  NetworkBuilder n(7);
  int x = n.input(Type::int8, {1, 64, 32, 3}, graph::per_tensor(0.05f));
  x = n.conv_2d(x, {.channels = 16, .kernel = {3, 3}});
  x = n.depthwise_conv_2d(x, {.channels = 16, .kernel = {3, 3}});
  n.output(n.conv_2d(x, {.channels = 1}));
  InCore in_core(n, all_table());
  std::vector<uint8_t> program = in_bands(in_core, all_table(), {2, 2, 2});
  EXPECT_EQ(run_program(program, all_table(), in_core.inputs), in_core.outputs);
  uint32_t banded = reinterpret_cast<const Header*>(program.data())->arena_bytes;
  EXPECT_LT(banded, in_core.program.header().arena_bytes / 4);
}

}  // namespace
}  // namespace linnet::seams
