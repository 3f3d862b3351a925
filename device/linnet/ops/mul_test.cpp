#include "linnet/ops/mul.h"

#include "linnet/graph/network_builder.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::Activation;
using graph::NetworkBuilder;
using graph::per_tensor;
using Shape = std::vector<int32_t>;

TEST(Mul, BroadcastsUnequalRanksAndScalars) {
  NetworkBuilder n(1);
  int x = n.input(Type::float32, {2, 1, 3}), w = n.input(Type::float32, {3}), s = n.input(Type::float32, {});
  n.tensor(s).omit_shape = true;
  n.output(n.mul(x, w));
  n.output(n.mul(s, x, {}, Activation::relu6));
  auto out = test::run_model(n.write(), {test::to_bytes<float>({1, 2, 3, -4, 5, 6}), test::to_bytes<float>({10, 100, 1000}),
                                         test::to_bytes<float>({2})});
  EXPECT_EQ(test::from_bytes<float>(out.at(0)), (std::vector<float>{10, 200, 3000, -40, 500, 6000}));
  EXPECT_EQ(test::from_bytes<float>(out.at(1)), (std::vector<float>{2, 4, 6, 0, 6, 6}));
}

TEST(Mul, Int8MultipliesRealNumbers) {
  NetworkBuilder n(1);
  int a = n.input(Type::int8, {4}, per_tensor(0.5f, 0)), b = n.input(Type::int8, {4}, per_tensor(0.25f, 10));
  n.output(n.mul(a, b, per_tensor(0.5f, -10)));
  auto out = test::run_model(n.write(), {test::to_bytes<int8_t>({4, -4, 100, 20}), test::to_bytes<int8_t>({14, 10, 110, 6})});
  EXPECT_EQ(test::from_bytes<int8_t>(out.at(0)), (std::vector<int8_t>{-6, -10, 127, -30}));
}

template <class C>
void check(Type type, const Shape& a, const Shape& b, bool in_place) {
  NetworkBuilder n(7);
  auto q = [&](float s) { return element_bytes(type) == 4 ? graph::Quantization{} : per_tensor(s, type == Type::int8 ? 3 : 0); };
  int x = n.input(type, a, q(0.01f)), y = n.input(type, b, q(0.02f));
  n.output(n.mul(x, y, q(0.02f)));
  std::vector<TensorBytes> inputs = {n.random_input(x), n.random_input(y)};
  auto file = n.write();
  test::run_model(file, inputs);
  test::check_blocks<C>(file, inputs);
  if (in_place) test::check_lags<C>(file, inputs);
}

TEST(Mul, Int32TakesActivations) {
  NetworkBuilder n(1);
  int x = n.input(Type::int32, {5}), y = n.constant<int32_t>(Type::int32, {1}, {3});
  n.output(n.mul(x, y, {}, graph::Activation::relu));
  n.output(n.mul(x, y, {}, graph::Activation::relu6));
  auto out = test::run_model(n.write(), {test::to_bytes<int32_t>({-9, 0, 1, 2, 100})});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(test::from_bytes<int32_t>(out[0]), (std::vector<int32_t>{0, 0, 3, 6, 300}));
  EXPECT_EQ(test::from_bytes<int32_t>(out[1]), (std::vector<int32_t>{0, 0, 3, 6, 6}));
}

TEST(Mul, BlocksAndOverlapGiveTheSameBits) {
  for (const Shape& b : {Shape{2, 5, 3, 7}, Shape{7}, Shape{5, 1, 1}, Shape{2, 1, 3, 1}, Shape{1}}) {
    check<ops::mul::Float>(Type::float32, {2, 5, 3, 7}, b, true);
    check<ops::mul::Int32>(Type::int32, {2, 5, 3, 7}, b, true);
    check<ops::mul::Int<int8_t>>(Type::int8, {2, 5, 3, 7}, b, true);
    check<ops::mul::Int<int16_t>>(Type::int16, {2, 5, 3, 7}, b, true);
  }
  check<ops::mul::Int<int8_t>>(Type::int8, {2, 1, 3, 1}, {1, 5, 1, 7}, false);
}

TEST(Mul, RefusesWhatItCannotCompute) {
  NetworkBuilder n(1);
  int a = n.input(Type::int16, {3}, per_tensor(0.5f, 4));
  n.output(n.mul(a, a, per_tensor(0.5f, 0)));
  EXPECT_NE(test::refusal(n.write()).find("zero points"), std::string::npos);
}

}  // namespace
}  // namespace linnet
