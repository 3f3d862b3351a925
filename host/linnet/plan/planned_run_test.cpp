// Planned runs of random branchy networks equal the run in which no buffer shares a byte, though every byte that the plan
// calls dead is overwritten after each node.
#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <set>

#include "linnet/graph/network_builder.h"
#include "linnet/graph/networks.h"
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

// Follows where the entries of a Program lie while it runs, and overwrites all bytes that none of them needs: after each node
// and after each move, which are steps of their own behind the node's. `plan`: of the Program, if it moves buffers.
class DeadBytes {
 public:
  DeadBytes(const BuiltProgram& program, const Plan* plan) : program_(program) {
    for (const TensorEntry& e : program.entries) offsets_.push_back(e.offset);
    for (size_t i = 0; plan && i < offsets_.size(); ++i)
      if (program.entries[i].kind == TensorEntry::activation) offsets_[i] = plan->offsets[i];
    for (const BuiltNode& node : program.nodes) {
      uint32_t step = node.end_step;
      events_.push_back({step, node.position, nullptr});
      for (size_t m = 0; plan && m < plan->moves.size(); ++m)
        if (plan->moves[m].position == node.position) events_.push_back({++step, node.position, &plan->moves[m]});
    }
  }

  void overwrite(uint32_t steps, Span<uint8_t> arena) {
    for (; next_ < events_.size() && events_[next_].steps <= steps; ++next_) {
      const Event& event = events_[next_];
      if (event.move) offsets_.at(event.move->entry) = event.move->offset;
      std::vector<bool> alive(program_.header().arena_bytes, false);
      for (size_t i = 0; i < offsets_.size(); ++i) {
        const TensorEntry& e = program_.entries[i];
        if (e.kind == TensorEntry::activation && e.first <= event.position && event.position < e.last)
          for (uint32_t b = 0; b < e.bytes; ++b) alive.at(offsets_[i] + b) = true;
      }
      for (uint32_t b = 0; b < alive.size(); ++b)
        if (!alive[b]) arena[b] = static_cast<uint8_t>(0x5A + b);
    }
  }

  bool finished() const { return next_ == events_.size(); }

 private:
  struct Event {
    uint32_t steps;
    uint16_t position;
    const PlannedMove* move;
  };
  const BuiltProgram& program_;
  std::vector<uint32_t> offsets_;
  std::vector<Event> events_;
  size_t next_ = 0;
};

std::vector<TensorBytes> run(const BuiltProgram& program, const std::vector<TensorBytes>& inputs, bool poison, const Plan* plan = nullptr) {
  GuardedMemory arena(program.arena_bytes_ready());
  Interpreter net;
  Status status = net.init({program.bytes.data(), program.bytes.size()}, *table().kernels, arena.span());
  if (!status.ok()) throw Error(describe(status, net.where()));
  DeadBytes dead(program, plan);
  auto overwrite_dead = [&](uint32_t steps) { dead.overwrite(steps, arena.span()); };
  std::vector<TensorBytes> outputs = infer(net, inputs, poison ? overwrite_dead : std::function<void(uint32_t)>());
  EXPECT_TRUE(!poison || dead.finished());
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
      std::vector<uint8_t> travelled = planned_model(planned, {0.1, 0});
      BuiltProgram program = build_program(open_model({travelled.data(), travelled.size()}), table());
      EXPECT_EQ(run(program, inputs, true), expected);
      smaller += program.arena_bytes_ready() < apart.arena_bytes_ready();
      reordered += planned.peak_bytes < planned.given_peak_bytes;
    }
  }
  EXPECT_GT(smaller, 200);   // or the plans share nothing
  EXPECT_GT(reordered, 10);  // or no order changes
}

NetworkOptions compacting(OrderPolicy order) {
  NetworkOptions options;
  options.memory = MemoryPolicy::compacting;
  options.order = order;
  options.order_limits.time_limit_s = 0.2;
  options.placement_limits.time_limit_s = 1;
  return options;
}

// Returns what was planned.
NetworkPlan check_compacted(const std::vector<uint8_t>& file, uint32_t seed, OrderPolicy order) {
  Model model = open_model({file.data(), file.size()});
  BuiltProgram apart = built_without_reuse(model);
  std::vector<TensorBytes> inputs = random_inputs(apart, seed);
  NetworkPlan planned = plan_network(model, table(), compacting(order));
  EXPECT_EQ(planned.moves.empty(), planned.moved_bytes == 0);
  EXPECT_GE(planned.arena_bytes, planned.lower_bound_bytes);
  if (planned.moves.empty()) {
    EXPECT_EQ(planned.arena_bytes, planned.still_arena_bytes);
  } else {
    EXPECT_LT(align_up(static_cast<uint32_t>(planned.arena_bytes), persistent_alignment), align_up(static_cast<uint32_t>(planned.still_arena_bytes), persistent_alignment));
  }
  std::vector<uint8_t> travelled = planned_model(planned, {0.1, 0});
  BuiltProgram program = build_program(open_model({travelled.data(), travelled.size()}), table());
  EXPECT_EQ(program.header().arena_bytes, planned.arena_bytes);
  EXPECT_EQ(static_cast<int64_t>(program.moved_bytes()), planned.moved_bytes);
  std::vector<TensorBytes> expected = run(apart, inputs, false);
  Plan plan = planned.plan();
  EXPECT_EQ(run(program, inputs, true, &plan), expected);
  EXPECT_EQ(run(program, inputs, false), expected);
  return planned;
}

TEST(CompactedRun, EqualsTheRunWithoutReuseOnRandomNetworks) {
  int moving = 0;
  int64_t saved = 0, bytes = 0;
  constexpr uint32_t networks = 500;
  for (uint32_t seed = 1; seed <= networks; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<uint8_t> file = seed % 10 ? random_network(seed) : graph::narrow_holes(seed);
    NetworkPlan planned = check_compacted(file, seed, seed % 4 < 2 ? OrderPolicy::keep : OrderPolicy::best);
    if (planned.moves.empty()) continue;
    ++moving;
    saved += planned.still_arena_bytes - planned.arena_bytes;
    bytes += planned.still_arena_bytes;
  }
  std::cout << moving << " of " << networks << " networks move buffers, and save " << saved << " of " << bytes << " bytes\n";
  EXPECT_GT(moving, 25);  // or the test proves little
}

TEST(CompactedRun, SavesWhereNoStillPlacementReachesTheWorkingSet) {
  NetworkPlan planned = check_compacted(graph::narrow_holes(1), 1, OrderPolicy::keep);
  std::cout << "still " << planned.still_arena_bytes << ", moving " << planned.arena_bytes << " with " << planned.moved_bytes << " bytes moved, bound "
            << planned.lower_bound_bytes << "\n";
  EXPECT_LT(planned.arena_bytes, planned.still_arena_bytes * 95 / 100);
  EXPECT_TRUE(planned.placement_optimal);
  EXPECT_GT(planned.moved_bytes, 0);
}

TEST(CompactedRun, CallersBuffersAreNotPartOfIt) {
  int moving = 0;
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    std::vector<uint8_t> file = random_network(seed);
    Model model = open_model({file.data(), file.size()});
    NetworkOptions options = compacting(OrderPolicy::keep);
    options.caller_inputs = options.caller_outputs = true;
    NetworkPlan planned = plan_network(model, table(), options);
    Model reordered = open_model({planned.model.data(), planned.model.size()});
    std::set<uint32_t> outside;
    for (int32_t t : reordered.subgraph(0).inputs()) outside.insert(static_cast<uint32_t>(t));
    for (int32_t t : reordered.subgraph(0).outputs()) outside.insert(static_cast<uint32_t>(t));
    for (const PlannedMove& m : planned.moves) EXPECT_EQ(outside.count(m.entry), 0u);
    for (uint32_t t : outside) EXPECT_EQ(planned.offsets[t], Plan::not_in_arena);
    Plan plan = planned.plan();
    ProgramOptions how;
    how.plan = &plan;
    how.caller_inputs = how.caller_outputs = true;
    EXPECT_EQ(build_program(reordered, table(), how).header().arena_bytes, planned.arena_bytes);
    moving += !planned.moves.empty();
  }
  EXPECT_GT(moving, 0);
}

TEST(CompactedRun, NetworksThatCallSubgraphsStayStillAndSayWhy) {
  graph::NetworkBuilder n(1);
  int condition = n.input(Type::boolean, {1});
  int x = n.input(Type::float32, {1, 8});
  int then_branch = n.add_subgraph("then");
  n.output(n.relu(n.input(Type::float32, {1, 8})));
  int else_branch = n.add_subgraph("else");
  n.output(n.tanh(n.input(Type::float32, {1, 8})));
  n.select_subgraph(0);
  n.output(n.if_(condition, {x}, then_branch, else_branch, {{.type = Type::float32, .shape = {1, 8}}}));
  std::vector<uint8_t> file = n.write();
  NetworkPlan planned = plan_network(open_model({file.data(), file.size()}), table(), compacting(OrderPolicy::keep));
  EXPECT_TRUE(planned.moves.empty());
  EXPECT_NE(planned.no_moves_because.find("subgraphs"), std::string::npos);
}

}  // namespace
}  // namespace linnet::plan
