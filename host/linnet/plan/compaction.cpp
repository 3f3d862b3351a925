#include "linnet/plan/compaction.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "linnet/plan/deadline.h"
#include "linnet/plan/placement.h"

// Between two steps live buffers slide but never pass one another, so that moving those that go down from the bottom, then
// those that go up from the top, is always possible without spare room. What a step makes may be inserted anywhere in that
// order; a beam of arrangements is followed from step to step, the fewest moved bytes first.

namespace linnet::plan {
namespace {

constexpr size_t beam_width = 24;
constexpr size_t most_sequences = 160;  // ways to insert what one step makes

struct Placed {
  int32_t buffer;
  int64_t offset;
};

// All that lives at one step, by order in memory.
struct Arrangement {
  int32_t before = -1;  // the arrangement of the step before
  Direction direction = Direction::up;
  int64_t moved_bytes = 0;  // so far
  int64_t widest_gap = 0;   // that the next step finds
  std::vector<Placed> items;
};

struct Event {
  int64_t step;
  std::vector<int32_t> born;
  std::vector<const Overlap*> overlaps;
};

class Search {
 public:
  Search(const PlacementProblem& problem, int64_t first_move_step, int64_t capacity, const Deadline& deadline)
      : problem_(problem), first_move_step_(first_move_step), capacity_(capacity), deadline_(deadline) {
    std::map<int64_t, Event> events;
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      // What exists before anything may move is arranged together with what the first movable step makes.
      int64_t step = std::max(problem.buffers[i].first_step, first_move_step);
      if (problem.buffers[i].size_bytes > 0) events[step].born.push_back(static_cast<int32_t>(i));
    }
    for (const Overlap& o : problem.overlaps) {
      bool meet = buffer(o.input).last_step == o.step && buffer(o.output).first_step == o.step;
      if (auto event = events.find(o.step); meet && event != events.end()) event->second.overlaps.push_back(&o);
    }
    for (auto& [step, event] : events) {
      event.step = step;
      events_.push_back(std::move(event));
    }
  }

  bool run() {
    nodes_.push_back({});
    std::vector<int32_t> beam = {0};
    for (size_t e = 0; e < events_.size(); ++e) {
      candidates_.clear();
      for (int32_t node : beam) {
        if (deadline_.passed()) return false;
        expand(node, events_[e], e + 1 < events_.size() ? events_[e + 1].step : INT64_MAX);
      }
      beam = best_candidates();
      if (beam.empty()) return false;
    }
    final_ = beam[0];
    return true;
  }

  // Of a run that succeeded.
  MovingPlacement result() const {
    std::vector<const Arrangement*> path;
    for (int32_t n = final_; n > 0; n = nodes_[static_cast<size_t>(n)].before) path.push_back(&nodes_[static_cast<size_t>(n)]);
    std::reverse(path.begin(), path.end());
    MovingPlacement result;
    result.offsets.assign(problem_.buffers.size(), 0);
    for (size_t i = 0; i < result.offsets.size(); ++i) result.offsets[i] = problem_.buffers[i].pinned_offset.value_or(0);
    std::map<int32_t, int64_t> now;
    for (size_t e = 0; e < path.size(); ++e) {
      add_moves(*path[e], events_[e].step - 1, now, result);
      for (const Placed& p : path[e]->items) {
        if (now.emplace(p.buffer, p.offset).second) result.offsets[static_cast<size_t>(p.buffer)] = p.offset;
        result.arena_bytes = std::max(result.arena_bytes, p.offset + buffer(p.buffer).size_bytes);
      }
      if (!events_[e].overlaps.empty()) result.directions.push_back({events_[e].step, path[e]->direction});
    }
    return result;
  }

 private:
  struct Sequence {
    std::vector<int32_t> buffers;
    Direction direction;
  };

  const Buffer& buffer(int32_t i) const { return problem_.buffers[static_cast<size_t>(i)]; }

  void add_moves(const Arrangement& to, int64_t after, std::map<int32_t, int64_t>& now, MovingPlacement& result) const {
    auto move = [&](const Placed& p, bool down) {
      auto at = now.find(p.buffer);
      if (at == now.end() || (down ? p.offset >= at->second : p.offset <= at->second)) return;
      result.moves.push_back({after, p.buffer, p.offset});
      result.moved_bytes += buffer(p.buffer).size_bytes;
      at->second = p.offset;
    };
    for (auto p = to.items.begin(); p != to.items.end(); ++p) move(*p, true);
    for (auto p = to.items.rbegin(); p != to.items.rend(); ++p) move(*p, false);
  }

  void expand(int32_t from, const Event& event, int64_t next_step) {
    std::vector<Placed> survivors;
    for (const Placed& p : nodes_[static_cast<size_t>(from)].items)
      if (buffer(p.buffer).last_step >= event.step) survivors.push_back(p);
    // Overlapping neighbours may stand in another order in the sequence than in memory; what survives does not overlap.
    std::sort(survivors.begin(), survivors.end(), [](const Placed& a, const Placed& b) { return a.offset < b.offset; });
    std::vector<Sequence> sequences = insertions(survivors, event);
    bool found = false;
    std::set<int32_t> all;
    for (const Placed& p : survivors) all.insert(p.buffer);
    for (const Sequence& s : sequences) found |= try_keeping(from, survivors, event, s, all, next_step);
    if (found) return;
    for (const Sequence& s : sequences) {
      if (deadline_.passed()) return;
      if (auto kept = most_kept(survivors, event, s)) try_keeping(from, survivors, event, s, *kept, next_step);
    }
  }

  // Where what is born may stand among what survives.
  std::vector<Sequence> insertions(const std::vector<Placed>& survivors, const Event& event) const {
    std::vector<std::vector<int32_t>> orders(1);
    for (const Placed& p : survivors) orders[0].push_back(p.buffer);
    std::vector<int32_t> born = event.born;
    std::stable_sort(born.begin(), born.end(), [&](int32_t a, int32_t b) { return buffer(a).size_bytes > buffer(b).size_bytes; });
    for (size_t b = 0; b < born.size(); ++b) {
      std::vector<std::vector<int32_t>> longer;
      bool all = orders.size() * (orders[0].size() + 1) <= most_sequences;
      for (const auto& order : orders)
        for (size_t slot = 0; slot <= order.size() && longer.size() < most_sequences; ++slot) {
          if (!all && !promising(survivors, order, slot, born[b], event)) continue;
          longer.push_back(order);
          longer.back().insert(longer.back().begin() + static_cast<int64_t>(slot), born[b]);
        }
      orders = std::move(longer);
    }
    std::vector<Sequence> sequences;
    for (auto& order : orders) {
      if (!event.overlaps.empty()) sequences.push_back({order, Direction::down});
      sequences.push_back({std::move(order), Direction::up});
    }
    return sequences;
  }

  // The ends, the neighbours of what it may overlap, and gaps that are wide enough.
  bool promising(const std::vector<Placed>& survivors, const std::vector<int32_t>& order, size_t slot, int32_t what, const Event& event) const {
    if (slot == 0 || slot == order.size()) return true;
    for (const Overlap* o : event.overlaps) {
      int32_t partner = o->output == what ? o->input : o->input == what ? o->output : -1;
      if (partner >= 0 && (order[slot] == partner || order[slot - 1] == partner)) return true;
    }
    auto at = [&](int32_t b) {
      return std::find_if(survivors.begin(), survivors.end(), [&](const Placed& p) { return p.buffer == b; });
    };
    auto below = at(order[slot - 1]), above = at(order[slot]);
    if (below == survivors.end() || above == survivors.end()) return false;
    return above->offset - below->offset - buffer(below->buffer).size_bytes >= buffer(what).size_bytes;
  }

  // How far behind the start of `first` the start of `second`, which follows it in the sequence, must lie.
  int64_t distance(int32_t first, int32_t second, const Event& event, Direction direction) const {
    int64_t apart = buffer(first).size_bytes;
    for (const Overlap* o : event.overlaps) {
      if (direction == Direction::up && o->output == first && o->input == second && o->forward_bytes)
        return std::min(apart, *o->forward_bytes);
      if (direction == Direction::down && o->input == first && o->output == second && o->backward_bytes)
        return std::min(apart, apart - buffer(second).size_bytes + *o->backward_bytes);
    }
    return apart;
  }

  // Offsets as low (as high) as possible with those of `kept` where they are; empty if there is no room. Every distance
  // points forward in the sequence, so that one pass finds the least (the greatest) solution.
  std::vector<Placed> solve(const std::vector<Placed>& survivors, const Event& event, const Sequence& s,
                            const std::set<int32_t>& kept, bool low) const {
    std::vector<Placed> placed;
    for (int32_t b : s.buffers) placed.push_back({b, fixed_offset(survivors, b, kept)});
    const auto n = static_cast<int64_t>(placed.size());
    for (int64_t k = 0; k < n; ++k) {
      Placed& p = placed[static_cast<size_t>(low ? k : n - 1 - k)];
      const Buffer& b = buffer(p.buffer);
      int64_t offset = low ? 0 : capacity_ - b.size_bytes;
      for (int64_t j = 0; j < k; ++j) {
        const Placed& q = placed[static_cast<size_t>(low ? j : n - 1 - j)];
        offset = low ? std::max(offset, q.offset + distance(q.buffer, p.buffer, event, s.direction))
                     : std::min(offset, q.offset - distance(p.buffer, q.buffer, event, s.direction));
      }
      if (p.offset >= 0 && (low ? offset > p.offset : offset < p.offset)) return {};
      if (p.offset < 0) p.offset = low ? (offset + b.alignment - 1) / b.alignment * b.alignment : offset - ((offset % b.alignment) + b.alignment) % b.alignment;
      if (p.offset < 0 || p.offset + b.size_bytes > capacity_) return {};
    }
    return placed;
  }

  int64_t fixed_offset(const std::vector<Placed>& survivors, int32_t b, const std::set<int32_t>& kept) const {
    if (buffer(b).pinned_offset) return *buffer(b).pinned_offset;
    if (kept.count(b) != 0)
      for (const Placed& p : survivors)
        if (p.buffer == b) return p.offset;
    return -1;
  }

  // The largest survivors that can stay, each if those before it can; nothing if there is no room however they slide.
  std::optional<std::set<int32_t>> most_kept(const std::vector<Placed>& survivors, const Event& event, const Sequence& s) const {
    std::set<int32_t> kept;
    if (solve(survivors, event, s, kept, true).empty()) return {};
    std::vector<Placed> by_size = survivors;
    std::stable_sort(by_size.begin(), by_size.end(), [&](const Placed& a, const Placed& b) { return buffer(a.buffer).size_bytes > buffer(b.buffer).size_bytes; });
    for (const Placed& p : by_size) {
      kept.insert(p.buffer);
      if (solve(survivors, event, s, kept, true).empty()) kept.erase(p.buffer);
    }
    return kept;
  }

  bool try_keeping(int32_t from, const std::vector<Placed>& survivors, const Event& event, const Sequence& s,
                   const std::set<int32_t>& kept, int64_t next_step) {
    bool found = false;
    for (bool low : {true, false}) {
      std::vector<Placed> placed = solve(survivors, event, s, kept, low);
      if (placed.empty()) continue;
      found = true;
      Arrangement a{from, s.direction, nodes_[static_cast<size_t>(from)].moved_bytes, 0, std::move(placed)};
      for (const Placed& was : survivors)
        for (const Placed& is : a.items)
          if (was.buffer == is.buffer && was.offset != is.offset) a.moved_bytes += buffer(is.buffer).size_bytes;
      add_candidate(std::move(a), next_step);
    }
    return found;
  }

  // Arrangements that leave the same to the next step are one.
  void add_candidate(Arrangement a, int64_t next_step) {
    std::vector<std::pair<int64_t, int32_t>> left;
    for (const Placed& p : a.items)
      if (buffer(p.buffer).last_step >= next_step) left.emplace_back(p.offset, p.buffer);
    std::sort(left.begin(), left.end());
    int64_t end = 0;
    for (const auto& [offset, b] : left) {
      a.widest_gap = std::max(a.widest_gap, offset - end);
      end = offset + buffer(b).size_bytes;
    }
    a.widest_gap = std::max(a.widest_gap, capacity_ - end);
    auto [it, fresh] = candidates_.emplace(std::move(left), a);
    if (!fresh && a.moved_bytes < it->second.moved_bytes) it->second = std::move(a);
  }

  std::vector<int32_t> best_candidates() {
    std::vector<Arrangement*> sorted;
    for (auto& [left, a] : candidates_) sorted.push_back(&a);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Arrangement* a, const Arrangement* b) {
      return std::pair(a->moved_bytes, -a->widest_gap) < std::pair(b->moved_bytes, -b->widest_gap);
    });
    std::vector<int32_t> beam;
    for (Arrangement* a : sorted) {
      if (beam.size() == beam_width) break;
      beam.push_back(static_cast<int32_t>(nodes_.size()));
      nodes_.push_back(std::move(*a));
    }
    return beam;
  }

  const PlacementProblem& problem_;
  int64_t first_move_step_, capacity_;
  const Deadline& deadline_;
  std::vector<Event> events_;
  std::vector<Arrangement> nodes_;
  std::map<std::vector<std::pair<int64_t, int32_t>>, Arrangement> candidates_;
  int32_t final_ = 0;
};

// What lives at one step, as a problem of its own.
PlacementProblem at_step(const PlacementProblem& problem, int64_t step) {
  PlacementProblem p;
  std::map<int32_t, int32_t> renamed;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    if (problem.buffers[i].first_step > step || problem.buffers[i].last_step < step) continue;
    renamed[static_cast<int32_t>(i)] = static_cast<int32_t>(p.buffers.size());
    p.buffers.push_back(problem.buffers[i]);
  }
  for (Overlap o : problem.overlaps) {
    if (o.step != step || !renamed.count(o.input) || !renamed.count(o.output)) continue;
    o.input = renamed[o.input];
    o.output = renamed[o.output];
    p.overlaps.push_back(o);
  }
  return p;
}

int64_t rounded_up(int64_t bytes, int64_t grain) { return (bytes + grain - 1) / grain * grain; }

}  // namespace

int64_t working_set_bound(const PlacementProblem& problem, const Limits& limits) {
  Deadline deadline(limits.time_limit_s);
  std::map<int64_t, int64_t> change;  // of live bytes
  for (const Buffer& b : problem.buffers) {
    change[b.first_step] += b.size_bytes;
    change[b.last_step + 1] -= b.size_bytes;
  }
  std::vector<std::pair<int64_t, int64_t>> steps;  // live bytes without overlap, step
  int64_t live = 0;
  for (const auto& [step, bytes] : change) steps.emplace_back(live += bytes, step);
  std::sort(steps.rbegin(), steps.rend());
  int64_t bound = 0;
  for (const auto& [bytes, step] : steps) {
    if (bytes <= bound || deadline.passed()) break;
    bound = std::max(bound, place(at_step(problem, step), {deadline.within(0.1).left_s(), 0}).lower_bound_bytes);
  }
  return bound;
}

MovingPlacement compact(const PlacementProblem& problem, const Placement& still, int64_t first_move_step, int64_t grain_bytes,
                        const Limits& limits) {
  Deadline deadline(limits.time_limit_s);
  const int64_t bound = working_set_bound(problem, {limits.time_limit_s * 0.3, 0});
  MovingPlacement best;
  static_cast<Placement&>(best) = still;
  // In grains: the least arena that is not ruled out, and the largest that saves something.
  int64_t low = rounded_up(std::max(bound, limits.target_bytes), grain_bytes) / grain_bytes;
  int64_t high = rounded_up(still.arena_bytes, grain_bytes) / grain_bytes - 1;
  for (int64_t tried = low; low <= high && !deadline.passed(); tried = low + (high - low) / 2) {
    Search search(problem, first_move_step, tried * grain_bytes, deadline);
    if (search.run()) {
      best = search.result();
      high = tried - 1;
    } else {
      low = tried + 1;
    }
  }
  best.lower_bound_bytes = bound;
  best.optimal = best.arena_bytes == bound;
  return best;
}

}  // namespace linnet::plan
