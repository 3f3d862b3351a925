// Arena: one piece of the caller's memory, two stacks that grow towards each other (David et al. 2020, section 4.4).
// Activations start at the bottom and are as large as the largest network's; what lives as long as an interpreter is
// stacked from the top. Several interpreters may share an Arena: their persistent parts add up, the activation part is
// used by one inference at a time.
#pragma once
#include <stdint.h>

#include "linnet/core/span.h"
#include "linnet/core/status.h"

namespace linnet {

constexpr uint32_t arena_alignment = 16;    // of the activation part
constexpr uint32_t persistent_alignment = 8;  // of each persistent allocation

constexpr uint32_t align_up(uint32_t n, uint32_t alignment) { return (n + alignment - 1) & ~(alignment - 1); }

class Arena {
 public:
  Arena() = default;
  explicit Arena(Span<uint8_t> memory) {
    uintptr_t first = reinterpret_cast<uintptr_t>(memory.data());
    uintptr_t bottom = (first + (arena_alignment - 1)) & ~static_cast<uintptr_t>(arena_alignment - 1);
    uintptr_t top = (first + memory.size()) & ~static_cast<uintptr_t>(persistent_alignment - 1);
    bottom_ = memory.data() + (bottom - first);
    size_ = top > bottom ? static_cast<uint32_t>(top - bottom) : 0;
    padding_ = static_cast<uint32_t>(bottom - first);
  }

  uint8_t* bottom() const { return bottom_; }
  // What is left between the activations of the networks so far and the persistent stack.
  uint32_t free_bytes() const { return size_ - persistent_bytes_; }
  // Bytes lost at the caller's end because its memory is not 16-aligned.
  uint32_t padding_bytes() const { return padding_; }
  uint32_t persistent_bytes() const { return persistent_bytes_; }
  uint32_t activation_bytes() const { return activation_bytes_; }

  // Takes `persistent` bytes from the top beside `activation` bytes at the bottom. `where.bytes` becomes the size that the
  // caller's memory must have.
  __attribute__((noinline)) Status reserve(uint32_t activation, uint32_t persistent, uint8_t** at, Where& where) {
    persistent = align_up(persistent, persistent_alignment);
    activation = align_up(activation, persistent_alignment);
    uint64_t activations = activation > activation_bytes_ ? activation : activation_bytes_;
    uint64_t need = activations + persistent_bytes_ + persistent;
    if (need > size_) {
      uint64_t with_padding = need + padding_;
      where.bytes = with_padding > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(with_padding);
      return LINNET_ERROR(out_of_memory, "the arena is too small");
    }
    activation_bytes_ = static_cast<uint32_t>(activations);
    persistent_bytes_ += persistent;
    *at = bottom_ + size_ - persistent_bytes_;
    return {};
  }

  // Undoes the latest reserve, as far as the persistent part goes.
  void take_back(uint32_t persistent) { persistent_bytes_ -= align_up(persistent, persistent_alignment); }

  // The inference in progress: only its owner may continue until it releases the arena.
  bool acquire(const void* user) {
    if (user_ && user_ != user) return false;
    user_ = user;
    return true;
  }
  void release() { user_ = nullptr; }
  bool in_use() const { return user_ != nullptr; }

 private:
  uint8_t* bottom_ = nullptr;
  uint32_t size_ = 0;
  uint32_t padding_ = 0;
  uint32_t persistent_bytes_ = 0;
  uint32_t activation_bytes_ = 0;
  const void* user_ = nullptr;
};

}  // namespace linnet
