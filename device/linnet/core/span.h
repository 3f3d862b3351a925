// Span: a pointer and a count. The element type carries constness; nothing is owned.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace linnet {

template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <size_t n>
  constexpr Span(T (&array)[n]) : data_(array), size_(n) {}  // NOLINT: implicit on purpose
  template <class U, class = decltype(static_cast<T*>(static_cast<U*>(nullptr)))>
  constexpr Span(Span<U> other) : data_(other.data()), size_(other.size()) {}  // NOLINT: T* to const T*

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](size_t i) const { return data_[i]; }  // not checked: whoever holds a Span has checked
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr Span subspan(size_t first, size_t count) const { return {data_ + first, count}; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

using Bytes = Span<const uint8_t>;

}  // namespace linnet
