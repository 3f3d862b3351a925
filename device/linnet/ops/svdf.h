// SVDF (singular value decomposition filter): a row of feature weights per filter, a memory of its last results, and a row
// of time weights over that memory; `rank` filters make a unit (TFLite Micro: reference SVDF). float32, and int8 with
// memory and time weights of int16 or int8. Hybrid (float32 with int8 weights) is not supported.
//
// Axes: batch, units as channels. A unit's memory belongs to it alone, so blocks of batch and units are independent.
#pragma once
#include "linnet/ops/activation.h"

namespace linnet::ops::svdf {

enum Operand { input, features, time, bias, state, output, operands };

struct Shape {
  int32_t batches, inputs, units, rank, memory;

  bool count(uint32_t (&elements)[operands]) const {
    return product(elements[input], batches, inputs) && product(elements[features], units, rank, inputs) &&
           product(elements[time], units, rank, memory) && product(elements[state], batches, units, rank, memory) &&
           product(elements[output], batches, units);
  }
};

inline bool check_shape(const Shape& s, Extent* extents, int count, uint8_t bytes, uint8_t time_bytes, uint8_t bias_bytes) {
  uint32_t elements[operands];
  if (count != operands || !s.count(elements)) return false;
  extents[input] = {extent_bytes(elements[input], bytes), bytes};
  extents[features] = {extent_bytes(elements[features], bytes), bytes};
  extents[time] = {extent_bytes(elements[time], time_bytes), time_bytes};
  extents[bias] = {extent_bytes(static_cast<uint32_t>(s.units), bias_bytes), bias_bytes, false, true};
  extents[state] = {extent_bytes(elements[state], time_bytes), time_bytes, true};
  extents[output] = {extent_bytes(elements[output], bytes), bytes, true};
  return true;
}

inline void whole_layer(const Shape& s, Block& block, View* views) {
  block.out = whole_box(s.batches, 1, 1, s.units);
  views[input] = dense_view(1, 1, s.inputs);
  views[features] = dense_view(1, s.units * s.rank, s.inputs);  // filters as columns
  views[time] = dense_view(1, s.units * s.rank, s.memory);
  views[bias] = dense_view(1, 1, s.units);
  views[state] = dense_view(1, s.units * s.rank, s.memory);
  views[output] = dense_view(1, 1, s.units);
}

inline Box window_of(const Shape& s, int operand, const Block& block) {
  Box box = block.out;
  if (operand == input) box.lo[3] = 0, box.hi[3] = s.inputs;
  if (operand == bias || operand == features || operand == time) box.lo[0] = 0, box.hi[0] = 1;
  if (operand == features || operand == time || operand == state) {
    box.lo[2] = block.out.lo[3] * s.rank;
    box.hi[2] = block.out.hi[3] * s.rank;
    box.lo[3] = 0;
    box.hi[3] = operand == features ? s.inputs : s.memory;
  }
  return box;
}

// Calls f(batch, unit) for every output; F also sees each of the unit's filters through `row`.
template <class F>
void for_each_unit(const Block& block, F f) {
  for (int32_t b = block.out.lo[0]; b < block.out.hi[0]; ++b)
    for (int32_t u = block.out.lo[3]; u < block.out.hi[3]; ++u) f(b, u);
}

struct FloatParams : Shape {
  float low, high;
};

struct Float {
  using Computation = Float;
  static constexpr const char* set = "reference";
  static constexpr const char* name = "svdf.float32";
  static constexpr uint32_t params_version = 1;
  static constexpr Splits splits = split_batch | split_channels;
  using Params = FloatParams;

  static bool check(const Params& p, Extent* extents, int count) { return check_shape(p, extents, count, 4, 4, 4); }
  static void whole(const Params& p, Block& block, View* views) { whole_layer(p, block, views); }
  static Box window(const Params& p, int operand, const Block& block) { return window_of(p, operand, block); }
  static Cost cost(const Params& p) {
    return {static_cast<uint64_t>(p.batches) * static_cast<uint64_t>(p.units) * static_cast<uint64_t>(p.rank) *
                (static_cast<uint64_t>(p.inputs) + static_cast<uint64_t>(p.memory)),
            0};
  }
  static Lag lag(const Params&, int, int) { return {}; }

  static void run(const Call& call, const Params& p) {
    for_each_unit(call.block, [&](int32_t b, int32_t u) {
      const float* x = call.in<float>(input).at(b, 0, 0, 0);
      float sum = call.has(bias) ? *call.in<float>(bias).channel(u) : 0.0f;
      for (int32_t filter = u * p.rank; filter < (u + 1) * p.rank; ++filter) {
        const float* w = call.in<float>(features).at(0, 0, filter, 0);
        const float* t = call.in<float>(time).at(0, 0, filter, 0);
        float* memory = call.out<float>(state).at(b, 0, filter, 0);
        float dot = 0;
        for (int32_t i = 0; i < p.inputs; ++i) dot += w[i] * x[i];
        for (int32_t i = 0; i + 1 < p.memory; ++i) memory[i] = memory[i + 1];
        memory[p.memory - 1] = dot;
        float filtered = 0;
        for (int32_t i = 0; i < p.memory; ++i) filtered += t[i] * memory[i];
        sum += filtered;
      }
      *call.out<float>(output).at(b, 0, 0, u) = FloatBounds{p.low, p.high}.clamp(sum);
    });
  }
};

struct IntParams : Shape {
  int32_t input_zero_point, state_zero_point, output_zero_point;
  QuantizedMultiplier to_state, to_output;
};

// T: memory and time weights.
template <class T>
struct Int {
  using Computation = Int;
  static constexpr const char* set = "reference";
  static constexpr const char* name = sizeof(T) == 1 ? "svdf.int8" : "svdf.int8x16";
  static constexpr uint32_t params_version = 1;
  static constexpr Splits splits = split_batch | split_channels;
  using Params = IntParams;

  static bool check(const Params& p, Extent* extents, int count) {
    return check_shape(p, extents, count, 1, sizeof(T), 4) && p.inputs <= 65536 &&  // the dot product cannot overflow
           is_zero_point<int8_t>(p.input_zero_point) && is_zero_point<T>(p.state_zero_point) &&
           is_valid(p.to_state) && is_valid(p.to_output);
  }
  static void whole(const Params& p, Block& block, View* views) { whole_layer(p, block, views); }
  static Box window(const Params& p, int operand, const Block& block) { return window_of(p, operand, block); }
  static Cost cost(const Params& p) {
    uint64_t units = static_cast<uint64_t>(p.batches) * static_cast<uint64_t>(p.units), filters = units * static_cast<uint64_t>(p.rank);
    return {filters * (static_cast<uint64_t>(p.inputs) + static_cast<uint64_t>(p.memory)), filters + units};
  }
  static Lag lag(const Params&, int, int) { return {}; }

  static void run(const Call& call, const Params& p) {
    for_each_unit(call.block, [&](int32_t b, int32_t u) {
      const int8_t* x = call.in<int8_t>(input).at(b, 0, 0, 0);
      int32_t sum = call.has(bias) ? *call.in<int32_t>(bias).channel(u) : 0;
      for (int32_t filter = u * p.rank; filter < (u + 1) * p.rank; ++filter) {
        const int8_t* w = call.in<int8_t>(features).at(0, 0, filter, 0);
        const T* t = call.in<T>(time).at(0, 0, filter, 0);
        T* memory = call.out<T>(state).at(b, 0, filter, 0);
        int32_t dot = 0;
        for (int32_t i = 0; i < p.inputs; ++i) dot += w[i] * (x[i] - p.input_zero_point);
        dot = multiply_by_quantized_multiplier(dot, p.to_state.multiplier, p.to_state.shift);
        dot = clamp(dot, limits<T>::lowest, limits<T>::highest);
        for (int32_t i = 0; i + 1 < p.memory; ++i) memory[i] = memory[i + 1];
        memory[p.memory - 1] = static_cast<T>(p.state_zero_point + dot);  // wraps like the reference's
        for (int32_t i = 0; i < p.memory; ++i) sum = wrapping_add(sum, wrapping_mul(t[i], memory[i] - p.state_zero_point));
      }
      int32_t y = multiply_by_quantized_multiplier(sum, p.to_output.multiplier, p.to_output.shift);
      y = clamp(wrapping_add(y, p.output_zero_point), INT8_MIN, INT8_MAX);
      *call.out<int8_t>(output).at(b, 0, 0, u) = static_cast<int8_t>(y);
    });
  }
};

inline int32_t rank_of(const Node& node) { return node.options().get<int32_t>(0, 0); }

inline bool is_matrix(const TensorInfo& t, Type type, int64_t rows, int64_t columns) {
  return t.type == type && t.rank() == 2 && t.dims[0] == rows && t.dims[1] == columns;
}

// After infer.
inline Shape shape_of(const Node& node) {
  Span<const int32_t> x = node.input(input).dims;
  int32_t rank = rank_of(node);
  return {x[0], x[1], node.output(0).dims[1], rank, node.input(time).dims[1]};
}

inline Status infer_svdf(const Node& node, Type type, Type time_type, Type bias_type) {
  TensorInfo x = node.input(input), t = node.input(time), b = node.input(bias), y = node.output(0);
  if (x.rank() != 2 || y.rank() != 2 || t.rank() != 2)
    return LINNET_ERROR(unsupported, "SVDF needs an input, an output and time weights of two dimensions");
  int32_t rank = rank_of(node);
  int64_t units = y.dims[1], filters = units * rank;
  if (rank < 1 || x.elements() <= 0 || t.elements() <= 0 || y.dims[0] != x.dims[0] || !is_matrix(node.input(features), type, filters, x.dims[1]) ||
      !is_matrix(t, time_type, filters, t.dims[1]) || !is_matrix(node.input(state), time_type, x.dims[0], filters * t.dims[1]))
    return LINNET_ERROR(unsupported, "SVDF's weights, state and output do not have the types and sizes that its input, rank and memory ask for");
  if (b.present() && (b.type != bias_type || b.elements() != units))
    return LINNET_ERROR(unsupported, "SVDF's bias is not one number of the right type for each unit");
  if (!node.input(state).is_variable) return LINNET_ERROR(unsupported, "SVDF's state is not a variable tensor");
  return {};
}

struct FloatSvdf {
  static constexpr uint16_t builtin_code = 27;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {Type::float32, Type::float32, Type::float32};
  static Status infer(const Node& node) {
    if (!is_clamp(node.options().get<int8_t>(1, 0))) return LINNET_ERROR(unsupported, "SVDF's activation is not supported");
    return infer_svdf(node, Type::float32, Type::float32, Type::float32);
  }
  static Status lower(const Node& node, Emitter& e) {
    FloatBounds bounds = float_bounds(node.options().get<int8_t>(1, 0));
    FloatParams p{shape_of(node), bounds.low, bounds.high};
    return e.run<Float>(p, {e.in(input), e.in(features), e.in(time), e.in(bias), e.inout(state), e.out(0)});
  }
};

// Scales are multiplied and divided in single precision.
inline QuantizedMultiplier ratio(const TensorInfo& a, const TensorInfo& b, const TensorInfo& to) {
  return quantize_multiplier(to_single(divide(to_single(real(a.scale()) * real(b.scale())), to.scale())));
}

inline IntParams int_params(const Node& node) {
  TensorInfo x = node.input(input), s = node.input(state), y = node.output(0);
  return {shape_of(node), x.zero_point(), s.zero_point(), y.zero_point(), ratio(x, node.input(features), s), ratio(s, node.input(time), y)};
}

struct IntSvdf {
  static constexpr uint16_t builtin_code = 27;
  static constexpr int32_t max_version = 4;
  static constexpr TypeSignature types = {Type::int8, Type::int8, Type::int8};
  static Status infer(const Node& node) {
    Type time_type = node.input(time).type;
    if (time_type != Type::int8 && time_type != Type::int16)
      return LINNET_ERROR(unsupported, "SVDF's time weights must be int8 or int16");
    int8_t activation = node.options().get<int8_t>(1, 0);
    if (activation != 0 && activation != 1)  // RELU is in the output's zero point
      return LINNET_ERROR(unsupported, "SVDF's activation is not supported");
    LINNET_TRY(infer_svdf(node, Type::int8, time_type, Type::int32));
    if (!is_quantized(node.input(input)) || !is_quantized(node.input(features)) || !is_quantized(node.input(time)) ||
        !is_quantized(node.input(state)) || !is_quantized(node.output(0)))
      return LINNET_ERROR(unsupported, "SVDF needs one scale for each of its tensors");
    IntParams p = int_params(node);
    if (p.inputs > 65536 || !is_valid(p.to_state) || !is_valid(p.to_output))
      return LINNET_ERROR(unsupported, "SVDF's input has more than 65536 features, or its scales are too far apart");
    return {};
  }
  static Status lower(const Node& node, Emitter& e) {
    IntParams p = int_params(node);
    Ref operands[] = {e.in(input), e.in(features), e.in(time), e.in(bias), e.inout(state), e.out(0)};
    if (node.input(time).type == Type::int8) return e.run<Int<int8_t>>(p, operands);
    return e.run<Int<int16_t>>(p, operands);
  }
};

using Operators = List<FloatSvdf, IntSvdf>;
using Kernels = List<Float, Int<int8_t>, Int<int16_t>>;

}  // namespace linnet::ops::svdf
