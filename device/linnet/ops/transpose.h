// TRANSPOSE with a constant permutation. Up to four dimensions keep their places among the four axes; more are merged where
// they stay together. Emits no step if only dimensions of size 1 move.
#pragma once
#include "linnet/ops/copy_box.h"

namespace linnet::ops::transpose {

constexpr int max_rank = 8;

template <class T>
struct Copy : CopyBox<T> {
  using Computation = Copy;
  static constexpr const char* name = sizeof(T) == 1 ? "transpose.1" : sizeof(T) == 2 ? "transpose.2" : sizeof(T) == 4 ? "transpose.4" : "transpose.8";
  static constexpr uint32_t params_version = 1;
};

// The dimensions of the output that are not 1, as dimensions of the input without those that are 1, and with neighbours
// that stay neighbours made one. The count, or -1 if there are more than four.
struct Merged {
  int32_t size[4];
  int32_t from[4];  // the first dimension of the input that it is made of
  int count = 0;
};

inline bool merge(Span<const int32_t> in, const int32_t* permutation, Merged& merged) {
  int32_t place[max_rank], next = 0, follower = -1;
  for (size_t i = 0; i < in.size(); ++i) place[i] = in[i] == 1 ? next : next++;
  for (size_t i = 0; i < in.size(); ++i) {
    size_t source = static_cast<size_t>(permutation[i]);
    if (in[source] == 1) continue;
    if (place[source] != follower) {
      if (merged.count == 4) return false;
      merged.size[merged.count] = 1;
      merged.from[merged.count++] = place[source];
    }
    merged.size[merged.count - 1] *= in[source];
    follower = place[source] + 1;
  }
  return true;
}

inline Status infer_transpose(const Node& node) {
  TensorInfo in = node.input(0), permutation = node.input(1), out = node.output(0);
  if (!in.present() || in.type != out.type || in.rank() != out.rank())
    return LINNET_ERROR(malformed, "TRANSPOSE's input and output differ in type or rank");
  if (!has_movable_elements(in) || in.rank() > max_rank || in.elements() <= 0)
    return LINNET_ERROR(unsupported, "TRANSPOSE takes elements of 1, 2, 4 or 8 bytes and tensors of up to 8 dimensions that are not empty");
  if (!permutation.data || permutation.type != Type::int32 || permutation.elements() != in.rank())
    return LINNET_ERROR(unsupported, "TRANSPOSE needs a constant int32 permutation of its dimensions");
  const int32_t* order = reinterpret_cast<const int32_t*>(permutation.data);
  uint32_t seen = 0;
  for (int i = 0; i < in.rank(); ++i) {
    int32_t d = order[i];
    if (d < 0 || d >= in.rank() || (seen >> d & 1) != 0 || in.dims[static_cast<size_t>(d)] != out.dims[static_cast<size_t>(i)])
      return LINNET_ERROR(malformed, "TRANSPOSE's permutation is none, or does not lead from its input to its output");
    seen |= 1u << d;
  }
  Merged merged;
  if (in.rank() > 4 && !merge(in.dims, order, merged))
    return LINNET_ERROR(unsupported, "TRANSPOSE moves more than four dimensions apart: split it into two");
  return {};
}

// False: nothing moves.
inline bool lower_transpose(const Node& node, CopyParams& p) {
  TensorInfo in = node.input(0);
  const int32_t* order = reinterpret_cast<const int32_t*>(node.input(1).data);
  Merged merged;
  bool fits = merge(in.dims, order, merged);
  if (fits && merged.count <= 1) return false;
  p = copy_all(fold(in.dims), fold(node.output(0).dims));
  if (int rank = in.rank(); rank <= 4) {
    for (int i = 0; i < rank; ++i) p.axis[4 - rank + i] = static_cast<uint8_t>(4 - rank + order[i]);
    return true;
  }
  for (int i = 0; i < 4; ++i) {
    int before = 4 - merged.count;  // axes of size 1
    if (i < before) {
      p.input.d[i] = p.output.d[i] = p.hi[i] = 1;
      continue;
    }
    int place = before;
    for (int j = 0; j < merged.count; ++j) place += merged.from[j] < merged.from[i - before];
    p.output.d[i] = p.hi[i] = p.input.d[place] = merged.size[i - before];
    p.axis[i] = static_cast<uint8_t>(place);
  }
  return true;
}

struct Transpose {
  static constexpr uint16_t builtin_code = 39;
  static constexpr int32_t max_version = 4;
  static constexpr TypeSignature types = {Type::none, Type::int32, Type::none};
  static Status infer(const Node& node) { return infer_transpose(node); }
  static Status lower(const Node& node, Emitter& emitter) {
    CopyParams p;
    if (!lower_transpose(node, p)) return emitter.alias(0, 0);
    return run_by_size<Copy>(emitter, node.input(0).type, p, {emitter.in(0), emitter.out(0)});
  }
};

using Operators = List<Transpose>;
using Kernels = List<Copy<uint8_t>, Copy<uint16_t>, Copy<uint32_t>, Copy<uint64_t>>;

}  // namespace linnet::ops::transpose
