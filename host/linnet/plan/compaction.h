// Compaction: live buffers move between steps, so that the arena falls to the largest working set.
#pragma once

#include "linnet/plan/problem.h"

namespace linnet::plan {

// The most that any single step needs, overlaps included: no placement is smaller, with moves or without.
int64_t working_set_bound(const PlacementProblem& problem, const Limits& limits);

// `still`: a placement of the same problem without moves. The result is `still` itself unless moving saves memory
// when arenas are multiples of `grain_bytes`; of arrangements as small, one that moves few bytes. The bound is the one above. Nothing moves
// before the end of `first_move_step`; nothing pinned moves at all.
MovingPlacement compact(const PlacementProblem& problem, const Placement& still, int64_t first_move_step, int64_t grain_bytes,
                        const Limits& limits);

}  // namespace linnet::plan
