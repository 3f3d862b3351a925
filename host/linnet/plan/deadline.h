// A moment on the steady clock after which a search gives up.
#pragma once

#include <algorithm>
#include <chrono>

namespace linnet::plan {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e8)))) {}

  bool passed() const { return Clock::now() >= end_; }

  double left_s() const { return std::max(0.0, std::chrono::duration<double>(end_ - Clock::now()).count()); }

  // A nearer deadline: after `seconds`, but never later than this one.
  Deadline within(double seconds) const { return Deadline(std::min(seconds, left_s())); }

 private:
  Clock::time_point end_;
};

}  // namespace linnet::plan
