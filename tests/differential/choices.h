// What a case is made of: whole numbers, drawn from a seed or given. The first of a range is always the simplest, so that a
// case whose numbers are made smaller is a simpler one of the same kind, and the numbers alone repeat it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

namespace linnet::differential {

class Random {  // splitmix64: the same on every machine
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return next() % n; }
  double uniform() { return static_cast<double>(next() >> 11) / static_cast<double>(1ull << 53); }  // 0 to 1

 private:
  uint64_t state_;
};

class Choices {
 public:
  explicit Choices(uint64_t seed) : random_(seed), drawn_at_random_(true) {}
  explicit Choices(std::vector<uint32_t> given) : random_(0), given_(std::move(given)), drawn_at_random_(false) {}

  // From `low` to `high`; the ends come more often than the others.
  int range(int low, int high) {
    if (high <= low) return low;
    auto span = static_cast<uint32_t>(high - low);
    uint32_t choice = 0;
    if (drawn_at_random_) {
      uint64_t kind = random_.below(8);
      choice = kind < 2 ? 0 : kind == 2 ? span : static_cast<uint32_t>(random_.below(span + 1));
    } else if (made_.size() < given_.size()) {
      choice = std::min(given_[made_.size()], span);
    }
    made_.push_back(choice);
    return low + static_cast<int>(choice);
  }
  bool maybe() { return range(0, 1) == 1; }
  bool seldom() { return range(0, 7) == 7; }
  template <class T>
  T among(std::initializer_list<T> values) {
    return std::data(values)[range(0, static_cast<int>(values.size()) - 1)];
  }

  // In the order they were asked for.
  const std::vector<uint32_t>& made() const { return made_; }

 private:
  Random random_;
  std::vector<uint32_t> given_, made_;
  bool drawn_at_random_;
};

}  // namespace linnet::differential
