#include "linnet/plan/order_search.h"

#include <algorithm>

namespace linnet::plan {
namespace {

constexpr LiveState::Hash kEmpty = {0, 0};  // the hash of the empty set, which is never inserted
constexpr size_t kMostRemembered = size_t{1} << 23;

}  // namespace

size_t HashSet::find(const LiveState::Hash& hash) const {
  size_t i = hash.first & (slots_.size() - 1);
  while (slots_[i] != kEmpty && slots_[i] != hash) i = (i + 1) & (slots_.size() - 1);
  return i;
}

bool HashSet::contains(const LiveState::Hash& hash) const { return size_ > 0 && slots_[find(hash)] == hash; }

void HashSet::insert(const LiveState::Hash& hash) {
  if (hash == kEmpty) return;
  if (slots_.size() < 2 * (size_ + 1)) {
    std::vector<LiveState::Hash> old(std::max<size_t>(1024, 4 * size_), kEmpty);
    size_t power = 1024;
    while (power < old.size()) power *= 2;
    old.assign(power, kEmpty);
    old.swap(slots_);
    for (const LiveState::Hash& h : old)
      if (h != kEmpty) slots_[find(h)] = h;
  }
  LiveState::Hash& slot = slots_[find(hash)];
  if (slot == kEmpty) ++size_;
  slot = hash;
}

void HashSet::clear() {
  std::fill(slots_.begin(), slots_.end(), kEmpty);
  size_ = 0;
}

SearchResult OrderSearch::run(int64_t budget, int64_t max_nodes, const Deadline& deadline) {
  budget_ = budget;
  max_nodes_ = max_nodes;
  nodes_ = 0;
  deadline_ = &deadline;
  next_budget_ = std::numeric_limits<int64_t>::max();
  dead_.clear();
  if (state_.live() > budget) {
    next_budget_ = state_.live();
    return SearchResult::infeasible;
  }
  const SearchResult result = search();
  if (result == SearchResult::found) order_ = trail_;
  take_back(0);
  return result;
}

void OrderSearch::step(int32_t op) {
  state_.run(op);
  trail_.push_back(op);
}

void OrderSearch::take_back(size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) state_.take_back(trail_.back());
}

void OrderSearch::run_safe_ones() {
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < state_.ready().size();) {
      const int32_t op = state_.ready()[i];
      const bool safe = state_.change(op) <= 0 && state_.need(op) <= budget_;
      if (safe) step(op);
      again = again || safe;
      i += safe ? 0 : 1;
    }
  }
}

// Runs `first` and on along operators that become ready by the one before, until the live bytes are no more than they
// were. Otherwise everything is as before.
bool OrderSearch::run_chain(int32_t first) {
  const int64_t live = state_.live();
  const size_t mark = trail_.size();
  int32_t op = first;
  while (op >= 0 && state_.need(op) <= budget_) {
    const size_t ready_before = state_.ready().size() - 1;
    step(op);
    if (state_.live() <= live) return true;
    op = -1;
    for (size_t i = ready_before; i < state_.ready().size(); ++i) {
      const int32_t next = state_.ready()[i];
      if (op < 0 || state_.change(next) < state_.change(op)) op = next;
    }
  }
  take_back(mark);
  return false;
}

SearchResult OrderSearch::search() {
  if (++nodes_ > max_nodes_) return SearchResult::gave_up;
  if (nodes_ % 64 == 0 && deadline_->passed()) return SearchResult::gave_up;
  const size_t mark = trail_.size();
  for (bool again = true; again;) {
    run_safe_ones();
    again = false;
    for (size_t i = 0; i < state_.ready().size() && !again; ++i) again = run_chain(state_.ready()[i]);
  }
  if (state_.count() == graph_.size()) return SearchResult::found;
  struct Choice {
    int64_t change;
    int64_t need;
    int32_t op;
  };
  std::vector<Choice> choices;
  if (!dead_.contains(state_.hash())) {
    for (int32_t op : state_.ready()) {
      const int64_t need = state_.need(op);
      if (need > budget_) next_budget_ = std::min(next_budget_, need);
      if (need <= budget_) choices.push_back({state_.change(op), need, op});
    }
  }
  std::sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return a.change != b.change ? a.change < b.change : a.need != b.need ? a.need < b.need : a.op < b.op;
  });
  const size_t here = trail_.size();
  const LiveState::Hash hash = state_.hash();
  for (const Choice& c : choices) {
    step(c.op);
    const SearchResult result = search();
    if (result != SearchResult::infeasible) return result;
    take_back(here);
  }
  if (dead_.size() < kMostRemembered) dead_.insert(hash);
  take_back(mark);
  return SearchResult::infeasible;
}

}  // namespace linnet::plan
