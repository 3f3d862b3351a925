#include "linnet/ops/conv_2d.h"

#include "tests/support/convolution_check.h"

namespace linnet {
namespace {

using graph::Activation;
using graph::ConvSpec;
using graph::NetworkBuilder;
using graph::Padding;
using graph::per_tensor;
using test::AddOperator;

AddOperator conv(const ConvSpec& spec) {
  return [spec](NetworkBuilder& n, int x) { return n.conv_2d(x, spec); };
}

const ConvSpec shapes[] = {
    {.channels = 5, .kernel = {3, 3}},
    {.channels = 4, .kernel = {2, 3}, .stride = {2, 1}, .padding = Padding::valid, .activation = Activation::relu},
    {.channels = 7, .kernel = {3, 2}, .stride = {1, 3}, .dilation = {2, 2}, .activation = Activation::relu6},
    {.channels = 1, .kernel = {1, 1}, .activation = Activation::relu_n1_to_1},
    {.channels = 3, .kernel = {4, 4}, .stride = {3, 3}, .per_channel = false},
};

TEST(Conv2D, SumsWhatTheFilterCovers) {
  NetworkBuilder n;
  int x = n.input(Type::float32, {1, 3, 3, 1});
  int filter = n.constant<float>(Type::float32, {1, 2, 2, 1}, {1, 10, 100, 1000});
  int bias = n.constant<float>(Type::float32, {1}, {0.5f});
  n.output(n.conv_2d(x, {.channels = 1, .kernel = {2, 2}, .filter = filter, .bias = bias}));
  n.output(n.conv_2d(x, {.channels = 1, .kernel = {2, 2}, .stride = {2, 2}, .padding = Padding::valid, .filter = filter, .bias = bias}));
  auto out = test::run_model(n.write(), {test::to_bytes<float>({1, 2, 3, 4, 5, 6, 7, 8, 9})});
  EXPECT_EQ(test::from_bytes<float>(out.at(0)),
            (std::vector<float>{5421.5f, 6532.5f, 603.5f, 8754.5f, 9865.5f, 906.5f, 87.5f, 98.5f, 9.5f}));
  EXPECT_EQ(test::from_bytes<float>(out.at(1)), (std::vector<float>{5421.5f}));
}

template <class C>
void check_shapes(Type type, std::vector<int32_t> shape, Type bias = Type::none) {
  for (ConvSpec spec : shapes) {
    spec.bias_type = bias;
    test::check_blocks_and_batches<C>(type, shape, conv(spec));
    spec.activation = Activation::none;
    test::check_overlap<C>(type, shape, conv(spec));
  }
}

TEST(Conv2D, FloatInBlocksAndInPlace) { check_shapes<ops::conv_2d::Float>(Type::float32, {3, 6, 7, 2}); }
TEST(Conv2D, Int8InBlocksAndInPlace) { check_shapes<ops::conv_2d::Int8>(Type::int8, {3, 6, 7, 3}); }
TEST(Conv2D, Int16InBlocksAndInPlace) {
  check_shapes<ops::conv_2d::Int16Wide>(Type::int16, {2, 6, 7, 2});
  check_shapes<ops::conv_2d::Int16>(Type::int16, {2, 6, 7, 2}, Type::int32);
}
TEST(Conv2D, HybridInBlocks) {
  for (ConvSpec spec : shapes) {
    spec.weights = Type::int8;
    test::check_blocks_and_batches<ops::conv_2d::Hybrid>(Type::float32, {3, 6, 7, 2}, conv(spec));
  }
}

TEST(Conv2D, GroupsSeeTheirOwnChannels) {
  AddOperator grouped = [](NetworkBuilder& n, int x) {
    ConvSpec spec{.channels = 6, .kernel = {2, 2}};
    bool quantized = n.tensor(x).type != Type::float32;
    spec.filter = n.random_constant(quantized ? Type::int8 : Type::float32, {6, 2, 2, 2},
                                    quantized ? graph::per_channel({0.01f, 0.02f, 0.03f, 0.01f, 0.02f, 0.03f}, 0) : graph::Quantization{});
    return n.conv_2d(x, spec);
  };
  test::check_blocks_and_batches<ops::conv_2d::Int8>(Type::int8, {2, 4, 5, 6}, grouped);
  test::check_blocks_and_batches<ops::conv_2d::Float>(Type::float32, {2, 4, 5, 6}, grouped);
  test::check_overlap<ops::conv_2d::Int8>(Type::int8, {2, 4, 5, 6}, grouped);
  test::check_overlap<ops::conv_2d::Float>(Type::float32, {2, 4, 5, 6}, grouped);
  // One channel in each group: a depthwise convolution.
  NetworkBuilder n(7);
  int x = n.input(Type::float32, {1, 4, 4, 2});
  int own = n.constant<float>(Type::float32, {2, 1, 2, 1}, {1, 2, 3, 4});
  int across = n.constant<float>(Type::float32, {1, 1, 2, 2}, {1, 3, 2, 4});
  n.output(n.conv_2d(x, {.channels = 2, .kernel = {1, 2}, .filter = own, .bias = graph::absent}));
  n.output(n.depthwise_conv_2d(x, {.channels = 2, .kernel = {1, 2}, .filter = across, .bias = graph::absent}));
  auto out = test::run_model(n.write(), {n.random_input(x)});
  EXPECT_EQ(out.at(0), out.at(1));
}

TEST(Conv2D, AbsentBiasIsZeros) {
  ConvSpec spec{.channels = 3, .kernel = {2, 2}};
  test::check_optional_bias(Type::float32, {1, 3, 3, 2}, conv(spec));
  test::check_optional_bias(Type::int8, {1, 3, 3, 2}, conv(spec));
  test::check_optional_bias(Type::int16, {1, 3, 3, 2}, conv(spec));
  spec.bias_type = Type::int32;
  test::check_optional_bias(Type::int16, {1, 3, 3, 2}, conv(spec));
  spec.bias_type = Type::none;
  spec.weights = Type::int8;
  test::check_optional_bias(Type::float32, {1, 3, 3, 2}, conv(spec));
}

// What is quantised by one scale for all channels equals the same scale given for each.
TEST(Conv2D, OneScaleIsTheSameScaleForEachChannel) {
  std::vector<TensorBytes> outputs;
  for (bool per_channel : {false, true}) {
    test::Single s = test::single_operator(Type::int8, {1, 4, 4, 3}, [&](NetworkBuilder& n, int x) {
      auto scales = per_channel ? graph::per_channel({0.02f, 0.02f, 0.02f}, 0) : per_tensor(0.02f);
      int filter = n.random_constant(Type::int8, {3, 3, 3, 3}, scales);
      int bias = n.random_constant(Type::int32, {3}, scales);
      return n.conv_2d(x, {.channels = 3, .kernel = {3, 3}, .filter = filter, .bias = bias}, per_tensor(0.3f, -4));
    });
    outputs.push_back(test::run_model(s.file, {s.input}).at(0));
  }
  EXPECT_EQ(outputs[0], outputs[1]);
}

TEST(Conv2D, HybridRoundsTheInputToItsRange) {
  NetworkBuilder n;
  int x = n.input(Type::float32, {2, 1, 1, 2});
  int filter = n.constant<int8_t>(Type::int8, {1, 1, 1, 2}, {2, 1}, per_tensor(0.5f));
  n.output(n.conv_2d(x, {.channels = 1, .filter = filter, .bias = graph::absent}));
  // 127 quantises to 127, 1.4 to 1; the second batch has a range of its own; a batch of zeros stays zero.
  EXPECT_EQ((test::run_single<float>(n.write(), {127, 1.4f, 12.7f, 1.4f})), (std::vector<float>{127.5f, (2 * 127 + 14) * (12.7f / 127 * 0.5f)}));
  EXPECT_EQ((test::run_single<float>(n.write(), {0, 0, 0, 0})), (std::vector<float>{0, 0}));
}

TEST(Conv2D, RefusesWhatItDoesNotCover) {
  auto message = [](const std::function<void(NetworkBuilder&, int filter)>& change) {
    NetworkBuilder n;
    int x = n.input(Type::int8, {1, 4, 4, 4}, per_tensor(0.1f));
    n.output(n.conv_2d(x, {.channels = 4, .kernel = {2, 2}}));
    change(n, n.last_operator().inputs[1]);
    return test::refusal(n.write());
  };
  auto option = [&](uint8_t field, auto value) {
    return message([&](NetworkBuilder& n, int) {
      auto& options = n.last_operator().options;
      std::erase_if(options, [&](const graph::Option& o) { return o.field == field; });
      options.push_back({field, value});
    });
  };
  for (int32_t hostile : {0, -1, INT32_MIN, 65536, INT32_MAX})
    for (uint8_t field : std::initializer_list<uint8_t>{1, 2, 4, 5}) EXPECT_NE(option(field, hostile).find("make no sense"), std::string::npos) << int{field} << hostile;
  EXPECT_NE(option(0, int8_t{2}).find("make no sense"), std::string::npos);
  EXPECT_NE(option(3, int8_t{4}).find("RELU6 only"), std::string::npos);
  EXPECT_NE(option(3, int8_t{-1}).find("RELU6 only"), std::string::npos);
  EXPECT_NE(option(1, int32_t{2}).find("another shape"), std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, int f) { n.tensor(f).quantization.scales.resize(3), n.tensor(f).quantization.zero_points.resize(3); }).size(), 0u);
  EXPECT_NE(message([](NetworkBuilder& n, int f) { n.tensor(f).quantization.zero_points.assign(4, 1); }).find("zero points of 0"), std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, int f) { n.tensor(f).quantization = {}; }).find("no scales"), std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, int f) { n.tensor(f).shape = {4, 2, 2, 3}, n.tensor(f).data.resize(48); }).find("multiple"), std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, int f) { n.tensor(f).shape = {4, 4, 4}, n.tensor(f).quantization = per_tensor(1); }).find("four dimensions"),
            std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, int) { n.last_operator().version = 9; }).find("version"), std::string::npos);
}

// The steps between taps are never taken where there is one tap; they must not overflow either.
TEST(Conv2D, OneTapMayHaveAnyDilation) {
  auto output = [](std::array<int, 2> dilation) {
    NetworkBuilder n(2);
    int x = n.input(Type::int8, {1, 1, 300, 200}, per_tensor(0.1f));
    n.output(n.conv_2d(x, {.channels = 1, .kernel = {1, 1}, .dilation = dilation, .padding = graph::Padding::valid}));
    return test::run_model(n.write(), {n.random_input(x)});
  };
  EXPECT_EQ(output({65535, 65535}), output({1, 1}));
}

// No parameters that `check` lets through may make a kernel leave the bytes that it names or overflow: here it refuses.
TEST(Conv2D, CheckRefusesHostileParameters) {
  using C = ops::conv_2d::Int8;
  C::Params good = {{{4, 4, 3, 1, 1, 1}, {4, 4, 3, 1, 1, 1}, 1, 4, 4, 4}, {0, 0, {-128, 127}, -1}};
  Extent extents[max_operands];
  ASSERT_TRUE(C::check(good, extents, 7));
  EXPECT_FALSE(C::check(good, extents, 6));
  auto refused = [&](auto change) {
    C::Params p = good;
    change(p);
    return !C::check(p, extents, 7);
  };
  EXPECT_TRUE(refused([](C::Params& p) { p.shape.group_channels = 0; }));
  EXPECT_TRUE(refused([](C::Params& p) { p.shape.group_channels = 3; }));
  EXPECT_TRUE(refused([](C::Params& p) { p.shape.out_channels = 3, p.shape.group_channels = 2; }));
  EXPECT_TRUE(refused([](C::Params& p) { p.shape.batches = -1; }));
  EXPECT_TRUE(refused([](C::Params& p) { p.shape.y.stride = 0; }));
  EXPECT_TRUE(refused([](C::Params& p) { p.shape.y.dilation = 0; }));
  EXPECT_TRUE(refused([](C::Params& p) { p.shape.x.filter = 0; }));
  EXPECT_TRUE(refused([](C::Params& p) { p.shape.x.output = INT32_MAX; }));
  EXPECT_TRUE(refused([](C::Params& p) { p.shape.x.input = INT32_MAX; }));
  EXPECT_TRUE(refused([](C::Params& p) { p.shape.in_channels = p.shape.group_channels = INT32_MAX; }));
  EXPECT_TRUE(refused([](C::Params& p) { p.sums.channel_mask = 3; }));
}

}  // namespace
}  // namespace linnet
