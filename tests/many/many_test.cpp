// Several networks in one arena: sizes, order of init, turns, simultaneous use; on the host and on a Cortex-M4.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "linnet/board/test_firmware.h"
#include "linnet/graph/network_builder.h"
#include "linnet/plan/planned_build.h"
#include "linnet/run/catalogue.h"
#include "tests/many/script.h"
#include "tests/support/models.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;

const BuildTable& table() { return catalogue().table; }
std::string code(Code c) { return std::to_string(static_cast<int>(c)); }

struct Text {
  static inline std::string said;
  static void put_string(const char* text) { said += text; }
  static void put_decimal(uint32_t value) { said += std::to_string(value); }
  static void put_hex(uint32_t value) { said += fmt::format("{:08x}", value); }
};
using Script = test::Script<Text>;

// A network as a script takes it, and what it needs.
struct Network {
  enum Form { bare, program };
  Network(std::vector<uint8_t> model, Form form) : file(std::move(model)) {
    Model opened = open_model({file.data(), file.size()});
    for (const TensorBytes& input : test::random_inputs(opened, 5)) inputs.insert(inputs.end(), input.begin(), input.end());
    if (form == bare) {
      need = build_program(opened, table(), {.constants_in_model = true, .origins = false}).need_built();
      return;
    }
    BuiltProgram built = plan::build_planned(opened, table(), {}, plan::quick_options());
    need = built.need_ready();
    file = built.bytes;
  }
  test::NetworkBytes bytes() const { return {{file.data(), file.size()}, {inputs.data(), inputs.size()}}; }

  std::vector<uint8_t> file;
  TensorBytes inputs;
  ArenaNeed need;
};
using Networks = std::vector<Network>;

std::vector<uint8_t> convolutions() {
  NetworkBuilder n(1);
  int x = n.conv_2d(n.input(Type::int8, {1, 12, 12, 2}, graph::per_tensor(0.5f, 3)), {.channels = 6, .kernel = {3, 3}});
  n.output(n.softmax(n.fully_connected(n.reshape(n.average_pool_2d(x, {}), {1, 216}), {.channels = 10})));
  return n.write();
}

std::vector<uint8_t> remembers() {  // SVDF and LSTM: three variables
  NetworkBuilder n(2);
  n.output(n.svdf(n.input(Type::float32, {1, 6}), {.units = 5}));
  n.output(n.unidirectional_sequence_lstm(n.input(Type::float32, {1, 3, 4}), {.units = 4}));
  return n.write();
}

std::vector<uint8_t> branches(bool taken) {  // an SVDF in one branch, whose state must stay when the other is taken
  NetworkBuilder n(3);
  std::vector<int> graphs;
  for (int i = 0; i < 2; ++i) {
    graphs.push_back(n.add_subgraph());
    int x = n.input(Type::float32, {1, 6});
    n.output(i == 0 ? n.svdf(x, {.units = 5}) : n.fully_connected(n.relu(x), {.channels = 5}));
  }
  n.select_subgraph(0);
  int condition = n.add({.type = Type::boolean, .shape = {1}, .data = {static_cast<uint8_t>(taken)}});
  int x = n.input(Type::float32, {1, 6});
  n.output(n.add(n.if_(condition, {x}, graphs[0], graphs[1], {{.type = Type::float32, .shape = {1, 5}}}), n.fully_connected(x, {.channels = 5})));
  return n.write();
}

uint32_t together(const Networks& networks) {
  std::vector<ArenaNeed> needs;
  for (const Network& n : networks) needs.push_back(n.need);
  return shared_arena_bytes(needs);
}

std::string on_host(const Networks& networks, const std::string& words, std::optional<uint32_t> arena_bytes = {}, size_t shift = 0) {
  GuardedMemory memory(arena_bytes.value_or(together(networks)), shift);
  auto script = std::make_unique<Script>(memory.span(), table());
  for (uint32_t i = 0; i < networks.size(); ++i) script->give(i, networks[i].bytes());
  Text::said.clear();
  std::istringstream in(words);
  for (std::string word; in >> word;) EXPECT_TRUE(script->obey(word.c_str())) << word;
  EXPECT_TRUE(memory.intact());
  return Text::said;
}

const board::Board& cortex_m4() { return board::board_named("mps2-an386"); }

std::string on_board(const Networks& networks, const std::string& words, std::optional<uint32_t> arena_bytes = {}) {
  board::RunRequest request;
  request.firmware = board::find_firmware("test-many", cortex_m4().name);
  request.arguments = {fmt::format("arena={}", arena_bytes.value_or(together(networks)))};
  std::istringstream in(words);
  for (std::string word; in >> word;) request.arguments.push_back(word);
  for (uint32_t i = 0; i < networks.size(); ++i) {
    request.blobs.push_back({i, "network", networks[i].file});
    request.blobs.push_back({test::most_networks + i, "inputs", networks[i].inputs});
  }
  board::RunResult result = board::run_firmware(cortex_m4(), request);
  EXPECT_EQ(result.exit_status, 0) << result.standard_output << result.standard_error;
  return result.standard_output;
}

// The lines "out..." of each network when it is alone: one for each of its runs.
std::vector<std::vector<std::string>> alone(const Networks& networks, int runs) {
  std::vector<std::vector<std::string>> lines;
  for (const Network& n : networks) {
    std::string words = "init0";
    for (int i = 0; i < runs; ++i) words += " set0 run0 out0";
    std::istringstream in(on_host({n}, words));
    lines.emplace_back();
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("out")) lines.back().push_back(line.substr(5));
  }
  return lines;
}

// All take turns, four times. What this must print, and the words.
std::string turns(size_t count, const std::vector<int>& order) {
  std::string words;
  for (int i : order) words += fmt::format("init{} ", i);
  for (int round = 0; round < 4; ++round)
    for (size_t i = 0; i < count; ++i) words += fmt::format("set{0} run{0} out{0} ", i);
  return words;
}
std::string turns_answer(const Networks& networks, const std::vector<int>& order) {
  std::string text;
  for (int i : order) text += fmt::format("init{} 0 0\n", i);
  auto outputs = alone(networks, 4);
  for (size_t round = 0; round < 4; ++round)
    for (size_t i = 0; i < networks.size(); ++i) text += fmt::format("set{0} 0 0\nrun{0} 0 0\nout{0} {1}\n", i, outputs[i][round]);
  return text;
}

std::vector<std::vector<uint8_t>> three_models() { return {convolutions(), remembers(), branches(true)}; }

// Of three networks, or the first two, each in every form.
template <class Visit>
void for_each_mixture(Visit visit) {
  std::vector<std::vector<uint8_t>> models = three_models();
  for (size_t count = 2; count <= 3; ++count)
    for (int forms = 0; forms < 1 << count; ++forms) {
      SCOPED_TRACE(fmt::format("{} networks, forms {:03b}", count, forms));
      Networks networks;
      for (size_t i = 0; i < count; ++i) networks.emplace_back(models[i], forms >> i & 1 ? Network::program : Network::bare);
      visit(networks);
    }
}

TEST(ManyNetworks, OutputsChangeFromRunToRunWhereThereIsState) {
  auto outputs = alone({{remembers(), Network::bare}, {branches(true), Network::bare}, {branches(false), Network::bare}}, 4);
  for (int i : {0, 1}) EXPECT_NE(outputs[static_cast<size_t>(i)][0], outputs[static_cast<size_t>(i)][1]);
  EXPECT_EQ(outputs[2][0], outputs[2][1]);
}

TEST(ManyNetworks, TakeTurnsInAnArenaOfTheReportedSizeWhateverTheOrderOfInit) {
  for_each_mixture([](const Networks& networks) {
    std::vector<int> order(networks.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    do {
      SCOPED_TRACE(fmt::format("{}", fmt::join(order, " ")));
      EXPECT_EQ(on_host(networks, turns(networks.size(), order)), turns_answer(networks, order));
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(on_host(networks, turns(order.size(), order), together(networks) + 15, 1), turns_answer(networks, order)) << "odd address";
  });
}

TEST(ManyNetworks, OneByteLessIsRefusedWithTheSizeThatWouldDo) {
  for_each_mixture([](const Networks& networks) {
    std::vector<int> order(networks.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    do {
      std::string words;
      for (int i : order) words += fmt::format("init{} ", i);
      std::string said = on_host(networks, words, together(networks) - 1);
      EXPECT_NE(said.find(fmt::format("{} {}\n", code(Code::out_of_memory), together(networks))), std::string::npos) << said;
      said = on_host(networks, words, together(networks) + 14, 1);
      EXPECT_NE(said.find(fmt::format("{} {}\n", code(Code::out_of_memory), together(networks) + 15)), std::string::npos) << said;
    } while (std::next_permutation(order.begin(), order.end()));
  });
}

Networks two() { return {{remembers(), Network::bare}, {convolutions(), Network::program}}; }

TEST(ManyNetworks, OneStartsOnlyWhenTheOthersInferenceHasEnded) {
  auto outputs = alone(two(), 2);
  std::string busy = code(Code::busy);
  EXPECT_EQ(on_host(two(), "init0 init1 set0 step0 step1 run1 start1 run0 out0 set1 run1 out1"),
            fmt::format("init0 0 0\ninit1 0 0\nset0 0 0\nstep0 0 0\nstep1 {0} 0\nrun1 {0} 0\nstart1 {0} 0\nrun0 0 0\nout0 {1}\n"
                        "set1 0 0\nrun1 0 0\nout1 {2}\n", busy, outputs[0][0], outputs[1][0]));
  EXPECT_EQ(on_host(two(), "init0 init1 set1 step1 step0 cancel1 set0 run0 out0 set1 run1 out1"),
            fmt::format("init0 0 0\ninit1 0 0\nset1 0 0\nstep1 0 0\nstep0 {0} 0\ncancel1 0 0\nset0 0 0\nrun0 0 0\nout0 {1}\n"
                        "set1 0 0\nrun1 0 0\nout1 {2}\n", busy, outputs[0][0], outputs[1][0]));
}

// What does nothing to an inference of its own must not end another's.
TEST(ManyNetworks, CancelResetAndCloseEndNobodyElsesInference) {
  for (const char* word : {"cancel0", "reset0", "close0"}) {
    std::string said = on_host(two(), fmt::format("init0 init1 set1 step1 {} init0 step0 run1 out1", word));
    EXPECT_NE(said.find(fmt::format("init0 {} 0\n", code(Code::busy))), std::string::npos) << said;
    EXPECT_EQ(said.find("step0 0"), std::string::npos) << said;
    EXPECT_NE(said.find("run1 0 0\nout1 " + alone(two(), 1)[1][0]), std::string::npos) << said;
  }
}

TEST(ManyNetworks, AStartedInferenceProtectsItsInputs) {
  auto outputs = alone(two(), 1);
  std::string said = on_host(two(), "init0 init1 start1 set1 run0 start1 run1 out1 start0 set0 run1 run0 out0");
  EXPECT_EQ(said, fmt::format("init0 0 0\ninit1 0 0\nstart1 0 0\nset1 0 0\nrun0 {0} 0\nstart1 0 0\nrun1 0 0\nout1 {2}\n"
                              "start0 0 0\nset0 0 0\nrun1 {0} 0\nrun0 0 0\nout0 {1}\n", code(Code::busy), outputs[0][0], outputs[1][0]));
}

TEST(ManyNetworks, ResetForgetsOneNetworksStateOnly) {
  Networks networks = {{remembers(), Network::program}, {branches(true), Network::bare}};
  auto outputs = alone(networks, 3);
  EXPECT_EQ(on_host(networks, "init0 init1 set0 run0 set1 run1 reset0 set0 run0 out0 set1 run1 out1"),
            fmt::format("init0 0 0\ninit1 0 0\nset0 0 0\nrun0 0 0\nset1 0 0\nrun1 0 0\nreset0 0 0\nset0 0 0\nrun0 0 0\nout0 {}\n"
                        "set1 0 0\nrun1 0 0\nout1 {}\n", outputs[0][0], outputs[1][1]));
}

// The arena has room for each network once.
TEST(ManyNetworks, TheLatestMayBeInitialisedAgainAndAgain) {
  auto outputs = alone(two(), 2);
  std::string said = on_host(two(), "init1 init0 set0 run0 init0 init0 init0 set1 run1 out1 set0 run0 out0");
  EXPECT_TRUE(said.ends_with(fmt::format("init0 0 0\nset1 0 0\nrun1 0 0\nout1 {}\nset0 0 0\nrun0 0 0\nout0 {}\n", outputs[1][0], outputs[0][0]))) << said;
}

TEST(ManyNetworks, ThoseThatGoMakeRoomWhenNobodyCameLater) {
  Networks networks = {{remembers(), Network::bare}, {branches(true), Network::bare}, {convolutions(), Network::bare}};
  auto outputs = alone(networks, 1);
  std::string inits = "init0 init1 init2 ", all_run;
  for (int i : {0, 1, 2}) all_run += fmt::format("set{0} run{0} out{0} ", i);
  std::string answer;
  for (size_t i : {0u, 1u, 2u}) answer += fmt::format("set{0} 0 0\nrun{0} 0 0\nout{0} {1}\n", i, outputs[i][0]);
  // From the top; all, in any order; one below another only when all have gone.
  for (const char* goes : {"close2 close1 init1 init2 ", "close2 close0 close1 init2 init1 init0 ", "close0 close1 close2 init0 init1 init2 "})
    EXPECT_TRUE(on_host(networks, inits + goes + all_run).ends_with(answer)) << goes;
  std::string said = on_host(networks, inits + "close1 init1 close0 close2 init1 init0 init2 " + all_run);
  EXPECT_NE(said.find(fmt::format("init1 {} {}", code(Code::out_of_memory), together(networks) + networks[1].need.persistent_bytes)), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with(answer)) << said;
}

TEST(ManyNetworks, ANetworkWithoutPersistentPartKeepsItsActivations) {
  Networks networks = {{convolutions(), Network::program}, {convolutions(), Network::program}, {remembers(), Network::bare}};
  ASSERT_EQ(networks[0].need.persistent_bytes, 0u);
  std::string said = on_host(networks, "init0 init1 close0 init2 set1 run1 out1", networks[0].need.bytes());
  EXPECT_NE(said.find(fmt::format("init2 {} {}", code(Code::out_of_memory), networks[0].need.activation_bytes + networks[2].need.persistent_bytes)), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with("out1 " + alone(networks, 1)[1][0] + "\n"));
}

TEST(ManyNetworks, AFailedInitTakesNothing) {
  Networks networks = two();
  networks.push_back({branches(true), Network::bare});
  networks[2].file.resize(networks[2].file.size() / 2);
  networks.push_back({convolutions(), Network::program});
  networks[3].file[offsetof(Header, kernels_hash)] ^= 1;
  auto outputs = alone(two(), 1);
  GuardedMemory memory(together(two()));
  auto script = std::make_unique<Script>(memory.span(), table());
  for (uint32_t i = 0; i < networks.size(); ++i) script->give(i, networks[i].bytes());
  for (const char* word : {"init2", "init3", "init0", "init3", "init2", "init1", "init3", "init2"}) EXPECT_TRUE(script->obey(word));
  EXPECT_EQ(script->arena().persistent_bytes(), networks[0].need.persistent_bytes + networks[1].need.persistent_bytes);
  Text::said.clear();
  for (const char* word : {"set0", "run0", "out0", "set1", "run1", "out1", "run2"}) EXPECT_TRUE(script->obey(word));
  EXPECT_EQ(Text::said, fmt::format("set0 0 0\nrun0 0 0\nout0 {}\nset1 0 0\nrun1 0 0\nout1 {}\nrun2 {} 0\n", outputs[0][0], outputs[1][0], code(Code::invalid_call)));
}

// A plan may let state move with the activations: then the arena is that network's alone.
TEST(ManyNetworks, StateAmongActivationsDoesNotShare) {
  std::vector<uint8_t> file = remembers();
  Model model = open_model({file.data(), file.size()});
  BuiltProgram still = build_program(model, table());
  std::vector<uint32_t> offsets;
  Plan plan;
  for (const TensorEntry& e : still.entries) {
    bool placed = e.kind == TensorEntry::activation || e.kind == TensorEntry::state;
    offsets.push_back(placed ? plan.arena_bytes : Plan::not_in_arena);
    if (placed) plan.arena_bytes += align_up(e.bytes, 16);
  }
  plan.offsets = {offsets.data(), offsets.size()};
  Networks networks = {two()[0], two()[0], two()[1]};
  networks[0].file = build_program(model, table(), {.plan = &plan}).bytes;
  std::string no = code(Code::invalid_call), ran = "set0 0 0\nrun0 0 0\nout0 " + alone(two(), 1)[0][0] + "\n";
  EXPECT_EQ(on_host(networks, "init0 init1 init2 set0 run0 out0", 10000), fmt::format("init0 0 0\ninit1 {0} 0\ninit2 {0} 0\n{1}", no, ran));
  EXPECT_EQ(on_host(networks, "init1 init0 close1 init0 init0 set0 run0 out0 close0 init1", 10000),
            fmt::format("init1 0 0\ninit0 {0} 0\nclose1 0 0\ninit0 0 0\ninit0 0 0\n{1}close0 0 0\ninit1 0 0\n", no, ran));
}

// Random words: the codes are those that a model of the arena predicts, and every inference that ran through gives what the
// network gives alone after as many inferences since its state was fresh.
class RandomScript {
 public:
  RandomScript(const Networks& networks, uint32_t seed) : networks_(networks), outputs_(alone(networks, 40)), random_(seed) {
    for (size_t i = 0; i < networks.size(); ++i) say(fmt::format("init{}", i), 0);
    while (words_ < 120) one();
  }
  std::string script, answer;

 private:
  struct State {
    size_t runs = 0;      // since the state was fresh
    bool active = false;
    bool damaged = false;  // a cancelled inference may have changed state
  };
  void say(const std::string& word, int status) {
    script += word + " ";
    answer += fmt::format("{} {} 0\n", word, status);
    ++words_;
  }
  void one() {
    size_t i = random_() % networks_.size();
    State& net = nets_[i];
    bool blocked = std::any_of(nets_.begin(), nets_.end(), [&](const State& s) { return s.active && &s != &net; });
    int busy = blocked ? static_cast<int>(Code::busy) : 0;
    switch (random_() % 6) {
      case 0:
      case 1:
        if (net.damaged || net.runs == 40) return;
        if (!blocked && !net.active) say(fmt::format("start{}", i), 0), say(fmt::format("set{}", i), 0);
        say(fmt::format("run{}", i), busy);
        if (blocked) return;
        net.active = false;
        script += fmt::format("out{} ", i);
        answer += fmt::format("out{} {}\n", i, outputs_[i][net.runs++]);
        return;
      case 2:
        if (net.active) return;  // its inputs may be gone
        say(fmt::format("start{}", i), busy);
        if (!blocked) say(fmt::format("set{}", i), 0), net.active = true;
        return;
      case 3:
        say(fmt::format("cancel{}", i), 0);
        net.active = false;
        return;
      case 4:
        if (net.active) return;
        say(fmt::format("start{}", i), busy);
        if (blocked) return;
        say(fmt::format("set{}", i), 0), say(fmt::format("step{}", i), 0);
        net.active = net.damaged = true;
        return;
      default:
        say(fmt::format("reset{}", i), 0);
        net = {};
    }
  }

  const Networks& networks_;
  std::vector<std::vector<std::string>> outputs_;
  std::mt19937 random_;
  std::array<State, test::most_networks> nets_;
  int words_ = 0;
};

TEST(ManyNetworks, RandomScriptsGiveWhatEachNetworkGivesAlone) {
  Networks networks = {{convolutions(), Network::program}, {remembers(), Network::bare}, {branches(true), Network::program}, {branches(false), Network::bare}};
  for (uint32_t seed = 0; seed < 200; ++seed) {
    RandomScript random(networks, seed);
    ASSERT_EQ(on_host(networks, random.script), random.answer) << "seed " << seed << ": " << random.script;
  }
}

// ---- On a board -------------------------------------------------------------------------------------------------------

TEST(ManyNetworksOnBoard, TakeTurnsAndRefuseSimultaneousUseAsOnTheHost) {
  using namespace board;
  LINNET_NEEDS_EMULATOR("test-many", cortex_m4());
  for_each_mixture([](const Networks& networks) {
    std::vector<int> order(networks.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(order.size() - 1 - i);
    EXPECT_EQ(on_board(networks, turns(networks.size(), order)), turns_answer(networks, order));
    std::string inits;
    for (int i : order) inits += fmt::format("init{} ", i);
    EXPECT_EQ(on_board(networks, inits, together(networks) - 1), on_host(networks, inits, together(networks) - 1));
  });
  for (uint32_t seed = 0; seed < 3; ++seed) {
    Networks networks = {{convolutions(), Network::program}, {remembers(), Network::bare}, {branches(true), Network::program}, {branches(false), Network::bare}};
    RandomScript random(networks, seed);
    EXPECT_EQ(on_board(networks, random.script), random.answer) << "seed " << seed;
  }
}

TEST(ManyNetworksOnBoard, PublishedNetworksShareAnArena) {
  LINNET_NEEDS_MODELS();
  using namespace board;
  LINNET_NEEDS_EMULATOR("test-many", cortex_m4());
  auto model = [](const char* name) { return test::read_file(test::models_folder() / name); };
  for (Network::Form form : {Network::bare, Network::program}) {
    Networks networks = {{model("tflite_micro/person_detect.tflite"), form},
                         {model("tflite_micro/trained_lstm.tflite"), form},
                         {model("tflite_micro/keyword_scrambled_8bit.tflite"), form}};
    uint32_t apart = 0;
    for (const Network& n : networks) apart += n.need.bytes();
    fmt::print("{}: {} bytes in one arena, {} in three\n", form == Network::bare ? "from the files" : "Programs in flash", together(networks), apart);
    EXPECT_LT(together(networks), apart);
    EXPECT_EQ(on_board(networks, turns(3, {2, 0, 1})), turns_answer(networks, {2, 0, 1}));
  }
}

}  // namespace
}  // namespace linnet
