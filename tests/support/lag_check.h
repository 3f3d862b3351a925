// Proves a computation's lag() by running it with its output over an input at exactly that distance, and by showing that it
// goes wrong one element nearer. Generic: give the computation and a network that uses it.
//
//     test::check_lags<ops::pad::Pad<uint8_t>>(n.write(), {input});
//
// The network's data should be random, so that an overwritten input shows. `tight`: being nearer must corrupt.
#pragma once
#include "tests/support/captured_steps.h"

namespace linnet::test {

// The output of a run whose input starts `distance` bytes after its output (going up), or ends so many before (down).
template <class C>
TensorBytes run_overlapped(const CapturedStep<C>& s, size_t input, size_t output, int64_t distance, Direction direction) {
  auto in_bytes = static_cast<int64_t>(s.before[input].size()), out_bytes = static_cast<int64_t>(s.after[output].size());
  int64_t in_at = direction == Direction::up ? distance : out_bytes - distance - in_bytes;
  int64_t margin = (std::abs(in_at) + 63) / 64 * 64 + 64;
  std::vector<uint8_t> memory(static_cast<size_t>(2 * margin + in_bytes + out_bytes), 0xA5);
  std::vector<TensorBytes> own = s.before;
  void* data[max_operands] = {};
  for (size_t i = 0; i < s.count(); ++i)
    if (s.present[i]) data[i] = own[i].data();
  data[output] = memory.data() + margin;
  data[input] = memory.data() + margin + in_at;
  std::memcpy(data[input], s.before[input].data(), s.before[input].size());
  View views[max_operands];
  Block whole;
  whole.views = views;
  whole.first = whole.last = true;
  C::whole(s.params, whole, views);
  if (s.is_read(output)) std::memcpy(data[output], s.before[output].data(), s.before[output].size());
  C::run(Call{data, whole, direction}, s.params);
  auto* out = static_cast<uint8_t*>(data[output]);
  return {out, out + out_bytes};
}

// The bytes of `output` that the whole layer writes: a step may cover a part only (an input of a concatenation).
template <class C>
TensorBytes written_part(const CapturedStep<C>& s, size_t output, const TensorBytes& bytes) {
  View views[max_operands];
  Block whole;
  whole.views = views;
  C::whole(s.params, whole, views);
  Box box = C::window(s.params, static_cast<int>(output), whole);
  const View& v = views[output];
  size_t size = s.extents[output].element_bytes;
  TensorBytes part;
  for (int32_t b = box.lo[0]; b < box.hi[0]; ++b)
    for (int32_t y = box.lo[1]; y < box.hi[1]; ++y)
      for (int32_t x = box.lo[2]; x < box.hi[2]; ++x)
        for (int32_t c = box.lo[3]; c < box.hi[3]; ++c) {
          const uint8_t* at = bytes.data() + static_cast<size_t>(b * v.stride[0] + y * v.stride[1] + x * v.stride[2] + c) * size;
          part.insert(part.end(), at, at + size);
        }
  return part;
}

template <class C>
void check_lag(const CapturedStep<C>& s, size_t input, size_t output, bool tight) {
  Lag lag = C::lag(s.params, static_cast<int>(input), static_cast<int>(output));
  auto in_bytes = static_cast<int64_t>(s.before[input].size()), out_bytes = static_cast<int64_t>(s.after[output].size());
  int64_t element = s.extents[input].element_bytes;
  TensorBytes expected = written_part(s, output, s.after[output]);
  auto right_at = [&](int64_t distance, Direction direction) {
    return written_part(s, output, run_overlapped(s, input, output, distance, direction)) == expected;
  };
  for (Direction direction : {Direction::up, Direction::down}) {
    bool up = direction == Direction::up;
    int64_t distance = up ? lag.forward : lag.backward;
    if (distance == Lag::never) continue;
    // The input must be aligned to its elements: the next distance at which it is.
    while ((up ? distance : out_bytes - in_bytes - distance) % element != 0) ++distance;
    EXPECT_TRUE(right_at(distance, direction)) << C::name << (up ? " up" : " down") << ": wrong at its lag of " << distance;
    if (!tight || distance - element <= -in_bytes) continue;
    EXPECT_FALSE(right_at(distance - element, direction)) << C::name << (up ? " up" : " down") << ": right below its lag of " << distance;
  }
}

// Every pair of an input and an output for which the computation states a lag.
template <class C>
void check_lags(const std::vector<uint8_t>& file, const std::vector<TensorBytes>& inputs, bool tight = true) {
  bool any = false;
  for (const CapturedStep<C>& s : capture_steps<C>(file, inputs))
    for (size_t o = 0; o < s.count(); ++o)
      for (size_t i = 0; i < s.count(); ++i) {
        if (!s.present[i] || !s.present[o] || s.roles[o] != role_out || i == o) continue;
        Lag lag = C::lag(s.params, static_cast<int>(i), static_cast<int>(o));
        if (lag.forward == Lag::never && lag.backward == Lag::never) continue;
        any = true;
        check_lag(s, i, o, tight);
      }
  EXPECT_TRUE(any) << C::name << " states no lag at all";
}

}  // namespace linnet::test
