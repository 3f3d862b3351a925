// Promises about size and start-up on Cortex-M4, measured on the linked firmware and under the counting emulator. The
// table is printed each time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "linnet/board/artifacts.h"
#include "linnet/board/count.h"
#include "linnet/graph/network_builder.h"
#include "linnet/run/catalogue.h"
#include "tests/support/models.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using board::ElfImage;
using board::ElfSymbol;

// Which part of the system a function belongs to, by its name.
enum Part { operators, engine, from_file, start_up, parts };
const char* const part_names[] = {"operators and kernels", "engine with Program check", "reader, builder, planner", "start-up, main"};

Part part_of(const std::string& name) {
  auto has = [&](const char* text) { return name.find(text) != std::string::npos; };
  // Node is what infer and lower see of an operator; they are counted with the operators.
  if (has("linnet::ops::") || has("linnet::Node::") || has("listed_tensor") || has("TensorView") || has("exp_of") || has("reciprocal") ||
      has("saturating_rounding") || has("rounding_divide") || has("linnet::real(") || has("linnet::round_to_int") || has("linnet::to_single") || has("linnet::detail::") || has("multiply_by_quantized") || has("linnet::Build<") ||
      has("linnet::Kernels<") || has("linnet::divide") || has("linnet::quantize_") || has("linnet::QuotientMultiplier") || has("linnet::operator*"))
    return operators;
  if (has("linnet::Interpreter::init(linnet::Model")) return from_file;
  if (has("linnet::Interpreter") || has("linnet::ProgramCheck") || has("linnet::Arena")) return engine;
  if (has("linnet::port::")) return start_up;
  if (has("linnet::")) return from_file;
  return start_up;
}

struct Sizes {
  uint32_t part[parts] = {};
  uint32_t flash;
};

Sizes measure(const char* firmware) {
  ElfImage image = ElfImage::read(board::find_firmware(firmware, "mps2-an386"));
  Sizes sizes;
  for (const ElfSymbol& f : image.functions()) sizes.part[part_of(f.name)] += f.bytes;
  sizes.flash = image.flash_bytes();
  uint32_t named = 0;
  for (uint32_t bytes : sizes.part) named += bytes;
  fmt::print("{:<28}{:>8}\n", firmware, sizes.flash);
  for (int p = 0; p < parts; ++p) fmt::print("  {:<26}{:>8}\n", part_names[p], sizes.part[p]);
  fmt::print("  {:<26}{:>8}\n", "constants, vectors", sizes.flash - named);
  return sizes;
}

TEST(Budget, FirmwareForPersonDetectFromTheBareFile) {
  Sizes sizes = measure("budget-bare");
  EXPECT_LE(sizes.flash, 22u * 1024);
  EXPECT_LE(sizes.part[from_file], 8u * 1024);
}

TEST(Budget, FirmwareForPersonDetectWithTheProgramInFlash) {
  Sizes sizes = measure("budget-ready");
  EXPECT_LE(sizes.flash, 11u * 1024);
  EXPECT_LE(sizes.part[engine], 3u * 1024);
  EXPECT_EQ(sizes.part[from_file], 0u);
}

board::CountResult count(const std::vector<uint8_t>& model_or_program, const std::vector<uint8_t>& input) {
  board::CountRequest request;
  request.run.firmware = board::find_firmware("runner", "mps2-an386");
  request.run.blobs = {{0, "model", model_or_program}, {1, "input", input}};
  board::CountResult result = board::count_instructions(board::board_named("mps2-an386"), request);
  EXPECT_EQ(result.run.exit_status, 0) << result.run.standard_output << result.run.standard_error;
  return result;
}

constexpr uint32_t phase_init = 1, phase_inference = 2;  // ports/runner/main.cpp

bool in_kernel(std::string_view name) {
  return name.find("linnet::ops::") != std::string_view::npos || name.find("run_kernel") != std::string_view::npos ||
         name.find("multiply_by_quantized") != std::string_view::npos;
}

TEST(Budget, EngineCostOfAChainOfReshapesAndAdds) {
  constexpr int nodes = 100;
  graph::NetworkBuilder n(1);
  int x = n.input(Type::int8, {1, 16}, graph::per_tensor(0.5f, 0));
  int one = n.constant<int8_t>(Type::int8, {1}, {1}, graph::per_tensor(0.5f, 0));
  for (int i = 0; i < nodes / 2; ++i) x = n.add(n.reshape(x, i % 2 ? std::vector<int32_t>{1, 16} : std::vector<int32_t>{4, 4}), one);
  n.output(x);
  board::CountResult result = count(n.write(), std::vector<uint8_t>(16, 3));
  const board::PhaseCount& phase = *result.counts.phase(phase_inference);
  uint64_t kernels = result.in_functions(phase, in_kernel);
  fmt::print("chain of {} nodes: {} instructions, {} of them outside kernels\n", nodes, phase.instructions,
             phase.instructions - kernels);
  EXPECT_GT(kernels, 50u * 100);
  EXPECT_LE(phase.instructions - kernels, 30u * nodes);
}

TEST(Budget, StartUpOfVisualWakeWords) {
  LINNET_NEEDS_MODELS();
  std::vector<uint8_t> file = test::read_file(test::models_folder() / "mlperf_tiny/vww_96_int8.tflite");
  std::vector<uint8_t> input = test::read_file(test::models_folder() / "golden/vww_96_int8.in");
  Model model = open_model({file.data(), file.size()});
  BuiltProgram program = build_program(model, catalogue().table);
  uint64_t bare = count(file, input).counts.phase(phase_init)->instructions;
  uint64_t ready = count(program.bytes, input).counts.phase(phase_init)->instructions;
  fmt::print("start-up of vww_96_int8: {} instructions from the file, {} with the Program\n", bare, ready);
  EXPECT_LE(bare, 1'200'000u);
  EXPECT_LE(ready, 20'000u);
}

TEST(Budget, TheInterpreterIsSmall) {
  board::CountResult result = [] {
    graph::NetworkBuilder n(1);
    n.output(n.relu(n.input(Type::float32, {1, 4})));
    return count(n.write(), std::vector<uint8_t>(16));
  }();
  EXPECT_NE(result.run.standard_output.find("interpreter_bytes"), std::string::npos);
  size_t at = result.run.standard_output.find("interpreter_bytes ");
  uint32_t bytes = static_cast<uint32_t>(std::stoul(result.run.standard_output.substr(at + 18)));
  fmt::print("sizeof(Interpreter) on the target: {}\n", bytes);
  EXPECT_LE(bytes, 256u);
}

}  // namespace
}  // namespace linnet
