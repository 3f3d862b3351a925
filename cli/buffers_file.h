// Placement problems as tables: a line per buffer with the columns id, lower, upper, size, in any order.
#pragma once
#include <string>
#include <vector>

#include "linnet/plan/problem.h"

namespace linnet::cli {

// A buffer exists during the steps from `lower` up to, but without, `upper`.
struct BufferTable {
  std::vector<std::string> ids;
  plan::PlacementProblem problem;
};

// Throws Error that names the line.
BufferTable read_buffers(const std::string& text);

// The same table with a column `offset`.
std::string offsets_text(const BufferTable& table, const plan::Placement& placement);

// The most bytes that exist at once.
int64_t most_live_bytes(const plan::PlacementProblem& problem);

}  // namespace linnet::cli
