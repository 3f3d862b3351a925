// A PlacementProblem as the solvers see it: buffers that take room, and for every two that meet how far apart they must
// lie, whichever lies below.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "linnet/plan/problem.h"

namespace linnet::plan {

struct PlacementModel {
  static constexpr size_t kDirections = 2;  // index: static_cast<size_t>(Direction)

  struct Item {
    int64_t size;
    int64_t alignment;
    int64_t pinned;  // -1: free
    int64_t first;   // steps, both included
    int64_t last;
    int32_t buffer;
  };

  // Two items that meet: start of b >= start of a + a_below, or start of a >= start of b + b_below. What suffices may
  // depend on the direction of a step; distances may be negative.
  struct Pair {
    int32_t a;
    int32_t b;
    int32_t step;  // whose direction decides, index into steps; -1: none does
    std::array<int64_t, kDirections> a_below;
    std::array<int64_t, kDirections> b_below;
  };

  // An Overlap that can be used, between items.
  struct Lag {
    int64_t step;
    int32_t input;
    int32_t output;
    int32_t pair;
    std::array<int64_t, kDirections> output_below;
    std::array<int64_t, kDirections> input_below;
  };

  struct Step {
    int64_t step;
    std::vector<int32_t> pairs;
  };

  std::vector<Item> items;
  std::vector<Pair> pairs;
  std::vector<std::vector<int32_t>> pairs_of;  // each item
  std::vector<Lag> lags;
  std::vector<Step> steps;  // only those with several lags, whose direction is a choice
  int64_t granule = 1;      // greatest common divisor of all alignments

  // Throws std::invalid_argument for malformed buffers and overlaps.
  static PlacementModel make(const PlacementProblem& problem);

  int64_t round_up(int64_t offset, int32_t item) const;
  int64_t round_down(int64_t offset, int32_t item) const;

  // Sets of items alive together, none contained in another, in time order.
  std::vector<std::vector<int32_t>> sections() const;

  // Whether the pair is far enough apart at these offsets when its step walks in that direction.
  bool is_apart(const Pair& pair, const std::vector<int64_t>& offsets, size_t direction) const;

 private:
  void find_pairs();
  void add_lags(const PlacementProblem& problem);
};

}  // namespace linnet::plan
