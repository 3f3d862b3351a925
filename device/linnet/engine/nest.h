// Loop nests: tiles and bands of rows, streamed between memory and storage (Miao & Lin 2021), as records that the engine
// expands while it runs. A nest of six numbers stands for tens of thousands of tiles.
//
//   nest | load, run_tile, store, wait ... | nest_end
//
// The body is carried out for every setting of the nest's counters, the last counter running fastest. What a tile is follows
// from the counters: each axis of each operand is a TileRange, affine in up to two of them and cut at the tensor's borders.
// So a Program can shift consumers behind producers (a chain of layers in bands), and its first and last tiles need no
// records of their own: a tile whose output is cut to nothing is skipped.
//
// A firmware without loop nests contains none of this: all of it is reached through KernelTable::tiling. See TiledKernels.
#pragma once
#include "linnet/engine/check.h"
#include "linnet/engine/interpreter.h"
#include "linnet/storage/block_device.h"

namespace linnet {

constexpr int max_nest_depth = 6;

// [start + step[0] * counter[0] + step[1] * counter[1], + size), cut to [0, extent).
struct TileRange {
  int32_t start;
  int32_t step[2];
  int32_t size;
  int32_t extent;
  uint8_t counter[2];  // which counters of the nest; 0 is the outermost
  uint16_t reserved;
};
static_assert(sizeof(TileRange) == 24);

enum class StorageForm : uint8_t {
  none = 0,
  packed,   // each tile is slot_bytes in one piece, at storage + sum of storage_stride * storage_counter
  strided,  // a tensor in storage; strides of b, y, x in bytes. One request for each piece in which a box lies
};

// An operand of the nest's kernels: a buffer, and which box of the tensor it holds now.
struct TileOperand {
  Operand place;         // of the buffer
  uint8_t range[4];      // of the box, over b, y, x, c: indices into the nest's ranges
  uint8_t level;         // the box depends on the counters before this one only
  uint8_t slots;         // 0: the whole tensor or a rolling buffer, starting at element 0. Else that many tiles in turn,
                         // followed by 4 bytes each for their requests; a tile starts with its box's first element
  uint8_t prefetch;      // a load asks for the tile so many ahead; less than slots
  uint8_t element_bytes;
  int32_t stride[3];     // of the buffer: View
  int32_t rolling_rows;
  uint32_t slot_bytes;
  uint32_t storage;      // where tile or tensor begins
  uint32_t storage_stride[3];
  StorageForm storage_form;
  uint8_t storage_counter[3];
};
static_assert(sizeof(TileOperand) == 56);

struct Nest {
  uint8_t depth;
  uint8_t ranges;
  uint8_t tiles;
  uint8_t body_steps;     // between nest and nest_end
  uint16_t trips[max_nest_depth];  // outermost first
  uint32_t tables;        // offset of TileRange[ranges], then TileOperand[tiles]
  uint32_t reserved;
};
static_assert(sizeof(Nest) == 24);

// The last record of a run_tile, after its operands: which part of the layer it computes. Indices of ranges.
struct TileRun {
  static constexpr uint8_t all = 255;  // the whole axis
  uint8_t out[4];
  uint8_t reduction[3];
  uint8_t reserved;
};
static_assert(sizeof(TileRun) == 8);

inline const TileRun& tile_run_of(const Step& step) {
  return *reinterpret_cast<const TileRun*>(operands_of(&step) + step.operands - 1);
}

// ---- Running ----------------------------------------------------------------------------------------------------------

struct NestRunner {
  static const Step* step(Interpreter& net, const Step* step) {
    NestRunner runner(net, step);
    Status status = runner.run(step);
    if (status.ok()) return step;
    net.stop(status);
    return nullptr;
  }
  static bool storage_fits(const BlockDevice* device, uint32_t bytes) {
    return device && device->facts().capacity_bytes >= bytes;
  }
  static Status settle(BlockDevice& device) { return device.settle(); }

 private:
  using Counters = const uint16_t*;

  NestRunner(Interpreter& net, const Step* step) : net_(net), counters_(net.counters_) {
    if (step->kind == static_cast<uint8_t>(StepKind::wait)) return;  // which may stand outside nests
    if (step->kind == static_cast<uint8_t>(StepKind::nest))
      net.nest_ = reinterpret_cast<const Nest*>(net.program() + step->params);
    nest_ = net.nest_;
    ranges_ = reinterpret_cast<const TileRange*>(net.program() + nest_->tables);
    tiles_ = reinterpret_cast<const TileOperand*>(ranges_ + nest_->ranges);
  }

  Status run(const Step*& step) {
    Status status;
    switch (static_cast<StepKind>(step->kind)) {
      case StepKind::nest: begin(); break;
      case StepKind::nest_end: step = next(step); return {};
      case StepKind::run_tile: status = run_tile(*step); break;
      case StepKind::load: status = load(tiles_[step->kernel]); break;
      case StepKind::store: status = store(tiles_[step->kernel]); break;
      default: status = net_.storage_ ? net_.storage_->settle() : Status(); break;  // wait
    }
    step = next_step(step);
    return status;
  }

  void begin() {
    for (int i = 0; i < max_nest_depth; ++i) counters_[i] = 0;
    for (int i = 0; i < nest_->tiles; ++i)
      for (uint32_t slot = 0; slot < tiles_[i].slots; ++slot) *ticket_of(tiles_[i], slot) = 0;
  }

  const Step* next(const Step* step) {
    for (int i = nest_->depth - 1; i >= 0; --i) {
      if (++counters_[i] < nest_->trips[i]) {
        return reinterpret_cast<const Step*>(reinterpret_cast<const uint8_t*>(net_.first_step()) + step->params);
      }
      counters_[i] = 0;
    }
    return next_step(step);
  }

  static void cut(const TileRange& range, Counters counters, int32_t& lo, int32_t& hi) {
    int32_t at = range.start + range.step[0] * counters[range.counter[0]] + range.step[1] * counters[range.counter[1]];
    int32_t end = at + range.size;
    lo = at < 0 ? 0 : at > range.extent ? range.extent : at;
    hi = end < lo ? lo : end > range.extent ? range.extent : end;
  }
  Box box_of(const TileOperand& tile, Counters counters) const {
    Box box;
    for (int a = 0; a < 4; ++a) cut(ranges_[tile.range[a]], counters, box.lo[a], box.hi[a]);
    return box;
  }

  // The number of the tile in the order in which a level's counters pass, and back.
  uint32_t sequence(int level) const {
    uint32_t n = 0;
    for (int i = 0; i < level; ++i) n = n * nest_->trips[i] + counters_[i];
    return n;
  }
  uint32_t tile_count(int level) const {
    uint32_t n = 1;
    for (int i = 0; i < level; ++i) n *= nest_->trips[i];
    return n;
  }
  void counters_at(uint32_t sequence, int level, uint16_t* counters) const {
    for (int i = 0; i < max_nest_depth; ++i) counters[i] = 0;
    for (int i = level - 1; i >= 0; --i) {
      counters[i] = static_cast<uint16_t>(sequence % nest_->trips[i]);
      sequence /= nest_->trips[i];
    }
  }
  // Whether all deeper counters are at their first (last) value.
  bool deeper_are(int level, bool last) const {
    for (int i = level; i < nest_->depth; ++i)
      if (counters_[i] != (last ? nest_->trips[i] - 1 : 0)) return false;
    return true;
  }

  uint8_t* slot_of(const TileOperand& tile, uint32_t slot) const { return net_.resolve(tile.place) + slot * tile.slot_bytes; }
  uint32_t* ticket_of(const TileOperand& tile, uint32_t slot) const {
    return reinterpret_cast<uint32_t*>(slot_of(tile, tile.slots)) + slot;
  }

  Status load(const TileOperand& tile) {
    if (!deeper_are(tile.level, false)) return {};
    uint32_t now = sequence(tile.level), count = tile_count(tile.level);
    uint32_t first = now == 0 ? 0 : now + tile.prefetch;
    for (uint32_t n = first; n <= now + tile.prefetch && n < count; ++n) {
      uint16_t counters[max_nest_depth];
      counters_at(n, tile.level, counters);
      LINNET_TRY(transfer(StorageRequest::Kind::read, tile, counters, n % tile.slots));
    }
    return {};
  }

  Status store(const TileOperand& tile) {
    if (!deeper_are(tile.level, true)) return {};
    uint32_t slot = sequence(tile.level) % tile.slots;
    LINNET_TRY(await(tile, slot));
    return transfer(StorageRequest::Kind::write, tile, counters_, slot);
  }

  Status await(const TileOperand& tile, uint32_t slot) const {
    uint32_t* ticket = ticket_of(tile, slot);
    if (*ticket == 0 || !net_.storage_) return {};
    LINNET_TRY(net_.storage_->await(*ticket));
    *ticket = 0;
    net_.storage_->invalidate(slot_of(tile, slot), tile.slot_bytes);
    return {};
  }

  Status transfer(StorageRequest::Kind kind, const TileOperand& tile, Counters counters, uint32_t slot) const {
    if (!net_.storage_) return LINNET_ERROR(mismatch, "the Program needs a storage device");
    Box box = box_of(tile, counters);
    if (is_empty(box)) return {};
    uint8_t* data = slot_of(tile, slot);
    uint32_t* ticket = ticket_of(tile, slot);
    if (tile.storage_form == StorageForm::packed) {
      uint32_t at = tile.storage;
      for (int i = 0; i < 3; ++i) at += tile.storage_stride[i] * counters[tile.storage_counter[i]];
      return net_.storage_->submit(kind, at, data, tile.slot_bytes, *ticket);
    }
    // pieces: axes that follow one another without a gap in both memories are joined, innermost first
    uint32_t n[4], inner = tile.element_bytes, at = tile.storage + static_cast<uint32_t>(box.lo[3]) * inner;
    for (int a = 0; a < 4; ++a) n[a] = static_cast<uint32_t>(box.hi[a] - box.lo[a]);
    for (int a = 0; a < 3; ++a) at += static_cast<uint32_t>(box.lo[a]) * tile.storage_stride[a];
    uint32_t piece = n[3] * inner, memory[3];
    int joined = 3;
    for (int a = 0; a < 3; ++a) memory[a] = static_cast<uint32_t>(tile.stride[a]) * inner;
    while (joined > 0 && (n[joined - 1] == 1 || (memory[joined - 1] == piece && tile.storage_stride[joined - 1] == piece))) {
      --joined;
      piece *= n[joined];
      n[joined] = 1;
    }
    for (uint32_t b = 0; b < n[0]; ++b)
      for (uint32_t y = 0; y < n[1]; ++y)
        for (uint32_t x = 0; x < n[2]; ++x)
          LINNET_TRY(net_.storage_->submit(
              kind, at + b * tile.storage_stride[0] + y * tile.storage_stride[1] + x * tile.storage_stride[2],
              data + b * memory[0] + y * memory[1] + x * memory[2], piece, *ticket));
    return {};
  }

  // Sets the bounds of one axis of the block. A counter that a reduction depends on says whether the block is its first
  // or last.
  void narrow(uint8_t range, int32_t& lo, int32_t& hi, Block* reduction) const {
    if (range == TileRun::all) return;
    const TileRange& r = ranges_[range];
    int32_t whole_lo = lo, whole_hi = hi;  // a layer may write a part of its output only: CONCATENATION
    cut(r, counters_, lo, hi);
    if (lo < whole_lo) lo = whole_lo;
    if (hi > whole_hi) hi = whole_hi;
    if (lo > hi) lo = hi;
    if (!reduction) return;
    for (int i = 0; i < 2; ++i) {
      if (r.step[i] == 0) continue;
      if (counters_[r.counter[i]] != 0) reduction->first = false;
      if (counters_[r.counter[i]] + 1 != nest_->trips[r.counter[i]]) reduction->last = false;
    }
  }

  Status run_tile(const Step& step) {
    const KernelTable& table = *net_.table_;
    const TileEntry& entry = table.tiling->kernels[step.kernel];
    const uint8_t* params = net_.program() + step.params;
    const TileRun& run = tile_run_of(step);
    View views[max_operands];
    Block block = {};
    entry.whole(params, block, views);
    block.views = views;
    block.first = block.last = true;
    for (int a = 0; a < 4; ++a) narrow(run.out[a], block.out.lo[a], block.out.hi[a], nullptr);
    if (is_empty(block.out)) return {};
    for (int a = 0; a < 3; ++a) narrow(run.reduction[a], block.reduction.lo[a], block.reduction.hi[a], &block);
    void* data[max_operands];
    const Operand* operands = operands_of(&step);
    for (int i = 0; i < step.operands - 1; ++i) {
      if (operands[i].tile == 0) {
        data[i] = net_.resolve(operands[i]);
        continue;
      }
      const TileOperand& tile = tiles_[operands[i].tile - 1];
      Box box = box_of(tile, counters_);
      if (!contains(box, entry.window(params, i, block)))
        return LINNET_ERROR(malformed, "a tile of the Program reaches outside what was loaded");
      uint32_t slot = tile.slots ? sequence(tile.level) % tile.slots : 0;
      if (tile.slots) LINNET_TRY(await(tile, slot));
      data[i] = slot_of(tile, slot);
      views[i] = {{tile.stride[0], tile.stride[1], tile.stride[2]}, {0, 0, 0, 0}, tile.rolling_rows};
      for (int a = 0; tile.slots && a < 4; ++a) views[i].origin[a] = box.lo[a];
    }
    table.kernels[step.kernel].run(data, params, &block, Direction::up);
    return {};
  }

  Interpreter& net_;
  uint16_t* counters_;
  const Nest* nest_ = nullptr;
  const TileRange* ranges_ = nullptr;
  const TileOperand* tiles_ = nullptr;
};

// ---- Checking ---------------------------------------------------------------------------------------------------------

// Proves at load that every box of every tile lies inside its buffer and, in storage, inside the storage. What remains for
// NestRunner is that the box holds what the kernel is about to touch, which only the kernel's window knows.
class NestCheck {
 public:
  static Status check(const ProgramCheck& program, const Step& step, uint32_t& consumed) {
    NestCheck check(program);
    if (step.kind == static_cast<uint8_t>(StepKind::wait) && step.operands == 0) return {};
    if (step.kind != static_cast<uint8_t>(StepKind::nest) || step.operands != 0)
      return LINNET_ERROR(malformed, "a step of the Program stands where it may not");
    LINNET_TRY(check.tables(step.params));
    return check.body(step, consumed);
  }

 private:
  explicit NestCheck(const ProgramCheck& program)
      : program_(program), file_(program.file()), header_(header_of(file_.data())) {}

  static Status damaged() { return LINNET_ERROR(malformed, "a loop nest of the Program is damaged or leaves its memory"); }

  bool inside_file(uint32_t offset, uint64_t bytes) const {
    return (offset & 7) == 0 && offset <= header_.file_bytes && bytes <= header_.file_bytes - offset;
  }

  Status tables(uint32_t offset) {
    if (!inside_file(offset, sizeof(Nest))) return damaged();
    nest_ = reinterpret_cast<const Nest*>(file_.data() + offset);
    uint32_t ranges = nest_->ranges, tiles = nest_->tiles;
    if (nest_->depth == 0 || nest_->depth > max_nest_depth || tiles == 255 || ranges == 255 ||
        !inside_file(nest_->tables, ranges * sizeof(TileRange) + tiles * sizeof(TileOperand)))
      return damaged();
    uint64_t rounds = 1;
    for (int i = 0; i < nest_->depth; ++i) {
      rounds *= nest_->trips[i];
      if (rounds == 0 || rounds > INT32_MAX) return damaged();
    }
    ranges_ = reinterpret_cast<const TileRange*>(file_.data() + nest_->tables);
    tiles_ = reinterpret_cast<const TileOperand*>(ranges_ + ranges);
    for (uint32_t i = 0; i < ranges; ++i)
      if (!range_ok(ranges_[i])) return damaged();
    for (uint32_t i = 0; i < tiles; ++i)
      if (!tile_ok(tiles_[i])) return damaged();
    return {};
  }

  static bool is_power_of_two(uint32_t n) { return n != 0 && (n & (n - 1)) == 0; }

  bool range_ok(const TileRange& r) const {
    int64_t farthest = static_cast<int64_t>(r.start) + r.size;
    for (int i = 0; i < 2; ++i) {
      if (r.step[i] < 0 || r.counter[i] >= nest_->depth) return false;
      farthest += static_cast<int64_t>(r.step[i]) * nest_->trips[r.counter[i]];
    }
    return r.size >= 0 && r.extent >= 0 && r.start >= INT32_MIN / 2 && r.start <= INT32_MAX / 2 && farthest <= INT32_MAX / 2;
  }

  // Bytes from the first to beyond the last element of the largest box; false if that is beyond any memory, or if elements
  // share memory (so that no loop over a box is longer than its memory).
  static bool span(const uint32_t (&n)[4], const uint32_t (&stride)[3], uint32_t element_bytes, uint32_t& bytes) {
    uint64_t last = static_cast<uint64_t>(n[3]) * element_bytes, elements = last;
    for (int a = 0; a < 3; ++a) {
      last += n[a] == 0 ? 0 : static_cast<uint64_t>(n[a] - 1) * stride[a];
      elements *= n[a];
      if (last > INT32_MAX || elements > INT32_MAX) return false;
    }
    bytes = static_cast<uint32_t>(last);
    return elements <= last;
  }

  struct Sizes {
    uint32_t size[4], extent[4], stride[3];  // strides in bytes
  };
  Sizes sizes_of(const TileOperand& t) const {
    Sizes s;
    for (int a = 0; a < 4; ++a) {
      const TileRange& r = ranges_[t.range[a]];
      s.extent[a] = static_cast<uint32_t>(r.extent);
      s.size[a] = static_cast<uint32_t>(r.size < r.extent ? r.size : r.extent);
      if (a < 3) s.stride[a] = static_cast<uint32_t>(t.stride[a]) * t.element_bytes;
    }
    return s;
  }

  bool tile_ok(const TileOperand& t) const {
    if (t.level > nest_->depth || t.rolling_rows < 0 || t.element_bytes > 8 || !is_power_of_two(t.element_bytes)) return false;
    for (int a = 0; a < 4; ++a)
      if (t.range[a] >= nest_->ranges || (a < 3 && (t.stride[a] < 0 || t.stride[a] > INT32_MAX / t.element_bytes)))
        return false;
    return t.slots == 0 ? buffer_ok(t, false) : slots_ok(t);
  }

  // A whole tensor or a rolling buffer.
  bool buffer_ok(const TileOperand& t, bool written) const {
    Sizes s = sizes_of(t);
    if (t.rolling_rows > 0) {
      if (static_cast<uint32_t>(t.rolling_rows) < s.size[1]) return false;
      s.extent[1] = static_cast<uint32_t>(t.rolling_rows);
    }
    uint32_t bytes;
    return t.storage_form == StorageForm::none && span(s.extent, s.stride, t.element_bytes, bytes) &&
           program_.covers(t.place, bytes, t.element_bytes, written);
  }

  bool slots_ok(const TileOperand& t) const {
    for (int a = 0; a < 4; ++a) {
      const TileRange& r = ranges_[t.range[a]];
      for (int i = 0; i < 2; ++i)  // the box stays until the level's counters move
        if (r.step[i] != 0 && r.counter[i] >= t.level && nest_->trips[r.counter[i]] > 1) return false;
    }
    Sizes s = sizes_of(t);
    uint64_t all = (t.slot_bytes + 4ull) * t.slots;
    uint32_t bytes, alignment = t.element_bytes > 4 ? t.element_bytes : 4;
    return t.rolling_rows == 0 && t.prefetch < t.slots && span(s.size, s.stride, t.element_bytes, bytes) &&
           bytes <= t.slot_bytes && (t.slot_bytes & (alignment - 1)) == 0 && all <= INT32_MAX &&
           program_.covers(t.place, static_cast<uint32_t>(all), alignment, true) && storage_ok(t, s.extent);
  }

  bool storage_ok(const TileOperand& t, const uint32_t (&extent)[4]) const {
    uint64_t bytes;
    if (t.storage_form == StorageForm::none) return true;
    if (t.storage_form == StorageForm::strided) {
      uint32_t tensor_bytes;
      if (!span(extent, t.storage_stride, t.element_bytes, tensor_bytes)) return false;
      bytes = tensor_bytes;
    } else {
      if (t.storage_form != StorageForm::packed) return false;
      bytes = t.slot_bytes;
      for (int i = 0; i < 3; ++i) {
        if (t.storage_counter[i] >= nest_->depth) return false;
        bytes += static_cast<uint64_t>(t.storage_stride[i]) * (nest_->trips[t.storage_counter[i]] - 1u);
      }
    }
    return t.storage <= header_.storage_bytes && bytes <= header_.storage_bytes - t.storage;
  }

  Status body(const Step& nest, uint32_t& consumed) const {
    const Step* code = reinterpret_cast<const Step*>(file_.data() + header_.code.offset);
    uint32_t begin = static_cast<uint32_t>(&nest + 1 - code), record = begin;
    for (uint32_t steps = 0; record < header_.code.count; ++steps) {
      const Step& step = code[record];
      uint32_t size = 1u + step.operands;
      if (step.operands > max_operands || size > header_.code.count - record) return damaged();
      record += size;
      if (step.kind == static_cast<uint8_t>(StepKind::run_tile)) {
        LINNET_TRY(run_tile(step));
        continue;
      }
      if (step.operands != 0) return damaged();
      switch (static_cast<StepKind>(step.kind)) {
        case StepKind::load:
        case StepKind::store:
          if (step.kernel >= nest_->tiles || tiles_[step.kernel].storage_form == StorageForm::none) return damaged();
          break;
        case StepKind::wait: break;
        case StepKind::nest_end:
          if (steps != nest_->body_steps || step.params != begin * 8) return damaged();
          consumed = record - begin + 1;
          return {};
        default: return LINNET_ERROR(malformed, "a step of the Program stands where it may not");
      }
    }
    return damaged();
  }

  // The range of an axis that the kernel cannot split must be all of it, always.
  bool is_all(uint8_t range, int32_t hi) const {
    if (range == TileRun::all) return true;
    const TileRange& r = ranges_[range];
    for (int i = 0; i < 2; ++i)
      if (r.step[i] != 0 && nest_->trips[r.counter[i]] > 1) return false;
    return r.start <= 0 && r.start + r.size >= hi && r.extent >= hi;
  }
  // A reduction in the reference's order: each axis in pieces that follow one another, inner axes running faster, and an
  // axis in pieces only while those before it go one by one.
  bool in_order(const TileRun& run, const ReductionBox& whole) const {
    bool single = true;
    int last_counter = -1;
    for (int a = 0; a < 3; ++a) {
      bool all = is_all(run.reduction[a], whole.hi[a]);
      if (!all) {
        const TileRange& r = ranges_[run.reduction[a]];
        if (!single || r.start != 0 || r.step[1] != 0 || r.step[0] != r.size || r.counter[0] <= last_counter) return false;
        last_counter = r.counter[0];
      }
      single = single && (whole.hi[a] == 1 || (!all && ranges_[run.reduction[a]].size == 1));
    }
    return true;
  }

  Status run_tile(const Step& step) const {
    Extent extents[max_operands];
    int n = step.operands - 1;
    if (n < 0 || !program_.check_kernel(step.kernel, step.params, extents, n)) return damaged();
    const TileEntry& entry = program_.table().tiling->kernels[step.kernel];
    View views[max_operands] = {};
    Block whole = {};
    entry.whole(file_.data() + step.params, whole, views);
    const TileRun& run = tile_run_of(step);
    bool split_reduction = false;
    for (int a = 0; a < 4; ++a) {
      if (run.out[a] != TileRun::all && run.out[a] >= nest_->ranges) return damaged();
      if (!is_all(run.out[a], whole.out.hi[a]) && !(entry.splits & (split_batch << a)))
        return LINNET_ERROR(unsupported, "the Program splits a layer along an axis that the kernel cannot split");
    }
    for (int a = 0; a < 3; ++a) {
      if (run.reduction[a] != TileRun::all && run.reduction[a] >= nest_->ranges) return damaged();
      if (!is_all(run.reduction[a], whole.reduction.hi[a])) split_reduction = true;
    }
    if (split_reduction && !(entry.splits & split_reduction_any) &&
        !((entry.splits & split_reduction_in_order) && in_order(run, whole.reduction)))
      return LINNET_ERROR(unsupported, "the Program splits a layer's reduction in a way that the kernel cannot");
    const Operand* operands = operands_of(&step);
    for (int i = 0; i < n; ++i)
      if (!operand_ok(operands[i], extents[i], views[i], split_reduction)) return damaged();
    return {};
  }

  bool operand_ok(const Operand& operand, const Extent& extent, const View& dense, bool split_reduction) const {
    if (operand.tile == 0) {
      // the operand that may be absent although it is written is the accumulator, which a split reduction needs
      if (operand.region == region_none)
        return extent.optional && operand.offset == 0 && !(extent.written && split_reduction);
      return program_.covers(operand, extent.bytes, extent.element_bytes, extent.written);
    }
    if (operand.tile > nest_->tiles) return false;
    const TileOperand& tile = tiles_[operand.tile - 1];
    // the kernel's check knows its index arithmetic for dense strides; padded ones may be a little longer
    for (int a = 0; a < 3; ++a)
      if (tile.stride[a] > 2ll * dense.stride[a] + 4096) return false;
    return tile.element_bytes == extent.element_bytes && (!extent.written || tile.slots != 0 || buffer_ok(tile, true));
  }

  static constexpr uint8_t split_reduction_any = linnet::split_reduction;

  const ProgramCheck& program_;
  Bytes file_;
  const Header& header_;
  const Nest* nest_ = nullptr;
  const TileRange* ranges_ = nullptr;
  const TileOperand* tiles_ = nullptr;
};

// ---- Tables -----------------------------------------------------------------------------------------------------------

constexpr Tiling make_tiling(const TileEntry* kernels) {
  return {kernels, &NestCheck::check, &NestRunner::step, &NestRunner::storage_fits, &NestRunner::settle};
}

// The table of a firmware that runs loop nests; the same kernels, order and hash as Kernels<K...>.
template <class... K>
struct TiledKernels {
  static constexpr TileEntry tiles[] = {{&detail::window_of<K>, &detail::whole_of<K>, K::splits}...};
  static constexpr Tiling tiling = make_tiling(tiles);
  static constexpr KernelTable table = {Kernels<K...>::table.hash, sizeof...(K), Kernels<K...>::entries, &tiling};
};

}  // namespace linnet
