#include "linnet/ops/mean.h"

#include "linnet/graph/network_builder.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using graph::per_tensor;
using Shape = std::vector<int32_t>;

std::vector<float> mean_of(const Shape& shape, const Shape& axes, bool keep_dims) {
  NetworkBuilder n(1);
  int x = n.input(Type::float32, shape);
  n.output(n.mean(x, axes, keep_dims));
  size_t count = 1;
  for (int32_t d : shape) count *= static_cast<size_t>(d);
  std::vector<float> v(count);
  for (size_t i = 0; i < count; ++i) v[i] = static_cast<float>(i);
  auto out = test::run_model(n.write(), {test::to_bytes(v)});
  return out.empty() ? std::vector<float>{} : test::from_bytes<float>(out[0]);
}

TEST(Mean, OverAnyAxesThatFold) {
  for (bool keep : {false, true}) {
    EXPECT_EQ(mean_of({2, 3}, {1}, keep), (std::vector<float>{1, 4}));
    EXPECT_EQ(mean_of({2, 3}, {0}, keep), (std::vector<float>{1.5f, 2.5f, 3.5f}));
    EXPECT_EQ(mean_of({2, 3}, {0, 1}, keep), (std::vector<float>{2.5f}));
    EXPECT_EQ(mean_of({1, 2, 2, 2}, {1, 2}, keep), (std::vector<float>{3, 4}));
    EXPECT_EQ(mean_of({1, 2, 2, 2}, {-2, -3}, keep), (std::vector<float>{3, 4}));
    EXPECT_EQ(mean_of({2, 2, 2}, {0, 2}, keep), (std::vector<float>{2.5f, 4.5f}));
    EXPECT_EQ(mean_of({2, 2, 1, 2, 1, 2}, {0, 1}, keep), (std::vector<float>{6, 7, 8, 9}));
  }
}

TEST(Mean, Int8MovesToTheOutputsScale) {
  NetworkBuilder n(1);
  int x = n.input(Type::int8, {1, 2, 2, 1}, per_tensor(0.5f, 10));
  n.output(n.mean(x, {1, 2}, true, per_tensor(0.25f, -5)));
  EXPECT_EQ((test::run_single<int8_t>(n.write(), {10, 12, 14, 16})), (std::vector<int8_t>{1}));  // mean 1.5
}

template <class C>
void check(Type type, const Shape& shape, const Shape& axes) {
  NetworkBuilder n(5);
  auto q = type == Type::float32 ? graph::Quantization{} : per_tensor(0.1f, type == Type::int8 ? 3 : 0);
  int x = n.input(type, shape, q);
  n.output(n.mean(x, axes, false, q));
  std::vector<TensorBytes> inputs = {n.random_input(x)};
  auto file = n.write();
  test::run_model(file, inputs);
  test::check_blocks<C>(file, inputs);
  test::check_lags<C>(file, inputs, type == Type::float32);  // a rounded mean may survive an overwritten input
}

TEST(Mean, BlocksReductionsAndOverlapGiveTheSameBits) {
  for (const Shape& axes : {Shape{1, 2}, Shape{3}, Shape{1, 3}, Shape{1, 2, 3}, Shape{2}, Shape{0}, Shape{0, 1, 2, 3}}) {
    check<ops::mean::Float>(Type::float32, {2, 5, 4, 3}, axes);
    check<ops::mean::Int<int8_t>>(Type::int8, {2, 5, 4, 3}, axes);
    check<ops::mean::Int<int16_t>>(Type::int16, {2, 5, 4, 3}, axes);
  }
}

TEST(Mean, RefusesAxesOutsideTheShape) {
  NetworkBuilder n(1);
  int x = n.input(Type::float32, {2, 3});
  n.output(n.mean(x, {1}));
  n.tensor(1).data = test::to_bytes<int32_t>({2});
  EXPECT_NE(test::refusal(n.write()).find("axes"), std::string::npos);
}

}  // namespace
}  // namespace linnet
