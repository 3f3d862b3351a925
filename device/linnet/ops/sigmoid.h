// What LOGISTIC and TANH share: parameters, preparation and checks (TFLite: Logistic and Tanh of reference and
// reference_integer_ops). int8 goes through fixed-point exponentials in Q4, int16 through a table of which an input step is
// 1 / (3 * 4096).
#pragma once
#include "linnet/core/fixed_math.h"
#include "linnet/core/math.h"
#include "linnet/ops/elementwise.h"

namespace linnet::ops {

struct SigmoidParams : Extents4 {
  int32_t zero_point;              // of the input
  int32_t radius;                  // inputs this far from the zero point saturate
  QuantizedMultiplier multiplier;  // int16: a plain factor, and how far to shift right afterwards
};

// F: static float real(float); static int32_t q4(int32_t); static int16_t table(int32_t); output_bits of int8.
template <class F>
struct SigmoidFloat : Unary<float, float, Extents4> {
  static float apply(float x, const Extents4&) { return F::real(x); }
  static void run(const Call& call, const Extents4& p) { map_elements<float, float, Extents4, SigmoidFloat>(call, p); }
};

template <class F>
struct SigmoidInt8 : Unary<int8_t, int8_t, SigmoidParams> {
  static int8_t apply(int8_t input, const SigmoidParams& p) {
    int32_t x = wrapping_sub(input, p.zero_point);
    if (x <= -p.radius) return INT8_MIN;
    if (x >= p.radius) return INT8_MAX;
    int32_t y = F::q4(multiply_by_quantized_multiplier(x, p.multiplier.multiplier, p.multiplier.shift));
    y = rounding_divide_by_power_of_two(y, 31 - F::output_bits) + F::output_zero_point;
    return static_cast<int8_t>(clamp(y, INT8_MIN, INT8_MAX));
  }
  static bool check(const SigmoidParams& p, Extent* extents, int operands) {
    return Unary::check(p, extents, operands) && is_valid(p.multiplier) && p.radius >= 0;
  }
  static void run(const Call& call, const SigmoidParams& p) { map_elements<int8_t, int8_t, SigmoidParams, SigmoidInt8>(call, p); }
};

template <class F>
struct SigmoidInt16 : Unary<int16_t, int16_t, SigmoidParams> {
  static int16_t apply(int16_t x, const SigmoidParams& p) {
    int32_t round = static_cast<int32_t>((1u << p.multiplier.shift) >> 1);
    return F::table(wrapping_add(wrapping_mul(x, p.multiplier.multiplier), round) >> p.multiplier.shift);
  }
  static bool check(const SigmoidParams& p, Extent* extents, int operands) {
    return Unary::check(p, extents, operands) && p.multiplier.shift >= 0 && p.multiplier.shift <= 31;
  }
  static void run(const Call& call, const SigmoidParams& p) { map_elements<int16_t, int16_t, SigmoidParams, SigmoidInt16>(call, p); }
};

// Within a thousandth of an octave of 2^n, which TFLite takes for 2^n.
inline bool is_power_of_two(float scale, int32_t n) {
  float ratio = scale / power_of_two(n);
  return ratio > 0.99930709f && ratio < 1.00069339f;
}

// int16: false if the input's scale is too large. `shifts`: how many powers of two, from 2^-12 on, need no rescaling.
inline bool sigmoid_factor(float scale, int32_t shifts, QuantizedMultiplier& q) {
  for (int32_t i = 0; i < shifts; ++i)
    if (is_power_of_two(scale, i - 12)) {
      q = {3 << i, 0};
      return true;
    }
  Real factor = real(scale) * real(4096.0f * 3);
  const Real enough = real(32767.0f / 2);
  int32_t shift = 0;
  for (; !less(enough, factor) && shift <= 30; ++shift) factor = times_power_of_two(factor, 1);
  if (factor.exponent > -32) return false;
  q = {factor.exponent > -64 ? static_cast<int32_t>(factor.mantissa >> -factor.exponent) : 0, shift};
  return q.multiplier <= INT16_MAX;
}

// int8: Q4 from the input's scale, and the radius outside which Q4 would overflow. False if the scale is too large.
inline bool sigmoid_int8_params(SigmoidParams& p, const TensorInfo& in) {
  p.zero_point = in.zero_point();
  Real m = times_power_of_two(real(in.scale()), 27);
  p.multiplier = {static_cast<int32_t>((m.mantissa + (uint64_t{1} << 21)) >> 22), m.exponent + 53};
  if (p.multiplier.shift < -31 || p.multiplier.shift > 31) return false;
  // floor(15 * 2^27 / 2^shift); a negative shift means a radius beyond every input.
  p.radius = p.multiplier.shift >= 0 ? static_cast<int32_t>((15u << 27) >> p.multiplier.shift) : INT32_MAX;
  return p.multiplier.multiplier >= 0;
}

template <class F>
struct SigmoidFloatOperator {
  static constexpr uint16_t builtin_code = F::builtin_code;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {Type::float32, Type::none, Type::float32};
  static Status infer(const Node& node) {
    if (!node.input(0).present() || !node.output(0).present() || !same_dims(node.input(0), node.output(0)))
      return LINNET_ERROR(malformed, "the activation's input and output differ in shape");
    return {};
  }
  static Status lower(const Node& node, Emitter& emitter) {
    return emitter.run<typename F::Float>(fold(node.input(0).dims), {emitter.in(0), emitter.out(0)});
  }
};

template <class F, class T>
struct SigmoidOperator {
  static constexpr Type type = sizeof(T) == 1 ? Type::int8 : Type::int16;
  static constexpr uint16_t builtin_code = F::builtin_code;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {type, Type::none, type};

  static bool params(const TensorInfo& in, SigmoidParams& p) {
    static_cast<Extents4&>(p) = fold(in.dims);
    if (sizeof(T) == 1) return sigmoid_int8_params(p, in);
    p.zero_point = p.radius = 0;
    return sigmoid_factor(in.scale(), F::int16_shifts, p.multiplier);
  }
  static Status infer(const Node& node) {
    LINNET_TRY(SigmoidFloatOperator<F>::infer(node));
    TensorInfo in = node.input(0), out = node.output(0);
    if (!is_quantized(in) || !is_quantized(out) || !is_zero_point<T>(in.zero_point()))
      return LINNET_ERROR(unsupported, "the activation needs one scale and a zero point within the type for its input and output");
    SigmoidParams p;
    if (!params(in, p)) return LINNET_ERROR(unsupported, "the scale of the activation's input is out of range");
    if (sizeof(T) == 2 && (in.zero_point() != 0 || out.zero_point() != 0 || !is_power_of_two(out.scale(), -15)))
      return LINNET_ERROR(unsupported, "the activation of int16 needs zero points of 0 and an output scale of 2^-15");
    if (sizeof(T) == 1 && (out.zero_point() != F::output_zero_point || !is_power_of_two(out.scale(), -F::output_bits)))
      return LINNET_ERROR(unsupported, "the activation of int8 needs the output's usual scale and zero point: 2^-8 and -128 for LOGISTIC, 2^-7 and 0 for TANH");
    return {};
  }
  static Status lower(const Node& node, Emitter& emitter) {
    SigmoidParams p;
    params(node.input(0), p);
    using C = typename F::template Int<T>;
    return emitter.run<C>(p, {emitter.in(0), emitter.out(0)});
  }
};

}  // namespace linnet::ops
