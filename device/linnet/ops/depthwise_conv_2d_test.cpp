#include "linnet/ops/depthwise_conv_2d.h"

#include "tests/support/convolution_check.h"

namespace linnet {
namespace {

using graph::Activation;
using graph::ConvSpec;
using graph::NetworkBuilder;
using graph::Padding;
using graph::per_tensor;
using test::AddOperator;

AddOperator depthwise(const ConvSpec& spec) {
  return [spec](NetworkBuilder& n, int x) { return n.depthwise_conv_2d(x, spec); };
}

const ConvSpec shapes[] = {
    {.channels = 3, .kernel = {3, 3}},
    {.channels = 6, .kernel = {2, 3}, .stride = {2, 1}, .padding = Padding::valid, .activation = Activation::relu},
    {.channels = 9, .kernel = {3, 2}, .stride = {1, 2}, .dilation = {2, 3}, .activation = Activation::relu6},
    {.channels = 3, .kernel = {1, 1}, .stride = {2, 2}, .activation = Activation::relu_n1_to_1, .per_channel = false},
};

template <class C>
void check_shapes(Type type, Type bias = Type::none) {
  for (ConvSpec spec : shapes) {
    spec.bias_type = bias;
    test::check_blocks_and_batches<C>(type, {2, 6, 7, 3}, depthwise(spec));
    spec.activation = Activation::none;
    test::check_overlap<C>(type, {2, 6, 7, 3}, depthwise(spec));
  }
}

TEST(DepthwiseConv2D, EachChannelHasItsOwnFilters) {
  NetworkBuilder n;
  int x = n.input(Type::float32, {1, 1, 2, 2});
  int filter = n.constant<float>(Type::float32, {1, 1, 2, 4}, {1, 10, 100, 1000, 2, 20, 200, 2000});
  int bias = n.constant<float>(Type::float32, {4}, {0, 0.5f, 0, -0.5f});
  n.output(n.depthwise_conv_2d(x, {.channels = 4, .kernel = {1, 2}, .padding = Padding::valid, .filter = filter, .bias = bias}));
  EXPECT_EQ((test::run_single<float>(n.write(), {1, 2, 3, 4})), (std::vector<float>{7, 70.5f, 1000, 9999.5f}));
}

TEST(DepthwiseConv2D, FloatInBlocksAndInPlace) { check_shapes<ops::depthwise_conv_2d::Float>(Type::float32); }
TEST(DepthwiseConv2D, Int8InBlocksAndInPlace) { check_shapes<ops::depthwise_conv_2d::Int8>(Type::int8); }
TEST(DepthwiseConv2D, Int16InBlocksAndInPlace) {
  check_shapes<ops::depthwise_conv_2d::Int16Wide>(Type::int16);
  check_shapes<ops::depthwise_conv_2d::Int16Wide>(Type::int16, Type::int32);
}
TEST(DepthwiseConv2D, HybridInBlocks) {
  for (ConvSpec spec : shapes) {
    spec.weights = Type::int8;
    test::check_blocks_and_batches<ops::depthwise_conv_2d::Hybrid>(Type::float32, {2, 6, 7, 3}, depthwise(spec));
  }
}

// A 3x3 filter with SAME padding and stride 1 stays a row and a pixel behind: here 3 channels, rows of 7 pixels.
TEST(DepthwiseConv2D, StaysARowAndAPixelBehind) {
  ops::depthwise_conv_2d::Int8::Params p{{{6, 6, 3, 1, 1, 1}, {7, 7, 3, 1, 1, 1}, 1, 3, 1}, {0, 0, {-128, 127}, 0}};
  Lag lag = ops::depthwise_conv_2d::Int8::lag(p, ops::sum_input, ops::sum_output);
  EXPECT_EQ(lag.forward, (7 + 1) * 3);
  EXPECT_EQ(lag.backward, (7 + 1) * 3);
}

TEST(DepthwiseConv2D, AbsentBiasIsZeros) {
  ConvSpec spec{.channels = 4, .kernel = {2, 2}};
  test::check_optional_bias(Type::float32, {1, 3, 3, 2}, depthwise(spec));
  test::check_optional_bias(Type::int8, {1, 3, 3, 2}, depthwise(spec));
  test::check_optional_bias(Type::int16, {1, 3, 3, 2}, depthwise(spec));
  spec.bias_type = Type::int32;
  test::check_optional_bias(Type::int16, {1, 3, 3, 2}, depthwise(spec));
  spec.bias_type = Type::none;
  spec.weights = Type::int8;
  test::check_optional_bias(Type::float32, {1, 3, 3, 2}, depthwise(spec));
}

TEST(DepthwiseConv2D, RefusesWhatItDoesNotCover) {
  auto message = [](const std::function<void(NetworkBuilder&, int filter)>& change) {
    NetworkBuilder n;
    int x = n.input(Type::int8, {1, 4, 4, 2}, per_tensor(0.1f));
    n.output(n.depthwise_conv_2d(x, {.channels = 4, .kernel = {2, 2}}));
    change(n, n.last_operator().inputs[1]);
    return test::refusal(n.write());
  };
  for (int32_t hostile : {0, -1, INT32_MIN, 65536, INT32_MAX})
    for (uint8_t field : std::initializer_list<uint8_t>{1, 2, 5, 6})
      EXPECT_NE(message([&](NetworkBuilder& n, int) {
                  std::erase_if(n.last_operator().options, [&](const graph::Option& o) { return o.field == field; });
                  n.last_operator().options.push_back({field, hostile});
                }).find("make no sense"), std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, int f) { n.tensor(f).shape = {2, 2, 2, 2}, n.tensor(f).quantization = per_tensor(1); }).find("four dimensions"),
            std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, int f) { n.tensor(f).shape = {1, 2, 2, 3}, n.tensor(f).data.resize(12), n.tensor(f).quantization = per_tensor(1); }).find("multiple"),
            std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, int f) { n.tensor(f).quantization = graph::per_channel({1, 1}, 1); }).find("one for each output channel"),
            std::string::npos);
}

}  // namespace
}  // namespace linnet
