#include "linnet/ops/transpose.h"

#include <algorithm>
#include <random>

#include "linnet/graph/network_builder.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;

// Index arithmetic over any rank: where each element of the output comes from.
std::vector<size_t> sources(const std::vector<int32_t>& shape, const std::vector<int32_t>& permutation) {
  size_t rank = shape.size(), total = 1;
  std::vector<size_t> stride(rank, 1);
  for (size_t d = rank; d-- > 1;) stride[d - 1] = stride[d] * static_cast<size_t>(shape[d]);
  for (int32_t d : shape) total *= static_cast<size_t>(d);
  std::vector<size_t> from(total);
  for (size_t i = 0; i < total; ++i) {
    size_t rest = i;
    for (size_t d = rank; d-- > 0;) {
      auto source = static_cast<size_t>(permutation[d]);
      from[i] += rest % static_cast<size_t>(shape[source]) * stride[source];
      rest /= static_cast<size_t>(shape[source]);
    }
  }
  return from;
}

template <class T>
void transpose(Type type, const std::vector<int32_t>& shape, const std::vector<int32_t>& permutation) {
  NetworkBuilder n(9);
  int x = n.input(type, shape);
  n.output(n.transpose(x, permutation));
  TensorBytes data = n.random_input(x);
  auto in = test::from_bytes<T>(data), out = test::from_bytes<T>(test::run_model(n.write(), {data}).at(0));
  std::vector<size_t> from = sources(shape, permutation);
  ASSERT_EQ(out.size(), from.size());
  for (size_t i = 0; i < from.size(); ++i) ASSERT_EQ(out[i], in[from[i]]) << testing::PrintToString(permutation);
}

TEST(Transpose, EveryPermutationOfFourDimensions) {
  std::vector<int32_t> p = {0, 1, 2, 3};
  do transpose<int8_t>(Type::int8, {2, 3, 4, 5}, p);
  while (std::next_permutation(p.begin(), p.end()));
}

TEST(Transpose, EveryElementSize) {
  transpose<int16_t>(Type::int16, {3, 5}, {1, 0});
  transpose<int32_t>(Type::float32, {3, 1, 5}, {2, 1, 0});
  transpose<int64_t>(Type::int64, {2, 3, 4}, {1, 2, 0});
  transpose<int8_t>(Type::boolean, {4}, {0});
}

TEST(Transpose, SixDimensionsThatMergeToFour) {
  transpose<int32_t>(Type::int32, {2, 3, 2, 2, 3, 2}, {4, 5, 0, 1, 2, 3});
  transpose<int16_t>(Type::int16, {2, 3, 1, 2, 1, 4}, {5, 1, 2, 4, 3, 0});
  transpose<int8_t>(Type::int8, {2, 2, 3, 2, 3}, {3, 4, 2, 0, 1});
}

TEST(Transpose, MovingOnlyOnesNeedsNoStep) {
  NetworkBuilder n;
  int x = n.input(Type::int8, {1, 3, 1, 4});
  n.output(n.transpose(n.relu6(n.transpose(x, {1, 0, 3, 2})), {0, 1, 3, 2}));  // RELU6 is refused without scales: not run
  n.subgraph().operators.erase(n.subgraph().operators.begin() + 1);
  n.subgraph().operators[1].inputs[0] = n.subgraph().operators[0].outputs[0];
  std::vector<uint8_t> file = n.write();
  Model model = open_model({file.data(), file.size()});
  // One copy at most: a graph input may not be a graph output.
  EXPECT_LE(build_program(model, catalogue().table).nodes.back().end_step, 1u);
}

TEST(Transpose, BlocksAndLags) {
  std::mt19937 random(2);
  std::vector<int32_t> p = {0, 1, 2, 3};
  for (int round = 0; round < 20; ++round) {
    std::shuffle(p.begin(), p.end(), random);
    NetworkBuilder n(static_cast<uint64_t>(round));
    std::vector<int32_t> shape;
    for (int d = 0; d < 4; ++d) shape.push_back(2 + static_cast<int32_t>(random() % 4));
    if (p == std::vector<int32_t>{0, 1, 2, 3}) continue;
    int x = n.input(Type::int16, shape);
    n.output(n.transpose(x, p));
    std::vector<TensorBytes> inputs = {n.random_input(x)};
    test::check_blocks<ops::transpose::Copy<uint16_t>>(n.write(), inputs, 4);
    test::check_lags<ops::transpose::Copy<uint16_t>>(n.write(), inputs);
  }
}

TEST(Transpose, RefusesWhatItCannotDo) {
  auto refused = [](std::vector<int32_t> shape, std::vector<int32_t> permutation, auto change) {
    NetworkBuilder n;
    std::vector<int32_t> identity;
    for (size_t i = 0; i < shape.size(); ++i) identity.push_back(static_cast<int32_t>(i));
    n.output(n.transpose(n.input(Type::int8, shape), identity));
    n.tensor(1).data.resize(permutation.size() * 4);
    std::memcpy(n.tensor(1).data.data(), permutation.data(), permutation.size() * 4);
    change(n);
    return test::refusal(n.write());
  };
  auto nothing = [](auto&) {};
  EXPECT_NE(refused({2, 2}, {0, 0}, nothing).find("permutation"), std::string::npos);
  EXPECT_NE(refused({2, 2}, {0, -1}, nothing).find("permutation"), std::string::npos);
  EXPECT_NE(refused({2, 3}, {1, 0}, nothing).find("permutation"), std::string::npos);
  EXPECT_NE(refused({2, 2}, {0, 1}, [](auto& n) { n.tensor(1).data.clear(); n.subgraph().inputs.push_back(1); }).find("constant"), std::string::npos);
  EXPECT_NE(refused({2, 2, 2, 2, 2}, {4, 3, 2, 1, 0}, nothing).find("four dimensions"), std::string::npos);
}

}  // namespace
}  // namespace linnet
