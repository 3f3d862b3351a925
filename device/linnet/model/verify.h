// The verification behind Model::open, in two passes: StructureVerifier walks the flatbuffer and proves that every offset,
// table, vector and string that an accessor may follow lies in the file; ModelVerifier then checks through the accessors
// what the numbers mean. Both are short because the first is driven by the list of fields in schema.h.
#pragma once
#include <stdint.h>

#include "linnet/model/model.h"

namespace linnet {

// Positions are byte offsets from the start of the file, below 2^31, so that sums of a position and a 31-bit number
// cannot wrap and `a - b` below zero is seen as beyond the end.
class StructureVerifier {
 public:
  StructureVerifier(const uint8_t* base, uint32_t size, Where& where)
      : base_(base), size_(size), budget_(2 * size), where_(where) {}

  Status table(uint32_t at, uint8_t kind) {
    if (!inside(at, 4, 4)) return damaged();
    uint32_t vtable = at - load<uint32_t>(at);
    if (!inside(vtable, 4, 2)) return damaged();
    uint32_t vtable_bytes = load<uint16_t>(vtable);
    uint32_t inline_bytes = load<uint16_t>(vtable + 2);
    if (vtable_bytes < 4 || vtable_bytes % 2 || !inside(vtable, vtable_bytes, 2)) return damaged();
    if (inline_bytes < 4 || !inside(at, inline_bytes, 4)) return damaged();
    if (!spend(vtable_bytes / 2 - 1)) return damaged();
    uint32_t known = schema::first_field[kind + 1];
    for (uint32_t entry = 4, f = schema::first_field[kind]; entry < vtable_bytes; entry += 2, ++f) {
      uint32_t offset = load<uint16_t>(vtable + entry);
      if (offset) LINNET_TRY(field(at, offset, inline_bytes, f < known ? schema::fields[f] : schema::unread));
    }
    return {};
  }

  uint32_t root() const { return load<uint32_t>(0); }

 private:
  static Status damaged() {
    return LINNET_ERROR(malformed, "the file is damaged: a part of it leads outside, is misaligned, or is shared too often");
  }

  template <class T>
  T load(uint32_t at) const { return load_unaligned<T>(base_ + at); }

  bool inside(uint32_t at, uint32_t bytes, uint32_t alignment) const {
    return at <= size_ && bytes <= size_ - at && (at & (alignment - 1)) == 0;
  }

  // Offsets may share what they lead to, and sharing within sharing would take time that grows with a power of the file's
  // size. A file that does not share has room for all that is looked at; so nobody may look at much more than that.
  bool spend(uint32_t steps) {
    if (steps > budget_) return false;
    budget_ -= steps;
    return true;
  }

  // One field that stands `offset` bytes into the table at `at` and, but for scalars, leads on from there.
  Status field(uint32_t at, uint32_t offset, uint32_t inline_bytes, uint8_t what) {
    auto holds = static_cast<schema::Holds>(what >> 4);
    uint32_t low = what & 15;
    if (offset + (holds == schema::Holds::scalar ? low : 4) > inline_bytes) return damaged();
    if (holds == schema::Holds::scalar) return {};
    at += offset;
    if (holds == schema::Holds::index) {
      if (load<uint32_t>(at) < vector_count(low)) return {};
      return LINNET_ERROR(malformed, "refers to a buffer, operator code or subgraph that the model does not have");
    }
    if (!follow(at)) return damaged();
    if (holds == schema::Holds::table) return table(at, static_cast<uint8_t>(low));
    uint32_t log2 = holds == schema::Holds::vector ? low : holds == schema::Holds::string ? 0 : 2;
    uint32_t count = load<uint32_t>(at);
    at += 4;
    if (count > (size_ - at) >> log2 || at & ((1u << log2) - 1)) return damaged();
    if (log2 && !spend(count)) return damaged();
    if (holds == schema::Holds::string && (count == size_ - at || base_[at + count])) return damaged();
    return holds == schema::Holds::tables ? tables(at, count, static_cast<uint8_t>(low)) : Status();
  }

  Status tables(uint32_t at, uint32_t count, uint8_t kind) {
    int32_t ignored;
    int32_t& place = kind == uint8_t(schema::Kind::subgraph) ? where_.subgraph
                     : kind == uint8_t(schema::Kind::tensor) ? where_.tensor
                     : kind == uint8_t(schema::Kind::op)     ? where_.node
                                                             : ignored;
    for (uint32_t i = 0; i < count; ++i, at += 4) {
      place = static_cast<int32_t>(i);
      uint32_t target = at;
      if (!follow(target)) return damaged();
      LINNET_TRY(table(target, kind));
    }
    place = -1;
    return {};
  }

  // Goes where the offset at `at` leads. Offsets lead forward, and to something of at least four bytes.
  bool follow(uint32_t& at) const {
    uint32_t offset = load<uint32_t>(at);
    at += offset;
    return at >= offset && offset && inside(at, 4, 4);
  }

  // Elements of a vector of the model, which need not be verified yet.
  uint32_t vector_count(uint32_t model_field) const {
    return static_cast<uint32_t>(Table(base_ + root(), base_ + size_).vector<uint32_t>(model_field).size());
  }

  const uint8_t* base_;
  uint32_t size_;
  uint32_t budget_;
  Where& where_;
};

// What the numbers of a structurally sound file mean.
class ModelVerifier {
 public:
  ModelVerifier(const Model& model, Where& where) : model_(model), where_(where), graph_(model.subgraph(0)) {}

  Status model() {
    for (uint32_t i = 0; i < model_.buffer_count(); ++i) {
      LINNET_TRY(data(model_.root_.element(schema::Model::buffers, i), schema::Buffer::data, schema::Buffer::offset));
    }
    if (model_.subgraph_count() == 0) return LINNET_ERROR(malformed, "the model has no subgraph");
    for (uint32_t i = 0; i < model_.subgraph_count(); ++i) {
      where_.subgraph = static_cast<int32_t>(i);
      graph_ = model_.subgraph(i);
      LINNET_TRY(subgraph());
    }
    where_.subgraph = -1;
    for (uint32_t i = 0; i < model_.signature_count(); ++i) {
      FlatTable s = model_.root_.element(schema::Model::signature_defs, i);
      tensors_ = model_.subgraph(s.get<uint32_t>(schema::SignatureDef::subgraph_index, 0)).tensor_count();
      LINNET_TRY(named(s, schema::SignatureDef::inputs));
      LINNET_TRY(named(s, schema::SignatureDef::outputs));
    }
    return {};
  }

 private:
  static constexpr uint32_t window = 2048;  // tensors whose origin is followed at a time, one bit each

  Status data(FlatTable table, uint32_t inline_field, uint32_t offset_field) const {
    Bytes ignored;
    if (model_.find_data(table, inline_field, offset_field, ignored)) return {};
    return LINNET_ERROR(malformed, "data outside the flatbuffer lies beyond the end of the file");
  }

  Status subgraph() {
    tensors_ = graph_.tensor_count();
    if (tensors_ > Model::max_tensors) return LINNET_ERROR(unsupported, "the subgraph has more than 65535 tensors");
    for (uint32_t i = 0; i < tensors_; ++i) {
      where_.tensor = static_cast<int32_t>(i);
      LINNET_TRY(tensor(graph_.tensor(i)));
    }
    where_.tensor = -1;
    first_ = 0;
    do {
      LINNET_TRY(order());
    } while ((first_ += window) < tensors_);
    return {};
  }

  Status tensor(Model::Tensor t) {
    if (static_cast<uint8_t>(t.type()) > schema::last_tensor_type) {
      return LINNET_ERROR(unsupported, "the tensor has an element type that is not known here");
    }
    if (t.table_.has(schema::Tensor::sparsity)) {
      return LINNET_ERROR(unsupported, "the tensor is sparse; convert the model with dense weights");
    }
    // Zero counts as one, so that no product of some of the dimensions is too large either.
    uint32_t alignment = element_bytes(t.type());
    if (alignment == 0) alignment = 1;
    uint32_t size = alignment;
    for (int32_t d : t.dims()) {
      if (d < 0) return LINNET_ERROR(malformed, "the tensor has a negative dimension");
      uint64_t product = uint64_t(size) * static_cast<uint32_t>(d ? d : 1);
      size = static_cast<uint32_t>(product);
      if (product > INT32_MAX) return LINNET_ERROR(unsupported, "the tensor is larger than 2^31-1 bytes");
    }
    LINNET_TRY(quantization(t));
    Bytes data = t.stored();
    if (data.empty()) return {};
    if (t.is_variable()) return LINNET_ERROR(unsupported, "the variable has an initial value; variables begin as zeros");
    if (data.size() < t.bytes()) return LINNET_ERROR(malformed, "the tensor's data is shorter than its shape");
    if (reinterpret_cast<uintptr_t>(data.data()) & (alignment - 1) & 3) {
      return LINNET_ERROR(malformed, "the tensor's data is not aligned for its type");
    }
    return {};
  }

  Status quantization(Model::Tensor t) {
    FlatTable q = t.quantization_table();
    if (q.get<uint8_t>(schema::Quantization::details_type, 0)) {
      return LINNET_ERROR(unsupported, "the tensor is quantised other than by scales and zero points");
    }
    auto dims = t.dims();
    auto [scales, zero_points, dimension] = t.quantization();
    auto axis = static_cast<uint32_t>(dimension);
    if (scales.size() > 1 && (axis >= dims.size() || scales.size() != static_cast<uint32_t>(dims[axis]))) {
      return LINNET_ERROR(malformed, "the number of scales is neither 1 nor the size of the quantised dimension");
    }
    for (float scale : scales) {
      uint32_t bits;
      __builtin_memcpy(&bits, &scale, 4);
      if (bits > 0x7f7fffff) return LINNET_ERROR(malformed, "a scale is negative or not a finite number");
    }
    if (!zero_points.empty() && !scales.empty() && zero_points.size() != scales.size()) {
      return LINNET_ERROR(malformed, "the number of zero points is not the number of scales");
    }
    // Of types wider than 16 bits any zero point of 31 bits and a sign will do.
    uint32_t bits = t.type() == Type::int4 ? 4 : 8 * element_bytes(t.type());
    int32_t highest = bits - 1 < 16 ? (1 << (bits - 1)) - 1 : INT32_MAX;
    int32_t lowest = -highest - 1;
    if (t.type() == Type::uint8 || t.type() == Type::uint16) {
      lowest = 0;
      highest += highest + 1;
    }
    for (int64_t zero_point : zero_points) {
      auto value = static_cast<int32_t>(zero_point);
      if (value != zero_point || value < lowest || value > highest) {
        return LINNET_ERROR(malformed, "a zero point is outside the range of the tensor's type");
      }
    }
    return {};
  }

  // Every tensor has one origin, and has it before somebody reads it. Followed for tensors first_ ... first_ + window - 1.
  Status order() {
    for (uint32_t& word : available_) word = 0;
    for (uint32_t i = first_; i < tensors_ && i - first_ < window; ++i) {
      Model::Tensor t = graph_.tensor(i);
      if (t.is_variable() || t.is_constant()) set(i - first_);
    }
    LINNET_TRY(use(graph_.inputs(), 0, Use::produce));
    for (uint32_t i = 0; i < graph_.operator_count(); ++i) {
      where_.node = static_cast<int32_t>(i);
      LINNET_TRY(op(graph_.op(i)));
    }
    where_.node = -1;
    return use(graph_.outputs(), 0, Use::read);
  }

  Status op(Model::Operator o) {
    if (!o.op_code().at()) return LINNET_ERROR(malformed, "the model has no operator codes");
    LINNET_TRY(use(o.inputs(), -1, Use::read));
    LINNET_TRY(use(o.intermediates(), -1, Use::refer));
    LINNET_TRY(use(o.outputs(), 0, Use::produce));
    return data(o.table_, schema::Operator::custom_options, schema::Operator::large_custom_options_offset);
  }

  enum class Use : uint8_t { refer, read, produce };

  Status index(int32_t i, int32_t lowest) {
    where_.tensor = i;
    if (i >= lowest && i < static_cast<int32_t>(tensors_)) return {};
    return LINNET_ERROR(malformed, "refers to a tensor that the subgraph does not have");
  }

  Status use(Span<const int32_t> list, int32_t lowest, Use how) {
    for (int32_t t : list) {
      LINNET_TRY(index(t, lowest));
      auto i = static_cast<uint32_t>(t) - first_;
      if (i >= window) continue;
      if (how == Use::produce) {
        if (is_set(i)) return LINNET_ERROR(malformed, "the tensor has two origins (input, constant, variable, operators)");
        set(i);
      } else if (how == Use::read && !is_set(i) && graph_.tensor(static_cast<uint32_t>(t)).elements()) {
        return LINNET_ERROR(malformed, "the tensor is read before anything has produced it");
      }
    }
    where_.tensor = -1;
    return {};
  }

  Status named(FlatTable signature, uint32_t field) {
    for (uint32_t i = 0; i < signature.count(field); ++i) {
      LINNET_TRY(index(signature.element(field, i).get<int32_t>(schema::TensorMap::tensor_index, 0), 0));
    }
    return {};
  }

  bool is_set(uint32_t i) const { return available_[i / 32] & 1u << i % 32; }
  void set(uint32_t i) { available_[i / 32] |= 1u << i % 32; }

  const Model& model_;
  Where& where_;
  Model::Subgraph graph_;
  uint32_t tensors_ = 0;
  uint32_t first_ = 0;
  uint32_t available_[window / 32];
};

inline Status Model::open(Bytes file, Model& model, Where& where) {
  where = Where();
  if (reinterpret_cast<uintptr_t>(file.data()) % file_alignment) {
    return LINNET_ERROR(invalid_call, "the model's address must be a multiple of 16");
  }
#if UINTPTR_MAX > UINT32_MAX
  if (file.size() > UINT32_MAX) return LINNET_ERROR(unsupported, "the model is larger than 4 GiB");
#endif
  constexpr uint32_t largest_flatbuffer = 0x7fffffff;  // data behind it may reach further
  uint32_t size = file.size() < largest_flatbuffer ? static_cast<uint32_t>(file.size()) : largest_flatbuffer;
  if (size < 8 || load_unaligned<uint32_t>(file.data() + 4) != schema::file_identifier) {
    return LINNET_ERROR(malformed, "not a .tflite file");
  }
  StructureVerifier structure(file.data(), size, where);
  LINNET_TRY(structure.table(structure.root(), static_cast<uint8_t>(schema::Kind::model)));
  Model candidate;
  candidate.file_ = file;
  candidate.root_ = FlatTable(file.data() + structure.root());
  if (candidate.root_.get<uint32_t>(schema::Model::version, 0) != schema::supported_version) {
    return LINNET_ERROR(unsupported, "the file has another version of the .tflite schema than 3");
  }
  LINNET_TRY(ModelVerifier(candidate, where).model());
  where = Where();
  model = candidate;
  return {};
}

}  // namespace linnet
