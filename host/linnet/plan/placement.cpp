#include "linnet/plan/placement.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <string>

#include "linnet/plan/disjunctive.h"
#include "linnet/plan/first_fit.h"
#include "linnet/plan/placement_model.h"
#include "linnet/plan/stacking.h"

namespace linnet::plan {
namespace {

using Offsets = std::vector<int64_t>;

constexpr int64_t kFirstNodes = 1000;          // of an exact search; each round has twice as many
constexpr int kGoals = 3;                      // arena sizes asked for in each round of exact search
constexpr int kTargetRounds = 4;               // a given target is tried alone in all but one of so many rounds
constexpr int kPatience = 2;                   // rounds of it before the local search
constexpr int64_t kMoveWork = 20'000'000;      // pairs looked at by each local search
constexpr int64_t kMostMoves = 3000;           // of each local search
constexpr size_t kImproved = 4;                // sequences that are improved
constexpr size_t kMostForDisjunctive = 3000;   // items; beyond, its depth and its cost a node are too much
constexpr size_t kMostForGroup = 7;            // items with lags in one step, whose least span is found exactly

int64_t round_up(int64_t value, int64_t granule) { return (value + granule - 1) / granule * granule; }

// The least bytes in which the items with a lag at one step can lie, everything else taken away.
int64_t group_span(const PlacementModel& model, const std::vector<const PlacementModel::Lag*>& lags,
                   const std::vector<int32_t>& items) {
  PlacementProblem group;
  std::map<int32_t, int32_t> name;
  std::vector<uint8_t> is_output(items.size(), 0);
  for (int32_t i : items) {
    name[i] = static_cast<int32_t>(group.buffers.size());
    group.buffers.push_back({model.items[static_cast<size_t>(i)].size, 0, 0, model.granule, std::nullopt});
  }
  for (const PlacementModel::Lag* lag : lags) {
    const int64_t in_size = model.items[static_cast<size_t>(lag->input)].size;
    const int64_t out_size = model.items[static_cast<size_t>(lag->output)].size;
    is_output[static_cast<size_t>(name[lag->output])] = 1;
    group.overlaps.push_back({0, name[lag->input], name[lag->output], lag->output_below[0],
                              lag->input_below[1] - in_size + out_size});
  }
  int64_t inputs = 0, outputs = 0;
  for (size_t i = 0; i < group.buffers.size(); ++i)
    (is_output[i] ? outputs : inputs) += round_up(group.buffers[i].size_bytes, model.granule);
  int64_t low = std::max(inputs, outputs) - model.granule + 1, high = inputs + outputs;
  if (items.size() > kMostForGroup) return low;
  const PlacementModel small = PlacementModel::make(group);
  DisjunctiveSearch search(small);
  const Deadline never(1e8);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (search.run(middle, INT64_MAX, never) == SearchResult::found) high = middle;
    else low = middle + 1;
  }
  return low;
}

// At every step: all that is alive, with the lags of the step used as well as can be.
int64_t section_bound(const PlacementModel& model) {
  std::map<int64_t, std::vector<const PlacementModel::Lag*>> lags_at;
  for (const PlacementModel::Lag& lag : model.lags) lags_at[lag.step].push_back(&lag);
  std::vector<std::pair<int64_t, int32_t>> firsts;
  for (size_t i = 0; i < model.items.size(); ++i) firsts.emplace_back(model.items[i].first, static_cast<int32_t>(i));
  std::sort(firsts.begin(), firsts.end());
  std::vector<int32_t> alive;
  int64_t bound = 0;
  for (size_t k = 0; k < firsts.size(); ++k) {
    const int64_t now = firsts[k].first;
    std::erase_if(alive, [&](int32_t j) { return model.items[static_cast<size_t>(j)].last < now; });
    alive.push_back(firsts[k].second);
    if (k + 1 < firsts.size() && firsts[k + 1].first == now) continue;
    int64_t bytes = 0, rounding = 0;
    for (int32_t i : alive) {
      const int64_t size = model.items[static_cast<size_t>(i)].size, gross = round_up(size, model.granule);
      bytes += gross;
      rounding = std::max(rounding, gross - size);
    }
    if (bytes - rounding <= bound) continue;
    if (const auto lags = lags_at.find(now); lags != lags_at.end()) {
      std::vector<int32_t> group;
      for (const PlacementModel::Lag* lag : lags->second) group.insert(group.end(), {lag->input, lag->output});
      std::sort(group.begin(), group.end());
      group.erase(std::unique(group.begin(), group.end()), group.end());
      for (int32_t i : group) bytes -= round_up(model.items[static_cast<size_t>(i)].size, model.granule);
      bytes += round_up(group_span(model, lags->second, group), model.granule);
    }
    bound = std::max(bound, bytes - rounding);
  }
  for (const PlacementModel::Item& item : model.items)
    bound = std::max(bound, std::max<int64_t>(0, item.pinned) + item.size);
  return bound;
}

class Placer {
 public:
  Placer(const PlacementProblem& problem, const Limits& limits)
      : problem_(problem), limits_(limits), deadline_(limits.time_limit_s), model_(PlacementModel::make(problem)) {}

  Placement run();

 private:
  void check_pins() const;
  void adopt(const Offsets& by_item);
  bool is_done() const { return arena_ <= std::max(bound_, limits_.target_bytes) || deadline_.passed(); }
  void fit_first();
  void improve();
  void stack();
  void decide();
  template <typename Attempt>
  void close_in(const Attempt& attempt);
  std::vector<StepDirection> directions() const;

  const PlacementProblem& problem_;
  Limits limits_;
  Deadline deadline_;
  PlacementModel model_;
  Offsets offsets_;  // by item
  int64_t arena_ = INT64_MAX;
  int64_t bound_ = 0;
};

void Placer::check_pins() const {
  Offsets offsets;
  for (const PlacementModel::Item& item : model_.items) offsets.push_back(item.pinned);
  std::vector<std::array<bool, 2>> fits(model_.steps.size(), {true, true});
  for (const PlacementModel::Pair& pair : model_.pairs) {
    const PlacementModel::Item &a = model_.items[static_cast<size_t>(pair.a)], &b = model_.items[static_cast<size_t>(pair.b)];
    if (a.pinned < 0 || b.pinned < 0) continue;
    std::array<bool, 2> apart = {model_.is_apart(pair, offsets, 0), model_.is_apart(pair, offsets, 1)};
    if (pair.step >= 0)
      for (size_t way = 0; way < 2; ++way)
        apart[way] = fits[static_cast<size_t>(pair.step)][way] = fits[static_cast<size_t>(pair.step)][way] && apart[way];
    if (!apart[0] && !apart[1])
      throw std::invalid_argument("buffers " + std::to_string(a.buffer) + " and " + std::to_string(b.buffer) +
                                  " are pinned onto each other");
  }
}

void Placer::adopt(const Offsets& by_item) {
  int64_t top = 0;
  for (size_t i = 0; i < by_item.size(); ++i) top = std::max(top, by_item[i] + model_.items[i].size);
  if (top >= arena_) return;
  arena_ = top;
  offsets_ = by_item;
}

void Placer::fit_first() {
  FirstFit fit(model_);
  for (const FirstFit::Sequence& sequence : fit.sequences()) {
    fit.lay(sequence);
    adopt(fit.offsets());
    if (is_done()) return;
  }
}

void Placer::improve() {
  FirstFit fit(model_);
  std::vector<std::pair<int64_t, FirstFit::Sequence>> tried;
  for (FirstFit::Sequence& sequence : fit.sequences()) tried.emplace_back(fit.lay(sequence), std::move(sequence));
  std::sort(tried.begin(), tried.end());
  Random random(1);
  const auto cost = static_cast<int64_t>(1 + 4 * model_.pairs.size());
  const int64_t moves = std::min(kMostMoves, kMoveWork / cost);
  for (size_t k = 0; k < std::min<size_t>(kImproved, tried.size()) && !is_done(); ++k) {
    fit.improve(tried[k].second, std::max(bound_, limits_.target_bytes), moves, random, deadline_);
    adopt(fit.offsets());
  }
}

// Asks for less and less, until what is found is what is proven: the target or the bound, half way, and a byte less
// than now. attempt(goal, capacity, round) has more patience each round.
template <typename Attempt>
void Placer::close_in(const Attempt& attempt) {
  for (int round = 0; !is_done(); ++round) {
    for (int goal = 0; goal < kGoals && !is_done(); ++goal) {
      if (goal > 0 && limits_.target_bytes > bound_ && round % kTargetRounds != 0) continue;
      const int64_t least = std::max(bound_, std::min(limits_.target_bytes, arena_ - 1));
      const int64_t capacity = goal == 0 ? least : goal == 1 ? least + (arena_ - least) / 2 : arena_ - 1;
      if (capacity < bound_ || capacity >= arena_) continue;
      if (attempt(goal, capacity, round) == SearchResult::infeasible) bound_ = capacity + 1;
    }
  }
}

void Placer::stack() {
  std::vector<StackingSearch> searches(kGoals, StackingSearch(problem_.buffers));  // each keeps what it learns
  Offsets by_item(model_.items.size());
  close_in([&](int goal, int64_t capacity, int round) {
    StackingSearch& search = searches[static_cast<size_t>(goal)];
    SearchResult result = SearchResult::gave_up;
    for (int p = 0; p < StackingSearch::kPreorders && result == SearchResult::gave_up && !deadline_.passed(); ++p)
      result = search.run(capacity, p, kFirstNodes << std::min(round, 40), deadline_);
    if (result != SearchResult::found) return result;
    for (size_t i = 0; i < by_item.size(); ++i)
      by_item[i] = search.offsets()[static_cast<size_t>(model_.items[i].buffer)];
    adopt(by_item);
    return result;
  });
}

// Small problems are proven at once; for the others the local search, once, finds better beginnings.
void Placer::decide() {
  DisjunctiveSearch search(model_);
  bool is_improved = false;
  close_in([&](int, int64_t capacity, int round) {
    if (round == kPatience && !is_improved) {
      is_improved = true;
      improve();
      return SearchResult::gave_up;
    }
    const SearchResult result = search.run(capacity, kFirstNodes << std::min(round, 40), deadline_);
    if (result == SearchResult::found) adopt(search.offsets());
    return result;
  });
}

// Of each step with overlaps: the direction in which all of them are far enough apart.
std::vector<StepDirection> Placer::directions() const {
  std::map<int64_t, Direction> directions;
  std::map<int64_t, std::array<bool, 2>> fits;
  for (const Overlap& o : problem_.overlaps) directions.emplace(o.step, Direction::up);
  for (const PlacementModel::Lag& lag : model_.lags) {
    const int64_t out = offsets_[static_cast<size_t>(lag.output)], in = offsets_[static_cast<size_t>(lag.input)];
    auto& fit = fits.emplace(lag.step, std::array<bool, 2>{true, true}).first->second;
    for (size_t way = 0; way < 2; ++way)
      fit[way] = fit[way] && (in >= out + lag.output_below[way] || out >= in + lag.input_below[way]);
  }
  for (const auto& [step, fit] : fits)
    if (!fit[0]) directions[step] = Direction::down;
  std::vector<StepDirection> list;
  for (const auto& [step, direction] : directions) list.push_back({step, direction});
  return list;
}

Placement Placer::run() {
  check_pins();
  bound_ = section_bound(model_);
  if (model_.items.empty()) arena_ = 0;
  offsets_.assign(model_.items.size(), 0);
  fit_first();
  if (model_.lags.empty()) stack();
  else if (model_.items.size() <= kMostForDisjunctive) decide();
  Placement placement;
  placement.offsets.assign(problem_.buffers.size(), 0);
  placement.arena_bytes = arena_;
  for (size_t b = 0; b < problem_.buffers.size(); ++b) {
    placement.offsets[b] = problem_.buffers[b].pinned_offset.value_or(0);
    placement.arena_bytes = std::max(placement.arena_bytes, placement.offsets[b]);
  }
  for (size_t i = 0; i < offsets_.size(); ++i)
    placement.offsets[static_cast<size_t>(model_.items[i].buffer)] = offsets_[i];
  placement.directions = directions();
  placement.lower_bound_bytes = placement.arena_bytes > arena_ ? placement.arena_bytes : std::min(bound_, arena_);
  placement.optimal = placement.lower_bound_bytes == placement.arena_bytes;
  return placement;
}

}  // namespace

Placement place(const PlacementProblem& problem, const Limits& limits) { return Placer(problem, limits).run(); }

}  // namespace linnet::plan
