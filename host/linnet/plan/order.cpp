#include "linnet/plan/order.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>

#include "linnet/plan/deadline.h"
#include "linnet/plan/order_cuts.h"
#include "linnet/plan/order_graph.h"
#include "linnet/plan/order_search.h"

namespace linnet::plan {
namespace {

using Ops = std::vector<int32_t>;

constexpr size_t kMostForRows = 20000;    // operators for which ancestor rows are affordable
constexpr size_t kSmallestWindow = 24;    // operators reordered at a time in large pieces
constexpr int64_t kFirstNodes = 500;      // of a search; each round has four times as many
constexpr int64_t kNodesPerWindow = 2000;

// A part of the network that can be ordered by itself.
struct Piece {
  OrderGraph graph;
  Ops names;  // of its operators in the whole
  Ops order;  // the best known, by its own numbers
  int64_t peak = 0;
  int64_t bound = 0;
  bool was_divided = false;
  int64_t nodes = kFirstNodes;
  size_t window = kSmallestWindow;
};

using Rating = std::function<std::pair<int64_t, int64_t>(const LiveState&, int32_t)>;  // least is best

Ops greedy_order(const OrderGraph& graph, const Rating& rating) {
  LiveState state(graph);
  Ops order;
  while (!state.ready().empty()) {
    int32_t best = -1;
    std::pair<int64_t, int64_t> least;
    for (int32_t op : state.ready()) {
      const auto value = rating(state, op);
      if (best < 0 || value < least || (value == least && op < best)) {
        best = op;
        least = value;
      }
    }
    state.run(best);
    order.push_back(best);
  }
  return order;
}

// Positions at which every order has run the same operators: where one operator comes after all before it and before
// all after it. An operator forbids those between it and its first successor, and between its last predecessor and it.
std::vector<size_t> forced_positions(const OrderGraph& graph, const Ops& order) {
  const size_t n = order.size();
  std::vector<size_t> position(n);
  for (size_t i = 0; i < n; ++i) position[static_cast<size_t>(order[i])] = i;
  std::vector<int32_t> forbids(n + 1, 0);
  const auto forbid = [&](size_t first, size_t last) {  // positions [first, last)
    if (first >= last) return;
    ++forbids[first];
    --forbids[last];
  };
  for (size_t i = 0; i < n; ++i) {
    size_t next = n, previous = 0;
    for (int32_t v : graph.ops[static_cast<size_t>(order[i])].after)
      next = std::min(next, position[static_cast<size_t>(v)]);
    for (int32_t v : graph.ops[static_cast<size_t>(order[i])].before)
      previous = std::max(previous, position[static_cast<size_t>(v)] + 1);
    forbid(i + 1, next);
    forbid(previous, i);
  }
  std::vector<size_t> cuts;
  int32_t count = 0;
  for (size_t i = 0; i < n; ++i) {
    count += forbids[i];
    if (count > 0) continue;
    if (i > 0 && (cuts.empty() || cuts.back() != i)) cuts.push_back(i);
    if (i + 1 < n) cuts.push_back(i + 1);
  }
  return cuts;
}

class OrderPlanner {
 public:
  OrderPlanner(const OrderProblem& problem, const Limits& limits)
      : limits_(limits), deadline_(limits.time_limit_s), whole_(OrderGraph::make(problem)) {
    given_ = problem.given_order;
    if (given_.empty()) {
      given_.resize(whole_.size());
      std::iota(given_.begin(), given_.end(), 0);
    }
  }

  Order run();

 private:
  Piece make_piece(const OrderGraph& graph, const Ops& names, const Ops& order, size_t first, size_t last) const;
  std::vector<Piece> divide(const Piece& piece, const std::vector<size_t>& cuts) const;
  void adopt(Piece& piece, const Ops& order) const;
  void try_greedy(Piece& piece) const;
  void bound(Piece& piece) const;
  int64_t good_enough() const;
  bool work_on_worst();
  void search(Piece& piece) const;
  void attempt(Piece& piece, OrderSearch& search, int64_t budget) const;
  bool improve_windows(Piece& piece) const;
  bool improve_window(Piece& piece, size_t first, size_t last) const;

  Limits limits_;
  Deadline deadline_;
  OrderGraph whole_;
  Ops given_;
  std::vector<Piece> pieces_;  // in the order they run
  int64_t proven_ = 0;         // no order has a smaller peak, by pieces that are now divided
};

Piece OrderPlanner::make_piece(const OrderGraph& graph, const Ops& names, const Ops& order, size_t first,
                               size_t last) const {
  Piece piece;
  piece.graph = graph.part(order, first, last);
  for (size_t i = first; i < last; ++i) piece.names.push_back(names[static_cast<size_t>(order[i])]);
  piece.order.resize(last - first);
  std::iota(piece.order.begin(), piece.order.end(), 0);
  piece.peak = peak_of(piece.graph, piece.order);
  return piece;
}

std::vector<Piece> OrderPlanner::divide(const Piece& piece, const std::vector<size_t>& cuts) const {
  std::vector<Piece> parts;
  size_t first = 0;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    const size_t last = i < cuts.size() ? cuts[i] : piece.order.size();
    parts.push_back(make_piece(piece.graph, piece.names, piece.order, first, last));
    first = last;
  }
  return parts;
}

void OrderPlanner::adopt(Piece& piece, const Ops& order) const {
  const int64_t peak = peak_of(piece.graph, order);
  if (peak >= piece.peak) return;
  piece.peak = peak;
  piece.order = order;
}

void OrderPlanner::try_greedy(Piece& piece) const {
  const Rating ratings[] = {
      [&](const LiveState& s, int32_t op) { return std::pair(s.change(op), s.need(op)); },
      [&](const LiveState& s, int32_t op) { return std::pair(s.need(op), s.change(op)); },
      [&](const LiveState& s, int32_t op) {  // go on with what was begun
        return std::pair(s.change(op) <= 0 ? int64_t{0} : int64_t{1}, -static_cast<int64_t>(op));
      },
  };
  for (const Rating& rating : ratings)
    if (piece.peak > piece.bound && !deadline_.passed()) adopt(piece, greedy_order(piece.graph, rating));
}

void OrderPlanner::bound(Piece& piece) const {
  if (piece.order.size() <= 1) piece.bound = piece.peak;
  int64_t start = LiveState(piece.graph).live(), end = piece.graph.base;
  for (const OrderGraph::Bytes& t : piece.graph.tensors) end += t.kept ? t.size : 0;
  piece.bound = std::max({piece.bound, start, end});
  for (const OrderGraph::Op& op : piece.graph.ops) {
    int64_t touched = piece.graph.base + op.written + op.scratch;
    for (int32_t t : op.inputs) touched += piece.graph.tensors[static_cast<size_t>(t)].size;
    const std::vector<uint8_t> all(op.shares.size(), 1);
    if (!op.shares.empty()) touched -= best_shares(op.shares, all);
    piece.bound = std::max(piece.bound, touched);
  }
}

int64_t OrderPlanner::good_enough() const {
  int64_t bound = std::max(proven_, limits_.target_bytes);
  for (const Piece& p : pieces_) bound = std::max(bound, p.bound);
  return bound;
}

void OrderPlanner::attempt(Piece& piece, OrderSearch& search, int64_t budget) const {
  if (budget < piece.bound || budget >= piece.peak || deadline_.passed()) return;
  const SearchResult result = search.run(budget, piece.nodes, deadline_);
  if (result == SearchResult::found) adopt(piece, search.order());
  if (result == SearchResult::infeasible) piece.bound = std::min(piece.peak, search.next_budget());
}

// The least peak that could do, just less than the best known, and half way.
void OrderPlanner::search(Piece& piece) const {
  OrderSearch search(piece.graph);
  attempt(piece, search, std::max(piece.bound, good_enough()));
  attempt(piece, search, piece.peak - 1);
  attempt(piece, search, piece.bound + (piece.peak - piece.bound) / 2);
  piece.nodes *= 4;
}

bool OrderPlanner::improve_window(Piece& piece, size_t first, size_t last) const {
  const OrderGraph window = piece.graph.part(piece.order, first, last);
  OrderSearch search(window);
  if (search.run(piece.peak - 1, kNodesPerWindow, deadline_) != SearchResult::found) return false;
  Ops ops;
  for (int32_t op : search.order()) ops.push_back(piece.order[first + static_cast<size_t>(op)]);
  std::copy(ops.begin(), ops.end(), piece.order.begin() + static_cast<std::ptrdiff_t>(first));
  return true;
}

// Reorders around each peak. Returns whether the peak sank.
bool OrderPlanner::improve_windows(Piece& piece) const {
  const size_t n = piece.order.size();
  while (!deadline_.passed()) {
    LiveState state(piece.graph);
    size_t at = n;
    int64_t worst = -1;
    for (size_t i = 0; i < n; ++i) {
      const int64_t need = state.need(piece.order[i]);
      state.run(piece.order[i]);
      if (need <= worst) continue;
      worst = need;
      at = i;
    }
    if (worst < piece.peak) {
      piece.peak = std::max(worst, LiveState(piece.graph).live());
      return true;
    }
    const size_t half = piece.window / 2;
    const size_t first = at < half ? 0 : at - half;
    if (!improve_window(piece, first, std::min(n, first + piece.window))) return false;
  }
  return false;
}

// One stage of work on the piece with the highest peak. Returns whether there is nothing left to do.
bool OrderPlanner::work_on_worst() {
  size_t worst = 0;
  const int64_t enough = good_enough();
  for (size_t i = 1; i < pieces_.size(); ++i)
    if (pieces_[i].peak > pieces_[worst].peak) worst = i;
  Piece& piece = pieces_[worst];
  if (piece.peak <= enough) return true;
  if (piece.was_divided) {
    while (piece.order.size() > piece.window && !deadline_.passed())
      if (!improve_windows(piece)) piece.window *= 2;
    search(piece);
    return false;
  }
  piece.was_divided = true;
  try_greedy(piece);
  search(piece);
  if (piece.peak <= good_enough() || piece.order.size() > kMostForRows) return false;
  const OrderCuts cuts(piece.graph);
  const Deadline soon = deadline_.within(deadline_.left_s() / 4);
  piece.bound = std::max(piece.bound, cuts.simple_bound());
  const int64_t known = good_enough();
  proven_ = std::max(piece.bound, proven_);
  if (const int64_t cut_bound = cuts.bound(piece.order, known, soon); cut_bound > known)
    proven_ = piece.bound = cut_bound;
  if (piece.peak <= good_enough()) return false;
  const std::vector<size_t> at = cuts.division(piece.order, soon);
  if (at.empty()) return false;
  std::vector<Piece> parts = divide(piece, at);
  for (Piece& p : parts) bound(p);
  const auto place = pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(worst));
  pieces_.insert(place, std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
  return false;
}

Order OrderPlanner::run() {
  Order result;
  Ops names(whole_.size());
  std::iota(names.begin(), names.end(), 0);
  result.given_peak_bytes = peak_of(whole_, given_);
  Piece all = make_piece(whole_, names, given_, 0, whole_.size());
  pieces_ = divide(all, forced_positions(all.graph, all.order));
  for (Piece& p : pieces_) bound(p);
  while (!deadline_.passed() && !work_on_worst()) {
  }
  result.lower_bound_bytes = std::max(proven_, LiveState(whole_).live());
  for (const Piece& p : pieces_) {
    for (int32_t op : p.order) result.operators.push_back(p.names[static_cast<size_t>(op)]);
    result.lower_bound_bytes = std::max(result.lower_bound_bytes, p.bound);
  }
  result.peak_bytes = peak_of(whole_, result.operators);
  if (result.peak_bytes >= result.given_peak_bytes) {
    result.peak_bytes = result.given_peak_bytes;
    result.operators = given_;
  }
  result.lower_bound_bytes = std::min(result.lower_bound_bytes, result.peak_bytes);
  result.optimal = result.lower_bound_bytes == result.peak_bytes;
  return result;
}

void check_order(const OrderProblem& problem, const Ops& order) {
  const OrderGraph graph = OrderGraph::make(problem);
  std::vector<int32_t> position(graph.size(), -1);
  if (order.size() != graph.size()) throw std::invalid_argument("the order does not name every operator once");
  for (size_t i = 0; i < order.size(); ++i) {
    const bool fresh = order[i] >= 0 && static_cast<size_t>(order[i]) < graph.size() &&
                       position[static_cast<size_t>(order[i])] < 0;
    if (!fresh) throw std::invalid_argument("the order does not name every operator once");
    position[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
    for (int32_t u : graph.ops[static_cast<size_t>(order[i])].before)
      if (position[static_cast<size_t>(u)] < 0)
        throw std::invalid_argument("the order runs operator " + std::to_string(order[i]) + " before operator " +
                                    std::to_string(u) + ", for which it must wait");
  }
}

}  // namespace

Order find_order(const OrderProblem& problem, const Limits& limits) {
  Ops given = problem.given_order;
  if (given.empty()) {
    given.resize(problem.operators.size());
    std::iota(given.begin(), given.end(), 0);
  }
  check_order(problem, given);
  return OrderPlanner(problem, limits).run();
}

int64_t peak_bytes(const OrderProblem& problem, const Ops& order) {
  check_order(problem, order);
  return peak_of(OrderGraph::make(problem), order);
}

}  // namespace linnet::plan
