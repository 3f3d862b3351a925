// The facts of the .tflite format that the reader and the writer need: which tables there are, the number of each field,
// and what the field holds. Source: the TensorFlow Lite schema, version 3c (weights outside the flatbuffer included).
// Types of elements stand in core/types.h; the number of an operator and the fields of its options in the operator's file.
//
// A field of the table at position t: `soffset` (int32 at t) leads back to a vtable: {uint16 vtable bytes, uint16 inline
// bytes of the table, uint16 offset of each field from t, 0 = absent}. Vectors and strings are a uint32 count and the
// elements, strings end in a NUL that is not counted; offsets to tables, vectors and strings are uint32 and lead forward
// from where they stand. A union takes two field numbers: its type (uint8), then its table.
#pragma once
#include <stdint.h>

namespace linnet::schema {

constexpr uint32_t file_identifier = 0x334c4654;  // "TFL3", the second word of the file; the first leads to the Model
constexpr uint32_t supported_version = 3;
constexpr int32_t custom_operator = 32;      // OperatorCode::builtin_code of an operator known by its custom_code
constexpr uint8_t last_tensor_type = 17;     // the highest type in core/types.h

struct Model { enum : uint8_t { version, operator_codes, subgraphs, description, buffers, metadata_buffer, metadata, signature_defs }; };
struct SubGraph { enum : uint8_t { tensors, inputs, outputs, operators, name }; };
struct Tensor {
  enum : uint8_t {
    shape, type, buffer, name, quantization, is_variable, sparsity, shape_signature, has_rank, variant_tensors
  };
};
struct Quantization {
  enum : uint8_t { min, max, scale, zero_point, details_type, details, quantized_dimension };
};
struct Operator {
  enum : uint8_t {
    opcode_index, inputs, outputs, builtin_options_type, builtin_options, custom_options, custom_options_format,
    mutating_variable_inputs, intermediates, large_custom_options_offset, large_custom_options_size,
    builtin_options_2_type, builtin_options_2
  };
};
struct OperatorCode { enum : uint8_t { deprecated_builtin_code, custom_code, version, builtin_code }; };
struct Buffer { enum : uint8_t { data, offset, size }; };  // offset 0 and 1: data lies in the flatbuffer
struct Metadata { enum : uint8_t { name, buffer }; };
struct SignatureDef { enum : uint8_t { inputs, outputs, signature_key, deprecated_tag, subgraph_index }; };
struct TensorMap { enum : uint8_t { name, tensor_index }; };

// What a field holds, in one byte, and the same facts once more as a list for the verifier to walk.
enum class Kind : uint8_t {
  model, subgraph, tensor, quantization, op, op_code, buffer, metadata, signature, tensor_map,
  opaque,  // a table of which only the frame is verified: options, read through core/table.h
};
constexpr uint8_t kinds = 11;

enum class Holds : uint8_t { scalar = 0, vector = 1, string = 2, table = 3, tables = 4, index = 5 };
constexpr uint8_t scalar(uint8_t bytes) { return bytes; }
constexpr uint8_t vector(uint8_t log2_element_bytes) { return static_cast<uint8_t>(0x10 | log2_element_bytes); }
constexpr uint8_t string = 0x20;
constexpr uint8_t table(Kind kind) { return static_cast<uint8_t>(0x30 | static_cast<uint8_t>(kind)); }
constexpr uint8_t tables(Kind kind) { return static_cast<uint8_t>(0x40 | static_cast<uint8_t>(kind)); }
constexpr uint8_t index_of(uint8_t model_field) { return static_cast<uint8_t>(0x50 | model_field); }  // uint32, in that vector
constexpr uint8_t unread = scalar(1);  // nothing looks at it, nothing beyond its place is verified

inline constexpr uint8_t fields[] = {
    // model
    scalar(4), tables(Kind::op_code), tables(Kind::subgraph), string, tables(Kind::buffer), unread, tables(Kind::metadata),
    tables(Kind::signature),
    // subgraph
    tables(Kind::tensor), vector(2), vector(2), tables(Kind::op), string,
    // tensor
    vector(2), scalar(1), index_of(Model::buffers), string, table(Kind::quantization), scalar(1), unread, vector(2), scalar(1), unread,
    // quantization
    unread, unread, vector(2), vector(3), scalar(1), unread, scalar(4),
    // op
    index_of(Model::operator_codes), vector(2), vector(2), scalar(1), table(Kind::opaque), vector(0), scalar(1), unread, vector(2), scalar(8),
    scalar(8), scalar(1), table(Kind::opaque),
    // op_code
    scalar(1), string, scalar(4), scalar(4),
    // buffer
    vector(0), scalar(8), scalar(8),
    // metadata
    string, index_of(Model::buffers),
    // signature
    tables(Kind::tensor_map), tables(Kind::tensor_map), string, unread, index_of(Model::subgraphs),
    // tensor_map
    string, scalar(4),
    // opaque: none
};
inline constexpr uint8_t first_field[kinds + 1] = {0, 8, 13, 23, 30, 43, 47, 50, 52, 57, 59, 59};
static_assert(sizeof fields == first_field[kinds], "each table starts where the one before it ends");

}  // namespace linnet::schema
