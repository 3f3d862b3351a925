// Table: a view of one flatbuffer table, field by field; this is how an operator's file decodes its option table.
//
// Field numbers and defaults are those of the .tflite schema. A Table without storage has every field at its default, so
// an operator without options needs no special case. Whoever makes a Table has verified its vtable and the size of its
// inline part (Model::open does); of what the fields are, nothing is known then, so every access checks the bytes that it
// is about to touch and takes a field that does not fit for absent. No access leaves the file, whatever it contains.
#pragma once
#include <stdint.h>

#include "linnet/core/span.h"

namespace linnet {

// Little-endian loads that need no alignment; compilers turn them into one load where the core allows it.
template <class T>
inline T load_unaligned(const uint8_t* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

alignas(8) inline constexpr uint32_t no_elements[4] = {};  // what stands for an absent vector, its count included

// Where the `bytes` bytes of a field of `table` are; null if it has none, or `table` is null. The vtable is verified.
__attribute__((noinline)) inline const uint8_t* table_slot(const uint8_t* table, uint32_t field, uint32_t bytes) {
  if (!table) return nullptr;
  const uint8_t* vtable = table - load_unaligned<int32_t>(table);
  uint32_t entry = 4 + 2 * field;
  if (entry >= load_unaligned<uint16_t>(vtable)) return nullptr;  // both are even
  uint32_t offset = load_unaligned<uint16_t>(vtable + entry);
  if (offset == 0 || offset + bytes > load_unaligned<uint16_t>(vtable + 2)) return nullptr;
  return table + offset;
}

class Table {
 public:
  Table() = default;
  // `end`: one past the last byte that a vector of the table may occupy.
  Table(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}

  bool present() const { return at_ != nullptr; }

  // A scalar stored in the table itself.
  template <class T>
  T get(uint32_t field, T default_value) const {
    const uint8_t* p = table_slot(at_, field, sizeof(T));
    return p ? load_unaligned<T>(p) : default_value;
  }
  bool has(uint32_t field) const { return table_slot(at_, field, 1) != nullptr; }

  // A vector of scalars, in place. Empty when absent, outside the file, or not aligned for T.
  template <class T>
  Span<const T> vector(uint32_t field) const {
    const uint8_t* p = elements(field, sizeof(T));
    return {reinterpret_cast<const T*>(p), load_unaligned<uint32_t>(p - 4)};
  }

 private:
  // The first element of a vector; its count stands in the four bytes before. Never null.
  const uint8_t* elements(uint32_t field, uint32_t element_bytes) const {
    if (const uint8_t* p = table_slot(at_, field, 4)) {
      auto room = static_cast<size_t>(end_ - p) - 4;  // the slot is in the file
      uint32_t offset = load_unaligned<uint32_t>(p);
      if (offset <= room) {
        p += offset + 4;
        bool fits = load_unaligned<uint32_t>(p - 4) <= (room - offset) / element_bytes;
        if (fits && reinterpret_cast<uintptr_t>(p) % element_bytes == 0) return p;
      }
    }
    return reinterpret_cast<const uint8_t*>(no_elements + 2);
  }

  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
};

// A byte of the file may be neither 0 nor 1; anything but 0 is true.
template <>
inline bool Table::get<bool>(uint32_t field, bool default_value) const {
  return get<uint8_t>(field, default_value) != 0;
}

}  // namespace linnet
