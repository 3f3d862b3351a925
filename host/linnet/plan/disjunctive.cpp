#include "linnet/plan/disjunctive.h"

#include <algorithm>
#include <limits>

namespace linnet::plan {

// Of the items with a lag in a section only the largest can be counted beside the others, which overlap nothing there.
DisjunctiveSearch::DisjunctiveSearch(const PlacementModel& model) : model_(model) {
  std::vector<std::vector<uint8_t>> overlaps;
  for (const PlacementModel::Item& item : model.items)
    gross_.push_back((item.size + model.granule - 1) / model.granule * model.granule);
  for (const std::vector<int32_t>& section : model.sections()) {
    std::vector<uint8_t> is_in(model.items.size(), 0), has_lag(model.items.size(), 0);
    for (int32_t i : section) is_in[static_cast<size_t>(i)] = 1;
    for (const PlacementModel::Lag& lag : model.lags) {
      if (!is_in[static_cast<size_t>(lag.input)] || !is_in[static_cast<size_t>(lag.output)]) continue;
      has_lag[static_cast<size_t>(lag.input)] = has_lag[static_cast<size_t>(lag.output)] = 1;
    }
    std::vector<int32_t> disjoint;
    int32_t largest = -1;
    for (int32_t i : section) {
      if (!has_lag[static_cast<size_t>(i)]) disjoint.push_back(i);
      if (has_lag[static_cast<size_t>(i)] &&
          (largest < 0 || gross_[static_cast<size_t>(i)] > gross_[static_cast<size_t>(largest)]))
        largest = i;
    }
    if (largest >= 0) disjoint.push_back(largest);
    if (disjoint.size() > 1) disjoint_.push_back(disjoint);
  }
}

SearchResult DisjunctiveSearch::run(int64_t capacity, int64_t max_nodes, const Deadline& deadline) {
  capacity_ = capacity;
  nodes_ = 0;
  max_nodes_ = max_nodes;
  deadline_ = &deadline;
  const size_t n = model_.items.size();
  low_.assign(n, 0);
  high_.assign(n, 0);
  below_.assign(model_.pairs.size(), Below::open);
  walk_.assign(model_.steps.size(), kOpen);
  changes_.clear();
  queue_.clear();
  queued_.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    const PlacementModel::Item& item = model_.items[i];
    if (item.size > capacity) return SearchResult::infeasible;
    high_[i] = model_.round_down(capacity - item.size, static_cast<int32_t>(i));
    if (item.pinned > high_[i]) return SearchResult::infeasible;
    if (item.pinned >= 0) low_[i] = high_[i] = item.pinned;
    queue(static_cast<int32_t>(i));
  }
  if (!spread() || !sections_fit()) return SearchResult::infeasible;
  return search();
}

void DisjunctiveSearch::queue(int32_t item) {
  if (queued_[static_cast<size_t>(item)]) return;
  queued_[static_cast<size_t>(item)] = 1;
  queue_.push_back(item);
}

int64_t DisjunctiveSearch::distance(const PlacementModel::Pair& pair, bool a_below) const {
  const auto& d = a_below ? pair.a_below : pair.b_below;
  const int8_t way = pair.step < 0 ? int8_t{0} : walk_[static_cast<size_t>(pair.step)];
  return way == kOpen ? std::min(d[0], d[1]) : d[static_cast<size_t>(way)];
}

// How far the upper one could still move up, if negative the order is impossible.
int64_t DisjunctiveSearch::room(const PlacementModel::Pair& pair, bool a_below) const {
  const auto lower = static_cast<size_t>(a_below ? pair.a : pair.b), upper = static_cast<size_t>(a_below ? pair.b : pair.a);
  return high_[upper] - low_[lower] - distance(pair, a_below);
}

bool DisjunctiveSearch::order(int32_t pair, Below below) {
  changes_.push_back({Kind::below, pair, static_cast<int64_t>(below_[static_cast<size_t>(pair)])});
  below_[static_cast<size_t>(pair)] = below;
  return settle(pair);
}

bool DisjunctiveSearch::walk(int32_t step, int8_t direction) {
  changes_.push_back({Kind::walk, step, walk_[static_cast<size_t>(step)]});
  walk_[static_cast<size_t>(step)] = direction;
  const std::vector<int32_t>& pairs = model_.steps[static_cast<size_t>(step)].pairs;
  return std::all_of(pairs.begin(), pairs.end(), [&](int32_t p) { return settle(p); });
}

bool DisjunctiveSearch::push(int32_t lower, int32_t upper, int64_t distance) {
  const auto l = static_cast<size_t>(lower), u = static_cast<size_t>(upper);
  const int64_t low = model_.round_up(low_[l] + distance, upper);
  if (low > low_[u]) {
    changes_.push_back({Kind::low, upper, low_[u]});
    low_[u] = low;
    queue(upper);
  }
  const int64_t high = model_.round_down(high_[u] - distance, lower);
  if (high < high_[l]) {
    changes_.push_back({Kind::high, lower, high_[l]});
    high_[l] = high;
    queue(lower);
  }
  return low_[u] <= high_[u] && low_[l] <= high_[l];
}

// Draws what follows for one pair.
bool DisjunctiveSearch::settle(int32_t index) {
  const PlacementModel::Pair& pair = model_.pairs[static_cast<size_t>(index)];
  const Below below = below_[static_cast<size_t>(index)];
  if (below == Below::open) {
    const bool a_can = room(pair, true) >= 0, b_can = room(pair, false) >= 0;
    if (!a_can && !b_can) return false;
    return (a_can && b_can) || order(index, a_can ? Below::a : Below::b);
  }
  const bool a_below = below == Below::a;
  if (!push(a_below ? pair.a : pair.b, a_below ? pair.b : pair.a, distance(pair, a_below))) return false;
  if (pair.step < 0 || walk_[static_cast<size_t>(pair.step)] != kOpen) return true;
  const auto& distances = a_below ? pair.a_below : pair.b_below;
  const int64_t space = room(pair, a_below) + distance(pair, a_below);
  for (int8_t way = 0; way < 2; ++way)
    if (distances[static_cast<size_t>(way)] > space) return walk(pair.step, static_cast<int8_t>(1 - way));
  return true;
}

bool DisjunctiveSearch::spread() {
  bool fine = true;
  while (!queue_.empty()) {
    const int32_t item = queue_.back();
    queue_.pop_back();
    queued_[static_cast<size_t>(item)] = 0;
    for (size_t i = 0; fine && i < model_.pairs_of[static_cast<size_t>(item)].size(); ++i)
      fine = settle(model_.pairs_of[static_cast<size_t>(item)][i]);
  }
  return fine;
}

// Everything no lower than some offset must fit above it, and everything no higher than some end below that.
bool DisjunctiveSearch::section_fits(const std::vector<int32_t>& section) {
  std::vector<int32_t> items = section;
  std::sort(items.begin(), items.end(), [&](int32_t a, int32_t b) {
    return std::pair(low_[static_cast<size_t>(a)], a) > std::pair(low_[static_cast<size_t>(b)], b);
  });
  int64_t stacked = 0, slack = 0;
  for (int32_t i : items) {
    const auto n = static_cast<size_t>(i);
    stacked += gross_[n];
    slack = std::max(slack, gross_[n] - model_.items[n].size);
    if (low_[n] + stacked - slack > capacity_) return false;
  }
  const auto end = [&](int32_t i) { return high_[static_cast<size_t>(i)] + model_.items[static_cast<size_t>(i)].size; };
  std::sort(items.begin(), items.end(),
            [&](int32_t a, int32_t b) { return std::pair(end(a), a) < std::pair(end(b), b); });
  const int64_t floor = low_[static_cast<size_t>(*std::min_element(section.begin(), section.end(), [&](int32_t a, int32_t b) {
    return low_[static_cast<size_t>(a)] < low_[static_cast<size_t>(b)];
  }))];
  stacked = 0;
  for (int32_t i : items) {
    stacked += gross_[static_cast<size_t>(i)];
    if (floor + stacked - slack > end(i)) return false;
  }
  return true;
}

bool DisjunctiveSearch::sections_fit() {
  return std::all_of(disjoint_.begin(), disjoint_.end(),
                     [&](const std::vector<int32_t>& section) { return section_fits(section); });
}

DisjunctiveSearch::Branch DisjunctiveSearch::find_violation() const {
  Branch branch;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (size_t p = 0; p < model_.pairs.size(); ++p) {
    const PlacementModel::Pair& pair = model_.pairs[p];
    if (below_[p] != Below::open) continue;
    const bool is_open = pair.step >= 0 && walk_[static_cast<size_t>(pair.step)] == kOpen;
    const auto way = static_cast<size_t>(pair.step < 0 || is_open ? 0 : walk_[static_cast<size_t>(pair.step)]);
    if (model_.is_apart(pair, low_, way) || (is_open && model_.is_apart(pair, low_, 1))) continue;
    const int64_t tightness = std::min(room(pair, true), room(pair, false));
    if (tightness >= least) continue;
    least = tightness;
    branch = {false, static_cast<int32_t>(p)};
  }
  if (branch.index >= 0) return branch;
  for (size_t s = 0; s < walk_.size(); ++s) {
    if (walk_[s] != kOpen) continue;
    bool fits[2] = {true, true};
    for (int32_t p : model_.steps[s].pairs)
      for (size_t way = 0; way < 2; ++way)
        fits[way] = fits[way] && model_.is_apart(model_.pairs[static_cast<size_t>(p)], low_, way);
    if (!fits[0] && !fits[1]) return {true, static_cast<int32_t>(s)};
  }
  return branch;
}

SearchResult DisjunctiveSearch::search() {
  if (++nodes_ > max_nodes_) return SearchResult::gave_up;
  if (nodes_ % 64 == 0 && deadline_->passed()) return SearchResult::gave_up;
  const Branch branch = find_violation();
  if (branch.index < 0) return SearchResult::found;
  int first = 0;
  if (!branch.is_walk) {
    const PlacementModel::Pair& pair = model_.pairs[static_cast<size_t>(branch.index)];
    first = room(pair, true) >= room(pair, false) ? 0 : 1;
  }
  const SearchResult result = take(branch, first);
  return result == SearchResult::infeasible ? take(branch, 1 - first) : result;
}

SearchResult DisjunctiveSearch::take(const Branch& branch, int choice) {
  const size_t mark = changes_.size();
  const bool made = branch.is_walk ? walk(branch.index, static_cast<int8_t>(choice))
                                   : order(branch.index, choice == 0 ? Below::a : Below::b);
  SearchResult result = SearchResult::infeasible;
  if (made && spread() && sections_fit()) result = search();
  if (result == SearchResult::infeasible) take_back(mark);
  return result;
}

void DisjunctiveSearch::take_back(size_t mark) {
  for (int32_t item : queue_) queued_[static_cast<size_t>(item)] = 0;
  queue_.clear();
  for (; changes_.size() > mark; changes_.pop_back()) {
    const Change& c = changes_.back();
    const auto i = static_cast<size_t>(c.index);
    if (c.kind == Kind::low) low_[i] = c.before;
    if (c.kind == Kind::high) high_[i] = c.before;
    if (c.kind == Kind::below) below_[i] = static_cast<Below>(c.before);
    if (c.kind == Kind::walk) walk_[i] = static_cast<int8_t>(c.before);
  }
}

}  // namespace linnet::plan
