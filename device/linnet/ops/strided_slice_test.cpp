#include "linnet/ops/strided_slice.h"

#include <random>

#include "linnet/graph/network_builder.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using graph::SliceSpec;

// The builder leaves the output's shape to the test where masks change the rank.
std::vector<uint8_t> network(std::vector<int32_t> shape, SliceSpec spec, std::vector<int32_t> out_shape) {
  NetworkBuilder n;
  int x = n.input(Type::int8, std::move(shape));
  int b = n.indices(spec.begin), e = n.indices(spec.end), s = n.indices(spec.strides);
  n.output(n.op({.code = 45, .inputs = {x, b, e, s}, .options_type = 32,
                 .options = {{0, spec.begin_mask}, {1, spec.end_mask}, {2, spec.ellipsis_mask}, {3, spec.new_axis_mask}, {4, spec.shrink_axis_mask}}},
                {{.type = Type::int8, .shape = std::move(out_shape)}}));
  return n.write();
}
std::vector<int8_t> slice(std::vector<int32_t> shape, SliceSpec spec, std::vector<int32_t> out_shape) {
  int32_t total = 1;
  for (int32_t d : shape) total *= d;
  std::vector<int8_t> x;
  for (int32_t i = 0; i < total; ++i) x.push_back(static_cast<int8_t>(i));
  return test::run_single<int8_t>(network(std::move(shape), std::move(spec), std::move(out_shape)), x);
}
using V = std::vector<int8_t>;

TEST(StridedSlice, StepsForwardAndBackward) {
  EXPECT_EQ(slice({6}, {.begin = {1}, .end = {6}, .strides = {2}}, {3}), (V{1, 3, 5}));
  EXPECT_EQ(slice({6}, {.begin = {-1}, .end = {-7}, .strides = {-2}}, {3}), (V{5, 3, 1}));
  EXPECT_EQ(slice({2, 3}, {.begin = {0, 2}, .end = {2, 0}, .strides = {1, -1}}, {2, 2}), (V{2, 1, 5, 4}));
}

TEST(StridedSlice, BoundsAreClamped) {
  EXPECT_EQ(slice({4}, {.begin = {-100}, .end = {100}, .strides = {3}}, {2}), (V{0, 3}));
  EXPECT_EQ(slice({4}, {.begin = {100}, .end = {-100}, .strides = {-1}}, {4}), (V{3, 2, 1, 0}));
}

TEST(StridedSlice, Masks) {
  EXPECT_EQ(slice({4}, {.begin = {2}, .end = {3}, .strides = {1}, .begin_mask = 1}, {3}), (V{0, 1, 2}));
  EXPECT_EQ(slice({4}, {.begin = {2}, .end = {3}, .strides = {1}, .end_mask = 1}, {2}), (V{2, 3}));
  EXPECT_EQ(slice({4}, {.begin = {2}, .end = {3}, .strides = {-1}, .end_mask = 1}, {3}), (V{2, 1, 0}));
  // x[1, ..., 0]
  EXPECT_EQ(slice({2, 2, 2}, {.begin = {1, 0, 0}, .end = {2, 0, 1}, .strides = {1, 1, 1}, .ellipsis_mask = 2, .shrink_axis_mask = 5}, {2}), (V{4, 6}));
  // x[:, newaxis, 1:]
  EXPECT_EQ(slice({2, 2}, {.begin = {0, 0, 1}, .end = {2, 0, 2}, .strides = {1, 1, 1}, .new_axis_mask = 2}, {2, 1, 1}), (V{1, 3}));
  // x[-1]: dimensions that are not mentioned are whole; a shape vector that vanishes
  EXPECT_EQ(slice({3, 2}, {.begin = {-1}, .end = {0}, .strides = {1}, .shrink_axis_mask = 1}, {2}), (V{4, 5}));
  EXPECT_EQ(slice({3}, {.begin = {1}, .end = {2}, .strides = {1}, .shrink_axis_mask = 1}, {}), (V{1}));
  // An ellipsis that stands for nothing.
  EXPECT_EQ(slice({3}, {.begin = {0, 1}, .end = {0, 3}, .strides = {1, 1}, .ellipsis_mask = 1}, {2}), (V{1, 2}));
}

TEST(StridedSlice, SixDimensions) {
  V y = slice({2, 1, 2, 3, 2, 3}, {.begin = {0, 0, 1, 0, 0, 1}, .end = {2, 1, 2, 3, 2, 3}, .strides = {1, 1, 1, 1, 1, 1}}, {2, 1, 1, 3, 2, 2});
  V want;
  for (int a = 0; a < 2; ++a)
    for (int i = 0; i < 6; ++i)
      for (int f = 1; f < 3; ++f) want.push_back(static_cast<int8_t>(a * 36 + 18 + i * 3 + f));
  EXPECT_EQ(y, want);
}

TEST(StridedSlice, BlocksAndLagsOfRandomSlices) {
  std::mt19937 random(4);
  for (int round = 0; round < 40; ++round) {
    NetworkBuilder n(static_cast<uint64_t>(round));
    SliceSpec spec;
    std::vector<int32_t> shape;
    for (int d = 0; d < 4; ++d) {
      int32_t size = 2 + static_cast<int32_t>(random() % 5), a = static_cast<int32_t>(random() % static_cast<uint32_t>(size));
      int32_t stride = static_cast<int32_t>(random() % 5) - 2;
      if (stride == 0) stride = 1;
      shape.push_back(size);
      spec.begin.push_back(stride > 0 ? a / 2 : size - 1 - a / 2);
      spec.end.push_back(stride > 0 ? size : -size - 1);
      spec.strides.push_back(stride);
    }
    spec.begin[3] = spec.strides[3] > 0 ? 1 : shape[3] - 2;  // never the whole input
    int x = n.input(Type::int16, shape);
    n.output(n.strided_slice(x, spec));
    std::vector<TensorBytes> inputs = {n.random_input(x)};
    test::check_blocks<ops::strided_slice::Copy<uint16_t>>(n.write(), inputs, 3);
    test::check_lags<ops::strided_slice::Copy<uint16_t>>(n.write(), inputs);
  }
}

TEST(StridedSlice, RefusesWhatItCannotDo) {
  SliceSpec good = {.begin = {0, 0}, .end = {1, 2}, .strides = {1, 1}};
  auto with = [&](auto change) {
    SliceSpec s = good;
    change(s);
    return test::refusal(network({2, 3}, s, {1, 2}));
  };
  EXPECT_NE(with([](auto& s) { s.strides[0] = 0; }).find("stride of 0"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.begin[0] = 2; }).find("nothing"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.strides[1] = INT32_MIN; }).find("STRIDED_SLICE"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.begin[1] = INT32_MIN; s.end[1] = INT32_MAX; }).find("another shape"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.shrink_axis_mask = 1; s.begin[0] = 2; }).find("outside"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.ellipsis_mask = 3; }).find("two ellipses"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.end = {1, 2, 3}; }).find("same length"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.begin = s.end = s.strides = {0, 0, 1}; }).find("STRIDED_SLICE"), std::string::npos);
}

}  // namespace
}  // namespace linnet
