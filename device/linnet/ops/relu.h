// RELU, RELU6 on float32, int8 and int16. Quantised: requantises with the ratio of the scales, then clamps
// (TFLite: reference ReluQuantized).
#pragma once
#include "linnet/core/real.h"
#include "linnet/ops/elementwise.h"

namespace linnet::ops::relu {

struct FloatParams : Extents4 {
  float low, high;
};

struct Float : Unary<float, float, FloatParams> {
  using Computation = Float;
  static constexpr const char* name = "relu.float32";
  static constexpr uint32_t params_version = 1;
  static float apply(float x, const FloatParams& p) { return x < p.low ? p.low : x > p.high ? p.high : x; }
  static void run(const Call& call, const FloatParams& p) { map_elements<float, float, FloatParams, Float>(call, p); }
};

struct IntParams : Extents4 {
  int32_t input_zero_point, output_zero_point;
  QuantizedMultiplier multiplier;
  int32_t low, high;
};

template <class T>
struct Int : Unary<T, T, IntParams> {
  using Computation = Int;
  static constexpr const char* name = sizeof(T) == 1 ? "relu.int8" : "relu.int16";
  static constexpr uint32_t params_version = 1;
  static T apply(T x, const IntParams& p) {
    int32_t scaled = multiply_by_quantized_multiplier(x - p.input_zero_point, p.multiplier.multiplier, p.multiplier.shift);
    return static_cast<T>(clamp(wrapping_add(scaled, p.output_zero_point), p.low, p.high));
  }
  static bool check(const IntParams& p, Extent* extents, int operands) {
    return Unary<T, T, IntParams>::check(p, extents, operands) && is_valid(p.multiplier) && is_zero_point<T>(p.input_zero_point);
  }
  static void run(const Call& call, const IntParams& p) { map_elements<T, T, IntParams, Int>(call, p); }
};

inline Status infer_relu(const Node& node, bool quantized) {
  TensorInfo in = node.input(0), out = node.output(0);
  if (!in.present() || !out.present() || !same_dims(in, out))
    return LINNET_ERROR(malformed, "the activation's input and output differ in shape");
  if (quantized && (!is_quantized(in) || !is_quantized(out)))
    return LINNET_ERROR(unsupported, "the activation needs one scale for its input and one for its output");
  return {};
}

// `six`: RELU6 rather than RELU.
template <uint16_t code, bool six>
struct FloatOperator {
  static constexpr uint16_t builtin_code = code;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {Type::float32, Type::none, Type::float32};
  static Status infer(const Node& node) { return infer_relu(node, false); }
  static Status lower(const Node& node, Emitter& emitter) {
    FloatParams p{fold(node.input(0).dims), 0.0f, six ? 6.0f : 3.402823466e38f};
    return emitter.run<Float>(p, {emitter.in(0), emitter.out(0)});
  }
};

template <uint16_t code, bool six, class T>
struct IntOperator {
  static constexpr Type type = sizeof(T) == 1 ? Type::int8 : Type::int16;
  static constexpr uint16_t builtin_code = code;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {type, Type::none, type};
  static QuantizedMultiplier multiplier_of(const TensorInfo& in, const TensorInfo& out) {
    Real ratio = divide(in.scale(), out.scale());
    return quantize_multiplier(six ? to_single(ratio) : ratio);  // as the references differ
  }
  static Status infer(const Node& node) {
    LINNET_TRY(infer_relu(node, true));
    TensorInfo in = node.input(0), out = node.output(0);
    if (!is_zero_point<T>(in.zero_point()) || !is_zero_point<T>(out.zero_point()) || !is_valid(multiplier_of(in, out)))
      return LINNET_ERROR(unsupported, "the activation's zero points are outside its type, or its scales too far apart");
    return {};
  }
  static Status lower(const Node& node, Emitter& emitter) {
    TensorInfo in = node.input(0), out = node.output(0);
    IntParams p{fold(in.dims), in.zero_point(), out.zero_point(), multiplier_of(in, out), 0, 0};
    p.low = max_of(out.zero_point(), limits<T>::lowest);
    p.high = limits<T>::highest;
    if (six) p.high = min_of(p.high, wrapping_add(out.zero_point(), quantize_bound(6.0f, out.scale())));
    return emitter.run<Int<T>>(p, {emitter.in(0), emitter.out(0)});
  }
};

using Operators = List<FloatOperator<19, false>, FloatOperator<21, true>, IntOperator<19, false, int8_t>,
                       IntOperator<21, true, int8_t>, IntOperator<19, false, int16_t>, IntOperator<21, true, int16_t>>;
using Kernels = List<Float, Int<int8_t>, Int<int16_t>>;

}  // namespace linnet::ops::relu
