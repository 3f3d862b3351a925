// Quick placements: buffers in some sequence, each at the lowest offset that those before it leave free; and a local
// search over sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "linnet/plan/deadline.h"
#include "linnet/plan/placement_model.h"
#include "linnet/plan/random.h"

namespace linnet::plan {

class FirstFit {
 public:
  using Sequence = std::vector<int32_t>;  // items

  explicit FirstFit(const PlacementModel& model);

  // Sequences that are often good: large, long, in full sections, in time order.
  std::vector<Sequence> sequences() const;

  // Lays down pinned items, then the others in this sequence. Returns the bytes used.
  int64_t lay(const Sequence& sequence);

  // By item, of the last lay().
  const std::vector<int64_t>& offsets() const { return offsets_; }

  // Moves items about in the sequence as long as that is no worse, at most `moves` times or until `enough` bytes
  // suffice. Leaves the best sequence in place and returns its bytes.
  int64_t improve(Sequence& sequence, int64_t enough, int64_t moves, Random& random, const Deadline& deadline);

 private:
  struct Gap {  // an item may not begin strictly between
    int64_t begin;
    int64_t end;
  };

  void put(int32_t item);
  int64_t lowest(int32_t item);

  const PlacementModel& model_;
  std::vector<std::vector<int32_t>> steps_of_;  // steps with a choice of direction, by item
  std::vector<int64_t> offsets_;
  std::vector<uint8_t> is_laid_;
  std::vector<int8_t> walk_;  // direction of each step, -1: open
  std::vector<Gap> gaps_;
};

}  // namespace linnet::plan
