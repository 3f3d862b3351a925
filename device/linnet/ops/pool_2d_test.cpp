#include "linnet/ops/pool_2d.h"

#include "linnet/graph/network_builder.h"
#include "linnet/kernels/table.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::Activation;
using graph::NetworkBuilder;
using graph::Padding;
using graph::per_tensor;
using graph::PoolSpec;

TEST(Pool2D, PaddingDoesNotCount) {
  NetworkBuilder n(1);
  int x = n.input(Type::float32, {1, 3, 3, 1});
  n.output(n.average_pool_2d(x, {.kernel = {2, 2}, .stride = {2, 2}, .padding = Padding::same}));
  n.output(n.max_pool_2d(x, {.kernel = {2, 2}, .stride = {1, 1}, .padding = Padding::valid, .activation = Activation::relu6}));
  auto out = test::run_model(n.write(), {test::to_bytes<float>({-1, -2, -3, -4, 5, 6, 7, 8, 9})});
  EXPECT_EQ(test::from_bytes<float>(out.at(0)), (std::vector<float>{-0.5f, 1.5f, 7.5f, 9}));
  EXPECT_EQ(test::from_bytes<float>(out.at(1)), (std::vector<float>{5, 6, 6, 6}));
}

TEST(Pool2D, AveragesRoundHalvesAwayFromZero) {
  NetworkBuilder n(1);
  int x = n.input(Type::int8, {1, 1, 2, 4}, per_tensor(1, 0));
  n.output(n.average_pool_2d(x, {.kernel = {1, 2}, .stride = {1, 2}, .padding = Padding::valid}));
  EXPECT_EQ((test::run_single<int8_t>(n.write(), {1, -1, 3, 0, 2, -2, 3, -1})), (std::vector<int8_t>{2, -2, 3, -1}));
}

template <class C>
void check(Type type, bool average, const PoolSpec& spec) {
  NetworkBuilder n(5);
  auto q = type == Type::float32 ? graph::Quantization{} : per_tensor(0.1f, type == Type::int8 ? 3 : 0);
  int x = n.input(type, {2, 9, 6, 5}, q);
  n.output(average ? n.average_pool_2d(x, spec) : n.max_pool_2d(x, spec));
  std::vector<TensorBytes> inputs = {n.random_input(x)};
  auto file = n.write();
  auto all = test::run_model(file, inputs);
  test::check_blocks<C>(file, inputs);
  test::check_lags<C>(file, inputs, average);  // a maximum may survive an overwritten input
  // Each batch by itself.
  NetworkBuilder one(5);
  x = one.input(type, {1, 9, 6, 5}, q);
  one.output(average ? one.average_pool_2d(x, spec) : one.max_pool_2d(x, spec));
  TensorBytes joined;
  for (int b = 0; b < 2; ++b) {
    auto at = inputs[0].begin() + static_cast<ptrdiff_t>(inputs[0].size() / 2) * b;
    auto y = test::run_model(one.write(), {TensorBytes(at, at + static_cast<ptrdiff_t>(inputs[0].size() / 2))});
    joined.insert(joined.end(), y.at(0).begin(), y.at(0).end());
  }
  EXPECT_EQ(joined, all.at(0));
}

TEST(Pool2D, BlocksBatchesAndOverlapGiveTheSameBits) {
  for (const PoolSpec& spec : {PoolSpec{.kernel = {3, 2}, .stride = {2, 2}, .padding = Padding::same},
                               PoolSpec{.kernel = {3, 3}, .stride = {1, 1}, .padding = Padding::same},
                               PoolSpec{.kernel = {9, 6}, .stride = {1, 1}, .padding = Padding::valid},
                               PoolSpec{.kernel = {1, 2}, .stride = {3, 4}, .padding = Padding::valid}}) {
    check<ops::pool_2d::AverageFloat>(Type::float32, true, spec);
    check<ops::pool_2d::MaxFloat>(Type::float32, false, spec);
    check<ops::pool_2d::AverageInt<int8_t>>(Type::int8, true, spec);
    check<ops::pool_2d::MaxInt<int8_t>>(Type::int8, false, spec);
    check<ops::pool_2d::AverageInt<int16_t>>(Type::int16, true, spec);
    check<ops::pool_2d::MaxInt<int16_t>>(Type::int16, false, spec);
  }
}

// A Program may have windows that lie far outside the input: nothing is read there, and no position there overflows.
TEST(Pool2D, WindowsOutsideTheInputSeeNothing) {
  using C = ops::pool_2d::MaxInt<int8_t>;
  C::Params p = {1, 8, {1, 1, 1, 1, 1, 0}, {1, 8192, 1, UINT16_MAX, 1, 0}, {-128, 127}};
  Extent extents[2];
  ASSERT_TRUE(C::check(p, extents, 2));
  std::vector<int8_t> in(extents[0].bytes, 5), out(extents[1].bytes);
  void* data[] = {in.data(), out.data()};
  detail::run_kernel<C>(data, &p, nullptr, Direction::up);
  std::vector<int8_t> expected(out.size(), -128);
  std::fill_n(expected.begin(), 8, int8_t{5});
  EXPECT_EQ(out, expected);
}

TEST(Pool2D, RefusesHostileWindows) {
  for (int32_t stride : {0, -1, 70000}) {
    NetworkBuilder n(1);
    int x = n.input(Type::float32, {1, 4, 4, 1});
    n.output(n.max_pool_2d(x, {}));
    n.last_operator().options[2].value = stride;
    EXPECT_NE(test::refusal(n.write()).find("window"), std::string::npos) << stride;
  }
}

}  // namespace
}  // namespace linnet
