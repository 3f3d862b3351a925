// A Program made ahead of time lies as the planner says: by the model's own plan, or one made for the purpose.
#pragma once
#include <optional>
#include <string_view>

#include "linnet/plan/network_plan.h"

namespace linnet::plan {

// A model with "linnet.plan" is built by it. Any other is planned first, in `options.order`; with OrderPolicy::best the
// Program's nodes are those of the reordered model, so `how.constants_in_model` goes with OrderPolicy::keep only.
BuiltProgram build_planned(const Model& model, const BuildTable& table, ProgramOptions how, NetworkOptions options);

// The two words of --memory that are policies of a plan: static, compacting.
std::optional<MemoryPolicy> memory_policy(std::string_view word);

// For verbs that people wait for: the given order, and at most two seconds of search for a placement.
NetworkOptions quick_options();

}  // namespace linnet::plan
