// What element-wise computations of one or two inputs share: shapes with broadcasting, the walk over rows, in blocks of any
// axes, up or down, and everything else that the op contract asks about them.
//
// The element type, parameters and function are the operator's; see relu.h and mul.h for the shortest uses. The walk is one
// function for all of them and calls the operator's loop for each row of elements that lie evenly in every operand: a whole
// layer without broadcasting is a single row.
#pragma once
#include "linnet/ops/activation.h"
#include "linnet/ops/shapes.h"

namespace linnet::ops {

// ---- Shapes -------------------------------------------------------------------------------------------------------------

// The output's folded shape, and along which axes an input has extent 1 instead: bit 4 * input + axis.
struct BroadcastShape : Extents4 {
  uint32_t broadcast;
  bool repeats(int input, int axis) const { return (broadcast >> (4 * input + axis) & 1) != 0; }
};

namespace folding {

constexpr int max_rank = 8;

// Dimension i of `rank`, aligned to the right; 1 where the shape has no such dimension.
inline int32_t dimension(Span<const int32_t> dims, int i, int rank) {
  int at = i - (rank - static_cast<int>(dims.size()));
  return at < 0 ? 1 : dims[static_cast<size_t>(at)];
}

// Merges neighbouring axes of the same kind until `target` are left or no more merge; returns how many there are. `kind` is
// arbitrary and does not matter where the extent is 1.
inline int merge_kinds(int32_t* extent, uint8_t* kind, int rank, int target) {
  while (rank > target) {
    int i = 0;  // leading axes first, so that rows, columns and channels stay what they are
    while (i + 1 < rank && kind[i] != kind[i + 1] && extent[i] != 1 && extent[i + 1] != 1) ++i;
    if (i + 1 >= rank) break;
    if (extent[i] == 1) kind[i] = kind[i + 1];
    extent[i] *= extent[i + 1];
    --rank;
    for (int j = i + 1; j < rank; ++j) {
      extent[j] = extent[j + 1];
      kind[j] = kind[j + 1];
    }
  }
  return rank;
}

// Puts at most four axes to the right.
inline void align_right(const int32_t* extent, const uint8_t* kind, int rank, Extents4& e, uint8_t (&kinds)[4]) {
  for (int i = 0; i < 4; ++i) {
    int from = i - (4 - rank);
    e.d[i] = from < 0 ? 1 : extent[from];
    kinds[i] = from < 0 || e.d[i] == 1 ? 0 : kind[from];
  }
}

}  // namespace folding

// Folds an output and what is broadcast to it. False: the shapes do not match, or do not fold to four axes.
inline bool fold_broadcast(const TensorInfo& a, const TensorInfo& b, const TensorInfo& out, BroadcastShape& shape) {
  int32_t extent[folding::max_rank];
  uint8_t kind[folding::max_rank], kinds[4];
  int rank = out.rank();
  if (rank > folding::max_rank || max_of(a.rank(), b.rank()) != rank) return false;
  for (int i = 0; i < rank; ++i) {
    int32_t da = folding::dimension(a.dims, i, rank), db = folding::dimension(b.dims, i, rank);
    extent[i] = da == 1 ? db : da;
    if ((db != 1 && db != extent[i]) || folding::dimension(out.dims, i, rank) != extent[i]) return false;
    kind[i] = static_cast<uint8_t>((da != extent[i] ? 1 : 0) | (db != extent[i] ? 2 : 0));
  }
  rank = folding::merge_kinds(extent, kind, rank, 4);
  if (rank > 4) return false;
  folding::align_right(extent, kind, rank, shape, kinds);
  shape.broadcast = 0;
  for (int i = 0; i < 4; ++i) {
    if (kinds[i] & 1) shape.broadcast |= 1u << i;
    if (kinds[i] & 2) shape.broadcast |= 1u << (4 + i);
  }
  return true;
}

// ---- The walk -----------------------------------------------------------------------------------------------------------

// `count` elements of each operand, from the first one in the order of the walk; steps in elements, 0 where one element
// serves all; the output is the last operand.
struct ElementRow {
  uint8_t* at[3];
  int32_t step[3];
  int32_t count;
};
using RowFunction = void (*)(const ElementRow& row, const void* params);

struct ElementWalk {
  RowFunction function;
  uint8_t operands;          // one or two inputs, then the output
  uint8_t element_bytes[3];
};

// Calls the row function for all of the block's output, in the call's direction.
__attribute__((noinline)) inline void walk_rows(const Call& call, const ElementWalk& walk, uint32_t broadcast, const void* params) {
  const View* views = call.block.views;
  Box box = call.block.out;
  int operands = walk.operands;
  ElementRow row;
  row.count = box.hi[3] - box.lo[3];
  for (int o = 0; o < operands; ++o) row.step[o] = (broadcast >> (4 * o + 3) & 1) ? 0 : 1;
  for (int axis = 2; axis >= 0; --axis) {  // rows that follow one another evenly everywhere are one row
    int32_t extent = box.hi[axis] - box.lo[axis];
    if (extent == 1) continue;
    bool even = true;
    for (int o = 0; o < operands; ++o) {
      int32_t stride = (broadcast >> (4 * o + axis) & 1) ? 0 : views[o].stride[axis];
      if (row.count == 1) row.step[o] = stride;
      even = even && stride == row.count * row.step[o] && !(axis == 1 && views[o].rolling_rows > 0);
    }
    if (!even) break;
    row.count *= extent;
    box.hi[axis] = box.lo[axis] + 1;
  }
  bool up = call.direction == Direction::up;
  auto extent = [&](int axis) { return static_cast<uint32_t>(box.hi[axis] - box.lo[axis]); };
  uint32_t rows = is_empty(box) ? 0 : extent(0) * extent(1) * extent(2);
  for (uint32_t i = 0; i < rows; ++i) {
    uint32_t rest = up ? i : rows - 1 - i;
    int32_t index[4] = {0, 0, 0, box.lo[3]};
    for (int axis = 2; axis >= 0; rest /= extent(axis), --axis) index[axis] = box.lo[axis] + static_cast<int32_t>(rest % extent(axis));
    ElementRow r;
    r.count = row.count;
    for (int o = 0; o < operands; ++o) {
      const View& view = views[o];
      int32_t element = up ? 0 : (row.count - 1) * row.step[o];
      for (int axis = 0; axis < 4; ++axis) {
        int32_t at = (broadcast >> (4 * o + axis) & 1) ? 0 : index[axis];
        at = axis == 1 && view.rolling_rows > 0 ? at % view.rolling_rows : at - view.origin[axis];
        element += axis == 3 ? at : at * view.stride[axis];
      }
      r.at[o] = static_cast<uint8_t*>(call.data[o]) + element * walk.element_bytes[o];
      r.step[o] = up ? row.step[o] : -row.step[o];
    }
    walk.function(r, params);
  }
}

// The loops. Compilers make something of steps that are known to be 1; where size counts, one loop has to do.
#ifdef __OPTIMIZE_SIZE__
#define LINNET_DENSE_LOOP(condition, loop)
#define LINNET_HOISTED(P) const P&
#else
#define LINNET_DENSE_LOOP(condition, loop) \
  if (condition) {                         \
    loop return;                           \
  }
#define LINNET_HOISTED(P) const P  // a copy that stores to the output cannot alias
#endif

template <class From, class To, class P, class F>
void map_row(const ElementRow& row, const void* params) {
  LINNET_HOISTED(P) p = *static_cast<const P*>(params);
  auto* from = reinterpret_cast<const From*>(row.at[0]);
  auto* to = reinterpret_cast<To*>(row.at[1]);
  int32_t n = row.count, step_from = row.step[0], step = row.step[1];
  LINNET_DENSE_LOOP(step_from == 1 && step == 1, for (int32_t i = 0; i < n; ++i) to[i] = F::apply(from[i], p);)
  for (; n > 0; --n, from += step_from, to += step) *to = F::apply(*from, p);
}

template <class From, class To, class P, class F>
void map_pair_row(const ElementRow& row, const void* params) {
  LINNET_HOISTED(P) p = *static_cast<const P*>(params);
  auto* a = reinterpret_cast<const From*>(row.at[0]);
  auto* b = reinterpret_cast<const From*>(row.at[1]);
  auto* to = reinterpret_cast<To*>(row.at[2]);
  int32_t n = row.count, step_a = row.step[0], step_b = row.step[1], step = row.step[2];
  LINNET_DENSE_LOOP(step_a == 1 && step_b == 1 && step == 1, for (int32_t i = 0; i < n; ++i) to[i] = F::apply(a[i], b[i], p);)
  for (; n > 0; --n, a += step_a, b += step_b, to += step) *to = F::apply(*a, *b, p);
}

#undef LINNET_DENSE_LOOP
#undef LINNET_HOISTED

// ---- One input ----------------------------------------------------------------------------------------------------------

// Operands: input, output. Params derive from Extents4, the folded shape of both.
// F: static To apply(From, const Params&).
template <class From, class To, class Params, class F>
void map_elements(const Call& call, const Params& p) {
  static constexpr ElementWalk walk = {map_row<From, To, Params, F>, 2, {sizeof(From), sizeof(To), 0}};
  walk_rows(call, walk, 0, &p);
}

// What a computation of one input and one output of equal shape answers. Derive from it and add name, Params, cost, run.
template <class From, class To, class P>
struct Unary {
  static constexpr const char* set = "reference";
  static constexpr Splits splits = split_batch | split_rows | split_columns | split_channels;
  using Params = P;

  static bool check(const P& p, Extent* extents, int operands) {
    uint32_t elements;
    if (operands != 2 || !p.count(elements)) return false;
    extents[0] = {extent_bytes(elements, sizeof(From)), sizeof(From)};
    extents[1] = {extent_bytes(elements, sizeof(To)), sizeof(To), true};
    return true;
  }
  static void whole(const P& p, Block& block, View* views) {
    block.out = p.box();
    views[0] = views[1] = p.view();
  }
  static Box window(const P&, int, const Block& block) { return block.out; }
  static Cost cost(const P& p) { return {0, static_cast<uint64_t>(p.elements())}; }
  // Element by element: while growing, the output catches up with the input's unread elements at the far end.
  static Lag lag(const P& p, int input, int output) {
    if (input != 0 || output != 1) return {};
    return elementwise_lag(p.elements(), sizeof(From), sizeof(To));
  }
};

// ---- Two inputs ---------------------------------------------------------------------------------------------------------

inline Extents4 input_extents(const BroadcastShape& shape, int input) {
  Extents4 e = shape;
  for (int axis = 0; axis < 4; ++axis)
    if (shape.repeats(input, axis)) e.d[axis] = 1;
  return e;
}

inline bool check_pair(const BroadcastShape& shape, Extent* extents, int operands, uint8_t bytes) {
  uint32_t elements;
  if (operands != 3 || shape.broadcast > 255 || !shape.count(elements)) return false;  // the output is no input that repeats
  extents[2] = {extent_bytes(elements, bytes), bytes, true};
  for (int i = 0; i < 2; ++i) {
    if (!input_extents(shape, i).count(elements)) return false;
    extents[i] = {extent_bytes(elements, bytes), bytes};
  }
  return true;
}

inline void whole_pair(const BroadcastShape& shape, Block& block, View* views) {
  block.out = shape.box();
  for (int i = 0; i < 2; ++i) views[i] = input_extents(shape, i).view();
  views[2] = shape.view();
}

inline Box window_pair(const BroadcastShape& shape, int operand, const Block& block) {
  Box box = block.out;
  for (int axis = 0; operand < 2 && axis < 4; ++axis)
    if (shape.repeats(operand, axis)) {
      box.lo[axis] = 0;
      box.hi[axis] = 1;
    }
  return box;
}

// What models must fulfil, whatever the operator.
inline Status infer_pair(const Node& node, int8_t activation) {
  TensorInfo a = node.input(0), b = node.input(1), out = node.output(0);
  if (!a.present() || !b.present() || !out.present() || b.type != a.type || out.type != a.type)
    return LINNET_ERROR(malformed, "the operator needs two inputs and an output of one type");
  BroadcastShape shape;
  uint32_t elements;
  if (!fold_broadcast(a, b, out, shape) || !shape.count(elements))
    return LINNET_ERROR(unsupported, "the shapes of the inputs do not broadcast to the output's along at most four groups of axes");
  if (!is_clamp(activation)) return LINNET_ERROR(unsupported, "the fused activation is none of RELU, RELU_N1_TO_1 and RELU6");
  return {};
}
inline Status infer_quantized_pair(const Node& node, int32_t lowest, int32_t highest) {
  const TensorInfo tensors[] = {node.input(0), node.input(1), node.output(0)};
  for (const TensorInfo& t : tensors)
    if (!is_quantized(t) || t.zero_point() < lowest || t.zero_point() > highest)
      return LINNET_ERROR(unsupported, "the operator needs one scale and a zero point within the type for each tensor");
  return {};
}

// What a computation of two inputs and one output of one type answers. P derives from BroadcastShape.
// F: static T apply(T, T, const P&).
template <class T, class P>
struct Pair {
  static constexpr const char* set = "reference";
  static constexpr Splits splits = split_batch | split_rows | split_columns | split_channels;
  using Params = P;

  static bool check(const P& p, Extent* extents, int operands) { return check_pair(p, extents, operands, sizeof(T)); }
  static void whole(const P& p, Block& block, View* views) { whole_pair(p, block, views); }
  static Box window(const P& p, int operand, const Block& block) { return window_pair(p, operand, block); }
  static Cost cost(const P& p) { return {0, static_cast<uint64_t>(p.elements())}; }
  // An input of the output's shape is read in step with the writing; one that is broadcast is read again later.
  static Lag lag(const P& p, int input, int output) {
    if (output != 2 || input < 0 || input > 1 || (p.broadcast >> (4 * input) & 15) != 0) return {};
    return elementwise_lag(p.elements(), sizeof(T), sizeof(T));
  }
  template <class F>
  static void map(const Call& call, const P& p) {
    static constexpr ElementWalk walk = {map_pair_row<T, T, P, F>, 3, {sizeof(T), sizeof(T), sizeof(T)}};
    walk_rows(call, walk, p.broadcast, &p);
  }
};

}  // namespace linnet::ops
