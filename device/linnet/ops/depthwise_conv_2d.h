// DEPTHWISE_CONV_2D on float32, int8, int16 with int8 weights, and float32 with int8 weights (TFLite: reference DepthwiseConv, DepthwiseConvPerChannel).
//
// Input (b, y, x, ci), filter (1, ky, kx, co), output (b, y, x, co): output channel co sees input channel co / multiplier.
// The reduction box is (ky, kx); its third axis is [0, 1).
#pragma once
#include "linnet/ops/hybrid.h"
#include "linnet/ops/window_walk.h"

namespace linnet::ops::depthwise_conv_2d {

struct Shape {
  WindowAxis y, x;
  int32_t batches, in_channels;
  int32_t multiplier;  // output channels of each input channel

  int32_t out_channels() const { return in_channels * multiplier; }
};

template <class S>
struct SumsParams {
  Shape shape;
  typename S::Params sums;
};

inline bool check_shape(const Shape& s, uint32_t& in, uint32_t& filter, uint32_t& out) {
  uint32_t unused;
  if (!product(unused, s.in_channels, s.multiplier, 1, 1)) return false;
  return is_valid(s.y) && is_valid(s.x) && product(in, s.batches, s.y.input, s.x.input, s.in_channels) &&
         product(filter, 1, s.y.filter, s.x.filter, s.out_channels()) &&
         product(out, s.batches, s.y.output, s.x.output, s.out_channels());
}

inline Box input_window(const Shape& s, const Block& block) {
  Box box = block.out;
  input_rows_and_columns(box, s.y, s.x, block);
  box.lo[axis_c] = block.out.lo[axis_c] / s.multiplier;
  box.hi[axis_c] = (block.out.hi[axis_c] - 1) / s.multiplier + 1;
  return box;
}

inline Box filter_window(const Block& block) {
  const ReductionBox& r = block.reduction;
  return {{0, r.lo[0], r.lo[1], block.out.lo[axis_c]}, {1, r.hi[0], r.hi[1], block.out.hi[axis_c]}};
}

inline void whole_shape(const Shape& s, Block& block, View* views) {
  int32_t channels = s.out_channels();
  block.out = whole_box(s.batches, s.y.output, s.x.output, channels);
  block.reduction = {{0, 0, 0}, {s.y.filter, s.x.filter, 1}};
  set_dense(views[sum_input], s.y.input, s.x.input, s.in_channels);
  set_dense(views[sum_filter], s.y.filter, s.x.filter, channels);
  set_dense(views[sum_bias], 1, 1, channels);
  set_dense(views[sum_output], s.y.output, s.x.output, channels);
  set_dense(views[sum_accumulator], s.y.output, s.x.output, channels);
}

// The loops. Direction: pixels and their channels are walked up or down; sums always go up.
template <class S>
void run_sums(const Call& call, const Shape& s, const typename S::Params& p) {
  const Block& block = call.block;
  int32_t first_channel = block.out.lo[axis_c], channels = block.out.hi[axis_c] - first_channel;
  int32_t first_input = first_channel / s.multiplier;
  WindowWalk walk(call, s.y, s.x, forward_taps, {{1, 1}, {s.y.dilation, s.x.dilation}}, first_input, 0, first_channel);
  S sums(call, p);
  auto* in = static_cast<const typename S::Input*>(call.data[sum_input]);
  auto* filter = static_cast<const typename S::Weight*>(call.data[sum_filter]);
  bool up = call.direction == Direction::up;
  while (walk.next()) {
    auto* to = static_cast<typename S::Output*>(call.data[sum_output]) + walk.output;
    auto* partial = static_cast<typename S::Accumulator*>(call.data[sum_accumulator]);
    if (partial) partial += walk.accumulator;
    sums.start_batch(walk.batch);
    for (int32_t i = 0; i < channels; ++i) {
      int32_t c = up ? i : channels - 1 - i;
      typename S::Accumulator sum = block.first ? 0 : partial[c];
      int32_t offset = walk.input + (s.multiplier == 1 ? c : (first_channel + c) / s.multiplier - first_input);
      int32_t row = walk.first_row();
      const typename S::Weight* weights_row = filter + walk.filter + c;
      for (int32_t j = walk.rows; j > 0; --j) {
        const typename S::Input* from = in + offset;
        const typename S::Weight* w = weights_row;
        for (int32_t k = walk.columns; k > 0; --k, from += walk.column_step, w += walk.filter_column_step) sums.add(sum, *from, *w);
        walk.next_row(offset, row);
        weights_row += walk.filter_row_step;
      }
      if (block.last) to[c] = sums.finish(sum, first_channel + c);
      else partial[c] = sum;
    }
  }
}

template <class S>
struct DepthwiseConv2D {
  using Params = SumsParams<S>;
  static constexpr const char* set = "reference";
  static constexpr uint32_t params_version = 1;
  static constexpr Splits splits = split_batch | split_rows | split_columns | split_channels | S::reduction;

  static bool check(const Params& p, Extent* extents, int operands) {
    uint32_t in, filter, out;
    return check_shape(p.shape, in, filter, out) &&
           check_sums<S>(p.sums, extents, operands, in, filter, out, p.shape.batches, p.shape.out_channels());
  }
  static void whole(const Params& p, Block& block, View* views) {
    whole_shape(p.shape, block, views);
    S::whole(p.sums, views + sum_own, p.shape.out_channels());
  }
  static Box window(const Params& p, int operand, const Block& block) {
    if (operand == sum_input) return input_window(p.shape, block);
    if (operand == sum_filter) return filter_window(block);
    return sums_window<S>(p.sums, operand, block);
  }
  static Cost cost(const Params& p) {
    const Shape& s = p.shape;
    uint64_t out = static_cast<uint64_t>(s.batches * s.y.output * s.x.output * s.out_channels());
    return {out * static_cast<uint32_t>(s.y.filter * s.x.filter), out};
  }
  static Lag lag(const Params& p, int input, int output) {
    const Shape& s = p.shape;
    if (input != sum_input || output != sum_output) return {};
    constexpr int32_t in_element = sizeof(typename S::Input), element = sizeof(typename S::Output);
    return WindowLag{s.y, s.x, s.batches, s.in_channels * in_element, s.out_channels() * element, element,
                     (s.in_channels - 1) * in_element}.lag();
  }
  static void run(const Call& call, const Params& p) { run_sums<S>(call, p.shape, p.sums); }
};

struct Float : DepthwiseConv2D<FloatSums> {
  using Computation = Float;
  static constexpr const char* name = "depthwise_conv_2d.float32";
};
struct Int8 : DepthwiseConv2D<QuantizedSums<int8_t, int32_t>> {
  using Computation = Int8;
  static constexpr const char* name = "depthwise_conv_2d.int8";
};
struct Int16Wide : DepthwiseConv2D<QuantizedSums<int16_t, int64_t>> {
  using Computation = Int16Wide;
  static constexpr const char* name = "depthwise_conv_2d.int16.wide";
};

struct Hybrid : DepthwiseConv2D<hybrid::HybridSums> {
  using Computation = Hybrid;
  static constexpr const char* name = "depthwise_conv_2d.hybrid";
};

// ---- Models ---------------------------------------------------------------------------------------------------------------

// Fields of schema: table DepthwiseConv2DOptions. The depth multiplier there only repeats the shapes.
struct Options {
  int8_t padding, activation;
  int32_t stride_x, stride_y, dilation_x, dilation_y;

  explicit Options(const Table& t)
      : padding(t.get<int8_t>(0, 0)), activation(t.get<int8_t>(4, 0)), stride_x(t.get<int32_t>(1, 0)),
        stride_y(t.get<int32_t>(2, 0)), dilation_x(t.get<int32_t>(5, 1)), dilation_y(t.get<int32_t>(6, 1)) {}
};

inline Status read_shape(const Node& node, const Options& o, Shape& s) {
  TensorInfo in = node.input(0), filter = node.input(1), out = node.output(0);
  if (in.rank() != 4 || filter.rank() != 4 || out.rank() != 4 || filter.dims[0] != 1)
    return LINNET_ERROR(malformed, "DEPTHWISE_CONV_2D needs an input, a filter {1, rows, columns, channels} and an output of four dimensions");
  s.batches = in.dims[0];
  s.in_channels = in.dims[3];
  if (s.in_channels <= 0 || filter.dims[3] % s.in_channels != 0)
    return LINNET_ERROR(malformed, "DEPTHWISE_CONV_2D's filter must have a multiple of the input's channels");
  s.multiplier = filter.dims[3] / s.in_channels;
  if (!is_clamp(o.activation)) return LINNET_ERROR(unsupported, "DEPTHWISE_CONV_2D can be fused with RELU, RELU_N1_TO_1 and RELU6 only");
  uint32_t unused;
  if (!make_axis(s.y, o.padding, in.dims[1], filter.dims[1], o.stride_y, o.dilation_y) ||
      !make_axis(s.x, o.padding, in.dims[2], filter.dims[2], o.stride_x, o.dilation_x) || !check_shape(s, unused, unused, unused))
    return LINNET_ERROR(unsupported, "DEPTHWISE_CONV_2D's padding, strides, dilations or filter make no sense for its input");
  if (out.dims[0] != s.batches || out.dims[1] != s.y.output || out.dims[2] != s.x.output || out.dims[3] != filter.dims[3])
    return LINNET_ERROR(malformed, "DEPTHWISE_CONV_2D's output has another shape than its input, filter and attributes give");
  return {};
}

template <Type input, Type weights>
struct Operator {
  static constexpr uint16_t builtin_code = 4;
  static constexpr int32_t max_version = 7;
  static constexpr TypeSignature types = {input, weights, input};
};

struct FloatOperator : Operator<Type::float32, Type::float32> {
  static Status infer(const Node& node) {
    Shape s;
    LINNET_TRY(read_shape(node, Options(node.options()), s));
    return check_bias(node.input(2), Type::float32, Type::float32, s.out_channels());
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
    TensorInfo bias = node.input(2);
    if (sizeof(T) == 2 && bias.type == Type::int32 && !bias.data)
      return LINNET_ERROR(unsupported, "a bias of 32 bits for int16 activations must be constant");
    return check_quantized<T>(node, s.out_channels(), 3);
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
      operands[sum_bias] = wide_bias(emitter, node.input(2), operands[sum_bias]);
      return emitter.run<Int16Wide>({p.shape, p.sums}, operands);
    }
  }
};

// TFLite always quantises the input asymmetrically here.
struct HybridOperator : Operator<Type::float32, Type::int8> {
  static Status infer(const Node& node) {
    Shape s;
    LINNET_TRY(read_shape(node, Options(node.options()), s));
    LINNET_TRY(check_filter_scales(node.input(1), s.out_channels(), 3));
    return check_bias(node.input(2), Type::float32, Type::float32, s.out_channels());
  }
  static Status lower(const Node& node, Emitter& emitter) {
    SumsParams<hybrid::HybridSums> p;
    Options o(node.options());
    LINNET_TRY(read_shape(node, o, p.shape));
    return hybrid::lower<Hybrid>(node, emitter, p, o.activation, p.shape.batches, true, false);
  }
};

using Operators = List<FloatOperator, IntOperator<int8_t>, IntOperator<int16_t>, HybridOperator>;
using Kernels = List<Float, Int8, Int16Wide, Hybrid>;

}  // namespace linnet::ops::depthwise_conv_2d
