// Fuzzes the whole path: a damaged model is refused by the reader, by the operators or by the builder, or one inference of
// it stays inside its arena; and the Program that was built passes the Program check.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "linnet/build/builder.h"
#include "linnet_catalogue.h"
#include "tests/fuzz/model_mutator.h"

namespace {

using namespace linnet;

const BuildTable& table() { return Build<all::Kernels, all::Operators>::table; }

constexpr size_t arena_bytes = 8192;  // bounds the work that a hostile model can ask for

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  void *file = nullptr, *arena = nullptr;
  if (posix_memalign(&file, 16, size ? size : 1) || posix_memalign(&arena, 16, arena_bytes)) std::abort();
  if (size) std::memcpy(file, data, size);
  std::memset(arena, 0x5A, arena_bytes);
  Bytes bytes(static_cast<const uint8_t*>(file), size);
  Model model;
  Where where;
  Interpreter net;
  if (Model::open(bytes, model, where).ok() && net.init(model, table(), Span<uint8_t>(static_cast<uint8_t*>(arena), arena_bytes)).ok()) {
    Bytes program(net.program(), header_of(net.program()).file_bytes);
    if (!ProgramCheck(program, *table().kernels, static_cast<uint32_t>(size)).run(where).ok()) std::abort();
    for (uint32_t i = 0; i < net.input_count(); ++i) std::memset(net.input(i).data<uint8_t>(), 0x3E, net.input(i).bytes());
    if (!net.run().ok()) std::abort();
  }
  std::free(arena);
  std::free(file);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return mutate_model(data, size, max_size, seed, 10);
}
