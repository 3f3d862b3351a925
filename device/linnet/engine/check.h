// Proves, once at load, that running a Program cannot leave its regions, whatever the bytes of the file are.
//
// Structure (sections, step chain, branch targets), roles and regions are checked here; the bytes that a kernel touches
// come from the kernel's own `check`, which trusts only the parameters. Whether the Program computes anything sensible is
// not checked: that is the host's plan checker's work.
#pragma once
#include "linnet/core/span.h"
#include "linnet/core/status.h"
#include "linnet/core/types.h"
#include "linnet/engine/program.h"
#include "linnet/kernels/table.h"

namespace linnet {

inline const Header& header_of(const uint8_t* program) { return *reinterpret_cast<const Header*>(program); }
inline const Operand* operands_of(const Step* step) { return reinterpret_cast<const Operand*>(step + 1); }
inline const Step* next_step(const Step* step) { return step + 1 + step->operands; }
inline const Port* ports_of(const uint8_t* program, const Slice& slice) {
  return reinterpret_cast<const Port*>(program + slice.offset);
}

class ProgramCheck;
class Interpreter;
class BlockDevice;

// What a firmware that runs loop nests links besides (engine/nest.h); reached through KernelTable::tiling only.
struct Tiling {
  const TileEntry* kernels;  // one for each of the table
  Status (*check)(const ProgramCheck& program, const Step& step, uint32_t& consumed);
  const Step* (*step)(Interpreter& interpreter, const Step* step);  // null if the inference has failed
  bool (*storage_fits)(const BlockDevice* device, uint32_t bytes);
  Status (*settle)(BlockDevice& device);  // no request uses the arena any more
};

class ProgramCheck {
 public:
  ProgramCheck(Bytes file, const KernelTable& table, uint32_t model_bytes)
      : file_(file), header_(header_of(file.data())), table_(table), model_bytes_(model_bytes) {}

  Status run(Where& where) {
    LINNET_TRY(check_header());
    LINNET_TRY(check_ports(header_.inputs));
    LINNET_TRY(check_ports(header_.outputs));
    return check_code(where);
  }

  // Whether `bytes` from the operand's place lie in its region, aligned, and may be written where that is asked. What is
  // only read needs no alignment above 4: .tflite files have 64-bit constants so.
  bool covers(const Operand& operand, uint32_t bytes, uint32_t alignment, bool written) const {
    uint32_t size = region_bytes(operand.region, written, alignment), misaligned = operand.offset & (alignment - 1);
    if (misaligned != 0 && (misaligned != 4 || written)) return false;
    if (operand.offset < size && bytes - 1 < size - operand.offset) return true;
    // Even of nothing the engine takes the address: the region must be there.
    return bytes == 0 && operand.offset <= size && operand.region < region_caller + header_.caller_buffers;
  }

  // Of the memory that a caller must give for a port.
  __attribute__((noinline)) static uint32_t alignment_of(const Port& port) {
    uint32_t bytes = element_bytes(static_cast<Type>(port.type));
    return bytes ? bytes : 1;
  }

  const KernelTable& table() const { return table_; }
  Bytes file() const { return file_; }

  // The kernel's own check of parameters at `params`; fills `extents`.
  bool check_kernel(uint32_t kernel, uint32_t params, Extent* extents, int operands) const {
    if (kernel >= table_.count || (params & 3) != 0 || params > file_.size()) return false;
    return table_.kernels[kernel].check(file_.data() + params, static_cast<uint32_t>(file_.size()) - params, extents,
                                        operands);
  }

 private:
  static bool add_overflows(uint32_t offset, uint32_t count, uint32_t record_bytes, uint32_t limit) {
    return offset > limit || count > (limit - offset) / record_bytes;
  }
  bool slice_ok(const Slice& slice, uint32_t record_bytes, uint32_t alignment) const {
    return (slice.offset & (alignment - 1)) == 0 &&
           !add_overflows(slice.offset, slice.count, record_bytes, header_.file_bytes);
  }

  Status check_header() const {
    if (file_.size() < sizeof(Header) || header_.magic != program_magic)
      return LINNET_ERROR(malformed, "this is not a Linnet Program");
    if (header_.version != program_version)
      return LINNET_ERROR(mismatch, "the Program was made by another version of Linnet: make it again");
    if (header_.file_bytes > file_.size()) return LINNET_ERROR(malformed, "the Program is cut short");
    if (header_.kernels_hash != table_.hash)
      return LINNET_ERROR(mismatch, "the Program was made for other kernels than this firmware has: export both together");
    if (((header_.arena_bytes | header_.persistent_bytes) >> 31) != 0)  // so that sums of sizes stay in 32 bits
      return LINNET_ERROR(malformed, "the Program asks for more memory than there can be");
    if (header_.caller_buffers > max_caller_regions || header_.model_bytes > model_bytes_)
      return LINNET_ERROR(mismatch, "the Program needs the .tflite that it was made from");
    if (!slice_ok(header_.code, 8, 8) || !slice_ok(header_.inputs, sizeof(Port), 4) ||
        !slice_ok(header_.outputs, sizeof(Port), 4) || !slice_ok(header_.origins, sizeof(StepOrigin), 2) ||
        !slice_ok(header_.params, 1, 4) || !slice_ok(header_.fills, sizeof(StateFill), 4))
      return LINNET_ERROR(malformed, "a section of the Program lies outside the file");
    const StateFill* fills = reinterpret_cast<const StateFill*>(file_.data() + header_.fills.offset);
    for (uint32_t i = 0; i < header_.fills.count; ++i)
      if (!covers(fills[i].place, fills[i].bytes, 1, true) || fills[i].place.region >= region_caller)
        return LINNET_ERROR(malformed, "an initial value lies outside the state");
    return {};
  }

  Status check_ports(const Slice& slice) const {
    const Port* ports = ports_of(file_.data(), slice);
    bool input = &slice == &header_.inputs;
    for (uint32_t i = 0; i < slice.count; ++i) {
      bool caller = ports[i].place.region >= region_caller;
      if (ports[i].rank > 6 || !covers(ports[i].place, ports[i].bytes, 1, input && !caller) || (caller && !is_whole_buffer(ports[i])))
        return LINNET_ERROR(malformed, "an input or output lies outside its region");
    }
    return {};
  }
  // What a caller owns is one tensor. Where several ports show it (an input that is an output) it is the same for all, as
  // the caller may bind any of them last.
  __attribute__((noinline)) bool is_whole_buffer(const Port& port) const {
    return port.place.offset == 0 && is_alike(port, port_in(header_.inputs, port.place.region)) &&
           is_alike(port, port_in(header_.outputs, port.place.region));
  }
  static bool is_alike(const Port& port, const Port* other) {
    return !other || (other->bytes == port.bytes && alignment_of(*other) == alignment_of(port));
  }

  // Size of a region as far as an operand may rely on it; 0 where it may not be used in this way.
  uint32_t region_bytes(uint8_t region, bool written, uint32_t alignment) const {
    switch (region) {
      case region_arena: return header_.arena_bytes;
      case region_arena2: return header_.arena2_bytes;
      case region_persistent: return header_.persistent_bytes;
      case region_program: return written ? 0 : header_.file_bytes;
      case region_model: return written ? 0 : header_.model_bytes;
      default: return region < region_caller ? 0 : caller_bytes(region, written, alignment);
    }
  }
  __attribute__((noinline)) uint32_t caller_bytes(uint8_t region, bool written, uint32_t alignment) const {
    if (region - region_caller >= header_.caller_buffers) return 0;
    const Port* port = written ? nullptr : port_in(header_.inputs, region);
    if (!port) port = port_in(header_.outputs, region);
    if (!written && alignment > 4) alignment = 4;
    return port && alignment <= alignment_of(*port) ? port->bytes : 0;
  }
  __attribute__((noinline)) const Port* port_in(const Slice& slice, uint8_t region) const {
    const Port* ports = ports_of(file_.data(), slice);
    for (uint32_t i = 0; i < slice.count; ++i)
      if (ports[i].place.region == region) return ports + i;
    return nullptr;
  }

  Status check_code(Where& where) {
    const Step* code = reinterpret_cast<const Step*>(file_.data() + header_.code.offset);
    uint32_t record = 0, steps = 0;
    while (record < header_.code.count) {
      const Step* step = code + record;
      where.node = static_cast<int32_t>(steps++);
      if (!targets_met(record) || step->operands > max_operands || record + step->operands >= header_.code.count)
        return LINNET_ERROR(malformed, "the Program's steps are damaged");
      if (static_cast<StepKind>(step->kind) == StepKind::end) {
        if (target_count_ != 0) return LINNET_ERROR(malformed, "the Program branches past its end");
        if (header_.origins.count != 0 && header_.origins.count < steps - 1)
          return LINNET_ERROR(malformed, "the Program's step origins are incomplete");
        where.node = -1;
        return {};
      }
      uint32_t consumed = 1u + step->operands;
      LINNET_TRY(check_step(*step, record, consumed));
      record += consumed;
    }
    return LINNET_ERROR(malformed, "the Program has no end");
  }

  Status check_step(const Step& step, uint32_t record, uint32_t& consumed) {
    const Operand* operands = operands_of(&step);
    switch (static_cast<StepKind>(step.kind)) {
      case StepKind::run: return check_run(step, operands);
      case StepKind::move:
        if (step.operands == 2 && covers(operands[0], step.params, 1, true) && covers(operands[1], step.params, 1, false))
          return {};
        break;
      case StepKind::fill:
        if (step.operands == 1 && covers(operands[0], step.params, 1, true)) return {};
        break;
      case StepKind::branch:
        if (step.operands == 1 && covers(operands[0], 1, 1, false) && add_target(record, step.params)) return {};
        break;
      case StepKind::jump:
        if (step.operands == 0 && add_target(record, step.params)) return {};
        break;
      default: return check_tiling(step, consumed);
    }
    return LINNET_ERROR(malformed, "a step of the Program leaves its region");
  }

  Status check_run(const Step& step, const Operand* operands) const {
    ExtentRoom room;
    Extent* extents = room.clear(step.operands);
    bool ok = check_kernel(step.kernel & (step_walks_down - 1u), step.params, extents, step.operands);
    for (int i = 0; ok && i < step.operands; ++i) {
      if (operands[i].region == region_none) ok = extents[i].optional && operands[i].offset == 0;
      else ok = covers(operands[i], extents[i].bytes, extents[i].element_bytes, extents[i].written);
    }
    if (!ok) return LINNET_ERROR(malformed, "a step of the Program leaves its region or has damaged parameters");
    return {};
  }

  Status check_tiling(const Step& step, uint32_t& consumed) const {
    if (!table_.tiling) return LINNET_ERROR(unsupported, "this firmware cannot run loop nests");
    return table_.tiling->check(*this, step, consumed);
  }

  // Targets of branches lie ahead; they are met in order, on step boundaries.
  bool add_target(uint32_t record, uint32_t target_bytes) {
    uint32_t target = target_bytes / 8;
    if ((target_bytes & 7) != 0 || target <= record || target >= header_.code.count || target_count_ == max_targets)
      return false;
    int i = target_count_++;
    for (; i > 0 && targets_[i - 1] < target; --i) targets_[i] = targets_[i - 1];
    targets_[i] = target;
    return true;
  }
  bool targets_met(uint32_t record) {
    while (target_count_ > 0 && targets_[target_count_ - 1] == record) --target_count_;
    return target_count_ == 0 || targets_[target_count_ - 1] > record;
  }

  static constexpr int max_targets = 16;
  Bytes file_;
  const Header& header_;
  const KernelTable& table_;
  uint32_t model_bytes_;
  uint32_t targets_[max_targets];  // descending
  int target_count_ = 0;
};

}  // namespace linnet
