// Element types of tensors, numbered as in the .tflite format (schema: enum TensorType).
#pragma once
#include <stdint.h>

namespace linnet {

enum class Type : uint8_t {
  float32 = 0, float16 = 1, int32 = 2, uint8 = 3, int64 = 4, string = 5, boolean = 6, int16 = 7, complex64 = 8,
  int8 = 9, float64 = 10, complex128 = 11, uint64 = 12, resource = 13, variant = 14, uint32 = 15, uint16 = 16, int4 = 17,
  none = 255,  // an absent optional tensor
};

// Bytes of one element; 0 for types whose elements have no fixed whole number of bytes (string, variant, int4).
constexpr uint32_t element_bytes(Type type) {
  switch (type) {
    case Type::int8: case Type::uint8: case Type::boolean: return 1;
    case Type::int16: case Type::uint16: case Type::float16: return 2;
    case Type::float32: case Type::int32: case Type::uint32: case Type::resource: return 4;
    case Type::int64: case Type::uint64: case Type::float64: case Type::complex64: return 8;
    case Type::complex128: return 16;
    default: return 0;
  }
}

constexpr const char* type_name(Type type) {
  switch (type) {
    case Type::float32: return "float32";
    case Type::float16: return "float16";
    case Type::int32: return "int32";
    case Type::uint8: return "uint8";
    case Type::int64: return "int64";
    case Type::string: return "string";
    case Type::boolean: return "bool";
    case Type::int16: return "int16";
    case Type::complex64: return "complex64";
    case Type::int8: return "int8";
    case Type::float64: return "float64";
    case Type::complex128: return "complex128";
    case Type::uint64: return "uint64";
    case Type::resource: return "resource";
    case Type::variant: return "variant";
    case Type::uint32: return "uint32";
    case Type::uint16: return "uint16";
    case Type::int4: return "int4";
    case Type::none: return "none";
  }
  return "unknown";
}

}  // namespace linnet
