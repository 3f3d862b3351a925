// From a network to the planner's problems and back: the order of its operators, where its buffers lie, and the plan that
// the builder follows (build/plan.h).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "linnet/build/plan.h"
#include "linnet/plan/offline_plan.h"
#include "linnet/plan/problem.h"
#include "linnet/run/program_builder.h"

namespace linnet::plan {

enum class OrderPolicy { keep, best };
enum class MemoryPolicy { fixed, compacting };  // compacting: live buffers move together after a step where that saves memory

struct NetworkOptions {
  OrderPolicy order = OrderPolicy::best;
  MemoryPolicy memory = MemoryPolicy::fixed;
  Limits order_limits;
  Limits placement_limits;
  bool caller_inputs = false;   // inputs lie in buffers of the caller's (ProgramOptions)
  bool caller_outputs = false;
};

struct NetworkPlan {
  std::vector<int32_t> order;   // of subgraph 0's operators, as indices into the given model
  std::vector<uint8_t> model;   // the .tflite with its operators in that order; everything else as it was
  int64_t given_peak_bytes = 0;  // live bytes in the given order, overlap included
  int64_t peak_bytes = 0;        // in the planned order
  int64_t order_bound_bytes = 0;  // no order that was allowed has a smaller peak
  bool order_optimal = false;
  int64_t arena_bytes = 0;       // activations and scratch as placed
  int64_t lower_bound_bytes = 0; // for the planned order and the memory policy
  bool placement_optimal = false;
  int64_t still_arena_bytes = 0; // the same without moves
  int64_t moved_bytes = 0;       // by compaction, per inference
  std::string no_moves_because;  // why a compacting plan was not tried; else empty

  // What the builder is given. Refers into `offsets`, `walks_down` and `moves`.
  Plan plan() const {
    Plan p;
    p.arena_bytes = static_cast<uint32_t>(arena_bytes);
    p.offsets = {offsets.data(), offsets.size()};
    p.walks_down = {walks_down.data(), walks_down.size()};
    p.moves = {moves.data(), moves.size()};
    return p;
  }
  std::vector<uint8_t> plan_file() const;  // the "linnet.plan" metadata
  std::vector<uint32_t> offsets;
  std::vector<uint32_t> walks_down;
  std::vector<PlannedMove> moves;
};

// Throws Error if the network cannot run with these kernels. The result has been proven by the checkers (plan/checker.h
// and, when a Program is built from it, the builder's own).
NetworkPlan plan_network(const Model& model, const BuildTable& table, const NetworkOptions& options = {});

// The order problem of a network that calls no subgraphs, as plan_network solves it.
OrderProblem order_problem(const Model& model, const BuildTable& table);

// The planned .tflite: operators in the planned order, "linnet.plan", and "OfflineMemoryAllocation" for TFLM, given or made
// within the limits.
std::vector<uint8_t> planned_model(const NetworkPlan& plan, const OfflinePlan& offline);
std::vector<uint8_t> planned_model(const NetworkPlan& plan, const Limits& limits = {});

}  // namespace linnet::plan
