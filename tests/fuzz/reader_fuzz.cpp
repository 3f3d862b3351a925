// Fuzzes Model::open: whatever the bytes, it refuses them or every accessor keeps its promises (walk_model.h).
//
// Built with clang, -fsanitize=fuzzer,address,undefined. Random bytes seldom get past the first offsets, so the mutator
// knows two things about flatbuffers: that interesting words are 32-bit, aligned, small numbers or distances to other
// words, and that vtables are made of 16-bit ones.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/walk_model.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

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

namespace {

struct Random {
  uint64_t state;
  uint32_t operator()(size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state >> 33) % below);
  }
};

template <class T>
T load(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void store(uint8_t* p, T value) { std::memcpy(p, &value, sizeof value); }

uint32_t odd_number(Random& random, uint32_t old, size_t size) {
  constexpr uint32_t edges[] = {0, 1, 2, 3, 4, 127, 128, 255, 2048, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff, 0x7f800000};
  switch (random(5)) {
    case 0: return edges[random(sizeof edges / 4)];
    case 1: return old + random(9) - 4;
    case 2: return static_cast<uint32_t>(size) - random(20);
    case 3: return random(64);
    default: return old ^ 1u << random(32);
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random{seed * 0x9e3779b97f4a7c15u + 1};
  random(2);
  if (size < 32 || random(8) == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t rounds = 1 + random(3); rounds; --rounds) {
    uint8_t* word = data + 4 * random(size / 4);
    switch (random(8)) {
      case 0: case 1: case 2:
        store(word, odd_number(random, load<uint32_t>(word), size));
        break;
      case 3: {  // lead to another place, often one that something else leads to
        auto from = static_cast<uint32_t>(word - data);
        store(word, 4 * random(size / 4) - from);
        break;
      }
      case 4: {
        uint8_t* half = data + 2 * random(size / 2);
        store(half, static_cast<uint16_t>(random(2) ? 2 * random(40) : odd_number(random, load<uint16_t>(half), size)));
        break;
      }
      case 5: {  // swap two words
        uint8_t* other = data + 4 * random(size / 4);
        auto a = load<uint32_t>(word), b = load<uint32_t>(other);
        store(word, b);
        store(other, a);
        break;
      }
      case 6:
        data[random(size)] = static_cast<uint8_t>(random(256));
        break;
      default: {  // copy a run of words
        size_t words = 1 + random(8), at = 4 * random(size / 4);
        size_t to = static_cast<size_t>(word - data);
        if (at + 4 * words <= size && to + 4 * words <= size) std::memmove(data + to, data + at, 4 * words);
      }
    }
  }
  return random(50) ? size : size - random(size / 2);
}
