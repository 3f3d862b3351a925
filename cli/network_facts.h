// What a network consists of and what it takes, operator by operator.
#pragma once
#include <string>
#include <vector>

#include "cli/text.h"
#include "linnet/plan/planned_build.h"
#include "linnet/run/catalogue.h"
#include "linnet/run/program_builder.h"

namespace linnet::cli {

struct NodeFacts {
  int32_t subgraph = 0;
  int32_t node = 0;
  std::string name;
  int32_t version = 1;
  std::vector<int32_t> inputs, outputs;  // tensors of its subgraph; -1: absent
  uint64_t macs = 0, operations = 0;
  uint32_t weights_bytes = 0;     // of its constant inputs
  uint32_t live_bytes = 0;        // of all activations and scratch that exist while it runs
  std::vector<uint32_t> kernels;  // of its steps, in order: indices into the catalogue
};

struct MemoryNeed {
  uint32_t arena_bytes = 0, persistent_bytes = 0, activation_bytes = 0, scratch_bytes = 0;
};
Json memory_json(const MemoryNeed& need);

struct NetworkFacts {
  BuiltProgram program;          // self-sufficient, with origins
  std::vector<NodeFacts> nodes;  // in the order of execution
  uint64_t macs = 0;
  uint64_t weights_bytes = 0;  // each buffer once
  uint32_t peak_bytes = 0;     // the most live bytes
  size_t peak_node = 0;        // where, first of them
  MemoryNeed device, host;     // Program built on the device, or made ahead of time
};

// Throws Error when the network cannot run.
NetworkFacts network_facts(const Model& model, plan::MemoryPolicy memory = plan::MemoryPolicy::fixed);

}  // namespace linnet::cli
