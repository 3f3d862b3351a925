#include "linnet/plan/planned_build.h"

namespace linnet::plan {

std::optional<MemoryPolicy> memory_policy(std::string_view word) {
  if (word == "static") return MemoryPolicy::fixed;
  if (word == "compacting") return MemoryPolicy::compacting;
  return {};
}

NetworkOptions quick_options() {
  NetworkOptions options;
  options.order = OrderPolicy::keep;
  options.placement_limits.time_limit_s = 2;
  return options;
}

BuiltProgram build_planned(const Model& model, const BuildTable& table, ProgramOptions how, NetworkOptions options) {
  if (!model.metadata("linnet.plan").empty()) return build_program(model, table, how);
  options.caller_inputs = how.caller_inputs;
  options.caller_outputs = how.caller_outputs;
  NetworkPlan planned = plan_network(model, table, options);
  Plan plan = planned.plan();
  how.plan = &plan;
  if (options.order == OrderPolicy::keep) return build_program(model, table, how);
  return build_program(open_model({planned.model.data(), planned.model.size()}), table, how);
}

}  // namespace linnet::plan
