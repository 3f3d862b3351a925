// Memory that is taken once and of which AddressSanitizer lets nobody touch more than a harness says at the time; and how a
// harness tells what it has found itself.
#pragma once
#include <sanitizer/asan_interface.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "linnet/core/span.h"

namespace linnet::fuzz {

// What a harness found itself.
[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}
inline void require(bool holds, const char* what) {
  if (!holds) fail(what);
}

class WatchedMemory {
 public:
  explicit WatchedMemory(size_t capacity) : capacity_(capacity) {
    void* memory;
    if (posix_memalign(&memory, 64, capacity)) std::abort();
    data_ = static_cast<uint8_t*>(memory);
    std::memset(data_, 0x5A, capacity);
  }
  ~WatchedMemory() {
    __asan_unpoison_memory_region(data_, capacity_);
    std::free(data_);
  }
  WatchedMemory(const WatchedMemory&) = delete;
  WatchedMemory& operator=(const WatchedMemory&) = delete;

  size_t capacity() const { return capacity_; }
  uint8_t* data() const { return data_; }

  // The first `bytes` may be touched.
  Span<uint8_t> open(size_t bytes) {
    if (bytes > capacity_) std::abort();
    __asan_unpoison_memory_region(data_, capacity_);
    __asan_poison_memory_region(data_ + bytes, capacity_ - bytes);
    return {data_, bytes};
  }
  Span<uint8_t> open_all() { return open(capacity_); }
  Span<const uint8_t> hold(const uint8_t* bytes, size_t count) {
    Span<uint8_t> opened = open(count);
    if (count) std::memcpy(opened.data(), bytes, count);
    return opened;
  }
  void fill(uint8_t value) {
    open_all();
    std::memset(data_, value, capacity_);
  }
  // What lies between the first bytes and the last may not be touched: an arena between its two stacks.
  void close_middle(size_t first, size_t last) {
    if (first + last < capacity_) __asan_poison_memory_region(data_ + first, capacity_ - first - last);
  }

 private:
  size_t capacity_;
  uint8_t* data_;
};

}  // namespace linnet::fuzz
