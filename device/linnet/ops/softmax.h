// SOFTMAX along the last axis: float32, int8 to int8, int8 to int16, int16 to int16 (TFLite: reference Softmax and
// SoftmaxInt16). Every row by itself. Folding: the last axis is c; it cannot be split.
#pragma once
#include "linnet/core/fixed_math.h"
#include "linnet/core/math.h"
#include "linnet/ops/shapes.h"

namespace linnet::ops::softmax {

// One row in the order of the walk. `from` and `to` are its first elements in memory.
template <class From, class To>
struct Row {
  const From* from;
  To* to;
  int32_t count;
  bool up;
  int32_t index(int32_t i) const { return up ? i : count - 1 - i; }
  From largest() const {
    From result = from[0];
    for (int32_t i = 1; i < count; ++i) result = from[i] > result ? from[i] : result;
    return result;
  }
};

// Base of the computations. C: static void row(const Row<From, To>&, const P&), which reads all of a row before it writes
// and then writes element i at the earliest when it has read elements up to i in the order of the walk.
template <class From, class To, class P, class C>
struct Rows {
  static constexpr const char* set = "reference";
  static constexpr Splits splits = split_batch | split_rows | split_columns;
  using Params = P;

  static bool check(const P& p, Extent* extents, int operands) {
    uint32_t elements;
    if (operands != 2 || !p.count(elements)) return false;
    extents[0] = {extent_bytes(elements, sizeof(From)), sizeof(From)};
    extents[1] = {extent_bytes(elements, sizeof(To)), sizeof(To), true};
    return true;
  }
  static void whole(const P& p, Block& block, View* views) {
    block.out = p.box();
    views[0] = views[1] = p.view();
  }
  static Box window(const P&, int, const Block& block) { return block.out; }
  static Cost cost(const P& p) { return {0, static_cast<uint64_t>(p.elements()) * 2}; }
  static Lag lag(const P& p, int input, int output) {
    if (input != 0 || output != 1) return {};
    return elementwise_lag(p.elements(), sizeof(From), sizeof(To));
  }
  static void run(const Call& call, const P& p) {
    TensorView<const From> in = call.in<From>(0);
    TensorView<To> out = call.out<To>(1);
    for_each_row(call.block.out, call.direction, [&](int32_t b, int32_t y, int32_t x) {
      C::row(Row<From, To>{in.at(b, y, x, 0), out.at(b, y, x, 0), p.d[axis_c], call.direction == Direction::up}, p);
    });
  }
};

struct FloatParams : Extents4 {
  float beta;
};

struct Float : Rows<float, float, FloatParams, Float> {
  using Computation = Float;
  static constexpr const char* name = "softmax.float32";
  static constexpr uint32_t params_version = 1;
  static void row(const Row<float, float>& r, const FloatParams& p) {
    float largest = r.largest(), sum = 0;
    for (int32_t i = 0; i < r.count; ++i) {
      int32_t c = r.index(i);
      r.to[c] = exp_float((r.from[c] - largest) * p.beta);
    }
    for (int32_t c = 0; c < r.count; ++c) sum += r.to[c];  // always in this order: rounding depends on it
    for (int32_t c = 0; c < r.count; ++c) r.to[c] /= sum;
  }
};

struct IntParams : Extents4 {
  QuantizedMultiplier multiplier;  // of differences to the largest input
  int32_t diff_min;                // int8: below it the exponential is nothing
};

// Exponentials in Q0, their sum in Q12.
template <class To>
struct Int8 : Rows<int8_t, To, IntParams, Int8<To>> {
  using Computation = Int8;
  static constexpr const char* name = sizeof(To) == 1 ? "softmax.int8" : "softmax.int8.int16";
  static constexpr uint32_t params_version = 1;
  static bool check(const IntParams& p, Extent* extents, int operands) {
    // the largest input must count, so that the sum is not 0
    return Rows<int8_t, To, IntParams, Int8>::check(p, extents, operands) && is_valid(p.multiplier) && p.diff_min <= 0;
  }
  static int32_t exponential(int32_t diff, const IntParams& p) {
    if (diff < p.diff_min) return 0;
    return exp_of_negative(multiply_by_quantized_multiplier(diff, p.multiplier.multiplier, p.multiplier.shift), 5);
  }
  static void row(const Row<int8_t, To>& r, const IntParams& p) {
    int32_t largest = r.largest();
    uint32_t sum = 0;
    for (int32_t c = 0; c < r.count; ++c) {
      sum += static_cast<uint32_t>(rounding_divide_by_power_of_two(exponential(r.from[c] - largest, p), 12));
      if (sum > INT32_MAX) sum = INT32_MAX;  // rows beyond 4096 equal elements, whose results are 0
    }
    int headroom = __builtin_clz(sum | 1);  // sum is at least 2^19
    int32_t scale = reciprocal_of_one_plus(static_cast<int32_t>((sum << headroom) - (uint32_t{1} << 31)));
    int exponent = 12 - headroom + 31 - static_cast<int>(sizeof(To)) * 8;
    for (int32_t i = 0; i < r.count; ++i) {
      int32_t c = r.index(i);
      int32_t e = exponential(r.from[c] - largest, p);
      int32_t y = exponent > 31 ? 0 : rounding_divide_by_power_of_two(saturating_rounding_doubling_high_mul(scale, e), exponent);
      r.to[c] = static_cast<To>(clamp(wrapping_add(y, limits<To>::lowest), limits<To>::lowest, limits<To>::highest));
    }
  }
};

// ---- int16: tables of 513 entries, interpolated between -------------------------------------------------------------------

constexpr float round_half_away(float x) {
  return static_cast<float>(static_cast<int32_t>(x + (x < 0 ? -0.5f : 0.5f)));  // |x| is below 2^17
}
constexpr float exp_value(float x) { return static_cast<float>(linnet::detail::exp_constant(static_cast<double>(x))); }
constexpr float reciprocal_value(float x) { return 1.0f / (1.0f + x); }

// f over [from, from + 512 steps] times 2^15; each entry leans so that the error in the middle of its interval is halved.
// Single precision throughout: TFLite's own tables are made so.
struct Table {
  int16_t value[513];
  constexpr Table(float scale, int32_t zero, float (*f)(float)) : value{} {
    const float first = scale * static_cast<float>(-32768 - zero), last = scale * static_cast<float>(32767 - zero);
    const float step = (last - first) / 512, half = step / 2;
    const float unit = 2.0f / 65535;
    const float gain = 65536.0f / (unit * 32767 - unit * -32768);
    for (int i = 0; i < 512; ++i) {
      float x = first + static_cast<float>(i) * step;
      float here = round_half_away(f(x) * gain), next = f(first + static_cast<float>(i + 1) * step) * gain;
      float lean = round_half_away((round_half_away((next + here) / 2) - round_half_away(f(x + half) * gain)) / 2);
      value[i] = saturate(here - lean);
    }
    value[512] = saturate(round_half_away(f(last) * gain));
  }
  static constexpr int16_t saturate(float x) { return static_cast<int16_t>(x > 32767 ? 32767 : x < -32768 ? -32768 : x); }
  int32_t at(int32_t x) const {  // x in int16
    int32_t i = 256 + (x >> 7), base = value[i];
    return base + (((value[i + 1] - base) * (x & 127) + 64) >> 7);
  }
};
inline constexpr Table exp_table(10.0f / 65535, 32767, exp_value);                 // e^-10 to 1
inline constexpr Table reciprocal_table(1.0f / 65535, -32768, reciprocal_value);  // 1 / (1 + x), x from 0 to 1

struct Int16 : Rows<int16_t, int16_t, IntParams, Int16> {
  using Computation = Int16;
  static constexpr const char* name = "softmax.int16";
  static constexpr uint32_t params_version = 1;
  static bool check(const IntParams& p, Extent* extents, int operands) {
    return Rows::check(p, extents, operands) && is_valid(p.multiplier);
  }
  static void row(const Row<int16_t, int16_t>& r, const IntParams& p) {
    int32_t largest = r.largest();
    uint32_t sum = 0;  // Q16 with 15 fractional bits
    for (int32_t i = 0; i < r.count; ++i) {
      int32_t c = r.index(i);
      int32_t diff = multiply_by_quantized_multiplier(r.from[c] - largest, p.multiplier.multiplier, p.multiplier.shift);
      auto e = static_cast<int16_t>(exp_table.at(clamp(wrapping_add(diff, INT16_MAX), INT16_MIN, INT16_MAX)));
      r.to[c] = e;
      sum += static_cast<uint32_t>(e);
      if (sum > INT32_MAX) sum = INT32_MAX;
    }
    int headroom = __builtin_clz(sum | 1);  // between 1 and 17: the largest element alone gives 2^15 - 1
    auto shifted = static_cast<int32_t>(((uint64_t{sum} << (headroom - 1)) + (1 << 13)) >> 14);
    int32_t reciprocal = reciprocal_table.at(clamp(shifted - (1 << 15) - (1 << 16), INT16_MIN, INT16_MAX));
    int shift = 31 - headroom;
    for (int32_t c = 0; c < r.count; ++c)
      r.to[c] = static_cast<int16_t>(clamp((r.to[c] * reciprocal + ((1 << shift) >> 1)) >> shift, 0, INT16_MAX));
  }
};

// ---- Operators ------------------------------------------------------------------------------------------------------------

inline float beta_of(const Node& node) { return node.options().get<float>(0, 0.0f); }
inline bool is_near(float x, float expected) { return x > expected * 0.999f && x < expected * 1.001f; }

inline Status infer_shapes(const Node& node) {
  TensorInfo in = node.input(0), out = node.output(0);
  if (!in.present() || !out.present() || !same_dims(in, out) || in.rank() < 1)
    return LINNET_ERROR(malformed, "SOFTMAX needs an input of at least one dimension and an output of its shape");
  float beta = beta_of(node);
  if (!(beta - beta == 0)) return LINNET_ERROR(malformed, "SOFTMAX's beta is not a finite number");
  return {};
}

struct FloatOperator {
  static constexpr uint16_t builtin_code = 25;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {Type::float32, Type::none, Type::float32};
  static Status infer(const Node& node) { return infer_shapes(node); }
  static Status lower(const Node& node, Emitter& emitter) {
    FloatParams p{fold(node.input(0).dims), beta_of(node)};
    return emitter.run<Float>(p, {emitter.in(0), emitter.out(0)});
  }
};

// int8: the difference becomes Q5, saturated where even one step would be nothing.
inline IntParams int8_params(const Node& node) {
  TensorInfo in = node.input(0);
  Real factor = times_power_of_two(real(beta_of(node)) * real(in.scale()), 26);
  const Real most = {(uint64_t{1} << 53) - (uint64_t{1} << 22), -22};  // 2^31 - 1
  IntParams p{fold(in.dims), quantize_multiplier(less(most, factor) ? most : factor), 0};
  if (p.multiplier.shift >= 0 && p.multiplier.shift <= 31) p.diff_min = -((31 << 26) >> p.multiplier.shift);
  return p;
}

// int16: the difference in steps of 10 / 65535, the quotient rounded as one of doubles.
inline IntParams int16_params(const Node& node) {
  TensorInfo in = node.input(0);
  Real a = real(beta_of(node)) * real(in.scale());
  constexpr uint64_t ten_by_65535 = 0x14001400140014;  // * 2^-65: 53 bits
  uint64_t rest = a.mantissa, quotient = 0;
  for (int i = 0; i < 55; ++i, rest <<= 1) {
    quotient <<= 1;
    if (rest < ten_by_65535) continue;
    rest -= ten_by_65535;
    quotient |= 1;
  }
  return {fold(in.dims), quantize_multiplier(linnet::detail::round_real(quotient, a.exponent + 65 - 54, 53, rest != 0)), 0};
}

template <class From, class To>
struct IntOperator {
  static constexpr Type from = sizeof(From) == 1 ? Type::int8 : Type::int16, to = sizeof(To) == 1 ? Type::int8 : Type::int16;
  static constexpr uint16_t builtin_code = 25;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {from, Type::none, to};

  static IntParams params(const Node& node) { return sizeof(From) == 1 ? int8_params(node) : int16_params(node); }
  static Status infer(const Node& node) {
    LINNET_TRY(infer_shapes(node));
    TensorInfo in = node.input(0), out = node.output(0);
    if (!is_quantized(in) || !is_quantized(out) || !is_zero_point<From>(in.zero_point()))
      return LINNET_ERROR(unsupported, "SOFTMAX needs one scale and a zero point within the type for its input and output");
    constexpr int32_t zero_point = sizeof(From) == 2 ? 0 : limits<To>::lowest;
    constexpr float scale = sizeof(From) == 2 ? 1.0f / 32768 : sizeof(To) == 1 ? 1.0f / 256 : 1.0f / 65536;
    if (out.zero_point() != zero_point || !is_near(out.scale(), scale))
      return LINNET_ERROR(unsupported, "SOFTMAX's output needs the scale and zero point that cover 0 to 1");
    if (sizeof(From) == 2 && in.zero_point() != 0) return LINNET_ERROR(unsupported, "SOFTMAX of int16 needs a zero point of 0");
    IntParams p = params(node);
    bool in_range = sizeof(From) == 1 ? p.multiplier.shift >= 1 && p.multiplier.shift <= 31 : p.multiplier.shift <= 15;
    if (!(beta_of(node) > 0) || !in_range) return LINNET_ERROR(unsupported, "SOFTMAX's beta times its input's scale is out of range");
    return {};
  }
  static Status lower(const Node& node, Emitter& emitter) {
    IntParams p = params(node);
    if constexpr (sizeof(From) == 1) return emitter.run<Int8<To>>(p, {emitter.in(0), emitter.out(0)});
    else return emitter.run<Int16>(p, {emitter.in(0), emitter.out(0)});
  }
};

using Operators = List<FloatOperator, IntOperator<int8_t, int8_t>, IntOperator<int8_t, int16_t>, IntOperator<int16_t, int16_t>>;
using Kernels = List<Float, Int8<int8_t>, Int8<int16_t>, Int16>;

}  // namespace linnet::ops::softmax
