// Proves plans. It shares no code with the solvers: it replays a plan byte by byte and step by step and says what, if
// anything, goes wrong.
#pragma once

#include <string>

#include "linnet/plan/problem.h"

namespace linnet::plan {

// Empty if the order is right: every operator once, tensors produced before they are read, ordering edges respected,
// and its peak, lower bound and "optimal" as stated. Otherwise what is wrong, naming operators, tensors and the step.
std::string check_order(const OrderProblem& problem, const Order& order);

// Empty if the placement is right: alignment, pins and bounds respected, no live byte overwritten (lags honoured byte
// by byte in the direction stated for the step), and arena, lower bound and "optimal" as stated. Otherwise what is
// wrong, naming the buffers and the step.
std::string check_placement(const PlacementProblem& problem, const Placement& placement);

// The same for a placement with moves: only what lives moves, nothing pinned, nothing before the end of `first_move_step`,
// and never onto another live buffer; every step finds all that live at it where they may be.
std::string check_moving(const PlacementProblem& problem, const MovingPlacement& placement, int64_t first_move_step);

}  // namespace linnet::plan
