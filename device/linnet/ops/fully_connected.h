// FULLY_CONNECTED on float32, int8, int16 with int8 weights, and float32 with int8 weights (TFLite: reference FullyConnected, FullyConnectedPerChannel).
//
// Whatever their ranks, the input is read as rows of as many numbers as the weights {units, depth} have columns, and the
// output as rows of units. Canonical: input (b, 1, 1, depth), weights (units, 1, 1, depth), output (b, 1, 1, units). The
// reduction box is ([0, 1), [0, 1), depth).
#pragma once
#include "linnet/ops/hybrid.h"

namespace linnet::ops::fully_connected {

struct Shape {
  int32_t batches, depth, units;
};

template <class S>
struct SumsParams {
  Shape shape;
  typename S::Params sums;
};

template <class S>
void run_sums(const Call& call, const typename S::Params& p) {
  auto in = call.in<typename S::Input>(sum_input);
  auto filter = call.in<typename S::Weight>(sum_filter);
  auto out = call.out<typename S::Output>(sum_output);
  auto partial = call.out<typename S::Accumulator>(sum_accumulator);
  S sums(call, p);
  const Block& block = call.block;
  int32_t from = block.reduction.lo[2], depth = block.reduction.hi[2] - from;
  int32_t first_unit = block.out.lo[axis_c], units = block.out.hi[axis_c] - first_unit;
  bool up = call.direction == Direction::up;
  for_each_row(block.out, call.direction, [&](int32_t b, int32_t y, int32_t x) {
    const typename S::Input* row = in.at(b, y, x, from);
    const typename S::Weight* weights = filter.at(first_unit, 0, 0, from);
    auto* to = out.at(b, y, x, first_unit);
    auto* sum_at = partial.data ? partial.at(b, y, x, first_unit) : nullptr;
    sums.start_batch(b);
    for (int32_t i = 0; i < units; ++i) {
      int32_t c = up ? i : units - 1 - i;
      typename S::Accumulator sum = block.first ? 0 : sum_at[c];
      const typename S::Weight* w = weights + c * filter.view->stride[0];
      for (int32_t d = 0; d < depth; ++d) sums.add(sum, row[d], w[d]);
      if (block.last) to[c] = sums.finish(sum, first_unit + c);
      else sum_at[c] = sum;
    }
  });
}

template <class S>
struct FullyConnected {
  using Params = SumsParams<S>;
  static constexpr const char* set = "reference";
  static constexpr uint32_t params_version = 1;
  static constexpr Splits splits = split_batch | split_channels | S::reduction;

  static bool check(const Params& p, Extent* extents, int operands) {
    const Shape& s = p.shape;
    uint32_t in, filter, out;
    return product(in, s.batches, s.depth) && product(filter, s.units, s.depth) && product(out, s.batches, s.units) &&
           check_sums<S>(p.sums, extents, operands, in, filter, out, s.batches, s.units);
  }
  static void whole(const Params& p, Block& block, View* views) {
    const Shape& s = p.shape;
    block.out = whole_box(s.batches, 1, 1, s.units);
    block.reduction = {{0, 0, 0}, {1, 1, s.depth}};
    set_dense(views[sum_input], 1, 1, s.depth);
    set_dense(views[sum_filter], 1, 1, s.depth);
    set_dense(views[sum_bias], 1, 1, s.units);
    set_dense(views[sum_output], 1, 1, s.units);
    set_dense(views[sum_accumulator], 1, 1, s.units);
    S::whole(p.sums, views + sum_own, s.units);
  }
  static Box window(const Params& p, int operand, const Block& block) {
    int32_t lo = block.reduction.lo[2], hi = block.reduction.hi[2];
    if (operand == sum_input) return {{block.out.lo[axis_b], 0, 0, lo}, {block.out.hi[axis_b], 1, 1, hi}};
    if (operand == sum_filter) return {{block.out.lo[axis_c], 0, 0, lo}, {block.out.hi[axis_c], 1, 1, hi}};
    return sums_window<S>(p.sums, operand, block);
  }
  static Cost cost(const Params& p) {
    uint64_t out = static_cast<uint64_t>(p.shape.batches * p.shape.units);
    return {out * static_cast<uint32_t>(p.shape.depth), out};
  }
  // All units of a row read all of it: the output may end before the row does that is being read, and start after it.
  static Lag lag(const Params& p, int input, int output) {
    if (input != sum_input || output != sum_output) return {};
    const Shape& s = p.shape;
    constexpr int32_t element = sizeof(typename S::Output);
    int32_t in_row = s.depth * static_cast<int32_t>(sizeof(typename S::Input)), out_row = s.units * element;
    int32_t result = -s.batches * in_row, last = s.batches - 1;
    if (s.units > 1) result = out_row - element + max_of(0, last * (out_row - in_row));
    if (last > 0) result = max_of(result, out_row - in_row + max_of(0, (last - 1) * (out_row - in_row)));
    return {result, result};
  }
  static void run(const Call& call, const Params& p) { run_sums<S>(call, p.sums); }
};

struct Float : FullyConnected<FloatSums> {
  using Computation = Float;
  static constexpr const char* name = "fully_connected.float32";
};
struct Int8 : FullyConnected<QuantizedSums<int8_t, int32_t>> {
  using Computation = Int8;
  static constexpr const char* name = "fully_connected.int8";
};
struct Int16 : FullyConnected<QuantizedSums<int16_t, int32_t>> {
  using Computation = Int16;
  static constexpr const char* name = "fully_connected.int16";
};
struct Int16Wide : FullyConnected<QuantizedSums<int16_t, int64_t>> {
  using Computation = Int16Wide;
  static constexpr const char* name = "fully_connected.int16.wide";
};

struct Hybrid : FullyConnected<hybrid::HybridSums> {
  using Computation = Hybrid;
  static constexpr const char* name = "fully_connected.hybrid";
};

// ---- Models ---------------------------------------------------------------------------------------------------------------

// Fields of schema: table FullyConnectedOptions. keep_num_dims (2) only says which shape the output has.
struct Options {
  int8_t activation, weights_format, quantized_bias_type;
  bool asymmetric;  // how hybrid kernels quantise the input

  explicit Options(const Table& t)
      : activation(t.get<int8_t>(0, 0)), weights_format(t.get<int8_t>(1, 0)), quantized_bias_type(t.get<int8_t>(4, 0)),
        asymmetric(t.get<bool>(3, false)) {}
};

inline Status read_shape(const Node& node, const Options& o, Shape& s) {
  TensorInfo in = node.input(0), weights = node.input(1), out = node.output(0);
  if (weights.rank() != 2 || in.rank() < 1 || out.rank() < 1)
    return LINNET_ERROR(malformed, "FULLY_CONNECTED needs weights of two dimensions, an input and an output");
  if (o.weights_format != 0) return LINNET_ERROR(unsupported, "FULLY_CONNECTED's weights must be in the default format");
  if (!is_clamp(o.activation)) return LINNET_ERROR(unsupported, "FULLY_CONNECTED can be fused with RELU, RELU_N1_TO_1 and RELU6 only");
  s.units = weights.dims[0];
  s.depth = weights.dims[1];
  if (s.units <= 0 || s.depth <= 0 || in.elements() <= 0 || in.elements() % s.depth != 0)
    return LINNET_ERROR(malformed, "FULLY_CONNECTED's input must consist of rows as long as its weights'");
  s.batches = in.elements() / s.depth;
  uint32_t out_elements;
  if (!product(out_elements, s.batches, s.units) || out.dims[static_cast<size_t>(out.rank() - 1)] != s.units ||
      static_cast<uint32_t>(out.elements()) != out_elements)
    return LINNET_ERROR(malformed, "FULLY_CONNECTED's output has another shape than its input and weights give");
  return {};
}

template <Type input, Type weights>
struct Operator {
  static constexpr uint16_t builtin_code = 9;
  static constexpr int32_t max_version = 13;
  static constexpr TypeSignature types = {input, weights, input};
};

struct FloatOperator : Operator<Type::float32, Type::float32> {
  static Status infer(const Node& node) {
    Shape s;
    LINNET_TRY(read_shape(node, Options(node.options()), s));
    return check_bias(node.input(2), Type::float32, Type::float32, s.units);
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
    return check_quantized<T>(node, s.units, 0);
  }
  static Status lower(const Node& node, Emitter& emitter) {
    TensorInfo in = node.input(0), filter = node.input(1), out = node.output(0);
    Options o(node.options());
    SumsParams<QuantizedSums<T, int32_t>> p;
    LINNET_TRY(read_shape(node, o, p.shape));
    p.sums = quantized_sum_params<T>(in, filter, out, o.activation);
    // Unlike convolutions, TFLite multiplies the scales of input and weights as floats here, if there is one for all.
    SumScales scales = emit_sum_scales(emitter, in, filter, out, filter.scales.size() == 1);
    Ref operands[] = {emitter.in(0), emitter.in(1), emitter.in(2), emitter.out(0), Ref{}, scales.multipliers, scales.shifts};
    if constexpr (sizeof(T) == 1) {
      return emitter.run<Int8>(p, operands);
    } else {
      TensorInfo bias = node.input(2);
      if (!sums_of_64_bits(bias, o.quantized_bias_type)) return emitter.run<Int16>(p, operands);
      operands[sum_bias] = wide_bias(emitter, bias, operands[sum_bias]);
      return emitter.run<Int16Wide>({p.shape, p.sums}, operands);
    }
  }
};

struct HybridOperator : Operator<Type::float32, Type::int8> {
  static Status infer(const Node& node) {
    Shape s;
    LINNET_TRY(read_shape(node, Options(node.options()), s));
    LINNET_TRY(check_filter_scales(node.input(1), s.units, 0));
    return check_bias(node.input(2), Type::float32, Type::float32, s.units);
  }
  static Status lower(const Node& node, Emitter& emitter) {
    SumsParams<hybrid::HybridSums> p;
    Options o(node.options());
    LINNET_TRY(read_shape(node, o, p.shape));
    return hybrid::lower<Hybrid>(node, emitter, p, o.activation, p.shape.batches, o.asymmetric, false);
  }
};

using Operators = List<FloatOperator, IntOperator<int8_t>, IntOperator<int16_t>, HybridOperator>;
using Kernels = List<Float, Int8, Int16, Int16Wide, Hybrid>;

}  // namespace linnet::ops::fully_connected
