// What element-wise computations share: a flat walk over one input and the output, up or down, in blocks of any axes.
//
// The element type, parameters and function are the operator's; see relu.h for the shortest use.
#pragma once
#include "linnet/ops/shapes.h"

namespace linnet::ops {

// Operands: input, output. Params derive from Extents4, the folded shape of both.
// F: static To apply(From, const Params&).
template <class From, class To, class Params, class F>
void map_elements(const Call& call, const Params& p) {
  TensorView<const From> in = call.in<From>(0);
  TensorView<To> out = call.out<To>(1);
  const Box& box = call.block.out;
  int32_t n = box.hi[axis_c] - box.lo[axis_c];
  int32_t step = call.direction == Direction::up ? 1 : -1;
  int32_t first = call.direction == Direction::up ? box.lo[axis_c] : box.hi[axis_c] - 1;
  for_each_row(box, call.direction, [&](int32_t b, int32_t y, int32_t x) {
    const From* from = in.at(b, y, x, first);
    To* to = out.at(b, y, x, first);
    for (int32_t i = 0; i < n; ++i, from += step, to += step) *to = F::apply(*from, p);
  });
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

}  // namespace linnet::ops
