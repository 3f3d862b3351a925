// Kernels by their names. A Program means kernels by their place in a table, and every new kernel changes the places of
// others; seeds of program_fuzz mean them by numbers that stay.
#pragma once
#include "linnet/engine/program.h"
#include "linnet/kernels/table.h"

namespace linnet::fuzz {

constexpr uint32_t kernel_numbers = step_walks_down;  // all that a step can say
constexpr uint32_t numbered_hash = 0x46555A5A;        // of the table of kernels by number

constexpr uint16_t kernel_number(const char* set, const char* computation) {
  uint32_t hash = hash_kernel_names(set, computation, 0, hash_seed);
  return static_cast<uint16_t>((hash ^ hash >> 15) % kernel_numbers);
}

}  // namespace linnet::fuzz
