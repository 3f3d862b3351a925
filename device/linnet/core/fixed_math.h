// Exponential, reciprocal, logistic and tanh in fixed point, bit for bit as TFLite's integer kernels compute them
// (gemmlowp's fixed-point functions for int8, an interpolated table for int16).
//
// "Qm" here: an int32 that stands for itself / 2^(31 - m). Products are saturating_rounding_doubling_high_mul.
#pragma once
#include <stdint.h>

#include "linnet/core/fixed_point.h"

namespace linnet {

// x * 2^bits, saturating; 0 < bits < 31.
constexpr int32_t saturating_shift_left(int32_t x, int bits) {
  int32_t threshold = (int32_t{1} << (31 - bits)) - 1;
  return x > threshold ? INT32_MAX : x < -threshold ? INT32_MIN : wrapping_shift_left(x, bits);
}

// e^a for a <= 0 in Q`integer_bits` (0..5); the result in Q0, 1 being INT32_MAX.
__attribute__((noinline)) inline int32_t exp_of_negative(int32_t a, int integer_bits) {
  constexpr auto mul = saturating_rounding_doubling_high_mul;
  if (a == 0) return INT32_MAX;
  int fraction_bits = 31 - integer_bits;
  int32_t quarter = int32_t{1} << (fraction_bits - 2);
  int32_t in_quarter = (a & (quarter - 1)) - quarter;  // [-1/4, 0)
  // Taylor around -1/8, in Q0.
  int32_t x = wrapping_add(integer_bits ? saturating_shift_left(in_quarter, integer_bits) : in_quarter, int32_t{1} << 28);
  int32_t x2 = mul(x, x), x3 = mul(x2, x), x4 = mul(x2, x2);
  constexpr int32_t third = 715827883, exp_of_minus_eighth = 1895147668;
  int32_t tail = wrapping_add(mul(wrapping_add(rounding_divide_by_power_of_two(x4, 2), x3), third), x2);
  tail = rounding_divide_by_power_of_two(tail, 1);
  int32_t result = wrapping_add(exp_of_minus_eighth, mul(exp_of_minus_eighth, wrapping_add(x, tail)));
  // What is left is a sum of powers of two: e^-1/4, e^-1/2, e^-1, .. e^-16.
  static constexpr int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  uint32_t remainder = static_cast<uint32_t>(wrapping_sub(in_quarter, a)) >> (fraction_bits - 2);
  for (int i = 0; i < integer_bits + 2; ++i)
    if (remainder >> i & 1) result = mul(result, factors[i]);
  return result;
}

namespace detail {
// Newton's iteration for 2 / (1 + a): the result in Q2.
inline int32_t twice_reciprocal_of_one_plus(int32_t a) {
  constexpr auto mul = saturating_rounding_doubling_high_mul;
  int64_t sum = int64_t{a} + INT32_MAX;
  auto half_denominator = static_cast<int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
  int32_t x = wrapping_add(1515870810, mul(half_denominator, -1010580540));  // 48/17 - 32/17 d
  for (int i = 0; i < 3; ++i) {
    int32_t error = wrapping_sub(int32_t{1} << 29, mul(half_denominator, x));
    x = wrapping_add(x, saturating_shift_left(mul(x, error), 2));
  }
  return x;
}
}  // namespace detail

// 1 / (1 + a) and (1 - a) / (1 + a) for 0 <= a < 1, all in Q0.
__attribute__((noinline)) inline int32_t reciprocal_of_one_plus(int32_t a) {
  return saturating_shift_left(detail::twice_reciprocal_of_one_plus(a), 1);
}
__attribute__((noinline)) inline int32_t one_minus_over_one_plus(int32_t a) {
  return saturating_shift_left(wrapping_sub(detail::twice_reciprocal_of_one_plus(a), int32_t{1} << 29), 2);
}

// x in Q4, result in Q0.
inline int32_t logistic_q4(int32_t x) {
  if (x == 0) return int32_t{1} << 30;
  int32_t positive = reciprocal_of_one_plus(exp_of_negative(x > 0 ? wrapping_sub(0, x) : x, 4));
  return x > 0 ? positive : wrapping_sub(INT32_MAX, positive);
}
inline int32_t tanh_q4(int32_t x) {
  if (x == 0) return 0;
  int32_t magnitude = one_minus_over_one_plus(exp_of_negative(x > 0 ? wrapping_sub(0, x) : x, 5));  // e^-2|x|: Q5 halves
  return x > 0 ? magnitude : wrapping_sub(0, magnitude);
}

// ---- int16: a table with interpolation ----------------------------------------------------------------------------------

namespace detail {

// Only for constants made by the compiler: no double arithmetic reaches a device.
constexpr double exp_constant(double x) {
  int halvings = 0;
  for (; x > 0.5 || x < -0.5; x /= 2) ++halvings;
  double term = 1, sum = 1;
  for (int i = 1; i < 16; ++i) sum += term = term * x / i;
  for (; halvings > 0; --halvings) sum *= sum;
  return sum;
}

constexpr double sigmoid_constant(double i) { return 65536 / (1 + exp_constant(-i / 24)); }

// Between two entries the curve is concave: each entry is raised by half of what linear interpolation lacks in the middle
// of the interval behind it. The last entry is the end of the scale.
struct SigmoidTable {
  uint16_t value[256];
  constexpr SigmoidTable() : value{} {
    for (int i = 0; i < 255; ++i) {
      double here = sigmoid_constant(i), lack = sigmoid_constant(i + 0.5) - (here + sigmoid_constant(i + 1)) / 2;
      value[i] = static_cast<uint16_t>(here + lack / 2 + 0.5);
    }
    value[255] = 65535;
  }
};
inline constexpr SigmoidTable sigmoid_table;  // logistic(i / 24) * 2^16

}  // namespace detail

// `x` counts in 1 / (3 * 4096); results have 15 fractional bits.
__attribute__((noinline)) inline int16_t logistic_int16(int32_t x) {
  const uint16_t* table = detail::sigmoid_table.value;
  uint32_t magnitude = x < 0 ? 0u - static_cast<uint32_t>(x) : static_cast<uint32_t>(x);
  uint32_t i = magnitude >> 9, part = magnitude & 511;
  uint32_t y = i >= 255 ? 0x7FFFu << 10 : (uint32_t{table[i]} << 9) + part * (uint32_t{table[i + 1]} - table[i]);
  y = x >= 0 ? y + (1u << 9) : (1u << 25) - y + (1u << 9) - 1;
  return static_cast<int16_t>(y >> 10);
}
__attribute__((noinline)) inline int16_t tanh_int16(int32_t x) {
  const uint16_t* table = detail::sigmoid_table.value;
  uint32_t magnitude = x < 0 ? 0u - static_cast<uint32_t>(x) : static_cast<uint32_t>(x);
  uint32_t i = magnitude >> 8, part = magnitude & 255;
  auto y = static_cast<int32_t>(i >= 255 ? 0xFFFFu << 8 : (uint32_t{table[i]} << 8) + part * (uint32_t{table[i + 1]} - table[i]));
  y = x >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1;
  return static_cast<int16_t>(y >> 8);
}

}  // namespace linnet
