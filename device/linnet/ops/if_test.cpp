#include "linnet/ops/if_.h"

#include "linnet/graph/network_builder.h"
#include "linnet/run/catalogue.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using graph::TensorSpec;

const TensorSpec four_floats = {.type = Type::float32, .shape = {4}};
const TensorBytes yes = {1}, no = {0};

std::vector<float> first(const std::vector<TensorBytes>& outputs) {
  return outputs.empty() ? std::vector<float>{} : test::from_bytes<float>(outputs[0]);
}

// A subgraph from four floats to four floats.
template <class F>
int branch(NetworkBuilder& n, F body) {
  int index = n.add_subgraph();
  n.output(body(n.input(Type::float32, {4})));
  n.select_subgraph(0);
  return index;
}

TEST(If, TakesOneBranchOrTheOther) {
  NetworkBuilder n;
  int relu = branch(n, [&](int x) { return n.relu(x); }), six = branch(n, [&](int x) { return n.relu6(x); });
  int condition = n.input(Type::boolean, {1}), x = n.input(Type::float32, {4});
  n.output(n.if_(condition, {x}, relu, six, {four_floats}));
  TensorBytes data = test::to_bytes<float>({-1, 2, 7, 9});
  EXPECT_EQ(first(test::run_model(n.write(), {yes, data})), (std::vector<float>{0, 2, 7, 9}));
  EXPECT_EQ(first(test::run_model(n.write(), {no, data})), (std::vector<float>{0, 2, 6, 6}));
}

TEST(If, PassesItsInputStraightThrough) {
  NetworkBuilder n;
  int relu = branch(n, [&](int x) { return n.relu(x); }), pass = branch(n, [](int x) { return x; });
  int condition = n.input(Type::boolean, {}), x = n.input(Type::float32, {4});
  n.output(n.if_(condition, {x}, relu, pass, {four_floats}));
  n.output(n.relu6(x));  // somebody else reads it afterwards
  TensorBytes data = test::to_bytes<float>({-1, 2, 7, 9});
  EXPECT_EQ(first(test::run_model(n.write(), {yes, data})), (std::vector<float>{0, 2, 7, 9}));
  auto out = test::run_model(n.write(), {no, data});
  EXPECT_EQ(first(out), (std::vector<float>{-1, 2, 7, 9}));
  EXPECT_EQ(test::from_bytes<float>(out.at(1)), (std::vector<float>{0, 2, 6, 6}));
}

TEST(If, BothBranchesPassThrough) {
  NetworkBuilder n;
  int a = branch(n, [](int x) { return x; }), b = branch(n, [](int x) { return x; });
  int condition = n.input(Type::boolean, {1}), x = n.input(Type::float32, {4});
  n.output(n.if_(condition, {n.relu(x)}, a, b, {four_floats}));
  for (const TensorBytes& c : {yes, no})
    EXPECT_EQ(first(test::run_model(n.write(), {c, test::to_bytes<float>({-1, 2, 7, 9})})), (std::vector<float>{0, 2, 7, 9}));
}

TEST(If, SwapsItsInputs) {
  NetworkBuilder n;
  auto swapped = [&](bool swap) {
    int index = n.add_subgraph();
    int a = n.input(Type::float32, {4}), b = n.input(Type::float32, {4});
    n.output(swap ? b : a);
    n.output(swap ? a : b);
    n.select_subgraph(0);
    return index;
  };
  int then = swapped(true), otherwise = swapped(false);
  int condition = n.input(Type::boolean, {1}), a = n.input(Type::float32, {4}), b = n.input(Type::float32, {4});
  int y = n.if_(condition, {a, b}, then, otherwise, {four_floats, four_floats});
  n.output(y);
  n.output(y + 1);
  TensorBytes one = test::to_bytes<float>({1, 2, 3, 4}), two = test::to_bytes<float>({5, 6, 7, 8});
  EXPECT_EQ(test::run_model(n.write(), {yes, one, two}), (std::vector<TensorBytes>{two, one}));
  EXPECT_EQ(test::run_model(n.write(), {no, one, two}), (std::vector<TensorBytes>{one, two}));
}

TEST(If, Nested) {
  NetworkBuilder n;
  int relu = branch(n, [&](int x) { return n.relu(x); }), six = branch(n, [&](int x) { return n.relu6(x); });
  int pass = n.add_subgraph();
  n.input(Type::boolean, {1});
  n.output(n.input(Type::float32, {4}));
  int inner = n.add_subgraph();
  {
    int c = n.input(Type::boolean, {1}), x = n.input(Type::float32, {4});
    n.output(n.relu6(n.if_(c, {x}, relu, six, {four_floats})));
  }
  n.select_subgraph(0);
  int a = n.input(Type::boolean, {1}), b = n.input(Type::boolean, {1}), x = n.input(Type::float32, {4});
  n.output(n.relu(n.if_(a, {b, x}, inner, pass, {four_floats})));
  TensorBytes data = test::to_bytes<float>({-1, 2, 7, 9});
  for (const TensorBytes& c : {yes, no}) {
    EXPECT_EQ(first(test::run_model(n.write(), {yes, c, data})), (std::vector<float>{0, 2, 6, 6}));
    EXPECT_EQ(first(test::run_model(n.write(), {no, c, data})), (std::vector<float>{0, 2, 7, 9}));
  }
}

// The condition is made early, and other tensors that fit its place are made before it is used.
TEST(If, ConditionOutlivesWhatIsMadeAfterIt) {
  NetworkBuilder n;
  int relu = branch(n, [&](int x) { return n.relu(x); }), six = branch(n, [&](int x) { return n.relu6(x); });
  int c = n.input(Type::boolean, {1, 2}), x = n.input(Type::float32, {4});
  int condition = n.strided_slice(c, {.begin = {0, 1}, .end = {1, 2}, .strides = {1, 1}});
  int y = n.relu(n.transpose(n.reshape(x, {2, 2}), {1, 0}));
  n.output(n.if_(condition, {n.reshape(n.transpose(y, {1, 0}), {4})}, relu, six, {four_floats}));
  TensorBytes data = test::to_bytes<float>({-1, 2, 7, 9});
  EXPECT_EQ(first(test::run_model(n.write(), {{0, 1}, data})), (std::vector<float>{0, 2, 7, 9}));
  EXPECT_EQ(first(test::run_model(n.write(), {{1, 0}, data})), (std::vector<float>{0, 2, 6, 6}));
}

// State inside a branch moves on only when the branch is taken.
TEST(If, StateInABranch) {
  NetworkBuilder n(6);
  int index = n.add_subgraph();
  n.output(n.svdf(n.input(Type::float32, {1, 4}), {.units = 4, .rank = 1, .memory = 3}));
  int pass = n.add_subgraph();
  n.output(n.input(Type::float32, {1, 4}));
  n.select_subgraph(0);
  int c = n.input(Type::boolean, {1}), x = n.input(Type::float32, {1, 4});
  n.output(n.if_(c, {x}, index, pass, {{.type = Type::float32, .shape = {1, 4}}}));
  std::vector<uint8_t> file = n.write();
  Model model = open_model({file.data(), file.size()});
  BuiltProgram program = build_program(model, catalogue().table);
  TensorBytes data = test::to_bytes<float>({1, 2, 3, 4});
  auto outputs = [&](const std::vector<TensorBytes>& conditions) {
    GuardedMemory arena(program.arena_bytes_ready());
    Interpreter net;
    EXPECT_TRUE(net.init({program.bytes.data(), program.bytes.size()}, *catalogue().table.kernels, arena.span()).ok());
    std::vector<TensorBytes> taken;
    for (const TensorBytes& condition : conditions) {
      TensorBytes y = infer(net, {condition, data}).at(0);
      if (condition == yes) taken.push_back(y);
      else EXPECT_EQ(y, data);
    }
    return taken;
  };
  auto plain = outputs({yes, yes, yes});
  EXPECT_NE(plain.at(0), plain.at(1));
  EXPECT_EQ(outputs({no, yes, no, no, yes, yes}), plain);
}

// Variables belong to the subgraph: called twice it goes on where it was, as a chain of inferences does.
TEST(If, ASubgraphThatIsCalledInTwoPlacesHasOneState) {
  auto network = [](int calls) {
    NetworkBuilder n(5);
    int remembers = branch(n, [&](int x) { return n.reshape(n.svdf(n.reshape(x, {1, 4}), {.units = 4}), {4}); });
    int pass = branch(n, [](int x) { return x; });
    int condition = n.input(Type::boolean, {1}), x = n.input(Type::float32, {4});
    for (int i = 0; i < calls; ++i) n.output(n.if_(condition, {x}, remembers, pass, {four_floats}));
    return n.write();
  };
  std::vector<uint8_t> once = network(1), twice = network(2);
  TensorBytes data = test::to_bytes<float>({0.5f, -1, 2, 1});
  BuiltProgram program = build_program(open_model({once.data(), once.size()}), catalogue().table);
  GuardedMemory arena(program.arena_bytes_ready());
  Interpreter net;
  ASSERT_TRUE(net.init({program.bytes.data(), program.bytes.size()}, *catalogue().table.kernels, arena.span()).ok());
  std::vector<TensorBytes> steps;
  for (int i = 0; i < 2; ++i) steps.push_back(infer(net, {yes, data}).at(0));
  EXPECT_NE(steps[0], steps[1]);
  EXPECT_EQ(test::run_model(twice, {yes, data}), steps);
  EXPECT_EQ(build_program(open_model({twice.data(), twice.size()}), catalogue().table).header().persistent_bytes,
            program.header().persistent_bytes);
}

TEST(If, RefusesWhatDoesNotFit) {
  auto refused = [](auto change) {
    NetworkBuilder n;
    int a = branch(n, [&](int x) { return n.relu(x); }), b = branch(n, [&](int x) { return n.relu6(x); });
    int condition = n.input(Type::boolean, {1}), x = n.input(Type::float32, {4});
    n.output(n.if_(condition, {x}, a, b, {four_floats}));
    change(n);
    return test::refusal(n.write());
  };
  using graph::Option;
  EXPECT_NE(refused([](auto& n) { n.last_operator().options[0].value = int32_t{0}; }).find("subgraph"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.last_operator().options[1].value = int32_t{9}; }).find("subgraph"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.last_operator().options[1].value = int32_t{-1}; }).find("subgraph"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.tensor(0).shape = {2}; }).find("single boolean"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.tensor(1).shape = {2, 2}; }).find("another type or shape"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.last_operator().inputs.pop_back(); }).find("more inputs"), std::string::npos);
  // A branch that is its own branch.
  EXPECT_NE(refused([](auto& n) {
              graph::OperatorSpec op = n.last_operator();
              n.select_subgraph(1);
              int c = n.constant(Type::boolean, {1}, std::vector<uint8_t>{1});
              n.output(n.if_(c, {n.subgraph().inputs[0]}, 1, 2, {four_floats}));
              n.subgraph().outputs.erase(n.subgraph().outputs.begin());
            }).find("calls itself"),
            std::string::npos);
}

}  // namespace
}  // namespace linnet
