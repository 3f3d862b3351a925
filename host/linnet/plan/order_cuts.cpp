#include "linnet/plan/order_cuts.h"

#include <algorithm>
#include <numeric>

#include "linnet/plan/min_cut.h"

namespace linnet::plan {
namespace {

std::vector<int32_t> any_order(const OrderGraph& graph) {
  LiveState state(graph);
  std::vector<int32_t> order;
  while (!state.ready().empty()) {
    order.push_back(state.ready().back());
    state.run(order.back());
  }
  return order;
}

}  // namespace

Ancestors::Ancestors(const OrderGraph& graph)
    : words_((graph.size() + 63) / 64), rows_(words_ * graph.size(), 0) {
  for (int32_t v : any_order(graph)) {
    uint64_t* row = rows_.data() + static_cast<size_t>(v) * words_;
    for (int32_t u : graph.ops[static_cast<size_t>(v)].before) {
      const uint64_t* above = rows_.data() + static_cast<size_t>(u) * words_;
      for (size_t w = 0; w < words_; ++w) row[w] |= above[w];
      row[static_cast<size_t>(u) / 64] |= uint64_t{1} << (static_cast<size_t>(u) % 64);
    }
  }
}

OrderCuts::OrderCuts(const OrderGraph& graph) : graph_(graph), ancestors_(graph) {}

// An input can be saved only if it can die with `op`: no reader must run later.
int64_t OrderCuts::largest_saving(int32_t op) const {
  const std::vector<OrderGraph::Share>& shares = graph_.ops[static_cast<size_t>(op)].shares;
  std::vector<uint8_t> usable;
  for (const OrderGraph::Share& s : shares) {
    const std::vector<int32_t>& readers = graph_.tensors[static_cast<size_t>(s.input)].readers;
    usable.push_back(
        std::none_of(readers.begin(), readers.end(), [&](int32_t reader) { return ancestors_.is_before(op, reader); }));
  }
  return shares.empty() ? 0 : best_shares(shares, usable);
}

int64_t OrderCuts::simple_bound() const {
  const size_t n = graph_.size();
  std::vector<int64_t> need(n, graph_.base);
  for (size_t v = 0; v < n; ++v) {
    const OrderGraph::Op& op = graph_.ops[v];
    need[v] += op.written + op.scratch - largest_saving(static_cast<int32_t>(v));
    for (int32_t t : op.inputs) need[v] += graph_.tensors[static_cast<size_t>(t)].size;
  }
  for (const OrderGraph::Bytes& t : graph_.tensors) {
    if (t.size == 0) continue;
    for (size_t v = 0; v < n; ++v) {
      const auto op = static_cast<int32_t>(v);
      if (t.producer >= 0 && !ancestors_.is_before(t.producer, op)) continue;
      if (std::binary_search(t.readers.begin(), t.readers.end(), op)) continue;
      const bool needed = t.kept || std::any_of(t.readers.begin(), t.readers.end(),
                                                [&](int32_t r) { return ancestors_.is_before(op, r); });
      if (needed) need[v] += t.size;
    }
  }
  const int64_t start = LiveState(graph_).live();
  return n == 0 ? start : std::max(start, *std::max_element(need.begin(), need.end()));
}

// Nodes: the operators, then for each tensor "all its readers have run"; on the source's side lies what is true.
int64_t OrderCuts::least_live(const std::vector<Side>& side) const {
  const size_t n = graph_.size();
  MinCut cut(n + graph_.tensors.size() + 2);
  const auto source = static_cast<int32_t>(n + graph_.tensors.size());
  const int32_t sink = source + 1;
  int64_t constant = graph_.base;
  for (size_t v = 0; v < n; ++v) {
    const auto op = static_cast<int32_t>(v);
    if (side[v] == Side::run) cut.add_edge(source, op, MinCut::kUnbounded);
    if (side[v] == Side::not_run) cut.add_edge(op, sink, MinCut::kUnbounded);
    for (int32_t u : graph_.ops[v].before) cut.add_edge(op, u, MinCut::kUnbounded);
  }
  for (size_t t = 0; t < graph_.tensors.size(); ++t) {
    const OrderGraph::Bytes& tensor = graph_.tensors[t];
    if (tensor.size == 0 || (!tensor.kept && tensor.readers.empty())) continue;
    const int32_t made = tensor.producer < 0 ? source : tensor.producer;
    if (tensor.kept) {
      if (tensor.producer < 0) constant += tensor.size;
      if (tensor.producer >= 0) cut.add_edge(made, sink, tensor.size);
      continue;
    }
    const auto read = static_cast<int32_t>(n + t);
    cut.add_edge(made, read, tensor.size);
    for (int32_t r : tensor.readers) cut.add_edge(read, r, MinCut::kUnbounded);
  }
  return constant + cut.solve(source, sink);
}

int64_t OrderCuts::live_of(const std::vector<uint8_t>& has_run) const {
  int64_t live = graph_.base;
  for (const OrderGraph::Bytes& t : graph_.tensors) {
    const bool made = t.producer < 0 || has_run[static_cast<size_t>(t.producer)];
    const bool read = std::all_of(t.readers.begin(), t.readers.end(),
                                  [&](int32_t r) { return has_run[static_cast<size_t>(r)] != 0; });
    if (made && (t.kept || !read)) live += t.size;
  }
  return live;
}

int64_t OrderCuts::need_bound(int32_t op) const {
  std::vector<Side> side(graph_.size(), Side::free);
  for (size_t v = 0; v < side.size(); ++v) {
    const auto other = static_cast<int32_t>(v);
    if (ancestors_.is_before(other, op)) side[v] = Side::run;
    if (other == op || ancestors_.is_before(op, other)) side[v] = Side::not_run;
  }
  const OrderGraph::Op& o = graph_.ops[static_cast<size_t>(op)];
  return least_live(side) + o.written + o.scratch - largest_saving(op);
}

int64_t OrderCuts::bound(const std::vector<int32_t>& order, int64_t bound, const Deadline& deadline) const {
  std::vector<std::pair<int64_t, int32_t>> needs;
  LiveState state(graph_);
  for (int32_t op : order) {
    needs.emplace_back(state.need(op), op);
    state.run(op);
  }
  std::sort(needs.rbegin(), needs.rend());
  for (const auto& [need, op] : needs) {
    if (need <= bound || deadline.passed()) break;
    bound = std::max(bound, need_bound(op));
  }
  return bound;
}

// Let D be what has run at `at`. Any order may run D's operators first, each time in its own sequence, if live bytes
// never sink below D's in the sets that mix: those within D that let an operator beyond D run, and those around D
// whose lack of an operator of D keeps others waiting (submodularity, twice).
bool OrderCuts::can_pass(const std::vector<int32_t>& order, size_t first, size_t at, size_t last, int64_t live) const {
  const size_t n = graph_.size();
  std::vector<size_t> position(n);
  for (size_t i = 0; i < n; ++i) position[static_cast<size_t>(order[i])] = i;
  std::vector<Side> inner(n, Side::free), outer(n, Side::free);
  for (size_t v = 0; v < n; ++v) {
    if (position[v] < at) outer[v] = Side::run;
    if (position[v] >= at) inner[v] = Side::not_run;
    if (position[v] < first) inner[v] = Side::run;
    if (position[v] >= last) outer[v] = Side::not_run;
  }
  const auto passes = [&](const std::vector<Side>& side, Side preferred) {
    std::vector<uint8_t> has_run(n);
    for (size_t v = 0; v < n; ++v) has_run[v] = side[v] == Side::run || (side[v] == Side::free && preferred == Side::run);
    return live_of(has_run) >= live && least_live(side) >= live;
  };
  for (size_t i = at; i < last; ++i) {
    const std::vector<int32_t>& before = graph_.ops[static_cast<size_t>(order[i])].before;
    if (std::any_of(before.begin(), before.end(), [&](int32_t u) { return position[static_cast<size_t>(u)] >= at; }))
      continue;
    std::vector<Side> side = inner;
    for (size_t v = 0; v < n; ++v)
      if (position[v] < at && ancestors_.is_before(static_cast<int32_t>(v), order[i])) side[v] = Side::run;
    if (!passes(side, Side::not_run)) return false;
  }
  for (size_t i = first; i < at; ++i) {
    const std::vector<int32_t>& after = graph_.ops[static_cast<size_t>(order[i])].after;
    if (std::any_of(after.begin(), after.end(), [&](int32_t u) { return position[static_cast<size_t>(u)] < at; }))
      continue;
    std::vector<Side> side = outer;
    for (size_t v = 0; v < n; ++v)
      if (position[v] >= at && ancestors_.is_before(order[i], static_cast<int32_t>(v))) side[v] = Side::not_run;
    if (!passes(side, Side::run)) return false;
  }
  return true;
}

void OrderCuts::divide(const std::vector<int32_t>& order, const std::vector<int64_t>& live, size_t first, size_t last,
                       const Deadline& deadline, std::vector<size_t>& cuts) const {
  std::vector<size_t> valleys;
  for (size_t i = first + 1; i < last; ++i)
    if (live[i] <= live[i - 1] && live[i] <= live[i + 1]) valleys.push_back(i);
  std::stable_sort(valleys.begin(), valleys.end(), [&](size_t a, size_t b) { return live[a] < live[b]; });
  constexpr size_t kMostTried = 24;
  if (valleys.size() > kMostTried) valleys.resize(kMostTried);
  for (size_t at : valleys) {
    if (deadline.passed()) return;
    if (!can_pass(order, first, at, last, live[at])) continue;
    divide(order, live, first, at, deadline, cuts);
    cuts.push_back(at);
    divide(order, live, at, last, deadline, cuts);
    return;
  }
}

std::vector<size_t> OrderCuts::division(const std::vector<int32_t>& order, const Deadline& deadline) const {
  std::vector<int64_t> live;
  LiveState state(graph_);
  for (int32_t op : order) {
    live.push_back(state.live());
    state.run(op);
  }
  live.push_back(state.live());
  std::vector<size_t> cuts;
  divide(order, live, 0, order.size(), deadline, cuts);
  return cuts;
}

}  // namespace linnet::plan
