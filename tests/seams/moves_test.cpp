// Seam: live buffers, among them the state of an LSTM, move between steps, upwards and downwards, and the next steps find
// them. Plans that would lose one are refused.
#include <random>

#include "linnet/run/catalogue.h"
#include "tests/seams/support.h"

namespace linnet::seams {
namespace {

using graph::NetworkBuilder;

// x -> relu -> LSTM -> LSTM -> relu6 -> + with the first relu's output, which lives all the while.
std::vector<uint8_t> network(bool quantized) {
  NetworkBuilder n(9);
  graph::Quantization q = quantized ? graph::per_tensor(0.02f, 3) : graph::Quantization{};
  int x = n.input(quantized ? Type::int8 : Type::float32, {1, 3, 4}, q);
  int r = n.relu(x, q);
  int l = n.unidirectional_sequence_lstm(r, {.units = 4}, q);
  l = n.unidirectional_sequence_lstm(l, {.units = 4}, q);
  n.output(n.add(n.relu6(l, q), r));
  return n.write();
}

std::vector<TensorBytes> random_inputs(const BuiltProgram& program, std::mt19937& random) {
  auto* port = ports_of(program.bytes.data(), program.header().inputs);
  TensorBytes bytes(port->bytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(random());
  if (static_cast<Type>(port->type) == Type::float32)
    for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      float value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
      std::memcpy(&bytes[i], &value, 4);
    }
  return {bytes};
}

// A plan under construction: every buffer has a home of its own; moved ones go to a zone behind the homes and come back.
struct MovingPlan {
  std::vector<TensorEntry> entries;
  std::vector<uint32_t> offsets;
  std::vector<PlannedMove> moves;
  uint32_t homes = 0, arena_bytes = 0;

  MovingPlan(const BuiltProgram& program, const Model& model) : entries(program.entries) {
    for (size_t i = 0; i < entries.size(); ++i) {
      bool variable = i < model.subgraph(0).tensor_count() && model.subgraph(0).tensor(static_cast<uint32_t>(i)).is_variable();
      if (variable) entries[i].kind = TensorEntry::activation, entries[i].last = Builder::end_position;
      if (entries[i].kind != TensorEntry::activation) {
        offsets.push_back(Plan::not_in_arena);
        continue;
      }
      offsets.push_back(homes);
      homes += align_up(entries[i].bytes, 16);
    }
    arena_bytes = homes + 96;
  }
  Plan plan() const {
    Plan p;
    p.arena_bytes = arena_bytes;
    p.offsets = {offsets.data(), offsets.size()};
    p.moves = {moves.data(), moves.size()};
    return p;
  }
  bool is_state(size_t i) const { return entries[i].kind == TensorEntry::activation && entries[i].last == Builder::end_position && entries[i].first == 0 && offsets[i] != Plan::not_in_arena; }
};

BuiltProgram build(const Model& model, const MovingPlan& moving) {
  Plan plan = moving.plan();
  ProgramOptions options;
  options.plan = &plan;
  return build_program(model, catalogue().table, options);
}

std::string refusal_of(const Model& model, const MovingPlan& moving) {
  try {
    build(model, moving);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

constexpr uint16_t nodes = 5;

// Moves random live buffers to random places of the zone, so that they often overlap the place they come from, and home.
void move_about(MovingPlan& moving, std::mt19937& random, int& state_moves, int& up, int& down) {
  std::vector<uint32_t> now = moving.offsets;
  auto overlaps = [&](size_t i, uint32_t at) {
    for (size_t j = 0; j < now.size(); ++j)
      if (j != i && now[j] != Plan::not_in_arena && at < now[j] + moving.entries[j].bytes && now[j] < at + moving.entries[i].bytes) return true;
    return false;
  };
  auto move = [&](uint16_t position, size_t i, uint32_t to) {
    if (to == now[i] || overlaps(i, to)) return false;
    moving.moves.push_back({position, static_cast<uint16_t>(i), to});
    state_moves += moving.is_state(i);
    (to > now[i] ? up : down) += 1;
    now[i] = to;
    return true;
  };
  for (uint16_t position = 1; position <= nodes; ++position) {
    for (int tries = 0; tries < 6; ++tries) {
      size_t i = random() % now.size();
      const TensorEntry& e = moving.entries[i];
      if (now[i] == Plan::not_in_arena || e.first > position || e.last <= position || e.bytes > 64) continue;
      bool wander = now[i] >= moving.homes && random() % 2;
      uint32_t to = wander ? now[i] + 8 * (random() % 3) - 8 : moving.homes + 8 * (random() % 12);
      if (to + e.bytes <= moving.arena_bytes && to >= moving.homes) move(position, i, to);
    }
    if (position < nodes) continue;  // state must be where the next inference expects it; homes are always free
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i] == moving.offsets[i] || moving.entries[i].last <= position) continue;
      ASSERT_TRUE(move(position, i, moving.offsets[i]));
    }
  }
}

class Moves : public ::testing::TestWithParam<bool> {
 protected:
  std::vector<uint8_t> file_ = network(GetParam());
  Model model_ = open_model({file_.data(), file_.size()});
  BuiltProgram still_ = build_program(model_, catalogue().table);
};

TEST_P(Moves, BuffersAndStateMoveUpAndDownAndManyInferencesGiveTheSameBits) {
  std::mt19937 random(4);
  int state_moves = 0, up = 0, down = 0;
  for (int plan = 0; plan < 60; ++plan) {
    MovingPlan moving(still_, model_);
    ASSERT_NO_FATAL_FAILURE(move_about(moving, random, state_moves, up, down));
    BuiltProgram program = build(model_, moving);
    GuardedMemory arena(program.arena_bytes_ready()), other(still_.arena_bytes_ready());
    Interpreter net, reference;
    Status status = net.init({program.bytes.data(), program.bytes.size()}, *catalogue().table.kernels, arena.span());
    ASSERT_TRUE(status.ok()) << describe(status, net.where());
    ASSERT_TRUE(reference.init({still_.bytes.data(), still_.bytes.size()}, *catalogue().table.kernels, other.span()).ok());
    for (int i = 0; i < 4; ++i) {
      auto inputs = random_inputs(still_, random);
      if (i == 3) {
        net.reset();
        reference.reset();
      }
      EXPECT_EQ(infer(net, inputs), infer(reference, inputs)) << "plan " << plan << ", inference " << i;
    }
    EXPECT_TRUE(arena.intact());
  }
  EXPECT_GT(state_moves, 100);
  EXPECT_GT(up, 100);
  EXPECT_GT(down, 100);
}

TEST_P(Moves, StateMattersInThisNetwork) {  // else the test above would prove little
  std::mt19937 random(4);
  auto inputs = random_inputs(still_, random);
  GuardedMemory arena(still_.arena_bytes_ready());
  Interpreter net;
  ASSERT_TRUE(net.init({still_.bytes.data(), still_.bytes.size()}, *catalogue().table.kernels, arena.span()).ok());
  EXPECT_NE(infer(net, inputs), infer(net, inputs));
}

TEST_P(Moves, APlanThatLosesABufferIsRefused) {
  MovingPlan moving(still_, model_);
  size_t state = 0, live = 0;
  while (!moving.is_state(state)) ++state;
  for (size_t i = 0; i < moving.entries.size(); ++i)  // the first relu's output, which lives to the end
    if (moving.entries[i].kind == TensorEntry::activation && moving.entries[i].first == 1 && moving.entries[i].last == nodes) live = i;
  ASSERT_NE(live, 0u);
  auto with = [&](std::vector<PlannedMove> moves) {
    moving.moves = std::move(moves);
    return refusal_of(model_, moving);
  };
  uint16_t s = static_cast<uint16_t>(state), l = static_cast<uint16_t>(live);
  uint32_t zone = moving.homes, home = moving.offsets[state];
  EXPECT_EQ(with({{2, s, zone}, {5, s, home}}), "accepted");
  EXPECT_NE(with({{2, s, zone}}).find("the plan leaves state away from its place"), std::string::npos);
  EXPECT_NE(with({{2, s, moving.offsets[live]}, {5, s, home}}).find("moves a tensor onto another"), std::string::npos);
  EXPECT_NE(with({{2, l, home}}).find("moves a tensor onto another"), std::string::npos);
  EXPECT_NE(with({{2, s, moving.arena_bytes}, {5, s, home}}).find("outside the arena"), std::string::npos);
  if (moving.entries[state].alignment() > 1) {
    EXPECT_NE(with({{2, s, zone + 1}, {5, s, home}}).find("misaligned"), std::string::npos);
  }
  EXPECT_NE(with({{5, l, zone}}).find("moves a tensor that does not live"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Types, Moves, ::testing::Values(false, true));

}  // namespace
}  // namespace linnet::seams
