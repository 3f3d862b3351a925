// Runs a network on an emulated board with the prebuilt runner firmware (ports/runner): no compiler is needed.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "linnet/board/run.h"
#include "linnet/engine/program.h"

namespace linnet::board {

// Asks for the CRC-32 of `bytes` at `place` once `end_step` steps are done. As the runner reads it.
struct NodeRecord {
  uint32_t end_step = 0;
  Operand place = {};
  uint32_t bytes = 0;
};
static_assert(sizeof(NodeRecord) == 16);

constexpr uint32_t runner_max_inputs = 13;

struct NetworkRequest {
  // A .tflite, or a Program for the runner's kernel table (that of the whole catalogue).
  std::variant<std::filesystem::path, std::vector<uint8_t>> model;
  std::vector<std::vector<uint8_t>> inputs;  // in the network's order; an empty one is filled with zeros
  std::vector<uint32_t> output_bytes;        // of each output, in order
  std::optional<uint32_t> arena_bytes;       // else all of the board's free memory
  uint32_t runs = 1;                         // each with the same inputs and fresh state
  std::vector<NodeRecord> nodes;             // in order of end_step
  bool want_program = false;                 // the Program as the board built it
  std::chrono::milliseconds time_limit{600'000};
  std::filesystem::path firmware;  // empty: the runner of the build or installation
};

// Why a network did not run, as the device says it.
struct DeviceError {
  uint32_t code = 0;  // linnet::Code
  std::string text;
  int32_t subgraph = -1, node = -1, tensor = -1;
  uint32_t need_bytes = 0;
};

struct NetworkResult {
  std::optional<DeviceError> error;  // then nothing below means anything
  uint32_t arena_bytes = 0;          // the smallest that works
  uint32_t activation_bytes = 0;
  uint32_t persistent_bytes = 0;
  uint32_t interpreter_bytes = 0;  // sizeof(Interpreter), outside the arena
  uint32_t stack_bytes = 0;        // of an inference
  std::vector<std::vector<uint8_t>> outputs;
  std::vector<uint32_t> node_crcs;
  std::vector<uint8_t> program;  // if it was wanted
};

// Throws Error where run_firmware does, when the runner is missing, when it faulted, or its report cannot be
// understood.
NetworkResult run_network(const Board& board, const NetworkRequest& request);

}  // namespace linnet::board
