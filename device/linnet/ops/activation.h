// Fused activations: the bounds to which an operator clamps its result.
#pragma once
#include "linnet/ops/shapes.h"

namespace linnet::ops {

enum class Activation : int8_t { none = 0, relu = 1, relu_n1_to_1 = 2, relu6 = 3 };  // schema: ActivationFunctionType

// The others (TANH, SIGN_BIT) are not bounds; infer refuses them.
inline bool is_clamp(int8_t activation) { return activation >= 0 && activation <= static_cast<int8_t>(Activation::relu6); }

struct FloatBounds {
  float low, high;
  float clamp(float x) const { return x < low ? low : x > high ? high : x; }
};

inline FloatBounds float_bounds(int8_t activation) {
  FloatBounds bounds = {-3.402823466e38f, 3.402823466e38f};
  if (activation == static_cast<int8_t>(Activation::relu)) bounds.low = 0;
  if (activation == static_cast<int8_t>(Activation::relu_n1_to_1)) bounds = {-1, 1};
  if (activation == static_cast<int8_t>(Activation::relu6)) bounds = {0, 6};
  return bounds;
}

// Of whole numbers that stand for themselves.
struct WholeBounds {
  int32_t low, high;
  int32_t clamp(int32_t x) const { return x < low ? low : x > high ? high : x; }
};

inline WholeBounds whole_bounds(int8_t activation) {
  WholeBounds bounds = {limits<int32_t>::lowest, limits<int32_t>::highest};
  if (activation == static_cast<int8_t>(Activation::relu)) bounds.low = 0;
  if (activation == static_cast<int8_t>(Activation::relu_n1_to_1)) bounds = {-1, 1};
  if (activation == static_cast<int8_t>(Activation::relu6)) bounds = {0, 6};
  return bounds;
}

// Bounds as quantised numbers of the output's type (TFLite: CalculateActivationRangeQuantized).
struct IntBounds {
  int16_t low, high;
};

template <class T>
inline IntBounds int_bounds(int8_t activation, const TensorInfo& output) {
  int32_t low = limits<T>::lowest, high = limits<T>::highest, zero = output.zero_point();
  if (activation != static_cast<int8_t>(Activation::none)) {
    // Beyond 2^17 a bound is outside of every type, wherever the zero point is.
    bool symmetric = activation == static_cast<int8_t>(Activation::relu_n1_to_1);
    int32_t bound = min_of(quantize_bound(symmetric ? 1.0f : 6.0f, output.scale()), 1 << 17);
    if (activation != static_cast<int8_t>(Activation::relu)) high = min_of(high, zero + bound);
    low = max_of(low, symmetric ? zero - bound : zero);
  }
  return {static_cast<int16_t>(low), static_cast<int16_t>(high)};
}

}  // namespace linnet::ops
