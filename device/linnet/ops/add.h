// ADD and SUB with broadcasting, on float32, int8, int16 and int32 (TFLite: reference Add, SubWithActivation and
// AddElementwise with general scales, in double for both).
//
// SUB is ADD with the second term's sign turned, so a firmware has one kernel for both.
#pragma once
#include "linnet/ops/activation.h"
#include "linnet/ops/elementwise.h"

namespace linnet::ops::add {

struct FloatParams : BroadcastShape {
  float sign;  // of the second input
  FloatBounds bounds;
};

struct Float : Pair<float, FloatParams> {
  using Computation = Float;
  static constexpr const char* name = "add.float32";
  static constexpr uint32_t params_version = 1;
  static float apply(float a, float b, const FloatParams& p) { return p.bounds.clamp(a + p.sign * b); }
  static void run(const Call& call, const FloatParams& p) { map<Float>(call, p); }
};

struct Int32Params : BroadcastShape {
  int32_t sign;
  WholeBounds bounds;
};

struct Int32 : Pair<int32_t, Int32Params> {
  using Computation = Int32;
  static constexpr const char* name = "add.int32";
  static constexpr uint32_t params_version = 2;
  static int32_t apply(int32_t a, int32_t b, const Int32Params& p) { return p.bounds.clamp(wrapping_add(a, wrapping_mul(p.sign, b))); }
  static void run(const Call& call, const Int32Params& p) { map<Int32>(call, p); }
};

struct IntParams : BroadcastShape {
  int32_t zero_point[2];
  QuantizedMultiplier multiplier[2];
  QuantizedMultiplier output_multiplier;
  int32_t sign;
  int32_t output_zero_point;
  IntBounds bounds;
};

template <class T>
struct Int : Pair<T, IntParams> {
  using Computation = Int;
  static constexpr const char* name = sizeof(T) == 1 ? "add.int8" : "add.int16";
  static constexpr uint32_t params_version = 1;
  static constexpr int left_shift = sizeof(T) == 1 ? 20 : 15;  // bits that the terms gain before they are scaled

  static int32_t scaled(T x, int32_t zero_point, const QuantizedMultiplier& q) {
    return multiply_by_quantized_multiplier(wrapping_shift_left(wrapping_sub(x, zero_point), left_shift), q.multiplier, q.shift);
  }
  static T apply(T a, T b, const IntParams& p) {
    int32_t sum = wrapping_add(scaled(a, p.zero_point[0], p.multiplier[0]),
                               wrapping_mul(p.sign, scaled(b, p.zero_point[1], p.multiplier[1])));
    int32_t y = multiply_by_quantized_multiplier(sum, p.output_multiplier.multiplier, p.output_multiplier.shift);
    return static_cast<T>(clamp(wrapping_add(y, p.output_zero_point), p.bounds.low, p.bounds.high));
  }
  static bool check(const IntParams& p, Extent* extents, int operands) {
    return Pair<T, IntParams>::check(p, extents, operands) && is_valid(p.multiplier[0]) && is_valid(p.multiplier[1]) &&
           is_valid(p.output_multiplier);
  }
  static void run(const Call& call, const IntParams& p) { Pair<T, IntParams>::template map<Int>(call, p); }
};

// ADD (sign 1) or SUB (-1).
template <int32_t sign>
struct Common {
  static constexpr uint16_t builtin_code = sign > 0 ? 0 : 41;
  static constexpr int32_t max_version = 5;
  static Status infer(const Node& node) { return infer_pair(node, node.options().template get<int8_t>(0, 0)); }
};

template <int32_t sign>
struct FloatOperator : Common<sign> {
  static constexpr TypeSignature types = {Type::float32, Type::float32, Type::float32};
  static Status lower(const Node& node, Emitter& emitter) {
    FloatParams p;
    fold_broadcast(node.input(0), node.input(1), node.output(0), p);
    p.sign = static_cast<float>(sign);
    p.bounds = float_bounds(node.options().get<int8_t>(0, 0));
    return emitter.run<Float>(p, {emitter.in(0), emitter.in(1), emitter.out(0)});
  }
};

template <int32_t sign>
struct Int32Operator : Common<sign> {
  static constexpr TypeSignature types = {Type::int32, Type::int32, Type::int32};
  static Status lower(const Node& node, Emitter& emitter) {
    Int32Params p;
    fold_broadcast(node.input(0), node.input(1), node.output(0), p);
    p.sign = sign;
    p.bounds = whole_bounds(node.options().get<int8_t>(0, 0));
    return emitter.run<Int32>(p, {emitter.in(0), emitter.in(1), emitter.out(0)});
  }
};

inline void set_multipliers(IntParams& p, float a, float b, float out, int left_shift) {
  float largest = a > b ? a : b;
  p.multiplier[0] = quantize_multiplier(times_power_of_two(divide(a, largest), -1));
  p.multiplier[1] = quantize_multiplier(times_power_of_two(divide(b, largest), -1));
  p.output_multiplier = quantize_multiplier(times_power_of_two(divide(largest, out), 1 - left_shift));
}

template <int32_t sign, class T>
struct IntOperator : Common<sign> {
  static constexpr Type type = sizeof(T) == 1 ? Type::int8 : Type::int16;
  static constexpr TypeSignature types = {type, type, type};
  static Status infer(const Node& node) {
    LINNET_TRY(Common<sign>::infer(node));
    LINNET_TRY(infer_quantized_pair(node, limits<T>::lowest, limits<T>::highest));
    IntParams p;
    set_multipliers(p, node.input(0).scale(), node.input(1).scale(), node.output(0).scale(), Int<T>::left_shift);
    if (!is_valid(p.output_multiplier))
      return LINNET_ERROR(unsupported, "the output's scale is too small for those of the inputs");
    return {};
  }
  static Status lower(const Node& node, Emitter& emitter) {
    TensorInfo a = node.input(0), b = node.input(1), out = node.output(0);
    IntParams p;
    fold_broadcast(a, b, out, p);
    p.zero_point[0] = a.zero_point();
    p.zero_point[1] = b.zero_point();
    p.sign = sign;
    set_multipliers(p, a.scale(), b.scale(), out.scale(), Int<T>::left_shift);
    p.output_zero_point = out.zero_point();
    p.bounds = int_bounds<T>(node.options().get<int8_t>(0, 0), out);
    return emitter.run<Int<T>>(p, {emitter.in(0), emitter.in(1), emitter.out(0)});
  }
};

using Operators = List<FloatOperator<1>, FloatOperator<-1>, Int32Operator<1>, Int32Operator<-1>, IntOperator<1, int8_t>,
                       IntOperator<-1, int8_t>, IntOperator<1, int16_t>, IntOperator<-1, int16_t>>;
using Kernels = List<Float, Int32, Int<int8_t>, Int<int16_t>>;

}  // namespace linnet::ops::add
