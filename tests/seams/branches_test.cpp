// Seam: IF is made of steps; a branch may pass its input straight through.
#include "linnet/run/catalogue.h"
#include "tests/seams/support.h"

namespace linnet::seams {
namespace {

using graph::NetworkBuilder;
using test::from_bytes;
using test::to_bytes;

// condition, x -> relu -> IF { relu6 } else { the same } -> leaky_relu(0.5)
std::vector<uint8_t> network(bool passes_when_true) {
  NetworkBuilder n(1);
  int condition = n.input(Type::boolean, {1});
  int x = n.input(Type::float32, {1, 4});
  int computes = n.add_subgraph("computes");
  n.output(n.relu6(n.input(Type::float32, {1, 4})));
  int passes = n.add_subgraph("passes");
  n.output(n.input(Type::float32, {1, 4}));
  n.select_subgraph(0);
  int y = n.if_(condition, {n.leaky_relu(x, 0.5f)}, passes_when_true ? passes : computes, passes_when_true ? computes : passes,
                {{.type = Type::float32, .shape = {1, 4}}});
  n.output(n.leaky_relu(y, 0.5f));
  return n.write();
}

TEST(Branches, ABranchThatPassesItsInputThroughGivesItAndTheOtherComputes) {
  for (bool passes_when_true : {false, true})
    for (bool condition : {false, true}) {
      auto out = test::run_model(network(passes_when_true), {{static_cast<uint8_t>(condition)}, to_bytes<float>({-4, 2, 8, -16})});
      ASSERT_FALSE(out.empty());
      std::vector<float> passed = {-1, 2, 8, -4}, computed = {0, 2, 6, 0};
      EXPECT_EQ(from_bytes<float>(out[0]), condition == passes_when_true ? passed : computed);
    }
}

TEST(Branches, TheProgramHasStepsForThemAndNoKernel) {
  std::vector<uint8_t> file = network(false);
  Model model = open_model({file.data(), file.size()});
  BuiltProgram program = build_program(model, catalogue().table);
  int kernels = 0, branches = 0;
  auto* step = reinterpret_cast<const Step*>(program.bytes.data() + program.header().code.offset);
  for (; static_cast<StepKind>(step->kind) != StepKind::end; step = next_step(step)) {
    kernels += static_cast<StepKind>(step->kind) == StepKind::run;
    branches += static_cast<StepKind>(step->kind) == StepKind::branch;
  }
  EXPECT_EQ(kernels, 3);
  EXPECT_EQ(branches, 1);
}

}  // namespace
}  // namespace linnet::seams
