#include "linnet/plan/network_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "linnet/graph/model_edit.h"
#include "linnet/plan/checker.h"
#include "linnet/plan/compaction.h"
#include "linnet/plan/order.h"
#include "linnet/plan/placement.h"

namespace linnet::plan {
namespace {

// One step as the builder's first pass emitted it, with what overlaps its kernel allows.
struct RecordedStep {
  uint16_t position;
  bool is_copy;
  struct Pair {
    uint32_t input, output;  // root entries
    Lag lag;
  };
  std::vector<Pair> pairs;
};

// A network as the builder's first pass sees it.
struct Recording {
  std::vector<TensorEntry> entries;
  std::vector<RecordedStep> steps;
  std::vector<uint32_t> roots;  // entry -> the entry whose memory it is
  uint16_t last_position = 0;
  bool has_subgraphs = false;
  const BuildTable* table = nullptr;
  const Builder* builder = nullptr;
  const Model* model = nullptr;
  std::string refusals;  // a line each

  bool placed(uint32_t entry) const { return entries[entry].kind == TensorEntry::activation; }
};

void record_step(void* context, const EmittedStep& step) {
  Recording& r = *static_cast<Recording*>(context);
  RecordedStep recorded{step.position, step.kernel == EmittedStep::copy, {}};
  for (uint32_t o = 0; o < step.operand_count; ++o) {
    if (step.operands[o].kind != Ref::tensor || step.operands[o].role != role_out) continue;
    for (uint32_t i = 0; i < step.operand_count; ++i) {
      if (step.operands[i].kind != Ref::tensor || step.operands[i].role != role_in) continue;
      Lag lag{INT32_MIN / 2, INT32_MIN / 2};  // a copy may overlap in any way
      if (!recorded.is_copy) lag = r.table->facts[step.kernel].lag(step.params, static_cast<int>(i), static_cast<int>(o));
      recorded.pairs.push_back({r.builder->root_index(step.operands[i].index), r.builder->root_index(step.operands[o].index), lag});
    }
  }
  r.steps.push_back(std::move(recorded));
}

void record_refusal(void* context, Status status, const Where& where) {
  Recording& r = *static_cast<Recording*>(context);
  r.refusals += (r.refusals.empty() ? "" : "\n") + describe(status, where, r.model);
}

Recording record(const Model& model, const BuildTable& table, const NetworkOptions& given = {}) {
  Recording r;
  r.table = &table;
  BuildOptions options;
  options.ignore_model_plan = true;
  options.caller_inputs = given.caller_inputs;
  options.caller_outputs = given.caller_outputs;
  options.context = &r;
  options.on_step = record_step;
  options.on_refusal = record_refusal;
  r.model = &model;
  std::vector<TensorEntry> entries(65536);
  Builder builder(model, table, options, {entries.data(), entries.size()});
  r.builder = &builder;
  Where where;
  if (!builder.infer(where).ok()) throw Error(r.refusals);
  if (Status s = builder.count(where); !s.ok()) throw Error(describe(s, where, &model));
  entries.resize(builder.entry_count());
  for (uint32_t i = 0; i < entries.size(); ++i) r.roots.push_back(builder.root_index(i));
  r.entries = std::move(entries);
  for (const RecordedStep& s : r.steps) r.last_position = std::max(r.last_position, s.position);
  for (const TensorEntry& e : r.entries) {
    r.last_position = std::max(r.last_position, e.first);
    if (e.last != Builder::end_position) r.last_position = std::max(r.last_position, e.last);
  }
  r.has_subgraphs = r.entries.size() > 0 && model.subgraph_count() > 1 && r.last_position > model.subgraph(0).operator_count();
  return r;
}

// ---- order ------------------------------------------------------------------------------------------------------------

// The least extent of two buffers when the output may start `forward` bytes below the input, or end `backward` above it.
int64_t extent(int64_t input, int64_t output, const Lag& lag) {
  int64_t best = input + output;
  auto one_way = [&](int64_t distance) {  // input start - output start >= distance
    int64_t d = std::max(distance, std::min<int64_t>(0, output - input));
    best = std::min(best, d >= 0 ? std::max(output, d + input) : std::max(input, output - d));
  };
  if (lag.forward != Lag::never) one_way(lag.forward);
  if (lag.backward != Lag::never) one_way(lag.backward);
  return best;
}

struct OrderGraph {
  OrderProblem problem;
  std::map<uint32_t, int32_t> tensor_of_root;
};

void add_unique(std::vector<int32_t>& list, int32_t value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

// Operators of subgraph 0, with tensors that share memory (a RESHAPE's two) as one. Who writes first produces it; what
// only renames it reads it, and its readers wait for the renaming.
OrderGraph order_graph(const Model& model, const Recording& r) {
  OrderGraph g;
  Model::Subgraph graph = model.subgraph(0);
  auto tensor_of = [&](int32_t t) -> int32_t {
    uint32_t root = r.roots[static_cast<uint32_t>(t)];
    if (!r.placed(root)) return -1;
    auto [it, fresh] = g.tensor_of_root.emplace(root, static_cast<int32_t>(g.problem.tensors.size()));
    if (fresh) g.problem.tensors.push_back({r.entries[root].bytes, r.entries[root].last == Builder::end_position});
    return it->second;
  };
  std::vector<int32_t> producer_of_tensor(graph.tensor_count(), -1);
  std::set<int32_t> produced;
  for (int32_t t : graph.inputs()) produced.insert(tensor_of(t));
  std::map<int32_t, std::vector<int32_t>> users;  // of a variable or resource: operators in the given order
  for (uint32_t i = 0; i < graph.operator_count(); ++i) {
    Operator op;
    Model::Operator o = graph.op(i);
    int32_t index = static_cast<int32_t>(i);
    for (int32_t t : o.inputs()) {
      if (t < 0) continue;
      if (int32_t p = producer_of_tensor[static_cast<size_t>(t)]; p >= 0) g.problem.edges.push_back({p, index});
      if (graph.tensor(static_cast<uint32_t>(t)).is_variable()) users[t].push_back(index);
      if (int32_t tensor = tensor_of(t); tensor >= 0) add_unique(op.inputs, tensor);
    }
    for (int32_t t : o.outputs()) {
      producer_of_tensor[static_cast<size_t>(t)] = index;
      int32_t tensor = tensor_of(t);
      if (tensor >= 0 && produced.insert(tensor).second) op.outputs.push_back(tensor);
      else if (tensor >= 0) add_unique(op.inputs, tensor);
    }
    g.problem.operators.push_back(std::move(op));
  }
  for (auto& [t, list] : users)
    for (size_t i = 1; i < list.size(); ++i) g.problem.edges.push_back({list[i - 1], list[i]});
  // Scratch, and savings of nodes that are one step. In a network without calls, position p is operator p - 1.
  std::map<uint16_t, int> steps_at;
  for (const RecordedStep& s : r.steps) ++steps_at[s.position];
  std::vector<bool> is_tensor(r.entries.size(), false);
  for (uint32_t i = 0; i < graph.tensor_count(); ++i) is_tensor[r.roots[i]] = true;
  for (uint32_t i = graph.tensor_count(); i < r.entries.size(); ++i)
    if (r.placed(i) && !is_tensor[i] && r.entries[i].first >= 1)
      g.problem.operators[r.entries[i].first - 1u].scratch_bytes += align_up(r.entries[i].bytes, arena_alignment);
  for (const RecordedStep& s : r.steps) {
    if (steps_at[s.position] != 1) continue;
    for (const auto& pair : s.pairs) {
      if (!g.tensor_of_root.count(pair.input) || !g.tensor_of_root.count(pair.output) || pair.input == pair.output) continue;
      int64_t in = r.entries[pair.input].bytes, out = r.entries[pair.output].bytes;
      int64_t saved = in + out - extent(in, out, pair.lag);
      if (saved > 0)
        g.problem.savings.push_back({s.position - 1, g.tensor_of_root[pair.input], g.tensor_of_root[pair.output], saved});
    }
  }
  return g;
}

// ---- placement --------------------------------------------------------------------------------------------------------

struct PlacedBuffers {
  PlacementProblem problem;
  std::vector<uint32_t> entries;            // buffer -> entry
  std::map<uint32_t, int32_t> buffer_of;    // entry -> buffer
};

PlacedBuffers placement_problem(const Recording& r, bool overlap, uint32_t least_alignment) {
  PlacedBuffers p;
  for (uint32_t i = 0; i < r.entries.size(); ++i) {
    if (!r.placed(i) || r.entries[i].bytes == 0) continue;
    const TensorEntry& e = r.entries[i];
    p.buffer_of[i] = static_cast<int32_t>(p.entries.size());
    p.entries.push_back(i);
    int64_t last = e.last == Builder::end_position ? r.last_position + 1 : e.last;
    p.problem.buffers.push_back({e.bytes, e.first, last, std::max(e.alignment(), least_alignment), {}});
  }
  if (!overlap) return p;
  std::map<uint16_t, int> steps_at;
  for (const RecordedStep& s : r.steps) ++steps_at[s.position];
  for (const RecordedStep& s : r.steps) {
    if (steps_at[s.position] != 1) continue;
    // The same input twice (x * x) must satisfy both lags.
    std::map<std::pair<uint32_t, uint32_t>, Lag> pairs;
    for (const auto& pair : s.pairs) {
      auto [it, fresh] = pairs.emplace(std::pair{pair.input, pair.output}, pair.lag);
      if (fresh) continue;
      it->second.forward = std::max(it->second.forward, pair.lag.forward);
      it->second.backward = std::max(it->second.backward, pair.lag.backward);
    }
    for (const auto& [names, lag] : pairs) {
      auto [input, output] = names;
      if (!p.buffer_of.count(input) || !p.buffer_of.count(output)) continue;
      if (r.entries[input].last != s.position || r.entries[output].first != s.position) continue;
      Overlap o{s.position, p.buffer_of[input], p.buffer_of[output], {}, {}};
      if (lag.forward != Lag::never) o.forward_bytes = lag.forward;
      if (lag.backward != Lag::never) o.backward_bytes = lag.backward;
      if (o.forward_bytes || o.backward_bytes) p.problem.overlaps.push_back(o);
    }
  }
  return p;
}

void prove(const std::string& complaint) {
  if (!complaint.empty()) throw std::logic_error("the planner made a wrong plan: " + complaint);
}

Model reopened(const std::vector<uint8_t>& file) { return open_model({file.data(), file.size()}); }

// In the builder's terms.
void take_placement(const Recording& r, const PlacedBuffers& p, const MovingPlacement& placement, NetworkPlan& result) {
  result.arena_bytes = placement.arena_bytes;
  result.lower_bound_bytes = placement.lower_bound_bytes;
  result.placement_optimal = placement.optimal;
  result.moved_bytes = placement.moved_bytes;
  result.offsets.assign(r.entries.size(), Plan::not_in_arena);
  for (uint32_t i = 0; i < r.entries.size(); ++i)
    if (r.placed(i)) result.offsets[i] = r.entries[i].bytes ? static_cast<uint32_t>(placement.offsets[static_cast<size_t>(p.buffer_of.at(i))]) : 0;
  for (const Move& m : placement.moves)
    result.moves.push_back({static_cast<uint16_t>(m.after_step), static_cast<uint16_t>(p.entries[static_cast<size_t>(m.buffer)]), static_cast<uint32_t>(m.offset)});
  std::set<int64_t> down;
  for (const StepDirection& d : placement.directions)
    if (d.direction == Direction::down) down.insert(d.step);
  uint32_t run = 0;
  for (const RecordedStep& s : r.steps) {
    if (s.is_copy) continue;
    if (run % 32 == 0) result.walks_down.push_back(0);
    if (down.count(s.position)) result.walks_down[run / 32] |= 1u << (run % 32);
    ++run;
  }
}

void place_buffers(const Recording& r, const NetworkOptions& options, NetworkPlan& result) {
  PlacedBuffers p = placement_problem(r, true, 1);
  Placement still = place(p.problem, options.placement_limits);
  prove(check_placement(p.problem, still));
  result.still_arena_bytes = still.arena_bytes;
  MovingPlacement placement;
  static_cast<Placement&>(placement) = still;
  if (options.memory == MemoryPolicy::compacting) {
    // A branch that is not taken would not have moved what the other one moved.
    if (r.has_subgraphs) result.no_moves_because = "the network calls subgraphs, and what runs decides what would have moved";
    constexpr int64_t first_operator = 1;  // inputs are written before it, where the Program says
    if (!r.has_subgraphs) placement = compact(p.problem, still, first_operator, persistent_alignment, options.placement_limits);
    prove(check_moving(p.problem, placement, first_operator));
  }
  take_placement(r, p, placement, result);
}

}  // namespace

NetworkPlan plan_network(const Model& model, const BuildTable& table, const NetworkOptions& options) {
  NetworkPlan result;
  Recording given = record(model, table, options);
  result.model.assign(model.file().begin(), model.file().end());
  for (uint32_t i = 0; i < model.subgraph(0).operator_count(); ++i) result.order.push_back(static_cast<int32_t>(i));
  // Operators that call subgraphs have positions inside; their order is kept.
  if (!given.has_subgraphs) {
    OrderGraph g = order_graph(model, given);
    Order order;
    if (options.order == OrderPolicy::best) {
      order = find_order(g.problem, options.order_limits);
      prove(check_order(g.problem, order));
    } else {
      order.given_peak_bytes = order.peak_bytes = order.lower_bound_bytes = peak_bytes(g.problem, result.order);
    }
    result.given_peak_bytes = order.given_peak_bytes;
    result.order_bound_bytes = order.lower_bound_bytes;
    result.peak_bytes = order.peak_bytes;
    result.order_optimal = order.peak_bytes == order.lower_bound_bytes;
    if (order.peak_bytes < order.given_peak_bytes) {
      result.order = order.operators;
      result.model = graph::edit_model(model, {.order = order.operators, .metadata = {}});
    }
  }
  Model planned = reopened(result.model);
  place_buffers(record(planned, table, options), options, result);
  if (given.has_subgraphs) {  // one order only; what its placement cannot go below is all that is known of its peak
    result.given_peak_bytes = result.peak_bytes = result.order_bound_bytes = result.lower_bound_bytes;
    result.order_optimal = true;
  }
  return result;
}

OrderProblem order_problem(const Model& model, const BuildTable& table) { return order_graph(model, record(model, table)).problem; }

std::vector<uint8_t> NetworkPlan::plan_file() const {
  std::vector<uint32_t> words = {Plan::magic,
                                 Plan::version,
                                 static_cast<uint32_t>(arena_bytes),
                                 static_cast<uint32_t>(offsets.size()),
                                 static_cast<uint32_t>(walks_down.size()),
                                 static_cast<uint32_t>(moves.size())};
  words.insert(words.end(), offsets.begin(), offsets.end());
  words.insert(words.end(), walks_down.begin(), walks_down.end());
  std::vector<uint8_t> file(words.size() * 4 + moves.size() * sizeof(PlannedMove));
  std::memcpy(file.data(), words.data(), words.size() * 4);
  if (!moves.empty()) std::memcpy(file.data() + words.size() * 4, moves.data(), moves.size() * sizeof(PlannedMove));
  return file;
}

std::vector<uint8_t> planned_model(const NetworkPlan& plan, const OfflinePlan& offline) {
  return graph::edit_model(reopened(plan.model),
                           {.order = {}, .metadata = {{"linnet.plan", plan.plan_file()}, {"OfflineMemoryAllocation", offline.metadata}}});
}

std::vector<uint8_t> planned_model(const NetworkPlan& plan, const Limits& limits) {
  return planned_model(plan, offline_plan(reopened(plan.model), limits));
}

}  // namespace linnet::plan
