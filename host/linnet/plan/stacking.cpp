#include "linnet/plan/stacking.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "linnet/plan/random.h"

namespace linnet::plan {
namespace {

constexpr size_t kMostDead = size_t{1} << 20;

int64_t round_up(int64_t value, int64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

void put_in(int32_t item, std::vector<uint64_t>& set) {
  set[static_cast<size_t>(item) / 64] |= uint64_t{1} << (static_cast<size_t>(item) % 64);
}

// Returns whether it was in.
bool take_out(int32_t item, std::vector<uint64_t>& set) {
  uint64_t& word = set[static_cast<size_t>(item) / 64];
  const uint64_t bit = uint64_t{1} << (static_cast<size_t>(item) % 64);
  const bool was_in = (word & bit) != 0;
  word &= ~bit;
  return was_in;
}

}  // namespace

size_t DeadStates::find(uint64_t hash) const {
  size_t i = hash & (slots_.size() - 1);
  while (slots_[i].hash != 0 && slots_[i].hash != hash) i = (i + 1) & (slots_.size() - 1);
  return i;
}

bool DeadStates::contains(uint64_t hash, Progress progress) const {
  if (size_ == 0) return false;
  const Slot& slot = slots_[find(hash)];
  return slot.hash == hash && slot.progress <= progress;
}

void DeadStates::insert(uint64_t hash, Progress progress) {
  if (hash == 0 || size_ >= kMostDead) return;
  if (slots_.size() < 2 * (size_ + 1)) {
    std::vector<Slot> old(std::max<size_t>(1024, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.hash != 0) slots_[find(slot.hash)] = slot;
  }
  Slot& slot = slots_[find(hash)];
  if (slot.hash == hash && slot.progress <= progress) return;
  size_ += slot.hash == 0 ? 1 : 0;
  slot = {hash, progress};
}

void DeadStates::prepare(int64_t capacity) {
  if (capacity > capacity_) {
    slots_.clear();
    size_ = 0;
  }
  capacity_ = capacity;
}

StackingSearch::StackingSearch(const std::vector<Buffer>& buffers) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = buffers[i];
    if (b.size_bytes > 0) granule_ = items_.empty() ? b.alignment : std::gcd(granule_, b.alignment);
    if (b.size_bytes > 0)
      items_.push_back({b.size_bytes, 0, b.alignment, b.pinned_offset.value_or(-1), 0, 0, static_cast<int32_t>(i),
                        b.last_step - b.first_step + 1});
  }
  for (Item& item : items_) item.gross = round_up(item.size, granule_);
  solution_.assign(buffers.size(), 0);
  for (size_t i = 0; i < buffers.size(); ++i) solution_[i] = buffers[i].pinned_offset.value_or(0);
  make_sections(buffers);
  total_sections();
  find_neighbours();
}

// A section begins when a buffer begins after another has ended: between two such moments the set alive only grows and
// then only shrinks, so its largest set stands for all of them.
void StackingSearch::make_sections(const std::vector<Buffer>& buffers) {
  struct Event {
    int64_t step;
    bool begins;
    int32_t item;
  };
  std::vector<Event> events;
  for (int32_t i = 0; i < static_cast<int32_t>(items_.size()); ++i) {
    const Buffer& b = buffers[static_cast<size_t>(items_[static_cast<size_t>(i)].buffer)];
    events.push_back({b.first_step, true, i});
    events.push_back({b.last_step + 1, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.step != b.step ? a.step < b.step : a.begins != b.begins ? !a.begins : a.item < b.item;
  });
  int32_t section = 0;
  bool something_ended = false;
  for (const Event& e : events) {
    Item& item = items_[static_cast<size_t>(e.item)];
    if (e.begins) {
      section += something_ended ? 1 : 0;
      something_ended = false;
      item.first = section;
    } else {
      something_ended = true;
      item.last = section + 1;
    }
  }
  section_total_.assign(items_.empty() ? 0 : static_cast<size_t>(section) + 1, 0);
  section_slack_ = section_total_;
}

void StackingSearch::total_sections() {
  for (const Item& item : items_)
    for (auto s = static_cast<size_t>(item.first); s < static_cast<size_t>(item.last); ++s) {
      section_total_[s] += item.gross;
      section_slack_[s] = std::max(section_slack_[s], item.gross - item.size);
    }
  for (size_t s = 0; s < section_total_.size(); ++s)
    section_bound_ = std::max(section_bound_, section_total_[s] - section_slack_[s]);
  for (const Item& item : items_) section_bound_ = std::max(section_bound_, item.pinned + item.size);
}

void StackingSearch::find_neighbours() {
  meets_.resize(items_.size());
  Items by_first(items_.size());
  std::iota(by_first.begin(), by_first.end(), 0);
  std::sort(by_first.begin(), by_first.end(), [&](int32_t a, int32_t b) {
    const Item &x = items_[static_cast<size_t>(a)], &y = items_[static_cast<size_t>(b)];
    return x.first != y.first ? x.first < y.first : a < b;
  });
  Items alive;
  for (int32_t i : by_first) {
    const int32_t now = items_[static_cast<size_t>(i)].first;
    std::erase_if(alive, [&](int32_t j) { return items_[static_cast<size_t>(j)].last <= now; });
    for (int32_t j : alive) {
      meets_[static_cast<size_t>(i)].push_back(j);
      meets_[static_cast<size_t>(j)].push_back(i);
    }
    alive.push_back(i);
  }
}

// Big things first: by the fullest section a buffer stands in (T), by its lifetime (W) and by lifetime x size (A).
// Lifetimes count steps in the first three rankings, sections in the others. Parts are ranked anew.
void StackingSearch::rank_items(const Items& items) {
  using Rating = std::array<double, 3>;
  std::vector<std::pair<Rating, int32_t>> ratings;
  std::vector<int64_t> totals(section_total_.size(), 0);
  ranking_ = 0;
  for (int32_t i : items) {
    const Item& item = items_[static_cast<size_t>(i)];
    for (int32_t s = item.first; s < item.last; ++s) totals[static_cast<size_t>(s)] += item.gross;
    ranking_ ^= Random(static_cast<uint64_t>(i)).next();
  }
  for (int32_t i : items) {
    const Item& item = items_[static_cast<size_t>(i)];
    const auto total =
        static_cast<double>(*std::max_element(totals.begin() + item.first, totals.begin() + item.last));
    const auto width = static_cast<double>(preorder_ < 3 ? item.lifetime : item.last - item.first);
    const double area = static_cast<double>(item.size) * width;
    const std::array<Rating, 3> choices = {Rating{-width, -area, -total}, Rating{-total, -area, -width},
                                           Rating{-total, -width, -area}};
    ratings.emplace_back(choices[static_cast<size_t>(preorder_ % 3)], i);
  }
  std::sort(ratings.begin(), ratings.end());
  for (size_t r = 0; r < ratings.size(); ++r) rank_[static_cast<size_t>(ratings[r].second)] = static_cast<int32_t>(r);
}

void StackingSearch::reset() {
  lowest_.assign(items_.size(), 0);
  for (size_t i = 0; i < items_.size(); ++i) lowest_[i] = std::max<int64_t>(0, items_[i].pinned);
  is_laid_.assign(items_.size(), 0);
  offset_.assign(items_.size(), 0);
  stack_.assign(section_total_.size() + 1, 0);
  rank_.assign(items_.size(), 0);
  will_be_.assign(items_.size(), 0);
  raised_.clear();
  last_raise_.assign(items_.size(), -1);
  conflict_.assign((items_.size() + 63) / 64, 0);
  laid_.clear();
  nodes_ = 0;
}

SearchResult StackingSearch::run(int64_t capacity, int preorder, int64_t max_nodes, const Deadline& deadline) {
  if (capacity < section_bound_) return SearchResult::infeasible;
  reset();
  preorder_ = preorder;
  dead_ = &known_dead_[static_cast<size_t>(preorder)];
  dead_->prepare(capacity);
  capacity_ = capacity;
  max_nodes_ = max_nodes;
  deadline_ = &deadline;
  Items all(items_.size());
  std::iota(all.begin(), all.end(), 0);
  rank_items(all);
  const Key start = {std::numeric_limits<int64_t>::min(), -1, -1};
  const SearchResult result = solve_parts(all, {0, static_cast<int32_t>(section_total_.size())}, start);
  if (result == SearchResult::found)
    for (size_t i = 0; i < items_.size(); ++i) solution_[static_cast<size_t>(items_[i].buffer)] = offset_[i];
  return result;
}

// Divides the items at moments that none of them crosses and solves each part by itself, small ones first.
SearchResult StackingSearch::solve_parts(const Items& items, Range range, Key last) {
  if (items.empty()) return SearchResult::found;
  std::vector<int32_t> crossing(static_cast<size_t>(range.last - range.first) + 1, 0);
  for (int32_t i : items) {
    const Item& item = items_[static_cast<size_t>(i)];
    ++crossing[static_cast<size_t>(item.first - range.first)];
    --crossing[static_cast<size_t>(item.last - 1 - range.first)];
  }
  std::vector<int32_t> part_of(crossing.size(), 0);
  std::vector<Range> ranges;
  int32_t begin = range.first, across = 0;
  for (int32_t s = range.first; s < range.last; ++s) {
    part_of[static_cast<size_t>(s - range.first)] = static_cast<int32_t>(ranges.size());
    across += crossing[static_cast<size_t>(s - range.first)];
    if (across > 0 && s + 1 < range.last) continue;
    ranges.push_back({begin, s + 1});
    begin = s + 1;
  }
  if (ranges.size() == 1) return solve(items, ranges[0], last);
  std::vector<Items> parts(ranges.size());
  for (int32_t i : items)
    parts[static_cast<size_t>(part_of[static_cast<size_t>(items_[static_cast<size_t>(i)].first - range.first)])]
        .push_back(i);
  std::vector<size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return parts[a].size() < parts[b].size(); });
  Items ranks;
  for (int32_t i : items) ranks.push_back(rank_[static_cast<size_t>(i)]);
  const uint64_t ranking = ranking_;
  for (size_t p : order) {
    if (parts[p].empty()) continue;
    rank_items(parts[p]);
    const SearchResult result = solve(parts[p], ranges[p], {last.offset, -1, last.item});
    if (result == SearchResult::found) continue;
    for (size_t k = 0; k < items.size(); ++k) rank_[static_cast<size_t>(items[k])] = ranks[k];
    ranking_ = ranking;
    return result;
  }
  return SearchResult::found;
}

// Lays the items of one part, all of them after `last` in the sequence. On success they stay laid.
SearchResult StackingSearch::solve(const Items& items, Range range, Key last) {
  if (++nodes_ > max_nodes_) return SearchResult::gave_up;
  if (nodes_ % 256 == 0 && deadline_->passed()) return SearchResult::gave_up;
  std::vector<Key> keys;
  keys.reserve(items.size());
  int64_t ceiling = std::numeric_limits<int64_t>::max();  // at this height a buffer could slip in below the next one
  for (int32_t i : items) {
    const int64_t lowest = lowest_[static_cast<size_t>(i)];
    const Key key = {lowest, rank_[static_cast<size_t>(i)], i};
    ceiling = std::min(ceiling, lowest + items_[static_cast<size_t>(i)].size);
    if (items_[static_cast<size_t>(i)].pinned >= 0 && lowest < last.offset) {
      for (int32_t laid : laid_) put_in(laid, conflict_);
      return SearchResult::infeasible;
    }
    keys.push_back(key < last ? Key{lowest, -1, i} : key);
    will_be_[static_cast<size_t>(i)] = std::max(lowest, last.offset);
  }
  for (Key& key : keys)
    if (key.rank < 0) will_be_[static_cast<size_t>(key.item)] = key.offset = lift(key.item);
  std::sort(keys.begin(), keys.end());
  if (!sections_fit(keys, range, last)) return SearchResult::infeasible;
  const uint64_t hash = hash_of(items);
  if (is_dead(items, hash, last)) return SearchResult::infeasible;
  const SearchResult result = try_keys(keys, items, range, ceiling);
  if (result == SearchResult::infeasible) dead_->insert(hash, {last.offset, last.rank});
  return result;
}

uint64_t StackingSearch::hash_of(const Items& items) const {
  uint64_t hash = ranking_;
  for (int32_t i : items)
    hash ^= Random(static_cast<uint64_t>(i) * 0xd1342543de82ef95u +
                   static_cast<uint64_t>(lowest_[static_cast<size_t>(i)]) * 0x2545f4914f6cdd1du)
                .next();
  return hash;
}

// The explanation is whatever holds the items where they are.
bool StackingSearch::is_dead(const Items& items, uint64_t hash, Key last) {
  if (!dead_->contains(hash, {last.offset, last.rank})) return false;
  std::fill(conflict_.begin(), conflict_.end(), 0);
  for (int32_t i : items) blame(i, lowest_[static_cast<size_t>(i)], conflict_);
  if (last.item >= 0) put_in(last.item, conflict_);
  return true;
}

SearchResult StackingSearch::try_keys(const std::vector<Key>& keys, const Items& items, Range range,
                                      int64_t ceiling) {
  const Mark mark = {raised_.size(), laid_.size()};
  Set conflict(conflict_.size(), 0);
  Items rest;
  for (const Key& key : keys) {
    if (key.rank < 0) continue;  // something must be laid beneath it first
    if (key.offset >= ceiling) {
      blame(key.item, ceiling, conflict);
      continue;
    }
    SearchResult result = SearchResult::infeasible;
    if (lay(key.item, key.offset)) {
      rest.clear();
      for (int32_t i : items)
        if (i != key.item) rest.push_back(i);
      result = solve_parts(rest, range, key);
    }
    if (result != SearchResult::infeasible) return result;
    take_back(mark);
    const bool to_blame = take_out(key.item, conflict_);
    for (size_t w = 0; w < conflict.size(); ++w) conflict[w] |= conflict_[w];
    if (!to_blame) break;  // it had no part in the dead end, so neither have its alternatives
    blame(key.item, key.offset, conflict);
  }
  conflict_.swap(conflict);
  return SearchResult::infeasible;
}

// The lowest offset of an item that could have been laid before `last`, were it to stay where it can lie now: one of
// its neighbours must be laid beneath it.
int64_t StackingSearch::lift(int32_t item) const {
  int64_t lift = capacity_ + 1;
  for (int32_t other : meets_[static_cast<size_t>(item)]) {
    const auto o = static_cast<size_t>(other);
    if (!is_laid_[o]) lift = std::min(lift, will_be_[o] + items_[o].size);
  }
  return lift;
}

void StackingSearch::blame_neighbours(int32_t item, Set& set) const {
  for (int32_t other : meets_[static_cast<size_t>(item)])
    if (!is_laid_[static_cast<size_t>(other)]) blame(other, lowest_[static_cast<size_t>(other)], set);
}

// Adds the laid items without which `item` might lie lower than `offset`.
void StackingSearch::blame(int32_t item, int64_t offset, Set& set) const {
  int32_t raise = last_raise_[static_cast<size_t>(item)];
  while (raise >= 0 && raised_[static_cast<size_t>(raise)].before >= offset)
    raise = raised_[static_cast<size_t>(raise)].previous;
  if (raise >= 0) put_in(raised_[static_cast<size_t>(raise)].by, set);
}

// In every section: all items no lower than some offset must fit between it and the capacity. None will be laid lower
// than the last one was.
bool StackingSearch::sections_fit(const std::vector<Key>& keys, Range range, Key last) {
  std::fill(stack_.begin() + range.first, stack_.begin() + range.last, 0);
  for (size_t k = keys.size(); k-- > 0;) {
    const Item& item = items_[static_cast<size_t>(keys[k].item)];
    const int64_t room = capacity_ - std::max(keys[k].offset, last.offset);
    for (auto s = static_cast<size_t>(item.first); s < static_cast<size_t>(item.last); ++s) {
      stack_[s] += item.gross;
      if (stack_[s] - section_slack_[s] <= room) continue;
      std::fill(conflict_.begin(), conflict_.end(), 0);
      const int64_t lowest = capacity_ - (stack_[s] - section_slack_[s]) + 1;  // would still be too high
      for (size_t j = k; j < keys.size(); ++j) {
        const Item& above = items_[static_cast<size_t>(keys[j].item)];
        if (static_cast<size_t>(above.first) > s || s >= static_cast<size_t>(above.last)) continue;
        if (keys[j].rank >= 0 && keys[j].offset >= lowest) blame(keys[j].item, lowest, conflict_);
        if (keys[j].rank < 0 || keys[j].offset < lowest) put_in(last.item, conflict_);
        if (keys[j].rank < 0 && lowest > last.offset) blame_neighbours(keys[j].item, conflict_);
      }
      return false;
    }
  }
  return true;
}

bool StackingSearch::lay(int32_t item, int64_t offset) {
  is_laid_[static_cast<size_t>(item)] = 1;
  offset_[static_cast<size_t>(item)] = offset;
  laid_.push_back(item);
  const int64_t end = offset + items_[static_cast<size_t>(item)].size;
  for (int32_t other : meets_[static_cast<size_t>(item)]) {
    const auto o = static_cast<size_t>(other);
    if (is_laid_[o] || lowest_[o] >= end) continue;
    const int64_t raised = round_up(end, items_[o].alignment);
    raised_.push_back({other, item, last_raise_[o], lowest_[o]});
    last_raise_[o] = static_cast<int32_t>(raised_.size()) - 1;
    lowest_[o] = raised;
    if (raised + items_[o].size <= capacity_ && items_[o].pinned < 0) continue;
    std::fill(conflict_.begin(), conflict_.end(), 0);
    put_in(item, conflict_);
    return false;
  }
  return true;
}

void StackingSearch::take_back(Mark mark) {
  for (; raised_.size() > mark.raised; raised_.pop_back()) {
    lowest_[static_cast<size_t>(raised_.back().item)] = raised_.back().before;
    last_raise_[static_cast<size_t>(raised_.back().item)] = raised_.back().previous;
  }
  for (; laid_.size() > mark.laid; laid_.pop_back()) is_laid_[static_cast<size_t>(laid_.back())] = 0;
}

}  // namespace linnet::plan
