// CONCATENATION of any number of tensors: one step per input, which copies it to its place in the output. Quantised inputs
// must have the output's scale; int16 ones are copied whatever their scales are, as TFLite does.
#pragma once
#include "linnet/ops/copy_box.h"

namespace linnet::ops::concatenation {

template <class T>
struct Copy : CopyBox<T> {
  using Computation = Copy;
  static constexpr const char* name = sizeof(T) == 1 ? "concatenation.1" : sizeof(T) == 2 ? "concatenation.2" : sizeof(T) == 4 ? "concatenation.4" : "concatenation.8";
  static constexpr uint32_t params_version = 1;
};

inline int axis_of(const Node& node, int rank) {
  int32_t axis = node.options().get<int32_t>(0, 0);
  return axis < 0 ? axis + rank : axis;
}

// To four axes, so that `axis` keeps one of its own: its number is returned.
inline int fold_around(Span<const int32_t> dims, int axis, Extents4& e) {
  int rank = static_cast<int>(dims.size());
  e = fold(dims);
  if (rank <= 4 || axis > rank - 4) return axis - rank + 4;
  e = {{1, 1, 1, 1}};
  for (int i = 0; i < rank; ++i) e.d[i < axis ? 0 : i == axis ? 1 : 3] *= dims[static_cast<size_t>(i)];
  return 1;
}

inline Status infer_input(const TensorInfo& in, const TensorInfo& out, int axis, int64_t& length) {
  if (in.type != out.type || in.rank() != out.rank())
    return LINNET_ERROR(malformed, "CONCATENATION's inputs and output differ in type or rank");
  for (int d = 0; d < in.rank(); ++d)
    if (d != axis && in.dims[static_cast<size_t>(d)] != out.dims[static_cast<size_t>(d)])
      return LINNET_ERROR(malformed, "CONCATENATION's inputs and output differ in another dimension than the axis");
  length += in.dims[static_cast<size_t>(axis)];
  bool copied_anyhow = in.type == Type::int16 && in.zero_point() == 0 && out.zero_point() == 0;
  if ((in.type == Type::int8 || in.type == Type::uint8 || in.type == Type::int16) && !copied_anyhow && !same_quantization(in, out))
    return LINNET_ERROR(unsupported, "CONCATENATION's quantised inputs must have the scale and zero point of its output");
  return {};
}

struct Concatenation {
  static constexpr uint16_t builtin_code = 2;
  static constexpr int32_t max_version = 3;
  static constexpr TypeSignature types = {Type::none, Type::none, Type::none};

  static Status infer(const Node& node) {
    TensorInfo out = node.output(0);
    int axis = axis_of(node, out.rank());
    if (!out.present() || !has_movable_elements(out))
      return LINNET_ERROR(unsupported, "CONCATENATION takes elements of 1, 2, 4 or 8 bytes");
    if (axis < 0 || axis >= out.rank()) return LINNET_ERROR(malformed, "CONCATENATION's axis is not a dimension of its output");
    if (node.options().get<int8_t>(1, 0) != 0)
      return LINNET_ERROR(unsupported, "CONCATENATION with a fused activation is not supported");
    int64_t length = 0;
    for (int i = 0; i < node.input_count(); ++i) LINNET_TRY(infer_input(node.input(i), out, axis, length));
    if (length != out.dims[static_cast<size_t>(axis)] || out.elements() <= 0)
      return LINNET_ERROR(malformed, "CONCATENATION's inputs do not add up to its output, or it is empty");
    return {};
  }

  static Status lower(const Node& node, Emitter& emitter) {
    TensorInfo out = node.output(0);
    int axis = axis_of(node, out.rank());
    Extents4 from, to;
    int k = fold_around(out.dims, axis, to);
    int32_t at = 0;
    for (int i = 0; i < node.input_count(); ++i) {
      TensorInfo in = node.input(i);
      if (in.elements() == 0) continue;
      fold_around(in.dims, axis, from);
      CopyParams p = copy_all(from, to);
      p.lo[k] = at;
      at = p.hi[k] = at + from.d[k];
      LINNET_TRY(run_by_size<Copy>(emitter, in.type, p, {emitter.in(i), emitter.out(0)}));
    }
    return {};
  }
};

using Operators = List<Concatenation>;
using Kernels = List<Copy<uint8_t>, Copy<uint16_t>, Copy<uint32_t>, Copy<uint64_t>>;

}  // namespace linnet::ops::concatenation
