// Networks of other people on an emulated Cortex-M4, with the prebuilt runner: the host's bytes, node by node, whoever built
// the Program, in an arena of the size that the host said. One test per network, so that several run side by side.
#include "linnet/board/board_run.h"
#include "linnet/board/test_firmware.h"
#include "linnet/plan/planned_build.h"
#include "linnet/run/catalogue.h"
#include "tests/support/models.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

namespace fs = std::filesystem;

const board::Board& cortex_m4() { return board::board_named("mps2-an386"); }
const BuildTable& table() { return catalogue().table; }

// A network, and what the host makes of it.
struct OnHost {
  OnHost(const fs::path& path, std::optional<std::vector<TensorBytes>> given = std::nullopt)
      : file(test::read_file(path)), model(open_model({file.data(), file.size()})), inputs(given ? *given : test::random_inputs(model, 2)) {
    ProgramOptions options;
    options.origins = false;
    options.constants_in_model = true;
    built = build_program(model, table(), options);
    planned = plan::build_planned(model, table(), {}, plan::quick_options());
    GuardedMemory arena(built.arena_bytes_built());
    Interpreter net;
    if (Status status = net.init(model, table(), arena.span()); !status.ok()) throw Error(describe(status, net.where()));
    outputs = infer(net, inputs);
    request.model = path;
    request.inputs = inputs;
    for (const TensorBytes& output : outputs) request.output_bytes.push_back(static_cast<uint32_t>(output.size()));
  }

  std::vector<uint8_t> file;
  Model model;
  std::vector<TensorBytes> inputs, outputs;
  BuiltProgram built, planned;  // as a device builds it; ahead of time
  board::NetworkRequest request;
};

board::NetworkResult run(const board::NetworkRequest& request) { return board::run_network(cortex_m4(), request); }

// Built by the board: outputs, checksums of all nodes, and the Program itself, in an arena of exactly the size.
void check_built_on_board(const OnHost& host) {
  board::NetworkRequest request = host.request;
  request.want_program = true;
  request.arena_bytes = host.built.arena_bytes_built();
  for (const BuiltNode& node : host.built.nodes) request.nodes.push_back({node.end_step, node.outputs.at(0).place, node.outputs[0].bytes});
  board::NetworkResult result = run(request);
  ASSERT_FALSE(result.error) << result.error->text;
  EXPECT_EQ(result.outputs, host.outputs);
  EXPECT_EQ(result.arena_bytes, host.built.arena_bytes_built());
  std::vector<NodeCrc> nodes = node_crcs(host.built, *table().kernels, host.inputs, host.model.file());
  ASSERT_EQ(result.node_crcs.size(), nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(result.node_crcs[i], nodes[i].crc) << "node " << nodes[i].node;
  EXPECT_EQ(result.program, std::vector<uint8_t>(host.built.bytes.begin(), host.built.bytes.begin() + host.built.header().file_bytes));
}

void check_smaller_arena(const OnHost& host) {
  board::NetworkRequest request = host.request;
  request.arena_bytes = host.built.arena_bytes_built() - 1;
  board::NetworkResult result = run(request);
  ASSERT_TRUE(result.error);
  EXPECT_EQ(static_cast<Code>(result.error->code), Code::out_of_memory);
  EXPECT_EQ(result.error->need_bytes, host.built.arena_bytes_built());
}

// Built ahead of time, by a plan, self-sufficient.
void check_built_on_host(const OnHost& host) {
  board::NetworkRequest request = host.request;
  request.model = host.planned.bytes;
  request.arena_bytes = host.planned.arena_bytes_ready();
  board::NetworkResult result = run(request);
  ASSERT_FALSE(result.error) << result.error->text;
  EXPECT_EQ(result.outputs, host.outputs);
  EXPECT_EQ(result.arena_bytes, host.planned.arena_bytes_ready());
}

// A .tflite that carries its plan: the board builds by it what the host builds by it.
void check_planned_on_board(const OnHost& host) {
  std::vector<uint8_t> file = plan::planned_model(plan::plan_network(host.model, table(), plan::quick_options()));
  ProgramOptions options;
  options.origins = false;
  options.constants_in_model = true;
  BuiltProgram built = build_program(open_model({file.data(), file.size()}), table(), options);
  board::NetworkRequest request = host.request;
  request.model = file;
  request.want_program = true;
  board::NetworkResult result = run(request);
  ASSERT_FALSE(result.error) << result.error->text;
  EXPECT_EQ(result.outputs, host.outputs);
  EXPECT_EQ(result.program, std::vector<uint8_t>(built.bytes.begin(), built.bytes.begin() + built.header().file_bytes));
}

class NetworksOnBoard : public testing::TestWithParam<test::PublishedNetwork> {};

TEST_P(NetworksOnBoard, GiveTheBytesOfTheHost) {
  LINNET_NEEDS_MODELS();
  using namespace board;
  LINNET_NEEDS_EMULATOR("runner", cortex_m4());
  fs::path golden = test::models_folder() / "golden" / GetParam().name;
  auto with = [&](const char* extension) { return fs::path(golden.string() + extension); };
  std::optional<std::vector<TensorBytes>> inputs;
  if (fs::exists(with(".in"))) inputs = std::vector<TensorBytes>{test::read_file(with(".in"))};
  OnHost host(test::models_folder() / GetParam().file, inputs);
  check_built_on_board(host);
  check_smaller_arena(host);
  check_planned_on_board(host);
  check_built_on_host(host);
  auto* outputs = reinterpret_cast<const Port*>(host.built.bytes.data() + host.built.header().outputs.offset);
  if (inputs && static_cast<Type>(outputs[0].type) != Type::float32) {
    EXPECT_EQ(host.outputs.at(0), test::read_file(with(".out")));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, NetworksOnBoard, testing::ValuesIn(test::published_networks),
                         [](const auto& param) { return std::string(param.param.name); });

class OperatorsOnBoard : public testing::TestWithParam<const char*> {};

TEST_P(OperatorsOnBoard, GiveTheBytesOfTheHost) {
  LINNET_NEEDS_MODELS();
  using namespace board;
  LINNET_NEEDS_EMULATOR("runner", cortex_m4());
  int tried = 0;
  for (const auto& entry : fs::directory_iterator(test::models_folder() / "seanet" / GetParam())) {
    if (entry.path().extension() != ".tflite") continue;
    SCOPED_TRACE(entry.path().filename());
    OnHost host(entry.path());
    check_built_on_board(host);
    check_built_on_host(host);
    ++tried;
  }
  EXPECT_GT(tried, 0);
}

INSTANTIATE_TEST_SUITE_P(Operators, OperatorsOnBoard, testing::ValuesIn(test::seanet_operators),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace linnet
