#include "linnet/plan/order_cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "linnet/plan/random.h"

namespace linnet::plan {
namespace {

OrderGraph random_graph(Random& random, int64_t ops, int64_t near) {
  OrderProblem p;
  p.tensors.push_back({1 + random.below(9), false});
  for (int64_t v = 0; v < ops; ++v) {
    Operator op;
    const auto count = static_cast<int64_t>(p.tensors.size());
    for (int64_t i = 0; i <= random.below(2); ++i)
      op.inputs.push_back(static_cast<int32_t>(count - 1 - random.below(std::min(count, near))));
    op.outputs = {static_cast<int32_t>(count)};
    p.tensors.push_back({random.below(12), random.below(10) == 0});
    p.savings.push_back({static_cast<int32_t>(v), op.inputs[0], op.outputs[0], random.below(12)});
    p.operators.push_back(op);
  }
  return OrderGraph::make(p);
}

// The least peak over all orders of which every cut is a beginning: {operators that have run at that position}.
void least_peak(LiveState& state, const std::vector<std::vector<uint8_t>>& cuts, std::vector<uint8_t>& has_run,
                int64_t peak, int64_t& best) {
  if (peak >= best) return;
  if (state.ready().empty()) best = peak;
  const std::vector<int32_t> ready = state.ready();
  for (int32_t op : ready) {
    const bool fits = std::all_of(cuts.begin(), cuts.end(), [&](const std::vector<uint8_t>& cut) {
      const auto inside = static_cast<size_t>(std::count(cut.begin(), cut.end(), 1));
      return state.count() >= inside || cut[static_cast<size_t>(op)] != 0;
    });
    if (!fits) continue;
    const int64_t need = std::max(peak, state.need(op));
    state.run(op);
    least_peak(state, cuts, has_run, need, best);
    state.take_back(op);
  }
}

int64_t least_peak(const OrderGraph& graph, const std::vector<std::vector<uint8_t>>& cuts) {
  LiveState state(graph);
  std::vector<uint8_t> has_run(graph.size(), 0);
  int64_t best = std::numeric_limits<int64_t>::max();
  least_peak(state, cuts, has_run, state.live(), best);
  return best;
}

TEST(OrderCuts, SomeBestOrderPassesThroughEveryCut) {
  size_t cut_count = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    const OrderGraph graph = random_graph(random, 3 + random.below(6), 1 + random.below(5));
    std::vector<int32_t> order(graph.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::vector<uint8_t>> cuts;
    for (size_t at : OrderCuts(graph).division(order, Deadline(10))) {
      cuts.emplace_back(graph.size(), 0);
      for (size_t i = 0; i < at; ++i) cuts.back()[static_cast<size_t>(order[i])] = 1;
    }
    cut_count += cuts.size();
    ASSERT_EQ(least_peak(graph, cuts), least_peak(graph, {})) << "seed " << seed;
  }
  EXPECT_GT(cut_count, 1000u);
}

TEST(OrderCuts, BoundsAreBelowTheLeastPeakAndCutsAreTighter) {
  size_t tighter = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    const OrderGraph graph = random_graph(random, 2 + random.below(7), 1 + random.below(6));
    std::vector<int32_t> order(graph.size());
    std::iota(order.begin(), order.end(), 0);
    const OrderCuts cuts(graph);
    const int64_t least = least_peak(graph, {});
    int64_t bound = 0;
    for (int32_t op : order) bound = std::max(bound, cuts.need_bound(op));
    ASSERT_LE(cuts.simple_bound(), least) << "seed " << seed;
    ASSERT_LE(bound, least) << "seed " << seed;
    ASSERT_EQ(std::max(bound, cuts.simple_bound()), cuts.bound(order, cuts.simple_bound(), Deadline(10)));
    tighter += bound > cuts.simple_bound() ? 1 : 0;
  }
  EXPECT_GT(tighter, 20u);
}

}  // namespace
}  // namespace linnet::plan
