// The head of an input of kernel_fuzz; the kernel's parameters follow.
#pragma once
#include <cstdint>

namespace linnet::fuzz {

struct KernelSeed {
  enum Flag : uint8_t { down = 1, first = 2, last = 4 };
  uint16_t kernel;   // kernel_numbers.h
  uint8_t operands;
  uint8_t flags;
  uint32_t absent;   // of the operands that may be; a bit each
  uint32_t numbers;  // what the operands contain follows from it
  uint8_t out[4][2];        // of a block: where each axis begins and how much of it, in 1/256 of the whole
  uint8_t reduction[3][2];
  uint8_t reserved[2];
};
static_assert(sizeof(KernelSeed) == 28);

}  // namespace linnet::fuzz
