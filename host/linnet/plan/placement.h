// Offsets for buffers, so that the arena is as small as can be.
#pragma once

#include "linnet/plan/problem.h"

namespace linnet::plan {

// Proven optimal where bound and arena meet; otherwise the best found within the time limit, and a proven lower bound.
// Throws std::invalid_argument for a malformed problem, or if pinned buffers are in each other's way.
Placement place(const PlacementProblem& problem, const Limits& limits);

}  // namespace linnet::plan
