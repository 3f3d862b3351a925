#include "linnet/ops/svdf.h"

#include "linnet/graph/network_builder.h"
#include "linnet/run/catalogue.h"
#include "tests/support/block_check.h"
#include "tests/support/models.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using graph::per_tensor;

// Several inferences in a row, from the initial state.
std::vector<TensorBytes> sequence(const std::vector<uint8_t>& file, const std::vector<TensorBytes>& inputs) {
  Model model = open_model({file.data(), file.size()});
  BuiltProgram program = build_program(model, catalogue().table);
  GuardedMemory arena(program.arena_bytes_ready());
  Interpreter net;
  EXPECT_TRUE(net.init({program.bytes.data(), program.bytes.size()}, *catalogue().table.kernels, arena.span()).ok());
  std::vector<TensorBytes> outputs;
  for (const TensorBytes& x : inputs) outputs.push_back(infer(net, {x}).at(0));
  return outputs;
}

// Two units of rank 2 with a memory of 2: filter f answers w_f . x, remembers it, and adds t_f[0] * before + t_f[1] * now.
struct Small {
  std::vector<float> features = {1, 0, 0, 1, 1, 1, 2, -1}, time = {1, 2, 3, 4, 5, 6, 7, 8}, bias = {100, 200};
};

std::vector<uint8_t> float_network(const Small& w, bool with_bias) {
  NetworkBuilder n;
  int x = n.input(Type::float32, {1, 2});
  int f = n.constant<float>(Type::float32, {4, 2}, w.features), t = n.constant<float>(Type::float32, {4, 2}, w.time);
  int b = with_bias ? n.constant<float>(Type::float32, {2}, w.bias) : graph::absent;
  int s = n.variable(Type::float32, {1, 8});
  n.output(n.op({.code = 27, .inputs = {x, f, t, b, s}, .options_type = 9, .options = {{0, int32_t{2}}, {1, int8_t{0}}}}, {{.type = Type::float32, .shape = {1, 2}}}));
  return n.write();
}

TEST(Svdf, FloatByHand) {
  auto run = [](bool with_bias) {
    auto out = sequence(float_network({}, with_bias), {test::to_bytes<float>({1, 2}), test::to_bytes<float>({3, -1})});
    std::vector<float> y = test::from_bytes<float>(out[0]), z = test::from_bytes<float>(out[1]);
    y.insert(y.end(), z.begin(), z.end());
    return y;
  };
  // First {1, 2}: filters answer 1, 2, 3, 0. Then {3, -1}: 3, -1, 2, 7.
  EXPECT_EQ(run(true), (std::vector<float>{110, 218, 109, 283}));
  EXPECT_EQ(run(false), (std::vector<float>{10, 18, 9, 83}));
}

TEST(Svdf, IntegersByHand) {
  for (Type type : {Type::int8, Type::int16}) {
    NetworkBuilder n;
    int x = n.input(Type::int8, {1, 2}, per_tensor(1, 5));
    int f = n.constant<int8_t>(Type::int8, {4, 2}, {1, 0, 0, 1, 1, 1, 2, -1}, per_tensor(1));
    int t = type == Type::int8 ? n.constant<int8_t>(type, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, per_tensor(1))
                               : n.constant<int16_t>(type, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, per_tensor(1));
    int b = n.constant<int32_t>(Type::int32, {2}, {100, 200}, per_tensor(1));
    int s = n.variable(type, {1, 8}, per_tensor(1, type == Type::int8 ? -3 : 0));
    n.output(n.op({.code = 27, .version = 3, .inputs = {x, f, t, b, s}, .options_type = 9, .options = {{0, int32_t{2}}, {1, int8_t{1}}}},
                  {{.type = Type::int8, .shape = {1, 2}, .quantization = per_tensor(4, -100)}}));
    auto out = sequence(n.write(), {test::to_bytes<int8_t>({6, 7}), test::to_bytes<int8_t>({8, 4})});
    // (110, 218, 109, 283) / 4 - 100; 27.25 becomes 28 in the two roundings of the reference.
    EXPECT_EQ(test::from_bytes<int8_t>(out[0]), (std::vector<int8_t>{-72, -45}));
    EXPECT_EQ(test::from_bytes<int8_t>(out[1]), (std::vector<int8_t>{-72, -29}));
  }
}

TEST(Svdf, RunsInEveryWay) {
  for (Type time : {Type::int8, Type::int16}) {
    NetworkBuilder n(7);
    int x = n.input(Type::int8, {2, 9}, per_tensor(0.05f, -3));
    n.output(n.svdf(x, {.units = 5, .rank = 2, .memory = 4, .time_weights = time}));
    test::run_model(n.write(), {n.random_input(x)});
  }
}

TEST(Svdf, BlocksOfBatchesAndUnits) {
  NetworkBuilder n(8);
  int x = n.input(Type::int8, {3, 7}, per_tensor(0.05f, -3)), z = n.input(Type::float32, {3, 7});
  n.output(n.svdf(x, {.units = 6, .rank = 2, .memory = 5, .time_weights = Type::int8}));
  n.output(n.svdf(x, {.units = 5, .rank = 1, .memory = 1}));
  n.output(n.svdf(z, {.units = 4, .rank = 3, .memory = 2}));
  std::vector<TensorBytes> inputs = {n.random_input(x), n.random_input(z)};
  test::check_blocks<ops::svdf::Int<int8_t>>(n.write(), inputs);
  test::check_blocks<ops::svdf::Int<int16_t>>(n.write(), inputs);
  test::check_blocks<ops::svdf::Float>(n.write(), inputs);
}

TEST(Svdf, BatchesAreIndependent) {
  NetworkBuilder three(3), one(3);
  graph::SvdfSpec spec = {.units = 4, .rank = 2, .memory = 3};
  int x = three.input(Type::int8, {3, 6}, per_tensor(0.05f, 1));
  three.output(three.svdf(x, spec));
  one.output(one.svdf(one.input(Type::int8, {1, 6}, per_tensor(0.05f, 1)), spec));
  TensorBytes a = three.random_input(x), b = three.random_input(x);
  auto all = sequence(three.write(), {a, b});
  for (int k = 0; k < 3; ++k) {
    auto row = [&](const TensorBytes& t, int n) { return TensorBytes(t.begin() + k * n, t.begin() + (k + 1) * n); };
    auto alone = sequence(one.write(), {row(a, 6), row(b, 6)});
    EXPECT_EQ(row(all[0], 4), alone[0]);
    EXPECT_EQ(row(all[1], 4), alone[1]);
  }
}

TEST(Svdf, CostsOfTheLargestSizes) {
  constexpr int32_t large = 2000000000;
  EXPECT_EQ(ops::svdf::Float::cost({{1, large, 1, 1, large}, 0, 0}).macs, 2 * uint64_t{large});
}

TEST(Svdf, RefusesWhatItCannotDo) {
  auto refused = [](auto change) {
    NetworkBuilder n;
    n.output(n.svdf(n.input(Type::int8, {2, 6}, per_tensor(0.05f, 1)), {.units = 4, .rank = 2, .memory = 3}));
    change(n);
    return test::refusal(n.write());
  };
  auto state = [](auto& n) -> graph::TensorSpec& { return n.tensor(n.last_operator().inputs[4]); };
  EXPECT_NE(refused([](auto& n) { n.last_operator().options[0].value = int32_t{0}; }).find("rank"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.last_operator().options[0].value = INT32_MAX; }).find("rank"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.last_operator().options[1].value = int8_t{4}; }).find("activation"), std::string::npos);
  EXPECT_NE(refused([&](auto& n) { state(n).shape = {2, 12}; }).find("state"), std::string::npos);
  EXPECT_NE(refused([&](auto& n) { state(n).is_variable = false; n.subgraph().inputs.push_back(n.last_operator().inputs[4]); }).find("variable"), std::string::npos);
  EXPECT_NE(refused([&](auto& n) { state(n).quantization = {}; }).find("scale"), std::string::npos);
  EXPECT_NE(refused([](auto& n) { n.tensor(0).type = Type::float32; n.tensor(0).quantization = {}; }).find("types"), std::string::npos);
}

}  // namespace
}  // namespace linnet
