// LEAKY_RELU on float32, int8 and int16 (TFLite: reference QuantizeLeakyRelu).
#pragma once
#include "linnet/ops/elementwise.h"

namespace linnet::ops::leaky_relu {

struct FloatParams : Extents4 {
  float alpha;
};

struct Float : Unary<float, float, FloatParams> {
  using Computation = Float;
  static constexpr const char* name = "leaky_relu.float32";
  static constexpr uint32_t params_version = 1;
  static float apply(float x, const FloatParams& p) { return x > 0 ? x : x * p.alpha; }
  static void run(const Call& call, const FloatParams& p) { map_elements<float, float, FloatParams, Float>(call, p); }
};

struct IntParams : Extents4 {
  int32_t input_zero_point, output_zero_point;
  QuantizedMultiplier identity, alpha;  // for inputs from the zero point on, and below it
  int32_t alpha_sign;
};

template <class T>
struct Int : Unary<T, T, IntParams> {
  using Computation = Int;
  static constexpr const char* name = sizeof(T) == 1 ? "leaky_relu.int8" : "leaky_relu.int16";
  static constexpr uint32_t params_version = 1;
  static T apply(T input, const IntParams& p) {
    int32_t x = wrapping_sub(input, p.input_zero_point);
    const QuantizedMultiplier& q = x >= 0 ? p.identity : p.alpha;
    int32_t y = multiply_by_quantized_multiplier(x, q.multiplier, q.shift);
    if (x < 0) y = wrapping_mul(y, p.alpha_sign);
    return static_cast<T>(clamp(wrapping_add(y, p.output_zero_point), limits<T>::lowest, limits<T>::highest));
  }
  static bool check(const IntParams& p, Extent* extents, int operands) {
    return Unary<T, T, IntParams>::check(p, extents, operands) && is_valid(p.identity) && is_valid(p.alpha);
  }
  static void run(const Call& call, const IntParams& p) { map_elements<T, T, IntParams, Int>(call, p); }
};

inline float alpha_of(const Node& node) { return node.options().get<float>(0, 0.0f); }

inline Status infer_shapes(const Node& node) {
  TensorInfo in = node.input(0), out = node.output(0);
  if (!in.present() || !out.present() || !same_dims(in, out))
    return LINNET_ERROR(malformed, "LEAKY_RELU's input and output differ in shape");
  float alpha = alpha_of(node);
  if (!(alpha - alpha == 0)) return LINNET_ERROR(malformed, "LEAKY_RELU's alpha is not a finite number");
  return {};
}

struct FloatOperator {
  static constexpr uint16_t builtin_code = 98;
  static constexpr int32_t max_version = 2;
  static constexpr TypeSignature types = {Type::float32, Type::none, Type::float32};
  static Status infer(const Node& node) { return infer_shapes(node); }
  static Status lower(const Node& node, Emitter& emitter) {
    FloatParams p{fold(node.input(0).dims), alpha_of(node)};
    return emitter.run<Float>(p, {emitter.in(0), emitter.out(0)});
  }
};

inline IntParams int_params(const Node& node) {
  TensorInfo in = node.input(0), out = node.output(0);
  float alpha = alpha_of(node);
  IntParams p{fold(in.dims), in.zero_point(), out.zero_point(), {}, {}, alpha < 0 ? -1 : 1};
  p.identity = quantize_multiplier(to_single(divide(in.scale(), out.scale())));
  p.alpha = quantize_multiplier(divide(real(in.scale()) * real(alpha), out.scale()));
  return p;
}

template <class T>
struct IntOperator {
  static constexpr Type type = sizeof(T) == 1 ? Type::int8 : Type::int16;
  static constexpr uint16_t builtin_code = 98;
  static constexpr int32_t max_version = 2;
  static constexpr TypeSignature types = {type, Type::none, type};
  static Status infer(const Node& node) {
    LINNET_TRY(infer_shapes(node));
    TensorInfo in = node.input(0), out = node.output(0);
    if (!is_quantized(in) || !is_quantized(out) || !is_zero_point<T>(in.zero_point()) || !is_zero_point<T>(out.zero_point()))
      return LINNET_ERROR(unsupported, "LEAKY_RELU needs one scale and a zero point within the type for its input and output");
    IntParams p = int_params(node);
    if (!is_valid(p.identity) || !is_valid(p.alpha))
      return LINNET_ERROR(unsupported, "LEAKY_RELU's scales differ by more than a factor of 2^31");
    return {};
  }
  static Status lower(const Node& node, Emitter& emitter) {
    return emitter.run<Int<T>>(int_params(node), {emitter.in(0), emitter.out(0)});
  }
};

using Operators = List<FloatOperator, IntOperator<int8_t>, IntOperator<int16_t>>;
using Kernels = List<Float, Int<int8_t>, Int<int16_t>>;

}  // namespace linnet::ops::leaky_relu
