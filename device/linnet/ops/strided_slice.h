// STRIDED_SLICE with constant begin, end and strides, all masks, negative strides. The axes are the input's; those of more
// than four dimensions are merged where that is possible. Emits no step if the slice is the whole input.
#pragma once
#include "linnet/ops/copy_box.h"

namespace linnet::ops::strided_slice {

constexpr int max_rank = 8;

template <class T>
struct Copy : CopyBox<T> {
  using Computation = Copy;
  static constexpr const char* name = sizeof(T) == 1 ? "strided_slice.1" : sizeof(T) == 2 ? "strided_slice.2" : sizeof(T) == 4 ? "strided_slice.4" : "strided_slice.8";
  static constexpr uint32_t params_version = 1;
};

// What is taken of one dimension of the input.
struct Cut {
  int32_t size, start, step, count;
  bool whole() const { return count == size && step == 1; }
};

// `into` followed by `inner`, as one dimension; false if no single step describes it.
inline bool merge(Cut& into, const Cut& inner) {
  int32_t start = into.start * inner.size + inner.start;
  if (into.count == 1) into = {into.size * inner.size, start, inner.step, inner.count};
  else if (inner.whole() && into.step == 1) into = {into.size * inner.size, start, 1, into.count * inner.count};
  else if (inner.count == 1) into = {into.size * inner.size, start, into.step * inner.size, into.count};
  else return false;
  return true;
}

struct Masks {
  uint32_t begin, end, ellipsis, new_axis, shrink;
};

// One dimension; false: nothing is left of it, or a single index lies outside.
inline bool cut_dimension(int32_t size, int64_t begin, int64_t end, int64_t stride, bool from_start, bool to_end, bool single, Cut& cut) {
  if (stride == 0) return false;
  int64_t lowest = stride > 0 ? 0 : -1, highest = stride > 0 ? size : size - 1;
  auto bound = [&](int64_t x) {
    if (x < 0) x += size;
    return x < lowest ? lowest : x > highest ? highest : x;
  };
  begin = from_start ? (stride > 0 ? 0 : size - 1) : bound(begin);
  end = to_end ? (stride > 0 ? size : -1) : bound(end);
  if (single) end = begin + (stride > 0 ? 1 : -1);
  int64_t count = stride > 0 ? (end - begin + stride - 1) / stride : (begin - end - stride - 1) / -stride;
  if (begin < 0 || begin >= size || count < 1) return false;
  cut = {size, static_cast<int32_t>(begin), count == 1 ? 1 : static_cast<int32_t>(stride), static_cast<int32_t>(count)};
  return true;
}

// Resolves masks and negative indices, and compares with the output's shape.
inline Status resolve(const Node& node, Cut* cuts) {
  TensorInfo in = node.input(0), out = node.output(0);
  const int32_t *begin = reinterpret_cast<const int32_t*>(node.input(1).data),
                *end = reinterpret_cast<const int32_t*>(node.input(2).data),
                *strides = reinterpret_cast<const int32_t*>(node.input(3).data);
  Table options = node.options();
  Masks masks = {options.get<uint32_t>(0, 0), options.get<uint32_t>(1, 0), options.get<uint32_t>(2, 0),
                 options.get<uint32_t>(3, 0), options.get<uint32_t>(4, 0)};
  int specified = node.input(1).elements(), skipped = in.rank();  // dimensions that an ellipsis stands for
  for (int i = 0; i < specified; ++i) skipped -= ((masks.ellipsis | masks.new_axis) >> i & 1) == 0;
  int d = 0, o = 0;
  auto gives = [&](int32_t size) { return o < out.rank() && out.dims[static_cast<size_t>(o++)] == size; };
  for (int i = 0; i < specified || d < in.rank(); ++i) {
    bool given = i < specified, ellipsis = given && (masks.ellipsis >> i & 1) != 0;
    if (given && !ellipsis && (masks.new_axis >> i & 1) != 0) {
      if (!gives(1)) return LINNET_ERROR(malformed, "STRIDED_SLICE's output has another shape than its slice");
      continue;
    }
    for (int n = ellipsis ? skipped : 1; n > 0; --n) {
      if (d >= in.rank()) return LINNET_ERROR(malformed, "STRIDED_SLICE slices more dimensions than its input has");
      int32_t size = in.dims[static_cast<size_t>(d)];
      bool sliced = given && !ellipsis, single = sliced && (masks.shrink >> i & 1) != 0;
      cuts[d] = {size, 0, 1, size};
      if (sliced && !cut_dimension(size, begin[i], end[i], strides[i], (masks.begin >> i & 1) != 0, (masks.end >> i & 1) != 0, single, cuts[d]))
        return LINNET_ERROR(unsupported, "STRIDED_SLICE takes nothing of a dimension, an index outside of it, or has a stride of 0");
      if (!single && !gives(cuts[d].count))
        return LINNET_ERROR(malformed, "STRIDED_SLICE's output has another shape than its slice");
      ++d;
    }
  }
  if (o != out.rank()) return LINNET_ERROR(malformed, "STRIDED_SLICE's output has another shape than its slice");
  return {};
}

// Down to four dimensions, neighbour by neighbour.
inline int merge_all(Cut* cuts, int count) {
  for (int i = 0; count > 4 && i + 1 < count;) {
    if (!merge(cuts[i], cuts[i + 1])) {
      ++i;
      continue;
    }
    --count;
    for (int j = i + 1; j < count; ++j) cuts[j] = cuts[j + 1];
  }
  return count;
}

inline Status infer_slice(const Node& node) {
  TensorInfo in = node.input(0), out = node.output(0);
  if (!in.present() || in.type != out.type) return LINNET_ERROR(malformed, "STRIDED_SLICE's input and output differ in type");
  if (!has_movable_elements(in) || in.rank() > max_rank || in.elements() <= 0)
    return LINNET_ERROR(unsupported, "STRIDED_SLICE takes elements of 1, 2, 4 or 8 bytes and tensors of up to 8 dimensions that are not empty");
  int32_t specified = node.input(1).elements();
  for (int i = 1; i <= 3; ++i) {
    TensorInfo list = node.input(i);
    if (!list.data || list.type != Type::int32 || list.rank() != 1 || list.elements() != specified || specified > 16)
      return LINNET_ERROR(unsupported, "STRIDED_SLICE needs begin, end and strides as constant int32 vectors of the same length");
  }
  uint32_t ellipsis = node.options().get<uint32_t>(2, 0);
  if ((ellipsis & (ellipsis - 1)) != 0 || node.options().get<bool>(5, false))
    return LINNET_ERROR(unsupported, "STRIDED_SLICE with two ellipses, or an end that counts from begin, is not supported");
  Cut cuts[max_rank];
  LINNET_TRY(resolve(node, cuts));
  if (merge_all(cuts, in.rank()) > 4)
    return LINNET_ERROR(unsupported, "STRIDED_SLICE slices too many dimensions at once: split it into two");
  return {};
}

struct StridedSlice {
  static constexpr uint16_t builtin_code = 45;
  static constexpr int32_t max_version = 4;
  static constexpr TypeSignature types = {Type::none, Type::int32, Type::none};
  static Status infer(const Node& node) { return infer_slice(node); }
  static Status lower(const Node& node, Emitter& emitter) {
    TensorInfo in = node.input(0);
    Cut cuts[max_rank];
    LINNET_TRY(resolve(node, cuts));
    int count = merge_all(cuts, in.rank());
    CopyParams p = copy_all({{1, 1, 1, 1}}, {{1, 1, 1, 1}});
    bool whole = true;
    for (int i = 0; i < count; ++i) {
      int k = 4 - count + i;
      p.input.d[k] = cuts[i].size;
      p.output.d[k] = p.hi[k] = cuts[i].count;
      p.start[k] = cuts[i].start;
      p.step[k] = cuts[i].step;
      whole = whole && cuts[i].whole();
    }
    if (whole) return emitter.alias(0, 0);
    return run_by_size<Copy>(emitter, in.type, p, {emitter.in(0), emitter.out(0)});
  }
};

using Operators = List<StridedSlice>;
using Kernels = List<Copy<uint8_t>, Copy<uint16_t>, Copy<uint32_t>, Copy<uint64_t>>;

}  // namespace linnet::ops::strided_slice
