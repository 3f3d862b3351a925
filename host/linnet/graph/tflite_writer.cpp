// The .tflite writer: a Network to bytes through FlatBufferBuilder, with the field numbers of model/schema.h.
#include <flatbuffers/flatbuffers.h>

#include <stdexcept>

#include "linnet/graph/network_builder.h"
#include "linnet/model/schema.h"

namespace linnet::graph {
namespace {

using flatbuffers::FlatBufferBuilder;
using Table = flatbuffers::Offset<void>;

flatbuffers::voffset_t slot(uint8_t field) { return static_cast<flatbuffers::voffset_t>(4 + 2 * field); }

size_t aligned(size_t size) { return (size + 15) / 16 * 16; }

// One table: children are made first, then the table's fields.
class TableWriter {
 public:
  explicit TableWriter(FlatBufferBuilder& builder) : builder_(builder), start_(builder.StartTable()) {}
  template <class T>
  TableWriter& scalar(uint8_t field, T value) {
    builder_.AddElement<T>(slot(field), value);
    return *this;
  }
  template <class T>
  TableWriter& offset(uint8_t field, flatbuffers::Offset<T> value) {
    if (value.o) builder_.AddOffset(slot(field), value);
    return *this;
  }
  Table end() { return Table(builder_.EndTable(start_)); }

 private:
  FlatBufferBuilder& builder_;
  flatbuffers::uoffset_t start_;
};

class Writer {
 public:
  // `external_start`: where data behind the flatbuffer begins; known only once the flatbuffer has been written.
  Writer(const Network& network, uint64_t external_start) : network_(network), external_start_(external_start) {}

  std::vector<uint8_t> run() {
    namespace f = schema;
    fbb_.ForceDefaults(true);  // a field that is there can be found and overwritten
    // The first thing written ends the file. Without padding behind it, a file that lacks its last byte is damaged.
    std::string description = network_.description;
    while (description.size() % 4 != 3) description += ' ';
    auto text = fbb_.CreateString(description);
    auto subgraphs = tables(network_.subgraphs, &Writer::subgraph);
    auto metadata = tables(network_.metadata, &Writer::metadata);
    auto signatures = tables(network_.signatures, &Writer::signature);
    buffers_.insert(buffers_.begin(), TableWriter(fbb_).end());  // buffer 0 is always empty
    auto buffers = fbb_.CreateVector(buffers_);
    auto codes = fbb_.CreateVector(codes_);
    auto model = TableWriter(fbb_).scalar<uint32_t>(f::Model::version, f::supported_version)
                     .offset(f::Model::operator_codes, codes)
                     .offset(f::Model::subgraphs, subgraphs)
                     .offset(f::Model::description, text)
                     .offset(f::Model::buffers, buffers)
                     .offset(f::Model::metadata, metadata)
                     .offset(f::Model::signature_defs, signatures)
                     .end();
    fbb_.Finish(model, "TFL3");
    return {fbb_.GetBufferPointer(), fbb_.GetBufferPointer() + fbb_.GetSize()};
  }

  const std::vector<uint8_t>& external() const { return external_; }

 private:
  template <class T, class Spec>
  flatbuffers::Offset<flatbuffers::Vector<Table>> tables(const std::vector<Spec>& specs, T (Writer::*one)(const Spec&)) {
    std::vector<Table> made;
    for (const auto& spec : specs) made.push_back((this->*one)(spec));
    return fbb_.CreateVector(made);
  }

  flatbuffers::Offset<flatbuffers::String> name(const std::string& text) {
    return text.empty() ? flatbuffers::Offset<flatbuffers::String>() : fbb_.CreateString(text);
  }

  // Appends data behind the flatbuffer and says where it will be.
  std::pair<uint64_t, uint64_t> append(const std::vector<uint8_t>& data) {
    external_.resize(aligned(external_.size()));
    uint64_t at = external_start_ + external_.size();
    external_.insert(external_.end(), data.begin(), data.end());
    return {at, data.size()};
  }

  uint32_t add_buffer(const std::vector<uint8_t>& data, bool external) {
    if (external) {
      auto [at, size] = append(data);
      buffers_.push_back(TableWriter(fbb_).scalar(schema::Buffer::offset, at).scalar(schema::Buffer::size, size).end());
    } else {
      fbb_.ForceVectorAlignment(data.size(), 1, 16);
      auto bytes = fbb_.CreateVector(data);
      TableWriter buffer(fbb_);
      buffer.offset(schema::Buffer::data, bytes);
      if (network_.inline_offset) buffer.scalar(schema::Buffer::offset, network_.inline_offset);
      buffers_.push_back(buffer.end());
    }
    return static_cast<uint32_t>(buffers_.size());  // buffer 0 will stand before them
  }

  Table quantization(const Quantization& q) {
    if (q.scales.empty() && q.zero_points.empty()) return Table();
    auto scales = fbb_.CreateVector(q.scales);
    auto zero_points = fbb_.CreateVector(q.zero_points);
    return TableWriter(fbb_).offset(schema::Quantization::scale, scales)
        .offset(schema::Quantization::zero_point, zero_points)
        .scalar(schema::Quantization::details_type, q.details_type)
        .scalar(schema::Quantization::quantized_dimension, q.dimension)
        .end();
  }

  Table tensor(const TensorSpec& t) {
    namespace f = schema;
    auto buffer = static_cast<uint32_t>(t.buffer);
    if (t.buffer < 0) buffer = t.data.empty() ? 0 : add_buffer(t.data, network_.external_data);
    auto shape = t.omit_shape ? flatbuffers::Offset<flatbuffers::Vector<int32_t>>() : fbb_.CreateVector(t.shape);
    flatbuffers::Offset<flatbuffers::Vector<int32_t>> signature;
    if (!t.shape_signature.empty()) signature = fbb_.CreateVector(t.shape_signature);
    auto label = name(t.name);
    auto quantized = quantization(t.quantization);
    Table sparsity = t.sparse ? TableWriter(fbb_).end() : Table();
    return TableWriter(fbb_).offset(f::Tensor::shape, shape)
        .scalar(f::Tensor::type, static_cast<uint8_t>(t.type))
        .scalar(f::Tensor::buffer, buffer)
        .offset(f::Tensor::name, label)
        .offset(f::Tensor::quantization, quantized)
        .scalar(f::Tensor::is_variable, static_cast<uint8_t>(t.is_variable))
        .offset(f::Tensor::sparsity, sparsity)
        .offset(f::Tensor::shape_signature, signature)
        .end();
  }

  Table options(const std::vector<Option>& list) {
    std::vector<flatbuffers::Offset<void>> children(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      if (auto* v = std::get_if<std::vector<int32_t>>(&list[i].value)) children[i] = fbb_.CreateVector(*v).Union();
      if (auto* s = std::get_if<std::string>(&list[i].value)) children[i] = fbb_.CreateString(*s).Union();
    }
    TableWriter table(fbb_);
    for (size_t i = 0; i < list.size(); ++i) {
      uint8_t field = list[i].field;
      if (children[i].o) table.offset(field, children[i]);
      else if (auto* b = std::get_if<bool>(&list[i].value)) table.scalar<uint8_t>(field, *b);
      else if (auto* c = std::get_if<int8_t>(&list[i].value)) table.scalar(field, *c);
      else if (auto* n = std::get_if<int32_t>(&list[i].value)) table.scalar(field, *n);
      else if (auto* x = std::get_if<float>(&list[i].value)) table.scalar(field, *x);
    }
    return table.end();
  }

  uint32_t operator_code(const OperatorSpec& o) {
    for (size_t i = 0; i < known_codes_.size(); ++i) {
      const OperatorSpec& k = known_codes_[i];
      if (k.code == o.code && k.version == o.version && k.custom_name == o.custom_name) return static_cast<uint32_t>(i);
    }
    known_codes_.push_back(o);
    auto custom = name(o.custom_name);
    TableWriter code(fbb_);
    code.scalar(schema::OperatorCode::deprecated_builtin_code, static_cast<int8_t>(o.code < 127 ? o.code : 127));
    code.offset(schema::OperatorCode::custom_code, custom).scalar(schema::OperatorCode::version, o.version);
    if (!network_.older_codes_only) code.scalar(schema::OperatorCode::builtin_code, o.code);
    codes_.push_back(code.end());
    return static_cast<uint32_t>(known_codes_.size() - 1);
  }

  Table op(const OperatorSpec& o) {
    namespace f = schema;
    uint32_t code = operator_code(o);
    auto inputs = fbb_.CreateVector(o.inputs);
    auto outputs = fbb_.CreateVector(o.outputs);
    flatbuffers::Offset<flatbuffers::Vector<int>> intermediates;
    if (!o.intermediates.empty()) intermediates = fbb_.CreateVector(o.intermediates);
    flatbuffers::Offset<flatbuffers::Vector<uint8_t>> custom;
    bool large = network_.external_data && !o.custom_options.empty();
    if (!large && !o.custom_options.empty()) custom = fbb_.CreateVector(o.custom_options);
    Table table = o.options_type ? options(o.options) : Table();
    TableWriter writer(fbb_);
    writer.scalar(f::Operator::opcode_index, code)
        .offset(f::Operator::inputs, inputs)
        .offset(f::Operator::outputs, outputs)
        .scalar(f::Operator::builtin_options_type, o.options_type)
        .offset(f::Operator::builtin_options, table)
        .offset(f::Operator::custom_options, custom)
        .offset(f::Operator::intermediates, intermediates);
    if (large) {
      auto [at, size] = append(o.custom_options);
      writer.scalar(f::Operator::large_custom_options_offset, at).scalar(f::Operator::large_custom_options_size, size);
    }
    return writer.end();
  }

  Table subgraph(const SubgraphSpec& g) {
    namespace f = schema;
    auto tensors = tables(g.tensors, &Writer::tensor);
    auto operators = tables(g.operators, &Writer::op);
    auto inputs = fbb_.CreateVector(g.inputs);
    auto outputs = fbb_.CreateVector(g.outputs);
    auto label = name(g.name);
    return TableWriter(fbb_).offset(f::SubGraph::tensors, tensors)
        .offset(f::SubGraph::inputs, inputs)
        .offset(f::SubGraph::outputs, outputs)
        .offset(f::SubGraph::operators, operators)
        .offset(f::SubGraph::name, label)
        .end();
  }

  Table metadata(const std::pair<std::string, std::vector<uint8_t>>& entry) {
    uint32_t buffer = add_buffer(entry.second, false);
    auto label = name(entry.first);
    return TableWriter(fbb_).offset(schema::Metadata::name, label).scalar(schema::Metadata::buffer, buffer).end();
  }

  Table named_tensor(const std::pair<std::string, int>& entry) {
    auto label = name(entry.first);
    return TableWriter(fbb_).offset(schema::TensorMap::name, label)
        .scalar(schema::TensorMap::tensor_index, static_cast<uint32_t>(entry.second))
        .end();
  }

  Table signature(const SignatureSpec& s) {
    namespace f = schema;
    auto inputs = tables(s.inputs, &Writer::named_tensor);
    auto outputs = tables(s.outputs, &Writer::named_tensor);
    auto key = name(s.key);
    return TableWriter(fbb_).offset(f::SignatureDef::inputs, inputs)
        .offset(f::SignatureDef::outputs, outputs)
        .offset(f::SignatureDef::signature_key, key)
        .scalar(f::SignatureDef::subgraph_index, static_cast<uint32_t>(s.subgraph))
        .end();
  }

  const Network& network_;
  uint64_t external_start_;
  FlatBufferBuilder fbb_;
  std::vector<Table> buffers_;
  std::vector<Table> codes_;
  std::vector<OperatorSpec> known_codes_;
  std::vector<uint8_t> external_;
};

}  // namespace

std::vector<uint8_t> write(const Network& network) {
  Writer draft(network, 0);
  std::vector<uint8_t> file = draft.run();
  if (draft.external().empty()) return file;
  Writer writer(network, aligned(file.size()));  // positions have 64 bits wherever they lead, so the size stays
  file = writer.run();
  file.resize(aligned(file.size()));
  file.insert(file.end(), writer.external().begin(), writer.external().end());
  return file;
}

size_t find_field(const std::vector<uint8_t>& file, std::initializer_list<Step> path, uint8_t field) {
  auto position = [&](const uint8_t* p) { return static_cast<size_t>(p - file.data()); };
  auto address = [&](const flatbuffers::Table* table, uint8_t number) {
    const uint8_t* p = table->GetAddressOf(slot(number));
    if (!p) throw std::invalid_argument("find_field: the field is absent");
    return p;
  };
  auto follow = [](const uint8_t* p) { return p + flatbuffers::ReadScalar<uint32_t>(p); };
  const auto* table = reinterpret_cast<const flatbuffers::Table*>(follow(file.data()));
  for (const Step& step : path) {
    const uint8_t* p = follow(address(table, step.field));
    if (step.element >= 0) p = follow(p + 4 + 4 * static_cast<size_t>(step.element));
    table = reinterpret_cast<const flatbuffers::Table*>(p);
  }
  return position(address(table, field));
}

}  // namespace linnet::graph
