// DEQUANTIZE: int8, uint8, int16 to float32 (TFLite: reference Dequantize, which multiplies in double and rounds to single;
// the difference to the zero point has at most 17 bits, so one single-precision product gives the same).
#pragma once
#include "linnet/ops/elementwise.h"

namespace linnet::ops::dequantize {

struct Params : Extents4 {
  float scale;
  int32_t zero_point;
};

template <class From>
struct ToFloat : Unary<From, float, Params> {
  using Computation = ToFloat;
  static constexpr const char* name = sizeof(From) == 2 ? "dequantize.int16" : limits<From>::lowest < 0 ? "dequantize.int8" : "dequantize.uint8";
  static constexpr uint32_t params_version = 1;

  static float apply(From x, const Params& p) { return p.scale * static_cast<float>(x - p.zero_point); }
  static bool check(const Params& p, Extent* extents, int operands) {
    return Unary<From, float, Params>::check(p, extents, operands) && is_zero_point<From>(p.zero_point);
  }
  static void run(const Call& call, const Params& p) { map_elements<From, float, Params, ToFloat>(call, p); }
};

inline Status infer_dequantize(const TensorInfo& in, const TensorInfo& out) {
  if (!in.present() || !out.present() || !same_dims(in, out))
    return LINNET_ERROR(malformed, "DEQUANTIZE's input and output differ in shape");
  if (!is_quantized(in))
    return LINNET_ERROR(unsupported, "DEQUANTIZE needs one scale for its input; scales per channel are not supported");
  return {};
}

template <class From>
struct Operator {
  static constexpr uint16_t builtin_code = 6;
  static constexpr int32_t max_version = 3;
  static constexpr Type from = sizeof(From) == 2 ? Type::int16 : limits<From>::lowest < 0 ? Type::int8 : Type::uint8;
  static constexpr TypeSignature types = {from, Type::none, Type::float32};
  static Status infer(const Node& node) { return infer_dequantize(node.input(0), node.output(0)); }
  static Status lower(const Node& node, Emitter& emitter) {
    TensorInfo in = node.input(0);
    Params p{fold(in.dims), in.scale(), in.zero_point()};
    return emitter.run<ToFloat<From>>(p, {emitter.in(0), emitter.out(0)});
  }
};

using Operators = List<Operator<int8_t>, Operator<uint8_t>, Operator<int16_t>>;
using Kernels = List<ToFloat<int8_t>, ToFloat<uint8_t>, ToFloat<int16_t>>;

}  // namespace linnet::ops::dequantize
