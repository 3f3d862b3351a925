// Interpreter: runs a Program in an arena.
//
// The loop resolves the operands of a step to addresses immediately before the step and keeps none of them after it, so
// buffers may move between steps (Liberis & Lane 2019, section 5). It never fails inside a kernel: everything that can be
// wrong with a Program was refused by init.
#pragma once
#include "linnet/core/span.h"
#include "linnet/core/status.h"
#include "linnet/core/types.h"
#include "linnet/engine/check.h"
#include "linnet/engine/program.h"
#include "linnet/memory/arena.h"

namespace linnet {

enum class Progress : uint8_t { more, done, failed };  // failed: see status()

struct Nest;
struct BuildTable;
struct BuildOptions;
class Model;

// Memory and devices besides the first arena. Owned by the caller, as long as the interpreter lives.
struct Resources {
  Span<uint8_t> arena2;  // 16-aligned
  Bytes model;           // the .tflite, if the Program leaves constants there
  BlockDevice* storage = nullptr;
};

// An input or output of the network, in place. Valid until the next init.
class Tensor {
 public:
  Tensor(const Port& port, uint8_t* data) : port_(&port), data_(data) {}
  template <class T>
  T* data() const { return reinterpret_cast<T*>(data_); }
  uint32_t bytes() const { return port_->bytes; }
  Type type() const { return static_cast<Type>(port_->type); }
  Span<const int32_t> dims() const { return {port_->dims, port_->rank}; }
  float scale() const {
    float value;
    __builtin_memcpy(&value, &port_->scale_bits, sizeof value);
    return value;
  }
  int32_t zero_point() const { return port_->zero_point; }

 private:
  const Port* port_;
  uint8_t* data_;
};

class Interpreter {
 public:
  constexpr Interpreter() = default;
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // From a Program, made by `linnet export` or `linnet plan`. Program and table must outlive the interpreter.
  Status init(Bytes program, const KernelTable& kernels, Span<uint8_t> arena, const Resources& resources = {}) {
    return init(program, kernels, own(arena), resources);
  }
  // Several interpreters may share an Arena (memory/arena.h says how large it must be). It must outlive them.
  Status init(Bytes program, const KernelTable& kernels, Arena& shared, const Resources& resources = {});

  // From a .tflite: the Program is built at the top of the arena. Defined in build/builder.h.
  Status init(const Model& model, const BuildTable& table, Span<uint8_t> arena);
  Status init(const Model& model, const BuildTable& table, Span<uint8_t> arena, const BuildOptions& options);
  Status init(const Model& model, const BuildTable& table, Arena& shared, const BuildOptions& options);

  // Gives the network up: as before init. A shared Arena gets its persistent part back, at once if no other interpreter came
  // to it later, else when nobody has a part of it any more; init does so first, too. To be called before an interpreter goes
  // whose Arena stays.
  void close();

  uint32_t input_count() const { return header().inputs.count; }
  uint32_t output_count() const { return header().outputs.count; }
  Tensor input(uint32_t i) const { return tensor(header().inputs, i); }  // i < input_count(); after a successful init
  Tensor output(uint32_t i) const { return tensor(header().outputs, i); }

  // Gives a caller-owned input or output its memory, for Programs that were made so. `bytes` must be the tensor's.
  Status bind_input(uint32_t i, void* data, uint32_t bytes) { return bind(header().inputs, i, data, bytes); }
  Status bind_output(uint32_t i, void* data, uint32_t bytes) { return bind(header().outputs, i, data, bytes); }

  // One whole inference. Continues one that step() began.
  Status run() {
    while (advance(0) == Progress::more) {}  // 0: without end
    return status_;
  }
  // Begins an inference before its first step. In a shared arena that protects the inputs, which are written afterwards: until
  // the inference ends, or cancel(), what the others begin is refused (busy). Outputs are to be read before another one begins.
  Status start() { return pc_ || begin() ? Status() : status_; }
  // One step (or tile), so that a watchdog can be fed or the inference cancelled. `done`: the outputs are there.
  Progress step() { return advance(1); }
  // Drops the inference in progress; the next step() starts a new one. State that it has changed stays: see reset().
  void cancel() { finish(); }
  // Sets all state (variables) to its initial value.
  void reset();

  Status status() const { return status_; }
  const Where& where() const { return where_; }   // what status() is about

  // Sizes, the same on host and target: activations of this network, what it added to the arena's persistent part (with
  // the Program, if that was built there), and the smallest arena that holds it alone.
  uint32_t activation_bytes() const { return header().arena_bytes; }
  uint32_t arena_bytes() const { return need_bytes_; }
  uint32_t persistent_bytes() const { return share_.persistent_bytes; }
  const uint8_t* program() const { return reinterpret_cast<const uint8_t*>(header_); }
  // Where an operand of the Program lies now, for tools that look into an inference.
  const uint8_t* address(const Operand& operand) const { return resolve(operand); }
  // What a Program's caller-owned buffers take in the persistent region.
  static uint32_t bases_bytes(const Header& header) {
    // 8 bytes for each buffer on every machine, so that host and board report the same
    return header.caller_buffers > inline_caller_regions ? (region_caller + header.caller_buffers) * 8u : 0;
  }

 private:
  friend class Builder;
  friend struct NestRunner;

  // What an interpreter shows before init: no inputs, no outputs.
  static constexpr Header no_program = {};

  const Header& header() const { return *header_; }
  Tensor tensor(const Slice& slice, uint32_t i) const {
    const Port& port = ports_of(program(), slice)[i];
    return {port, bases_[port.place.region] + port.place.offset};
  }
  const Step* first_step() const { return reinterpret_cast<const Step*>(program() + header().code.offset); }
  uint8_t* resolve(const Operand& operand) const { return bases_[operand.region] + operand.offset; }

  Status fail(Status status) {
    close();
    return status_ = status;
  }
  Arena& own(Span<uint8_t> memory) {
    close();
    return own_arena_ = Arena(memory);
  }
  Status open(Arena& arena);
  Status take(Arena& arena, uint32_t activations, uint32_t persistent, uint8_t** at);
  Status adopt(const uint8_t* program, const KernelTable& kernels, const Resources& resources, uint8_t* persistent);
  Status bind(const Slice& slice, uint32_t i, void* data, uint32_t bytes);
  static Status cannot_share() { return LINNET_ERROR(invalid_call, "a network that keeps state among its activations cannot share its arena"); }
  bool begin();
  // Ends the inference, when no request to storage uses the arena any more.
  Status settle() {
    Status status = storage_ ? table_->tiling->settle(*storage_) : Status();
    pc_ = nullptr;
    if (arena_) arena_->release(this);
    return status;
  }
  void finish() { (void)settle(); }
  Progress stop(Status status) {
    finish();
    status_ = status;
    return Progress::failed;
  }
  Progress advance(uint32_t budget);
  const Step* other_step(const Step* step);

  const Header* header_ = &no_program;
  const KernelEntry* kernels_ = nullptr;
  const KernelTable* table_ = nullptr;
  uint8_t** bases_ = inline_bases_;
  const Step* pc_ = nullptr;  // null between inferences
  Arena* arena_ = nullptr;
  Arena::Share share_;
  uint32_t need_bytes_ = 0;
  BlockDevice* storage_ = nullptr;  // null if the table has no tiling
  Arena own_arena_;
  Status status_;
  Where where_;
  const Nest* nest_ = nullptr;  // whose body pc_ is in; its counters:
  uint16_t counters_[6] = {};
  uint8_t* inline_bases_[region_caller + inline_caller_regions] = {};
};

__attribute__((noinline)) inline void Interpreter::close() {
  finish();
  header_ = &no_program;
  storage_ = nullptr;
  need_bytes_ = 0;
  if (arena_) arena_->take_back(share_);
  arena_ = nullptr;
}

// What every init begins with.
__attribute__((noinline)) inline Status Interpreter::open(Arena& arena) {
  close();
  where_ = {};
  if (arena.in_use()) return status_ = LINNET_ERROR(busy, "another interpreter is in the middle of an inference in this arena");
  if (arena.is_exclusive()) return status_ = cannot_share();
  return {};
}

__attribute__((noinline)) inline Status Interpreter::take(Arena& arena, uint32_t activations, uint32_t persistent, uint8_t** at) {
  if (Status status = arena.reserve(activations, persistent, share_, at, where_); !status.ok()) return fail(status);
  arena_ = &arena;
  need_bytes_ = align_up(activations, persistent_alignment) + share_.persistent_bytes;
  return {};
}

inline Status Interpreter::init(Bytes program, const KernelTable& kernels, Arena& shared, const Resources& resources) {
  LINNET_TRY(open(shared));
  if ((reinterpret_cast<uintptr_t>(program.data()) & (program_alignment - 1)) != 0)
    return fail(LINNET_ERROR(invalid_call, "the Program must start at a multiple of 16 bytes"));
  if (program.size() < sizeof(Header)) return fail(LINNET_ERROR(malformed, "this is not a Linnet Program"));
  ProgramCheck check(program, kernels, static_cast<uint32_t>(resources.model.size()));
  if (Status status = check.run(where_); !status.ok()) return fail(status);
  const Header& header = header_of(program.data());
  if (header.storage_bytes != 0 && !(kernels.tiling && kernels.tiling->storage_fits(resources.storage, header.storage_bytes)))
    return fail(LINNET_ERROR(mismatch, "the Program needs a storage device of the size that it was planned for"));
  if (header.arena2_bytes > resources.arena2.size()) {
    where_.bytes = header.arena2_bytes;
    return fail(LINNET_ERROR(out_of_memory, "the second arena is too small"));
  }
  uint8_t* persistent = nullptr;
  uint32_t bytes = align_up(header.persistent_bytes, persistent_alignment) + bases_bytes(header);
  LINNET_TRY(take(shared, header.arena_bytes, bytes, &persistent));
  return adopt(program.data(), kernels, resources, persistent);
}

__attribute__((noinline)) inline Status Interpreter::adopt(const uint8_t* program, const KernelTable& kernels, const Resources& resources,
                                 uint8_t* persistent) {
  header_ = &header_of(program);
  kernels_ = kernels.kernels;
  table_ = &kernels;
  storage_ = kernels.tiling ? resources.storage : nullptr;
  const Header& h = header();
  bases_ = inline_bases_;
  if (h.caller_buffers > inline_caller_regions)
    bases_ = reinterpret_cast<uint8_t**>(persistent + align_up(h.persistent_bytes, persistent_alignment));
  for (uint32_t i = 0; i < region_caller + static_cast<uint32_t>(h.caller_buffers); ++i) bases_[i] = nullptr;
  bases_[region_arena] = arena_->bottom();
  bases_[region_arena2] = resources.arena2.data();
  bases_[region_persistent] = persistent;
  bases_[region_program] = const_cast<uint8_t*>(program);  // init has refused steps that write there
  bases_[region_model] = const_cast<uint8_t*>(resources.model.data());
  const StateFill* fills = reinterpret_cast<const StateFill*>(program + h.fills.offset);
  for (uint32_t i = 0; i < h.fills.count; ++i)
    if (fills[i].place.region != region_persistent && !arena_->make_exclusive()) return fail(cannot_share());
  reset();
  return status_ = {};
}

inline void Interpreter::reset() {
  finish();
  if (header().persistent_bytes) __builtin_memset(bases_[region_persistent], 0, header().persistent_bytes);
  const StateFill* fills = reinterpret_cast<const StateFill*>(program() + header().fills.offset);
  for (uint32_t i = 0; i < header().fills.count; ++i)
    __builtin_memset(resolve(fills[i].place), fills[i].value, fills[i].bytes);
}

inline Status Interpreter::bind(const Slice& slice, uint32_t i, void* data, uint32_t bytes) {
  if (i >= slice.count) return LINNET_ERROR(invalid_call, "there is no input or output of that number");
  const Port& port = ports_of(program(), slice)[i];
  if (port.place.region < region_caller)
    return LINNET_ERROR(invalid_call, "the network was built with this tensor in the arena, not in the caller's memory");
  if (bytes != port.bytes) return LINNET_ERROR(invalid_call, "the buffer has another size than the tensor");
  if ((reinterpret_cast<uintptr_t>(data) & (ProgramCheck::alignment_of(port) - 1)) != 0)
    return LINNET_ERROR(invalid_call, "the buffer must be aligned to the size of the tensor's elements");
  bases_[port.place.region] = static_cast<uint8_t*>(data);
  return {};
}

// Starts an inference: every caller-owned buffer must be there, and the arena free.
inline bool Interpreter::begin() {
  if (header_ == &no_program) {
    status_ = LINNET_ERROR(invalid_call, "init has not succeeded");
    return false;
  }
  for (uint32_t i = 0; i < header().caller_buffers; ++i)
    if (!bases_[region_caller + i]) {
      status_ = LINNET_ERROR(invalid_call, "an input or output that the caller owns has no memory yet: bind it");
      return false;
    }
  if (!arena_->acquire(this)) {
    status_ = LINNET_ERROR(busy, "another interpreter is in the middle of an inference in this arena");
    return false;
  }
  status_ = {};
  pc_ = first_step();
  return true;
}

inline Progress Interpreter::advance(uint32_t budget) {
  if (!pc_ && !begin()) return Progress::failed;
  const Step* step = pc_;
  uint8_t* const* bases = bases_;
  do {
    if (step->kind == static_cast<uint8_t>(StepKind::run)) {
      void* data[max_operands];
      void** to = data;
      const Operand* operand = operands_of(step);
      for (const Operand* end = operand + step->operands; operand != end; ++operand)
        *to++ = bases[operand->region] + operand->offset;
      uint32_t kernel = step->kernel;
      kernels_[kernel & (step_walks_down - 1u)].run(data, program() + step->params, nullptr,
                                                    static_cast<Direction>(kernel >> 15));
      step = reinterpret_cast<const Step*>(operand);
    } else if (step->kind == static_cast<uint8_t>(StepKind::end)) {
      status_ = settle();
      return status_.ok() ? Progress::done : Progress::failed;
    } else if (step = other_step(step); !step) {
      return Progress::failed;
    }
  } while (--budget != 0);
  pc_ = step;
  return Progress::more;
}

// Steps that are not kernels. The step to go on with; null if the inference has failed.
inline const Step* Interpreter::other_step(const Step* step) {
  const Operand* operands = operands_of(step);
  switch (static_cast<StepKind>(step->kind)) {
    case StepKind::move: __builtin_memmove(resolve(operands[0]), resolve(operands[1]), step->params); break;
    case StepKind::fill: __builtin_memset(resolve(operands[0]), 0, step->params); break;
    case StepKind::branch:
      if (*resolve(operands[0]) != 0) break;
      [[fallthrough]];
    case StepKind::jump: return reinterpret_cast<const Step*>(reinterpret_cast<const uint8_t*>(first_step()) + step->params);
    default: return table_->tiling->step(*this, step);  // engine/nest.h; the check has refused it without
  }
  return next_step(step);
}

}  // namespace linnet
