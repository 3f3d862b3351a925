#include "linnet/plan/compaction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "linnet/plan/checker.h"
#include "linnet/plan/placement.h"
#include "linnet/plan/random.h"

namespace linnet::plan {
namespace {

constexpr int64_t first_move = 1;

MovingPlacement compacted(const PlacementProblem& p, const Placement& still) { return compact(p, still, first_move, 1, {2.0, 0}); }

// Buffers that live a few steps, one or two born at each, among them large ones; some may overlap what dies when they are born.
PlacementProblem random_problem(Random& random) {
  PlacementProblem p;
  int64_t steps = 4 + random.below(10);
  for (int64_t step = 0; step <= steps; ++step)
    for (int64_t born = 1 + random.below(2); born > 0; --born) {
      int64_t last = std::min(steps + 1, step + random.below(5));
      p.buffers.push_back({1 + random.below(random.below(3) ? 12 : 50), step, last, int64_t{1} << random.below(4), {}});
    }
  for (size_t i = 0; i < p.buffers.size(); ++i)
    for (size_t o = 0; o < p.buffers.size(); ++o) {
      const Buffer &in = p.buffers[i], &out = p.buffers[o];
      if (in.first_step >= in.last_step || in.last_step != out.first_step || random.below(2)) continue;
      Overlap lag{out.first_step, static_cast<int32_t>(i), static_cast<int32_t>(o), {}, {}};
      if (random.below(3)) lag.forward_bytes = random.below(9) - 3;
      if (random.below(3)) lag.backward_bytes = random.below(9) - 3;
      p.overlaps.push_back(lag);
    }
  return p;
}

TEST(Compaction, ReachesTheWorkingSetWhereHolesAreTooNarrow) {
  PlacementProblem p;
  p.buffers = {{40, 1, 3, 1, {}}, {40, 2, 5, 1, {}}, {30, 3, 9, 1, {}},  {20, 4, 7, 1, {}},   {20, 5, 8, 1, {}},   {20, 6, 8, 1, {}},
               {10, 7, 9, 1, {}}, {40, 8, 11, 1, {}}, {40, 9, 12, 1, {}}, {30, 10, 12, 1, {}}, {10, 11, 12, 1, {}}, {30, 12, 12, 1, {}}};
  Placement still = place(p, {5.0, 0});
  EXPECT_EQ(still.arena_bytes, 130);
  EXPECT_TRUE(still.optimal);  // nothing is smaller without moves
  MovingPlacement moving = compacted(p, still);
  EXPECT_EQ(check_moving(p, moving, first_move), "");
  EXPECT_EQ(moving.arena_bytes, 120);
  EXPECT_TRUE(moving.optimal);
  EXPECT_EQ(moving.moved_bytes, 20);
}

TEST(Compaction, MovesNothingWhereTheStillPlacementReachesTheBound) {
  PlacementProblem p;
  p.buffers = {{10, 0, 1, 1, {}}, {20, 1, 2, 1, {}}, {10, 2, 3, 1, {}}};
  MovingPlacement moving = compacted(p, place(p, {1.0, 0}));
  EXPECT_TRUE(moving.moves.empty());
  EXPECT_EQ(moving.moved_bytes, 0);
  EXPECT_EQ(moving.arena_bytes, 30);
  EXPECT_TRUE(moving.optimal);
}

TEST(Compaction, RandomProblemsAreProvenAndOftenSmaller) {
  Random random(11);
  int smaller = 0, at_bound = 0;
  constexpr int problems = 1000;
  for (int n = 0; n < problems; ++n) {
    SCOPED_TRACE(n);
    PlacementProblem p = random_problem(random);
    Placement still = place(p, {0.2, 0});
    MovingPlacement moving = compacted(p, still);
    ASSERT_EQ(check_moving(p, moving, first_move), "");
    ASSERT_LE(moving.arena_bytes, still.arena_bytes);
    ASSERT_EQ(moving.moves.empty(), moving.arena_bytes == still.arena_bytes) << "moves only where that saves memory";
    smaller += moving.arena_bytes < still.arena_bytes;
    at_bound += moving.optimal;
  }
  std::cout << smaller << " of " << problems << " smaller, " << at_bound << " at the bound\n";
  EXPECT_GT(smaller, 30);
  EXPECT_GT(at_bound, problems * 8 / 10);
}

TEST(Compaction, PinnedBuffersStay) {
  Random random(5);
  int moved = 0;
  for (int n = 0; n < 300; ++n) {
    SCOPED_TRACE(n);
    PlacementProblem p = random_problem(random);
    Placement still = place(p, {0.1, 0});
    auto pinned = static_cast<size_t>(random.below(static_cast<int64_t>(p.buffers.size())));
    p.buffers[pinned].pinned_offset = still.offsets[pinned];
    MovingPlacement moving = compacted(p, still);
    ASSERT_EQ(check_moving(p, moving, first_move), "");
    moved += !moving.moves.empty();
  }
  EXPECT_GT(moved, 5);
}

struct Planned {
  PlacementProblem problem;
  MovingPlacement moving;
};

class MutatedMoves : public ::testing::Test {
 protected:
  // Plans of random problems in which something moves.
  static const std::vector<Planned>& plans() {
    static const std::vector<Planned> made = [] {
      std::vector<Planned> list;
      Random random(23);
      while (list.size() < 60) {
        PlacementProblem p = random_problem(random);
        MovingPlacement moving = compacted(p, place(p, {0.1, 0}));
        if (!moving.moves.empty()) list.push_back({std::move(p), std::move(moving)});
      }
      return list;
    }();
    return made;
  }

  template <typename Mutate>
  static void refused(const char* reason, Mutate mutate) {
    int tried = 0;
    for (const Planned& plan : plans()) {
      ASSERT_EQ(check_moving(plan.problem, plan.moving, first_move), "");
      PlacementProblem problem = plan.problem;
      MovingPlacement moving = plan.moving;
      if (!mutate(problem, moving)) continue;
      ++tried;
      std::string said = check_moving(problem, moving, first_move);
      EXPECT_NE(said.find(reason), std::string::npos) << "said: " << said;
    }
    EXPECT_GE(tried, 10);
  }
};

TEST_F(MutatedMoves, OutOfTheArena) {
  refused("beyond the arena", [](const PlacementProblem& p, MovingPlacement& m) {
    int64_t alignment = p.buffers[static_cast<size_t>(m.moves[0].buffer)].alignment;
    m.moves[0].offset = (m.arena_bytes + alignment) / alignment * alignment;
    return true;
  });
}

TEST_F(MutatedMoves, OntoAnotherBuffer) {
  refused("moves onto", [](const PlacementProblem& p, MovingPlacement& m) {
    // The first move goes to where one that lives as well began, and did not move.
    auto moved = static_cast<size_t>(m.moves[0].buffer);
    for (size_t j = 0; j < p.buffers.size(); ++j) {
      const Buffer& b = p.buffers[j];
      bool still = std::none_of(m.moves.begin(), m.moves.end(), [&](const Move& v) { return static_cast<size_t>(v.buffer) == j; });
      bool fits = m.offsets[j] % p.buffers[moved].alignment == 0 && m.offsets[j] + p.buffers[moved].size_bytes <= m.arena_bytes;
      if (j == moved || !still || !fits || b.first_step > m.moves[0].after_step || b.last_step <= m.moves[0].after_step) continue;
      m.moves[0].offset = m.offsets[j];
      return true;
    }
    return false;
  });
}

TEST_F(MutatedMoves, OfTheDead) {
  refused("does not live", [](const PlacementProblem& p, MovingPlacement& m) {
    Move late = m.moves.back();
    late.after_step = std::max(late.after_step, p.buffers[static_cast<size_t>(late.buffer)].last_step);
    m.moves.push_back(late);
    return true;
  });
}

TEST_F(MutatedMoves, TooEarlyOrOutOfOrder) {
  refused("too early", [](const PlacementProblem&, MovingPlacement& m) {
    m.moves[0].after_step = 0;
    return true;
  });
  refused("not in order", [](const PlacementProblem&, MovingPlacement& m) {
    if (m.moves.front().after_step == m.moves.back().after_step) return false;
    m.moves.push_back(m.moves.front());
    return true;
  });
}

TEST_F(MutatedMoves, OfThePinned) {
  refused("pinned", [](PlacementProblem& p, const MovingPlacement& m) {
    auto moved = static_cast<size_t>(m.moves[0].buffer);
    p.buffers[moved].pinned_offset = m.offsets[moved];
    return true;
  });
}

TEST_F(MutatedMoves, WrongSums) {
  refused("bytes are moved, not", [](const PlacementProblem&, MovingPlacement& m) { return ++m.moved_bytes > 0; });
  refused("arena is", [](const PlacementProblem&, MovingPlacement& m) { return ++m.arena_bytes > 0; });
  refused("\"optimal\"", [](const PlacementProblem&, MovingPlacement& m) {
    m.optimal = !m.optimal;
    return true;
  });
}

// A move that is left out leaves its buffer where something else comes to lie.
TEST_F(MutatedMoves, LeftOut) {
  int tried = 0, noticed = 0;
  for (const Planned& plan : plans())
    for (size_t k = 0; k < plan.moving.moves.size(); ++k) {
      MovingPlacement without = plan.moving;
      without.moves.erase(without.moves.begin() + static_cast<int64_t>(k));
      without.moved_bytes -= plan.problem.buffers[static_cast<size_t>(plan.moving.moves[k].buffer)].size_bytes;
      ++tried;
      noticed += !check_moving(plan.problem, without, first_move).empty();
    }
  EXPECT_GT(tried, 60);
  EXPECT_GT(noticed, tried * 9 / 10);
}

}  // namespace
}  // namespace linnet::plan
