// The graph of an OrderProblem with everything the order solvers ask often at hand, and the bytes alive as operators
// run and are taken back.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "linnet/plan/problem.h"

namespace linnet::plan {

struct OrderGraph {
  struct Share {  // a Saving, seen from its operator
    int32_t input;
    int32_t output;
    int64_t size;
  };
  struct Op {
    std::vector<int32_t> inputs, outputs;  // tensors, without repeats
    std::vector<int32_t> before, after;    // operators: by data and by ordering edges, without repeats
    std::vector<Share> shares;
    int64_t scratch = 0;
    int64_t written = 0;  // bytes of all outputs
    int64_t staying = 0;  // bytes of the outputs that outlive the step
  };
  struct Bytes {  // a tensor
    int64_t size = 0;
    int32_t producer = -1;
    std::vector<int32_t> readers;  // without repeats
    bool kept = false;
  };

  std::vector<Op> ops;
  std::vector<Bytes> tensors;
  int64_t base = 0;  // alive throughout

  // Throws std::invalid_argument for indices out of range, negative sizes, two producers or a cycle.
  static OrderGraph make(const OrderProblem& problem);

  // The part of this graph that runs from position `first` up to `last` of `order`.
  OrderGraph part(const std::vector<int32_t>& order, size_t first, size_t last) const;

  size_t size() const { return ops.size(); }

 private:
  void link();
};

// Bytes alive as a function of the set of operators that have run. Operators may be taken back in reverse order.
class LiveState {
 public:
  using Hash = std::pair<uint64_t, uint64_t>;

  explicit LiveState(const OrderGraph& graph);

  int64_t live() const { return live_; }
  const std::vector<int32_t>& ready() const { return ready_; }
  const Hash& hash() const { return hash_; }
  size_t count() const { return count_; }

  int64_t need(int32_t op) const;    // bytes alive while a ready operator runs
  int64_t change(int32_t op) const;  // of live() when it has run
  void run(int32_t op);
  void take_back(int32_t op);

 private:
  bool dies_with(int32_t tensor) const;
  int64_t saved(int32_t op) const;
  void make_ready(int32_t op);
  void make_unready(int32_t op);

  const OrderGraph& graph_;
  std::vector<int32_t> waits_for_;  // operators before each that have not run
  std::vector<int32_t> unread_;     // readers of each tensor that have not run
  std::vector<int32_t> ready_;
  std::vector<int32_t> place_;  // of each operator in ready_
  std::vector<Hash> keys_;
  Hash hash_ = {0, 0};
  int64_t live_ = 0;
  size_t count_ = 0;
};

// The most bytes alive when the operators run in this order, which must be a valid one.
int64_t peak_of(const OrderGraph& graph, const std::vector<int32_t>& order);

// The largest total of shares that use each input and each output once at most, of those for which usable[i] is set.
int64_t best_shares(const std::vector<OrderGraph::Share>& shares, const std::vector<uint8_t>& usable);

}  // namespace linnet::plan
