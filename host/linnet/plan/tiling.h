// Builds loop nests (engine/nest.h) from the steps of a Program that has everything in memory: the kernels, parameters and
// places are that Program's; which box of each operand a tile needs is found by asking the kernel's window.
//
//     auto layers = layer_steps(built, table);
//     NestBuilder nest({4, 2});                                          // two counters, the outer one first
//     int run = nest.run(layers[0], {.y = tiles(0, 8), .c = tiles(1, 16)});  // rows by counter 0, channels by counter 1
//     int weights = nest.slots(run, 1, {.slots = 3, .prefetch = 1, .storage = StorageForm::packed});
//     nest.load(weights); nest.compute(run);
//     ProgramWriter program(built);
//     program.add(nest);
//     std::vector<uint8_t> bytes = program.finish();
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "linnet/engine/nest.h"
#include "linnet/run/program_builder.h"

namespace linnet::plan {

// A kernel step and what its kernel says about it. Points into the Program, which must stay.
struct LayerStep {
  const Step* step;
  const void* params;
  const TileEntry* kernel;
  Block whole;
  std::vector<View> views;      // dense, of the whole layer
  std::vector<Extent> extents;  // per operand
  const Operand& operand(int i) const { return operands_of(step)[i]; }
  int operands() const { return step->operands; }
  bool is_accumulator(int i) const { return extents[static_cast<size_t>(i)].optional && extents[static_cast<size_t>(i)].written; }
  Box window(int i, const Block& block) const { return kernel->window(params, i, block); }
};

// The kernel steps of a straight-line Program in order. Throws Error if the table has no tiling.
std::vector<LayerStep> layer_steps(const BuiltProgram& program, const KernelTable& table);

// Pieces of an axis of the output or of the reduction: start + sum of counter * step, `size` long, cut at the tensor.
struct Pieces {
  int32_t start = 0;
  int32_t size = 0;
  std::vector<std::pair<int, int32_t>> steps;  // counter, step; at most two
};
// One piece after the other: counter i takes [i * size, (i + 1) * size).
inline Pieces tiles(int counter, int32_t size) { return {0, size, {{counter, size}}}; }

struct OutTiles {
  std::optional<Pieces> b = {}, y = {}, x = {}, c = {};  // nothing: the whole axis
};
struct ReductionTiles {
  std::optional<Pieces> y = {}, x = {}, c = {};  // filter rows, filter columns, input channels
};

struct SlotSpec {
  uint8_t slots = 1;
  uint8_t prefetch = 0;
  StorageForm storage = StorageForm::none;
  uint32_t storage_offset = 0;
  uint32_t block_bytes = 1;  // packed tiles are padded to whole blocks
};

class NestBuilder {
 public:
  // Tile buffers are laid one after the other into the arena from `arena_offset` on.
  explicit NestBuilder(std::vector<uint16_t> trips, uint32_t arena_offset = 0);

  // A layer that the nest computes piece by piece. Operands lie where they lay unless slots or buffer say otherwise.
  int run(const LayerStep& layer, const OutTiles& out, const ReductionTiles& reduction = {});
  // An operand in tiles; returns the tile's number. Throws Error where the box that the kernel needs does not follow from
  // two counters.
  int slots(int run, int operand, const SlotSpec& spec);
  // An operand as a whole tensor at `place`, or as a rolling buffer there.
  int buffer(int run, int operand, Operand place, int32_t rolling_rows = 0);

  // The body, in order.
  void load(int tile) { body_.push_back({StepKind::load, tile}); }
  void compute(int run) { body_.push_back({StepKind::run_tile, run}); }
  void store(int tile) { body_.push_back({StepKind::store, tile}); }
  void wait() { body_.push_back({StepKind::wait, 0}); }

  uint32_t take(uint32_t bytes);  // memory of the arena
  uint32_t arena_bytes() const { return arena_bytes_; }
  const TileOperand& tile(int i) const { return tiles_[static_cast<size_t>(i)]; }
  // Bytes in storage of all tiles of a packed tile operand, or of the tensor of a strided one.
  uint32_t storage_bytes(int tile) const;
  // For whoever fills the storage: where each tile of an operand lies and which box of the tensor it is.
  struct PackedTile {
    uint32_t offset;
    Box box;
  };
  std::vector<PackedTile> packed_tiles(int tile) const;

 private:
  friend class ProgramWriter;
  struct Run {
    const LayerStep* layer;
    std::array<std::optional<Pieces>, 4> out;
    std::array<std::optional<Pieces>, 3> reduction;
    std::vector<int> tiles;  // per operand; -1
  };
  struct BodyStep {
    StepKind kind;
    int index;
  };
  using Counters = std::vector<uint16_t>;

  Block block_at(const Run& run, const Counters& counters) const;
  TileRange range_of(const Run& run, int operand, int axis) const;
  uint8_t add_range(const TileRange& range);
  TileRange range_of(const Pieces& pieces, int32_t extent) const;
  int add_tile(int run, int operand, TileOperand tile);
  TileOperand describe(int run, int operand);

  std::vector<uint16_t> trips_;
  std::vector<TileRange> ranges_;
  std::vector<TileOperand> tiles_;
  std::vector<Run> runs_;
  std::vector<BodyStep> body_;
  uint32_t arena_bytes_;
};

// Layers that follow one another, each reading the one before through a rolling buffer, a band of rows per round.
struct Chain {
  uint16_t trips;
  std::vector<Pieces> rows;           // of each layer's output
  std::vector<int> inputs;            // which operand of layer i + 1 the output of layer i is
  std::vector<int32_t> rolling_rows;  // of the buffer between layers i and i + 1
};
// `bands`: rows that each layer computes in a round. Throws Error if a layer can only be computed whole.
Chain plan_chain(const std::vector<LayerStep>& layers, const std::vector<int32_t>& bands);

// A Program made of an existing one's sections with other steps.
class ProgramWriter {
 public:
  explicit ProgramWriter(const BuiltProgram& source) : bytes_(source.bytes) {}

  void copy(const Step& step);
  void add(const NestBuilder& nest);
  void wait() { append_step(StepKind::wait, 0, 0, 0); }
  Header& header() { return *reinterpret_cast<Header*>(bytes_.data()); }
  std::vector<uint8_t> finish();  // arena_bytes as large as the nests need, at least what header() says

 private:
  void append_step(StepKind kind, uint8_t operands, uint16_t kernel, uint32_t params);
  void append(const void* record);
  uint32_t append_section(const void* data, size_t bytes);

  std::vector<uint8_t> bytes_;
  std::vector<uint64_t> code_;
};

}  // namespace linnet::plan
