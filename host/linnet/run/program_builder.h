// Makes a Program from a model on the host, with the device's own builder, and remembers what came from where.
#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "linnet/build/builder.h"

namespace linnet {

// A failure that a person can do something about; what() is one sentence or, for refusals, one line each.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Status and Where in words: "operator 3 (CONV_2D) of subgraph 0: the filter ...".
std::string describe(Status status, const Where& where, const Model* model = nullptr);

struct ProgramOptions {
  const Plan* plan = nullptr;
  bool ignore_model_plan = false;
  bool constants_in_model = false;  // as a device builds it; otherwise the Program is self-sufficient
  bool caller_inputs = false;
  bool caller_outputs = false;
  bool origins = true;
};

struct NodeOutput {
  int32_t tensor;
  Operand place;  // right after the node
  uint32_t bytes;
};
struct BuiltNode {
  int32_t subgraph;
  int32_t node;
  uint16_t position;
  uint32_t first_step;
  uint32_t end_step;
  std::vector<NodeOutput> outputs;
};

// What a network takes of an arena; several in one arena add up as memory/arena.h says.
struct ArenaNeed {
  uint32_t activation_bytes = 0;  // both multiples of 8
  uint32_t persistent_bytes = 0;
  uint32_t bytes() const { return activation_bytes + persistent_bytes; }
};
// A Program made ahead of time.
ArenaNeed arena_need(const Header& header);
// Of a 16-aligned arena for all of them. Throws Error if it is more than there can be.
uint32_t shared_arena_bytes(std::span<const ArenaNeed> networks);

struct BuiltProgram {
  std::vector<uint8_t> bytes;  // 16-aligned
  std::vector<BuiltNode> nodes;
  std::vector<TensorEntry> entries;
  uint32_t table_bytes;        // that a device building it needs besides activations
  const Header& header() const { return *reinterpret_cast<const Header*>(bytes.data()); }
  // The arena that a device needs to run this Program, made ahead of time / built by itself.
  ArenaNeed need_ready() const { return arena_need(header()); }
  ArenaNeed need_built() const;
  uint32_t arena_bytes_ready() const { return need_ready().bytes(); }
  uint32_t arena_bytes_built() const { return need_built().bytes(); }
  // By moves between operators, per inference; what operators themselves copy is not among them.
  uint64_t moved_bytes() const;
};

// Throws Error: all refused operators are named in one message.
BuiltProgram build_program(const Model& model, const BuildTable& table, const ProgramOptions& options = {});

// Opens a model or throws Error. The bytes must stay and be 16-aligned.
Model open_model(Bytes file);

}  // namespace linnet
