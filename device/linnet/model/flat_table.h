// FlatTable: a table of a verified file. What Table (core/table.h) checks at each access, StructureVerifier has proven for
// every field that schema.h lists, so a FlatTable is one pointer, steps to other tables, and only for this folder.
#pragma once
#include <stdint.h>

#include "linnet/core/table.h"

namespace linnet {

class FlatTable {
 public:
  FlatTable() = default;
  explicit FlatTable(const uint8_t* at) : at_(at) {}

  const uint8_t* at() const { return at_; }  // null: absent, every field has its default

  template <class T>
  T get(uint32_t field, T default_value) const {
    const uint8_t* p = table_slot(at_, field, sizeof(T));
    return p ? load_unaligned<T>(p) : default_value;
  }
  bool has(uint32_t field) const { return table_slot(at_, field, 1) != nullptr; }
  template <class T>
  Span<const T> vector(uint32_t field) const {
    const uint8_t* p = elements(field);
    return {reinterpret_cast<const T*>(p), load_unaligned<uint32_t>(p - 4)};
  }
  const char* string(uint32_t field) const { return reinterpret_cast<const char*>(elements(field)); }  // "" if absent
  FlatTable table(uint32_t field) const {
    const uint8_t* p = table_slot(at_, field, 4);
    return FlatTable(p ? p + load_unaligned<uint32_t>(p) : nullptr);
  }

  // A vector of tables; an element out of range is absent.
  uint32_t count(uint32_t field) const { return load_unaligned<uint32_t>(elements(field) - 4); }
  __attribute__((noinline)) FlatTable element(uint32_t field, uint32_t i) const {
    const uint8_t* p = elements(field);
    if (i >= load_unaligned<uint32_t>(p - 4)) return {};
    p += 4 * size_t(i);
    return FlatTable(p + load_unaligned<uint32_t>(p));
  }

 private:
  // The first element of a vector; its count stands in the four bytes before. Never null.
  __attribute__((noinline)) const uint8_t* elements(uint32_t field) const {
    const uint8_t* p = table_slot(at_, field, 4);
    return p ? p + load_unaligned<uint32_t>(p) + 4 : reinterpret_cast<const uint8_t*>(no_elements + 2);
  }

  const uint8_t* at_ = nullptr;
};

template <>
inline bool FlatTable::get<bool>(uint32_t field, bool default_value) const {
  return get<uint8_t>(field, default_value) != 0;
}

}  // namespace linnet
