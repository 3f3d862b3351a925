// MUL with broadcasting, on float32, int8, int16 and int32 (TFLite: reference Mul and MulElementwise). int16 is symmetric:
// its zero points are 0. int32 wraps.
#pragma once
#include "linnet/ops/activation.h"
#include "linnet/ops/elementwise.h"

namespace linnet::ops::mul {

struct FloatParams : BroadcastShape {
  FloatBounds bounds;
};

struct Float : Pair<float, FloatParams> {
  using Computation = Float;
  static constexpr const char* name = "mul.float32";
  static constexpr uint32_t params_version = 1;
  static float apply(float a, float b, const FloatParams& p) { return p.bounds.clamp(a * b); }
  static void run(const Call& call, const FloatParams& p) { map<Float>(call, p); }
};

struct Int32Params : BroadcastShape {
  WholeBounds bounds;
};

struct Int32 : Pair<int32_t, Int32Params> {
  using Computation = Int32;
  static constexpr const char* name = "mul.int32";
  static constexpr uint32_t params_version = 2;
  static int32_t apply(int32_t a, int32_t b, const Int32Params& p) { return p.bounds.clamp(wrapping_mul(a, b)); }
  static void run(const Call& call, const Int32Params& p) { map<Int32>(call, p); }
};

struct IntParams : BroadcastShape {
  int32_t zero_point[2];
  int32_t output_zero_point;
  QuantizedMultiplier multiplier;
  IntBounds bounds;
};

template <class T>
struct Int : Pair<T, IntParams> {
  using Computation = Int;
  static constexpr const char* name = sizeof(T) == 1 ? "mul.int8" : "mul.int16";
  static constexpr uint32_t params_version = 1;
  static T apply(T a, T b, const IntParams& p) {
    int32_t product = wrapping_mul(wrapping_sub(a, p.zero_point[0]), wrapping_sub(b, p.zero_point[1]));
    int32_t y = multiply_by_quantized_multiplier(product, p.multiplier.multiplier, p.multiplier.shift);
    return static_cast<T>(clamp(wrapping_add(y, p.output_zero_point), p.bounds.low, p.bounds.high));
  }
  static bool check(const IntParams& p, Extent* extents, int operands) {
    return Pair<T, IntParams>::check(p, extents, operands) && is_valid(p.multiplier);
  }
  static void run(const Call& call, const IntParams& p) { Pair<T, IntParams>::template map<Int>(call, p); }
};

struct Common {
  static constexpr uint16_t builtin_code = 18;
  static constexpr int32_t max_version = 5;
  static Status infer(const Node& node) { return infer_pair(node, node.options().get<int8_t>(0, 0)); }
};

struct FloatOperator : Common {
  static constexpr TypeSignature types = {Type::float32, Type::float32, Type::float32};
  static Status lower(const Node& node, Emitter& emitter) {
    FloatParams p;
    fold_broadcast(node.input(0), node.input(1), node.output(0), p);
    p.bounds = float_bounds(node.options().get<int8_t>(0, 0));
    return emitter.run<Float>(p, {emitter.in(0), emitter.in(1), emitter.out(0)});
  }
};

struct Int32Operator : Common {
  static constexpr TypeSignature types = {Type::int32, Type::int32, Type::int32};
  static Status lower(const Node& node, Emitter& emitter) {
    Int32Params p;
    fold_broadcast(node.input(0), node.input(1), node.output(0), p);
    p.bounds = whole_bounds(node.options().get<int8_t>(0, 0));
    return emitter.run<Int32>(p, {emitter.in(0), emitter.in(1), emitter.out(0)});
  }
};

inline QuantizedMultiplier multiplier_of(const TensorInfo& a, const TensorInfo& b, const TensorInfo& out) {
  return quantize_multiplier(divide(real(a.scale()) * real(b.scale()), out.scale()));
}

template <class T>
struct IntOperator : Common {
  static constexpr Type type = sizeof(T) == 1 ? Type::int8 : Type::int16;
  static constexpr TypeSignature types = {type, type, type};
  static Status infer(const Node& node) {
    LINNET_TRY(Common::infer(node));
    TensorInfo a = node.input(0), b = node.input(1), out = node.output(0);
    LINNET_TRY(infer_quantized_pair(node, limits<T>::lowest, limits<T>::highest));
    if (sizeof(T) == 2 && (a.zero_point() | b.zero_point() | out.zero_point()) != 0)
      return LINNET_ERROR(unsupported, "MUL of int16 needs zero points of 0");
    if (!is_valid(multiplier_of(a, b, out))) return LINNET_ERROR(unsupported, "MUL's output scale is too small for its inputs'");
    return {};
  }
  static Status lower(const Node& node, Emitter& emitter) {
    TensorInfo a = node.input(0), b = node.input(1), out = node.output(0);
    IntParams p;
    fold_broadcast(a, b, out, p);
    p.zero_point[0] = a.zero_point();
    p.zero_point[1] = b.zero_point();
    p.output_zero_point = out.zero_point();
    p.multiplier = multiplier_of(a, b, out);
    p.bounds = int_bounds<T>(node.options().get<int8_t>(0, 0), out);
    return emitter.run<Int<T>>(p, {emitter.in(0), emitter.in(1), emitter.out(0)});
  }
};

using Operators = List<FloatOperator, Int32Operator, IntOperator<int8_t>, IntOperator<int16_t>>;
using Kernels = List<Float, Int32, Int<int8_t>, Int<int16_t>>;

}  // namespace linnet::ops::mul
