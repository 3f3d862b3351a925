// Real: positive numbers with the rounding of IEEE doubles, in integer arithmetic.
//
// Quantisation parameters are derived from float scales; TFLite computes them in double. To get its bits on cores without
// a double unit (and without the library for it), lower() uses these few operations: each rounds to 53 bits, to nearest
// even, as the double operation would. Denormals and infinities do not occur: scales are finite, positive and normal.
#pragma once
#include <stdint.h>

#include "linnet/core/fixed_point.h"

namespace linnet {

// mantissa * 2^exponent; the mantissa has exactly 53 bits, or is 0.
struct Real {
  uint64_t mantissa = 0;
  int32_t exponent = 0;
};

namespace detail {

// Normalises to `bits` bits, rounding to nearest even; `sticky` says that the true value is a little more than `m`.
inline Real round_real(uint64_t m, int32_t exponent, int bits, bool sticky) {
  if (m == 0) return {};
  int width = 64 - __builtin_clzll(m);
  int drop = width - bits;
  if (drop <= 0) return {m << (53 - width), exponent - (53 - width)};  // exact (a sticky remainder implies drop > 0)
  uint64_t rest = m & ((uint64_t{1} << drop) - 1), half = uint64_t{1} << (drop - 1);
  m >>= drop;
  if (rest > half || (rest == half && (sticky || (m & 1) != 0))) ++m;
  exponent += drop;
  int up = 53 - (64 - __builtin_clzll(m));  // the increment may have carried to a new bit
  return up >= 0 ? Real{m << up, exponent - up} : Real{m >> 1, exponent + 1};
}

inline uint32_t float_bits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

}  // namespace detail

// |x| exactly; x is normal or 0.
inline Real real(float x) {
  uint32_t bits = detail::float_bits(x);
  uint32_t field = bits >> 23 & 0xff;
  if (field == 0) return {};
  uint64_t mantissa = (bits & 0x7fffff) | 0x800000;
  return {mantissa << 29, static_cast<int32_t>(field) - 150 - 29};
}

inline Real operator*(Real a, Real b) {
  if (a.mantissa == 0 || b.mantissa == 0) return {};
  // 53 x 53 bits in 32-bit limbs; what falls below bit 42 of the 106-bit product only matters as a sticky bit.
  uint64_t al = a.mantissa & 0xffffffff, ah = a.mantissa >> 32, bl = b.mantissa & 0xffffffff, bh = b.mantissa >> 32;
  uint64_t low = al * bl;
  uint64_t middle = al * bh + (low >> 32);
  uint64_t middle2 = ah * bl + (middle & 0xffffffff);
  uint64_t high = ah * bh + (middle >> 32) + (middle2 >> 32);
  uint64_t below = (middle2 << 32) | (low & 0xffffffff);
  return detail::round_real(high << 20 | below >> 44, a.exponent + b.exponent + 44, 53, (below & ((uint64_t{1} << 44) - 1)) != 0);
}

// a / b in one rounding; b is a normal float and not 0. Eight bits of quotient at a time, for cores that divide 32 bits.
inline Real divide(Real a, float b) {
  if (a.mantissa == 0) return {};
  uint32_t bits = detail::float_bits(b);
  uint32_t divisor = (bits & 0x7fffff) | 0x800000;  // 24 bits
  int32_t exponent = static_cast<int32_t>(bits >> 23 & 0xff) - 150;
  uint64_t quotient = 0;
  uint32_t remainder = 0;
  for (int shift = 48; shift >= -8; shift -= 8) {  // 7 bytes of the mantissa, then one of zeros: at least 53 + 1 bits
    uint32_t next = shift >= 0 ? static_cast<uint32_t>(a.mantissa >> shift) & 0xff : 0;
    remainder = remainder << 8 | next;
    quotient = quotient << 8 | remainder / divisor;
    remainder %= divisor;
  }
  for (int i = 0; i < 3; ++i) {  // 29 bits lost to the divisor's width; three more bytes keep 53 and a rounding bit
    remainder <<= 8;
    quotient = quotient << 8 | remainder / divisor;
    remainder %= divisor;
  }
  return detail::round_real(quotient, a.exponent - exponent - 32, 53, remainder != 0);
}
inline Real divide(float a, float b) { return divide(real(a), b); }

// a * 2^n, exactly.
inline Real times_power_of_two(Real a, int32_t n) { return {a.mantissa, a.exponent + n}; }

// Rounded to single precision, as a cast to float does; still a Real.
inline Real to_single(Real a) { return detail::round_real(a.mantissa, a.exponent, 24, false); }
// The same as a float (normal range only).
inline float to_float(Real a) {
  if (a.mantissa == 0) return 0.0f;
  Real r = to_single(a);
  uint32_t bits = static_cast<uint32_t>(r.exponent + 52 + 127) << 23 | (static_cast<uint32_t>(r.mantissa >> 29) & 0x7fffff);
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

inline bool less(Real a, Real b) {
  if (a.mantissa == 0 || b.mantissa == 0) return a.mantissa < b.mantissa;
  return a.exponent != b.exponent ? a.exponent < b.exponent : a.mantissa < b.mantissa;
}

// Nearest integer, halves away from zero; saturates at INT32_MAX.
inline int32_t round_to_int(Real a) {
  if (a.mantissa == 0 || a.exponent < -53) return 0;
  if (a.exponent > -22) return INT32_MAX;
  int drop = -a.exponent;
  uint64_t n = (a.mantissa + (uint64_t{1} << (drop - 1))) >> drop;
  return n > INT32_MAX ? INT32_MAX : static_cast<int32_t>(n);
}

// The multiplier of 31 bits that stands for the real one; tiny ones become 0 (TFLite: QuantizeMultiplier).
inline QuantizedMultiplier quantize_multiplier(Real a) {
  if (a.mantissa == 0) return {0, 0};
  uint32_t q = static_cast<uint32_t>((a.mantissa + (uint64_t{1} << 21)) >> 22);  // 53 -> 31 bits, halves up
  int32_t shift = a.exponent + 53;
  if (q == 0x80000000u) {
    q = 0x40000000u;
    ++shift;
  }
  if (shift < -31) return {0, 0};
  return {static_cast<int32_t>(q), shift};
}

// quantize_multiplier(divide(real(a) * real(b), c)), the multiplier of a convolution's channel, in a third of the
// instructions: start-up computes thousands. 39 bits of the quotient decide, but for one in 128 that needs all 53.
inline QuantizedMultiplier quantize_quotient(float a, float b, float c) {
  uint32_t bits_a = detail::float_bits(a), bits_b = detail::float_bits(b), bits_c = detail::float_bits(c);
  uint32_t divisor = (bits_c & 0x7fffff) | 0x800000;
  uint64_t product = static_cast<uint64_t>((bits_a & 0x7fffff) | 0x800000) * ((bits_b & 0x7fffff) | 0x800000);
  uint32_t field_a = bits_a >> 23, field_b = bits_b >> 23;
  uint32_t low = static_cast<uint32_t>(product) & 0xffffff, remainder = static_cast<uint32_t>(product >> 24);
  uint32_t high = remainder >= divisor ? 1 : 0, tail = 0;
  if (high) remainder -= divisor;
  for (int shift = 16; shift >= 0; shift -= 8) {  // three bytes of the product
    remainder = remainder << 8 | (low >> shift & 0xff);
    high = high << 8 | remainder / divisor;
    remainder %= divisor;
  }
  for (int i = 0; i < 2; ++i) {  // two bytes behind its end
    remainder <<= 8;
    tail = tail << 8 | remainder / divisor;
    remainder %= divisor;
  }
  // The quotient is high * 2^16 + tail: 38 to 41 bits, of which 31 are kept.
  int drop = 16 + 32 - __builtin_clz(high) - 31;
  uint32_t rest = tail & ((1u << drop) - 1), half = 1u << (drop - 1);
  if (field_a == 0 || field_b == 0 || rest == half - 1) return quantize_multiplier(divide(real(a) * real(b), c));
  uint32_t q = (high << (16 - drop) | tail >> drop) + (rest >= half ? 1 : 0);
  int32_t shift = static_cast<int32_t>(field_a + field_b - (bits_c >> 23)) - 150 + 31 + drop - 16;
  if (q == 0x80000000u) {
    q = 0x40000000u;
    ++shift;
  }
  if (shift < -31) return {0, 0};
  return {static_cast<int32_t>(q), shift};
}

}  // namespace linnet
