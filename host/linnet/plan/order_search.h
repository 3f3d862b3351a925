// Is there an order whose peak stays within a budget? Depth first over the sets of operators that have run.
//
// Live bytes depend on that set only, and are submodular in it. Hence, whatever else has run by then:
//   * a ready operator that fits the budget and does not raise the live bytes may run at once;
//   * so may a chain, each operator made ready by the one before, as soon as the live bytes are back where they began.
// Sets from which the rest cannot be run are remembered (by a 128-bit hash).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "linnet/plan/deadline.h"
#include "linnet/plan/order_graph.h"
#include "linnet/plan/stacking.h"

namespace linnet::plan {

// A set of hashes with open addressing.
class HashSet {
 public:
  bool contains(const LiveState::Hash& hash) const;
  void insert(const LiveState::Hash& hash);
  size_t size() const { return size_; }
  void clear();

 private:
  size_t find(const LiveState::Hash& hash) const;

  std::vector<LiveState::Hash> slots_;
  size_t size_ = 0;
};

class OrderSearch {
 public:
  explicit OrderSearch(const OrderGraph& graph) : graph_(graph), state_(graph) {}

  SearchResult run(int64_t budget, int64_t max_nodes, const Deadline& deadline);

  // Of the last run that found one.
  const std::vector<int32_t>& order() const { return order_; }

  // After infeasible: the least need above the budget that was met. No order has a smaller peak.
  int64_t next_budget() const { return next_budget_; }

 private:
  SearchResult search();
  void run_safe_ones();
  bool run_chain(int32_t first);
  void step(int32_t op);
  void take_back(size_t mark);

  const OrderGraph& graph_;
  LiveState state_;
  HashSet dead_;
  std::vector<int32_t> trail_;
  std::vector<int32_t> order_;
  int64_t budget_ = 0;
  int64_t next_budget_ = 0;
  int64_t nodes_ = 0;
  int64_t max_nodes_ = 0;
  const Deadline* deadline_ = nullptr;
};

}  // namespace linnet::plan
