// Seam: chains of layers computed in bands of rows through rolling buffers give the bits of the whole-layer run.
#include "tests/seams/bands.h"

namespace linnet::seams {
namespace {

using graph::NetworkBuilder;

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
