// Exact search for placements without overlaps: buffers are rectangles in time and address, stacked from below.
//
// After Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning" (ASPLOS 2023):
// if a placement within a capacity exists, there is one in which buffers can be laid down in ascending order of their
// offset, each as low as those before it allow. The search walks these sequences only, and divides the problem
// wherever no remaining buffer crosses a moment. Beyond the paper:
//   * each section (a largest set of buffers alive together) is bounded as a one-machine problem with release dates,
//     which the lowest offsets are; a buffer that should have come earlier in the sequence must first be raised;
//   * a dead end is explained by some of the buffers laid, and choices that have no part in it are not varied;
//   * partial placements that cannot be completed are remembered.
#pragma once

#include <cstdint>
#include <array>
#include <cstdint>
#include <vector>

#include "linnet/plan/deadline.h"
#include "linnet/plan/problem.h"

namespace linnet::plan {

enum class SearchResult : uint8_t { found, infeasible, gave_up };

// Partial placements that cannot be completed: what is left to lay and how low each could lie (a 64-bit hash), and how
// far the sequence had come, for with less of it gone more might be possible.
class DeadStates {
 public:
  struct Progress {
    int64_t offset;
    int32_t rank;
    bool operator<=(const Progress& o) const { return offset != o.offset ? offset < o.offset : rank <= o.rank; }
  };

  bool contains(uint64_t hash, Progress progress) const;
  void insert(uint64_t hash, Progress progress);

  // Forgets all if they were found with less room than this.
  void prepare(int64_t capacity);

 private:
  struct Slot {
    uint64_t hash = 0;  // 0: empty
    Progress progress = {0, 0};
  };

  size_t find(uint64_t hash) const;

  std::vector<Slot> slots_;
  size_t size_ = 0;
  int64_t capacity_ = 0;
};

class StackingSearch {
 public:
  static constexpr int kPreorders = 6;  // ways to rank buffers that could lie equally low

  // Buffers of size 0 are ignored (offset 0, or where they are pinned).
  explicit StackingSearch(const std::vector<Buffer>& buffers);

  // Looks for a placement within `capacity` bytes, trying at most `max_nodes` partial placements. What it learns about
  // dead ends it keeps for the next run with the same preorder and at most the same capacity.
  SearchResult run(int64_t capacity, int preorder, int64_t max_nodes, const Deadline& deadline);

  // Of the last run that found a placement, by buffer.
  const std::vector<int64_t>& offsets() const { return solution_; }

  // The largest total of a section: no placement is smaller.
  int64_t section_bound() const { return section_bound_; }

  int64_t nodes() const { return nodes_; }

 private:
  struct Item {
    int64_t size;
    int64_t gross;  // size rounded up to the common alignment: what it takes below another one
    int64_t alignment;
    int64_t pinned;  // -1: free
    int32_t first;   // sections [first, last)
    int32_t last;
    int32_t buffer;
    int64_t lifetime;  // in steps
  };
  struct Key {
    int64_t offset;
    int32_t rank;
    int32_t item;
    bool operator<(const Key& other) const {
      return offset != other.offset ? offset < other.offset : rank < other.rank;
    }
  };
  struct Raise {  // one change of lowest_
    int32_t item;
    int32_t by;        // the item laid beneath it
    int32_t previous;  // index of the item's raise before this one, -1: none
    int64_t before;    // lowest_ before it
  };
  struct Range {
    int32_t first;
    int32_t last;
  };
  struct Mark {
    size_t raised;
    size_t laid;
  };
  using Items = std::vector<int32_t>;
  using Set = std::vector<uint64_t>;  // a bit for each item

  void make_sections(const std::vector<Buffer>& buffers);
  void total_sections();
  void find_neighbours();
  void rank_items(const Items& items);
  void reset();
  SearchResult solve_parts(const Items& items, Range range, Key last);
  SearchResult solve(const Items& items, Range range, Key last);
  SearchResult try_keys(const std::vector<Key>& keys, const Items& items, Range range, int64_t ceiling);
  bool sections_fit(const std::vector<Key>& keys, Range range, Key last);
  bool lay(int32_t item, int64_t offset);
  void take_back(Mark mark);
  int64_t lift(int32_t item) const;
  void blame_neighbours(int32_t item, Set& set) const;
  void blame(int32_t item, int64_t offset, Set& set) const;

  uint64_t hash_of(const Items& items) const;
  bool is_dead(const Items& items, uint64_t hash, Key last);

  std::vector<Item> items_;
  std::vector<Items> meets_;  // the items alive together with each
  std::vector<int64_t> section_total_;
  std::vector<int64_t> section_slack_;  // rounding that the topmost buffer of a section need not pay
  int64_t section_bound_ = 0;
  int64_t granule_ = 1;  // every offset is a multiple of it

  std::vector<int32_t> rank_;    // among the items it was ranked with
  uint64_t ranking_ = 0;         // a hash of these
  int preorder_ = 0;
  std::vector<int64_t> lowest_;  // lowest offset each item can still have
  std::vector<int64_t> will_be_;  // a bound on the offset each item will have, in the node at hand
  std::vector<uint8_t> is_laid_;
  std::vector<int64_t> offset_;
  std::vector<Raise> raised_;  // changes of lowest_, to undo and to explain them
  Items last_raise_;           // of each item: index into raised_
  Set conflict_;               // laid items that explain the last dead end
  Items laid_;                  // in the order they were laid
  std::vector<int64_t> stack_;  // scratch of sections_fit
  std::array<DeadStates, kPreorders> known_dead_;
  DeadStates* dead_ = nullptr;  // of the run's preorder
  std::vector<int64_t> solution_;
  int64_t capacity_ = 0;
  int64_t nodes_ = 0;
  int64_t max_nodes_ = 0;
  const Deadline* deadline_ = nullptr;
};

}  // namespace linnet::plan
