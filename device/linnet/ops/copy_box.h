// What TRANSPOSE, STRIDED_SLICE and CONCATENATION share: a copy of a box of the output from an affine image of it in the
// input. Elements are moved as unsigned integers of their size; their type does not matter.
#pragma once
#include "linnet/ops/shapes.h"

namespace linnet::ops {

// Output element lo + i comes from the input element whose coordinate along axis `axis[k]` is start[k] + step[k] * i[k].
struct CopyParams {
  Extents4 input, output;
  int32_t lo[4], hi[4];  // the part of the output that is written
  int32_t start[4];
  int32_t step[4];       // not 0 unless hi - lo is 1
  uint8_t axis[4];       // a permutation of 0, 1, 2, 3

  int32_t from(int k, int32_t at) const { return start[k] + step[k] * (at - lo[k]); }
};

// A copy without any change: what operators start from.
inline CopyParams copy_all(const Extents4& input, const Extents4& output) {
  CopyParams p = {input, output, {0, 0, 0, 0}, {}, {0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 2, 3}};
  for (int k = 0; k < 4; ++k) p.hi[k] = output.d[k];
  return p;
}

inline bool check_copy(const CopyParams& p, Extent* extents, int operands, uint8_t size) {
  uint32_t from_elements, to_elements, axes = 0;
  if (operands != 2 || !p.input.count(from_elements) || !p.output.count(to_elements)) return false;
  for (int k = 0; k < 4; ++k) {
    if (p.axis[k] > 3 || p.lo[k] < 0 || p.lo[k] >= p.hi[k] || p.hi[k] > p.output.d[k]) return false;
    axes |= 1u << p.axis[k];
    int32_t limit = p.input.d[p.axis[k]];
    int64_t last = p.start[k] + static_cast<int64_t>(p.step[k]) * (p.hi[k] - 1 - p.lo[k]);
    if (p.start[k] < 0 || p.start[k] >= limit || last < 0 || last >= limit) return false;
    // Pointers step past the last element of a row before they are compared.
    if (p.step[k] > limit || p.step[k] < -limit) return false;
  }
  extents[0] = {extent_bytes(from_elements, size), size};
  extents[1] = {extent_bytes(to_elements, size), size, true};
  return axes == 15;
}

inline Box copy_window(const CopyParams& p, int operand, const Block& block) {
  if (operand != 0 || is_empty(block.out)) return block.out;
  Box box = {};
  for (int k = 0; k < 4; ++k) {
    int32_t first = p.from(k, block.out.lo[k]), last = p.from(k, block.out.hi[k] - 1);
    box.lo[p.axis[k]] = min_of(first, last);
    box.hi[p.axis[k]] = max_of(first, last) + 1;
  }
  return box;
}

// Exact for the walk of copy_run. With elements numbered in the order of that walk, g(i) the position that number i is
// written to and f(i) the one it is read from: nothing that is still to be read may be overwritten, so walking up
//   in >= out + max over i < j of g(i) + 1 - f(j)
// and walking down the mirror image of it. Along a row both are linear, so the ends of rows decide.
inline Lag copy_lag(const CopyParams& p, int32_t size) {
  View in = p.input.view(), out = p.output.view();
  int32_t in_stride[4] = {in.stride[0], in.stride[1], in.stride[2], 1};
  int32_t inner = p.step[3] * in_stride[p.axis[3]], n = p.hi[3] - p.lo[3];
  Lag lag;
  for (int down = 0; down < 2; ++down) {
    // Positions are mirrored for the walk down, so that both directions maximise write + 1 - (lowest read to come).
    int64_t in_total = p.input.elements(), out_total = p.output.elements();
    int64_t lowest = INT64_MAX / 4, most = INT64_MIN / 4;
    Box part;
    __builtin_memcpy(part.lo, p.lo, sizeof part.lo);
    __builtin_memcpy(part.hi, p.hi, sizeof part.hi);
    // From the last row of the walk to the first: reads to come are known.
    for_each_row(part, down ? Direction::up : Direction::down, [&](int32_t b, int32_t y, int32_t x) {
      int64_t f = p.from(0, b) * int64_t{in_stride[p.axis[0]]} + p.from(1, y) * int64_t{in_stride[p.axis[1]]} +
                  p.from(2, x) * int64_t{in_stride[p.axis[2]]} + p.start[3] * int64_t{in_stride[p.axis[3]]};
      int64_t g = b * int64_t{out.stride[0]} + y * int64_t{out.stride[1]} + x * int64_t{out.stride[2]} + p.lo[3];
      auto read = [&](int32_t i) { return down ? in_total - 1 - (f + int64_t{inner} * (n - 1 - i)) : f + int64_t{inner} * i; };
      auto written = [&](int32_t i) { return down ? out_total - 1 - (g + n - 1 - i) : g + i; };
      auto meet = [&](int32_t i, int64_t next) {
        if (written(i) + 1 - next > most) most = written(i) + 1 - next;
      };
      meet(n - 1, lowest);
      if (n > 1) meet(inner > 0 ? 0 : n - 2, read(inner > 0 ? 1 : n - 1));
      int64_t least = read(inner > 0 ? 0 : n - 1);
      if (least < lowest) lowest = least;
    });
    // One element alone is read before it is written.
    int64_t bytes = most < -in_total ? -in_total * size : most * size;
    (down ? lag.backward : lag.forward) = bytes > INT32_MAX ? Lag::never : static_cast<int32_t>(bytes);
  }
  return lag;
}

template <class T>
void copy_run(const Call& call, const CopyParams& p) {
  TensorView<const T> in = call.in<T>(0);
  TensorView<T> out = call.out<T>(1);
  const Box& box = call.block.out;
  bool up = call.direction == Direction::up;
  int32_t n = box.hi[axis_c] - box.lo[axis_c];
  int32_t first = up ? box.lo[axis_c] : box.hi[axis_c] - 1;
  int32_t to_step = up ? 1 : -1, from_step = up ? p.step[axis_c] : -p.step[axis_c];
  uint32_t inner = p.axis[axis_c];
  bool rolling = inner == axis_y && in.view->rolling_rows > 0;
  int32_t stride = inner == axis_c ? from_step : from_step * in.view->stride[inner];
  int32_t at[4];
  for_each_row(box, call.direction, [&](int32_t b, int32_t y, int32_t x) {
    at[p.axis[0]] = p.from(0, b);
    at[p.axis[1]] = p.from(1, y);
    at[p.axis[2]] = p.from(2, x);
    at[inner] = p.from(axis_c, first);
    const T* from = in.at(at[0], at[1], at[2], at[3]);
    T* to = out.at(b, y, x, first);
    for (int32_t i = 0; i < n; ++i, to += to_step) {
      *to = load(from);
      from += stride;
      if (rolling && i + 1 < n) {
        at[axis_y] += from_step;
        from = in.at(at[0], at[1], at[2], at[3]);
      }
    }
  });
}

// Derive from it and add Computation, name and params_version.
template <class T>
struct CopyBox {
  static constexpr const char* set = "reference";
  static constexpr Splits splits = split_batch | split_rows | split_columns | split_channels;
  using Params = CopyParams;
  static bool check(const CopyParams& p, Extent* extents, int operands) { return check_copy(p, extents, operands, sizeof(T)); }
  static void whole(const CopyParams& p, Block& block, View* views) {
    for (int k = 0; k < 4; ++k) {
      block.out.lo[k] = p.lo[k];
      block.out.hi[k] = p.hi[k];
    }
    views[0] = p.input.view();
    views[1] = p.output.view();
  }
  static Box window(const CopyParams& p, int operand, const Block& block) { return copy_window(p, operand, block); }
  static Cost cost(const CopyParams&) { return {}; }
  static Lag lag(const CopyParams& p, int input, int output) {
    if (input != 0 || output != 1) return {};
    return copy_lag(p, sizeof(T));
  }
  static void run(const Call& call, const CopyParams& p) { copy_run<T>(call, p); }
};

// Runs F<uint8_t>, F<uint16_t>, F<uint32_t> or F<uint64_t> by the size of the elements.
template <template <class> class F, uint32_t n>
Status run_by_size(Emitter& emitter, Type type, const typename F<uint8_t>::Params& p, const Ref (&operands)[n]) {
  switch (element_bytes(type)) {
    case 1: return emitter.run<F<uint8_t>>(p, operands);
    case 2: return emitter.run<F<uint16_t>>(p, operands);
    case 4: return emitter.run<F<uint32_t>>(p, operands);
    case 8: return emitter.run<F<uint64_t>>(p, operands);
    default: return LINNET_ERROR(unsupported, "the operator moves elements of 1, 2, 4 or 8 bytes");
  }
}
inline bool has_movable_elements(const TensorInfo& t) {
  uint32_t bytes = element_bytes(t.type);
  return bytes != 0 && bytes <= 8;
}

// Same scale and zero point (or none): elements may be moved as they are.
inline bool same_quantization(const TensorInfo& a, const TensorInfo& b) {
  if (a.scales.size() > 1 || b.scales.size() > 1) return false;
  return a.scales.size() == b.scales.size() && a.scale() == b.scale() && a.zero_point() == b.zero_point();
}

}  // namespace linnet::ops
