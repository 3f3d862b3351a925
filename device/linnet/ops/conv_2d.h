// CONV_2D, with groups, on float32, int8, int16 with int8 weights, and float32 with int8 weights (TFLite: reference Conv, ConvPerChannel).
//
// Input (b, y, x, ci), filter (co, ky, kx, ci of a group), output (b, y, x, co). The reduction box is (ky, kx, ci of a group).
#pragma once
#include "linnet/ops/hybrid.h"
#include "linnet/ops/window_walk.h"

namespace linnet::ops::conv_2d {

struct Shape {
  WindowAxis y, x;
  int32_t batches, in_channels, out_channels;
  int32_t group_channels;  // input channels that one output channel sees

  bool grouped() const { return group_channels != in_channels; }
  int32_t filters_per_group() const { return out_channels / (in_channels / group_channels); }
};

template <class S>
struct SumsParams {
  Shape shape;
  typename S::Params sums;
};

// What does not depend on the types.
inline bool check_shape(const Shape& s, uint32_t& in, uint32_t& filter, uint32_t& out) {
  if (!is_valid(s.y) || !is_valid(s.x) || !product(in, s.batches, s.y.input, s.x.input, s.in_channels) ||
      !product(filter, s.out_channels, s.y.filter, s.x.filter, s.group_channels) ||
      !product(out, s.batches, s.y.output, s.x.output, s.out_channels))
    return false;
  return s.in_channels % s.group_channels == 0 && s.out_channels % (s.in_channels / s.group_channels) == 0;
}

inline Box input_window(const Shape& s, const Block& block) {
  Box box = block.out;
  input_rows_and_columns(box, s.y, s.x, block);
  int32_t first_group = block.out.lo[axis_c] / s.filters_per_group(), last_group = (block.out.hi[axis_c] - 1) / s.filters_per_group();
  box.lo[axis_c] = first_group * s.group_channels + block.reduction.lo[2];
  box.hi[axis_c] = last_group * s.group_channels + block.reduction.hi[2];
  return box;
}

inline Box filter_window(const Block& block) {
  const ReductionBox& r = block.reduction;
  return {{block.out.lo[axis_c], r.lo[0], r.lo[1], r.lo[2]}, {block.out.hi[axis_c], r.hi[0], r.hi[1], r.hi[2]}};
}

inline uint64_t count_macs(const Shape& s) {
  return static_cast<uint64_t>(s.batches * s.y.output * s.x.output * s.out_channels) *
         static_cast<uint32_t>(s.y.filter * s.x.filter * s.group_channels);
}

inline void whole_shape(const Shape& s, Block& block, View* views) {
  block.out = whole_box(s.batches, s.y.output, s.x.output, s.out_channels);
  block.reduction = {{0, 0, 0}, {s.y.filter, s.x.filter, s.group_channels}};
  set_dense(views[sum_input], s.y.input, s.x.input, s.in_channels);
  set_dense(views[sum_filter], s.y.filter, s.x.filter, s.group_channels);
  set_dense(views[sum_bias], 1, 1, s.out_channels);
  set_dense(views[sum_output], s.y.output, s.x.output, s.out_channels);
  set_dense(views[sum_accumulator], s.y.output, s.x.output, s.out_channels);
}

template <class S>
struct Conv2D {
  using Params = SumsParams<S>;
  static constexpr const char* set = "reference";
  static constexpr uint32_t params_version = 1;
  static constexpr Splits splits = split_batch | split_rows | split_columns | split_channels | S::reduction;

  static bool check(const Params& p, Extent* extents, int operands) {
    uint32_t in, filter, out;
    return check_shape(p.shape, in, filter, out) &&
           check_sums<S>(p.sums, extents, operands, in, filter, out, p.shape.batches, p.shape.out_channels);
  }
  static void whole(const Params& p, Block& block, View* views) {
    whole_shape(p.shape, block, views);
    S::whole(p.sums, views + sum_own, p.shape.out_channels);
  }
  static Box window(const Params& p, int operand, const Block& block) {
    if (operand == sum_input) return input_window(p.shape, block);
    if (operand == sum_filter) return filter_window(block);
    return sums_window<S>(p.sums, operand, block);
  }
  static Cost cost(const Params& p) {
    const Shape& s = p.shape;
    return {count_macs(s), static_cast<uint64_t>(s.batches * s.y.output * s.x.output * s.out_channels)};
  }
  static Lag lag(const Params& p, int input, int output) {
    const Shape& s = p.shape;
    if (input != sum_input || output != sum_output) return {};
    constexpr int32_t in_element = sizeof(typename S::Input), element = sizeof(typename S::Output);
    // When channel c of a pixel is next, its group's channels are still to be read: with groups, what matters is the channel
    // that is furthest ahead of its group.
    int32_t last = s.out_channels - 1, ahead = s.grouped() ? -s.in_channels * in_element : last * element;
    for (int32_t c = 1; s.grouped() && c <= last; ++c)
      ahead = max_of(ahead, c * element - c / s.filters_per_group() * s.group_channels * in_element);
    return WindowLag{s.y, s.x, s.batches, s.in_channels * in_element, s.out_channels * element, element, last * element - ahead}.lag();
  }
  static void run(const Call& call, const Params& p) {
    const Shape& s = p.shape;
    WindowWalk walk(call, s.y, s.x, forward_taps, {{1, 1}, {s.y.dilation, s.x.dilation}}, call.block.reduction.lo[2],
                    call.block.out.lo[axis_c], call.block.reduction.lo[2]);
    sum_windows<S>(call, walk, p.sums, s.grouped() ? s.filters_per_group() : 0, s.group_channels);
  }
};

struct Float : Conv2D<FloatSums> {
  using Computation = Float;
  static constexpr const char* name = "conv_2d.float32";
};
struct Int8 : Conv2D<QuantizedSums<int8_t, int32_t>> {
  using Computation = Int8;
  static constexpr const char* name = "conv_2d.int8";
};
struct Int16 : Conv2D<QuantizedSums<int16_t, int32_t>> {
  using Computation = Int16;
  static constexpr const char* name = "conv_2d.int16";
};
struct Int16Wide : Conv2D<QuantizedSums<int16_t, int64_t>> {
  using Computation = Int16Wide;
  static constexpr const char* name = "conv_2d.int16.wide";
};

struct Hybrid : Conv2D<hybrid::HybridSums> {
  using Computation = Hybrid;
  static constexpr const char* name = "conv_2d.hybrid";
};

// ---- Models ---------------------------------------------------------------------------------------------------------------

// Fields of schema: table Conv2DOptions.
struct Options {
  int8_t padding, activation, quantized_bias_type;
  int32_t stride_x, stride_y, dilation_x, dilation_y;

  explicit Options(const Table& t)
      : padding(t.get<int8_t>(0, 0)), activation(t.get<int8_t>(3, 0)), quantized_bias_type(t.get<int8_t>(6, 0)),
        stride_x(t.get<int32_t>(1, 0)), stride_y(t.get<int32_t>(2, 0)), dilation_x(t.get<int32_t>(4, 1)), dilation_y(t.get<int32_t>(5, 1)) {}
};

// Shapes and attributes; the same for all types.
inline Status read_shape(const Node& node, const Options& o, Shape& s) {
  TensorInfo in = node.input(0), filter = node.input(1), out = node.output(0);
  if (in.rank() != 4 || filter.rank() != 4 || out.rank() != 4)
    return LINNET_ERROR(malformed, "CONV_2D needs an input, a filter and an output of four dimensions");
  s.batches = in.dims[0];
  s.in_channels = in.dims[3];
  s.out_channels = filter.dims[0];
  s.group_channels = filter.dims[3];
  if (!is_clamp(o.activation)) return LINNET_ERROR(unsupported, "CONV_2D can be fused with RELU, RELU_N1_TO_1 and RELU6 only");
  uint32_t unused;
  if (!make_axis(s.y, o.padding, in.dims[1], filter.dims[1], o.stride_y, o.dilation_y) ||
      !make_axis(s.x, o.padding, in.dims[2], filter.dims[2], o.stride_x, o.dilation_x))
    return LINNET_ERROR(unsupported, "CONV_2D's padding, strides, dilations or filter make no sense for its input");
  if (!check_shape(s, unused, unused, unused))
    return LINNET_ERROR(malformed, "CONV_2D's input channels must be a multiple of its filter's, and its groups alike");
  if (out.dims[0] != s.batches || out.dims[1] != s.y.output || out.dims[2] != s.x.output || out.dims[3] != s.out_channels)
    return LINNET_ERROR(malformed, "CONV_2D's output has another shape than its input, filter and attributes give");
  return {};
}

template <Type input, Type weights>
struct Operator {
  static constexpr uint16_t builtin_code = 3;
  static constexpr int32_t max_version = 8;
  static constexpr TypeSignature types = {input, weights, input};
};

struct FloatOperator : Operator<Type::float32, Type::float32> {
  static Status infer(const Node& node) {
    Shape s;
    LINNET_TRY(read_shape(node, Options(node.options()), s));
    return check_bias(node.input(2), Type::float32, Type::float32, s.out_channels);
  }
  static Status lower(const Node& node, Emitter& emitter) {
    SumsParams<FloatSums> p;
    Options o(node.options());
    LINNET_TRY(read_shape(node, o, p.shape));
    p.sums = float_bounds(o.activation);
    return emitter.run<Float>(p, {emitter.in(0), emitter.in(1), emitter.in(2), emitter.out(0), Ref{}});
  }
};

template <class T>
struct IntOperator : Operator<activation_type<T>, Type::int8> {
  static Status infer(const Node& node) {
    Shape s;
    LINNET_TRY(read_shape(node, Options(node.options()), s));
    return check_quantized<T>(node, s.out_channels, 0);
  }
  static Status lower(const Node& node, Emitter& emitter) {
    TensorInfo in = node.input(0), filter = node.input(1), out = node.output(0);
    Options o(node.options());
    SumsParams<QuantizedSums<T, int32_t>> p;
    LINNET_TRY(read_shape(node, o, p.shape));
    p.sums = quantized_sum_params<T>(in, filter, out, o.activation);
    SumScales scales = emit_sum_scales(emitter, in, filter, out);
    Ref operands[] = {emitter.in(0), emitter.in(1), emitter.in(2), emitter.out(0), Ref{}, scales.multipliers, scales.shifts};
    if constexpr (sizeof(T) == 1) {
      return emitter.run<Int8>(p, operands);
    } else {
      TensorInfo bias = node.input(2);  // TFLM goes by its type here
      if (bias.type == Type::int32 || !sums_of_64_bits(bias, o.quantized_bias_type)) return emitter.run<Int16>(p, operands);
      return emitter.run<Int16Wide>({p.shape, p.sums}, operands);
    }
  }
};

// TFLite quantises the input asymmetrically if the filter has a scale for each channel, symmetrically if it has one.
struct HybridOperator : Operator<Type::float32, Type::int8> {
  static Status infer(const Node& node) {
    Shape s;
    LINNET_TRY(read_shape(node, Options(node.options()), s));
    LINNET_TRY(check_filter_scales(node.input(1), s.out_channels, 0));
    return check_bias(node.input(2), Type::float32, Type::float32, s.out_channels);
  }
  static Status lower(const Node& node, Emitter& emitter) {
    SumsParams<hybrid::HybridSums> p;
    Options o(node.options());
    LINNET_TRY(read_shape(node, o, p.shape));
    bool per_channel = node.input(1).scales.size() > 1;
    return hybrid::lower<Hybrid>(node, emitter, p, o.activation, p.shape.batches, per_channel, per_channel);
  }
};

using Operators = List<FloatOperator, IntOperator<int8_t>, IntOperator<int16_t>, HybridOperator>;
using Kernels = List<Float, Int8, Int16, Int16Wide, Hybrid>;

}  // namespace linnet::ops::conv_2d
