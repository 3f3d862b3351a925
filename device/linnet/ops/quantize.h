// QUANTIZE: float32 to int8, uint8, int16 (TFLite: reference AffineQuantize), and from one quantisation to another among
// int8, uint8, int16 and int32 (reference Requantize).
#pragma once
#include "linnet/core/real.h"
#include "linnet/ops/elementwise.h"

namespace linnet::ops::quantize {

template <class T>
constexpr Type type_of() {
  if (sizeof(T) == 4) return Type::int32;
  if (sizeof(T) == 2) return Type::int16;
  return limits<T>::lowest < 0 ? Type::int8 : Type::uint8;
}

constexpr const char* name_of(Type from, Type to) {
  switch (from) {
    case Type::float32: return to == Type::int8 ? "quantize.float32.int8" : to == Type::int16 ? "quantize.float32.int16" : "quantize.float32.uint8";
    case Type::int8:
      return to == Type::int8 ? "quantize.int8.int8" : to == Type::int16 ? "quantize.int8.int16" : to == Type::int32 ? "quantize.int8.int32" : "quantize.int8.uint8";
    case Type::int16: return to == Type::int8 ? "quantize.int16.int8" : to == Type::int16 ? "quantize.int16.int16" : "quantize.int16.int32";
    case Type::int32: return to == Type::int8 ? "quantize.int32.int8" : "quantize.int32.int16";
    default: return "quantize.uint8.int8";
  }
}

struct FloatParams : Extents4 {
  float scale;
  int32_t zero_point;
};

template <class To>
struct FromFloat : Unary<float, To, FloatParams> {
  using Computation = FromFloat;
  static constexpr const char* name = name_of(Type::float32, type_of<To>());
  static constexpr uint32_t params_version = 1;

  // Halves round away from zero. What is not a number saturates like infinity.
  static To apply(float x, const FloatParams& p) {
    constexpr float bound = 131072.0f;  // beyond it every zero point saturates; far below 2^23, so the remainder is exact
    float scaled = x / p.scale;
    scaled = scaled < bound ? (scaled > -bound ? scaled : -bound) : bound;
    int32_t q = static_cast<int32_t>(scaled);
    float rest = scaled - static_cast<float>(q);
    q += rest >= 0.5f ? 1 : rest <= -0.5f ? -1 : 0;
    return static_cast<To>(clamp(q + p.zero_point, limits<To>::lowest, limits<To>::highest));
  }
  static bool check(const FloatParams& p, Extent* extents, int operands) {
    return Unary<float, To, FloatParams>::check(p, extents, operands) && is_zero_point<To>(p.zero_point);
  }
  static void run(const Call& call, const FloatParams& p) { map_elements<float, To, FloatParams, FromFloat>(call, p); }
};

struct IntParams : Extents4 {
  int32_t input_zero_point, output_zero_point;
  QuantizedMultiplier multiplier;
};

template <class From, class To>
struct FromInt : Unary<From, To, IntParams> {
  using Computation = FromInt;
  static constexpr const char* name = name_of(type_of<From>(), type_of<To>());
  static constexpr uint32_t params_version = 1;

  static To apply(From x, const IntParams& p) {
    int32_t scaled = multiply_by_quantized_multiplier(wrapping_sub(x, p.input_zero_point), p.multiplier.multiplier, p.multiplier.shift);
    return static_cast<To>(clamp(wrapping_add(scaled, p.output_zero_point), limits<To>::lowest, limits<To>::highest));
  }
  static bool check(const IntParams& p, Extent* extents, int operands) {
    return Unary<From, To, IntParams>::check(p, extents, operands) && is_valid(p.multiplier);
  }
  static void run(const Call& call, const IntParams& p) { map_elements<From, To, IntParams, FromInt>(call, p); }
};

inline Status infer_quantize(const TensorInfo& in, const TensorInfo& out, bool from_float) {
  if (!in.present() || !out.present() || !same_dims(in, out))
    return LINNET_ERROR(malformed, "QUANTIZE's input and output differ in shape");
  if (!is_quantized(out) || (!from_float && !is_quantized(in)))
    return LINNET_ERROR(unsupported, "QUANTIZE needs one scale for each quantised tensor; scales per channel are not supported");
  if (!from_float && !is_valid(quantize_multiplier(divide(in.scale(), out.scale()))))
    return LINNET_ERROR(unsupported, "QUANTIZE's scales differ by more than a factor of 2^31");
  return {};
}

template <class To>
struct FloatOperator {
  static constexpr uint16_t builtin_code = 114;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {Type::float32, Type::none, type_of<To>()};
  static Status infer(const Node& node) { return infer_quantize(node.input(0), node.output(0), true); }
  static Status lower(const Node& node, Emitter& emitter) {
    TensorInfo out = node.output(0);
    FloatParams p{fold(out.dims), out.scale(), out.zero_point()};
    return emitter.run<FromFloat<To>>(p, {emitter.in(0), emitter.out(0)});
  }
};

inline IntParams int_params(const TensorInfo& in, const TensorInfo& out) {
  return {fold(in.dims), in.zero_point(), out.zero_point(), quantize_multiplier(divide(in.scale(), out.scale()))};
}

template <class From, class To>
struct IntOperator {
  static constexpr uint16_t builtin_code = 114;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {type_of<From>(), Type::none, type_of<To>()};
  static Status infer(const Node& node) { return infer_quantize(node.input(0), node.output(0), false); }
  static Status lower(const Node& node, Emitter& emitter) {
    return emitter.run<FromInt<From, To>>(int_params(node.input(0), node.output(0)), {emitter.in(0), emitter.out(0)});
  }
};

using Operators = List<FloatOperator<int8_t>, FloatOperator<uint8_t>, FloatOperator<int16_t>, IntOperator<int8_t, int8_t>,
                       IntOperator<int8_t, uint8_t>, IntOperator<int8_t, int16_t>, IntOperator<int8_t, int32_t>,
                       IntOperator<uint8_t, int8_t>, IntOperator<int16_t, int8_t>, IntOperator<int16_t, int16_t>,
                       IntOperator<int16_t, int32_t>, IntOperator<int32_t, int8_t>, IntOperator<int32_t, int16_t>>;
using Kernels = List<FromFloat<int8_t>, FromFloat<uint8_t>, FromFloat<int16_t>, FromInt<int8_t, int8_t>, FromInt<int8_t, uint8_t>,
                     FromInt<int8_t, int16_t>, FromInt<int8_t, int32_t>, FromInt<uint8_t, int8_t>, FromInt<int16_t, int8_t>,
                     FromInt<int16_t, int16_t>, FromInt<int16_t, int32_t>, FromInt<int32_t, int8_t>, FromInt<int32_t, int16_t>>;

}  // namespace linnet::ops::quantize
