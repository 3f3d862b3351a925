// Builder, the definitions. Included by builder.h.
#pragma once
#include "linnet/build/builder.h"
#include "linnet/core/real.h"

namespace linnet {

// ---- infer ------------------------------------------------------------------------------------------------------------

inline const OperatorEntry* Builder::find_operator(const Node& node, Status& refusal) const {
  Model::Operator op = operator_of(node);
  int32_t code = op.builtin_code();
  Span<const int32_t> inputs = op.inputs();
  Type types[3] = {listed_type(node, inputs, 0), listed_type(node, inputs, 1), listed_type(node, op.outputs(), 0)};
  refusal = LINNET_ERROR(unsupported, "this operator is not supported");
  for (uint32_t i = 0; i < table_.operator_count; ++i) {
    const OperatorEntry& entry = table_.operators[i];
    if (entry.builtin_code != code) continue;
    if (op.version() > entry.max_version) {
      refusal = LINNET_ERROR(unsupported, "this version of the operator is not supported");
      continue;
    }
    const TypeSignature& want = entry.types;
    if ((want.input0 == Type::none || want.input0 == types[0]) && (want.input1 == Type::none || want.input1 == types[1]) &&
        (want.output0 == Type::none || want.output0 == types[2]))
      return &entry;
    refusal = LINNET_ERROR(unsupported, "the operator is not supported for these types");
  }
  return nullptr;
}

inline Status Builder::infer(Where& where) const {
  Status first;
  Where first_where;
  for (uint32_t s = 0; s < model_.subgraph_count(); ++s) {
    Model::Subgraph graph = model_.subgraph(s);
    for (uint32_t i = 0; i < graph.operator_count(); ++i) {
      Node node = node_of(model_, graph, static_cast<int32_t>(s), i);
      Status status;
      const OperatorEntry* entry = find_operator(node, status);
      if (entry) status = entry->infer(node);
      if (status.ok()) continue;
      where = {};
      where.subgraph = node.subgraph;
      where.node = node.index;
      if (!builder_has_hooks) return status;
      if (options_.on_refusal) options_.on_refusal(options_.context, status, where);
      if (first.ok()) {
        first = status;
        first_where = where;
      }
    }
  }
  where = first_where;  // nowhere, if all can run
  return first;
}

// ---- first pass: count, then place ------------------------------------------------------------------------------------

inline Status Builder::choose_plan() {
  plan_ = options_.plan;
  if (plan_ || options_.ignore_model_plan) return {};
  Bytes stored = model_.metadata("linnet.plan");
  if (stored.empty()) return {};
  plan_ = &model_plan_;
  return Plan::read(stored, model_plan_);
}

inline Status Builder::count(Where& where) {
  where_ = &where;
  program_ = nullptr;
  LINNET_TRY(choose_plan());
  LINNET_TRY(pass());
  where = {};
  if (now_.sum_bytes > INT32_MAX) return LINNET_ERROR(unsupported, "the network's activations add up to more than 2 GB");
  if (now_.entries > entries_.size()) {
    where.bytes = now_.entries * static_cast<uint32_t>(sizeof(TensorEntry));
    return LINNET_ERROR(out_of_memory, "the arena is too small to tell how much the network needs");
  }
  lay_out();
  return {};
}

inline void Builder::lay_out() {
  uint32_t at = sizeof(Header);
  auto section = [&at](Slice& slice, uint32_t count, uint32_t record_bytes) {
    slice = {at, count};
    at = align_up(at + count * record_bytes, 8);
  };
  layout_ = {};
  section(layout_.code, now_.records, 8);
  section(layout_.inputs, static_cast<uint32_t>(graph(0).inputs().size()), sizeof(Port));
  section(layout_.outputs, static_cast<uint32_t>(graph(0).outputs().size()), sizeof(Port));
  section(layout_.fills, now_.fills, sizeof(StateFill));
  section(layout_.origins, builder_has_hooks && options_.origins ? now_.steps : 0, sizeof(StepOrigin));
  section(layout_.params, now_.params_bytes, 1);
  weights_offset_ = align_up(at, program_alignment);
  layout_.magic = program_magic;
  layout_.version = program_version;
  layout_.file_bytes = places_constants() ? weights_offset_ + options_.weights_bytes : at;
  layout_.kernels_hash = table_.kernels->hash;
  layout_.persistent_bytes = state_before(model_.subgraph_count());
  layout_.model_bytes = places_constants() ? 0 : static_cast<uint32_t>(model_.file().size());
  layout_.caller_buffers = static_cast<uint16_t>(caller_buffers_);
}

inline Status Builder::check_bounds(const TensorEntry& e, uint32_t offset) const {
  if (offset > plan_->arena_bytes || e.bytes > plan_->arena_bytes - offset || (offset & (e.alignment() - 1)) != 0)
    return LINNET_ERROR(malformed, "the plan puts a tensor outside the arena or misaligned");
  return {};
}

inline Status Builder::place(Where& where) {
  where = {};
  where_ = &where;
  Span<TensorEntry> entries(entries_.data(), now_.entries);
  if (!plan_) {
    layout_.arena_bytes = place_greedily(entries, [](const TensorEntry& e) { return e.kind == TensorEntry::activation; });
    return {};
  }
  if (plan_->offsets.size() != now_.entries)
    return LINNET_ERROR(mismatch, "the plan was made for another network or other kernels");
  if (plan_->arena_bytes > INT32_MAX) return LINNET_ERROR(malformed, "the plan's arena is larger than 2 GB");
  layout_.arena_bytes = plan_->arena_bytes;
  for (uint32_t i = 0; i < now_.entries; ++i) {
    if (entries_[i].kind != TensorEntry::activation) continue;
    entries_[i].offset = plan_->offsets[i];
    LINNET_TRY(check_bounds(entries_[i], entries_[i].offset));
  }
  return {};
}

// ---- both passes ------------------------------------------------------------------------------------------------------

inline Status Builder::emit(uint8_t* program, Where& where) {
  where_ = &where;
  program_ = program;
  __builtin_memset(program, 0, layout_.file_bytes);
  __builtin_memcpy(program, &layout_, sizeof layout_);
  return pass();
}

inline Status Builder::pass() {
  now_ = {};
  *where_ = {};
  uint32_t base;
  LINNET_TRY(open_subgraph(0, base));
  LINNET_TRY(open_ports(graph(0).inputs(), TensorEntry::graph_input, options_.caller_inputs));
  LINNET_TRY(open_ports(graph(0).outputs(), TensorEntry::graph_output, options_.caller_outputs));
  if (writing()) {
    write_ports(graph(0).inputs(), layout_.inputs);
    for (uint32_t i = 0; plan_ && i < now_.entries; ++i) LINNET_TRY(check_disjoint(i, 0, false));
  }
  LINNET_TRY(walk(0, base));
  *where_ = {};
  write_step(StepKind::end, 0, 0, 0);
  for (int32_t t : graph(0).outputs()) {
    now_.position = end_position;
    use(static_cast<uint32_t>(t));
  }
  if (!writing()) return {};
  write_ports(graph(0).outputs(), layout_.outputs);
  for (uint32_t i = 0; i < now_.entries; ++i)  // state must be back where the next inference expects it
    if (entries_[i].has(TensorEntry::state_in_arena) && entries_[i].offset != plan_->offsets[i])
      return LINNET_ERROR(malformed, "the plan leaves state away from its place");
  return {};
}

inline uint8_t alignment_flags(uint32_t bytes) {
  uint32_t shift = bytes >= 8 ? 3 : bytes >= 4 ? 2 : bytes >= 2 ? 1 : 0;
  return static_cast<uint8_t>(shift << TensorEntry::alignment_shift);
}

// State of the variables of all subgraphs before this one: theirs is the same wherever they are called.
inline uint32_t Builder::state_before(uint32_t subgraph) const {
  uint32_t bytes = 0;
  while (subgraph-- != 0) {
    Model::Subgraph s = model_.subgraph(subgraph);
    for (uint32_t i = 0; i < s.tensor_count(); ++i)
      if (Model::Tensor tensor = s.tensor(i); tensor.is_variable()) bytes += align_up(tensor.bytes(), persistent_alignment);
  }
  return bytes;
}

// Makes entries for a subgraph's tensors. Constants and variables are known from the start.
inline Status Builder::open_subgraph(int32_t subgraph, uint32_t& base) {
  for (uint32_t i = 0; i < now_.depth; ++i)
    if (active_[i] == subgraph) return LINNET_ERROR(unsupported, "a subgraph calls itself");
  if (now_.depth == max_depth) return LINNET_ERROR(unsupported, "subgraphs call each other too deeply");
  active_[now_.depth++] = subgraph;
  Model::Subgraph s = graph(subgraph);
  base = now_.entries;
  now_.state_bytes = state_before(static_cast<uint32_t>(subgraph));
  now_.entries += s.tensor_count();
  if (now_.entries > UINT16_MAX) return LINNET_ERROR(unsupported, "the network has more than 65535 tensors");
  for (uint32_t i = 0; i < s.tensor_count(); ++i) {
    Model::Tensor tensor = s.tensor(i);
    TensorEntry& e = entry(base + i);
    uint32_t data_offset = tensor.data_offset();
    if (!writing()) {
      e = {};
      e.bytes = tensor.bytes();
      e.flags = alignment_flags(element_bytes(tensor.type()));
      if (data_offset) {
        e.kind = TensorEntry::constant;
        e.offset = places_constants() ? options_.place_constant(options_.context, tensor.buffer()) : data_offset;
      }
    }
    if (tensor.is_variable()) add_state(base + i, tensor);
  }
  return {};
}

// State lies in the persistent region, or in the arena where a plan wants it to move with the others.
inline void Builder::add_state(uint32_t i, const Model::Tensor& tensor) {
  TensorEntry& e = entry(i);
  bool in_arena = plan_ && now_.depth == 1 && i < plan_->offsets.size() && plan_->offsets[i] != Plan::not_in_arena;
  e.last = end_position;
  e.kind = TensorEntry::state;
  if (in_arena) {
    e.kind = TensorEntry::activation;
    e.set(TensorEntry::state_in_arena);
  } else {
    e.offset = now_.state_bytes;
    now_.state_bytes += align_up(e.bytes, persistent_alignment);
  }
  int32_t value = tensor.type() == Type::int8 ? tensor_info(tensor).zero_point() : 0;
  if (value == 0 && !in_arena) return;
  if (writing()) {
    StateFill* fill = reinterpret_cast<StateFill*>(program_ + layout_.fills.offset) + now_.fills;
    fill->place = place_of(i);
    fill->bytes = e.bytes;
    fill->value = value;
  }
  ++now_.fills;
}

// Inputs have their contents from the start. What the caller owns is numbered in the order of inputs, then outputs.
inline Status Builder::open_ports(Span<const int32_t> tensors, TensorEntry::Flag flag, bool caller_owned) {
  for (int32_t t : tensors) {
    TensorEntry& e = entry(static_cast<uint32_t>(t));
    e.set(flag);
    if (caller_owned && !writing() && e.kind == TensorEntry::fresh) {
      if (caller_buffers_ == max_caller_regions) return LINNET_ERROR(unsupported, "the caller can own at most 64 inputs and outputs");
      e.kind = TensorEntry::caller;
      e.offset = caller_buffers_++;
    }
    if (flag == TensorEntry::graph_input) produce(static_cast<uint32_t>(t));
  }
  return {};
}

// The entry gets its contents here: its memory is taken from this position on.
__attribute__((noinline)) inline void Builder::produce(uint32_t i) {
  TensorEntry& e = entry(i);
  if (e.kind == TensorEntry::fresh) {
    e.kind = TensorEntry::activation;
    e.first = e.last = static_cast<uint16_t>(now_.position);
    now_.sum_bytes += align_up(e.bytes, arena_alignment);
  }
  use(i);
}

__attribute__((noinline)) inline void Builder::use(uint32_t i) {
  TensorEntry& r = entry(root_index(i));
  if (r.last < now_.position) r.last = static_cast<uint16_t>(now_.position);
}

inline void Builder::use_operand(const Ref& ref) {
  if (ref.kind == Ref::tensor) ref.role == role_out ? produce(ref.index) : use(ref.index);
}

inline uint32_t Builder::add_scratch(uint32_t bytes) {
  uint32_t i = now_.entries++;
  TensorEntry& e = entry(i);
  if (!writing()) {
    e = {};
    e.bytes = bytes;
    e.flags = alignment_flags(8);
  }
  produce(i);
  return i;
}

inline Status Builder::walk(int32_t subgraph, uint32_t base) {
  Model::Subgraph current = graph(subgraph);
  for (uint32_t i = 0; i < current.operator_count(); ++i) {
    if (now_.position >= end_position - 1) return LINNET_ERROR(unsupported, "the network has more than 65533 operators");
    Node node = node_of(model_, current, subgraph, i);
    where_->subgraph = subgraph;
    where_->node = node.index;
    Status refusal;
    const OperatorEntry* op = find_operator(node, refusal);
    if (!op) return refusal;
    uint32_t position = ++now_.position;
    uint32_t first_step = now_.steps;
    Emitter emitter(*this, node, base);
    LINNET_TRY(op->lower(node, emitter));
    LINNET_TRY(close_node(node, position, base, first_step));
  }
  --now_.depth;
  return {};
}

inline Status Builder::close_node(const Node& node, uint32_t position, uint32_t base, uint32_t first_step) {
  for (uint32_t i = 0; writing() && plan_ && i < now_.entries; ++i)
    if (entries_[i].first == position) LINNET_TRY(check_disjoint(i, position, now_.steps == first_step + 1));
  if (builder_has_hooks && writing() && options_.on_node) options_.on_node(options_.context, {node.subgraph, node.index, static_cast<uint16_t>(position), first_step, now_.steps, base});
  return plan_ && now_.depth == 1 ? apply_moves() : Status();
}

inline Operand* Builder::write_step(StepKind kind, uint32_t operands, uint32_t kernel, uint32_t params) {
  uint32_t at = now_.records;
  now_.records += 1 + operands;
  uint32_t index = now_.steps++;
  if (!writing()) return nullptr;
  if (builder_has_hooks && options_.origins) {
    StepOrigin* origin = reinterpret_cast<StepOrigin*>(program_ + layout_.origins.offset) + index;
    origin->subgraph = static_cast<uint16_t>(where_->subgraph);
    origin->node = static_cast<uint16_t>(where_->node);
  }
  Step* step = reinterpret_cast<Step*>(program_ + layout_.code.offset) + at;
  step->kind = static_cast<uint8_t>(kind);
  step->operands = static_cast<uint8_t>(operands);
  step->kernel = static_cast<uint16_t>(kernel);
  step->params = params;
  return reinterpret_cast<Operand*>(step + 1);
}

inline Operand Builder::place_of(uint32_t i) const {
  const TensorEntry& e = entries_[root_index(i)];
  switch (e.kind) {
    case TensorEntry::activation: return {e.offset, region_arena, role_in, 0};
    case TensorEntry::state: return {e.offset, region_persistent, role_in, 0};
    case TensorEntry::caller: return {0, static_cast<uint8_t>(region_caller + e.offset), role_in, 0};
    case TensorEntry::constant:
      if (!places_constants()) return {e.offset, region_model, role_in, 0};
      return {weights_offset_ + e.offset, region_program, role_in, 0};
    default: return {0, region_none, role_in, 0};
  }
}

inline Operand Builder::place_of_ref(const Ref& ref) const {
  Operand operand = {0, region_none, role_in, 0};
  if (ref.kind == Ref::tensor) operand = place_of(ref.index);
  if (ref.kind == Ref::array) operand = {layout_.params.offset + ref.index, region_program, role_in, 0};
  operand.role = ref.role;
  return operand;
}

inline void Builder::write_ports(Span<const int32_t> tensors, const Slice& slice) {
  Port* ports = reinterpret_cast<Port*>(program_ + slice.offset);
  for (size_t i = 0; i < tensors.size(); ++i) {
    uint32_t index = static_cast<uint32_t>(tensors[i]);
    Model::Tensor tensor = graph(0).tensor(index);
    Port& port = ports[i];
    TensorInfo info = tensor_info(tensor);
    port.place = place_of(index);
    port.type = static_cast<uint8_t>(info.type);
    port.bytes = tensor.bytes();
    port.rank = static_cast<uint8_t>(info.rank() <= 6 ? info.rank() : 0);
    for (uint32_t d = 0; d < port.rank; ++d) port.dims[d] = info.dims[d];
    if (info.scales.size() != 1) continue;
    port.scale_bits = detail::float_bits(info.scales[0]);
    port.zero_point = info.zero_point();
  }
}

inline Status Builder::copy(const Ref& to, const Ref& from) {
  use_operand(from);
  use_operand(to);
  if (builder_has_hooks && !writing() && options_.on_step) {
    Ref refs[2] = {to, from};
    options_.on_step(options_.context, {static_cast<uint16_t>(now_.position), EmittedStep::copy, nullptr, refs, 2});
  }
  Operand* operands = write_step(StepKind::move, 2, 0, entry(to.index).bytes);
  if (!operands) return {};
  operands[0] = place_of_ref(to);
  operands[1] = place_of_ref(from);
  return {};
}

// ---- plans are not trusted --------------------------------------------------------------------------------------------

// Entry i against everything that lives at `position`. Where a node is one step, its output may overlap inputs that it is
// the last to read: those pairs are left to check_lags (or to the step, a move).
inline Status Builder::check_disjoint(uint32_t i, uint32_t position, bool lags_apply) const {
  const TensorEntry& a = entries_[i];
  if (a.kind != TensorEntry::activation || a.first > position || a.last < position) return {};
  for (uint32_t j = 0; j < now_.entries; ++j) {
    const TensorEntry& b = entries_[j];
    if (j == i || b.kind != TensorEntry::activation || b.first > position || b.last < position || !share_memory(a, b)) continue;
    if (lags_apply && ((b.last == position && a.first == position) || (a.last == position && b.first == position))) continue;
    where_->tensor = static_cast<int32_t>(i);
    return LINNET_ERROR(malformed, "the plan puts two tensors that live at the same time in the same place");
  }
  return {};
}

inline Status Builder::check_lags(const KernelFacts& facts, const void* params, const Ref* operands, uint32_t n,
                                  bool down) const {
  for (uint32_t o = 0; o < n; ++o) {
    if (operands[o].kind != Ref::tensor || operands[o].role == role_in || operands[o].role == role_constant) continue;
    const TensorEntry& out = entries_[root_index(operands[o].index)];
    for (uint32_t i = 0; i < n; ++i) {
      if (i == o || operands[i].kind != Ref::tensor) continue;
      const TensorEntry& in = entries_[root_index(operands[i].index)];
      if (out.kind != TensorEntry::activation || in.kind != TensorEntry::activation || !share_memory(in, out)) continue;
      bool ok = false;
      if (operands[o].role == role_out && operands[i].role == role_in && facts.lag) {
        // Offsets are below 2^31, so distances fit, and none is as large as Lag::never.
        Lag lag = facts.lag(params, static_cast<int>(i), static_cast<int>(o));
        int32_t up = static_cast<int32_t>(in.offset - out.offset);
        ok = down ? static_cast<int32_t>(out.bytes - in.bytes) - up >= lag.backward : up >= lag.forward;
      }
      if (!ok) return LINNET_ERROR(malformed, "the plan lets an operator overwrite what it still reads");
    }
  }
  return {};
}

inline Status Builder::apply_moves() {
  for (; now_.next_move < plan_->moves.size() && plan_->moves[now_.next_move].position <= now_.position; ++now_.next_move) {
    if (!writing()) {  // the first pass counts them
      if (now_.next_move > UINT16_MAX) return LINNET_ERROR(malformed, "the plan moves tensors more often than makes sense");
      write_step(StepKind::move, 2, 0, 0);
      continue;
    }
    const PlannedMove& move = plan_->moves[now_.next_move];
    if (move.entry >= now_.entries || entries_[move.entry].kind != TensorEntry::activation ||
        entries_[move.entry].first > now_.position || entries_[move.entry].last <= now_.position)
      return LINNET_ERROR(malformed, "the plan moves a tensor that does not live");
    TensorEntry& e = entries_[move.entry];
    LINNET_TRY(check_bounds(e, move.offset));
    Operand* operands = write_step(StepKind::move, 2, 0, e.bytes);
    operands[1] = place_of(move.entry);
    e.offset = move.offset;
    operands[0] = place_of(move.entry);
    operands[0].role = role_out;
    for (uint32_t j = 0; j < now_.entries; ++j) {
      const TensorEntry& b = entries_[j];
      if (j != move.entry && b.kind == TensorEntry::activation && b.first <= now_.position && b.last > now_.position &&
          share_memory(e, b))
        return LINNET_ERROR(malformed, "the plan moves a tensor onto another");
    }
  }
  return {};
}

// ---- Emitter ----------------------------------------------------------------------------------------------------------

inline Ref Emitter::in(int i) {
  int32_t t = tensor_index(operator_of(node_).inputs(), i);
  if (t < 0) return {};
  uint32_t index = first_entry_ + static_cast<uint32_t>(t);
  bool constant = builder_.entry(builder_.root_index(index)).kind == TensorEntry::constant;
  return {Ref::tensor, static_cast<uint8_t>(constant ? role_constant : role_in), index};
}

inline Ref Emitter::inout(int i) {
  Ref ref = in(i);
  ref.role = role_inout;
  return ref;
}

inline Ref Emitter::out(int i) {
  int32_t t = tensor_index(operator_of(node_).outputs(), i);
  if (t < 0) return {};
  return {Ref::tensor, role_out, first_entry_ + static_cast<uint32_t>(t)};
}

inline Ref Emitter::scratch(uint32_t bytes) { return {Ref::tensor, role_scratch, builder_.add_scratch(bytes)}; }

inline Ref Emitter::array_bytes(uint32_t bytes, void** storage) {
  uint32_t offset = align_up(builder_.now_.params_bytes, 4);
  builder_.now_.params_bytes = offset + bytes;
  *storage = builder_.writing() ? builder_.program_ + builder_.layout_.params.offset + offset : nullptr;
  return {Ref::array, role_constant, offset};
}

inline Status Emitter::step(uint32_t computation, const void* params, uint32_t params_bytes, const Ref* given, uint32_t n) {
  Builder& b = builder_;
  uint32_t kernel = 0;
  const KernelFacts* facts = b.table_.facts;
  for (;; ++kernel, ++facts) {
    if (kernel == b.table_.kernels->count)
      return LINNET_ERROR(unsupported, "this firmware has no kernel for the operator: build it with one");
    if (facts->computation == computation && facts->accepts(params)) break;
  }
  Ref operands[max_operands];
  for (uint32_t i = 0; i < n; ++i) operands[i] = given[i];
  if (uint32_t bytes = facts->scratch_bytes(params); bytes != 0) {
    if (n == max_operands) return LINNET_ERROR(unsupported, "the operator has too many operands");
    operands[n++] = scratch(bytes);
  }
  // What `run` relies on. A Program that is built here runs without the check of one that comes in a file.
  ExtentRoom room;
  if (!b.writing() && !b.table_.kernels->kernels[kernel].check(static_cast<const uint8_t*>(params), params_bytes, room.clear(static_cast<int>(n)), static_cast<int>(n)))
    return LINNET_ERROR(unsupported, "the operator's sizes or scales are beyond what its kernel can compute");
  for (uint32_t i = 0; i < n; ++i) b.use_operand(operands[i]);
  if (builder_has_hooks && !b.writing() && b.options_.on_step) b.options_.on_step(b.options_.context, {static_cast<uint16_t>(b.now_.position), kernel, params, operands, n});
  bool down = b.plan_ && b.plan_->step_walks_down(b.now_.run_steps);
  ++b.now_.run_steps;
  void* stored;
  uint32_t offset = array_bytes(params_bytes, &stored).index;
  Operand* places = b.write_step(StepKind::run, n, down ? kernel | step_walks_down : kernel, b.layout_.params.offset + offset);
  if (!places) return {};
  __builtin_memcpy(stored, params, params_bytes);
  for (uint32_t i = 0; i < n; ++i) places[i] = b.place_of_ref(operands[i]);
  return b.plan_ ? b.check_lags(*facts, params, operands, n, down) : Status();
}

inline Status Emitter::alias(int input, int output) {
  Builder& b = builder_;
  Ref from = in(input), to = out(output);
  if (from.kind == Ref::absent || to.kind == Ref::absent) return LINNET_ERROR(malformed, "an operand is missing");
  uint32_t root = b.root_index(from.index);
  const TensorEntry& r = b.entry(root);
  TensorEntry& e = b.entry(to.index);
  if (!b.writing() && e.kind == TensorEntry::fresh && (r.kind == TensorEntry::activation || r.kind == TensorEntry::caller) &&
      !r.has(TensorEntry::state_in_arena) && !(r.has(TensorEntry::graph_input) && e.has(TensorEntry::graph_output)) &&
      r.bytes == e.bytes && r.alignment() >= e.alignment()) {
    e.kind = TensorEntry::alias;
    e.link = static_cast<uint16_t>(root);
  }
  if (e.kind != TensorEntry::alias || e.link != root) return b.copy(to, from);
  b.use(from.index);
  b.produce(to.index);
  return {};
}

inline Emitter::Label Emitter::branch_if_false(Ref condition) {
  builder_.use_operand(condition);
  Label label{builder_.now_.records};
  Operand* operand = builder_.write_step(StepKind::branch, 1, 0, 0);
  if (operand) *operand = builder_.place_of_ref(condition);
  return label;
}

inline Emitter::Label Emitter::jump() {
  Label label{builder_.now_.records};
  builder_.write_step(StepKind::jump, 0, 0, 0);
  return label;
}

inline void Emitter::bind(Label label) {
  if (!builder_.writing()) return;
  Step* step = reinterpret_cast<Step*>(builder_.program_ + builder_.layout_.code.offset) + label.at;
  step->params = builder_.now_.records * 8;
}

inline Status Emitter::subgraph(int32_t index, int first_input) {
  Builder& b = builder_;
  if (index < 0 || index >= node_.subgraph_count()) return LINNET_ERROR(malformed, "a subgraph that is called does not exist");
  Where where = *b.where_;
  uint32_t base;
  LINNET_TRY(b.open_subgraph(index, base));
  Span<const int32_t> inputs = b.graph(index).inputs(), outputs = b.graph(index).outputs();
  if (inputs.size() != static_cast<size_t>(node_.input_count() - first_input) ||
      outputs.size() != static_cast<size_t>(node_.output_count()))
    return LINNET_ERROR(malformed, "a subgraph is called with another number of tensors than it has");
  for (size_t i = 0; i < inputs.size(); ++i) {
    Ref outer = in(first_input + static_cast<int>(i));
    uint32_t inner = base + static_cast<uint32_t>(inputs[i]);
    TensorEntry& e = b.entry(inner);
    if (outer.kind == Ref::absent || e.bytes != b.entry(outer.index).bytes)
      return LINNET_ERROR(malformed, "a subgraph is called with a tensor of another size");
    b.use(outer.index);
    if (!b.writing() && e.kind == TensorEntry::fresh) {
      e.kind = TensorEntry::alias;
      e.link = static_cast<uint16_t>(b.root_index(outer.index));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Ref outer = out(static_cast<int>(i));
    TensorEntry& e = b.entry(base + static_cast<uint32_t>(outputs[i]));
    if (outer.kind == Ref::absent || e.bytes != b.entry(outer.index).bytes)
      return LINNET_ERROR(malformed, "a subgraph gives a tensor of another size than its caller takes");
    b.produce(outer.index);
    if (!b.writing() && e.kind == TensorEntry::fresh) {
      e.kind = TensorEntry::alias;
      e.link = static_cast<uint16_t>(b.root_index(outer.index));
    }
  }
  LINNET_TRY(b.walk(index, base));
  *b.where_ = where;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Ref outer = out(static_cast<int>(i));
    uint32_t inner = base + static_cast<uint32_t>(outputs[i]);
    const TensorEntry& e = b.entry(inner);
    if (e.kind == TensorEntry::alias && e.link == b.root_index(outer.index)) b.use(inner);
    else LINNET_TRY(b.copy(outer, {Ref::tensor, role_in, inner}));
  }
  return {};
}

// ---- on the device ----------------------------------------------------------------------------------------------------

inline Status Interpreter::init(const Model& model, const BuildTable& table, Arena& shared, const BuildOptions& options) {
  LINNET_TRY(open(shared));
  Span<TensorEntry> entries(reinterpret_cast<TensorEntry*>(shared.bottom()), shared.free_bytes() / sizeof(TensorEntry));
  Builder builder(model, table, options, entries);
  if (Status status = builder.infer(where_); !status.ok()) return fail(status);
  if (Status status = builder.count(where_); !status.ok()) {
    if (where_.bytes != 0) where_.bytes += shared.padding_bytes() + shared.persistent_bytes();
    return fail(status);
  }
  if (Status status = builder.place(where_); !status.ok()) return fail(status);
  uint32_t table_bytes = builder.entry_count() * static_cast<uint32_t>(sizeof(TensorEntry));
  uint32_t activations = builder.arena_bytes() > table_bytes ? builder.arena_bytes() : table_bytes;
  uint32_t program_bytes = builder.program_bytes();  // sections are multiples of 8
  uint32_t bytes = program_bytes + builder.state_bytes() + bases_bytes(builder.layout());
  uint8_t* persistent = nullptr;
  LINNET_TRY(take(shared, activations, bytes, &persistent));
  if (Status status = builder.emit(persistent, where_); !status.ok()) return fail(status);
  Resources resources;
  resources.model = model.file();
  return adopt(persistent, *table.kernels, resources, persistent + program_bytes);
}

inline Status Interpreter::init(const Model& model, const BuildTable& table, Span<uint8_t> arena, const BuildOptions& options) {
  return init(model, table, own(arena), options);
}

inline Status Interpreter::init(const Model& model, const BuildTable& table, Span<uint8_t> arena) {
  return init(model, table, arena, BuildOptions());
}

}  // namespace linnet
