// Fuzzes Programs: whatever the bytes, Interpreter::init refuses them or running them stays inside the arena (whose end
// AddressSanitizer watches) and ends.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "linnet/engine/interpreter.h"
#include "linnet_catalogue.h"
#include "tests/fuzz/model_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace linnet;

template <class L>
struct TableOf;
template <class... K>
struct TableOf<List<K...>> : Kernels<K...> {};

const KernelTable& table() { return TableOf<all::Kernels>::table; }

constexpr size_t arena_bytes = 2048;  // more would let hostile parameters ask for minutes of work
constexpr size_t hash_at = offsetof(Header, kernels_hash);

struct Aligned {
  explicit Aligned(size_t bytes) {
    if (posix_memalign(&memory, 16, bytes ? bytes : 1)) std::abort();
  }
  ~Aligned() { std::free(memory); }
  void* memory = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Aligned program(size), arena(arena_bytes);
  if (size) std::memcpy(program.memory, data, size);
  std::memset(arena.memory, 0x5A, arena_bytes);
  // Kernels come and go; the corpus stays useful because the hash is put right here.
  if (size >= sizeof(Header)) std::memcpy(static_cast<uint8_t*>(program.memory) + hash_at, &table().hash, 4);
  static uint8_t callers[max_caller_regions][64];
  Interpreter net;
  Status status = net.init({static_cast<uint8_t*>(program.memory), size}, table(), {static_cast<uint8_t*>(arena.memory), arena_bytes});
  if (!status.ok()) return 0;
  for (uint32_t i = 0; i < net.input_count() && i < max_caller_regions; ++i) (void)net.bind_input(i, callers[i], net.input(i).bytes());
  for (int step = 0; step < 200; ++step)
    if (net.step() != Progress::more) break;
  net.cancel();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random{seed * 0x9e3779b97f4a7c15u + 1};
  random(2);
  if (size < sizeof(Header) || random(10) == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t rounds = 1 + random(3); rounds; --rounds) {
    uint8_t* word = data + 4 * random(size / 4);
    uint32_t value;
    std::memcpy(&value, word, 4);
    switch (random(5)) {
      case 0: data[random(size)] = static_cast<uint8_t>(random(32)); continue;  // a kind, region, role or count
      case 1: std::memcpy(word, data + 4 * random(size / 4), 4); continue;
      case 2: value = static_cast<uint32_t>(size) - random(64); break;
      default: value = odd_number(random, value, size);
    }
    std::memcpy(word, &value, 4);
  }
  return size;
}
