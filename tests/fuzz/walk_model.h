// Touches every byte that a verified Model hands out, so that a sanitizer sees a byte that it should not have handed out,
// and checks what the accessors promise. Returns a sum, so that nothing is optimised away.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "linnet/model/model.h"

namespace linnet {

inline void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

template <class T>
uint64_t touch(Span<const T> list) {
  uint64_t sum = 0;
  for (T value : list) sum = sum * 31 + static_cast<uint64_t>(static_cast<int64_t>(value));
  return sum;
}
inline uint64_t touch(Span<const float> list) {
  uint64_t sum = 0;
  for (float value : list) sum += value > 0;
  return sum;
}
inline uint64_t touch(const char* text) {
  uint64_t sum = 0;
  while (*text) sum = sum * 31 + static_cast<uint8_t>(*text++);
  return sum;
}
// An option table as any operator might read it: every field as every kind of value.
inline uint64_t touch(const Table& table) {
  uint64_t sum = table.present();
  for (uint32_t field = 0; field < 24; ++field) {
    sum += table.has(field) + table.get<bool>(field, false) + table.get<uint8_t>(field, 1);
    sum += static_cast<uint64_t>(table.get<int32_t>(field, 1)) + table.get<uint64_t>(field, 1);
    sum += touch(table.vector<uint8_t>(field)) + touch(table.vector<int32_t>(field)) + touch(table.vector<int64_t>(field));
  }
  return sum;
}

inline uint64_t walk(const Model::Tensor& t) {
  uint64_t elements = 1;
  for (int32_t d : t.dims()) {
    promise(d >= 0, "dimensions are not negative");
    elements *= static_cast<uint64_t>(d);
  }
  promise(elements == t.elements() && elements * element_bytes(t.type()) <= INT32_MAX, "sizes fit 31 bits");
  size_t scales = t.scales().size();
  auto axis = static_cast<size_t>(t.quantized_dimension());
  promise(scales <= 1 || (axis < t.rank() && scales == static_cast<size_t>(t.dims()[axis])), "a scale for each channel");
  promise(axis == 0 || axis < t.rank(), "the quantised dimension is one of the dimensions");
  promise(scales == 0 || t.zero_points().empty() || t.zero_points().size() == scales, "a zero point for each scale");
  promise(!t.is_constant() || !t.is_variable(), "variables have no data");
  for (float scale : t.scales()) promise(scale >= 0 && scale < __builtin_inff(), "scales are not negative");
  for (int64_t z : t.zero_points()) {
    if (t.type() == Type::int8) promise(z >= -128 && z <= 127, "zero points fit the type");
    if (t.type() == Type::uint8) promise(z >= 0 && z <= 255, "zero points fit the type");
    promise(z >= INT32_MIN && z <= INT32_MAX, "zero points fit 32 bits");
  }
  Bytes data = t.data();
  promise(t.is_constant() == !data.empty(), "constants have data");
  promise(data.empty() || t.bytes() == 0 || data.size() == t.bytes(), "constants are as long as their shape says");
  promise(data.empty() == (t.data_offset() == 0), "data has an offset");
  return elements + touch(t.name()) + touch(t.shape_signature()) + touch(data) + t.is_variable();
}

inline uint64_t walk(const Model& model) {
  uint64_t sum = touch(model.description());
  for (uint32_t i = 0; i < model.buffer_count(); ++i) sum += touch(model.buffer(i));
  for (uint32_t i = 0; i < model.metadata_count(); ++i) sum += touch(model.metadata_name(i)) + touch(model.metadata(i));
  sum += touch(model.metadata("linnet.plan"));
  for (uint32_t i = 0; i < model.subgraph_count(); ++i) {
    Model::Subgraph graph = model.subgraph(i);
    sum += touch(graph.name());
    uint32_t tensors = graph.tensor_count();
    auto in_range = [&](Span<const int32_t> list, int32_t lowest) {
      for (int32_t t : list) promise(t >= lowest && t < static_cast<int32_t>(tensors), "tensor indices are in range");
    };
    in_range(graph.inputs(), 0);
    in_range(graph.outputs(), 0);
    for (uint32_t t = 0; t < tensors; ++t) sum += walk(graph.tensor(t));
    for (uint32_t o = 0; o < graph.operator_count(); ++o) {
      Model::Operator op = graph.op(o);
      in_range(op.inputs(), -1);
      in_range(op.outputs(), 0);
      in_range(op.intermediates(), -1);
      sum += static_cast<uint64_t>(op.builtin_code()) + static_cast<uint64_t>(op.version()) + touch(op.custom_name());
      sum += op.options_type() + touch(op.options()) + op.options_2_type() + touch(op.options_2());
      sum += touch(op.custom_options());
    }
  }
  for (uint32_t i = 0; i < model.signature_count(); ++i) {
    Model::Signature s = model.signature(i);
    promise(s.subgraph() < model.subgraph_count(), "signatures name a subgraph");
    uint32_t tensors = model.subgraph(s.subgraph()).tensor_count();
    sum += touch(s.key());
    for (uint32_t t = 0; t < s.input_count(); ++t) {
      promise(s.input(t).tensor() < tensors, "signatures name tensors");
      sum += touch(s.input(t).name());
    }
    for (uint32_t t = 0; t < s.output_count(); ++t) {
      promise(s.output(t).tensor() < tensors, "signatures name tensors");
      sum += touch(s.output(t).name());
    }
  }
  return sum;
}

}  // namespace linnet
