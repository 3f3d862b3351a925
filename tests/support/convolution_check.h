// What every convolution (and FULLY_CONNECTED) must satisfy, whatever its types: blocks and overlaps give the same bits,
// batches are independent, and a bias that is absent is one of zeros.
#pragma once
#include <functional>

#include "linnet/graph/network_builder.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet::test {

using AddOperator = std::function<int(graph::NetworkBuilder&, int x)>;  // the operator on tensor x; returns its output

inline graph::Quantization activation_quantization(Type type) {
  if (type == Type::float32) return {};
  return graph::per_tensor(0.1f, type == Type::int8 ? 5 : 0);
}

struct Single {
  std::vector<uint8_t> file;
  TensorBytes input;  // random
};
// The network always has the same weights for a seed, whatever the batch.
inline Single single_operator(Type type, std::vector<int32_t> shape, const AddOperator& add, uint64_t seed = 3) {
  graph::NetworkBuilder n(seed);
  int x = n.input(type, std::move(shape), activation_quantization(type));
  n.output(add(n, x));
  Single single;
  single.file = n.write();
  single.input = n.random_input(x);
  return single;
}

// Every overlap that lag() allows, and none that is nearer. `add` should not clamp: that hides an overwritten input. As one
// overwritten byte may change a sum too little to show, some of several inputs must.
template <class C>
void check_overlap(Type type, std::vector<int32_t> shape, const AddOperator& add) {
  constexpr size_t input = 0, output = 3;  // ops/sums.h
  bool never_wrong[2] = {true, true};
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Single single = single_operator(type, shape, add, seed);
    check_lags<C>(single.file, {single.input}, false);
    CapturedStep<C> s = capture_steps<C>(single.file, {single.input}).at(0);
    Lag lag = C::lag(s.params, input, output);
    auto in_bytes = static_cast<int64_t>(s.before[input].size()), out_bytes = static_cast<int64_t>(s.after[output].size());
    int64_t element = s.extents[input].element_bytes;
    for (int down : {0, 1}) {
      int64_t nearer = (down ? lag.backward : lag.forward) - element;
      while ((down ? out_bytes - in_bytes - nearer : nearer) % element != 0) ++nearer;
      bool overlaps = nearer > -in_bytes && nearer < out_bytes;
      if (!overlaps || run_overlapped(s, input, output, nearer, static_cast<Direction>(down)) != s.after[output]) never_wrong[down] = false;
    }
  }
  EXPECT_FALSE(never_wrong[0]) << C::name << ": the lag upwards could be less";
  EXPECT_FALSE(never_wrong[1]) << C::name << ": the lag downwards could be less";
}

// `shape`: dimension 0 is the batch.
template <class C>
void check_blocks_and_batches(Type type, std::vector<int32_t> shape, const AddOperator& add) {
  Single all = single_operator(type, shape, add);
  check_blocks<C>(all.file, {all.input}, 12);
  std::vector<TensorBytes> expected = run_model(all.file, {all.input});
  auto batches = static_cast<size_t>(shape[0]);
  shape[0] = 1;
  Single one = single_operator(type, shape, add);
  TensorBytes joined;
  size_t bytes = all.input.size() / batches;
  for (size_t b = 0; b < batches; ++b) {
    auto at = all.input.begin() + static_cast<ptrdiff_t>(b * bytes);
    std::vector<TensorBytes> y = run_model(one.file, {TensorBytes(at, at + static_cast<ptrdiff_t>(bytes))});
    joined.insert(joined.end(), y.at(0).begin(), y.at(0).end());
  }
  EXPECT_EQ(joined, expected.at(0)) << "batches depend on each other";
}

// The bias is the last input of the operator that `add` makes.
inline void check_optional_bias(Type type, std::vector<int32_t> shape, const AddOperator& add) {
  enum Kind { zeros, minus_one, not_listed };
  std::vector<TensorBytes> outputs;
  for (Kind kind : {zeros, minus_one, not_listed}) {
    Single s = single_operator(type, shape, [&](graph::NetworkBuilder& n, int x) {
      int y = add(n, x);
      graph::OperatorSpec& op = n.last_operator();
      std::vector<uint8_t>& bias = n.tensor(op.inputs.back()).data;
      bias.assign(bias.size(), 0);
      if (kind == minus_one) op.inputs.back() = graph::absent;
      if (kind == not_listed) op.inputs.pop_back();
      return y;
    });
    outputs.push_back(run_model(s.file, {s.input}).at(0));
  }
  EXPECT_EQ(outputs[1], outputs[0]) << "index -1 is not a bias of zeros";
  EXPECT_EQ(outputs[2], outputs[0]) << "a bias that is not listed is not a bias of zeros";
}

}  // namespace linnet::test
