// Inference on this machine, with the device's own code in an arena of exactly the size asked for.
#pragma once
#include <optional>
#include <vector>

#include "cli/loaded_model.h"
#include "cli/network_facts.h"
#include "linnet/plan/planned_build.h"
#include "linnet/run/program_file.h"
#include "linnet/run/session.h"

namespace linnet::cli {

struct RunOptions {
  bool built_on_device = true;          // a .tflite: the Program is built in the arena, else ahead of time
  std::optional<uint32_t> arena_bytes;  // else what is needed
  uint32_t runs = 1;                    // each from fresh state
  bool node_checksums = false;
  plan::MemoryPolicy memory = plan::MemoryPolicy::fixed;  // of a Program built ahead of time
  const BuildTable* table = nullptr;  // the kernels that may be used
};

struct RunResult {
  MemoryNeed need;
  uint32_t stack_bytes = 0;  // of an inference, on the machine that ran it
  std::optional<uint64_t> moved_bytes;  // not known of a Program file
  std::vector<TensorBytes> outputs;
  std::vector<NodeCrc> nodes;
};

// The Program for a .tflite as a device would build it (constants stay in the model), or self-sufficient.
BuiltProgram built_for(const LoadedModel& loaded, const RunOptions& options);

// What the network takes under these options, without running it. `built`: of built_for, or null for a Program file.
MemoryNeed memory_need(const LoadedModel& loaded, const BuiltProgram* built, const RunOptions& options);

// Throws AnswerIsNo when the arena is too small.
RunResult run_on_host(const LoadedModel& loaded, const std::vector<TensorBytes>& inputs, const RunOptions& options);

// Refuses checksums of nodes where steps are not simply one after the other.
void require_straight_line(Bytes program);

// The sentence for an arena that is too small.
std::string too_small(const std::string& path, uint32_t given, uint32_t need);

}  // namespace linnet::cli
