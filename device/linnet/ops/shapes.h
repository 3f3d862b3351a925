// Folding of shapes to the four canonical axes, and walks over them.
#pragma once
#include "linnet/core/real.h"
#include "linnet/ops/op.h"

namespace linnet::ops {

// Bytes of `elements`, saturating: a size that no region has.
constexpr uint32_t extent_bytes(uint64_t elements, uint32_t element_bytes) {
  uint64_t bytes = elements * element_bytes;
  return bytes > INT32_MAX ? UINT32_MAX : static_cast<uint32_t>(bytes);
}

// Product of dimensions that a hostile file may have chosen: false unless all are positive and the product below 2^31.
template <class... D>
constexpr bool product(uint32_t& result, D... dimensions) {
  uint64_t n = 1;
  bool ok = true;
  ((ok = ok && dimensions > 0 && (n *= static_cast<uint64_t>(dimensions)) <= INT32_MAX), ...);
  result = ok ? static_cast<uint32_t>(n) : 0;
  return ok;
}

// A shape folded to (b, y, x, c); part of the parameters of computations.
struct Extents4 {
  int32_t d[4];

  bool count(uint32_t& elements) const { return product(elements, d[0], d[1], d[2], d[3]); }
  int32_t elements() const { return d[0] * d[1] * d[2] * d[3]; }  // after count() has said yes
  Box box() const { return whole_box(d[0], d[1], d[2], d[3]); }
  View view() const { return dense_view(d[1], d[2], d[3]); }
};

// Aligned to the right: the last dimension is c, whatever exceeds four is merged into b. A scalar is (1, 1, 1, 1).
inline Extents4 fold(Span<const int32_t> dims) {
  Extents4 e = {{1, 1, 1, 1}};
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t from_right = dims.size() - 1 - i;
    e.d[from_right < 3 ? 3 - from_right : 0] *= dims[i];
  }
  return e;
}

// Calls f(b, y, x) for every row of channels of the box, in the direction's order.
template <class F>
inline void for_each_row(const Box& box, Direction direction, F f) {
  int32_t nb = box.hi[0] - box.lo[0], ny = box.hi[1] - box.lo[1], nx = box.hi[2] - box.lo[2];
  bool up = direction == Direction::up;
  for (int32_t b = 0; b < nb; ++b)
    for (int32_t y = 0; y < ny; ++y)
      for (int32_t x = 0; x < nx; ++x)
        f(up ? box.lo[0] + b : box.hi[0] - 1 - b, up ? box.lo[1] + y : box.hi[1] - 1 - y, up ? box.lo[2] + x : box.hi[2] - 1 - x);
}

// Lag of a walk that reads element i and then writes element i, in dense buffers of `elements`.
constexpr Lag elementwise_lag(int32_t elements, uint32_t from_bytes, uint32_t to_bytes) {
  // Up: writing element i ends at out + (i + 1) * to and must not pass the next unread input, in + (i + 1) * from, for
  // every i with a next one: in >= out + (i + 1) * (to - from). The mirror image walks down.
  int64_t last = elements - 1, growth = static_cast<int64_t>(to_bytes) - from_bytes;
  int64_t lag = growth > 0 ? last * growth : (last > 0 ? growth : -static_cast<int64_t>(from_bytes));
  if (elements <= 1) lag = -static_cast<int64_t>(from_bytes);
  return {static_cast<int32_t>(lag), static_cast<int32_t>(lag)};
}

template <class T>
struct limits;
template <>
struct limits<int8_t> { static constexpr int32_t lowest = INT8_MIN, highest = INT8_MAX; };
template <>
struct limits<uint8_t> { static constexpr int32_t lowest = 0, highest = UINT8_MAX; };
template <>
struct limits<int16_t> { static constexpr int32_t lowest = INT16_MIN, highest = INT16_MAX; };
template <>
struct limits<int32_t> { static constexpr int32_t lowest = INT32_MIN, highest = INT32_MAX; };

template <class T>
constexpr bool is_zero_point(int32_t z) { return z >= limits<T>::lowest && z <= limits<T>::highest; }

// An element that is only read. Files align those of 64 bits to four bytes only.
template <class T>
T load(const T* at) {
  if constexpr (sizeof(T) <= 4) return *at;
  T value;
  __builtin_memcpy(&value, __builtin_assume_aligned(static_cast<const void*>(at), 4), sizeof value);
  return value;
}

// round(bound / scale) as TFLite quantises the bounds of fused activations: a float division, then halves away from zero.
inline int32_t quantize_bound(float bound, float scale) { return round_to_int(to_single(divide(bound, scale))); }

// Per-tensor quantisation parameters exist.
inline bool is_quantized(const TensorInfo& t) { return t.scales.size() == 1 && t.scales[0] > 0; }

}  // namespace linnet::ops
