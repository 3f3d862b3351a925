// The seeds of the fuzzers leave nothing out: every operator and type, every computation, and numbers that tell all of them
// apart.
#include "tests/fuzz/networks.h"

#include <gtest/gtest.h>

#include <set>

#include "linnet/run/catalogue.h"
#include "linnet/run/program_builder.h"
#include "tests/fuzz/kernel_numbers.h"
#include "tests/fuzz/tiled.h"
#include "tests/support/run_model.h"

namespace linnet::fuzz {
namespace {

bool fits(const TypeSignature& want, const Node& node) {
  auto is = [](Type wanted, const TensorInfo& given) { return wanted == Type::none || wanted == given.type; };
  return is(want.input0, node.input(0)) && is(want.input1, node.input(1)) && is(want.output0, node.output(0));
}

TEST(FuzzNetworks, UseEveryOperatorAndComputation) {
  const BuildTable& table = catalogue().table;
  std::set<uint32_t> operators, computations;
  for (const SmallNetwork& network : small_networks()) {
    SCOPED_TRACE(network.name);
    Model model = open_model({network.file.data(), network.file.size()});
    for (uint32_t s = 0; s < model.subgraph_count(); ++s)
      for (uint32_t i = 0; i < model.subgraph(s).operator_count(); ++i) {
        Node node = node_of(model, model.subgraph(s), static_cast<int32_t>(s), i);
        for (uint32_t o = 0; o < table.operator_count; ++o)
          if (table.operators[o].builtin_code == operator_of(node).builtin_code() && fits(table.operators[o].types, node)) operators.insert(o);
      }
    BuiltProgram program = build_program(model, table);
    const Step* step = reinterpret_cast<const Step*>(program.bytes.data() + program.header().code.offset);
    for (; static_cast<StepKind>(step->kind) != StepKind::end; step = next_step(step))
      if (static_cast<StepKind>(step->kind) == StepKind::run) computations.insert(table.facts[step->kernel].computation);
  }
  for (uint32_t o = 0; o < table.operator_count; ++o)
    EXPECT_TRUE(operators.count(o)) << "operator " << table.operators[o].builtin_code << " of types " << type_name(table.operators[o].types.input0)
                                    << ", " << type_name(table.operators[o].types.input1) << ", " << type_name(table.operators[o].types.output0);
  for (const KernelInfo& kernel : catalogue().kernels) EXPECT_TRUE(computations.count(computation_id(kernel.computation.data()))) << kernel.computation;
}

// Of every kernel: its window names what a piece of the output needs, and pieces make the same bits.
TEST(FuzzNetworks, GiveTheSameBitsInTiles) {
  const KernelTable& kernels = *catalogue().table.kernels;
  int compared = 0;
  for (const SmallNetwork& network : small_networks()) {
    SCOPED_TRACE(network.name);
    Model model = open_model({network.file.data(), network.file.size()});
    BuiltProgram built = build_program(model, catalogue().table);
    if (!is_straight(built)) continue;
    std::vector<TensorBytes> inputs = test::random_inputs(model, 3);
    auto outputs = [&](const std::vector<uint8_t>& program) {
      GuardedMemory arena(8192);
      Interpreter net;
      Status status = net.init({program.data(), program.size()}, kernels, arena.span());
      EXPECT_TRUE(status.ok()) << status.text();
      std::vector<TensorBytes> all = infer(net, inputs);
      EXPECT_TRUE(arena.intact());
      return all;
    };
    std::vector<TensorBytes> expected = outputs(built.bytes);
    EXPECT_EQ(outputs(in_tiles(built, Tiled::plain)), expected);
    EXPECT_EQ(outputs(in_tiles(built, Tiled::buffers)), expected);
    ++compared;
  }
  EXPECT_GT(compared, 90);
}

TEST(FuzzNetworks, HaveNumbersOfTheirOwn) {
  std::set<uint16_t> numbers;
  for (const SmallNetwork& network : small_networks()) EXPECT_TRUE(numbers.insert(network.number()).second) << network.name;
}

TEST(FuzzNetworks, KernelsHaveNumbersOfTheirOwn) {
  std::set<uint16_t> numbers;
  for (const KernelInfo& kernel : catalogue().kernels)
    EXPECT_TRUE(numbers.insert(kernel_number(kernel.set.data(), kernel.computation.data())).second) << kernel.set << " " << kernel.computation;
}

}  // namespace
}  // namespace linnet::fuzz
