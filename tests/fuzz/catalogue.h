// Every operator and kernel, compiled once for all fuzzers.
#pragma once
#include "linnet/kernels/table.h"

namespace linnet::fuzz {

// What tables leave out.
struct KernelAnswers {
  Cost (*cost)(const void* params);
  Lag (*lag)(const void* params, int input, int output);
};

struct Kernels {
  const KernelTable* table;      // with loop nests
  const KernelAnswers* answers;  // one per kernel
};

const BuildTable& build_table();
Kernels all_kernels();       // those of build_table()
Kernels numbered_kernels();  // the same by kernel_numbers.h; all other numbers refuse whatever parameters they are given

// Multiply-accumulates, other operations and bytes of one run of a Program that has passed its check, each nest for at most
// `most_rounds` rounds. Harnesses leave alone what would take too long.
uint64_t work_of(const uint8_t* program, const Kernels& kernels, uint64_t most_rounds);

}  // namespace linnet::fuzz
