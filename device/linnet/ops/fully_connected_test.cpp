#include "linnet/ops/fully_connected.h"

#include "tests/support/convolution_check.h"

namespace linnet {
namespace {

using graph::Activation;
using graph::ConvSpec;
using graph::NetworkBuilder;
using graph::per_tensor;
using test::AddOperator;

AddOperator dense(const ConvSpec& spec) {
  return [spec](NetworkBuilder& n, int x) { return n.fully_connected(x, spec); };
}

template <class C>
void check_sizes(Type type, Type bias = Type::none) {
  for (int units : {1, 3, 11})
    for (int depth : {1, 5, 8}) {
      ConvSpec spec{.channels = units, .activation = Activation::relu, .bias_type = bias, .per_channel = units != 3};
      test::check_blocks_and_batches<C>(type, {3, depth}, dense(spec));
      spec.activation = Activation::none;
      test::check_overlap<C>(type, {3, depth}, dense(spec));
    }
}

TEST(FullyConnected, FloatInBlocksAndInPlace) { check_sizes<ops::fully_connected::Float>(Type::float32); }
TEST(FullyConnected, Int8InBlocksAndInPlace) { check_sizes<ops::fully_connected::Int8>(Type::int8); }
TEST(FullyConnected, Int16InBlocksAndInPlace) {
  check_sizes<ops::fully_connected::Int16Wide>(Type::int16);
  check_sizes<ops::fully_connected::Int16>(Type::int16, Type::int32);
}
TEST(FullyConnected, HybridInBlocks) {
  for (bool asymmetric : {false, true})
    test::check_blocks_and_batches<ops::fully_connected::Hybrid>(Type::float32, {3, 9}, [&](NetworkBuilder& n, int x) {
      int y = n.fully_connected(x, {.channels = 4, .weights = Type::int8});
      n.last_operator().options.push_back({3, asymmetric});
      return y;
    });
}

TEST(FullyConnected, EachChannelHasItsOwnScale) {
  NetworkBuilder n;
  int x = n.input(Type::int8, {1, 2}, per_tensor(0.5f));
  int weights = n.constant<int8_t>(Type::int8, {2, 2}, {2, 1, 2, 1}, graph::per_channel({0.5f, 0.25f}, 0));
  n.output(n.fully_connected(x, {.channels = 2, .filter = weights, .bias = graph::absent}, per_tensor(0.25f, -1)));
  EXPECT_EQ((test::run_single<int8_t>(n.write(), {10, -4})), (std::vector<int8_t>{15, 7}));
  for (const std::vector<float>& scales : {std::vector<float>{0.5f, 0.25f, 0.125f}, std::vector<float>{}}) {
    NetworkBuilder wrong = n;
    wrong.tensor(weights).quantization = graph::per_channel(scales, 0);
    EXPECT_FALSE(test::refusal(wrong.write()).empty());
  }
}

// The sum of 520 products passes 2^31; it must not wrap where the bias does not say that it may.
TEST(FullyConnected, Int16SumsOfManyColumnsDoNotWrap) {
  NetworkBuilder n;
  int x = n.input(Type::int16, {1, 520}, per_tensor(1.0f / 1024));
  int weights = n.constant(Type::int8, {1, 520}, std::vector<int8_t>(520, 127), per_tensor(1.0f / 128));
  n.output(n.fully_connected(x, {.channels = 1, .filter = weights, .bias = graph::absent}, per_tensor(1.0f)));
  int16_t y = test::run_single<int16_t>(n.write(), std::vector<int16_t>(520, 32767)).at(0);
  EXPECT_TRUE(y == 16509 || y == 16510) << y;
}

TEST(FullyConnected, RanksOfInputAndOutputDoNotMatter) {
  std::vector<TensorBytes> outputs;
  for (const std::vector<int32_t>& shape : {std::vector<int32_t>{2, 12}, {2, 1, 1, 12}, {1, 2, 12}, {2, 3, 4}, {24}}) {
    test::Single s = test::single_operator(Type::int8, shape, [](NetworkBuilder& n, int x) {
      auto values = n.random_constant(Type::int8, {5, 12}, per_tensor(0.02f));
      int y = n.fully_connected(x, {.channels = 5, .filter = values, .bias = graph::absent}, per_tensor(0.2f));
      n.tensor(y).shape = {2, 5};
      return y;
    });
    outputs.push_back(test::run_model(s.file, {s.input}).at(0));
    EXPECT_EQ(outputs.back(), outputs.front());
  }
  // keep_num_dims
  test::Single s = test::single_operator(Type::float32, {2, 3, 1, 4}, dense({.channels = 5, .keep_dims = true}));
  EXPECT_EQ(test::run_model(s.file, {s.input}).at(0).size(), 2u * 3 * 5 * 4);
}

TEST(FullyConnected, AbsentBiasIsZeros) {
  ConvSpec spec{.channels = 4};
  test::check_optional_bias(Type::float32, {2, 7}, dense(spec));
  test::check_optional_bias(Type::int8, {2, 7}, dense(spec));
  test::check_optional_bias(Type::int16, {2, 7}, dense(spec));
  spec.bias_type = Type::int32;
  test::check_optional_bias(Type::int16, {2, 7}, dense(spec));
  spec.bias_type = Type::none;
  spec.weights = Type::int8;
  test::check_optional_bias(Type::float32, {2, 7}, dense(spec));
}

// 0.1 * 0.3 as floats is not 0.1 * 0.3 as doubles; the multiplier's 31 bits show it.
TEST(FullyConnected, OneScaleIsMultipliedAsFloat) {
  float in = 0.1f, weights = 0.3f, out = 0.7f;
  QuantizedMultiplier expected = quantize_multiplier(divide(in * weights, out));
  QuantizedMultiplier exact = quantize_multiplier(divide(real(in) * real(weights), out));
  ASSERT_NE(expected.multiplier, exact.multiplier);
  NetworkBuilder n;
  int x = n.input(Type::int8, {1, 1}, per_tensor(in));
  int w = n.constant<int8_t>(Type::int8, {1, 1}, {1}, per_tensor(weights));
  n.output(n.fully_connected(x, {.channels = 1, .filter = w, .bias = graph::absent}, per_tensor(out)));
  auto steps = test::capture_steps<ops::fully_connected::Int8>(n.write(), {TensorBytes(1)});
  EXPECT_EQ(test::from_bytes<int32_t>(steps.at(0).before[ops::sum_own]).at(0), expected.multiplier);
}

TEST(FullyConnected, RefusesWhatItDoesNotCover) {
  auto message = [](const std::function<void(NetworkBuilder&, graph::OperatorSpec&)>& change) {
    NetworkBuilder n;
    int x = n.input(Type::int8, {2, 6}, per_tensor(0.1f));
    n.output(n.fully_connected(x, {.channels = 4}));
    change(n, n.last_operator());
    return test::refusal(n.write());
  };
  EXPECT_NE(message([](NetworkBuilder&, graph::OperatorSpec& op) { op.options.push_back({1, int8_t{1}}); }).find("format"), std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, graph::OperatorSpec& op) { n.tensor(op.outputs[0]).shape = {2, 5}; }).find("another shape"), std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, graph::OperatorSpec& op) { n.tensor(op.inputs[0]).shape = {2, 7}; }).find("rows as long"), std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, graph::OperatorSpec& op) { n.tensor(op.inputs[2]).shape = {3}, n.tensor(op.inputs[2]).data.resize(12), n.tensor(op.inputs[2]).quantization = {}; }).find("bias"),
            std::string::npos);
}

}  // namespace
}  // namespace linnet
