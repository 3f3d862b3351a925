// PAD and PADV2 with constant paddings: int8 and uint8 are filled with the output's zero point, others with 0, or all with
// PADV2's value (TFLite: reference Pad). Up to four dimensions; more where outer ones without padding can be merged.
#pragma once
#include "linnet/ops/copy_box.h"

namespace linnet::ops::pad {

struct Params {
  Extents4 input, output;
  int32_t before[4];
  uint32_t value;  // the element's bits
};

// Output positions, in elements, of the first and the last input element.
inline int64_t position_of(const Params& p, bool last) {
  int64_t position = 0;
  for (int k = 0; k < 4; ++k) position = position * p.output.d[k] + p.before[k] + (last ? p.input.d[k] - 1 : 0);
  return position;
}

template <class T>
struct Pad {
  using Computation = Pad;
  static constexpr const char* set = "reference";
  static constexpr const char* name = sizeof(T) == 1 ? "pad.1" : sizeof(T) == 2 ? "pad.2" : "pad.4";
  static constexpr uint32_t params_version = 1;
  static constexpr Splits splits = split_batch | split_rows | split_columns | split_channels;
  using Params = pad::Params;

  static bool check(const Params& p, Extent* extents, int operands) {
    uint32_t from, to;
    if (operands != 2 || !p.input.count(from) || !p.output.count(to)) return false;
    for (int k = 0; k < 4; ++k)
      if (p.before[k] < 0 || p.before[k] > p.output.d[k] - p.input.d[k]) return false;
    extents[0] = {extent_bytes(from, sizeof(T)), sizeof(T)};
    extents[1] = {extent_bytes(to, sizeof(T)), sizeof(T), true};
    return true;
  }
  static void whole(const Params& p, Block& block, View* views) {
    block.out = p.output.box();
    views[0] = p.input.view();
    views[1] = p.output.view();
  }
  static Box window(const Params& p, int operand, const Block& block) {
    Box box = block.out;
    if (operand != 0) return box;
    for (int k = 0; k < 4; ++k) {
      box.lo[k] = clamp(box.lo[k] - p.before[k], 0, p.input.d[k]);
      box.hi[k] = clamp(box.hi[k] - p.before[k], 0, p.input.d[k]);
    }
    return box;
  }
  static Cost cost(const Params&) { return {}; }
  // Element by element in the output's order; padding before an input element has been written when it is read. The
  // distance grows with every padding passed, so the last (going up) or first (down) input element decides.
  static Lag lag(const Params& p, int input, int output) {
    if (input != 0 || output != 1) return {};
    int64_t in = p.input.elements(), out = p.output.elements();
    int64_t first = position_of(p, false), last = position_of(p, true);
    int64_t forward = last > 0 ? last - (in - 1) : -in;
    int64_t backward = first < out - 1 ? out - in - first : -in;
    return {static_cast<int32_t>(forward) * static_cast<int32_t>(sizeof(T)), static_cast<int32_t>(backward) * static_cast<int32_t>(sizeof(T))};
  }
  static void run(const Call& call, const Params& p) {
    TensorView<const T> in = call.in<T>(0);
    TensorView<T> out = call.out<T>(1);
    Box from = window(p, 0, call.block);
    const Box& box = call.block.out;
    bool up = call.direction == Direction::up;
    int32_t n = box.hi[axis_c] - box.lo[axis_c], step = up ? 1 : -1;
    // A row of the output is padding, input, padding.
    int32_t lengths[3] = {from.lo[axis_c] + p.before[axis_c] - box.lo[axis_c], from.hi[axis_c] - from.lo[axis_c], 0};
    if (lengths[1] <= 0) lengths[0] = lengths[1] = 0;
    lengths[2] = n - lengths[0] - lengths[1];
    T value = static_cast<T>(p.value);
    for_each_row(box, call.direction, [&](int32_t b, int32_t y, int32_t x) {
      int32_t at[3] = {b - p.before[0], y - p.before[1], x - p.before[2]};
      bool copies = lengths[1] != 0;
      for (int k = 0; k < 3; ++k) copies = copies && at[k] >= 0 && at[k] < p.input.d[k];
      T* to = out.at(b, y, x, up ? box.lo[axis_c] : box.hi[axis_c] - 1);
      if (!copies) {
        for (int32_t i = 0; i < n; ++i, to += step) *to = value;
        return;
      }
      const T* source = in.at(at[0], at[1], at[2], up ? from.lo[axis_c] : from.hi[axis_c] - 1);
      for (int32_t i = 0; i < lengths[up ? 0 : 2]; ++i, to += step) *to = value;
      for (int32_t i = 0; i < lengths[1]; ++i, to += step, source += step) *to = *source;
      for (int32_t i = 0; i < lengths[up ? 2 : 0]; ++i, to += step) *to = value;
    });
  }
};

// Folds to four axes, merging the outermost while it has no padding and there are too many. False: does not fit.
inline bool fold_paddings(const TensorInfo& in, const TensorInfo& out, const int32_t* paddings, Params& p) {
  p.input = p.output = {{1, 1, 1, 1}};
  for (int k = 0; k < 4; ++k) p.before[k] = 0;
  int rank = in.rank();
  for (int i = 0; i < rank; ++i) {
    size_t d = static_cast<size_t>(i);
    int k = i - rank + 4;
    if (k < 0) k = 0;
    // Padding of the outer dimension becomes padding by whole slices of this one. If this one is padded too, the input is
    // no longer one range of the merged axis, unless there is only one slice of it.
    bool merges = k == 0 && i > 0 && p.output.d[0] > 1;
    if (merges && in.dims[d] != out.dims[d] && p.input.d[0] != 1) return false;
    p.before[k] = p.before[k] * out.dims[d] + paddings[2 * d];
    p.input.d[k] *= in.dims[d];
    p.output.d[k] *= out.dims[d];
  }
  return true;
}

inline Status infer_pad(const Node& node) {
  TensorInfo in = node.input(0), paddings = node.input(1), value = node.input(2), out = node.output(0);
  if (!in.present() || in.type != out.type || in.rank() != out.rank())
    return LINNET_ERROR(malformed, "PAD's input and output differ in type or rank");
  if (!paddings.data || paddings.type != Type::int32 || paddings.elements() != 2 * in.rank())
    return LINNET_ERROR(unsupported, "PAD needs constant int32 paddings, two for each dimension");
  if (in.scales.size() > 1 || out.scales.size() > 1 || (in.type == Type::int16 && out.zero_point() != 0))
    return LINNET_ERROR(unsupported, "PAD needs one scale for its tensors, and zero point 0 for int16");
  if (value.present() && (!value.data || value.type != in.type || value.elements() != 1))
    return LINNET_ERROR(unsupported, "PADV2 needs one constant value of the input's type");
  const int32_t* amounts = reinterpret_cast<const int32_t*>(paddings.data);
  for (int i = 0; i < in.rank(); ++i) {
    size_t d = static_cast<size_t>(i);
    int64_t before = amounts[2 * d], after = amounts[2 * d + 1];
    if (before < 0 || after < 0 || before + after + in.dims[d] != out.dims[d])
      return LINNET_ERROR(malformed, "PAD's output is not its input with the paddings around it, or a padding is negative");
  }
  Params p;
  if (in.elements() <= 0 || !fold_paddings(in, out, amounts, p))
    return LINNET_ERROR(unsupported, "PAD takes tensors that are not empty and pads at most four dimensions");
  return {};
}

inline Params lower_pad(const Node& node) {
  TensorInfo in = node.input(0), out = node.output(0), value = node.input(2);
  Params p;
  fold_paddings(in, out, reinterpret_cast<const int32_t*>(node.input(1).data), p);
  p.value = 0;
  if (value.present()) __builtin_memcpy(&p.value, value.data, element_bytes(in.type));
  else if (element_bytes(in.type) == 1) p.value = static_cast<uint8_t>(out.zero_point());
  return p;
}

template <uint16_t code, Type type, class T>
struct Operator {
  static constexpr uint16_t builtin_code = code;
  static constexpr int32_t max_version = 4;
  static constexpr TypeSignature types = {type, Type::none, type};
  static Status infer(const Node& node) { return infer_pad(node); }
  static Status lower(const Node& node, Emitter& emitter) {
    return emitter.run<Pad<T>>(lower_pad(node), {emitter.in(0), emitter.out(0)});
  }
};

using Operators = List<Operator<34, Type::int8, uint8_t>, Operator<34, Type::uint8, uint8_t>, Operator<34, Type::int16, uint16_t>,
                       Operator<34, Type::float32, uint32_t>, Operator<34, Type::int32, uint32_t>,
                       Operator<60, Type::int8, uint8_t>, Operator<60, Type::uint8, uint8_t>, Operator<60, Type::int16, uint16_t>,
                       Operator<60, Type::float32, uint32_t>, Operator<60, Type::int32, uint32_t>>;
using Kernels = List<Pad<uint8_t>, Pad<uint16_t>, Pad<uint32_t>>;

}  // namespace linnet::ops::pad
