// Planned runs of random branchy networks equal the run in which no buffer shares a byte, though every byte that the plan
// calls dead is overwritten after each node.
#include <gtest/gtest.h>

#include <random>

#include "linnet/graph/network_builder.h"
#include "linnet/plan/network_plan.h"
#include "linnet/run/catalogue.h"
#include "linnet/run/session.h"

namespace linnet::plan {
namespace {

const BuildTable& table() { return catalogue().table; }

// Operators on tensors chosen at random among all so far: skips, branches, in-place candidates, one to three outputs.
std::vector<uint8_t> random_network(uint64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  graph::NetworkBuilder n(seed);
  const Type types[] = {Type::float32, Type::int8, Type::int16};
  Type type = types[below(3)];
  graph::Quantization scale = type == Type::int8 ? graph::per_tensor(0.05f, 3) : graph::Quantization{};
  if (type == Type::int16) scale = graph::per_tensor(0.0004f);
  std::vector<int> tensors = {n.input(type, {1, 5, 5, 3}, scale)};
  if (below(3) == 0) tensors.push_back(n.input(type, {1, 5, 5, 3}, scale));
  std::vector<bool> used(tensors.size(), true);
  auto pick = [&] {
    size_t i = below(2) ? tensors.size() - 1 - below(std::min<size_t>(3, tensors.size())) : below(tensors.size());
    used[i] = true;
    return i;
  };
  size_t count = 4 + below(14);
  for (size_t i = 0; i < count; ++i) {
    size_t x = pick();
    int channels = n.tensor(tensors[x]).shape[3];
    int made;
    switch (below(6)) {
      case 0: made = n.conv_2d(tensors[x], {.channels = 1 + static_cast<int>(below(7)), .kernel = {3, 3}}); break;
      case 1: made = n.conv_2d(tensors[x], {.channels = 1 + static_cast<int>(below(7))}); break;
      case 2: made = n.depthwise_conv_2d(tensors[x], {.channels = channels, .kernel = {3, 3}}); break;
      case 3: made = n.relu(tensors[x]); break;
      case 4: {
        size_t y = pick();
        made = channels == n.tensor(tensors[y]).shape[3] ? n.add(tensors[x], tensors[y]) : n.relu(tensors[y]);
        break;
      }
      default: made = n.concatenation({tensors[x], tensors[x]}, 3);
    }
    tensors.push_back(made);
    used.push_back(false);
  }
  size_t outputs = 0;  // what nothing reads, some of it
  for (size_t i = tensors.size(); i-- > 0 && outputs < 3;)
    if (!used[i]) n.output(tensors[i]), ++outputs;
  return n.write();
}

std::vector<TensorBytes> run(const BuiltProgram& program, const std::vector<TensorBytes>& inputs, bool poison) {
  GuardedMemory arena(program.arena_bytes_ready());
  Interpreter net;
  Status status = net.init({program.bytes.data(), program.bytes.size()}, *table().kernels, arena.span());
  if (!status.ok()) throw Error(describe(status, net.where()));
  size_t next = 0;
  auto overwrite_dead = [&](uint32_t steps) {
    for (; next < program.nodes.size() && program.nodes[next].end_step <= steps; ++next) {
      uint16_t position = program.nodes[next].position;
      std::vector<bool> alive(program.header().arena_bytes, false);
      for (const TensorEntry& e : program.entries)
        if (e.kind == TensorEntry::activation && e.first <= position && position < e.last)
          for (uint32_t b = 0; b < e.bytes; ++b) alive.at(e.offset + b) = true;
      for (uint32_t b = 0; b < alive.size(); ++b)
        if (!alive[b]) arena.span()[b] = static_cast<uint8_t>(0x5A + b);
    }
  };
  std::vector<TensorBytes> outputs = infer(net, inputs, poison ? overwrite_dead : std::function<void(uint32_t)>());
  EXPECT_TRUE(!poison || next == program.nodes.size());
  EXPECT_TRUE(arena.intact());
  return outputs;
}

BuiltProgram built_without_reuse(const Model& model) {
  BuiltProgram greedy = build_program(model, table(), {.ignore_model_plan = true});
  std::vector<uint32_t> offsets(greedy.entries.size(), Plan::not_in_arena);
  Plan plan;
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (greedy.entries[i].kind != TensorEntry::activation) continue;
    offsets[i] = plan.arena_bytes;
    plan.arena_bytes += align_up(greedy.entries[i].bytes, 64);
  }
  plan.offsets = {offsets.data(), offsets.size()};
  ProgramOptions options;
  options.plan = &plan;
  return build_program(model, table(), options);
}

std::vector<TensorBytes> random_inputs(const BuiltProgram& program, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TensorBytes> inputs;
  auto* ports = reinterpret_cast<const Port*>(program.bytes.data() + program.header().inputs.offset);
  for (uint32_t i = 0; i < program.header().inputs.count; ++i) {
    TensorBytes bytes(ports[i].bytes);
    bool real = static_cast<Type>(ports[i].type) == Type::float32;
    for (size_t b = 0; !real && b < bytes.size(); ++b) bytes[b] = static_cast<uint8_t>(random());
    for (size_t f = 0; real && f < bytes.size() / 4; ++f) {
      float value = static_cast<float>(random() % 512) / 256 - 1;
      __builtin_memcpy(&bytes[4 * f], &value, 4);
    }
    inputs.push_back(std::move(bytes));
  }
  return inputs;
}

TEST(PlannedRun, EqualsTheRunWithoutReuseOnRandomNetworks) {
  int reordered = 0, smaller = 0;
  for (uint32_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<uint8_t> file = random_network(seed);
    Model model = open_model({file.data(), file.size()});
    BuiltProgram apart = built_without_reuse(model);
    std::vector<TensorBytes> inputs = random_inputs(apart, seed);
    std::vector<TensorBytes> expected = run(apart, inputs, false);
    EXPECT_EQ(run(apart, inputs, true), expected);
    EXPECT_EQ(run(build_program(model, table(), {.ignore_model_plan = true}), inputs, true), expected) << "placed greedily, as on a device";
    for (OrderPolicy order : {OrderPolicy::keep, OrderPolicy::best}) {
      NetworkOptions options;
      options.order = order;
      options.order_limits.time_limit_s = options.placement_limits.time_limit_s = 0.2;
      NetworkPlan planned = plan_network(model, table(), options);
      EXPECT_LE(planned.peak_bytes, planned.given_peak_bytes);
      std::vector<uint8_t> travelled = planned_model(planned, table(), {0.1, 0});
      BuiltProgram program = build_program(open_model({travelled.data(), travelled.size()}), table());
      EXPECT_EQ(run(program, inputs, true), expected);
      smaller += program.arena_bytes_ready() < apart.arena_bytes_ready();
      reordered += planned.peak_bytes < planned.given_peak_bytes;
    }
  }
  EXPECT_GT(smaller, 200);   // or the plans share nothing
  EXPECT_GT(reordered, 10);  // or no order changes
}

}  // namespace
}  // namespace linnet::plan
