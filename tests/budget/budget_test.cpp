// Promises about size and start-up on Cortex-M4, measured on the linked firmware and under the counting emulator. The
// table is printed each time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "linnet/board/artifacts.h"
#include "linnet/board/count.h"
#include "linnet/graph/network_builder.h"
#include "linnet/plan/planned_build.h"
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

// Every activation in a place of its own; where `moves` are wanted, each moves as soon as it is there, by less than its size.
// Planned moves are far fewer; this prices the move itself on a network whose own plan needs none.
BuiltProgram all_moving(const Model& model, bool moves, uint64_t& moved_bytes) {
  constexpr uint32_t distance = 64;
  BuiltProgram still = build_program(model, catalogue().table, {.ignore_model_plan = true});
  std::vector<uint32_t> offsets(still.entries.size(), Plan::not_in_arena);
  std::vector<PlannedMove> moved;
  Plan plan;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const TensorEntry& e = still.entries[i];
    if (e.kind != TensorEntry::activation) continue;
    offsets[i] = plan.arena_bytes + distance;
    if (moves && e.first >= 1 && e.last > e.first) moved.push_back({e.first, static_cast<uint16_t>(i), plan.arena_bytes});
    plan.arena_bytes += distance + align_up(e.bytes, 64);
  }
  std::stable_sort(moved.begin(), moved.end(), [](const PlannedMove& a, const PlannedMove& b) { return a.position < b.position; });
  plan.offsets = {offsets.data(), offsets.size()};
  plan.moves = {moved.data(), moved.size()};
  ProgramOptions options;
  options.plan = &plan;
  BuiltProgram program = build_program(model, catalogue().table, options);
  moved_bytes = program.moved_bytes();
  return program;
}

void check_cost_of_moves(const char* file_name, const char* golden) {
  LINNET_NEEDS_MODELS();
  std::vector<uint8_t> file = test::read_file(test::models_folder() / file_name);
  std::vector<uint8_t> input = test::read_file(test::models_folder() / golden);
  Model model = open_model({file.data(), file.size()});
  auto instructions = [&](const BuiltProgram& program) { return count(program.bytes, input).counts.phase(phase_inference)->instructions; };
  plan::NetworkOptions quick = plan::quick_options();
  uint64_t fixed = instructions(plan::build_planned(model, catalogue().table, {}, quick));
  quick.memory = plan::MemoryPolicy::compacting;
  BuiltProgram program = plan::build_planned(model, catalogue().table, {}, quick);
  uint64_t compacting = instructions(program);
  uint64_t moved_bytes = 0, none = 0;
  uint64_t still = instructions(all_moving(model, false, none)), moving = instructions(all_moving(model, true, moved_bytes));
  EXPECT_EQ(none, 0u);
  EXPECT_GT(moved_bytes, 100'000u);
  fmt::print("{}: {} instructions; compacting, which moves {} bytes, {} more; if every activation moved once, {} bytes, {} more: {:.3f} %\n",
             file_name, fixed, program.moved_bytes(), compacting - fixed, moved_bytes, moving - still, 100.0 * static_cast<double>(moving - still) / static_cast<double>(still));
  EXPECT_LE(compacting - fixed, fixed / 100);
  EXPECT_GT(moving, still);
  EXPECT_LE(moving - still, still / 100);
}

TEST(Budget, MovesOfPersonDetect) { check_cost_of_moves("tflite_micro/person_detect.tflite", "golden/person_detect.in"); }

TEST(Budget, MovesOfVisualWakeWords) { check_cost_of_moves("mlperf_tiny/vww_96_int8.tflite", "golden/vww_96_int8.in"); }

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
