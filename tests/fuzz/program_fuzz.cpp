// Fuzzes Programs: whatever the bytes, Interpreter::init refuses them, or an inference stays inside the memory that the
// Program has said it takes (AddressSanitizer watches the ends of each piece) and ends.
#include <algorithm>

#include "linnet/engine/interpreter.h"
#include "linnet/storage/ram_device.h"
#include "tests/fuzz/callers_buffers.h"
#include "tests/fuzz/catalogue.h"
#include "tests/fuzz/kernel_numbers.h"
#include "tests/fuzz/program_mutator.h"
#include "tests/fuzz/watched_memory.h"

namespace {

using namespace linnet;

// Large enough for parameters that lead far away; `most_work` and `most_steps` bound the time that they can ask for.
constexpr size_t largest_program = 8192, arena_bytes = 1 << 20, caller_bytes = 256;
constexpr uint64_t most_work = 500000;
constexpr int most_steps = 300;

fuzz::WatchedMemory program(largest_program), arena(arena_bytes), arena2(512), model(4096), storage(8192);
fuzz::CallersBuffers callers(caller_bytes);

// Reads and writes what a user may read and write.
void fill(const Tensor& tensor, uint8_t value) { std::memset(tensor.data<uint8_t>(), value, tensor.bytes()); }
uint32_t sum(const Tensor& tensor) {
  uint32_t total = static_cast<uint32_t>(tensor.dims().size());
  for (uint32_t i = 0; i < tensor.bytes(); ++i) total += tensor.data<uint8_t>()[i];
  return total;
}

const fuzz::Kernels& kernels() {
  static const fuzz::Kernels numbered = fuzz::numbered_kernels();
  return numbered;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < sizeof(Header) || size > largest_program) return 0;
  Bytes bytes = program.hold(data, size);
  const Header& header = header_of(bytes.data());
  if (header.storage_bytes > storage.capacity()) return 0;
  Resources resources;
  resources.arena2 = arena2.open(std::min<size_t>(header.arena2_bytes, arena2.capacity()));
  resources.model = model.open(std::min<size_t>(header.model_bytes, model.capacity()));
  RamDevice device(storage.open(header.storage_bytes));
  resources.storage = &device.device();
  Interpreter net;
  if (!net.init(bytes, *kernels().table, arena.open_all(), resources).ok()) return 0;
  if (fuzz::work_of(bytes.data(), kernels(), most_steps) > most_work) return 0;
  arena.close_middle(align_up(net.activation_bytes(), persistent_alignment), net.persistent_bytes());
  if (!callers.bind(net)) return 0;
  for (uint32_t i = 0; i < net.input_count(); ++i)
    if (net.input(i).data<uint8_t>()) fill(net.input(i), static_cast<uint8_t>(0x3E + i));
  int step = 0;
  while (step < most_steps && net.step() == Progress::more) ++step;
  net.cancel();
  volatile uint32_t total = 0;
  for (uint32_t i = 0; i < net.output_count(); ++i)
    if (net.output(i).data<uint8_t>()) total = total + sum(net.output(i));
  net.reset();
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const std::vector<uint16_t> numbers = [] {
    std::vector<uint16_t> known;
    for (uint32_t k = 0; k < fuzz::kernel_numbers; ++k)
      if (kernels().table->kernels[k].run) known.push_back(static_cast<uint16_t>(k));
    return known;
  }();
  return fuzz::ProgramMutator(data, size, max_size, seed, numbers).run();
}
