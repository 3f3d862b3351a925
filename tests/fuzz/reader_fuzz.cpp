// Fuzzes Model::open: whatever the bytes, it refuses them or every accessor keeps its promises (walk_model.h).
//
// Built with clang, -fsanitize=fuzzer,address,undefined; changes files as model_mutator.h does.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/model_mutator.h"
#include "tests/fuzz/walk_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Aligned as open asks for, and not a byte longer than the file, so that reading past its end is seen.
  void* memory = nullptr;
  if (posix_memalign(&memory, linnet::Model::file_alignment, size ? size : 1)) return 0;
  if (size) std::memcpy(memory, data, size);
  linnet::Model model;
  linnet::Where where;
  linnet::Status status = linnet::Model::open({static_cast<const uint8_t*>(memory), size}, model, where);
  if (status.ok()) {
    linnet::promise(where.subgraph == -1 && where.node == -1 && where.tensor == -1, "success is about nothing");
    volatile uint64_t sum = linnet::walk(model);
    (void)sum;
  } else {
    linnet::promise(model.file().empty(), "a refused file leaves the model alone");
  }
  std::free(memory);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return linnet::fuzz::mutate_model(data, size, max_size, seed, 50);
}
