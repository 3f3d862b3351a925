// Real: positive numbers with the rounding of IEEE doubles, in integer arithmetic.
//
// Quantisation parameters are derived from float scales; TFLite computes them in double. To get its bits on cores without
// a double unit (and without the library for it), lower() uses these few operations: each rounds to 53 bits, to nearest
// even, as the double operation would. Denormals and infinities do not occur; who divides by a scale has refused 0.
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

// quantize_multiplier(divide(real(a) * real(b), c)) for one pair of a and c and many b, the channels of a convolution, of
// which start-up has thousands: a / c is divided once, to 56 bits behind the point, and what is known of the product with
// b then decides, but for two cases in 65,536 that go the long way.
class QuotientMultiplier {
 public:
  QuotientMultiplier(float a, float c) : a_(a), c_(c) {
    uint32_t bits_a = detail::float_bits(a), bits_c = detail::float_bits(c);
    uint32_t divisor = mantissa(bits_c), remainder = mantissa(bits_a);
    exponent_ = static_cast<int32_t>(bits_a >> 23) - static_cast<int32_t>(bits_c >> 23);
    normal_ = bits_a >> 23 != 0 && bits_c >> 23 != 0;
    for (int digit = 0; digit < 8; ++digit) {  // of 8 bits, the first is 0 or 1
      high_ = high_ << 8 | low_ >> 24;
      low_ = low_ << 8 | remainder / divisor;
      remainder = remainder % divisor << 8;
    }
  }

  __attribute__((always_inline)) QuantizedMultiplier operator()(float b) const {
    uint32_t bits = detail::float_bits(b), m = mantissa(bits);
    // 47 to 49 bits, of which 31 are kept; the exact value is less than 2 above.
    uint64_t product = static_cast<uint64_t>(high_) * m + (static_cast<uint64_t>(low_) * m >> 32);
    uint32_t top = static_cast<uint32_t>(product >> 24);
    int drop = 24 + 1 - __builtin_clz(top);
    uint32_t rest = static_cast<uint32_t>(product) & ((1u << drop) - 1), half = 1u << (drop - 1);
    if (!normal_ || bits >> 23 == 0 || half - rest - 1 < 2) return quantize_multiplier(divide(real(a_) * real(b), c_));
    uint32_t q = static_cast<uint32_t>(product >> drop) + (rest >= half ? 1 : 0);
    int32_t shift = exponent_ + static_cast<int32_t>(bits >> 23) - 143 + drop;
    if (q == 0x80000000u) {
      q = 0x40000000u;
      ++shift;
    }
    if (shift < -31) return {0, 0};
    return {static_cast<int32_t>(q), shift};
  }

 private:
  static uint32_t mantissa(uint32_t bits) { return (bits & 0x7fffff) | 0x800000; }

  float a_, c_;
  uint32_t high_ = 0, low_ = 0;  // a's mantissa / c's, 2^56 times
  int32_t exponent_;
  bool normal_;
};

}  // namespace linnet
