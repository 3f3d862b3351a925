// Exact search for placements with overlaps: for every two buffers that meet, which one lies below; and for steps with
// several lags, which way they walk.
//
// Each item has a range of offsets within the capacity, which decisions narrow (longest paths over the distances, from
// below and from above). The search branches only on what the lowest offsets of all ranges violate, so that it ends as
// soon as these are a placement. Complete for distances of either sign.
#pragma once

#include <cstdint>
#include <vector>

#include "linnet/plan/deadline.h"
#include "linnet/plan/placement_model.h"
#include "linnet/plan/stacking.h"

namespace linnet::plan {

class DisjunctiveSearch {
 public:
  explicit DisjunctiveSearch(const PlacementModel& model);

  SearchResult run(int64_t capacity, int64_t max_nodes, const Deadline& deadline);

  // By item, of the last run that found a placement.
  const std::vector<int64_t>& offsets() const { return low_; }

 private:
  enum class Below : uint8_t { open, a, b };
  enum class Kind : uint8_t { low, high, below, walk };
  struct Change {
    Kind kind;
    int32_t index;
    int64_t before;
  };
  struct Branch {
    bool is_walk = false;
    int32_t index = -1;  // pair or step; -1: nothing is violated
  };
  static constexpr int8_t kOpen = -1;

  SearchResult search();
  SearchResult take(const Branch& branch, int choice);
  bool spread();
  bool settle(int32_t pair);
  bool push(int32_t lower, int32_t upper, int64_t distance);
  bool order(int32_t pair, Below below);
  bool walk(int32_t step, int8_t direction);
  bool sections_fit();
  bool section_fits(const std::vector<int32_t>& section);
  Branch find_violation() const;
  int64_t distance(const PlacementModel::Pair& pair, bool a_below) const;
  int64_t room(const PlacementModel::Pair& pair, bool a_below) const;
  void queue(int32_t item);
  void take_back(size_t mark);

  const PlacementModel& model_;
  std::vector<std::vector<int32_t>> disjoint_;  // sets of items of which no two may overlap
  std::vector<int64_t> gross_;                  // sizes rounded up to the granule
  std::vector<int64_t> low_, high_;
  std::vector<Below> below_;
  std::vector<int8_t> walk_;
  std::vector<Change> changes_;
  std::vector<int32_t> queue_;
  std::vector<uint8_t> queued_;
  int64_t capacity_ = 0;
  int64_t nodes_ = 0;
  int64_t max_nodes_ = 0;
  const Deadline* deadline_ = nullptr;
};

}  // namespace linnet::plan
