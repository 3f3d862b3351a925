// The walk over output pixels that convolutions share: for each pixel of a block, which taps of the filter lie inside the
// input, and where input, filter, output and accumulators of that pixel are. It knows nothing of element types and is not
// inlined, so that a firmware has it once for all its convolutions.
#pragma once
#include "linnet/ops/sums.h"
#include "linnet/ops/window.h"

namespace linnet::ops {

// Taps of one axis that meet the input: the first of them, the input that it meets, how many there are.
struct Taps {
  int32_t tap, input, count;
};
using TapsFunction = Taps (*)(const WindowAxis& axis, int32_t output, Range within);

inline Taps forward_taps(const WindowAxis& axis, int32_t output, Range within) {
  int32_t first;
  Range taps = inside_taps(axis, output, within, first);
  return {taps.lo, first, taps.count()};
}

__attribute__((noinline)) inline int32_t element_offset(const View& v, int32_t b, int32_t y, int32_t x, int32_t c) {
  int32_t row = v.rolling_rows > 0 ? y % v.rolling_rows : y - v.origin[1];
  return (b - v.origin[0]) * v.stride[0] + row * v.stride[1] + (x - v.origin[2]) * v.stride[2] + c - v.origin[3];
}

// How taps step through the filter and the input as they are counted up, in rows (0) and columns (1).
struct TapSteps {
  int32_t tap[2];
  int32_t input[2];
};

class WindowWalk {
 public:
  // The current pixel; offsets in elements from the operands' data. Columns are 0 only if rows are.
  int32_t batch = 0;
  int32_t rows = 0, columns = 0;
  int32_t input = 0, filter = 0, output = 0, accumulator = 0;
  // From one tap to the next, in elements.
  int32_t column_step, filter_row_step, filter_column_step;

  // `filter_b`, `filter_c`: the filter's first coordinates; `input_c`: the first input channel.
  __attribute__((noinline)) WindowWalk(const Call& call, const WindowAxis& y, const WindowAxis& x, TapsFunction taps,
                                       const TapSteps& steps, int32_t input_c, int32_t filter_b, int32_t filter_c)
      : block_(call.block), axes_{&y, &x}, taps_(taps), up_(call.direction == Direction::up), rows_per_tap_(steps.input[0]),
        input_c_(input_c), filter_b_(filter_b), filter_c_(filter_c) {
    const View &in = block_.views[sum_input], &f = block_.views[sum_filter];
    // A step that leads out of the input or the filter is only added after the last tap, but may be any number.
    column_step = wrapping_mul(in.stride[2], steps.input[1]);
    row_step_ = wrapping_mul(in.stride[1], rows_per_tap_);
    filter_row_step = wrapping_mul(f.stride[1], steps.tap[0]);
    filter_column_step = wrapping_mul(f.stride[2], steps.tap[1]);
    for (int axis = axis_b; axis <= axis_x; ++axis) at_[axis] = first(axis);
    at_[axis_x] -= up_ ? 1 : -1;
  }

  // Goes to the next pixel, the first one at first. False: there is none.
  __attribute__((noinline)) bool next() {
    for (int axis = axis_x;; --axis) {
      at_[axis] += up_ ? 1 : -1;
      if (at_[axis] >= block_.out.lo[axis] && at_[axis] < block_.out.hi[axis]) break;
      if (axis == axis_b) return false;
      at_[axis] = first(axis);
    }
    batch = at_[axis_b];
    Taps taps[2];
    for (int i = 0; i < 2; ++i) taps[i] = taps_(*axes_[i], at_[axis_y + i], {block_.reduction.lo[i], block_.reduction.hi[i]});
    columns = taps[1].count;
    rows = columns == 0 ? 0 : taps[0].count;
    if (rows != 0) {  // else the coordinates may be anywhere
      const View& in = block_.views[sum_input];
      input = element_offset(in, batch, taps[0].input, taps[1].input, input_c_);
      first_row_ = in.rolling_rows > 0 ? taps[0].input % in.rolling_rows : 0;
      filter = element_offset(block_.views[sum_filter], filter_b_, taps[0].tap, taps[1].tap, filter_c_);
    }
    int32_t c = block_.out.lo[axis_c];
    output = element_offset(block_.views[sum_output], batch, at_[axis_y], at_[axis_x], c);
    accumulator = element_offset(block_.views[sum_accumulator], batch, at_[axis_y], at_[axis_x], c);
    return true;
  }

  int32_t first_row() const { return first_row_; }
  // From an input offset to that of the next tap's row; `row` is the row within a rolling buffer.
  void next_row(int32_t& offset, int32_t& row) const {
    offset = wrapping_add(offset, row_step_);
    const View& in = block_.views[sum_input];
    if (in.rolling_rows == 0) return;
    for (row += rows_per_tap_; row >= in.rolling_rows; row -= in.rolling_rows) offset = wrapping_sub(offset, in.rolling_rows * in.stride[1]);
  }

 private:
  int32_t first(int axis) const { return up_ ? block_.out.lo[axis] : block_.out.hi[axis] - 1; }

  const Block& block_;
  const WindowAxis* axes_[2];
  TapsFunction taps_;
  bool up_;
  int32_t rows_per_tap_, row_step_, input_c_, filter_b_, filter_c_;
  int32_t first_row_ = 0;
  int32_t at_[3];
};

// Convolutions whose output channels see all input channels of their group. The reduction box's third axis is the channels
// of a group; `filters_per_group` is 0 if there is one group only.
template <class S>
void sum_windows(const Call& call, WindowWalk& walk, const typename S::Params& p, int32_t filters_per_group, int32_t group_channels) {
  S sums(call, p);
  const Block& block = call.block;
  auto* in = static_cast<const typename S::Input*>(call.data[sum_input]);
  auto* filter = static_cast<const typename S::Weight*>(call.data[sum_filter]);
  int32_t depth = block.reduction.hi[2] - block.reduction.lo[2];
  int32_t first_channel = block.out.lo[axis_c], channels = block.out.hi[axis_c] - first_channel;
  int32_t channel_step = block.views[sum_filter].stride[0];
  bool up = call.direction == Direction::up;
  while (walk.next()) {
    auto* to = static_cast<typename S::Output*>(call.data[sum_output]) + walk.output;
    auto* partial = static_cast<typename S::Accumulator*>(call.data[sum_accumulator]);
    if (partial) partial += walk.accumulator;
    int32_t columns = walk.columns, run = depth;
    if (walk.column_step == depth && walk.filter_column_step == depth) {  // columns stand side by side: one long run
      run *= columns;
      columns = 1;
    }
    sums.start_batch(walk.batch);
    for (int32_t i = 0; i < channels; ++i) {
      int32_t c = up ? i : channels - 1 - i;
      typename S::Accumulator sum = block.first ? 0 : partial[c];
      int32_t offset = walk.input, row = walk.first_row();
      if (filters_per_group != 0) offset += (first_channel + c) / filters_per_group * group_channels;
      const typename S::Weight* weights_row = filter + walk.filter + c * channel_step;
      for (int32_t j = walk.rows; j > 0; --j) {
        const typename S::Input* from = in + offset;
        const typename S::Weight* w = weights_row;
        for (int32_t k = columns; k > 0; --k, from += walk.column_step, w += walk.filter_column_step)
          for (int32_t l = 0; l < run; ++l) sums.add(sum, from[l], w[l]);
        walk.next_row(offset, row);
        weights_row += walk.filter_row_step;
      }
      if (block.last) to[c] = sums.finish(sum, first_channel + c);
      else partial[c] = sum;
    }
  }
}

}  // namespace linnet::ops
