// TRANSPOSE_CONV on float32, int8, and int16 with int8 weights (TFLite: reference TransposeConv).
//
// Input (b, y, x, ci), filter (co, ky, kx, ci), output (b, y, x, co). Input pixel i adds to outputs i * stride - padding + k;
// here each output gathers what reaches it, in the order in which the reference scatters: inputs ascend, taps descend. So the
// reduction box counts taps from the last: (rows - 1 - ky, columns - 1 - kx, ci).
#pragma once
#include "linnet/ops/window_walk.h"

namespace linnet::ops::transpose_conv {

struct Shape {
  WindowAxis y, x;  // of the convolution that leads back: `input` is this one's output
  int32_t batches, in_channels, out_channels;
};

template <class S>
struct SumsParams {
  Shape shape;
  typename S::Params sums;
};

inline bool check_shape(const Shape& s, uint32_t& in, uint32_t& filter, uint32_t& out) {
  return is_valid(s.y) && is_valid(s.x) && s.y.dilation == 1 && s.x.dilation == 1 &&
         product(in, s.batches, s.y.output, s.x.output, s.in_channels) &&
         product(filter, s.out_channels, s.y.filter, s.x.filter, s.in_channels) &&
         product(out, s.batches, s.y.input, s.x.input, s.out_channels);
}

// The inputs whose taps among [filter - within.hi, filter - within.lo) reach outputs from `first` to `last`.
inline Range reaching_inputs(const WindowAxis& a, int32_t first, int32_t last, Range within) {
  int32_t lo = first + a.padding - (a.filter - 1 - within.lo), hi = last + a.padding - (a.filter - within.hi);
  return {lo > 0 ? (lo + a.stride - 1) / a.stride : 0, hi >= 0 ? min_of(hi / a.stride + 1, a.output) : 0};
}

inline Taps transposed_taps(const WindowAxis& a, int32_t output, Range within) {
  Range inputs = reaching_inputs(a, output, output, within);
  return {output + a.padding - inputs.lo * a.stride, inputs.lo, inputs.count()};
}

template <class S>
struct TransposeConv {
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
    const Shape& s = p.shape;
    block.out = whole_box(s.batches, s.y.input, s.x.input, s.out_channels);
    block.reduction = {{0, 0, 0}, {s.y.filter, s.x.filter, s.in_channels}};
    set_dense(views[sum_input], s.y.output, s.x.output, s.in_channels);
    set_dense(views[sum_filter], s.y.filter, s.x.filter, s.in_channels);
    set_dense(views[sum_bias], 1, 1, s.out_channels);
    set_dense(views[sum_output], s.y.input, s.x.input, s.out_channels);
    set_dense(views[sum_accumulator], s.y.input, s.x.input, s.out_channels);
    S::whole(p.sums, views + sum_own, s.out_channels);
  }
  static Box window(const Params& p, int operand, const Block& block) {
    if (operand != sum_input && operand != sum_filter) return sums_window<S>(p.sums, operand, block);
    const ReductionBox& r = block.reduction;
    const WindowAxis* axes[] = {&p.shape.y, &p.shape.x};
    Box box = {{block.out.lo[axis_b], 0, 0, r.lo[2]}, {block.out.hi[axis_b], 0, 0, r.hi[2]}};
    if (operand == sum_filter) box.lo[axis_b] = block.out.lo[axis_c], box.hi[axis_b] = block.out.hi[axis_c];
    for (int i = 0; i < 2; ++i) {
      Range range = {axes[i]->filter - r.hi[i], axes[i]->filter - r.lo[i]};
      if (operand == sum_input) range = reaching_inputs(*axes[i], block.out.lo[1 + i], block.out.hi[1 + i] - 1, {r.lo[i], r.hi[i]});
      box.lo[1 + i] = range.lo;
      box.hi[1 + i] = range.hi;
    }
    return box;
  }
  // Every input meets every tap, but for what padding cuts off.
  static Cost cost(const Params& p) {
    const Shape& s = p.shape;
    return {static_cast<uint64_t>(s.batches * s.y.output * s.x.output * s.in_channels) *
                static_cast<uint32_t>(s.y.filter * s.x.filter * s.out_channels),
            static_cast<uint64_t>(s.batches * s.y.input * s.x.input * s.out_channels)};
  }
  static Lag lag(const Params& p, int input, int output) {
    const Shape& s = p.shape;
    if (input != sum_input || output != sum_output) return {};
    constexpr int32_t in_element = sizeof(typename S::Input), element = sizeof(typename S::Output);
    return TransposedWindowLag{s.y, s.x, s.batches, s.in_channels * in_element, s.out_channels * element, element, 0}.lag();
  }
  static void run(const Call& call, const Params& p) {
    const Shape& s = p.shape;
    WindowWalk walk(call, s.y, s.x, transposed_taps, {{-s.y.stride, -s.x.stride}, {1, 1}}, call.block.reduction.lo[2],
                    call.block.out.lo[axis_c], call.block.reduction.lo[2]);
    sum_windows<S>(call, walk, p.sums, 0, 0);
  }
};

struct Float : TransposeConv<FloatSums> {
  using Computation = Float;
  static constexpr const char* name = "transpose_conv.float32";
};
struct Int8 : TransposeConv<QuantizedSums<int8_t, int32_t>> {
  using Computation = Int8;
  static constexpr const char* name = "transpose_conv.int8";
};
struct Int16 : TransposeConv<QuantizedSums<int16_t, int32_t>> {
  using Computation = Int16;
  static constexpr const char* name = "transpose_conv.int16";
};
struct Int16Wide : TransposeConv<QuantizedSums<int16_t, int64_t>> {
  using Computation = Int16Wide;
  static constexpr const char* name = "transpose_conv.int16.wide";
};

// ---- Models ---------------------------------------------------------------------------------------------------------------

// Inputs of the operator. The output's shape (0) is not read: that of the output tensor counts, which is the same.
enum Input : int { filter_input = 1, data_input = 2, bias_input = 3 };

// Fields of schema: table TransposeConvOptions.
struct Options {
  int8_t padding, activation, quantized_bias_type;
  int32_t stride_x, stride_y;

  explicit Options(const Table& t)
      : padding(t.get<int8_t>(0, 0)), activation(t.get<int8_t>(3, 0)), quantized_bias_type(t.get<int8_t>(4, 0)),
        stride_x(t.get<int32_t>(1, 0)), stride_y(t.get<int32_t>(2, 0)) {}
};

inline Status read_shape(const Node& node, const Options& o, Shape& s) {
  TensorInfo in = node.input(data_input), filter = node.input(filter_input), out = node.output(0);
  if (in.type != out.type || in.rank() != 4 || filter.rank() != 4 || out.rank() != 4)
    return LINNET_ERROR(malformed, "TRANSPOSE_CONV needs an input, a filter and an output of four dimensions, input and output of one type");
  s.batches = in.dims[0];
  s.in_channels = in.dims[3];
  s.out_channels = filter.dims[0];
  if (!is_clamp(o.activation)) return LINNET_ERROR(unsupported, "TRANSPOSE_CONV can be fused with RELU, RELU_N1_TO_1 and RELU6 only");
  if (!make_axis(s.y, o.padding, out.dims[1], filter.dims[1], o.stride_y, 1) ||
      !make_axis(s.x, o.padding, out.dims[2], filter.dims[2], o.stride_x, 1))
    return LINNET_ERROR(unsupported, "TRANSPOSE_CONV's padding, strides or filter make no sense for its output");
  // TensorFlow Lite leaves out what an input of another size would add outside.
  s.y.output = in.dims[1];
  s.x.output = in.dims[2];
  uint32_t unused;
  if (out.dims[0] != s.batches || out.dims[3] != s.out_channels || filter.dims[3] != s.in_channels || !check_shape(s, unused, unused, unused))
    return LINNET_ERROR(malformed, "TRANSPOSE_CONV's batches or channels of input, filter and output do not match");
  return {};
}

template <Type weights, Type output>
struct Operator {
  static constexpr uint16_t builtin_code = 67;
  static constexpr int32_t max_version = 5;
  static constexpr TypeSignature types = {Type::int32, weights, output};
};

struct FloatOperator : Operator<Type::float32, Type::float32> {
  static Status infer(const Node& node) {
    Shape s;
    LINNET_TRY(read_shape(node, Options(node.options()), s));
    return check_bias(node.input(bias_input), Type::float32, Type::float32, s.out_channels);
  }
  static Status lower(const Node& node, Emitter& emitter) {
    SumsParams<FloatSums> p;
    Options o(node.options());
    LINNET_TRY(read_shape(node, o, p.shape));
    p.sums = float_bounds(o.activation);
    return emitter.run<Float>(p, {emitter.in(data_input), emitter.in(filter_input), emitter.in(bias_input), emitter.out(0), Ref{}});
  }
};

template <class T>
struct IntOperator : Operator<Type::int8, activation_type<T>> {
  static Status infer(const Node& node) {
    Shape s;
    LINNET_TRY(read_shape(node, Options(node.options()), s));
    return check_quantized<T>(node.input(data_input), node.input(filter_input), node.input(bias_input), node.output(0), s.out_channels, 0);
  }
  static Status lower(const Node& node, Emitter& emitter) {
    TensorInfo in = node.input(data_input), filter = node.input(filter_input), out = node.output(0);
    Options o(node.options());
    SumsParams<QuantizedSums<T, int32_t>> p;
    LINNET_TRY(read_shape(node, o, p.shape));
    p.sums = quantized_sum_params<T>(in, filter, out, o.activation);
    SumScales scales = emit_sum_scales(emitter, in, filter, out);
    Ref operands[] = {emitter.in(data_input), emitter.in(filter_input), emitter.in(bias_input), emitter.out(0), Ref{},
                      scales.multipliers, scales.shifts};
    if constexpr (sizeof(T) == 1) {
      return emitter.run<Int8>(p, operands);
    } else {
      TensorInfo bias = node.input(bias_input);
      if (!sums_of_64_bits(bias, o.quantized_bias_type)) return emitter.run<Int16>(p, operands);
      operands[sum_bias] = wide_bias(emitter, bias, operands[sum_bias]);
      return emitter.run<Int16Wide>({p.shape, p.sums}, operands);
    }
  }
};

using Operators = List<FloatOperator, IntOperator<int8_t>, IntOperator<int16_t>>;
using Kernels = List<Float, Int8, Int16, Int16Wide>;

}  // namespace linnet::ops::transpose_conv
