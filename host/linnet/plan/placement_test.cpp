#include "linnet/plan/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "linnet/plan/checker.h"
#include "linnet/plan/random.h"

namespace linnet::plan {
namespace {

// The least arena by trying every offset for every buffer and both directions of every step: an independent, slow truth
// for a handful of small buffers.
class Oracle {
 public:
  explicit Oracle(const PlacementProblem& p) : p_(p), offsets_(p.buffers.size(), 0) {
    for (const Overlap& o : p.overlaps)
      if (std::find(steps_.begin(), steps_.end(), o.step) == steps_.end()) steps_.push_back(o.step);
  }

  int64_t least_arena() {
    int64_t most = 0;
    for (const Buffer& b : p_.buffers) most += b.size_bytes + b.alignment + b.pinned_offset.value_or(0);
    best_ = most + 1;
    for (walk_ = 0; walk_ < (uint32_t{1} << steps_.size()); ++walk_) lay(0, 0);
    return best_;
  }

 private:
  bool allowed(size_t i, size_t o) const {
    const Buffer &in = p_.buffers[i], &out = p_.buffers[o];
    for (const Overlap& lag : p_.overlaps) {
      if (static_cast<size_t>(lag.input) != i || static_cast<size_t>(lag.output) != o) continue;
      if (in.last_step != lag.step || out.first_step != lag.step) continue;
      const auto step = static_cast<size_t>(std::find(steps_.begin(), steps_.end(), lag.step) - steps_.begin());
      const bool down = ((walk_ >> step) & 1) != 0;
      if (!down && lag.forward_bytes && offsets_[i] >= offsets_[o] + *lag.forward_bytes) return true;
      if (down && lag.backward_bytes &&
          offsets_[o] + out.size_bytes >= offsets_[i] + in.size_bytes + *lag.backward_bytes)
        return true;
    }
    return false;
  }

  bool clash(size_t a, size_t b) const {
    const Buffer &x = p_.buffers[a], &y = p_.buffers[b];
    if (x.last_step < y.first_step || y.last_step < x.first_step) return false;
    if (offsets_[a] + x.size_bytes <= offsets_[b] || offsets_[b] + y.size_bytes <= offsets_[a]) return false;
    return !allowed(a, b) && !allowed(b, a);
  }

  void lay(size_t k, int64_t top) {
    if (top >= best_) return;
    if (k == p_.buffers.size()) {
      best_ = top;
      return;
    }
    const Buffer& b = p_.buffers[k];
    for (int64_t at = b.pinned_offset.value_or(0); at + b.size_bytes < best_; at += b.alignment) {
      offsets_[k] = at;
      bool fine = true;
      for (size_t j = 0; j < k && fine; ++j) fine = b.size_bytes == 0 || p_.buffers[j].size_bytes == 0 || !clash(j, k);
      if (fine) lay(k + 1, std::max(top, at + b.size_bytes));
      if (b.pinned_offset) break;
    }
  }

  const PlacementProblem& p_;
  std::vector<int64_t> steps_;
  std::vector<int64_t> offsets_;
  uint32_t walk_ = 0;
  int64_t best_ = 0;
};

// A chain of steps: step s reads one or two buffers of earlier steps and writes one or two, with lags both ways.
PlacementProblem random_chain(Random& random, int64_t steps, int64_t most) {
  PlacementProblem p;
  const auto lag = [&](int64_t size) -> std::optional<int64_t> {
    if (random.below(5) == 0) return std::nullopt;
    return random.below(size + 3) - 2;
  };
  p.buffers.push_back({1 + random.below(most), 0, 0, 1, std::nullopt});
  for (int64_t s = 1; s <= steps; ++s) {
    const size_t inputs = p.buffers.size();
    const bool two_outputs = random.below(8) == 0;
    for (int64_t o = 0; o <= (two_outputs ? 1 : 0); ++o) p.buffers.push_back({1 + random.below(most), s, s, 1, std::nullopt});
    for (int64_t k = 0; k <= random.below(3); ++k) {
      const auto i = static_cast<size_t>(random.below(static_cast<int64_t>(inputs)));
      p.buffers[i].last_step = std::max(p.buffers[i].last_step, s);
    }
    p.buffers[inputs - 1].last_step = s;
    for (size_t i = 0; i < inputs; ++i)
      for (size_t o = inputs; o < p.buffers.size(); ++o)
        if (p.buffers[i].last_step == s)
          p.overlaps.push_back({s, static_cast<int32_t>(i), static_cast<int32_t>(o), lag(p.buffers[o].size_bytes),
                                lag(p.buffers[o].size_bytes)});
  }
  if (random.below(4) == 0)
    for (Buffer& b : p.buffers) b.alignment = int64_t{1} << random.below(3);
  if (random.below(6) == 0) p.buffers[0].pinned_offset = random.below(3) * p.buffers[0].alignment;
  return p;
}

PlacementProblem random_boxes(Random& random, int64_t count, int64_t steps, int64_t most) {
  PlacementProblem p;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = random.below(steps);
    p.buffers.push_back({random.below(most + 1), first, first + random.below(steps - first), 1, std::nullopt});
  }
  const int64_t kind = random.below(4);
  for (Buffer& b : p.buffers) b.alignment = kind == 0 ? 4 : kind == 1 ? int64_t{1} << random.below(3) : 1;
  if (random.below(5) == 0) p.buffers[0].pinned_offset = random.below(4) * p.buffers[0].alignment;
  return p;
}

TEST(Placement, EqualsBruteForceWithoutOverlaps) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const PlacementProblem p = random_boxes(random, 1 + random.below(6), 1 + random.below(6), 5);
    const Placement placement = place(p, {});
    ASSERT_EQ(check_placement(p, placement), "") << "seed " << seed;
    ASSERT_TRUE(placement.optimal) << "seed " << seed;
    ASSERT_EQ(placement.arena_bytes, Oracle(p).least_arena()) << "seed " << seed;
  }
}

TEST(Placement, EqualsBruteForceWithLagsBothWays) {
  int64_t downs = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const PlacementProblem p = random_chain(random, 1 + random.below(4), 6);
    if (p.buffers.size() > 6) continue;
    const Placement placement = place(p, {});
    ASSERT_EQ(check_placement(p, placement), "") << "seed " << seed;
    ASSERT_TRUE(placement.optimal) << "seed " << seed;
    ASSERT_EQ(placement.arena_bytes, Oracle(p).least_arena()) << "seed " << seed;
    for (const StepDirection& s : placement.directions) downs += s.direction == Direction::down ? 1 : 0;
  }
  EXPECT_GT(downs, 200);
}

// Eight layers in place, each 224 bytes behind its input: upwards alone they drift apart; in turns they do not.
TEST(Placement, DirectionsTakeTurnsAgainstDrift) {
  const auto layers = [](bool both) {
    PlacementProblem p;
    p.buffers.push_back({8000, 0, 1, 16, std::nullopt});
    for (int32_t s = 1; s <= 8; ++s) {
      p.buffers.push_back({8000, s, s + 1, 16, std::nullopt});
      p.overlaps.push_back({s, s - 1, s, 224, both ? std::optional<int64_t>(224) : std::nullopt});
    }
    return p;
  };
  EXPECT_EQ(place(layers(false), {}).arena_bytes, 8000 + 8 * 224);
  const Placement placement = place(layers(true), {});
  EXPECT_EQ(placement.arena_bytes, 8000 + 224);
  EXPECT_TRUE(placement.optimal);
  EXPECT_EQ(check_placement(layers(true), placement), "");
}

TEST(Placement, RefusesMalformedProblems) {
  EXPECT_THROW(place({{{-1, 0, 0, 1, std::nullopt}}, {}}, {}), std::invalid_argument);
  EXPECT_THROW(place({{{1, 1, 0, 1, std::nullopt}}, {}}, {}), std::invalid_argument);
  EXPECT_THROW(place({{{1, 0, 0, 0, std::nullopt}}, {}}, {}), std::invalid_argument);
  EXPECT_THROW(place({{{1, 0, 0, 4, 2}}, {}}, {}), std::invalid_argument);
  EXPECT_THROW(place({{{8, 0, 1, 4, 0}, {8, 1, 1, 4, 4}}, {}}, {}), std::invalid_argument);
  EXPECT_THROW(place({{{8, 0, 1, 4, 0}}, {{1, 0, 1, 0, 0}}}, {}), std::invalid_argument);
}

TEST(Placement, IsTheSameEveryTime) {
  Random random(9);
  const PlacementProblem p = random_chain(random, 12, 100);
  EXPECT_EQ(place(p, {}).offsets, place(p, {}).offsets);
}

TEST(Placement, LargerOnesPassTheCheckerAndKeepToTheTimeLimit) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Random random(seed);
    const PlacementProblem p = seed % 2 == 0 ? random_chain(random, 60, 10000) : random_boxes(random, 300, 100, 10000);
    const auto begin = std::chrono::steady_clock::now();
    const Placement placement = place(p, {0.3, 0});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(taken.count(), 2.0);
    ASSERT_EQ(check_placement(p, placement), "") << "seed " << seed;
  }
}

// Every buffer matters: what a good plan lays side by side must not be moved onto each other.
TEST(PlacementChecker, RejectsMutatedPlacements) {
  int rejected = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const PlacementProblem p = random_chain(random, 5, 40);
    const Placement good = place(p, {});
    ASSERT_EQ(check_placement(p, good), "");
    Placement bad = good;
    bad.arena_bytes -= 1;
    EXPECT_NE(check_placement(p, bad), "");
    bad = good;
    bad.offsets[0] = -p.buffers[0].alignment;
    EXPECT_NE(check_placement(p, bad), "");
    bad = good;
    bad.offsets.pop_back();
    EXPECT_NE(check_placement(p, bad), "");
    bad = good;
    bad.optimal = !bad.optimal;
    EXPECT_NE(check_placement(p, bad), "");
    bad = good;  // two buffers that meet only in the middle of their lives, one on the other
    for (size_t a = 0; a < p.buffers.size(); ++a)
      for (size_t b = 0; b < p.buffers.size(); ++b) {
        const Buffer &x = p.buffers[a], &y = p.buffers[b];
        if (a == b || x.first_step >= y.first_step || x.last_step <= y.first_step) continue;
        bad = good;
        bad.offsets[b] = bad.offsets[a];
        bad.arena_bytes = 0;
        for (size_t i = 0; i < p.buffers.size(); ++i)
          bad.arena_bytes = std::max(bad.arena_bytes, bad.offsets[i] + p.buffers[i].size_bytes);
        EXPECT_NE(check_placement(p, bad), "") << "seed " << seed;
        ++rejected;
      }
  }
  EXPECT_GT(rejected, 500);
}

// A lag is exact to the byte: a step nearer is refused, in both directions, and so is the other direction.
TEST(PlacementChecker, HonoursLagsToTheByte) {
  const PlacementProblem p = {{{20, 0, 1, 1, std::nullopt}, {20, 1, 2, 1, std::nullopt}}, {{1, 0, 1, 5, 3}}};
  const auto check = [&](int64_t in, int64_t out, Direction direction) {
    Placement plan;
    plan.offsets = {in, out};
    plan.directions = {{1, direction}};
    plan.arena_bytes = plan.lower_bound_bytes = std::max(in, out) + 20;
    plan.optimal = true;
    return check_placement(p, plan);
  };
  EXPECT_EQ(check(5, 0, Direction::up), "");
  EXPECT_EQ(check(4, 0, Direction::up), "at step 1 buffers 0 and 1 share bytes that both need");
  EXPECT_NE(check(5, 0, Direction::down), "");
  EXPECT_EQ(check(0, 3, Direction::down), "");
  EXPECT_NE(check(0, 2, Direction::down), "");
  EXPECT_NE(check(0, 3, Direction::up), "");
}

std::vector<Buffer> read_buffers(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<Buffer> buffers;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    Buffer b;
    int64_t id = 0, upper = 0;
    char comma = 0;
    fields >> id >> comma >> b.first_step >> comma >> upper >> comma >> b.size_bytes;
    if (!fields) continue;
    b.last_step = upper - 1;
    buffers.push_back(b);
  }
  return buffers;
}

std::filesystem::path planning_folder() {
  if (const char* folder = std::getenv("LINNET_PLANNING")) return folder;
  for (auto at = std::filesystem::current_path(); at != at.root_path(); at = at.parent_path())
    if (std::filesystem::exists(at / "DESIGN.md") || std::filesystem::exists(at / ".git"))
      return at.parent_path() / "shared" / "planning";
  return {};
}

TEST(Placement, HardProblemsFitTheirCapacity) {
  const std::filesystem::path folder = planning_folder();
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << "no placement problems: set LINNET_PLANNING to a folder of NAME.CAPACITY.csv files";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    const PlacementProblem p = {read_buffers(file), {}};
    const int64_t capacity = std::stoll(file.stem().extension().string().substr(1));
    const auto begin = std::chrono::steady_clock::now();
    const Placement placement = place(p, {60.0, capacity});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    std::cout << file.filename().string() << ": " << placement.arena_bytes << " bytes, " << taken.count() << " s\n";
    EXPECT_EQ(check_placement(p, placement), "");
    EXPECT_LE(placement.arena_bytes, capacity) << file;
  }
}

}  // namespace
}  // namespace linnet::plan
