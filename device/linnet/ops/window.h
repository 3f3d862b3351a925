// Window arithmetic that convolutions and pools share: output sizes, padding, the taps of a window that lie inside the
// input, the input that a block needs, and the lag of kernels that walk pixel by pixel.
//
// Output o sees the inputs o * stride - padding + k * dilation for the taps k of the filter; what falls outside the input is
// left out. Sizes and padding are TensorFlow's (SAME puts the odd row behind); all divisions are of 32 bits.
#pragma once
#include "linnet/ops/shapes.h"

namespace linnet::ops {

enum class Padding : int8_t { same = 0, valid = 1 };  // schema: enum Padding

// One axis of a window operator, rows or columns; part of the parameters of computations.
struct WindowAxis {
  int32_t input, output;  // extents in pixels
  uint16_t filter, stride, dilation, padding;  // padding: before the first input
};

constexpr uint32_t window_reach(uint32_t filter, uint32_t dilation) { return (filter - 1) * dilation + 1; }

// Fills `axis`, its output and padding included. False: sizes that make no sense, or beyond 16 bits.
inline bool make_axis(WindowAxis& axis, int8_t padding, int32_t input, int32_t filter, int32_t stride, int32_t dilation) {
  const int32_t sizes[] = {filter, stride, dilation};
  for (int32_t n : sizes)
    if (n <= 0 || n > UINT16_MAX) return false;
  uint32_t reach = window_reach(static_cast<uint32_t>(filter), static_cast<uint32_t>(dilation));  // below 2^32
  if (input <= 0 || reach > INT32_MAX) return false;
  int32_t last = input - 1;  // the furthest that the window's start may be
  if (padding == static_cast<int8_t>(Padding::valid)) last -= static_cast<int32_t>(reach) - 1;
  else if (padding != static_cast<int8_t>(Padding::same)) return false;
  if (last < 0) return false;
  int32_t starts = last / stride;
  int32_t total = starts * stride + static_cast<int32_t>(reach) - input;
  int32_t before = total > 0 ? total / 2 : 0;
  if (before > UINT16_MAX) return false;
  auto narrow = [](int32_t n) { return static_cast<uint16_t>(n); };
  axis = {input, starts + 1, narrow(filter), narrow(stride), narrow(dilation), narrow(before)};
  return true;
}

// For `check`: whatever a file says, none of the functions below overflows on such an axis.
inline bool is_valid(const WindowAxis& a) {
  constexpr int64_t limit = int64_t{1} << 30;
  if (a.input <= 0 || a.input > limit || a.output <= 0 || a.filter == 0 || a.stride == 0 || a.dilation == 0) return false;
  return static_cast<int64_t>(a.output) * a.stride + static_cast<int64_t>(a.filter) * a.dilation < limit;
}

struct Range {
  int32_t lo, hi;
  int32_t count() const { return hi > lo ? hi - lo : 0; }
};

// The taps among `within` of output `o` that lie inside the input; `first` becomes the input of the first of them.
inline Range inside_taps(const WindowAxis& a, int32_t o, Range within, int32_t& first) {
  int32_t dilation = a.dilation, start = o * a.stride - a.padding;
  if (start + within.lo * dilation < 0) within.lo = (dilation - 1 - start) / dilation;
  if (start + (within.hi - 1) * dilation >= a.input) within.hi = (a.input - start + dilation - 1) / dilation;
  first = start + within.lo * dilation;
  return within;
}

// The inputs that outputs [out.lo, out.hi) touch through `taps`, clipped to the input; may be empty.
inline Range input_range(const WindowAxis& a, Range out, Range taps) {
  int32_t lo = out.lo * a.stride - a.padding + taps.lo * a.dilation;
  int32_t hi = (out.hi - 1) * a.stride - a.padding + (taps.hi - 1) * a.dilation + 1;
  return {max_of(lo, 0), min_of(hi, a.input)};
}

// Sets rows and columns of `box` to what the block's output needs of the input.
inline void input_rows_and_columns(Box& box, const WindowAxis& y, const WindowAxis& x, const Block& block) {
  const WindowAxis* axes[] = {&y, &x};
  for (int i = 0; i < 2; ++i) {
    Range range = input_range(*axes[i], {block.out.lo[1 + i], block.out.hi[1 + i]}, {block.reduction.lo[i], block.reduction.hi[i]});
    box.lo[1 + i] = range.lo;
    box.hi[1 + i] = range.hi;
  }
}

// Lag of a kernel that walks pixels in order, up or down, and writes a pixel's channels in the same order, each after
// reading the window that it needs. All in bytes: `in_pixel`, `out_pixel` of a pixel's channels, `out_element` of one
// output; `channel_advance`: how much further than its pixel's start the last channel begins to read (0 for a convolution,
// which reads all channels each time; all but one channel's bytes where channels are separate).
template <bool transposed>
struct BasicWindowLag {
  const WindowAxis &y, &x;
  int32_t batches, in_pixel, out_pixel, out_element, channel_advance;

  Lag lag() const { return {one_way(y.padding, x.padding), one_way(behind(y), behind(x))}; }

 private:
  static constexpr int32_t nothing = INT32_MAX;

  // Padding after the last input: what padding is to a walk that goes down.
  static int32_t behind(const WindowAxis& a) {
    return (a.output - 1) * a.stride + (a.filter - 1) * a.dilation + 1 - a.input - a.padding;
  }
  // First input that output o of the walk reads.
  static int32_t first(const WindowAxis& a, int32_t o, int32_t padding) {
    if (transposed) {
      int32_t at = o + padding - (a.filter - 1), i = at > 0 ? (at + a.stride - 1) / a.stride : 0;
      return i < a.output && i * a.stride <= o + padding ? i : nothing;
    }
    int32_t at = o * a.stride - padding, tap = 0;
    if (at < 0) tap = (a.dilation - 1 - at) / a.dilation;
    at += tap * a.dilation;
    return tap < a.filter && at < a.input ? at : nothing;
  }
  static int32_t inputs(const WindowAxis& a) { return transposed ? a.output : a.input; }
  static int32_t outputs(const WindowAxis& a) { return transposed ? a.input : a.output; }

  // The largest distance by which a write is ahead of what is still to be read, walking up with these paddings: pixels from
  // the last to the first, remembering the lowest byte that later ones read.
  int32_t one_way(int32_t padding_y, int32_t padding_x) const {
    int32_t result = -batches * inputs(y) * inputs(x) * in_pixel;  // no lag needed: nothing is read after a write
    int32_t later = nothing, written = batches * outputs(y) * outputs(x) * out_pixel;
    for (int32_t b = batches; b-- > 0;)
      for (int32_t oy = outputs(y); oy-- > 0;)
        for (int32_t ox = outputs(x); ox-- > 0; written -= out_pixel) {
          if (later != nothing) result = max_of(result, written - later);
          int32_t row = first(y, oy, padding_y), column = first(x, ox, padding_x);
          if (row == nothing || column == nothing) continue;
          int32_t low = ((b * inputs(y) + row) * inputs(x) + column) * in_pixel;
          if (out_pixel > out_element) result = max_of(result, written - out_element - low - channel_advance);
          later = min_of(later, low);
        }
    return result;
  }
};
using WindowLag = BasicWindowLag<false>;

// A transposed convolution is the window operator that leads from its output back to its input: `input` and `output` of its
// axes are those of that operator, so its own input has `output` pixels. Its lag:
using TransposedWindowLag = BasicWindowLag<true>;

}  // namespace linnet::ops
