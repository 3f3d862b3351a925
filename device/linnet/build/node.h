// What lower() and infer() see of an operator of a verified model (declared in ops/op.h).
#pragma once
#include "linnet/model/model.h"
#include "linnet/ops/op.h"

namespace linnet {

inline TensorInfo tensor_info(const Model::Tensor& tensor) {
  TensorInfo info;
  info.type = tensor.type();
  info.is_variable = tensor.is_variable();
  info.dims = tensor.dims();
  info.scales = tensor.scales();
  info.zero_points = tensor.zero_points();
  info.quantized_dimension = tensor.quantized_dimension();
  info.data = tensor.data().data();
  return info;
}

// Tensor index i of a list, or -1 where there is none.
inline int32_t tensor_index(Span<const int32_t> list, int i) {
  return i >= 0 && static_cast<size_t>(i) < list.size() ? list[static_cast<size_t>(i)] : -1;
}

inline TensorInfo listed_tensor(const Node& node, Span<const int32_t> list, int i) {
  int32_t index = tensor_index(list, i);
  if (index < 0) return {};
  return tensor_info(node.model->subgraph(static_cast<uint32_t>(node.subgraph)).tensor(static_cast<uint32_t>(index)));
}

inline Model::Operator operator_of(const Node& node) {
  return node.model->subgraph(static_cast<uint32_t>(node.subgraph)).op(static_cast<uint32_t>(node.index));
}

inline int Node::input_count() const { return static_cast<int>(operator_of(*this).inputs().size()); }
inline int Node::output_count() const { return static_cast<int>(operator_of(*this).outputs().size()); }
inline int Node::intermediate_count() const { return static_cast<int>(operator_of(*this).intermediates().size()); }
inline TensorInfo Node::input(int i) const { return listed_tensor(*this, operator_of(*this).inputs(), i); }
inline TensorInfo Node::output(int i) const { return listed_tensor(*this, operator_of(*this).outputs(), i); }
inline TensorInfo Node::intermediate(int i) const { return listed_tensor(*this, operator_of(*this).intermediates(), i); }
inline int32_t Node::version() const { return operator_of(*this).version(); }
inline Table Node::options() const { return operator_of(*this).options(); }
inline TensorInfo Node::subgraph_input(int32_t graph, int i) const {
  Model::Subgraph s = model->subgraph(static_cast<uint32_t>(graph));
  int32_t t = tensor_index(s.inputs(), i);
  return t < 0 ? TensorInfo{} : tensor_info(s.tensor(static_cast<uint32_t>(t)));
}
inline TensorInfo Node::subgraph_output(int32_t graph, int i) const {
  Model::Subgraph s = model->subgraph(static_cast<uint32_t>(graph));
  int32_t t = tensor_index(s.outputs(), i);
  return t < 0 ? TensorInfo{} : tensor_info(s.tensor(static_cast<uint32_t>(t)));
}
inline int32_t Node::subgraph_count() const { return static_cast<int32_t>(model->subgraph_count()); }

}  // namespace linnet
