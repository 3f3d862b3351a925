// Model: a .tflite file read in place.
//
// Model::open verifies the whole file once, in time proportional to its size and with a fixed amount of stack. From then
// on nothing can fail: accessors have no error path, indices found in the file are in range, and everything handed out
// points into the file, which must stay where it is for as long as the Model is used. Arguments are the caller's to keep
// in range (i < ..._count()).
//
// What open has verified, beyond the structure of the file:
//   * tensors: sizes fit 31 bits, known types, scales finite and not negative (0 stands in files for not quantised), one or
//     as many as the quantised dimension has elements, zero points within the type, constants complete and aligned for
//     their type;
//   * operators: indices, and an order in which everything is produced once and before it is read;
//   * buffers, operator options and metadata, in the flatbuffer or behind it.
// What it has not: which subgraphs an operator calls, and what operators ask of their tensors and options. That needs to
// know the operator; the fields of option tables are therefore checked as they are read (core/table.h).
#pragma once
#include <stdint.h>

#include "linnet/core/span.h"
#include "linnet/core/status.h"
#include "linnet/core/table.h"
#include "linnet/core/types.h"
#include "linnet/model/flat_table.h"
#include "linnet/model/schema.h"

namespace linnet {

class Model {
 public:
  class Tensor;
  class Operator;
  class Subgraph;
  class Signature;
  class NamedTensor;

  static constexpr uint32_t file_alignment = 16;  // the file's address must be a multiple
  static constexpr uint32_t max_tensors = 65535;  // of one subgraph

  // `file` may be longer than the model. On an error `model` is unchanged and `where` names what the error is about:
  // subgraph and tensor, or subgraph and node (with the tensor that the node refers to). Codes: malformed, unsupported (a
  // newer schema, sparse tensors, type unknown, 4 GiB and more) and invalid_call (alignment of `file`).
  static Status open(Bytes file, Model& model, Where& where);

  uint32_t subgraph_count() const { return root_.count(schema::Model::subgraphs); }
  Subgraph subgraph(uint32_t i) const;
  // By the position() that such a one told, for callers that come back often.
  Subgraph subgraph_at(const uint8_t* position) const;
  Operator operator_at(const uint8_t* position) const;
  uint32_t signature_count() const { return root_.count(schema::Model::signature_defs); }
  Signature signature(uint32_t i) const;
  uint32_t metadata_count() const { return root_.count(schema::Model::metadata); }
  const char* metadata_name(uint32_t i) const {
    return root_.element(schema::Model::metadata, i).string(schema::Metadata::name);
  }
  Bytes metadata(uint32_t i) const {
    return buffer(root_.element(schema::Model::metadata, i).get<uint32_t>(schema::Metadata::buffer, 0));
  }
  Bytes metadata(const char* name) const;  // the first of that name, empty if there is none
  const char* description() const { return root_.string(schema::Model::description); }

  uint32_t buffer_count() const { return root_.count(schema::Model::buffers); }
  Bytes buffer(uint32_t i) const {
    return data_of(root_.element(schema::Model::buffers, i), schema::Buffer::data, schema::Buffer::offset);
  }
  Bytes file() const { return file_; }

 private:
  friend class ModelVerifier;
  // The bytes of a buffer or of custom options: at {offset, size} of the file, 64 bits each, or, with an offset of 0 or 1, a
  // vector within the flatbuffer. False if they lie beyond the end of the file; never after open.
  __attribute__((noinline)) bool find_data(FlatTable table, uint32_t inline_field, uint32_t offset_field, Bytes& data) const {
    auto offset = table.get<uint64_t>(offset_field, 0);
    data = table.vector<uint8_t>(inline_field);
    if (offset <= 1) return true;
    auto size = table.get<uint64_t>(offset_field + 1, 0);
    data = {};
    if (offset > file_.size() || size > file_.size() - offset) return false;
    data = {file_.data() + offset, static_cast<size_t>(size)};
    return true;
  }
  Bytes data_of(FlatTable table, uint32_t inline_field, uint32_t offset_field) const {
    Bytes data;
    find_data(table, inline_field, offset_field, data);
    return data;
  }
  Table options(FlatTable table) const { return {table.at(), file_.end()}; }

  Bytes file_;
  FlatTable root_;
};

class Model::Tensor {
 public:
  Type type() const { return static_cast<Type>(table_.get<uint8_t>(schema::Tensor::type, 0)); }
  Span<const int32_t> dims() const { return table_.vector<int32_t>(schema::Tensor::shape); }  // empty: a scalar; none < 0
  uint32_t rank() const { return static_cast<uint32_t>(dims().size()); }
  uint32_t elements() const {
    uint32_t n = 1;
    for (int32_t d : dims()) n *= static_cast<uint32_t>(d);
    return n;
  }
  // Of all elements: at most 2^31-1. 0 where the elements have no fixed size (string, variant).
  uint32_t bytes() const { return type() == Type::int4 ? (elements() + 1) / 2 : elements() * element_bytes(type()); }
  bool is_variable() const { return table_.get<bool>(schema::Tensor::is_variable, false); }
  const char* name() const { return table_.string(schema::Tensor::name); }
  // Dims before -1 stood for unknown ones, as the file gives them; empty if it does not.
  Span<const int32_t> shape_signature() const { return table_.vector<int32_t>(schema::Tensor::shape_signature); }

  // One scale, or as many as dims()[quantized_dimension()], or none; as many zero points as scales, or none (without scales,
  // zero points have no meaning). The dimension matters with several scales only and is 0 otherwise; it is also 0 for
  // vectors, to which some files give the dimension of the filter that they belong to.
  Span<const float> scales() const { return quantization_table().vector<float>(schema::Quantization::scale); }
  Span<const int64_t> zero_points() const { return quantization_table().vector<int64_t>(schema::Quantization::zero_point); }
  int32_t quantized_dimension() const { return quantization().dimension; }

  // The three at once, for callers that want them all.
  struct Quantization {
    Span<const float> scales;
    Span<const int64_t> zero_points;
    int32_t dimension;
  };
  Quantization quantization() const {
    FlatTable table = quantization_table();
    Quantization q = {table.vector<float>(schema::Quantization::scale), table.vector<int64_t>(schema::Quantization::zero_point), 0};
    if (q.scales.size() > 1 && rank() > 1) q.dimension = table.get<int32_t>(schema::Quantization::quantized_dimension, 0);
    return q;
  }

  // A constant has data: bytes() of it, or all there is where that is 0. Others have none; a tensor of no elements neither.
  // Aligned for its type, but 64-bit elements only to 4: converters write such files.
  bool is_constant() const { return !stored().empty(); }
  Bytes data() const {
    Bytes all = stored();
    uint32_t size = bytes();
    return size && !all.empty() ? all.subspan(0, size) : all;
  }
  const uint8_t* first_byte() const { return stored().data(); }  // of data(), or null
  uint32_t data_offset() const {  // from the start of the file; 0 without data
    Bytes all = stored();
    return all.empty() ? 0 : static_cast<uint32_t>(all.data() - model_->file_.data());
  }
  uint32_t buffer() const { return table_.get<uint32_t>(schema::Tensor::buffer, 0); }  // index of its buffer

 private:
  friend class Model;
  friend class ModelVerifier;
  Tensor(const Model* model, FlatTable table) : model_(model), table_(table) {}
  FlatTable quantization_table() const { return table_.table(schema::Tensor::quantization); }
  Bytes stored() const {
    uint32_t i = buffer();
    return i ? model_->buffer(i) : Bytes();  // 0: none, whatever that buffer holds
  }

  const Model* model_;
  FlatTable table_;
};

class Model::Operator {
 public:
  const uint8_t* position() const { return table_.at(); }
  int32_t builtin_code() const {  // schema::custom_operator: known by its custom_name
    FlatTable code = op_code();
    // Codes up to 127 stand in the older field (and usually in both), higher ones in the newer one alone.
    int32_t older = code.get<int8_t>(schema::OperatorCode::deprecated_builtin_code, 0);
    auto newer = code.get<int32_t>(schema::OperatorCode::builtin_code, 0);
    return older > newer ? older : newer;
  }
  int32_t version() const { return op_code().get<int32_t>(schema::OperatorCode::version, 1); }
  const char* custom_name() const { return op_code().string(schema::OperatorCode::custom_code); }

  Span<const int32_t> inputs() const { return table_.vector<int32_t>(schema::Operator::inputs); }  // -1: optional, absent
  Span<const int32_t> outputs() const { return table_.vector<int32_t>(schema::Operator::outputs); }
  Span<const int32_t> intermediates() const { return table_.vector<int32_t>(schema::Operator::intermediates); }  // or -1

  uint8_t options_type() const { return table_.get<uint8_t>(schema::Operator::builtin_options_type, 0); }
  Table options() const { return model_->options(table_.table(schema::Operator::builtin_options)); }
  uint8_t options_2_type() const { return table_.get<uint8_t>(schema::Operator::builtin_options_2_type, 0); }
  Table options_2() const { return model_->options(table_.table(schema::Operator::builtin_options_2)); }
  Bytes custom_options() const {
    return model_->data_of(table_, schema::Operator::custom_options, schema::Operator::large_custom_options_offset);
  }

 private:
  friend class Model;
  friend class ModelVerifier;
  Operator(const Model* model, FlatTable table) : model_(model), table_(table) {}
  FlatTable op_code() const {
    return model_->root_.element(schema::Model::operator_codes, table_.get<uint32_t>(schema::Operator::opcode_index, 0));
  }

  const Model* model_;
  FlatTable table_;
};

class Model::Subgraph {
 public:
  const uint8_t* position() const { return table_.at(); }
  const char* name() const { return table_.string(schema::SubGraph::name); }
  Span<const int32_t> inputs() const { return table_.vector<int32_t>(schema::SubGraph::inputs); }
  Span<const int32_t> outputs() const { return table_.vector<int32_t>(schema::SubGraph::outputs); }
  uint32_t tensor_count() const { return table_.count(schema::SubGraph::tensors); }
  Tensor tensor(uint32_t i) const { return {model_, table_.element(schema::SubGraph::tensors, i)}; }
  uint32_t operator_count() const { return table_.count(schema::SubGraph::operators); }
  Operator op(uint32_t i) const { return {model_, table_.element(schema::SubGraph::operators, i)}; }

 private:
  friend class Model;
  Subgraph(const Model* model, FlatTable table) : model_(model), table_(table) {}

  const Model* model_;
  FlatTable table_;
};

// A tensor of a signature: the name that callers know it by.
class Model::NamedTensor {
 public:
  const char* name() const { return table_.string(schema::TensorMap::name); }
  uint32_t tensor() const { return table_.get<uint32_t>(schema::TensorMap::tensor_index, 0); }

 private:
  friend class Model;
  explicit NamedTensor(FlatTable table) : table_(table) {}

  FlatTable table_;
};

class Model::Signature {
 public:
  const char* key() const { return table_.string(schema::SignatureDef::signature_key); }
  uint32_t subgraph() const { return table_.get<uint32_t>(schema::SignatureDef::subgraph_index, 0); }
  uint32_t input_count() const { return table_.count(schema::SignatureDef::inputs); }
  NamedTensor input(uint32_t i) const { return NamedTensor(table_.element(schema::SignatureDef::inputs, i)); }
  uint32_t output_count() const { return table_.count(schema::SignatureDef::outputs); }
  NamedTensor output(uint32_t i) const { return NamedTensor(table_.element(schema::SignatureDef::outputs, i)); }

 private:
  friend class Model;
  explicit Signature(FlatTable table) : table_(table) {}

  FlatTable table_;
};

inline Model::Subgraph Model::subgraph(uint32_t i) const { return {this, root_.element(schema::Model::subgraphs, i)}; }
inline Model::Subgraph Model::subgraph_at(const uint8_t* position) const { return {this, FlatTable(position)}; }
inline Model::Operator Model::operator_at(const uint8_t* position) const { return {this, FlatTable(position)}; }
inline Model::Signature Model::signature(uint32_t i) const {
  return Signature(root_.element(schema::Model::signature_defs, i));
}

inline Bytes Model::metadata(const char* name) const {
  for (uint32_t i = 0; i < metadata_count(); ++i) {
    const char* a = metadata_name(i);
    const char* b = name;
    while (*a && *a == *b) ++a, ++b;
    if (*a == *b) return metadata(i);
  }
  return {};
}

}  // namespace linnet

#include "linnet/model/verify.h"  // Model::open
