#include "linnet/engine/interpreter.h"

#include <random>

#include "linnet/graph/network_builder.h"
#include "linnet/run/catalogue.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using test::from_bytes;
using test::to_bytes;

const BuildTable& table() { return catalogue().table; }

// x -> relu6 -> reshape -> relu -> relu6, four floats; three kernels run, the RESHAPE is none.
std::vector<uint8_t> chain(int inputs = 1) {
  NetworkBuilder n(1);
  for (int i = 0; i < inputs; ++i) n.output(n.relu6(n.relu(n.reshape(n.relu6(n.input(Type::float32, {1, 4})), {2, 2}))));
  return n.write();
}
const std::vector<float> values = {-1, 2, 5, 9};
const std::vector<float> expected = {0, 2, 5, 6};

class InterpreterTest : public ::testing::Test {
 protected:
  Model model_ = open_model({file_.data(), file_.size()});
  BuiltProgram program_ = build_program(model_, table());
  Bytes bytes() const { return {program_.bytes.data(), program_.bytes.size()}; }
  GuardedMemory arena_{4096};
  Interpreter net_;
  std::vector<uint8_t> file_store_;

 private:
  static const std::vector<uint8_t> file_;
};
const std::vector<uint8_t> InterpreterTest::file_ = chain();

TEST_F(InterpreterTest, RunsSixTimesWithTheSameResultWhateverTheArenaHeld) {
  for (uint8_t fill : {0x00, 0xFF, 0x55}) {
    GuardedMemory arena(program_.arena_bytes_built(), 0, fill);
    Interpreter net;
    ASSERT_TRUE(net.init(model_, table(), arena.span()).ok());
    for (int i = 0; i < 6; ++i) EXPECT_EQ(from_bytes<float>(infer(net, {to_bytes(values)})[0]), expected);
  }
}

TEST_F(InterpreterTest, AReshapeThatAliasesIsNoStep) { EXPECT_EQ(program_.header().origins.count, 3u + 1u); }

TEST_F(InterpreterTest, StepsReturnBetweenKernelsAndCanBeCancelled) {
  ASSERT_TRUE(net_.init(bytes(), *table().kernels, arena_.span()).ok());
  std::copy(values.begin(), values.end(), net_.input(0).data<float>());
  int steps = 0;
  while (net_.step() == Progress::more) ++steps;
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(from_bytes<float>(infer(net_, {to_bytes(values)})[0]), expected);
  EXPECT_EQ(net_.step(), Progress::more);
  net_.cancel();
  EXPECT_EQ(from_bytes<float>(infer(net_, {to_bytes(values)})[0]), expected);
}

TEST_F(InterpreterTest, BeforeInitThereIsNothingToRun) {
  EXPECT_EQ(net_.input_count(), 0u);
  EXPECT_EQ(net_.run().code(), Code::invalid_call);
  EXPECT_EQ(net_.step(), Progress::failed);
  GuardedMemory tiny(8);
  EXPECT_EQ(net_.init(bytes(), *table().kernels, tiny.span()).code(), Code::out_of_memory);
  EXPECT_EQ(net_.run().code(), Code::invalid_call);
}

TEST_F(InterpreterTest, NeedsItsProgramAligned) {
  std::vector<uint8_t> moved(program_.bytes.size() + 16);
  for (size_t shift = 0; shift < 16; ++shift) {
    std::copy(program_.bytes.begin(), program_.bytes.end(), moved.begin() + static_cast<long>(shift));
    Status status = net_.init({moved.data() + shift, program_.bytes.size()}, *table().kernels, arena_.span());
    EXPECT_EQ(status.ok(), shift == 0);
    if (shift != 0) {
      EXPECT_EQ(status.code(), Code::invalid_call);
    }
  }
}

TEST_F(InterpreterTest, RefusesAProgramForOtherKernels) {
  KernelTable other = *table().kernels;
  other.hash ^= 1;
  EXPECT_EQ(net_.init(bytes(), other, arena_.span()).code(), Code::mismatch);
}

TEST_F(InterpreterTest, SharesAnArena) {
  Arena shared(arena_.span());
  Interpreter other;
  ASSERT_TRUE(net_.init(model_, table(), shared, {}).ok());
  ASSERT_TRUE(other.init(model_, table(), shared, {}).ok());
  EXPECT_EQ(shared.persistent_bytes(), net_.persistent_bytes() + other.persistent_bytes());
  EXPECT_EQ(shared.activation_bytes(), align_up(std::max(net_.activation_bytes(), program_.table_bytes), 8));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(from_bytes<float>(infer(net_, {to_bytes(values)})[0]), expected);
    EXPECT_EQ(from_bytes<float>(infer(other, {to_bytes(values)})[0]), expected);
  }
}

TEST_F(InterpreterTest, DetectsUseOfASharedArenaByTwoAtOnce) {
  Arena shared(arena_.span());
  Interpreter other, third;
  ASSERT_TRUE(net_.init(model_, table(), shared, {}).ok());
  ASSERT_TRUE(other.init(bytes(), *table().kernels, shared).ok());
  EXPECT_EQ(net_.step(), Progress::more);
  EXPECT_EQ(other.step(), Progress::failed);
  EXPECT_EQ(other.status().code(), Code::busy);
  EXPECT_EQ(third.init(model_, table(), shared, {}).code(), Code::busy);
  EXPECT_TRUE(net_.run().ok());
  EXPECT_TRUE(other.run().ok());
}

TEST_F(InterpreterTest, TheCallerMayOwnInputsAndOutputs) {
  BuildOptions options;
  options.caller_inputs = options.caller_outputs = true;
  ASSERT_TRUE(net_.init(model_, table(), arena_.span(), options).ok());
  EXPECT_EQ(net_.run().code(), Code::invalid_call) << "no memory was bound";
  alignas(4) uint8_t memory[20];
  std::vector<float> out(4);
  for (int shift = 0; shift < 4; ++shift) {
    Status status = net_.bind_input(0, memory + shift, 16);
    EXPECT_EQ(status.ok(), shift % 4 == 0) << "floats need alignment 4";
  }
  EXPECT_EQ(net_.bind_input(0, memory, 12).code(), Code::invalid_call);
  EXPECT_EQ(net_.bind_input(1, memory, 16).code(), Code::invalid_call);
  ASSERT_TRUE(net_.bind_input(0, memory, 16).ok());
  ASSERT_TRUE(net_.bind_output(0, out.data(), 16).ok());
  std::memcpy(memory, values.data(), 16);
  ASSERT_TRUE(net_.run().ok());
  EXPECT_EQ(out, expected);
  EXPECT_EQ(from_bytes<float>(TensorBytes(memory, memory + 16)), values) << "the caller's input was written";
}

TEST_F(InterpreterTest, ManyCallerOwnedBuffersCostEightBytesEach) {
  std::vector<uint8_t> file = chain(9);
  Model model = open_model({file.data(), file.size()});
  ProgramOptions options;
  options.caller_inputs = options.caller_outputs = true;
  BuiltProgram program = build_program(model, table(), options);
  EXPECT_EQ(program.header().caller_buffers, 18);
  GuardedMemory arena(program.arena_bytes_ready());
  Bytes bytes(program.bytes.data(), program.bytes.size());
  ASSERT_TRUE(net_.init(bytes, *table().kernels, arena.span()).ok());
  EXPECT_EQ(net_.persistent_bytes(), (region_caller + 18) * 8u);
  std::vector<std::vector<float>> in(9, values), out(9, std::vector<float>(4));
  for (uint32_t i = 0; i < 9; ++i) {
    ASSERT_TRUE(net_.bind_input(i, in[i].data(), 16).ok());
    ASSERT_TRUE(net_.bind_output(i, out[i].data(), 16).ok());
  }
  ASSERT_TRUE(net_.run().ok());
  for (const auto& o : out) EXPECT_EQ(o, expected);
  EXPECT_TRUE(arena.intact());
}

TEST_F(InterpreterTest, BindRefusesTensorsThatTheArenaOwns) {
  ASSERT_TRUE(net_.init(bytes(), *table().kernels, arena_.span()).ok());
  float x[4];
  EXPECT_EQ(net_.bind_input(0, x, 16).code(), Code::invalid_call);
}

// The engine looks up the address of a region before it knows how many bytes are asked of it.
TEST_F(InterpreterTest, NothingInARegionThatIsNotThereIsRefused) {
  for (int region : {int{region_caller}, region_caller + 3, 255}) {
    std::vector<uint8_t> program = program_.bytes;
    Port& port = *reinterpret_cast<Port*>(program.data() + program_.header().inputs.offset);
    port.place = {0, static_cast<uint8_t>(region), role_in, 0};
    port.bytes = 0;
    EXPECT_EQ(net_.init({program.data(), program.size()}, *table().kernels, arena_.span()).code(), Code::malformed) << region;
  }
}

class HostilePorts : public InterpreterTest {
 protected:
  HostilePorts() {
    ProgramOptions options;
    options.caller_inputs = options.caller_outputs = true;
    owned_ = build_program(model_, table(), options);
  }
  Port& input() { return reinterpret_cast<Port*>(owned_.bytes.data() + owned_.header().inputs.offset)[0]; }
  Port& output() { return reinterpret_cast<Port*>(owned_.bytes.data() + owned_.header().outputs.offset)[0]; }
  void drop_steps() {  // what they ask of the buffers is another matter
    auto* header = reinterpret_cast<Header*>(owned_.bytes.data());
    header->origins.count = 0;
    *reinterpret_cast<Step*>(owned_.bytes.data() + header->code.offset) = {static_cast<uint8_t>(StepKind::end), 0, 0, 0};
  }
  bool loads() { return net_.init({owned_.bytes.data(), owned_.bytes.size()}, *table().kernels, arena_.span()).ok(); }

  BuiltProgram owned_;
};

TEST_F(HostilePorts, WhatACallerOwnsIsOneTensor) {
  drop_steps();
  Port good = output();
  output().place.region = input().place.region;
  EXPECT_TRUE(loads()) << "an input may be an output";
  output().bytes = 8;
  EXPECT_FALSE(loads()) << "the caller may bind the smaller one last";
  output() = good;
  input().bytes = 8;
  EXPECT_TRUE(loads());
  input().place.offset = 4;
  EXPECT_FALSE(loads()) << "the caller's buffer begins with the tensor";
}

TEST_F(HostilePorts, ACallersBufferIsAlignedToItsTensorsElementsAndNoMore) {
  input().type = static_cast<uint8_t>(Type::int8);  // floats are read there
  EXPECT_FALSE(loads());
}

// Nobody need produce a tensor without elements.
TEST_F(InterpreterTest, AnEmptyOutputIsThereInEveryProgram) {
  NetworkBuilder n(1);
  n.output(n.relu(n.input(Type::float32, {1, 4})));
  n.output(n.add({.type = Type::int8, .shape = {0}}));
  auto outputs = test::run_model(n.write(), {to_bytes(values)});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_TRUE(outputs[1].empty());
}

// A Program is as hostile as a model: cut at every byte and with random bytes changed it is refused, or runs inside its
// arena (under AddressSanitizer and between guard zones).
TEST_F(InterpreterTest, DamagedProgramsNeverLeaveTheArena) {
  std::mt19937 random(7);
  int refused = 0, ran = 0;
  auto attempt = [&](const std::vector<uint8_t>& program) {
    GuardedMemory arena(program_.arena_bytes_ready());
    if (!net_.init({program.data(), program.size()}, *table().kernels, arena.span()).ok()) {
      ++refused;
    } else {
      for (int step = 0; step < 100 && net_.step() == Progress::more; ++step) {}
      net_.cancel();
      ++ran;
    }
    ASSERT_TRUE(arena.intact());
  };
  for (size_t size = 0; size < program_.bytes.size(); ++size)
    attempt({program_.bytes.begin(), program_.bytes.begin() + static_cast<long>(size)});
  EXPECT_EQ(ran, 0);
  for (int i = 0; i < 50000; ++i) {
    std::vector<uint8_t> program = program_.bytes;
    for (uint32_t k = 1 + random() % 3; k > 0; --k) {
      size_t at = random() % program.size();
      if (at >= 16 && at < 20) continue;  // the kernels' hash: nothing would get past it
      program[at] = random() % 2 ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(program[at] ^ (1u << random() % 8));
    }
    attempt(program);
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(ran, 1000);
}

}  // namespace
}  // namespace linnet
