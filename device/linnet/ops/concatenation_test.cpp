#include "linnet/ops/concatenation.h"

#include "linnet/graph/network_builder.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using graph::per_tensor;

// Any rank, axis and number of inputs: each output element is found in its input by plain index arithmetic.
template <class T>
void concatenate(Type type, std::vector<int32_t> shape, int axis, std::vector<int32_t> lengths) {
  NetworkBuilder n(3);
  std::vector<int> inputs;
  std::vector<TensorBytes> data;
  int32_t outer = 1, inner = 1, total = 0;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d)
    if (d != axis) (d < axis ? outer : inner) *= shape[static_cast<size_t>(d)];
  for (int32_t length : lengths) {
    shape[static_cast<size_t>(axis)] = length;
    total += length;
    inputs.push_back(n.input(type, shape));
    data.push_back(n.random_input(inputs.back()));
  }
  n.output(n.concatenation(inputs, axis));
  auto y = test::from_bytes<T>(test::run_model(n.write(), data).at(0));
  size_t at = 0;
  for (int32_t o = 0; o < outer; ++o)
    for (size_t k = 0; k < lengths.size(); ++k) {
      auto x = test::from_bytes<T>(data[k]);
      for (int32_t i = 0; i < lengths[k] * inner; ++i) ASSERT_EQ(y.at(at++), x.at(static_cast<size_t>(o * lengths[k] * inner + i)));
    }
  EXPECT_EQ(at, static_cast<size_t>(outer * total * inner));
}

TEST(Concatenation, EveryAxisRankAndElementSize) {
  for (int axis = 0; axis < 4; ++axis) concatenate<int8_t>(Type::int8, {2, 3, 4, 5}, axis, {3, 1, 2});
  for (int axis = 0; axis < 6; ++axis) concatenate<int64_t>(Type::int64, {2, 3, 1, 2, 3, 2}, axis, {1, 2});
  concatenate<int16_t>(Type::int16, {7}, 0, {7, 7, 1});
  concatenate<int32_t>(Type::int32, {2, 5}, 1, {5});
}

TEST(Concatenation, ThirtyInputs) { concatenate<int8_t>(Type::int8, {3, 1}, 1, std::vector<int32_t>(30, 1)); }

TEST(Concatenation, NegativeAxisAndTheSameInputTwice) {
  NetworkBuilder n;
  int x = n.input(Type::int8, {2, 2}, per_tensor(1.0f, 3));
  n.output(n.concatenation({x, x}, -1));
  EXPECT_EQ(test::run_single<int8_t>(n.write(), {1, 2, 3, 4}), (std::vector<int8_t>{1, 2, 1, 2, 3, 4, 3, 4}));
}

TEST(Concatenation, BlocksAndLags) {
  for (int axis = 0; axis < 4; ++axis) {
    NetworkBuilder n(static_cast<uint64_t>(axis));
    std::vector<int> inputs;
    std::vector<TensorBytes> data;
    for (int k = 0; k < 3; ++k) {
      std::vector<int32_t> shape = {2, 3, 4, 3};
      shape[static_cast<size_t>(axis)] = k + 1;
      inputs.push_back(n.input(Type::float32, shape));
      data.push_back(n.random_input(inputs.back()));
    }
    n.output(n.concatenation(inputs, axis));
    test::check_blocks<ops::concatenation::Copy<uint32_t>>(n.write(), data, 5);
    test::check_lags<ops::concatenation::Copy<uint32_t>>(n.write(), data);
  }
}

TEST(Concatenation, RefusesWhatItCannotDo) {
  auto refused = [](auto change) {
    NetworkBuilder n;
    int a = n.input(Type::int8, {2, 3}, per_tensor(0.5f, 1)), b = n.input(Type::int8, {2, 2}, per_tensor(0.5f, 1));
    n.output(n.concatenation({a, b}, 1));
    change(n);
    return test::refusal(n.write());
  };
  EXPECT_NE(refused([](auto& n) { n.tensor(1).quantization = per_tensor(0.25f, 1); }).find("scale"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.tensor(1).quantization = per_tensor(0.5f, 2); }).find("zero point"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.tensor(1).shape = {3, 2}; }).find("another dimension"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.tensor(1).shape = {2, 3}; }).find("add up"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.last_operator().options = {{0, 2}}; }).find("axis"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.last_operator().options = {{0, INT32_MIN}}; }).find("axis"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.last_operator().options = {{0, 1}, {1, int8_t{1}}}; }).find("activation"), std::string::npos);
}

}  // namespace
}  // namespace linnet
