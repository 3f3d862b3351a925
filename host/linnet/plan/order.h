// The order of operators with the least peak of live bytes.
#pragma once

#include "linnet/plan/problem.h"

namespace linnet::plan {

// Never worse than the given order, which must be valid. Proven optimal where bound and peak meet; otherwise the best
// found within the time limit, and a proven lower bound. Throws std::invalid_argument for a malformed problem.
Order find_order(const OrderProblem& problem, const Limits& limits);

// The peak of live bytes in this order. Throws std::invalid_argument if it is not a valid order of the problem.
int64_t peak_bytes(const OrderProblem& problem, const std::vector<int32_t>& order);

}  // namespace linnet::plan
