#include "linnet/plan/checker.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace linnet::plan {
namespace {

std::string name(const char* what, int64_t index) { return std::string(what) + " " + std::to_string(index); }

// ---- order ---------------------------------------------------------------------------------------------------------

// The largest sum of savings of one operator, by trying every selection.
int64_t most_saved(const std::vector<Saving>& savings, size_t from, std::set<int32_t>& inputs,
                   std::set<int32_t>& outputs) {
  if (from == savings.size()) return 0;
  int64_t most = most_saved(savings, from + 1, inputs, outputs);
  const Saving& s = savings[from];
  if (inputs.count(s.input) != 0 || outputs.count(s.output) != 0) return most;
  inputs.insert(s.input);
  outputs.insert(s.output);
  most = std::max(most, s.size_bytes + most_saved(savings, from + 1, inputs, outputs));
  inputs.erase(s.input);
  outputs.erase(s.output);
  return most;
}

// First and last step of every tensor under an order; first > last: never alive.
struct Life {
  int64_t first = 0;
  int64_t last = -1;
};

std::string replay(const OrderProblem& problem, const std::vector<int32_t>& order, std::vector<int64_t>& step_of,
                   std::vector<Life>& lives) {
  const auto steps = static_cast<int64_t>(order.size());
  step_of.assign(problem.operators.size(), -1);
  for (int64_t s = 0; s < steps; ++s) {
    const int32_t op = order[static_cast<size_t>(s)];
    if (op < 0 || static_cast<size_t>(op) >= step_of.size()) return name("step", s) + " runs no existing operator";
    if (step_of[static_cast<size_t>(op)] >= 0) return name("step", s) + " runs " + name("operator", op) + " again";
    step_of[static_cast<size_t>(op)] = s;
  }
  for (size_t op = 0; op < step_of.size(); ++op)
    if (step_of[op] < 0) return name("operator", static_cast<int64_t>(op)) + " never runs";
  std::vector<int64_t> made(problem.tensors.size(), -1);
  for (size_t op = 0; op < step_of.size(); ++op)
    for (int32_t t : problem.operators[op].outputs) made[static_cast<size_t>(t)] = step_of[op];
  lives.assign(problem.tensors.size(), Life{});
  for (size_t t = 0; t < made.size(); ++t) {
    lives[t].first = std::max<int64_t>(0, made[t]);
    lives[t].last = problem.tensors[t].kept ? steps : made[t];
  }
  for (size_t op = 0; op < step_of.size(); ++op)
    for (int32_t t : problem.operators[op].inputs) {
      if (made[static_cast<size_t>(t)] >= step_of[op])
        return name("step", step_of[op]) + ": " + name("operator", static_cast<int64_t>(op)) + " reads " +
               name("tensor", t) + " before it is produced";
      Life& life = lives[static_cast<size_t>(t)];
      life.last = std::max(life.last, step_of[op]);
    }
  for (const OrderingEdge& e : problem.edges)
    if (step_of[static_cast<size_t>(e.before)] >= step_of[static_cast<size_t>(e.after)])
      return name("step", step_of[static_cast<size_t>(e.after)]) + ": " + name("operator", e.after) +
             " must wait for " + name("operator", e.before);
  return {};
}

int64_t saved_at(const OrderProblem& problem, int32_t op, int64_t step, const std::vector<Life>& lives) {
  std::vector<Saving> usable;
  for (const Saving& s : problem.savings) {
    if (s.op != op || problem.tensors[static_cast<size_t>(s.input)].kept) continue;
    if (lives[static_cast<size_t>(s.input)].last != step) continue;
    Saving capped = s;
    capped.size_bytes = std::min({s.size_bytes, problem.tensors[static_cast<size_t>(s.input)].size_bytes,
                                  problem.tensors[static_cast<size_t>(s.output)].size_bytes});
    usable.push_back(capped);
  }
  std::set<int32_t> inputs, outputs;
  return most_saved(usable, 0, inputs, outputs);
}

int64_t replayed_peak(const OrderProblem& problem, const std::vector<int32_t>& order, const std::vector<Life>& lives) {
  std::vector<int64_t> born(order.size() + 2, 0), gone(order.size() + 2, 0);
  for (size_t t = 0; t < lives.size(); ++t) {
    if (lives[t].first > lives[t].last) continue;
    born[static_cast<size_t>(lives[t].first)] += problem.tensors[t].size_bytes;
    gone[static_cast<size_t>(lives[t].last) + 1] += problem.tensors[t].size_bytes;
  }
  int64_t live = 0, peak = 0;
  for (size_t s = 0; s <= order.size(); ++s) {
    live += born[s] - gone[s];
    int64_t need = live;
    if (s < order.size()) {
      need += problem.operators[static_cast<size_t>(order[s])].scratch_bytes;
      need -= saved_at(problem, order[s], static_cast<int64_t>(s), lives);
    }
    peak = std::max(peak, need);
  }
  return peak;
}

template <typename Plan>
std::string check_claims(const Plan& plan, int64_t reached, int64_t stated, const char* what) {
  if (reached != stated)
    return std::string(what) + " is " + std::to_string(reached) + " bytes, not " + std::to_string(stated);
  if (plan.lower_bound_bytes > reached) return std::string("the lower bound is above the ") + what;
  if (plan.optimal != (plan.lower_bound_bytes == reached))
    return "\"optimal\" does not say whether the lower bound is reached";
  return {};
}

// ---- placement -----------------------------------------------------------------------------------------------------

bool share_a_byte(const PlacementProblem& p, const Placement& placement, size_t a, size_t b) {
  if (p.buffers[a].size_bytes == 0 || p.buffers[b].size_bytes == 0) return false;
  return placement.offsets[a] < placement.offsets[b] + p.buffers[b].size_bytes &&
         placement.offsets[b] < placement.offsets[a] + p.buffers[a].size_bytes;
}

// Does a kernel at this distance, walking that way, write an input byte it still has to read?
bool lag_allows(const PlacementProblem& p, const Placement& placement, const Overlap& overlap, Direction direction) {
  const auto in = static_cast<size_t>(overlap.input), out = static_cast<size_t>(overlap.output);
  const int64_t in_start = placement.offsets[in], out_start = placement.offsets[out];
  if (direction == Direction::up)
    return overlap.forward_bytes.has_value() && in_start - out_start >= *overlap.forward_bytes;
  const int64_t in_end = in_start + p.buffers[in].size_bytes, out_end = out_start + p.buffers[out].size_bytes;
  return overlap.backward_bytes.has_value() && out_end - in_end >= *overlap.backward_bytes;
}

std::string check_place(const Buffer& b, int64_t offset, const std::string& who, int64_t arena) {
  if (offset < 0) return who + " lies below the arena";
  if (offset + b.size_bytes > arena) return who + " ends beyond the arena of " + std::to_string(arena) + " bytes";
  if (b.alignment > 0 && offset % b.alignment != 0)
    return who + " lies at " + std::to_string(offset) + ", not a multiple of " + std::to_string(b.alignment);
  if (b.pinned_offset && *b.pinned_offset != offset)
    return who + " is pinned to " + std::to_string(*b.pinned_offset) + " but lies at " + std::to_string(offset);
  return {};
}

// ---- placement with moves: replayed step by step, the offsets as they are at that time ------------------------------

class MovingReplay {
 public:
  MovingReplay(const PlacementProblem& problem, const MovingPlacement& placement, int64_t first_move_step)
      : problem_(problem), placement_(placement), first_move_step_(first_move_step) {
    now_.offsets = placement.offsets;
    for (const StepDirection& s : placement.directions)
      if (s.direction == Direction::down) walks_down_.insert(s.step);
    for (const Overlap& o : problem.overlaps) overlaps_[o.step].push_back(&o);
  }

  std::string run() {
    std::map<int64_t, std::vector<size_t>> born;
    for (size_t i = 0; i < problem_.buffers.size(); ++i) {
      if (std::string reason = take_place(i); !reason.empty()) return reason;
      born[problem_.buffers[i].first_step].push_back(i);
    }
    size_t next = 0;
    for (const auto& [step, fresh] : born) {
      while (next < placement_.moves.size() && placement_.moves[next].after_step < step)
        if (std::string reason = move(next++); !reason.empty()) return reason;
      std::erase_if(alive_, [&](size_t j) { return problem_.buffers[j].last_step < step; });
      for (size_t i : fresh) {
        for (size_t j : alive_)
          if (share_a_byte(problem_, now_, i, j) && !lag_covers(i, j, step) && !lag_covers(j, i, step))
            return both_need(step, i, j);
        alive_.push_back(i);
      }
    }
    while (next < placement_.moves.size())
      if (std::string reason = move(next++); !reason.empty()) return reason;
    return {};
  }

  int64_t top() const { return top_; }
  int64_t moved_bytes() const { return moved_bytes_; }

 private:
  static std::string both_need(int64_t step, size_t a, size_t b) {
    return "at step " + std::to_string(step) + " buffers " + std::to_string(std::min(a, b)) + " and " +
           std::to_string(std::max(a, b)) + " share bytes that both need";
  }

  std::string take_place(size_t i) {
    const std::string who = name("buffer", static_cast<int64_t>(i));
    std::string reason = check_place(problem_.buffers[i], now_.offsets[i], who, placement_.arena_bytes);
    if (reason.empty()) top_ = std::max(top_, now_.offsets[i] + problem_.buffers[i].size_bytes);
    return reason;
  }

  std::string move(size_t index) {
    const Move& m = placement_.moves[index];
    const std::string when = "after step " + std::to_string(m.after_step) + " ";
    if (index > 0 && placement_.moves[index - 1].after_step > m.after_step) return "the moves are not in order of steps";
    if (m.buffer < 0 || static_cast<size_t>(m.buffer) >= problem_.buffers.size()) return when + "no existing buffer moves";
    const auto moved = static_cast<size_t>(m.buffer);
    const std::string who = when + name("buffer", m.buffer);
    if (m.after_step < first_move_step_) return who + " moves too early";
    if (problem_.buffers[moved].pinned_offset) return who + " moves though it is pinned";
    if (!lives_after(moved, m.after_step)) return who + " moves but does not live";
    now_.offsets[moved] = m.offset;
    if (std::string reason = take_place(moved); !reason.empty()) return when + reason;
    for (size_t j : alive_)
      if (j != moved && lives_after(j, m.after_step) && share_a_byte(problem_, now_, moved, j))
        return who + " moves onto " + name("buffer", static_cast<int64_t>(j));
    moved_bytes_ += problem_.buffers[moved].size_bytes;
    return {};
  }

  bool lives_after(size_t i, int64_t step) const {
    return problem_.buffers[i].first_step <= step && problem_.buffers[i].last_step > step;
  }

  bool lag_covers(size_t input, size_t output, int64_t step) const {
    if (problem_.buffers[input].last_step != step || problem_.buffers[output].first_step != step) return false;
    const auto here = overlaps_.find(step);
    if (here == overlaps_.end()) return false;
    const Direction way = walks_down_.count(step) != 0 ? Direction::down : Direction::up;
    return std::any_of(here->second.begin(), here->second.end(), [&](const Overlap* o) {
      return static_cast<size_t>(o->input) == input && static_cast<size_t>(o->output) == output &&
             lag_allows(problem_, now_, *o, way);
    });
  }

  const PlacementProblem& problem_;
  const MovingPlacement& placement_;
  int64_t first_move_step_;
  Placement now_;  // offsets alone
  std::set<int64_t> walks_down_;
  std::map<int64_t, std::vector<const Overlap*>> overlaps_;
  std::vector<size_t> alive_;
  int64_t top_ = 0, moved_bytes_ = 0;
};

class MeetingCheck {
 public:
  MeetingCheck(const PlacementProblem& problem, const Placement& placement)
      : problem_(problem), placement_(placement) {
    for (const Overlap& o : problem.overlaps) overlaps_[{o.input, o.output}].push_back(&o);
    for (const StepDirection& s : placement.directions) directions_[s.step] = s.direction;
  }

  // Walks through the steps at which a buffer begins, with the set of those alive.
  std::string run() const {
    std::vector<size_t> by_first(problem_.buffers.size());
    for (size_t i = 0; i < by_first.size(); ++i) by_first[i] = i;
    std::sort(by_first.begin(), by_first.end(), [&](size_t a, size_t b) {
      return std::pair(problem_.buffers[a].first_step, a) < std::pair(problem_.buffers[b].first_step, b);
    });
    std::vector<size_t> alive;
    for (size_t i : by_first) {
      const int64_t now = problem_.buffers[i].first_step;
      std::erase_if(alive, [&](size_t j) { return problem_.buffers[j].last_step < now; });
      for (size_t j : alive)
        if (std::string reason = meet(j, i, now); !reason.empty()) return reason;
      alive.push_back(i);
    }
    return {};
  }

 private:
  // `a` is alive when `b` begins at `step`.
  std::string meet(size_t a, size_t b, int64_t step) const {
    if (!share_a_byte(problem_, placement_, a, b)) return {};
    if (permitted(a, b, step) || permitted(b, a, step)) return {};
    return "at step " + std::to_string(step) + " buffers " + std::to_string(a) + " and " + std::to_string(b) +
           " share bytes that both need";
  }

  bool permitted(size_t input, size_t output, int64_t step) const {
    if (problem_.buffers[input].last_step != step || problem_.buffers[output].first_step != step) return false;
    const auto found = overlaps_.find({static_cast<int32_t>(input), static_cast<int32_t>(output)});
    if (found == overlaps_.end()) return false;
    const auto direction = directions_.find(step);
    const Direction way = direction == directions_.end() ? Direction::up : direction->second;
    return std::any_of(found->second.begin(), found->second.end(), [&](const Overlap* o) {
      return o->step == step && lag_allows(problem_, placement_, *o, way);
    });
  }

  const PlacementProblem& problem_;
  const Placement& placement_;
  std::map<std::pair<int32_t, int32_t>, std::vector<const Overlap*>> overlaps_;
  std::map<int64_t, Direction> directions_;
};

}  // namespace

std::string check_order(const OrderProblem& problem, const Order& order) {
  std::vector<int64_t> step_of;
  std::vector<Life> lives;
  if (std::string reason = replay(problem, order.operators, step_of, lives); !reason.empty()) return reason;
  return check_claims(order, replayed_peak(problem, order.operators, lives), order.peak_bytes, "peak");
}

std::string check_placement(const PlacementProblem& problem, const Placement& placement) {
  if (placement.offsets.size() != problem.buffers.size())
    return "there are " + std::to_string(problem.buffers.size()) + " buffers but " +
           std::to_string(placement.offsets.size()) + " offsets";
  int64_t top = 0;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const std::string who = name("buffer", static_cast<int64_t>(i));
    std::string reason = check_place(problem.buffers[i], placement.offsets[i], who, placement.arena_bytes);
    if (!reason.empty()) return reason;
    top = std::max(top, placement.offsets[i] + problem.buffers[i].size_bytes);
  }
  if (std::string reason = MeetingCheck(problem, placement).run(); !reason.empty()) return reason;
  return check_claims(placement, top, placement.arena_bytes, "arena");
}

std::string check_moving(const PlacementProblem& problem, const MovingPlacement& placement, int64_t first_move_step) {
  if (placement.offsets.size() != problem.buffers.size())
    return "there are " + std::to_string(problem.buffers.size()) + " buffers but " +
           std::to_string(placement.offsets.size()) + " offsets";
  MovingReplay replay(problem, placement, first_move_step);
  if (std::string reason = replay.run(); !reason.empty()) return reason;
  if (replay.moved_bytes() != placement.moved_bytes)
    return std::to_string(replay.moved_bytes()) + " bytes are moved, not " + std::to_string(placement.moved_bytes);
  return check_claims(placement, replay.top(), placement.arena_bytes, "arena");
}

}  // namespace linnet::plan
