#include "linnet/ops/softmax.h"

#include <cmath>

#include "linnet/graph/network_builder.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using graph::per_tensor;

std::vector<uint8_t> network(Type from, Type to, std::vector<int32_t> shape, float scale = 0.1f) {
  NetworkBuilder n(9);
  int x = n.input(from, std::move(shape), from == Type::float32 ? graph::Quantization{} : per_tensor(scale, from == Type::int8 ? 7 : 0));
  int y = n.softmax(x);
  if (from != to) {
    n.tensor(y).type = to;
    n.tensor(y).quantization = per_tensor(1 / 65536.f, -32768);
  }
  n.output(y);
  return n.write();
}
std::vector<TensorBytes> random_input(Type type, std::vector<int32_t> shape) {
  NetworkBuilder n(11);
  return {n.random_input(n.input(type, std::move(shape), type == Type::float32 ? graph::Quantization{} : per_tensor(1)))};
}

TEST(Softmax, FloatSumsToOne) {
  auto y = test::run_single<float>(network(Type::float32, Type::float32, {2, 3}), std::vector<float>{1, 2, 3, -1, 1000, 1000});
  const float expected[] = {0.09003057f, 0.24472847f, 0.66524096f, 0, 0.5f, 0.5f};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(y[i], expected[i], 1e-6f);
}

// Every row by itself, whatever the other rows are.
TEST(Softmax, RowsAreIndependent) {
  auto y = test::run_single<int8_t>(network(Type::int8, Type::int8, {3, 4}),
                                    std::vector<int8_t>{1, 2, 3, 4, 100, -100, 0, 50, -128, -128, -128, -127});
  std::vector<int8_t> rows;
  for (auto& row : {std::vector<int8_t>{1, 2, 3, 4}, {100, -100, 0, 50}, {-128, -128, -128, -127}})
    for (int8_t v : test::run_single<int8_t>(network(Type::int8, Type::int8, {1, 4}), row)) rows.push_back(v);
  EXPECT_EQ(y, rows);
}

TEST(Softmax, IntegersFollowTheRealFunction) {
  for (Type to : {Type::int8, Type::int16}) {
    std::vector<int8_t> x = {-128, -20, 0, 10, 15, 20, 21, 127};
    auto bytes = test::run_model(network(Type::int8, to, {8}, 0.05f), {test::to_bytes(x)}).at(0);
    double sum = 0;
    for (int8_t v : x) sum += std::exp(0.05 * v);
    for (size_t i = 0; i < x.size(); ++i) {
      double real = std::exp(0.05 * x[i]) / sum;
      if (to == Type::int8) EXPECT_NEAR((test::from_bytes<int8_t>(bytes)[i] + 128) / 256.0, real, 0.5 / 256 + 1e-6);
      else EXPECT_NEAR((test::from_bytes<int16_t>(bytes)[i] + 32768) / 65536.0, real, 1e-4);
    }
  }
}

TEST(Softmax, LongRowsOfEqualElementsBecomeNothing) {
  auto y = test::run_single<int8_t>(network(Type::int8, Type::int8, {1, 5000}), std::vector<int8_t>(5000, 3));
  EXPECT_EQ(y, std::vector<int8_t>(5000, -128));
}

template <class C>
void check(Type from, Type to) {
  auto file = network(from, to, {2, 3, 2, 9});
  auto inputs = random_input(from, {2, 3, 2, 9});
  test::run_model(file, inputs);
  test::check_blocks<C>(file, inputs);
  test::check_lags<C>(file, inputs, from == to);  // vanishing results may survive an overwritten input
}

TEST(Softmax, BlocksAndOverlapGiveTheSameBits) {
  check<ops::softmax::Float>(Type::float32, Type::float32);
  check<ops::softmax::Int8<int8_t>>(Type::int8, Type::int8);
  check<ops::softmax::Int8<int16_t>>(Type::int8, Type::int16);
  check<ops::softmax::Int16>(Type::int16, Type::int16);
}

TEST(Softmax, RefusesWhatItCannotCompute) {
  EXPECT_NE(test::refusal(network(Type::int8, Type::int8, {4}, 1e-9f)).find("out of range"), std::string::npos);
}

TEST(Softmax, CheckRefusesWhatWouldMakeTheSumNothing) {
  ops::softmax::IntParams p = {{{1, 1, 1, 4}}, {1 << 30, 1}, 0};
  Extent extents[2];
  EXPECT_TRUE(ops::softmax::Int8<int16_t>::check(p, extents, 2));
  p.diff_min = 1;  // not even the largest input counts
  EXPECT_FALSE(ops::softmax::Int8<int16_t>::check(p, extents, 2));
  EXPECT_FALSE(ops::softmax::Int8<int8_t>::check(p, extents, 2));
}

}  // namespace
}  // namespace linnet
