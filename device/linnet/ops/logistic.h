// LOGISTIC: 1 / (1 + e^-x), on float32, int8 and int16. Everything but the function itself: ops/sigmoid.h.
#pragma once
#include "linnet/ops/sigmoid.h"

namespace linnet::ops::logistic {

struct Float;
template <class T>
struct Int;

struct Function {
  static constexpr uint16_t builtin_code = 14;
  static constexpr int32_t output_bits = 8, output_zero_point = -128, int16_shifts = 1;
  using Float = logistic::Float;
  template <class T>
  using Int = logistic::Int<T>;
  static float real(float x) { return logistic_float(x); }
  static int32_t q4(int32_t x) { return logistic_q4(x); }
  static int16_t table(int32_t x) { return logistic_int16(x); }
};

struct Float : SigmoidFloat<Function> {
  using Computation = Float;
  static constexpr const char* name = "logistic.float32";
  static constexpr uint32_t params_version = 1;
};
template <>
struct Int<int8_t> : SigmoidInt8<Function> {
  using Computation = Int;
  static constexpr const char* name = "logistic.int8";
  static constexpr uint32_t params_version = 1;
};
template <>
struct Int<int16_t> : SigmoidInt16<Function> {
  using Computation = Int;
  static constexpr const char* name = "logistic.int16";
  static constexpr uint32_t params_version = 1;
};

using Operators = List<SigmoidFloatOperator<Function>, SigmoidOperator<Function, int8_t>, SigmoidOperator<Function, int16_t>>;
using Kernels = List<Float, Int<int8_t>, Int<int16_t>>;

}  // namespace linnet::ops::logistic
