#include "linnet/ops/pad.h"

#include <random>

#include "linnet/graph/network_builder.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using graph::per_tensor;

TEST(Pad, FillsInt8WithTheZeroPoint) {
  NetworkBuilder n;
  n.output(n.pad(n.input(Type::int8, {1, 2}, per_tensor(0.5f, -7)), {{1, 0}, {1, 2}}));
  EXPECT_EQ(test::run_single<int8_t>(n.write(), {5, 6}), (std::vector<int8_t>{-7, -7, -7, -7, -7, -7, 5, 6, -7, -7}));
}

TEST(Pad, Version2TakesItsValueFromAThirdInput) {
  NetworkBuilder n;
  n.output(n.pad(n.input(Type::int16, {2}, per_tensor(0.5f)), {{1, 1}}));
  n.last_operator().code = 60;  // PADV2
  n.last_operator().inputs.push_back(n.constant<int16_t>(Type::int16, {1}, {-300}));
  EXPECT_EQ(test::run_single<int16_t>(n.write(), {1, 2}), (std::vector<int16_t>{-300, 1, 2, -300}));
}

// Element by element in six dimensions, where at most four axes remain.
TEST(Pad, MoreThanFourDimensions) {
  std::vector<int32_t> in = {2, 1, 3, 2, 2, 3}, out = {4, 1, 3, 3, 2, 5};
  NetworkBuilder n;
  int x = n.input(Type::int32, in);
  n.output(n.pad(x, {{1, 1}, {0, 0}, {0, 0}, {0, 1}, {0, 0}, {2, 0}}));
  std::vector<int32_t> v(72);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int32_t>(i) + 1;
  auto y = test::run_single<int32_t>(n.write(), v);
  ASSERT_EQ(y.size(), 360u);
  for (int32_t i = 0; i < 360; ++i) {
    int32_t f = i % 5, e = i / 5 % 2, d = i / 10 % 3, c = i / 30 % 3, a = i / 90;
    bool inside = f >= 2 && d < 2 && a >= 1 && a < 3;
    int32_t from = ((((a - 1) * 3 + c) * 2 + d) * 2 + e) * 3 + f - 2;
    ASSERT_EQ(y[static_cast<size_t>(i)], inside ? from + 1 : 0) << i;
  }
}

TEST(Pad, BlocksAndLagsOfRandomShapes) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    NetworkBuilder n(static_cast<uint64_t>(round));
    auto pick = [&](uint32_t limit) { return static_cast<int32_t>(random() % limit); };
    std::vector<int32_t> shape;
    std::vector<std::array<int32_t, 2>> paddings;
    for (int d = 0; d < 4; ++d) {
      shape.push_back(1 + pick(4));
      paddings.push_back({pick(3), pick(3)});
    }
    int x = n.input(Type::int16, shape, per_tensor(0.5f));
    n.output(n.pad(x, paddings));
    std::vector<TensorBytes> inputs = {n.random_input(x)};
    test::check_blocks<ops::pad::Pad<uint16_t>>(n.write(), inputs, 3);
    test::check_lags<ops::pad::Pad<uint16_t>>(n.write(), inputs);
  }
}

TEST(Pad, RefusesWhatItCannotDo) {
  auto refused = [](auto change) {
    NetworkBuilder n;
    n.output(n.pad(n.input(Type::int8, {2, 3}, per_tensor(1.0f)), {{1, 1}, {0, 2}}));
    change(n);
    return test::refusal(n.write());
  };
  EXPECT_NE(refused([](auto& n) { n.tensor(1).data[0] = 2; }).find("paddings around it"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.tensor(1).data.assign(16, 0xFF); }).find("negative"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.tensor(1).data.clear(); n.subgraph().inputs.push_back(1); }).find("constant"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.tensor(1).data.resize(8); n.tensor(1).shape = {1, 2}; }).find("two for each"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.tensor(0).type = n.tensor(2).type = Type::int64; }).find("types"), std::string::npos);
}

}  // namespace
}  // namespace linnet
