#include "linnet/ops/dequantize.h"

#include "linnet/graph/network_builder.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using graph::per_tensor;

// Every int8, uint8 and some int16 at extreme zero points, against the product in double, rounded once.
template <class T>
void compare_with_double(Type type, int32_t zero_point) {
  float scale = 0.0123456789f;
  std::vector<T> x;
  for (int32_t v = std::numeric_limits<T>::min(); v <= std::numeric_limits<T>::max(); v += sizeof(T) == 1 ? 1 : 97) x.push_back(static_cast<T>(v));
  NetworkBuilder n;
  n.output(n.dequantize(n.input(type, {static_cast<int32_t>(x.size())}, per_tensor(scale, zero_point))));
  auto y = test::run_single<T, float>(n.write(), x);
  ASSERT_EQ(y.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], static_cast<float>(static_cast<double>(scale) * (x[i] - zero_point)));
}

TEST(Dequantize, EqualsTheProductInDouble) {
  compare_with_double<int8_t>(Type::int8, -128);
  compare_with_double<int8_t>(Type::int8, 127);
  compare_with_double<uint8_t>(Type::uint8, 255);
  compare_with_double<int16_t>(Type::int16, 0);
}

TEST(Dequantize, BlocksAndLags) {
  NetworkBuilder n;
  int x = n.input(Type::int8, {2, 3, 4, 5}, per_tensor(0.5f, 1)), z = n.input(Type::int16, {7, 3}, per_tensor(0.5f));
  n.output(n.dequantize(x));
  n.output(n.dequantize(z));
  std::vector<TensorBytes> inputs = {n.random_input(x), n.random_input(z)};
  test::check_blocks<ops::dequantize::ToFloat<int8_t>>(n.write(), inputs);
  test::check_lags<ops::dequantize::ToFloat<int8_t>>(n.write(), inputs);
  test::check_lags<ops::dequantize::ToFloat<int16_t>>(n.write(), inputs);
}

TEST(Dequantize, LagIsThreeBytesForEveryElementButTheLast) {
  ops::dequantize::Params p{{{1, 1, 1, 10}}, 1.0f, 0};
  EXPECT_EQ(ops::dequantize::ToFloat<int8_t>::lag(p, 0, 1).forward, 27);
  EXPECT_EQ(ops::dequantize::ToFloat<int8_t>::lag(p, 0, 1).backward, 27);
}

TEST(Dequantize, RefusesScalesPerChannelAndOtherTypes) {
  NetworkBuilder n;
  n.output(n.dequantize(n.input(Type::int8, {2, 3}, graph::per_channel({1, 2, 3}, 1))));
  EXPECT_NE(test::refusal(n.write()).find("per channel"), std::string::npos);
  NetworkBuilder m;
  m.output(m.dequantize(m.input(Type::int32, {2, 3}, per_tensor(1))));
  EXPECT_NE(test::refusal(m.write()).find("types"), std::string::npos);
}

}  // namespace
}  // namespace linnet
