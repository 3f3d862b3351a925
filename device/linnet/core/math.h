// Float exp, tanh and logistic without a maths library: polynomials in single precision, relative error at most 1e-6.
//
// The same operations in the same order everywhere (no contraction), so host and device give the same bits.
#pragma once
#include <stdint.h>

namespace linnet {

// 2^n for -126 <= n <= 127.
inline float power_of_two(int32_t n) {
  uint32_t bits = static_cast<uint32_t>(n + 127) << 23;
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// e^x. Infinite above the range of floats, 0 below that of denormals; NaN stays NaN.
__attribute__((noinline)) inline float exp_float(float x) {
  if (!(x < 89.0f)) return x * power_of_two(127) * power_of_two(127);  // infinity or NaN
  if (x < -104.0f) return 0.0f;
  // x = k ln 2 + r with |r| <= ln(2) / 2; ln 2 in two parts, the first so short that k times it is exact.
  int32_t k = static_cast<int32_t>(x * 1.44269504f + (x < 0 ? -0.5f : 0.5f));
  auto kf = static_cast<float>(k);
  float r = (x - kf * 0.693359375f) + kf * 2.12194440e-4f;
  // Taylor to the sixth power: the seventh would add 1.2e-7.
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  int32_t half = k / 2;  // in two steps: 2^k alone may be no normal float
  return p * power_of_two(half) * power_of_two(k - half);
}

inline float logistic_float(float x) { return 1.0f / (1.0f + exp_float(-x)); }

__attribute__((noinline)) inline float tanh_float(float x) {
  float magnitude = x < 0 ? -x : x;
  if (magnitude < 1.0f) {  // a convergent of Lambert's continued fraction, exact to 8e-8 up to 1
    float s = x * x;
    return x * (945.0f + s * (105.0f + s)) / (945.0f + s * (420.0f + s * 15.0f));
  }
  float t = 1.0f - 2.0f / (1.0f + exp_float(magnitude + magnitude));
  return x < 0 ? -t : t;
}

}  // namespace linnet
