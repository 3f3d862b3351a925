#include "linnet/board/count.h"

#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

#include "linnet/board/test_firmware.h"

namespace linnet::board {
namespace {

using namespace std::chrono_literals;

Counts parse(const std::string& text) {
  std::istringstream stream(text);
  return parse_counts(stream);
}

TEST(ParseCounts, ReadsWhatThePluginWrites) {
  const Counts counts = parse(
      "linnet-count 1\ntotal 30\nmarker 2\nphase start 1 8 8 8\nrange start 10 14 2 4\n"
      "phase 7 2 20 5 15\nrange 7 20 2a 4 5\naccess 7 ram 1 2 3 4\nend\n");
  EXPECT_EQ(counts.total, 30u);
  EXPECT_EQ(counts.marker, 2u);
  ASSERT_NE(counts.phase(7), nullptr);
  EXPECT_EQ(counts.phase(7)->most, 15u);
  EXPECT_EQ(counts.phase(7)->ranges[0].end, 0x2Au);
  EXPECT_EQ(counts.phase(7)->accesses[0].store_bytes, 4u);
  EXPECT_EQ(counts.phase(std::nullopt)->ranges[0].count, 4u);
  EXPECT_EQ(counts.phase(8), nullptr);
}

TEST(ParseCounts, RefusesEverythingElse) {
  EXPECT_NE(message_of([] { parse(""); }).find("version"), std::string::npos);
  EXPECT_NE(message_of([] { parse("linnet-count 2\nend\n"); }).find("version"), std::string::npos);
  EXPECT_NE(message_of([] { parse("linnet-count 1\ntotal 5\n"); }).find("too early"), std::string::npos);
  for (const char* line :
       {"nonsense", "total", "total x", "range 7 1 2 3 4", "phase", "phase x 1 1 1 1", "phase 7 1"}) {
    EXPECT_NE(message_of([&] { parse(std::string("linnet-count 1\n") + line + "\nend\n"); }).find(line),
              std::string::npos)
        << line;
  }
}

class InstructionCount : public testing::TestWithParam<const Board*> {
 protected:
  void SetUp() override {
    LINNET_NEEDS_EMULATOR("port-selftest", board());
    if (!message_of([] { find_artifact("emulator/liblinnet_count.so", ""); }).empty())
      GTEST_SKIP() << "the plugin is not built";
  }
  const Board& board() const { return *GetParam(); }

  CountResult count(std::vector<std::string> arguments, std::vector<std::string> options = {},
                    bool accesses = false) const {
    CountRequest request;
    request.run.firmware = test_firmware("port-selftest", board());
    request.run.arguments = std::move(arguments);
    request.run.emulator_options = std::move(options);
    request.run.time_limit = 30s;
    request.accesses = accesses;
    return count_instructions(board(), request);
  }

  // Instructions of a turn of the test firmware's loop.
  uint64_t per_turn() const { return board().architecture == Architecture::riscv32 ? 2 : 3; }
};

uint64_t sum_of(const PhaseCount& phase) {
  uint64_t sum = 0;
  for (const ExecutedRange& range : phase.ranges) sum += range.instructions * range.count;
  return sum;
}

TEST_P(InstructionCount, PhasesAreExact) {
  const CountResult small = count({"phases", "10"}), large = count({"phases", "1010"});
  for (const CountResult* result : {&small, &large}) {
    uint64_t sum = result->counts.marker;
    for (const PhaseCount& phase : result->counts.phases) {
      sum += phase.instructions;
      EXPECT_EQ(sum_of(phase), phase.instructions);
    }
    EXPECT_EQ(sum, result->counts.total);
    ASSERT_EQ(result->counts.phases.size(), 4u);  // start, 7, 300, 0
    EXPECT_EQ(result->counts.phase(7)->visits, 2u);
    // ARMv6-M needs one instruction more to make the next id, 300.
    EXPECT_LE(result->counts.phase(7)->most - result->counts.phase(7)->least, board().core == "cortex-m0" ? 1u : 0u);
  }
  const auto grown = [&](std::optional<uint32_t> id) {
    return large.counts.phase(id)->instructions - small.counts.phase(id)->instructions;
  };
  EXPECT_EQ(grown(7), 2 * 1000 * per_turn());
  EXPECT_EQ(grown(300), 2000 * per_turn());
  EXPECT_EQ(grown(0), 0u);
  // Around each loop: setting up and making two calls, and one return. Nothing of the marker.
  EXPECT_LE(small.counts.phase(7)->least - 10 * per_turn(), 8u);
}

TEST_P(InstructionCount, FunctionsAndClasses) {
  const CountResult result = count({"phases", "100"});
  const PhaseCount& phase = *result.counts.phase(300);
  const auto functions = result.by_function(phase);
  ASSERT_FALSE(functions.empty());
  EXPECT_NE(functions[0].name.find("loop("), std::string::npos);
  EXPECT_EQ(functions[0].instructions, 200 * per_turn() + 1);
  EXPECT_EQ(result.in_functions(phase, [](std::string_view name) { return name.find("loop(") != name.npos; }),
            200 * per_turn() + 1);
  const ClassCounts classes = result.by_class(phase);
  EXPECT_EQ(std::accumulate(classes.begin(), classes.end(), uint64_t{0}), phase.instructions);
  EXPECT_GE(classes[size_t(InstructionClass::branch)], 200u);
  EXPECT_LE(classes[size_t(InstructionClass::branch)], 204u);
  EXPECT_GE(classes[size_t(InstructionClass::alu)], 200u);
  EXPECT_EQ(classes[size_t(InstructionClass::divide)] + classes[size_t(InstructionClass::vector)], 0u);
  // Over the whole run every instruction belongs to a function (but for the emulator's own six before a RISC-V start),
  // and start-up stores zeros.
  const PhaseCount& start = *result.counts.phase(std::nullopt);
  EXPECT_EQ(result.in_functions(start, [](std::string_view name) { return name == "(unknown)"; }),
            board().architecture == Architecture::riscv32 ? 6u : 0u);
  EXPECT_GT(result.by_class(start)[size_t(InstructionClass::store)], 0u);
}

TEST_P(InstructionCount, TwoRunsAndSingleSteppingCountTheSame) {
  // A fault ends a translated block in its middle.
  const std::string hole = board().name == "mps3-an547" ? "251658240" : "2667577344";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{{"echo", "a", "b"},
                                                                                         {"phases", "1000"},
                                                                                         {"fault", "bus", hole},
                                                                                         {"fault", "undefined"},
                                                                                         {"fault", "stack"},
                                                                                         {"moves"}}) {
    const CountResult first = count(arguments), second = count(arguments), stepped = count(arguments, {"-singlestep"});
    EXPECT_GT(first.counts.total, 100u);
    EXPECT_EQ(first.counts.total, second.counts.total) << arguments[0];
    EXPECT_EQ(first.counts.total, stepped.counts.total) << arguments[0];
    ASSERT_EQ(first.counts.phases.size(), stepped.counts.phases.size());
    for (size_t i = 0; i < first.counts.phases.size(); ++i) {
      EXPECT_EQ(first.counts.phases[i].instructions, stepped.counts.phases[i].instructions);
      EXPECT_EQ(first.by_class(first.counts.phases[i]), stepped.by_class(stepped.counts.phases[i]));
    }
  }
}

TEST_P(InstructionCount, InsideIsInclusive) {
  CountRequest request;
  request.run.firmware = test_firmware("port-selftest", board());
  request.run.arguments = {"phases", "100"};
  request.inside = [](std::string_view name) { return name.find("loop(") != name.npos; };
  const CountResult leaf = count_instructions(board(), request);
  EXPECT_EQ(leaf.counts.phase(300)->inside, 200 * per_turn() + 1);
  EXPECT_EQ(leaf.counts.phase(7)->inside, 2 * (100 * per_turn() + 1));
  EXPECT_EQ(leaf.counts.phase(0)->inside, 0u);
  EXPECT_EQ(leaf.counts.total, count({"phases", "100"}).counts.total);

  // Text is written through several layers, by calls and by tail calls: all of it is inside, and dispatching is not.
  request.run.arguments = {"echo", "one", "two"};
  request.inside = [](std::string_view name) { return name.find("port::put_") != name.npos; };
  const CountResult text = count_instructions(board(), request);
  const PhaseCount& phase = *text.counts.phase(std::nullopt);
  const auto below = [](std::string_view name) {
    return name.find("port::put_") != name.npos || name.find("port::write(") != name.npos ||
           name.find("semihost") != name.npos || name.find("__") != name.npos || name == "memcpy";
  };
  // semihost() also serves command_line() and exit(), once each.
  const uint64_t all_below = text.in_functions(phase, below);
  EXPECT_LE(phase.inside, all_below);
  EXPECT_GE(phase.inside + 40, all_below);

  request.inside = [](std::string_view) { return false; };
  EXPECT_NE(message_of([&] { count_instructions(board(), request); }).find("no function"), std::string::npos);
}

TEST_P(InstructionCount, AccessesByRegion) {
  const CountResult result = count({"memory"}, {}, true);
  const PhaseCount& phase = *result.counts.phase(std::nullopt);
  ASSERT_EQ(phase.accesses.size(), 4u);
  EXPECT_EQ(phase.accesses[0].region, "code");
  EXPECT_EQ(phase.accesses[1].region, "ram");
  EXPECT_EQ(phase.accesses[0].stores, 0u);
  // One byte stored every 1021 of free memory.
  unsigned free_bytes = 0;
  ASSERT_EQ(sscanf(result.run.standard_output.c_str(), "free %u", &free_bytes), 1);
  EXPECT_GE(phase.accesses[1].stores, (free_bytes + 1020) / 1021);
  EXPECT_LE(phase.accesses[1].stores, (free_bytes + 1020) / 1021 + 250);
  EXPECT_EQ(phase.accesses[2].loads + phase.accesses[2].stores, 0u);
  // Counting accesses does not change the number of instructions.
  EXPECT_EQ(count({"memory"}).counts.total, result.counts.total);
}

TEST_P(InstructionCount, FirmwareWithoutPhasesIsOnePhase) {
  CountRequest request;
  request.run.firmware = test_firmware("port-smallest", board());
  const CountResult result = count_instructions(board(), request);
  EXPECT_EQ(result.run.standard_output, "ok\n700000007");
  ASSERT_EQ(result.counts.phases.size(), 1u);
  EXPECT_EQ(result.counts.phases[0].instructions, result.counts.total);
  EXPECT_EQ(result.counts.marker, 0u);
}

TEST_P(InstructionCount, MissingPluginIsSaid) {
  CountRequest request;
  request.run.firmware = test_firmware("port-selftest", board());
  request.run.arguments = {"exit", "0"};
  request.plugin = "/nonexistent/plugin.so";
  EXPECT_NE(message_of([&] { count_instructions(board(), request); }).find("plugin.so"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Boards, InstructionCount, testing::ValuesIn(all_boards()), board_test_name);

}  // namespace
}  // namespace linnet::board
