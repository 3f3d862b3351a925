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
  Model::Tensor::Quantization quantization = tensor.quantization();
  info.scales = quantization.scales;
  info.zero_points = quantization.zero_points;
  info.quantized_dimension = quantization.dimension;
  info.data = tensor.first_byte();
  return info;
}

// Tensor index i of a list, or -1 where there is none.
inline int32_t tensor_index(Span<const int32_t> list, int i) {
  return i >= 0 && static_cast<size_t>(i) < list.size() ? list[static_cast<size_t>(i)] : -1;
}

inline Node node_of(const Model& model, const Model::Subgraph& graph, int32_t subgraph, uint32_t index) {
  Node node;
  node.model = &model;
  node.subgraph = subgraph;
  node.index = static_cast<int32_t>(index);
  node.subgraph_table = graph.position();
  node.operator_table = graph.op(index).position();
  return node;
}

inline Model::Operator operator_of(const Node& node) { return node.model->operator_at(node.operator_table); }

inline Model::Tensor tensor_of(const Node& node, int32_t index) {
  return node.model->subgraph_at(node.subgraph_table).tensor(static_cast<uint32_t>(index));
}

inline TensorInfo listed_tensor(const Node& node, Span<const int32_t> list, int i) {
  int32_t index = tensor_index(list, i);
  return index < 0 ? TensorInfo() : tensor_info(tensor_of(node, index));
}

inline Type listed_type(const Node& node, Span<const int32_t> list, int i) {
  int32_t index = tensor_index(list, i);
  return index < 0 ? Type::none : tensor_of(node, index).type();
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
