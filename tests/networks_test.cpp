// What holds for every network, whatever it computes, tried on those of other people: arenas of every size, inferences that do
// not depend on what was there before, and Programs that are the same whoever builds them.
#include "linnet/plan/network_plan.h"
#include "linnet/plan/planned_build.h"
#include "tests/support/arena_sweep.h"
#include "tests/support/models.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

namespace fs = std::filesystem;

const BuildTable& table() { return catalogue().table; }

struct Network {
  explicit Network(const fs::path& path) : file(test::read_file(path)), model(open_model({file.data(), file.size()})), inputs(test::random_inputs(model, 1)) {}
  explicit Network(std::vector<uint8_t> bytes) : file(std::move(bytes)), model(open_model({file.data(), file.size()})), inputs(test::random_inputs(model, 1)) {}

  std::vector<uint8_t> file;
  Model model;
  std::vector<TensorBytes> inputs;
};

std::vector<uint8_t> section(const BuiltProgram& program, const Slice& slice) {
  auto at = program.bytes.begin() + slice.offset;
  return {at, at + slice.count};
}

// Both built by the same plan: `self` with its constants, `lean` with them in the model. Only where constants lie may differ.
void expect_same_code(const BuiltProgram& self, const BuiltProgram& lean, const Model& model) {
  EXPECT_EQ(section(self, self.header().params), section(lean, lean.header().params));
  ASSERT_EQ(self.header().params.offset, lean.header().params.offset);
  ASSERT_EQ(self.header().code.count, lean.header().code.count);
  auto* a = reinterpret_cast<const Step*>(self.bytes.data() + self.header().code.offset);
  auto* b = reinterpret_cast<const Step*>(lean.bytes.data() + lean.header().code.offset);
  for (;; a = next_step(a), b = next_step(b)) {
    ASSERT_EQ(std::memcmp(a, b, sizeof *a), 0);
    for (int i = 0; i < a->operands; ++i) {
      const Operand &x = operands_of(a)[i], &y = operands_of(b)[i];
      if (y.region != region_model) {
        EXPECT_EQ(std::memcmp(&x, &y, sizeof x), 0);
        continue;
      }
      EXPECT_EQ(x.region, region_program);
      EXPECT_EQ(x.role, y.role);
      EXPECT_EQ(self.bytes.at(x.offset), model.file()[y.offset]);
    }
    if (a->kind == static_cast<uint8_t>(StepKind::end)) return;
  }
}

// The device's builder against the host's, byte for byte; then with constants in the Program.
void check_programs(const Model& model) {
  ProgramOptions options;
  options.origins = false;
  BuiltProgram self = build_program(model, table(), options);
  options.constants_in_model = true;
  BuiltProgram lean = build_program(model, table(), options);
  GuardedMemory arena(lean.arena_bytes_built());
  Interpreter device;
  ASSERT_TRUE(device.init(model, table(), arena.span()).ok());
  EXPECT_EQ(std::vector<uint8_t>(device.program(), device.program() + lean.header().file_bytes),
            std::vector<uint8_t>(lean.bytes.begin(), lean.bytes.begin() + lean.header().file_bytes));
  EXPECT_EQ(device.arena_bytes(), lean.arena_bytes_built());
  expect_same_code(self, lean, model);
}

void check_planned_programs(const Network& network) {
  plan::NetworkOptions options = plan::quick_options();
  options.order = plan::OrderPolicy::best;
  options.order_limits.time_limit_s = 1;
  options.placement_limits.time_limit_s = 1;
  Network planned(plan::planned_model(plan::plan_network(network.model, table(), options)));
  ASSERT_FALSE(planned.model.metadata("linnet.plan").empty());
  check_programs(planned.model);
  EXPECT_EQ(test::run_model(planned.file, network.inputs), test::run_model(network.file, network.inputs));
}

// Six inferences with the input written again for each, over three contents of the arena.
void check_running_again(const Network& network) {
  BuiltProgram program = build_program(network.model, table());
  std::vector<TensorBytes> expected;
  for (uint8_t fill : {0x00, 0xFF, 0x55}) {
    GuardedMemory arena(program.arena_bytes_built(), 0, fill);
    Interpreter net;
    ASSERT_TRUE(net.init(network.model, table(), arena.span()).ok());
    for (int i = 0; i < 6; ++i) {
      net.reset();  // state, where there is some
      std::vector<TensorBytes> got = infer(net, network.inputs);
      if (expected.empty()) expected = got;
      ASSERT_EQ(got, expected) << "run " << i << " over " << int{fill};
    }
  }
}

class PublishedNetworks : public testing::TestWithParam<test::PublishedNetwork> {
 protected:
  void SetUp() override { LINNET_NEEDS_MODELS(); }
  Network network() const { return Network(test::models_folder() / GetParam().file); }
};

TEST_P(PublishedNetworks, HostAndDeviceBuildTheSameProgram) {
  Network n = network();
  check_programs(n.model);
}
TEST_P(PublishedNetworks, HostAndDeviceBuildTheSameProgramByAPlan) { check_planned_programs(network()); }
TEST_P(PublishedNetworks, RunAgainWhateverTheArenaHeld) { check_running_again(network()); }
TEST_P(PublishedNetworks, InAnArenaOfEverySize) {
  Network n = network();
  test::check_arena_sizes(n.model, n.inputs);
}

INSTANTIATE_TEST_SUITE_P(Models, PublishedNetworks, testing::ValuesIn(test::published_networks),
                         [](const auto& param) { return std::string(param.param.name); });

class PublishedOperators : public testing::TestWithParam<const char*> {};

TEST_P(PublishedOperators, AllOfThese) {
  LINNET_NEEDS_MODELS();
  int tried = 0;
  for (const auto& entry : fs::directory_iterator(test::models_folder() / "seanet" / GetParam())) {
    if (entry.path().extension() != ".tflite") continue;
    SCOPED_TRACE(entry.path().filename());
    Network network(entry.path());
    check_programs(network.model);
    check_running_again(network);
    test::check_arena_sizes(network.model, network.inputs);
    ++tried;
  }
  EXPECT_GT(tried, 0);
}

INSTANTIATE_TEST_SUITE_P(Operators, PublishedOperators, testing::ValuesIn(test::seanet_operators),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace linnet
