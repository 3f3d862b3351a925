#include "linnet/plan/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "linnet/plan/checker.h"
#include "linnet/plan/random.h"

namespace linnet::plan {
namespace {

using Ops = std::vector<int32_t>;

int32_t add_tensor(OrderProblem& p, int64_t size, bool kept = false) {
  p.tensors.push_back({size, kept});
  return static_cast<int32_t>(p.tensors.size()) - 1;
}

// An operator with one output tensor, which it returns.
int32_t add_op(OrderProblem& p, Ops inputs, int64_t size) {
  const int32_t t = add_tensor(p, size);
  p.operators.push_back({std::move(inputs), {t}, 0});
  return t;
}

// A random network: operators read earlier tensors (near ones more often when `near`), now and then in place.
OrderProblem random_network(Random& random, int64_t ops, int64_t near, bool plain = false) {
  OrderProblem p;
  for (int64_t i = 0; i <= random.below(2); ++i) add_tensor(p, 1 + random.below(20), random.below(8) == 0);
  for (int64_t v = 0; v < ops; ++v) {
    Operator op;
    const auto count = static_cast<int64_t>(p.tensors.size());
    for (int64_t i = 0; i <= random.below(3); ++i)
      op.inputs.push_back(static_cast<int32_t>(count - 1 - random.below(std::min(count, near))));
    for (int64_t i = 0; i <= (plain ? 0 : random.below(6) / 5); ++i)
      op.outputs.push_back(add_tensor(p, random.below(20), random.below(12) == 0));
    op.scratch_bytes = !plain && random.below(4) == 0 ? random.below(10) : 0;
    for (int64_t i = 0; !plain && i < random.below(4); ++i)
      p.savings.push_back({static_cast<int32_t>(v), op.inputs[static_cast<size_t>(random.below(static_cast<int64_t>(op.inputs.size())))],
                           op.outputs[static_cast<size_t>(random.below(static_cast<int64_t>(op.outputs.size())))], random.below(20)});
    p.operators.push_back(op);
    if (!plain && v > 1 && random.below(5) == 0)
      p.edges.push_back({static_cast<int32_t>(random.below(v)), static_cast<int32_t>(v)});
  }
  return p;
}

// The least peak by dynamic programming over all sets of operators, written without the solver's code.
class Oracle {
 public:
  explicit Oracle(const OrderProblem& p) : p_(p) {}

  int64_t least_peak() {
    return std::max(live(0), from(0));
  }

 private:
  bool has(uint32_t set, size_t op) const { return ((set >> op) & 1) != 0; }

  int64_t producer(size_t t) const {
    for (size_t v = 0; v < p_.operators.size(); ++v)
      for (int32_t o : p_.operators[v].outputs)
        if (static_cast<size_t>(o) == t) return static_cast<int64_t>(v);
    return -1;
  }

  bool unread(uint32_t set, size_t t) const {
    for (size_t v = 0; v < p_.operators.size(); ++v)
      for (int32_t i : p_.operators[v].inputs)
        if (static_cast<size_t>(i) == t && !has(set, v)) return true;
    return false;
  }

  int64_t live(uint32_t set) const {
    int64_t sum = 0;
    for (size_t t = 0; t < p_.tensors.size(); ++t) {
      const int64_t made = producer(t);
      if ((made < 0 || has(set, static_cast<size_t>(made))) && (p_.tensors[t].kept || unread(set, t)))
        sum += p_.tensors[t].size_bytes;
    }
    return sum;
  }

  int64_t saved(uint32_t after, size_t op, std::vector<int32_t> used_in, std::vector<int32_t> used_out,
                size_t from) const {
    int64_t best = 0;
    for (size_t i = from; i < p_.savings.size(); ++i) {
      const Saving& s = p_.savings[i];
      const auto in = static_cast<size_t>(s.input), out = static_cast<size_t>(s.output);
      if (static_cast<size_t>(s.op) != op || p_.tensors[in].kept || unread(after, in)) continue;
      if (std::count(used_in.begin(), used_in.end(), s.input) || std::count(used_out.begin(), used_out.end(), s.output))
        continue;
      auto in2 = used_in, out2 = used_out;
      in2.push_back(s.input);
      out2.push_back(s.output);
      const int64_t size = std::min({s.size_bytes, p_.tensors[in].size_bytes, p_.tensors[out].size_bytes});
      best = std::max(best, size + saved(after, op, in2, out2, i + 1));
    }
    return best;
  }

  bool ready(uint32_t set, size_t op) const {
    for (int32_t t : p_.operators[op].inputs)
      if (const int64_t made = producer(static_cast<size_t>(t)); made >= 0 && !has(set, static_cast<size_t>(made)))
        return false;
    return std::all_of(p_.edges.begin(), p_.edges.end(), [&](const OrderingEdge& e) {
      return static_cast<size_t>(e.after) != op || has(set, static_cast<size_t>(e.before));
    });
  }

  int64_t from(uint32_t set) {
    if (set + 1 == (uint32_t{1} << p_.operators.size())) return 0;
    if (const auto known = known_.find(set); known != known_.end()) return known->second;
    int64_t best = INT64_MAX;
    for (size_t op = 0; op < p_.operators.size(); ++op) {
      if (has(set, op) || !ready(set, op)) continue;
      const uint32_t after = set | (uint32_t{1} << op);
      int64_t need = live(set) + p_.operators[op].scratch_bytes - saved(after, op, {}, {}, 0);
      for (int32_t t : p_.operators[op].outputs) need += p_.tensors[static_cast<size_t>(t)].size_bytes;
      best = std::min(best, std::max(need, from(after)));
    }
    return known_[set] = best;
  }

  const OrderProblem& p_;
  std::map<uint32_t, int64_t> known_;
};

TEST(Order, EqualsBruteForceOnSmallNetworks) {
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    const OrderProblem p = random_network(random, 1 + random.below(9), 1 + random.below(8));
    const Order order = find_order(p, {});
    ASSERT_EQ(check_order(p, order), "") << "seed " << seed;
    ASSERT_TRUE(order.optimal) << "seed " << seed;
    ASSERT_EQ(order.peak_bytes, Oracle(p).least_peak()) << "seed " << seed;
  }
}

// Larger ones divide at sets that need proof; the oracle still reaches them.
TEST(Order, EqualsBruteForceOnLongNarrowNetworks) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed + 100000);
    const OrderProblem p = random_network(random, 10 + random.below(6), 2 + random.below(3));
    const Order order = find_order(p, {});
    ASSERT_EQ(check_order(p, order), "") << "seed " << seed;
    ASSERT_TRUE(order.optimal) << "seed " << seed;
    ASSERT_EQ(order.peak_bytes, Oracle(p).least_peak()) << "seed " << seed;
  }
}

TEST(Order, IsNeverWorseThanTheGivenOneEvenWithoutTime) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const OrderProblem p = random_network(random, 40, 12);
    for (double limit : {0.0, 0.001}) {
      const Order order = find_order(p, {limit, 0});
      ASSERT_EQ(check_order(p, order), "") << "seed " << seed;
      Ops given(p.operators.size());
      std::iota(given.begin(), given.end(), 0);
      ASSERT_EQ(order.given_peak_bytes, peak_bytes(p, given));
      ASSERT_LE(order.peak_bytes, order.given_peak_bytes) << "seed " << seed;
    }
  }
}

TEST(Order, IsTheSameEveryTime) {
  Random random(7);
  const OrderProblem p = random_network(random, 40, 10);
  EXPECT_EQ(find_order(p, {}).operators, find_order(p, {}).operators);
}

TEST(Order, EdgesAndGivenOrderAreRespected) {
  OrderProblem p;
  const int32_t in = add_tensor(p, 4);
  add_op(p, {in}, 8);
  add_op(p, {in}, 8);
  add_op(p, {1, 2}, 1);
  p.edges = {{1, 0}};
  p.given_order = {1, 0, 2};
  EXPECT_EQ(find_order(p, {}).operators, (Ops{1, 0, 2}));
  p.given_order = {0, 1, 2};
  EXPECT_THROW(find_order(p, {}), std::invalid_argument);
  p.edges = {{1, 0}, {0, 1}};
  EXPECT_THROW(find_order(p, {}), std::invalid_argument);
}

TEST(Order, StopsAtTheTarget) {
  Random random(3);
  const OrderProblem p = random_network(random, 60, 30);
  const Order given = find_order(p, {0.0, 0});
  const auto begin = std::chrono::steady_clock::now();
  const Order order = find_order(p, {60.0, given.given_peak_bytes});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_LE(order.peak_bytes, given.given_peak_bytes);
}

TEST(Order, KeepsToTheTimeLimit) {
  Random random(5);
  const OrderProblem p = random_network(random, 400, 200, true);
  const auto begin = std::chrono::steady_clock::now();
  const Order order = find_order(p, {0.5, 0});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count(), 2.0);
  EXPECT_EQ(check_order(p, order), "");
}

TEST(OrderChecker, RejectsMutatedOrders) {
  int rejected = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const OrderProblem p = random_network(random, 8, 3);
    const Order good = find_order(p, {});
    ASSERT_EQ(check_order(p, good), "");
    Order bad = good;
    bad.peak_bytes += 1;
    EXPECT_NE(check_order(p, bad), "");
    bad = good;
    bad.optimal = !bad.optimal;
    EXPECT_NE(check_order(p, bad), "");
    bad = good;
    bad.operators[1] = bad.operators[0];
    EXPECT_NE(check_order(p, bad), "");
    bad = good;
    bad.operators.pop_back();
    EXPECT_NE(check_order(p, bad), "");
    bad = good;  // an operator before one it reads from
    const size_t at = 1 + static_cast<size_t>(random.below(7));
    std::swap(bad.operators[at - 1], bad.operators[at]);
    const Operator& first = p.operators[static_cast<size_t>(good.operators[at - 1])];
    const Operator& second = p.operators[static_cast<size_t>(good.operators[at])];
    const bool reads = std::any_of(second.inputs.begin(), second.inputs.end(), [&](int32_t t) {
      return std::count(first.outputs.begin(), first.outputs.end(), t) > 0;
    });
    if (!reads) continue;
    EXPECT_NE(check_order(p, bad).find("before it is produced"), std::string::npos);
    ++rejected;
  }
  EXPECT_GT(rejected, 100);
}

}  // namespace
}  // namespace linnet::plan
