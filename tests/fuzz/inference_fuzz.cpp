// Fuzzes the whole path: a damaged model is refused by the reader, by the operators or by the builder; or the Program that
// was built passes the Program check, and inferences of it stay inside the model and the arena (AddressSanitizer watches
// their ends), end, and give the same whatever was in the arena before.
#include "linnet/build/builder.h"
#include "tests/fuzz/catalogue.h"
#include "tests/fuzz/model_mutator.h"
#include "tests/fuzz/watched_memory.h"

namespace {

using namespace linnet;
using fuzz::require;

// Memory bounds the work that a hostile operator can ask for, `most_work` that of all.
constexpr size_t largest_file = 8192, arena_bytes = 6144;
constexpr uint64_t most_work = 300000;

fuzz::WatchedMemory file(largest_file), arena(arena_bytes);

// A float around 0.2 in any type.
void fill_inputs(Interpreter& net) {
  for (uint32_t i = 0; i < net.input_count(); ++i) std::memset(net.input(i).data<uint8_t>(), 0x3E, net.input(i).bytes());
}

std::vector<uint8_t> outputs_of(Interpreter& net) {
  std::vector<uint8_t> all;
  for (uint32_t i = 0; i < net.output_count(); ++i)
    all.insert(all.end(), net.output(i).data<uint8_t>(), net.output(i).data<uint8_t>() + net.output(i).bytes());
  return all;
}

// Empty if the network is refused or too much work.
std::vector<uint8_t> infer(const Model& model, uint8_t before) {
  arena.fill(before);
  Interpreter net;
  if (!net.init(model, fuzz::build_table(), arena.open_all()).ok()) return {};
  Where where;
  Bytes program(net.program(), header_of(net.program()).file_bytes);
  Status check = ProgramCheck(program, *fuzz::build_table().kernels, static_cast<uint32_t>(model.file().size())).run(where);
  require(check.ok(), check.text());
  if (fuzz::work_of(program.data(), fuzz::all_kernels(), 1) > most_work) return {};
  arena.close_middle(align_up(net.activation_bytes(), persistent_alignment), net.persistent_bytes());
  fill_inputs(net);
  require(net.run().ok(), "an inference fails");
  return outputs_of(net);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > largest_file) return 0;
  Model model;
  Where where;
  if (!Model::open(file.hold(data, size), model, where).ok()) return 0;
  std::vector<uint8_t> outputs = infer(model, 0x5A);
  if (!outputs.empty()) require(infer(model, 0xC3) == outputs, "the outputs depend on what was in the arena before");
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return linnet::fuzz::mutate_model(data, size, max_size, seed, 10);
}
