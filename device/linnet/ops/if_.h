// IF: runs one of two subgraphs. Becomes a branch, the steps of both subgraphs and a jump; there is no kernel.
#pragma once
#include "linnet/ops/op.h"

namespace linnet::ops::if_ {

inline bool equal(const TensorInfo& a, const TensorInfo& b) { return a.present() && a.type == b.type && same_dims(a, b); }

// Inputs of the operator from 1 on and its outputs are those of the subgraph.
inline Status infer_branch(const Node& node, int32_t subgraph) {
  if (subgraph < 1 || subgraph >= node.subgraph_count())
    return LINNET_ERROR(malformed, "a branch of IF is no subgraph besides the main one");
  for (int i = 1; i < node.input_count(); ++i)
    if (!equal(node.input(i), node.subgraph_input(subgraph, i - 1)))
      return LINNET_ERROR(unsupported, "a branch of IF takes another type or shape than it is given");
  for (int i = 0; i < node.output_count(); ++i)
    if (!equal(node.output(i), node.subgraph_output(subgraph, i)))
      return LINNET_ERROR(unsupported, "a branch of IF gives another type or shape than is wanted of it");
  if (node.subgraph_input(subgraph, node.input_count() - 1).present() || node.subgraph_output(subgraph, node.output_count()).present())
    return LINNET_ERROR(malformed, "a branch of IF has more inputs or outputs than IF");
  return {};
}

struct If {
  static constexpr uint16_t builtin_code = 118;
  static constexpr int32_t max_version = 1;
  static constexpr TypeSignature types = {Type::boolean, Type::none, Type::none};

  static int32_t branch(const Node& node, uint32_t field) { return node.options().get<int32_t>(field, 0); }

  static Status infer(const Node& node) {
    if (node.input(0).elements() != 1) return LINNET_ERROR(malformed, "IF's condition is not a single boolean");
    LINNET_TRY(infer_branch(node, branch(node, 0)));
    return infer_branch(node, branch(node, 1));
  }
  static Status lower(const Node& node, Emitter& emitter) {
    Emitter::Label otherwise = emitter.branch_if_false(emitter.in(0));
    LINNET_TRY(emitter.subgraph(branch(node, 0), 1));
    Emitter::Label end = emitter.jump();
    emitter.bind(otherwise);
    LINNET_TRY(emitter.subgraph(branch(node, 1), 1));
    emitter.bind(end);
    return {};
  }
};

using Operators = List<If>;
using Kernels = List<>;

}  // namespace linnet::ops::if_
