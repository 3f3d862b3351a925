#include "linnet/plan/order_graph.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "linnet/plan/random.h"

namespace linnet::plan {
namespace {

void sort_unique(std::vector<int32_t>& v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

void check_index(int32_t index, size_t count, const char* what) {
  if (index < 0 || static_cast<size_t>(index) >= count)
    throw std::invalid_argument(std::string(what) + " " + std::to_string(index) + " does not exist");
}

void check_bytes(int64_t size, const char* what) {
  if (size < 0) throw std::invalid_argument(std::string("the size of a ") + what + " is negative");
}

void check_acyclic(const OrderGraph& graph) {
  LiveState state(graph);
  while (!state.ready().empty()) state.run(state.ready().back());
  if (state.count() != graph.size()) throw std::invalid_argument("the operators wait for each other in a circle");
}

int64_t best_from(const std::vector<OrderGraph::Share>& shares, std::vector<uint8_t>& usable, size_t from) {
  while (from < shares.size() && !usable[from]) ++from;
  if (from >= shares.size()) return 0;
  const int64_t without = best_from(shares, usable, from + 1);
  std::vector<uint8_t> rest = usable;
  for (size_t i = from; i < shares.size(); ++i)
    if (shares[i].input == shares[from].input || shares[i].output == shares[from].output) rest[i] = 0;
  return std::max(without, shares[from].size + best_from(shares, rest, from + 1));
}

}  // namespace

int64_t best_shares(const std::vector<OrderGraph::Share>& shares, const std::vector<uint8_t>& usable) {
  // One output, as nearly every operator has: the largest share wins.
  const bool one_output = std::all_of(shares.begin(), shares.end(),
                                      [&](const OrderGraph::Share& s) { return s.output == shares[0].output; });
  if (one_output) {
    int64_t best = 0;
    for (size_t i = 0; i < shares.size(); ++i)
      if (usable[i]) best = std::max(best, shares[i].size);
    return best;
  }
  std::vector<uint8_t> rest = usable;
  return best_from(shares, rest, 0);
}

OrderGraph OrderGraph::make(const OrderProblem& problem) {
  OrderGraph g;
  const size_t tensor_count = problem.tensors.size();
  g.tensors.resize(tensor_count);
  g.ops.resize(problem.operators.size());
  for (size_t t = 0; t < tensor_count; ++t) {
    check_bytes(problem.tensors[t].size_bytes, "tensor");
    g.tensors[t].size = problem.tensors[t].size_bytes;
    g.tensors[t].kept = problem.tensors[t].kept;
  }
  for (size_t v = 0; v < g.ops.size(); ++v) {
    Op& op = g.ops[v];
    op.inputs = problem.operators[v].inputs;
    op.outputs = problem.operators[v].outputs;
    op.scratch = problem.operators[v].scratch_bytes;
    check_bytes(op.scratch, "scratch buffer");
    sort_unique(op.inputs);
    sort_unique(op.outputs);
    for (int32_t t : op.inputs) check_index(t, tensor_count, "tensor");
    for (int32_t t : op.inputs) g.tensors[static_cast<size_t>(t)].readers.push_back(static_cast<int32_t>(v));
    for (int32_t t : op.outputs) {
      check_index(t, tensor_count, "tensor");
      Bytes& tensor = g.tensors[static_cast<size_t>(t)];
      if (tensor.producer >= 0)
        throw std::invalid_argument("tensor " + std::to_string(t) + " is produced by operators " +
                                    std::to_string(tensor.producer) + " and " + std::to_string(v));
      tensor.producer = static_cast<int32_t>(v);
    }
  }
  for (const OrderingEdge& e : problem.edges) {
    check_index(e.before, g.ops.size(), "operator");
    check_index(e.after, g.ops.size(), "operator");
    g.ops[static_cast<size_t>(e.after)].before.push_back(e.before);
  }
  for (const Saving& s : problem.savings) {
    check_index(s.op, g.ops.size(), "operator");
    Op& op = g.ops[static_cast<size_t>(s.op)];
    const bool known = std::binary_search(op.inputs.begin(), op.inputs.end(), s.input) &&
                       std::binary_search(op.outputs.begin(), op.outputs.end(), s.output);
    if (!known) throw std::invalid_argument("a saving of operator " + std::to_string(s.op) + " is not between its tensors");
    const int64_t most = std::min(problem.tensors[static_cast<size_t>(s.input)].size_bytes,
                                  problem.tensors[static_cast<size_t>(s.output)].size_bytes);
    if (s.size_bytes > 0 && !g.tensors[static_cast<size_t>(s.input)].kept)
      op.shares.push_back({s.input, s.output, std::min(s.size_bytes, most)});
  }
  g.link();
  check_acyclic(g);
  return g;
}

// Fills what follows from inputs, outputs and the ordering edges already in `before`.
void OrderGraph::link() {
  for (size_t v = 0; v < ops.size(); ++v) {
    Op& op = ops[v];
    for (int32_t t : op.inputs)
      if (tensors[static_cast<size_t>(t)].producer >= 0) op.before.push_back(tensors[static_cast<size_t>(t)].producer);
    sort_unique(op.before);
    for (int32_t u : op.before) ops[static_cast<size_t>(u)].after.push_back(static_cast<int32_t>(v));
    for (int32_t t : op.outputs) {
      const Bytes& tensor = tensors[static_cast<size_t>(t)];
      op.written += tensor.size;
      if (tensor.kept || !tensor.readers.empty()) op.staying += tensor.size;
    }
  }
}

OrderGraph OrderGraph::part(const std::vector<int32_t>& order, size_t first, size_t last) const {
  enum : uint8_t { earlier, inside, later };
  std::vector<uint8_t> when(ops.size(), later);
  std::vector<int32_t> op_name(ops.size(), -1), tensor_name(tensors.size(), -1);
  for (size_t i = 0; i < last; ++i) when[static_cast<size_t>(order[i])] = i < first ? earlier : inside;
  OrderGraph g;
  g.base = base;
  g.ops.resize(last - first);
  for (size_t i = first; i < last; ++i) op_name[static_cast<size_t>(order[i])] = static_cast<int32_t>(i - first);
  for (size_t t = 0; t < tensors.size(); ++t) {
    const Bytes& from = tensors[t];
    Bytes to;
    to.size = from.size;
    to.kept = from.kept;
    const uint8_t made = from.producer < 0 ? static_cast<uint8_t>(earlier) : when[static_cast<size_t>(from.producer)];
    for (int32_t reader : from.readers) {
      if (when[static_cast<size_t>(reader)] == inside) to.readers.push_back(op_name[static_cast<size_t>(reader)]);
      if (when[static_cast<size_t>(reader)] == later) to.kept = true;
    }
    if (made == later) continue;
    if (made == earlier && to.readers.empty()) {
      g.base += to.kept ? to.size : 0;
      continue;
    }
    to.producer = made == inside ? op_name[static_cast<size_t>(from.producer)] : -1;
    std::sort(to.readers.begin(), to.readers.end());
    tensor_name[t] = static_cast<int32_t>(g.tensors.size());
    g.tensors.push_back(std::move(to));
  }
  for (size_t i = first; i < last; ++i) {
    const Op& from = ops[static_cast<size_t>(order[i])];
    Op& to = g.ops[i - first];
    to.scratch = from.scratch;
    for (int32_t t : from.inputs) to.inputs.push_back(tensor_name[static_cast<size_t>(t)]);
    for (int32_t t : from.outputs) to.outputs.push_back(tensor_name[static_cast<size_t>(t)]);
    for (int32_t u : from.before)
      if (when[static_cast<size_t>(u)] == inside) to.before.push_back(op_name[static_cast<size_t>(u)]);
    for (const Share& s : from.shares) {
      const int32_t input = tensor_name[static_cast<size_t>(s.input)];
      if (!g.tensors[static_cast<size_t>(input)].kept)
        to.shares.push_back({input, tensor_name[static_cast<size_t>(s.output)], s.size});
    }
  }
  g.link();
  return g;
}

LiveState::LiveState(const OrderGraph& graph)
    : graph_(graph), waits_for_(graph.size()), unread_(graph.tensors.size()), place_(graph.size(), -1),
      live_(graph.base) {
  Random random(1);
  for (size_t v = 0; v < graph.size(); ++v) {
    keys_.emplace_back(random.next(), random.next());
    waits_for_[v] = static_cast<int32_t>(graph.ops[v].before.size());
    if (waits_for_[v] == 0) make_ready(static_cast<int32_t>(v));
  }
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const OrderGraph::Bytes& tensor = graph.tensors[t];
    unread_[t] = static_cast<int32_t>(tensor.readers.size());
    if (tensor.producer < 0 && (tensor.kept || unread_[t] > 0)) live_ += tensor.size;
  }
}

bool LiveState::dies_with(int32_t tensor) const {
  return unread_[static_cast<size_t>(tensor)] == 1 && !graph_.tensors[static_cast<size_t>(tensor)].kept;
}

int64_t LiveState::saved(int32_t op) const {
  const std::vector<OrderGraph::Share>& shares = graph_.ops[static_cast<size_t>(op)].shares;
  if (shares.empty()) return 0;
  if (shares.size() == 1) return dies_with(shares[0].input) ? shares[0].size : 0;
  std::vector<uint8_t> usable;
  for (const OrderGraph::Share& s : shares) usable.push_back(dies_with(s.input));
  return best_shares(shares, usable);
}

int64_t LiveState::need(int32_t op) const {
  const OrderGraph::Op& o = graph_.ops[static_cast<size_t>(op)];
  return live_ + o.written + o.scratch - saved(op);
}

int64_t LiveState::change(int32_t op) const {
  const OrderGraph::Op& o = graph_.ops[static_cast<size_t>(op)];
  int64_t change = o.staying;
  for (int32_t t : o.inputs)
    if (dies_with(t)) change -= graph_.tensors[static_cast<size_t>(t)].size;
  return change;
}

void LiveState::make_ready(int32_t op) {
  place_[static_cast<size_t>(op)] = static_cast<int32_t>(ready_.size());
  ready_.push_back(op);
}

void LiveState::make_unready(int32_t op) {
  const int32_t place = place_[static_cast<size_t>(op)];
  ready_[static_cast<size_t>(place)] = ready_.back();
  place_[static_cast<size_t>(ready_.back())] = place;
  ready_.pop_back();
  place_[static_cast<size_t>(op)] = -1;
}

void LiveState::run(int32_t op) {
  const OrderGraph::Op& o = graph_.ops[static_cast<size_t>(op)];
  live_ += change(op);
  for (int32_t t : o.inputs) --unread_[static_cast<size_t>(t)];
  make_unready(op);
  for (int32_t v : o.after)
    if (--waits_for_[static_cast<size_t>(v)] == 0) make_ready(v);
  hash_.first ^= keys_[static_cast<size_t>(op)].first;
  hash_.second ^= keys_[static_cast<size_t>(op)].second;
  ++count_;
}

void LiveState::take_back(int32_t op) {
  const OrderGraph::Op& o = graph_.ops[static_cast<size_t>(op)];
  for (int32_t v : o.after)
    if (waits_for_[static_cast<size_t>(v)]++ == 0) make_unready(v);
  make_ready(op);
  for (int32_t t : o.inputs) ++unread_[static_cast<size_t>(t)];
  live_ -= change(op);
  hash_.first ^= keys_[static_cast<size_t>(op)].first;
  hash_.second ^= keys_[static_cast<size_t>(op)].second;
  --count_;
}

int64_t peak_of(const OrderGraph& graph, const std::vector<int32_t>& order) {
  LiveState state(graph);
  int64_t peak = state.live();
  for (int32_t op : order) {
    peak = std::max(peak, state.need(op));
    state.run(op);
  }
  return peak;
}

}  // namespace linnet::plan
