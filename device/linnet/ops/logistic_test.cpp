#include "linnet/ops/logistic.h"

#include <cmath>

#include "linnet/graph/network_builder.h"
#include "linnet/ops/leaky_relu.h"
#include "linnet/ops/tanh.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using graph::per_tensor;

TEST(Sigmoids, Int8IsWithinAStepOfTheRealFunctionForEveryInput) {
  std::vector<int8_t> x(256);
  for (int i = 0; i < 256; ++i) x[static_cast<size_t>(i)] = static_cast<int8_t>(i - 128);
  NetworkBuilder n(1);
  int in = n.input(Type::int8, {256}, per_tensor(0.05f, 4));
  n.output(n.logistic(in));
  n.output(n.tanh(in));
  auto out = test::run_model(n.write(), {test::to_bytes(x)});
  for (size_t i = 0; i < 256; ++i) {
    double real = 0.05 * (x[i] - 4);
    EXPECT_NEAR(test::from_bytes<int8_t>(out.at(0))[i], std::min(127.0, 256 / (1 + std::exp(-real)) - 128), 1);
    EXPECT_NEAR(test::from_bytes<int8_t>(out.at(1))[i], std::min(127.0, 128 * std::tanh(real)), 1);
  }
}

template <class Logistic, class Tanh, class Leaky>
void check(Type type) {
  NetworkBuilder n(3);
  auto q = type == Type::float32 ? graph::Quantization{} : per_tensor(type == Type::int8 ? 0.05f : 1 / 4096.f, type == Type::int8 ? 4 : 0);
  int x = n.input(type, {2, 3, 4, 5}, q);
  n.output(n.logistic(x));
  n.output(n.tanh(x));
  n.output(n.leaky_relu(x, 0.3f, q));
  std::vector<TensorBytes> inputs = {n.random_input(x)};
  auto file = n.write();
  test::run_model(file, inputs);
  test::check_blocks<Logistic>(file, inputs);
  test::check_blocks<Tanh>(file, inputs);
  test::check_blocks<Leaky>(file, inputs);
  test::check_lags<Logistic>(file, inputs, type == Type::float32);  // saturated results may survive an overwritten input
  test::check_lags<Tanh>(file, inputs, type == Type::float32);
  test::check_lags<Leaky>(file, inputs);
}

TEST(Sigmoids, BlocksAndOverlapGiveTheSameBits) {
  check<ops::logistic::Float, ops::tanh::Float, ops::leaky_relu::Float>(Type::float32);
  check<ops::logistic::Int<int8_t>, ops::tanh::Int<int8_t>, ops::leaky_relu::Int<int8_t>>(Type::int8);
  check<ops::logistic::Int<int16_t>, ops::tanh::Int<int16_t>, ops::leaky_relu::Int<int16_t>>(Type::int16);
}

TEST(Sigmoids, RefuseOutputsOfAnotherScale) {
  NetworkBuilder n(1);
  int y = n.logistic(n.input(Type::int8, {4}, per_tensor(0.05f, 4)));
  n.tensor(y).quantization = per_tensor(1 / 128.f, -128);
  n.output(y);
  EXPECT_NE(test::refusal(n.write()).find("usual scale"), std::string::npos);
}

}  // namespace
}  // namespace linnet
