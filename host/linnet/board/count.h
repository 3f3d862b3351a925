// Exact instruction counts of a firmware's run, by phase, function, class and memory region
// (emulator/count_plugin.cpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linnet/board/board.h"
#include "linnet/board/elf_image.h"
#include "linnet/board/run.h"
#include "linnet/board/thumb.h"

namespace linnet::board {

// Consecutive instructions, each executed `count` times.
struct ExecutedRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint64_t instructions = 0;
  uint64_t count = 0;
};

// Data accesses as the core's instructions make them. The emulator splits a vector access into its elements.
struct AccessCount {
  std::string region;  // "code", "ram", "blobs" or "elsewhere"
  uint64_t loads = 0, load_bytes = 0, stores = 0, store_bytes = 0;
};

struct PhaseCount {
  std::optional<uint32_t> id;  // none: before the first call of linnet::port::phase
  uint64_t visits = 0;
  uint64_t instructions = 0;          // over all visits
  uint64_t least = 0, most = 0;       // of one visit
  uint64_t inside = 0;                // of `instructions`, those inside CountRequest::inside
  std::vector<ExecutedRange> ranges;  // by address
  std::vector<AccessCount> accesses;  // empty unless asked for
};

struct FunctionCount {
  std::string name;  // "(unknown)" outside every function
  uint64_t instructions = 0;
};

struct Counts {
  uint64_t total = 0;              // = marker + all phases
  uint64_t marker = 0;             // inside linnet::port::phase
  std::vector<PhaseCount> phases;  // by first appearance

  // Null when the phase was never entered.
  const PhaseCount* phase(std::optional<uint32_t> id) const;
};

struct CountRequest {
  RunRequest run;  // `plugin` is overwritten
  bool accesses = false;
  // Functions to count inclusively, by demangled name: from their entry to their return, with all that they call.
  // Counting is slower then.
  std::function<bool(std::string_view name)> inside = {};
  std::filesystem::path plugin;  // empty: the one of the build or installation
};

struct CountResult {
  RunResult run;
  Counts counts;
  ElfImage image;

  // A phase's instructions by function, most first.
  std::vector<FunctionCount> by_function(const PhaseCount& phase) const;
  // Of those, the ones in functions that the predicate takes (kernels, say).
  uint64_t in_functions(const PhaseCount& phase, const std::function<bool(std::string_view name)>& takes) const;
  // Indexed by InstructionClass.
  ClassCounts by_class(const PhaseCount& phase) const;
};

// Throws Error as run_firmware does, and when the plugin is missing or wrote nothing.
CountResult count_instructions(const Board& board, const CountRequest& request);

// The plugin's output. Throws Error with the line that is wrong.
Counts parse_counts(std::istream& text);

}  // namespace linnet::board
