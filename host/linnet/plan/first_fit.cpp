#include "linnet/plan/first_fit.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace linnet::plan {
namespace {

constexpr int8_t kOpen = -1;

}  // namespace

FirstFit::FirstFit(const PlacementModel& model) : model_(model), steps_of_(model.items.size()) {
  for (size_t s = 0; s < model.steps.size(); ++s)
    for (int32_t p : model.steps[s].pairs)
      for (int32_t item : {model.pairs[static_cast<size_t>(p)].a, model.pairs[static_cast<size_t>(p)].b}) {
        std::vector<int32_t>& steps = steps_of_[static_cast<size_t>(item)];
        if (steps.empty() || steps.back() != static_cast<int32_t>(s)) steps.push_back(static_cast<int32_t>(s));
      }
}

std::vector<FirstFit::Sequence> FirstFit::sequences() const {
  const size_t n = model_.items.size();
  std::vector<int64_t> fullest(n, 0);
  for (const std::vector<int32_t>& section : model_.sections()) {
    int64_t total = 0;
    for (int32_t i : section) total += model_.items[static_cast<size_t>(i)].size;
    for (int32_t i : section) fullest[static_cast<size_t>(i)] = std::max(fullest[static_cast<size_t>(i)], total);
  }
  using Rating = std::array<double, 3>;
  constexpr size_t kCount = 8;
  std::array<std::vector<std::pair<Rating, int32_t>>, kCount> rated;
  for (size_t i = 0; i < n; ++i) {
    const PlacementModel::Item& item = model_.items[i];
    const auto size = static_cast<double>(item.size), life = static_cast<double>(item.last - item.first + 1);
    const auto total = static_cast<double>(fullest[i]);
    const auto first = static_cast<double>(item.first), last = static_cast<double>(item.last);
    const std::array<Rating, kCount> ratings = {
        Rating{-size, first, 0}, Rating{-size, -last, 0},      Rating{-size * life, 0, 0}, Rating{-life, -size, 0},
        Rating{-total, -size, 0}, Rating{-total, -life, -size}, Rating{first, -size, 0},    Rating{-last, -size, 0}};
    for (size_t k = 0; k < kCount; ++k) rated[k].emplace_back(ratings[k], static_cast<int32_t>(i));
  }
  std::vector<Sequence> sequences;
  for (auto& list : rated) {
    std::sort(list.begin(), list.end());
    sequences.emplace_back();
    for (const auto& entry : list) sequences.back().push_back(entry.second);
  }
  return sequences;
}

int64_t FirstFit::lay(const Sequence& sequence) {
  offsets_.assign(model_.items.size(), 0);
  is_laid_.assign(model_.items.size(), 0);
  walk_.assign(model_.steps.size(), kOpen);
  int64_t top = 0;
  for (int32_t i : sequence)
    if (model_.items[static_cast<size_t>(i)].pinned >= 0) put(i);
  for (int32_t i : sequence)
    if (model_.items[static_cast<size_t>(i)].pinned < 0) put(i);
  for (size_t i = 0; i < offsets_.size(); ++i) top = std::max(top, offsets_[i] + model_.items[i].size);
  return top;
}

// Tries both directions of every open step that matters now, and keeps a step open where both would do.
void FirstFit::put(int32_t item) {
  const auto i = static_cast<size_t>(item);
  std::vector<int32_t> open;
  for (int32_t s : steps_of_[i])
    if (walk_[static_cast<size_t>(s)] == kOpen) open.push_back(s);
  const int64_t pinned = model_.items[i].pinned;
  uint32_t best = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (uint32_t ways = 0; ways < (uint32_t{1} << open.size()); ++ways) {
    for (size_t k = 0; k < open.size(); ++k) walk_[static_cast<size_t>(open[k])] = (ways >> k) & 1;
    const int64_t offset = lowest(item);
    if (offset >= least) continue;
    least = offset;
    best = ways;
  }
  for (size_t k = 0; k < open.size(); ++k) walk_[static_cast<size_t>(open[k])] = (best >> k) & 1;
  offsets_[i] = pinned >= 0 ? pinned : least;
  is_laid_[i] = 1;
  for (int32_t s : open) {
    const int8_t other = static_cast<int8_t>(1 - walk_[static_cast<size_t>(s)]);
    const std::vector<int32_t>& pairs = model_.steps[static_cast<size_t>(s)].pairs;
    const bool both = std::all_of(pairs.begin(), pairs.end(), [&](int32_t p) {
      const PlacementModel::Pair& pair = model_.pairs[static_cast<size_t>(p)];
      return !is_laid_[static_cast<size_t>(pair.a)] || !is_laid_[static_cast<size_t>(pair.b)] ||
             model_.is_apart(pair, offsets_, static_cast<size_t>(other));
    });
    if (both) walk_[static_cast<size_t>(s)] = kOpen;
  }
}

// The lowest offset that all laid items leave free. Where a direction is open, as the other item is not laid, it does
// not matter.
int64_t FirstFit::lowest(int32_t item) {
  gaps_.clear();
  for (int32_t p : model_.pairs_of[static_cast<size_t>(item)]) {
    const PlacementModel::Pair& pair = model_.pairs[static_cast<size_t>(p)];
    const bool is_a = pair.a == item;
    const auto other = static_cast<size_t>(is_a ? pair.b : pair.a);
    if (!is_laid_[other]) continue;
    const auto way = static_cast<size_t>(pair.step < 0 ? 0 : std::max<int8_t>(0, walk_[static_cast<size_t>(pair.step)]));
    const int64_t above = is_a ? pair.b_below[way] : pair.a_below[way];
    const int64_t below = is_a ? pair.a_below[way] : pair.b_below[way];
    if (above + below > 0) gaps_.push_back({offsets_[other] - below, offsets_[other] + above});
  }
  std::sort(gaps_.begin(), gaps_.end(), [](const Gap& a, const Gap& b) { return a.begin < b.begin; });
  int64_t offset = 0;
  for (const Gap& gap : gaps_) {
    if (offset <= gap.begin) break;
    if (offset < gap.end) offset = model_.round_up(gap.end, item);
  }
  return offset;
}

int64_t FirstFit::improve(Sequence& sequence, int64_t enough, int64_t moves, Random& random, const Deadline& deadline) {
  const auto n = static_cast<int64_t>(sequence.size());
  int64_t best = lay(sequence);
  for (int64_t move = 0; move < moves && best > enough && n > 1 && !deadline.passed(); ++move) {
    std::vector<int64_t> tops;
    for (int64_t p = 0; p < n; ++p) {
      const auto i = static_cast<size_t>(sequence[static_cast<size_t>(p)]);
      if (offsets_[i] + model_.items[i].size == best) tops.push_back(p);
    }
    Sequence changed = sequence;
    const int64_t from = !tops.empty() && random.below(2) == 0
                             ? tops[static_cast<size_t>(random.below(static_cast<int64_t>(tops.size())))]
                             : random.below(n);
    const int64_t to = random.below(n);
    if (random.below(3) == 0) {
      std::swap(changed[static_cast<size_t>(from)], changed[static_cast<size_t>(to)]);
    } else {
      changed.erase(changed.begin() + from);
      changed.insert(changed.begin() + to, sequence[static_cast<size_t>(from)]);
    }
    const int64_t top = lay(changed);
    if (top <= best) sequence.swap(changed);
    best = std::min(best, top);
  }
  return lay(sequence);
}

}  // namespace linnet::plan
