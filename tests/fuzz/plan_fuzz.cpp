// Fuzzes plans: the builder refuses a plan or the network computes with it what it computes without one, inside its arena.
// The first byte chooses one of a few networks, the rest is the plan as it stands in a .tflite.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "linnet/build/builder.h"
#include "linnet_catalogue.h"
#include "tests/fuzz/model_mutator.h"
#include "tests/fuzz/networks.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace linnet;

const BuildTable& table() { return Build<all::Kernels, all::Operators>::table; }

struct Case {
  std::vector<uint8_t> file;
  Model model;
  std::vector<std::vector<uint8_t>> outputs;  // of two inferences without a plan
};

constexpr size_t largest_arena = 16384;

// Two inferences with inputs made up from their position; empty outputs if init refuses.
std::vector<std::vector<uint8_t>> run(const Model& model, const BuildOptions& options, size_t arena_bytes) {
  std::vector<std::vector<uint8_t>> outputs;
  void* memory = nullptr;
  if (posix_memalign(&memory, 16, arena_bytes)) std::abort();
  std::memset(memory, 0x5A, arena_bytes);
  Interpreter net;
  if (net.init(model, table(), Span<uint8_t>(static_cast<uint8_t*>(memory), arena_bytes), options).ok())
    for (int round = 0; round < 2; ++round) {
      for (uint32_t i = 0; i < net.input_count(); ++i)
        for (uint32_t b = 0; b < net.input(i).bytes(); ++b)  // small numbers whatever the type
          net.input(i).data<uint8_t>()[b] = net.input(i).type() == Type::float32 ? static_cast<uint8_t>(b % 4 == 3 ? 0x3f : b) : static_cast<uint8_t>(b * 7 + static_cast<uint32_t>(round));
      if (!net.run().ok()) std::abort();
      for (uint32_t i = 0; i < net.output_count(); ++i)
        outputs.emplace_back(net.output(i).data<uint8_t>(), net.output(i).data<uint8_t>() + net.output(i).bytes());
    }
  std::free(memory);
  return outputs;
}

std::vector<Case>& cases() {
  static std::vector<Case> all = [] {
    std::vector<Case> made;
    for (std::vector<uint8_t>& file : fuzz::small_networks()) {
      Case& c = made.emplace_back();
      c.file = std::move(file);
      Where where;
      if (!Model::open({c.file.data(), c.file.size()}, c.model, where).ok()) std::abort();
    }
    for (Case& c : made) {
      c.outputs = run(c.model, {}, largest_arena);
      if (c.outputs.empty()) std::abort();
    }
    return made;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const Case& c = cases()[data[0] % cases().size()];
  std::vector<uint32_t> words((size + 3) / 4);
  std::memcpy(words.data(), data + 1, size - 1);
  Plan plan;
  if (!Plan::read({reinterpret_cast<const uint8_t*>(words.data()), size - 1}, plan).ok()) return 0;
  if (plan.arena_bytes > largest_arena) return 0;
  BuildOptions options;
  options.plan = &plan;
  std::vector<std::vector<uint8_t>> outputs = run(c.model, options, 2 * largest_arena);
  if (!outputs.empty() && outputs != c.outputs) std::abort();  // a plan was accepted that spoils the result
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random{seed * 0x9e3779b97f4a7c15u + 1};
  random(2);
  if (size < 29 || random(10) == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t rounds = 1 + random(3); rounds; --rounds) {
    uint8_t* word = data + 1 + 4 * random((size - 1) / 4);
    uint32_t value;
    std::memcpy(&value, word, 4);
    switch (random(6)) {
      case 0: value ^= 1u << random(32); break;
      case 1: value = odd_number(random, value, size); break;
      case 2: std::memcpy(&value, data + 1 + 4 * random((size - 1) / 4), 4); break;
      default: value += 4 * (random(33) - 16); break;  // offsets a little to either side
    }
    std::memcpy(word, &value, 4);
  }
  return size;
}
