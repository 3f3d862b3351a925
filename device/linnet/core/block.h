// Box, View, Block: which part of an operator's output a kernel computes, and where the operands of that part lie.
//
// Every operator folds its shapes to four canonical axes: batch, rows, columns, channels (b, y, x, c), row-major, channels
// innermost and contiguous. A whole layer is the biggest block; bands of rows and tiles are smaller ones. Kernels know
// nothing else about tiling, so the bits cannot depend on it.
#pragma once
#include <stdint.h>

namespace linnet {

enum Axis : uint8_t { axis_b = 0, axis_y = 1, axis_x = 2, axis_c = 3 };

// A set of axes along which work may be split.
enum Splits : uint8_t {
  split_none = 0,
  split_batch = 1,
  split_rows = 2,
  split_columns = 4,
  split_channels = 8,
  split_reduction = 16,          // boxes of the reduction in any order (integers)
  split_reduction_in_order = 32  // only boxes that follow one another in the reference's order (floats)
};
constexpr Splits operator|(Splits a, Splits b) { return static_cast<Splits>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b)); }

// Half-open ranges over (b, y, x, c), in elements of the tensor's own coordinates.
struct Box {
  int32_t lo[4];
  int32_t hi[4];
};

constexpr Box whole_box(int32_t b, int32_t y, int32_t x, int32_t c) { return {{0, 0, 0, 0}, {b, y, x, c}}; }

constexpr bool is_empty(const Box& box) {
  for (int i = 0; i < 4; ++i)
    if (box.lo[i] >= box.hi[i]) return true;
  return false;
}

constexpr bool contains(const Box& outer, const Box& inner) {
  if (is_empty(inner)) return true;
  for (int i = 0; i < 4; ++i)
    if (inner.lo[i] < outer.lo[i] || inner.hi[i] > outer.hi[i]) return false;
  return true;
}

// The part of a reduction: filter rows, filter columns, input channels. Operators without one ignore it.
struct ReductionBox {
  int32_t lo[3];
  int32_t hi[3];
};

// How an operand lies in memory. Element (b, y, x, c) stands, counted in elements from the operand's data pointer, at
//   (b - origin[0]) * stride[0] + row(y) * stride[1] + (x - origin[2]) * stride[2] + (c - origin[3])
// with row(y) = y - origin[1], or y mod rolling_rows in a rolling buffer (rolling_rows > 0).
struct View {
  int32_t stride[3];
  int32_t origin[4];
  int32_t rolling_rows;
};

constexpr View dense_view(int32_t rows, int32_t columns, int32_t channels) {
  return {{rows * columns * channels, columns * channels, channels}, {0, 0, 0, 0}, 0};
}

// One call's share of the work. `first` and `last` tell a kernel that reduces over several calls when to start its
// accumulators (operand role accumulator) and when to write the output; both are true for a whole reduction.
struct Block {
  Box out;
  ReductionBox reduction;
  const View* views;  // one per operand of the step
  bool first;
  bool last;
};

enum class Direction : uint8_t { up = 0, down = 1 };  // the order in which a whole-layer kernel walks its output

// A typed operand inside a kernel.
template <class T>
struct TensorView {
  T* data;
  const View* view;

  int32_t row(int32_t y) const { return view->rolling_rows > 0 ? y % view->rolling_rows : y - view->origin[1]; }
  T* at(int32_t b, int32_t y, int32_t x, int32_t c) const {
    return data + (b - view->origin[0]) * view->stride[0] + row(y) * view->stride[1] +
           (x - view->origin[2]) * view->stride[2] + (c - view->origin[3]);
  }
  T* channel(int32_t c) const { return data + (c - view->origin[3]); }  // for operands with channels only
};

}  // namespace linnet
