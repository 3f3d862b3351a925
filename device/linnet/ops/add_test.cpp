#include "linnet/ops/add.h"

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

std::vector<float> sum_of(const Shape& a, const Shape& b, bool subtracts, bool omit_shape = false) {
  NetworkBuilder n(1);
  int x = n.input(Type::float32, a), y = n.input(Type::float32, b);
  n.tensor(y).omit_shape = omit_shape;
  n.output(subtracts ? n.sub(x, y) : n.add(x, y));
  auto ramp = [](const Shape& s, float step) {
    size_t count = 1;
    for (int32_t d : s) count *= static_cast<size_t>(d);
    std::vector<float> v(count);
    for (size_t i = 0; i < count; ++i) v[i] = step * static_cast<float>(i + 1);
    return test::to_bytes(v);
  };
  auto out = test::run_model(n.write(), {ramp(a, 1), ramp(b, 100)});
  return out.empty() ? std::vector<float>{} : test::from_bytes<float>(out[0]);
}

TEST(Add, Broadcasts) {
  EXPECT_EQ(sum_of({2, 3}, {3}, false), (std::vector<float>{101, 202, 303, 104, 205, 306}));
  EXPECT_EQ(sum_of({2, 3}, {2, 1}, false), (std::vector<float>{101, 102, 103, 204, 205, 206}));
  EXPECT_EQ(sum_of({2, 1}, {1, 3}, true), (std::vector<float>{-99, -199, -299, -98, -198, -298}));
  EXPECT_EQ(sum_of({2}, {}, false), (std::vector<float>{101, 102}));
  EXPECT_EQ(sum_of({2}, {}, false, true), (std::vector<float>{101, 102}));  // no shape vector at all
  EXPECT_EQ(sum_of({1, 1, 3}, {3}, true), (std::vector<float>{-99, -198, -297}));
}

TEST(Add, FoldsMoreThanFourDimensions) {
  auto once = sum_of({2, 3, 2, 2, 3}, {2, 2, 3}, false), same = sum_of({6, 12}, {12}, false);
  EXPECT_EQ(once, same);
}

TEST(Add, Int8AddsRealNumbers) {
  NetworkBuilder n(1);
  int a = n.input(Type::int8, {4}, per_tensor(0.5f, 0)), b = n.input(Type::int8, {4}, per_tensor(0.25f, 10));
  n.output(n.add(a, b, per_tensor(0.5f, -10)));
  n.output(n.sub(a, b, per_tensor(0.5f, -10)));
  n.output(n.add(a, b, per_tensor(0.5f, -10), Activation::relu6));
  auto out = test::run_model(n.write(), {test::to_bytes<int8_t>({4, -4, 100, 20}), test::to_bytes<int8_t>({14, 10, 110, 6})});
  EXPECT_EQ(test::from_bytes<int8_t>(out.at(0)), (std::vector<int8_t>{-4, -14, 127, 8}));
  EXPECT_EQ(test::from_bytes<int8_t>(out.at(1)), (std::vector<int8_t>{-8, -14, 40, 12}));
  EXPECT_EQ(test::from_bytes<int8_t>(out.at(2)), (std::vector<int8_t>{-4, -10, 2, 2}));
}

template <class C>
void check(Type type, const Shape& a, const Shape& b, bool in_place) {
  NetworkBuilder n(7);
  auto q = [&](float s) { return element_bytes(type) == 4 ? graph::Quantization{} : per_tensor(s, type == Type::int8 ? 3 : 0); };
  int x = n.input(type, a, q(0.01f)), y = n.input(type, b, q(0.02f));
  n.output(n.add(x, y, q(0.03f)));
  std::vector<TensorBytes> inputs = {n.random_input(x), n.random_input(y)};
  auto file = n.write();
  test::run_model(file, inputs);
  test::check_blocks<C>(file, inputs);
  if (in_place) test::check_lags<C>(file, inputs);
}

TEST(Add, Int32TakesActivations) {
  NetworkBuilder n(1);
  int x = n.input(Type::int32, {5}), y = n.constant<int32_t>(Type::int32, {1}, {3});
  n.output(n.add(x, y, {}, Activation::relu));
  n.output(n.add(x, y, {}, Activation::relu6));
  n.output(n.sub(x, y, {}, Activation::relu_n1_to_1));
  auto out = test::run_model(n.write(), {test::to_bytes<int32_t>({-9, -2, 2, 5, INT32_MAX - 3})});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(test::from_bytes<int32_t>(out[0]), (std::vector<int32_t>{0, 1, 5, 8, INT32_MAX}));
  EXPECT_EQ(test::from_bytes<int32_t>(out[1]), (std::vector<int32_t>{0, 1, 5, 6, 6}));
  EXPECT_EQ(test::from_bytes<int32_t>(out[2]), (std::vector<int32_t>{-1, -1, -1, 1, 1}));
}

TEST(Add, BlocksAndOverlapGiveTheSameBits) {
  for (const Shape& b : {Shape{2, 5, 3, 7}, Shape{7}, Shape{5, 1, 1}, Shape{2, 1, 3, 1}, Shape{1}}) {
    check<ops::add::Float>(Type::float32, {2, 5, 3, 7}, b, true);
    check<ops::add::Int32>(Type::int32, {2, 5, 3, 7}, b, true);
    check<ops::add::Int<int8_t>>(Type::int8, {2, 5, 3, 7}, b, true);
    check<ops::add::Int<int16_t>>(Type::int16, {2, 5, 3, 7}, b, true);
  }
  check<ops::add::Int<int8_t>>(Type::int8, {2, 1, 3, 1}, {1, 5, 1, 7}, false);
}

TEST(Add, RefusesWhatItCannotCompute) {
  NetworkBuilder n(1);
  int a = n.input(Type::float32, {2, 3}), b = n.input(Type::float32, {2, 2});
  n.output(n.add(a, b));
  EXPECT_NE(test::refusal(n.write()).find("broadcast"), std::string::npos);
  NetworkBuilder m(1);
  a = m.input(Type::float32, {2, 3});
  m.output(m.add(a, a, {}, Activation::tanh));
  EXPECT_NE(test::refusal(m.write()).find("activation"), std::string::npos);
  for (Type type : {Type::int8, Type::int16}) {
    NetworkBuilder k(1);
    a = k.input(type, {2, 3}, per_tensor(1));
    k.output(k.add(a, a, per_tensor(1e-20f)));
    EXPECT_NE(test::refusal(k.write()).find("too small"), std::string::npos);
  }
}

}  // namespace
}  // namespace linnet
