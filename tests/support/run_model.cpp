#include "tests/support/run_model.h"

#include <random>

#include "linnet/run/catalogue.h"

namespace linnet::test {

std::string refusal(const std::vector<uint8_t>& file) {
  try {
    Model model = open_model({file.data(), file.size()});
    build_program(model, catalogue().table);
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "the model was not refused";
  return {};
}

std::vector<TensorBytes> random_inputs(const Model& model, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TensorBytes> inputs;
  for (int32_t index : model.subgraph(0).inputs()) {
    Model::Tensor tensor = model.subgraph(0).tensor(static_cast<uint32_t>(index));
    TensorBytes bytes(tensor.bytes());
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    for (size_t i = 0; tensor.type() == Type::float32 && i < bytes.size(); i += 4) {
      float value = static_cast<float>(random() % 8192) / 4096 - 1;
      std::memcpy(&bytes[i], &value, sizeof value);
    }
    inputs.push_back(std::move(bytes));
  }
  return inputs;
}

std::vector<TensorBytes> run_model(const std::vector<uint8_t>& file, const std::vector<TensorBytes>& inputs) {
  const BuildTable& table = catalogue().table;
  try {
    Model model = open_model({file.data(), file.size()});
    BuiltProgram program = build_program(model, table);

    GuardedMemory ready_arena(program.arena_bytes_ready(), 0, 0xFF);
    Interpreter ready;
    Status status = ready.init({program.bytes.data(), program.bytes.size()}, *table.kernels, ready_arena.span());
    if (!status.ok()) throw Error("Program refused: " + describe(status, ready.where()));
    std::vector<TensorBytes> expected = infer(ready, inputs);
    ready.reset();  // outputs of networks with state depend on it
    EXPECT_EQ(infer(ready, inputs), expected) << "a second inference differs from the first";
    EXPECT_TRUE(ready_arena.intact());

    uint32_t need = program.arena_bytes_built();
    GuardedMemory arena(need, 0, 0x55);
    Interpreter net;
    if (status = net.init(model, table, arena.span()); !status.ok())
      throw Error("in an arena of the reported size: " + describe(status, net.where()));
    EXPECT_EQ(infer(net, inputs, [](uint32_t) {}), expected) << "built on the device, step by step";
    EXPECT_TRUE(arena.intact());

    GuardedMemory small(need - 1), odd(need + 9, 7, 0x00);
    Interpreter other;
    EXPECT_EQ(other.init(model, table, small.span()).code(), Code::out_of_memory);
    EXPECT_TRUE(small.intact());
    if (status = other.init(model, table, odd.span()); !status.ok())
      throw Error("in an arena at an odd address: " + describe(status, other.where()));
    EXPECT_EQ(infer(other, inputs), expected);
    EXPECT_TRUE(odd.intact());
    return expected;
  } catch (const Error& e) {
    ADD_FAILURE() << e.what();
    return {};
  }
}

}  // namespace linnet::test
