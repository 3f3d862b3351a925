// What minimum cuts say about an order: the least bytes alive over all sets of operators that contain some and lack
// others. From that follow bounds on the peak, and sets that some best order passes through, where the problem divides.
#pragma once

#include <cstdint>
#include <vector>

#include "linnet/plan/deadline.h"
#include "linnet/plan/order_graph.h"

namespace linnet::plan {

// For each operator the operators that must run before it, as rows of bits.
class Ancestors {
 public:
  explicit Ancestors(const OrderGraph& graph);

  bool is_before(int32_t a, int32_t b) const {  // a must run before b
    return (rows_[static_cast<size_t>(b) * words_ + static_cast<size_t>(a) / 64] >> (static_cast<size_t>(a) % 64)) & 1;
  }

 private:
  size_t words_;
  std::vector<uint64_t> rows_;
};

class OrderCuts {
 public:
  explicit OrderCuts(const OrderGraph& graph);

  // A bound on the peak from what every order must hold while each operator runs; cheap.
  int64_t simple_bound() const;

  // A bound on the bytes needed while `op` runs, by a minimum cut.
  int64_t need_bound(int32_t op) const;

  // The largest need_bound, asking only operators that need more than `bound` in this order. At least `bound`.
  int64_t bound(const std::vector<int32_t>& order, int64_t bound, const Deadline& deadline) const;

  // Positions in `order`, ascending, at which some order with the least peak has run exactly the same operators.
  // `order` itself can then be improved between them independently.
  std::vector<size_t> division(const std::vector<int32_t>& order, const Deadline& deadline) const;

 private:
  enum class Side : uint8_t { free, run, not_run };

  int64_t least_live(const std::vector<Side>& side) const;
  int64_t live_of(const std::vector<uint8_t>& has_run) const;
  int64_t largest_saving(int32_t op) const;
  bool can_pass(const std::vector<int32_t>& order, size_t first, size_t at, size_t last, int64_t live) const;
  void divide(const std::vector<int32_t>& order, const std::vector<int64_t>& live, size_t first, size_t last,
              const Deadline& deadline, std::vector<size_t>& cuts) const;

  const OrderGraph& graph_;
  Ancestors ancestors_;
};

}  // namespace linnet::plan
