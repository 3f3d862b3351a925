// MEAN over constant axes on float32, int8 and int16 (TFLite: reference Mean and QuantizedMeanOrSum, which folds the number
// of elements into the multiplier).
//
// Folding: the input's axes to (b, y, x, c), of which some of y, x, c are reduced; the output has extent 1 there. A reduction
// box is over (y, x, c) of the input; axes that are not reduced do not count. Floats are added in the input's order.
#pragma once
#include "linnet/ops/elementwise.h"

namespace linnet::ops::mean {

struct FloatParams : Extents4 {  // of the input
  uint32_t reduced;              // bit per axis; b never
  float count;
};

struct IntParams : Extents4 {
  uint32_t reduced;
  int32_t offset;  // what the zero points of all elements add up to, negated
  QuantizedMultiplier multiplier;
  int32_t output_zero_point;
};

inline bool is_reduced(uint32_t reduced, int axis) { return (reduced >> axis & 1) != 0; }

inline Extents4 output_extents(const Extents4& input, uint32_t reduced) {
  Extents4 e = input;
  for (int axis = 1; axis < 4; ++axis)
    if (is_reduced(reduced, axis)) e.d[axis] = 1;
  return e;
}

// Range along an axis of the input that a block with output range [lo, hi) reads.
inline void set_input_range(Box& box, uint32_t reduced, const ReductionBox& r) {
  for (int axis = 1; axis < 4; ++axis)
    if (is_reduced(reduced, axis)) {
      box.lo[axis] = r.lo[axis - 1];
      box.hi[axis] = r.hi[axis - 1];
    }
}

inline bool check_mean(const Extents4& input, uint32_t reduced, Extent* extents, int operands, uint8_t bytes) {
  uint32_t in, out;
  if (operands != 3 || (reduced & ~14u) != 0 || !input.count(in) || !output_extents(input, reduced).count(out)) return false;
  extents[0] = {extent_bytes(in, bytes), bytes};
  extents[1] = {extent_bytes(out, bytes), bytes, true};
  extents[2] = {extent_bytes(out, 4), 4, true, true};
  return true;
}

// Operands: input, output, accumulator (of 4 bytes an element, shaped like the output).
// C: Sum; static Sum add(Sum, T); static T finish(Sum, const P&).
template <class T, class P, class C>
struct Mean {
  static constexpr const char* set = "reference";
  using Params = P;

  static bool check(const P& p, Extent* extents, int operands) { return check_mean(p, p.reduced, extents, operands, sizeof(T)); }
  static void whole(const P& p, Block& block, View* views) {
    Extents4 out = output_extents(p, p.reduced);
    block.out = out.box();
    for (int i = 0; i < 3; ++i) {
      block.reduction.lo[i] = 0;
      block.reduction.hi[i] = is_reduced(p.reduced, i + 1) ? p.d[i + 1] : 1;
    }
    views[0] = p.view();
    views[1] = views[2] = out.view();
  }
  static Box window(const P& p, int operand, const Block& block) {
    Box box = block.out;
    if (operand == 0) set_input_range(box, p.reduced, block.reduction);
    return box;
  }
  static Cost cost(const P& p) { return {0, static_cast<uint64_t>(p.elements())}; }
  // Output k is written when inputs up to those of output k have been read; the next output begins as many elements further
  // as the innermost axis that stays has for its stride.
  static Lag lag(const P& p, int input, int output) {
    if (input != 0 || output != 1) return {};
    int32_t stride = 1;
    constexpr auto size = static_cast<int32_t>(sizeof(T));
    for (int axis = 3; axis >= 0; stride *= p.d[axis], --axis)
      if (!is_reduced(p.reduced, axis) && p.d[axis] > 1) return {size * (1 - stride), size * (1 - stride)};
    return {-stride * size, -stride * size};  // one output, written when everything has been read
  }
  static void run(const Call& call, const P& p) {
    using Sum = typename C::Sum;
    TensorView<const T> in = call.in<T>(0);
    TensorView<T> out = call.out<T>(1);
    TensorView<Sum> accumulator = call.out<Sum>(2);
    const Box& box = call.block.out;
    bool up = call.direction == Direction::up;
    int32_t channels = box.hi[axis_c] - box.lo[axis_c], pixel = in.view->stride[axis_x];
    for_each_row(box, call.direction, [&](int32_t b, int32_t y, int32_t x) {
      for (int32_t i = 0; i < channels; ++i) {
        int32_t c = up ? box.lo[axis_c] + i : box.hi[axis_c] - 1 - i;
        Box from = {{b, y, x, c}, {b + 1, y + 1, x + 1, c + 1}};
        set_input_range(from, p.reduced, call.block.reduction);
        int32_t columns = from.hi[axis_x] - from.lo[axis_x], depth = from.hi[axis_c] - from.lo[axis_c];
        Sum* partial = call.has(2) ? accumulator.at(b, y, x, c) : nullptr;
        Sum sum = call.block.first ? Sum{} : *partial;
        for (int32_t iy = from.lo[axis_y]; iy < from.hi[axis_y]; ++iy) {
          const T* at = in.at(b, iy, from.lo[axis_x], from.lo[axis_c]);
          for (int32_t ix = 0; ix < columns; ++ix, at += pixel)
            for (int32_t ic = 0; ic < depth; ++ic) sum = C::add(sum, at[ic]);
        }
        if (call.block.last) *out.at(b, y, x, c) = C::finish(sum, p);
        else *partial = sum;
      }
    });
  }
};

struct Float : Mean<float, FloatParams, Float> {
  using Computation = Float;
  using Sum = float;
  static constexpr const char* name = "mean.float32";
  static constexpr uint32_t params_version = 1;
  static constexpr Splits splits = split_batch | split_rows | split_columns | split_channels | split_reduction_in_order;
  static Sum add(Sum sum, float x) { return sum + x; }
  static float finish(Sum sum, const FloatParams& p) { return sum / p.count; }
};

template <class T>
struct Int : Mean<T, IntParams, Int<T>> {
  using Computation = Int;
  using Sum = int32_t;
  static constexpr const char* name = sizeof(T) == 1 ? "mean.int8" : "mean.int16";
  static constexpr uint32_t params_version = 1;
  static constexpr Splits splits = split_batch | split_rows | split_columns | split_channels | split_reduction;
  static bool check(const IntParams& p, Extent* extents, int operands) {
    return Mean<T, IntParams, Int>::check(p, extents, operands) && is_valid(p.multiplier);
  }
  static Sum add(Sum sum, T x) { return wrapping_add(sum, x); }
  static T finish(Sum sum, const IntParams& p) {
    int32_t y = multiply_by_quantized_multiplier(wrapping_add(sum, p.offset), p.multiplier.multiplier, p.multiplier.shift);
    return static_cast<T>(clamp(wrapping_add(y, p.output_zero_point), limits<T>::lowest, limits<T>::highest));
  }
};

// Folds the input's shape; `count` becomes the number of elements in each mean. False: axes outside the shape, an output of
// another shape, or more than four groups of axes.
inline bool geometry(const Node& node, Extents4& e, uint32_t& reduced, int32_t& count) {
  TensorInfo in = node.input(0), axes = node.input(1), out = node.output(0);
  int rank = in.rank();
  if (rank > folding::max_rank) return false;
  int32_t extent[folding::max_rank];
  uint8_t kind[folding::max_rank] = {}, kinds[4];
  for (int32_t i = 0; i < axes.elements(); ++i) {
    auto axis = load_unaligned<int32_t>(axes.data + 4 * static_cast<size_t>(i));
    if (axis < 0) axis = wrapping_add(axis, rank);
    if (axis < 0 || axis >= rank) return false;
    kind[axis] = 1;
  }
  count = 1;
  bool keeps = node.options().get<bool>(0, false);
  size_t at = 0;  // in the output's shape
  for (int i = 0; i < rank; ++i) {
    extent[i] = in.dims[static_cast<size_t>(i)];
    if (kind[i]) count *= extent[i];
    if (kind[i] && !keeps) continue;
    if (at >= out.dims.size() || out.dims[at++] != (kind[i] ? 1 : extent[i])) return false;
  }
  if (at != out.dims.size()) return false;
  // As they are where that is possible, so that rows stay rows; else merged, to have b free for an axis that stays.
  bool merges = rank > 4 || (rank == 4 && kind[0] && extent[0] > 1);
  if (merges) rank = folding::merge_kinds(extent, kind, rank, kind[0] && extent[0] > 1 ? 1 : 4);
  if (rank > 4) return false;
  folding::align_right(extent, kind, rank, e, kinds);
  reduced = 0;
  for (int i = 0; i < 4; ++i) reduced |= static_cast<uint32_t>(kinds[i]) << i;
  uint32_t elements;
  return (reduced & 1) == 0 && e.count(elements);
}

inline Status infer_mean(const Node& node) {
  TensorInfo in = node.input(0), axes = node.input(1), out = node.output(0);
  if (!in.present() || !out.present() || !axes.present() || axes.type != Type::int32 || !axes.data)
    return LINNET_ERROR(unsupported, "MEAN needs its axes as a constant of int32");
  Extents4 e;
  uint32_t reduced;
  int32_t count;
  if (!geometry(node, e, reduced, count))
    return LINNET_ERROR(unsupported, "MEAN's axes and shapes do not match, or do not fold to four groups of axes of which the first stays");
  return {};
}

struct FloatOperator {
  static constexpr uint16_t builtin_code = 40;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {Type::float32, Type::int32, Type::float32};
  static Status infer(const Node& node) { return infer_mean(node); }
  static Status lower(const Node& node, Emitter& emitter) {
    FloatParams p;
    int32_t count;
    geometry(node, p, p.reduced, count);
    p.count = static_cast<float>(count);
    return emitter.run<Float>(p, {emitter.in(0), emitter.out(0), Ref{}});
  }
};

// The multiplier of a sum of `count` terms, truncated as the reference does it.
inline QuantizedMultiplier divided(QuantizedMultiplier q, int32_t count) {
  int shift = min_of(31 - __builtin_clz(static_cast<uint32_t>(count)), 31 + q.shift);
  auto n = static_cast<uint32_t>(count), m = static_cast<uint32_t>(q.multiplier);
  uint32_t quotient = m / n, rest = m % n;
  for (int i = 0; i < shift; ++i) {
    rest <<= 1;
    quotient <<= 1;
    if (rest < n) continue;
    rest -= n;
    ++quotient;
  }
  return {static_cast<int32_t>(quotient), q.shift - shift};
}

template <class T>
struct IntOperator {
  static constexpr Type type = sizeof(T) == 1 ? Type::int8 : Type::int16;
  static constexpr uint16_t builtin_code = 40;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {type, Type::int32, type};
  static QuantizedMultiplier ratio(const Node& node) {
    return quantize_multiplier(divide(node.input(0).scale(), node.output(0).scale()));
  }
  static Status infer(const Node& node) {
    LINNET_TRY(infer_mean(node));
    TensorInfo in = node.input(0), out = node.output(0);
    if (!is_quantized(in) || !is_quantized(out) || !is_zero_point<T>(in.zero_point()) || !is_zero_point<T>(out.zero_point()))
      return LINNET_ERROR(unsupported, "MEAN needs one scale and a zero point within the type for its input and output");
    if (!is_valid(ratio(node))) return LINNET_ERROR(unsupported, "MEAN's scales differ by more than a factor of 2^31");
    return {};
  }
  static Status lower(const Node& node, Emitter& emitter) {
    TensorInfo in = node.input(0), out = node.output(0);
    IntParams p;
    int32_t count;
    geometry(node, p, p.reduced, count);
    p.offset = wrapping_mul(-in.zero_point(), count);
    p.multiplier = divided(ratio(node), count);
    p.output_zero_point = out.zero_point();
    return emitter.run<Int<T>>(p, {emitter.in(0), emitter.out(0), Ref{}});
  }
};

using Operators = List<FloatOperator, IntOperator<int8_t>, IntOperator<int16_t>>;
using Kernels = List<Float, Int<int8_t>, Int<int16_t>>;

}  // namespace linnet::ops::mean
