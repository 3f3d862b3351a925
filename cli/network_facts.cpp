#include "cli/network_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "linnet/graph/operator_names.h"
#include "linnet/plan/planned_build.h"
#include "linnet/run/program_file.h"

namespace linnet::cli {
namespace {

NodeFacts describe_node(const Model& model, int32_t subgraph, int32_t node) {
  Model::Subgraph graph = model.subgraph(static_cast<uint32_t>(subgraph));
  Model::Operator op = graph.op(static_cast<uint32_t>(node));
  NodeFacts facts;
  facts.subgraph = subgraph;
  facts.node = node;
  facts.name = operator_name(op.builtin_code());
  facts.version = op.version();
  facts.inputs.assign(op.inputs().begin(), op.inputs().end());
  facts.outputs.assign(op.outputs().begin(), op.outputs().end());
  std::set<int32_t> constants;
  for (int32_t t : op.inputs())
    if (t >= 0 && graph.tensor(static_cast<uint32_t>(t)).is_constant() && constants.insert(t).second)
      facts.weights_bytes += graph.tensor(static_cast<uint32_t>(t)).bytes();
  return facts;
}

uint64_t all_weights(const Model& model) {
  std::map<uint32_t, uint64_t> buffers;
  for (uint32_t s = 0; s < model.subgraph_count(); ++s)
    for (uint32_t t = 0; t < model.subgraph(s).tensor_count(); ++t) {
      Model::Tensor tensor = model.subgraph(s).tensor(t);
      if (tensor.is_constant()) buffers[tensor.buffer()] = std::max<uint64_t>(buffers[tensor.buffer()], tensor.bytes());
    }
  uint64_t sum = 0;
  for (const auto& [buffer, bytes] : buffers) sum += bytes;
  return sum;
}

uint32_t live_bytes(const BuiltProgram& program, uint16_t position) {
  uint32_t sum = 0;
  for (const TensorEntry& e : program.entries)
    if (e.kind == TensorEntry::activation && e.first <= position && position <= e.last) sum += e.bytes;
  return sum;
}

// Kernels and costs of the steps, booked to the nodes they came from.
void add_steps(const BuiltProgram& program, const std::vector<BuiltNode>& nodes, std::vector<NodeFacts>& facts) {
  std::vector<const Step*> steps;
  Bytes bytes(program.bytes.data(), program.bytes.size());
  for_each_step(bytes, [&](const Step& step) { steps.push_back(&step); });
  std::vector<int> owner(steps.size(), -1);  // the innermost node
  for (size_t n = 0; n < nodes.size(); ++n)
    for (uint32_t s = nodes[n].first_step; s < nodes[n].end_step; ++s) {
      int& o = owner[s];
      auto length = [&](size_t i) { return nodes[i].end_step - nodes[i].first_step; };
      if (o < 0 || length(n) <= length(static_cast<size_t>(o))) o = static_cast<int>(n);
    }
  for (size_t s = 0; s < steps.size(); ++s) {
    auto kernel = kernel_of(*steps[s]);
    if (owner[s] < 0 || !kernel) continue;
    NodeFacts& node = facts[static_cast<size_t>(owner[s])];
    Cost cost = catalogue().kernels[*kernel].cost(program.bytes.data() + steps[s]->params);
    node.macs += cost.macs;
    node.operations += cost.operations;
    node.kernels.push_back(*kernel);
  }
}

}  // namespace

Json memory_json(const MemoryNeed& need) {
  return {{"arena_bytes", need.arena_bytes},
          {"persistent_bytes", need.persistent_bytes},
          {"activation_bytes", need.activation_bytes},
          {"scratch_bytes", need.scratch_bytes}};
}

NetworkFacts network_facts(const Model& model, plan::MemoryPolicy memory) {
  NetworkFacts facts;
  plan::NetworkOptions quick = plan::quick_options();
  quick.memory = memory;
  facts.program = plan::build_planned(model, catalogue().table, {}, quick);
  const BuiltProgram& program = facts.program;
  std::vector<BuiltNode> nodes = program.nodes;
  std::sort(nodes.begin(), nodes.end(), [](const BuiltNode& a, const BuiltNode& b) { return a.position < b.position; });
  facts.peak_bytes = live_bytes(program, 0);
  for (const BuiltNode& node : nodes) {
    NodeFacts described = describe_node(model, node.subgraph, node.node);
    described.live_bytes = live_bytes(program, node.position);
    if (described.live_bytes > facts.peak_bytes) {
      facts.peak_bytes = described.live_bytes;
      facts.peak_node = facts.nodes.size();
    }
    facts.nodes.push_back(std::move(described));
  }
  add_steps(program, nodes, facts.nodes);
  for (const NodeFacts& node : facts.nodes) facts.macs += node.macs;
  facts.weights_bytes = all_weights(model);

  auto activations_of = [](const BuiltProgram& p) { return align_up(p.header().arena_bytes, persistent_alignment); };
  BuiltProgram on_device = build_program(model, catalogue().table);
  uint32_t scratch = scratch_bytes({program.bytes.data(), program.bytes.size()}, *catalogue().table.kernels);
  uint32_t built = on_device.arena_bytes_built(), ready = program.arena_bytes_ready();
  uint32_t table_bytes = align_up(on_device.table_bytes, persistent_alignment);
  facts.device = {built, built - std::max(activations_of(on_device), table_bytes), on_device.header().arena_bytes, scratch};
  facts.host = {ready, ready - activations_of(program), program.header().arena_bytes, scratch};
  return facts;
}

}  // namespace linnet::cli
