// Fuzzes plans: the builder refuses a plan, or the network computes with it what it computes without one, inside its arena.
// The first two bytes name one of networks.h, the next two say what the caller owns (1: inputs, 2: outputs), the rest is the
// plan as it stands in a .tflite.
#include <map>

#include "linnet/build/builder.h"
#include "tests/fuzz/callers_buffers.h"
#include "tests/fuzz/catalogue.h"
#include "tests/fuzz/model_mutator.h"
#include "tests/fuzz/networks.h"
#include "tests/fuzz/watched_memory.h"

namespace {

using namespace linnet;
using fuzz::require;

constexpr size_t largest_plan = 2048, largest_arena = 4096, room = 4096;  // room: for the Program

constexpr size_t head_bytes = 4, plan_head_bytes = 24;

fuzz::WatchedMemory plan_bytes(largest_plan), arena(largest_arena + room);
fuzz::CallersBuffers callers(512);

struct Case {
  std::vector<uint8_t> file;
  Model model;
  std::vector<uint8_t> outputs;  // of two inferences without a plan
};

// Small numbers whatever the type, others in the second inference.
void fill_inputs(Interpreter& net, uint32_t round) {
  for (uint32_t i = 0; i < net.input_count(); ++i) {
    bool real = net.input(i).type() == Type::float32;
    for (uint32_t b = 0; b < net.input(i).bytes(); ++b)
      net.input(i).data<uint8_t>()[b] = static_cast<uint8_t>(real && b % 4 == 3 ? 0x3f : real && b % 4 == 2 ? b * 9 + round : b * 7 + round);
    if (net.input(i).type() == Type::boolean) net.input(i).data<uint8_t>()[0] = static_cast<uint8_t>(round);
  }
}

// Two inferences; nothing if init refuses.
std::vector<uint8_t> run(const Model& model, const BuildOptions& options) {
  std::vector<uint8_t> outputs;
  arena.fill(0x5A);
  Interpreter net;
  if (!net.init(model, fuzz::build_table(), arena.open_all(), options).ok()) return outputs;
  arena.close_middle(align_up(net.activation_bytes(), persistent_alignment), net.persistent_bytes());
  require(callers.bind(net), "a tensor is too large");
  for (uint32_t round = 0; round < 2; ++round) {
    fill_inputs(net, round);
    require(net.run().ok(), "an inference fails");
    for (uint32_t i = 0; i < net.output_count(); ++i)
      outputs.insert(outputs.end(), net.output(i).data<uint8_t>(), net.output(i).data<uint8_t>() + net.output(i).bytes());
  }
  return outputs;
}

std::map<uint16_t, Case> make_cases() {
  std::map<uint16_t, Case> made;
  for (fuzz::SmallNetwork& network : fuzz::small_networks()) {
    auto [at, added] = made.emplace(network.number(), Case{});
    Case& c = at->second;
    c.file = std::move(network.file);
    Where where;
    require(added && Model::open({c.file.data(), c.file.size()}, c.model, where).ok(), network.name.c_str());
    c.outputs = run(c.model, {});
    require(!c.outputs.empty(), network.name.c_str());
  }
  return made;
}
const std::map<uint16_t, Case>& cases() {
  static const auto made = new std::map(make_cases());
  return *made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < head_bytes || size - head_bytes > largest_plan) return 0;
  auto found = cases().find(fuzz::load<uint16_t>(data));
  if (found == cases().end()) return 0;
  const Case& c = found->second;
  Plan plan;
  if (!Plan::read(plan_bytes.hold(data + head_bytes, size - head_bytes), plan).ok() || plan.arena_bytes > largest_arena) return 0;
  BuildOptions options;
  options.plan = &plan;
  options.caller_inputs = (data[2] & 1) != 0;
  options.caller_outputs = (data[2] & 2) != 0;
  std::vector<uint8_t> outputs = run(c.model, options);
  require(outputs.empty() || outputs == c.outputs, "a plan was accepted that spoils the result");
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  fuzz::Random random(seed);
  if (size < head_bytes + plan_head_bytes || random(12) == 0) return LLVMFuzzerMutate(data, size, max_size);
  if (random(20) == 0) data[2] = static_cast<uint8_t>(random(4));
  auto word = [&] { return data + head_bytes + 4 * random((size - head_bytes) / 4); };
  for (uint32_t rounds = 1 + random(3); rounds; --rounds) {
    uint8_t* at = word();
    auto value = fuzz::load<uint32_t>(at);
    switch (random(8)) {
      case 0: fuzz::store(at, value ^ 1u << random(32)); break;
      case 1: fuzz::store(at, fuzz::odd_word(random, value, size)); break;
      case 2: fuzz::store(at, fuzz::load<uint32_t>(word())); break;  // where another one lies
      case 3: fuzz::store(at, static_cast<uint16_t>(random(40))); break;
      default: fuzz::store(at, value + (random(2) ? 8 : 1) * (random(33) - 16)); break;  // a little to either side
    }
  }
  return size;
}
