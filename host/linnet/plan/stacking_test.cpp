#include "linnet/plan/stacking.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "linnet/plan/random.h"

namespace linnet::plan {
namespace {

bool meet(const Buffer& a, const Buffer& b) {
  return a.size_bytes > 0 && b.size_bytes > 0 && a.first_step <= b.last_step && b.first_step <= a.last_step;
}

bool are_apart(const std::vector<Buffer>& buffers, const std::vector<int64_t>& offsets, size_t a, size_t b) {
  return !meet(buffers[a], buffers[b]) || offsets[a] + buffers[a].size_bytes <= offsets[b] ||
         offsets[b] + buffers[b].size_bytes <= offsets[a];
}

// Tries all aligned offsets.
bool fits(const std::vector<Buffer>& buffers, int64_t capacity, std::vector<int64_t>& offsets) {
  const size_t k = offsets.size();
  if (k == buffers.size()) return true;
  const Buffer& b = buffers[k];
  for (int64_t at = b.pinned_offset.value_or(0); at + b.size_bytes <= capacity; at += b.alignment) {
    offsets.push_back(at);
    bool fine = true;
    for (size_t j = 0; j < k && fine; ++j) fine = are_apart(buffers, offsets, j, k);
    if (fine && fits(buffers, capacity, offsets)) return true;
    offsets.pop_back();
    if (b.pinned_offset) break;
  }
  return false;
}

// At every capacity around the least one, with every ranking, and again with what was learnt at other capacities.
TEST(StackingSearch, FindsAPlacementExactlyWhenThereIsOne) {
  int64_t infeasible_above_bound = 0;
  const Deadline never(1e6);
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    std::vector<Buffer> buffers;
    const int64_t steps = 2 + random.below(6), kind = random.below(4);
    for (int64_t i = 0, n = 3 + random.below(5); i < n; ++i) {
      const int64_t first = random.below(steps);
      const int64_t last = std::min(steps - 1, first + random.below(4));
      const int64_t alignment = kind == 0 ? 3 : kind == 1 ? 1 + random.below(2) : 1;
      buffers.push_back({1 + random.below(4), first, last, alignment, std::nullopt});
    }
    if (random.below(5) == 0) buffers[0].pinned_offset = buffers[0].alignment * random.below(3);
    StackingSearch search(buffers);
    for (int64_t capacity = search.section_bound() + 2; capacity >= search.section_bound() - 1; --capacity) {
      std::vector<int64_t> found;
      const bool expected = fits(buffers, capacity, found);
      for (int preorder = 0; preorder < StackingSearch::kPreorders; ++preorder) {
        const SearchResult result = search.run(capacity, preorder, INT64_MAX, never);
        ASSERT_EQ(result == SearchResult::found, expected) << "seed " << seed << " capacity " << capacity;
        if (!expected) continue;
        const std::vector<int64_t>& offsets = search.offsets();
        for (size_t a = 0; a < buffers.size(); ++a) {
          ASSERT_EQ(offsets[a] % buffers[a].alignment, 0);
          ASSERT_EQ(offsets[a], buffers[a].pinned_offset.value_or(offsets[a]));
          ASSERT_LE(offsets[a] + buffers[a].size_bytes, capacity);
          for (size_t b = 0; b < a; ++b) ASSERT_TRUE(are_apart(buffers, offsets, a, b)) << "seed " << seed;
        }
      }
      infeasible_above_bound += !expected && capacity >= search.section_bound() ? 1 : 0;
    }
  }
  EXPECT_GT(infeasible_above_bound, 100);
}

}  // namespace
}  // namespace linnet::plan
