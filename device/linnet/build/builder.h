// Builder: model + operators + plan -> Program. The same code on the device at start-up and on the host ahead of time.
//
// Two passes over the operators with the same lower(): the first counts bytes and learns when each tensor lives, then the
// buffers are placed (by the plan, or greedily), then the second pass writes. Nothing is allocated: the first pass keeps a
// table of tensors in memory that activations use later.
#pragma once
#include "linnet/build/node.h"
#include "linnet/build/plan.h"
#include "linnet/engine/interpreter.h"
#include "linnet/kernels/table.h"
#include "linnet/memory/greedy.h"

namespace linnet {

// What a graph says about an operator, for hosts that report or profile: called after each node was emitted.
struct EmittedNode {
  int32_t subgraph;
  int32_t node;
  uint16_t position;
  uint32_t first_step;  // its steps are first_step up to but not including end_step
  uint32_t end_step;
  uint32_t entry_base;  // entry of tensor 0 of its subgraph
};

// A step as the first pass sees it, for solvers on the host.
struct EmittedStep {
  static constexpr uint32_t copy = UINT32_MAX;  // instead of a kernel: operands are to, from; any overlap is fine
  uint16_t position;
  uint32_t kernel;
  const void* params;
  const Ref* operands;
  uint32_t operand_count;
};

// Hooks and origins serve hosts; a freestanding build leaves them out.
constexpr bool builder_has_hooks = __STDC_HOSTED__ != 0;

struct BuildOptions {
  const Plan* plan = nullptr;      // else the model's own, else greedy placement
  bool ignore_model_plan = false;
  bool origins = false;            // say in the Program which node each step came from
  bool caller_inputs = false;      // inputs (outputs) lie in the caller's own buffers
  bool caller_outputs = false;
  void* context = nullptr;         // of the functions below
  void (*on_refusal)(void* context, Status status, const Where& where) = nullptr;  // one call per operator that is refused
  void (*on_node)(void* context, const EmittedNode& node) = nullptr;               // during the second pass
  void (*on_step)(void* context, const EmittedStep& step) = nullptr;               // during the first pass
  // Where the constants of a buffer of the model lie in the Program's weights section; without it they stay in the model.
  uint32_t (*place_constant)(void* context, uint32_t buffer) = nullptr;
  uint32_t weights_bytes = 0;  // of that section, which the caller fills
};

// A tensor of a subgraph where it is called, or scratch of a node.
struct TensorEntry : Buffer {
  enum Kind : uint8_t { fresh = 0, constant, activation, state, caller, alias };
  enum Flag : uint8_t { graph_input = 2, graph_output = 4, state_in_arena = 8, alignment_shift = 4 };
  uint16_t link = 0;  // alias: the entry whose memory it is
  Kind kind = fresh;
  uint8_t flags = 0;

  bool has(Flag flag) const { return (flags & flag) != 0; }
  void set(Flag flag) { flags = static_cast<uint8_t>(flags | flag); }
  uint32_t alignment() const { return 1u << (flags >> alignment_shift); }
};
static_assert(sizeof(TensorEntry) == 16, "the host reports the device's need for memory");

class Builder {
 public:
  static constexpr uint16_t end_position = UINT16_MAX;
  static constexpr int max_depth = 4;  // of subgraphs within subgraphs

  Builder(const Model& model, const BuildTable& table, const BuildOptions& options, Span<TensorEntry> entries)
      : model_(model), table_(table), options_(options), entries_(entries) {}

  // Refuses what cannot run, all of it at once through options.on_refusal; touches no memory.
  Status infer(Where& where) const;
  // Sizes and lifetimes. out_of_memory if `entries` is too short: entry_count() then says how many it takes.
  Status count(Where& where);
  // Offsets, by the plan or greedily.
  Status place(Where& where);
  // Writes program_bytes() to `program`, 8-aligned. Once.
  Status emit(uint8_t* program, Where& where);

  uint32_t entry_count() const { return now_.entries; }
  const TensorEntry& entry_at(uint32_t i) const { return entries_[i]; }
  uint32_t root_index(uint32_t i) const {
    while (i < entries_.size() && entries_[i].kind == TensorEntry::alias) i = entries_[i].link;
    return i;
  }
  // Where an entry lies now (second pass), role_in.
  Operand place_of(uint32_t entry) const;

  uint32_t arena_bytes() const { return layout_.arena_bytes; }
  uint32_t state_bytes() const { return layout_.persistent_bytes; }
  uint32_t program_bytes() const { return layout_.file_bytes; }
  const Header& layout() const { return layout_; }
  uint32_t weights_offset() const { return weights_offset_; }

 private:
  friend class Emitter;

  Model::Subgraph graph(int32_t i) const { return model_.subgraph(static_cast<uint32_t>(i)); }
  bool writing() const { return program_ != nullptr; }
  bool places_constants() const { return builder_has_hooks && options_.place_constant; }
  TensorEntry& entry(uint32_t i) { return i < entries_.size() ? entries_[i] : overflow_; }

  const OperatorEntry* find_operator(const Node& node, Status& refusal) const;
  Status choose_plan();
  Status pass();
  Status open_subgraph(int32_t subgraph, uint32_t& base);
  Status open_ports(Span<const int32_t> tensors, TensorEntry::Flag flag, bool caller_owned);
  Status walk(int32_t subgraph, uint32_t base);
  Status close_node(const Node& node, uint32_t position, uint32_t base, uint32_t first_step);
  uint32_t state_before(uint32_t subgraph) const;
  void add_state(uint32_t i, const Model::Tensor& tensor);
  void produce(uint32_t i);
  void use(uint32_t i);
  void use_operand(const Ref& ref);
  uint32_t add_scratch(uint32_t bytes);
  Status copy(const Ref& to, const Ref& from);
  Operand* write_step(StepKind kind, uint32_t operands, uint32_t kernel, uint32_t params);
  Operand place_of_ref(const Ref& ref) const;
  void lay_out();
  void write_ports(Span<const int32_t> tensors, const Slice& slice);
  Status check_bounds(const TensorEntry& e, uint32_t offset) const;
  Status check_disjoint(uint32_t i, uint32_t position, bool lags_apply) const;
  Status check_lags(const KernelFacts& facts, const void* params, const Ref* operands, uint32_t n, bool down) const;
  Status apply_moves();

  const Model& model_;
  const BuildTable& table_;
  const BuildOptions& options_;
  Span<TensorEntry> entries_;
  TensorEntry overflow_;  // stands for every entry beyond a table that is too short

  uint8_t* program_ = nullptr;  // null in the first pass
  Where* where_ = nullptr;
  const Plan* plan_ = nullptr;
  Plan model_plan_;
  Header layout_ = {};
  uint32_t weights_offset_ = 0;
  uint32_t caller_buffers_ = 0;

  // What a pass counts; starts from zero each time.
  struct Counts {
    uint32_t entries;
    uint32_t records;  // of code, 8 bytes each
    uint32_t steps;
    uint32_t run_steps;
    uint32_t params_bytes;
    uint32_t state_bytes;  // where the next variable's goes
    uint32_t fills;
    uint32_t next_move;
    uint32_t position;
    uint32_t depth;
    uint64_t sum_bytes;
  };
  Counts now_ = {};
  int32_t active_[max_depth] = {};
};

}  // namespace linnet

#include "linnet/build/builder_impl.h"
