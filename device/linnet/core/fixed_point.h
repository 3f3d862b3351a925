// Fixed-point arithmetic of quantised kernels, bit for bit that of TFLite's reference kernels (quantization scheme:
// Jacob et al. 2018, section 2.2; rounding: gemmlowp's). Nothing here is undefined for any operand: sums wrap.
#pragma once
#include <stdint.h>

namespace linnet {

// A real multiplier as multiplier / 2^31 * 2^shift; multiplier in [2^30, 2^31), or 0.
struct QuantizedMultiplier {
  int32_t multiplier;
  int32_t shift;  // positive: left
};

constexpr int32_t wrapping_add(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }
constexpr int32_t wrapping_sub(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b)); }
constexpr int32_t wrapping_mul(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b)); }
constexpr int32_t wrapping_shift_left(int32_t a, int bits) { return static_cast<int32_t>(static_cast<uint32_t>(a) << bits); }

constexpr int32_t clamp(int32_t x, int32_t low, int32_t high) { return x < low ? low : x > high ? high : x; }
constexpr int32_t min_of(int32_t a, int32_t b) { return a < b ? a : b; }
constexpr int32_t max_of(int32_t a, int32_t b) { return a > b ? a : b; }

// High 32 bits of 2ab, rounded to nearest, halves away from zero; saturates in the one case that overflows.
constexpr int32_t saturating_rounding_doubling_high_mul(int32_t a, int32_t b) {
  if (a == b && a == INT32_MIN) return INT32_MAX;
  int64_t product = static_cast<int64_t>(a) * b;
  int64_t nudge = product >= 0 ? (int64_t{1} << 30) : 1 - (int64_t{1} << 30);
  return static_cast<int32_t>((product + nudge) / (int64_t{1} << 31));
}

// x / 2^exponent, rounded to nearest, halves away from zero; 0 <= exponent <= 31.
constexpr int32_t rounding_divide_by_power_of_two(int32_t x, int exponent) {
  int32_t mask = static_cast<int32_t>((int64_t{1} << exponent) - 1);
  int32_t remainder = x & mask;
  int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + (remainder > threshold ? 1 : 0);
}

// x times the real multiplier, in TFLite's two roundings. -31 <= shift <= 31.
constexpr int32_t multiply_by_quantized_multiplier(int32_t x, int32_t multiplier, int32_t shift) {
  int left = shift > 0 ? shift : 0;
  int right = shift > 0 ? 0 : -shift;
  return rounding_divide_by_power_of_two(saturating_rounding_doubling_high_mul(wrapping_shift_left(x, left), multiplier), right);
}

// The same for the 48-bit sums of int16 kernels: the multiplier is first reduced to 16 bits. -31 <= shift <= 14.
constexpr int32_t multiply_by_quantized_multiplier(int64_t x, int32_t multiplier, int32_t shift) {
  int32_t reduced = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
  int total = 15 - shift;
  uint64_t product = static_cast<uint64_t>(x) * static_cast<uint64_t>(static_cast<int64_t>(reduced));
  return static_cast<int32_t>(static_cast<int64_t>(product + (uint64_t{1} << (total - 1))) >> total);
}

// What the multiply functions above rely on, for `check`.
constexpr bool is_valid(const QuantizedMultiplier& q) {
  return q.multiplier >= 0 && q.shift >= -31 && q.shift <= 31;
}

}  // namespace linnet
