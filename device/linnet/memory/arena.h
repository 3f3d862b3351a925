// Arena: one piece of the caller's memory, two stacks that grow towards each other (David et al. 2020, section 4.4).
// Activations start at the bottom and are as large as the largest network's; what lives as long as an interpreter is
// stacked from the top. Several interpreters may share an Arena, in any order of init:
//
//   bytes = largest activation part, rounded up to 8 + sum of the persistent parts, each rounded up to 8
//           (+ 15 if the memory is not 16-aligned)
//
// Variables and Programs built on the device are in the persistent parts and keep their contents whatever the others do.
// Inputs and outputs are activations: an inference of another network (or its init) overwrites them.
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
  // What is left below the persistent stack.
  uint32_t free_bytes() const { return size_ - persistent_bytes_; }
  // Bytes lost at the caller's end because its memory is not 16-aligned.
  uint32_t padding_bytes() const { return padding_; }
  uint32_t persistent_bytes() const { return persistent_bytes_; }
  uint32_t activation_bytes() const { return activation_bytes_; }

  // What one interpreter has of the arena.
  struct Share {
    uint32_t persistent_bytes = 0;
    uint32_t activations_before = 0;  // of those that came earlier
    uint16_t place = 0;               // in the stack, from 1; 0: it has nothing
  };

  // Takes `persistent` bytes from the top beside `activation` bytes at the bottom. `where.bytes` becomes the size that the
  // caller's memory must have.
  __attribute__((noinline)) Status reserve(uint32_t activation, uint32_t persistent, Share& share, uint8_t** at, Where& where) {
    persistent = align_up(persistent, persistent_alignment);
    activation = align_up(activation, persistent_alignment);
    uint64_t activations = activation > activation_bytes_ ? activation : activation_bytes_;
    uint64_t need = activations + persistent_bytes_ + persistent;
    if (need > size_) {
      uint64_t with_padding = need + padding_;
      where.bytes = with_padding > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(with_padding);
      return LINNET_ERROR(out_of_memory, "the arena is too small");
    }
    ++sharers_;
    share = {persistent, activation_bytes_, ++stacked_};
    activation_bytes_ = static_cast<uint32_t>(activations);
    persistent_bytes_ += persistent;
    *at = bottom_ + size_ - persistent_bytes_;
    return {};
  }

  // Undoes reserve: at once for the latest share, and for the others together when nobody has one any more.
  __attribute__((noinline)) void take_back(Share& share) {
    if (share.place == 0) return;
    if (--sharers_ == 0) {
      stacked_ = 0;
      persistent_bytes_ = activation_bytes_ = 0;
      is_exclusive_ = false;
    } else if (share.place == stacked_) {
      --stacked_;
      persistent_bytes_ -= share.persistent_bytes;
      activation_bytes_ = share.activations_before;
    }
    share = {};
  }

  // For a network that keeps state among its activations: it cannot share. False if it does already.
  bool make_exclusive() { return is_exclusive_ = sharers_ == 1; }
  bool is_exclusive() const { return is_exclusive_; }

  // The inference in progress: only its owner may continue until it releases the arena. Where the core has atomic
  // instructions, one of two that begin at the same moment, in tasks or interrupts, is refused, too.
  bool acquire(const void* user) {
    const void* owner = nullptr;
    if constexpr (__atomic_always_lock_free(sizeof(void*), nullptr)) {
      return __atomic_compare_exchange_n(&user_, &owner, user, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) || owner == user;
    } else {
      if (user_ && user_ != user) return false;
      user_ = user;
      return true;
    }
  }
  void release(const void* user) {
    if (user_ != user) return;
    if constexpr (__atomic_always_lock_free(sizeof(void*), nullptr)) __atomic_store_n(&user_, nullptr, __ATOMIC_RELEASE);
    else user_ = nullptr;
  }
  bool in_use() const { return user_ != nullptr; }

 private:
  uint8_t* bottom_ = nullptr;
  uint32_t size_ = 0;
  uint32_t padding_ = 0;
  uint32_t persistent_bytes_ = 0;
  uint32_t activation_bytes_ = 0;
  uint16_t sharers_ = 0;
  uint16_t stacked_ = 0;  // shares, with those whose owner has gone below others
  bool is_exclusive_ = false;
  const void* user_ = nullptr;
};

}  // namespace linnet
