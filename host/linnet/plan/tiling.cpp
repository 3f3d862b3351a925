#include "linnet/plan/tiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace linnet::plan {
namespace {

uint32_t round_up(uint32_t n, uint32_t multiple) { return (n + multiple - 1) / multiple * multiple; }

int32_t position(const TileRange& range, const std::vector<uint16_t>& counters) {
  int32_t at = range.start;
  for (int i = 0; i < 2; ++i) at += range.step[i] * counters[range.counter[i]];
  return at;
}

std::pair<int32_t, int32_t> cut(const TileRange& range, const std::vector<uint16_t>& counters) {
  int32_t at = position(range, counters), lo = std::clamp(at, 0, range.extent);
  return {lo, std::clamp(at + range.size, lo, range.extent)};
}

// Steps to the next setting of `counters` restricted to those in `moving`; false after the last.
bool advance(std::vector<uint16_t>& counters, const std::vector<uint16_t>& trips, const std::set<int>& moving) {
  for (auto i = moving.rbegin(); i != moving.rend(); ++i) {
    size_t k = static_cast<size_t>(*i);
    if (++counters[k] < trips[k]) return true;
    counters[k] = 0;
  }
  return false;
}

}  // namespace

std::vector<LayerStep> layer_steps(const BuiltProgram& program, const KernelTable& table) {
  if (!table.tiling) throw Error("the kernel table was made without loop nests");
  std::vector<LayerStep> layers;
  auto* step = reinterpret_cast<const Step*>(program.bytes.data() + program.header().code.offset);
  for (; static_cast<StepKind>(step->kind) != StepKind::end; step = next_step(step)) {
    if (static_cast<StepKind>(step->kind) != StepKind::run) continue;
    uint32_t kernel = step->kernel & (step_walks_down - 1u);
    LayerStep layer{step, program.bytes.data() + step->params, &table.tiling->kernels[kernel], {}, {}, {}};
    layer.views.resize(max_operands);
    layer.extents.resize(max_operands);
    table.kernels[kernel].check(static_cast<const uint8_t*>(layer.params),
                                static_cast<uint32_t>(program.bytes.size()) - step->params, layer.extents.data(), step->operands);
    layer.kernel->whole(layer.params, layer.whole, layer.views.data());
    layer.whole.first = layer.whole.last = true;
    layers.push_back(std::move(layer));
  }
  return layers;
}

// ---- NestBuilder ------------------------------------------------------------------------------------------------------

NestBuilder::NestBuilder(std::vector<uint16_t> trips, uint32_t arena_offset)
    : trips_(std::move(trips)), arena_bytes_(arena_offset) {
  if (trips_.empty() || trips_.size() > max_nest_depth) throw Error("a loop nest has one to six counters");
}

uint32_t NestBuilder::take(uint32_t bytes) {
  uint32_t at = round_up(arena_bytes_, arena_alignment);
  arena_bytes_ = at + bytes;
  return at;
}

int NestBuilder::run(const LayerStep& layer, const OutTiles& out, const ReductionTiles& reduction) {
  runs_.push_back({&layer, {out.b, out.y, out.x, out.c}, {reduction.y, reduction.x, reduction.c},
                   std::vector<int>(static_cast<size_t>(layer.operands()), -1)});
  return static_cast<int>(runs_.size()) - 1;
}

TileRange NestBuilder::range_of(const Pieces& pieces, int32_t extent) const {
  if (pieces.steps.size() > 2) throw Error("an axis can depend on two counters of a loop nest, not more");
  TileRange range = {pieces.start, {0, 0}, pieces.size, extent, {0, 0}, 0};
  for (size_t i = 0; i < pieces.steps.size(); ++i) {
    range.counter[i] = static_cast<uint8_t>(pieces.steps[i].first);
    range.step[i] = pieces.steps[i].second;
  }
  return range;
}

Block NestBuilder::block_at(const Run& run, const Counters& counters) const {
  Block block = run.layer->whole;
  for (size_t a = 0; a < 4; ++a) {
    if (!run.out[a]) continue;
    int32_t first = block.out.lo[a];  // not 0 where a layer writes a part of its output
    std::tie(block.out.lo[a], block.out.hi[a]) = cut(range_of(*run.out[a], block.out.hi[a]), counters);
    block.out.lo[a] = std::max(block.out.lo[a], first);
  }
  for (size_t a = 0; a < 3; ++a)
    if (run.reduction[a])
      std::tie(block.reduction.lo[a], block.reduction.hi[a]) = cut(range_of(*run.reduction[a], block.reduction.hi[a]), counters);
  return block;
}

// The tightest affine range that covers the kernel's window of an operand's axis at every setting of the counters.
TileRange NestBuilder::range_of(const Run& run, int operand, int axis) const {
  struct Sample {
    Counters counters;
    int32_t lo, hi;
  };
  auto window_at = [&](const Counters& counters) -> std::optional<Sample> {
    Block block = block_at(run, counters);
    if (is_empty(block.out)) return std::nullopt;
    Box box = run.layer->window(operand, block);
    if (is_empty(box)) return std::nullopt;
    return Sample{counters, box.lo[axis], box.hi[axis]};
  };
  // Which counters matter: vary each alone, with the others in the middle and at both ends.
  std::set<int> used, moving;
  for (const auto& pieces : run.out)
    for (size_t i = 0; pieces && i < pieces->steps.size(); ++i) used.insert(pieces->steps[i].first);
  for (const auto& pieces : run.reduction)
    for (size_t i = 0; pieces && i < pieces->steps.size(); ++i) used.insert(pieces->steps[i].first);
  Counters middle(max_nest_depth, 0), last(max_nest_depth, 0), first(max_nest_depth, 0);
  for (size_t i = 0; i < trips_.size(); ++i) {
    middle[i] = static_cast<uint16_t>(trips_[i] / 2);
    last[i] = static_cast<uint16_t>(trips_[i] - 1);
  }
  Counters base = middle;
  for (int counter : used)
    for (const Counters& others : {middle, first, last}) {
      Counters counters = others;
      std::optional<Sample> before;
      for (uint16_t n = 0; n < trips_[static_cast<size_t>(counter)]; ++n) {
        counters[static_cast<size_t>(counter)] = n;
        std::optional<Sample> now = window_at(counters);
        if (!now) continue;
        base = counters;
        if (before && (before->lo != now->lo || before->hi != now->hi)) moving.insert(counter);
        before = now;
      }
    }
  if (moving.size() > 2)
    throw Error(fmt::format("operand {} of a layer depends on more than two counters along one axis: choose other tiles", operand));
  std::vector<Sample> samples;
  Counters counters = base;
  for (int counter : moving) counters[static_cast<size_t>(counter)] = 0;
  do {
    if (auto sample = window_at(counters)) samples.push_back(*sample);
  } while (advance(counters, trips_, moving));

  Box whole = run.layer->window(operand, run.layer->whole);
  TileRange best = {0, {0, 0}, whole.hi[axis], whole.hi[axis], {0, 0}, 0};
  if (samples.empty()) return best;
  // Candidates for the steps: differences that occur. The one with the smallest cover wins.
  std::vector<int> order(moving.begin(), moving.end());
  std::array<std::set<int32_t>, 2> candidates = {std::set<int32_t>{0}, std::set<int32_t>{0}};
  for (size_t i = 0; i < order.size(); ++i) {
    size_t k = static_cast<size_t>(order[i]);
    for (size_t s = 1; s < samples.size(); ++s)
      for (size_t t = s; t-- > 0;) {
        Counters next = samples[t].counters;
        if (++next[k] != samples[s].counters[k] || next != samples[s].counters) continue;
        for (int32_t d : {samples[s].lo - samples[t].lo, samples[s].hi - samples[t].hi})
          if (d > 0) candidates[i].insert(d);
        break;
      }
  }
  for (int32_t step0 : candidates[0])
    for (int32_t step1 : candidates[1]) {
      int32_t lo = INT32_MAX, hi = INT32_MIN;
      TileRange range = {0, {step0, step1}, 0, whole.hi[axis], {0, 0}, 0};
      for (size_t i = 0; i < order.size(); ++i) range.counter[i] = static_cast<uint8_t>(order[i]);
      for (const Sample& s : samples) {
        int32_t at = position(range, s.counters);
        lo = std::min(lo, s.lo - at);
        hi = std::max(hi, s.hi - at);
      }
      range.start = lo;
      range.size = hi - lo;
      if (range.size <= best.size) best = range;
    }
  return best;
}

uint8_t NestBuilder::add_range(const TileRange& range) {
  for (size_t i = 0; i < ranges_.size(); ++i)
    if (std::memcmp(&ranges_[i], &range, sizeof range) == 0) return static_cast<uint8_t>(i);
  if (ranges_.size() == 254) throw Error("a loop nest has too many different tiles");
  ranges_.push_back(range);
  return static_cast<uint8_t>(ranges_.size() - 1);
}

TileOperand NestBuilder::describe(int run, int operand) {
  const Run& r = runs_[static_cast<size_t>(run)];
  TileOperand tile = {};
  for (int a = 0; a < 4; ++a) tile.range[a] = add_range(range_of(r, operand, a));
  tile.element_bytes = r.layer->extents[static_cast<size_t>(operand)].element_bytes;
  return tile;
}

int NestBuilder::add_tile(int run, int operand, TileOperand tile) {
  tiles_.push_back(tile);
  int index = static_cast<int>(tiles_.size()) - 1;
  runs_[static_cast<size_t>(run)].tiles[static_cast<size_t>(operand)] = index;
  return index;
}

int NestBuilder::slots(int run, int operand, const SlotSpec& spec) {
  TileOperand tile = describe(run, operand);
  int32_t n[4];
  std::set<int> counters;
  for (int a = 0; a < 4; ++a) {
    const TileRange& range = ranges_[tile.range[a]];
    n[a] = std::min(range.size, range.extent);
    for (int i = 0; i < 2; ++i)
      if (range.step[i] != 0) counters.insert(range.counter[i]);
  }
  View dense = dense_view(n[1], n[2], n[3]);
  for (int a = 0; a < 3; ++a) tile.stride[a] = dense.stride[a];
  tile.level = static_cast<uint8_t>(counters.empty() ? 0 : *counters.rbegin() + 1);
  tile.slots = spec.slots;
  tile.prefetch = spec.prefetch;
  uint32_t bytes = static_cast<uint32_t>(n[0] * dense.stride[0]) * tile.element_bytes;
  tile.slot_bytes = round_up(bytes, std::max(8u, spec.storage == StorageForm::packed ? spec.block_bytes : 1u));
  tile.place = {take(tile.slots * (tile.slot_bytes + 4)), region_arena, runs_[static_cast<size_t>(run)].layer->operand(operand).role, 0};
  tile.storage_form = spec.storage;
  tile.storage = spec.storage_offset;
  if (spec.storage == StorageForm::packed) {
    if (counters.size() > 3) throw Error("tiles in storage can be numbered by three counters, not more");
    uint32_t stride = tile.slot_bytes;
    int i = 0;
    for (auto c = counters.rbegin(); c != counters.rend(); ++c, ++i) {
      tile.storage_counter[i] = static_cast<uint8_t>(*c);
      tile.storage_stride[i] = stride;
      stride *= trips_[static_cast<size_t>(*c)];
    }
  } else if (spec.storage == StorageForm::strided) {
    const TileRange* range[4];
    for (int a = 0; a < 4; ++a) range[a] = &ranges_[tile.range[a]];
    View whole = dense_view(range[1]->extent, range[2]->extent, range[3]->extent);
    for (int a = 0; a < 3; ++a) tile.storage_stride[a] = static_cast<uint32_t>(whole.stride[a]) * tile.element_bytes;
  }
  return add_tile(run, operand, tile);
}

int NestBuilder::buffer(int run, int operand, Operand place, int32_t rolling_rows) {
  TileOperand tile = describe(run, operand);
  const View& dense = runs_[static_cast<size_t>(run)].layer->views[static_cast<size_t>(operand)];
  for (int a = 0; a < 3; ++a) tile.stride[a] = dense.stride[a];
  if (rolling_rows > 0) tile.stride[0] = rolling_rows * dense.stride[1];
  tile.rolling_rows = rolling_rows;
  tile.place = place;
  return add_tile(run, operand, tile);
}

uint32_t NestBuilder::storage_bytes(int index) const {
  const TileOperand& t = tile(index);
  if (t.storage_form == StorageForm::strided)
    return static_cast<uint32_t>(ranges_[t.range[0]].extent) * t.storage_stride[0];
  uint32_t bytes = t.slot_bytes;
  for (int i = 0; i < 3; ++i) bytes += t.storage_stride[i] * (trips_[t.storage_counter[i]] - 1u);
  return bytes;
}

std::vector<NestBuilder::PackedTile> NestBuilder::packed_tiles(int index) const {
  const TileOperand& t = tile(index);
  std::set<int> moving;
  for (int i = 0; i < 3; ++i)
    if (t.storage_stride[i] != 0) moving.insert(t.storage_counter[i]);
  std::vector<PackedTile> all;
  Counters counters(max_nest_depth, 0);
  do {
    PackedTile packed{t.storage, {}};
    for (int i = 0; i < 3; ++i) packed.offset += t.storage_stride[i] * counters[t.storage_counter[i]];
    for (int a = 0; a < 4; ++a) std::tie(packed.box.lo[a], packed.box.hi[a]) = cut(ranges_[t.range[a]], counters);
    all.push_back(packed);
  } while (advance(counters, trips_, moving));
  return all;
}

// ---- Chains -----------------------------------------------------------------------------------------------------------

namespace {

int input_from(const LayerStep& producer, const LayerStep& consumer) {
  for (int o = 0; o < producer.operands(); ++o) {
    if (producer.operand(o).role != role_out) continue;
    for (int i = 0; i < consumer.operands(); ++i)
      if (consumer.operand(i).role == role_in && consumer.operand(i).region == producer.operand(o).region &&
          consumer.operand(i).offset == producer.operand(o).offset)
        return i;
  }
  throw Error("the layers of a chain do not follow one another");
}

// Rows of the input that a layer needs for rows [lo, hi) of its output.
std::pair<int32_t, int32_t> rows_needed(const LayerStep& layer, int operand, int32_t lo, int32_t hi) {
  Block block = layer.whole;
  block.out.lo[1] = lo;
  block.out.hi[1] = hi;
  Box box = layer.window(operand, block);
  return {box.lo[1], box.hi[1]};
}

}  // namespace

Chain plan_chain(const std::vector<LayerStep>& layers, const std::vector<int32_t>& bands) {
  Chain chain;
  for (const LayerStep& layer : layers)
    if (!(layer.kernel->splits & split_rows)) throw Error("a layer of the chain has a kernel that cannot be split into rows");
  auto rows_at = [](const Pieces& p, int32_t round, int32_t extent) {
    int32_t at = p.start + round * p.size, lo = std::clamp(at, 0, extent);
    return std::pair{lo, std::clamp(at + p.size, lo, extent)};
  };
  chain.rows.push_back(tiles(0, bands[0]));
  for (size_t i = 1; i < layers.size(); ++i) {
    int input = input_from(layers[i - 1], layers[i]);
    int32_t produced = layers[i - 1].whole.out.hi[1], extent = layers[i].whole.out.hi[1];
    chain.inputs.push_back(input);
    // The latest rows that the layer can compute in each round with what has been produced by then.
    Pieces rows = tiles(0, bands[i]);
    int32_t rounds = extent / bands[i] + 2 + static_cast<int32_t>(layers.size()) * 4;
    auto too_early = [&] {
      for (int32_t n = 0; n < rounds; ++n) {
        auto [lo, hi] = rows_at(rows, n, extent);
        if (lo < hi && rows_needed(layers[i], input, lo, hi).second > rows_at(chain.rows.back(), n, produced).second) return true;
      }
      return false;
    };
    while (too_early())
      if (--rows.start < -extent - 64 * bands[i]) throw Error("the bands of a chain do not keep pace with one another");
    chain.rows.push_back(rows);
  }
  int32_t trips = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    int32_t extent = layers[i].whole.out.hi[1];
    trips = std::max(trips, (extent - chain.rows[i].start + bands[i] - 1) / bands[i]);
  }
  chain.trips = static_cast<uint16_t>(trips);
  for (size_t i = 1; i < layers.size(); ++i) {
    int32_t rows = 0;
    for (int32_t n = 0; n < trips; ++n) {
      auto [lo, hi] = rows_at(chain.rows[i], n, layers[i].whole.out.hi[1]);
      if (lo == hi) continue;
      rows = std::max(rows, rows_at(chain.rows[i - 1], n, layers[i - 1].whole.out.hi[1]).second -
                                rows_needed(layers[i], chain.inputs[i - 1], lo, hi).first);
    }
    // while the first rows are computed nothing is read yet: the buffer must hold those as well
    int32_t waiting = 0;
    for (int32_t n = 0; n < trips && rows_at(chain.rows[i], n, layers[i].whole.out.hi[1]).second == 0; ++n)
      waiting = rows_at(chain.rows[i - 1], n, layers[i - 1].whole.out.hi[1]).second;
    chain.rolling_rows.push_back(std::max({rows, waiting, bands[i - 1]}));
  }
  return chain;
}

// ---- ProgramWriter ----------------------------------------------------------------------------------------------------

void ProgramWriter::append(const void* record) {
  uint64_t word;
  std::memcpy(&word, record, sizeof word);
  code_.push_back(word);
}

void ProgramWriter::append_step(StepKind kind, uint8_t operands, uint16_t kernel, uint32_t params) {
  Step step = {static_cast<uint8_t>(kind), operands, kernel, params};
  append(&step);
}

uint32_t ProgramWriter::append_section(const void* data, size_t bytes) {
  bytes_.resize((bytes_.size() + 7) / 8 * 8);
  uint32_t offset = static_cast<uint32_t>(bytes_.size());
  auto* from = static_cast<const uint8_t*>(data);
  bytes_.insert(bytes_.end(), from, from + bytes);
  return offset;
}

void ProgramWriter::copy(const Step& step) {
  for (int i = 0; i <= step.operands; ++i) append(&step + i);
}

void ProgramWriter::add(const NestBuilder& nest) {
  std::vector<TileRange> ranges = nest.ranges_;
  auto index_of = [&](const TileRange& range) {
    for (size_t i = 0; i < ranges.size(); ++i)
      if (std::memcmp(&ranges[i], &range, sizeof range) == 0) return static_cast<uint8_t>(i);
    ranges.push_back(range);
    return static_cast<uint8_t>(ranges.size() - 1);
  };
  std::vector<TileRun> runs;
  for (const NestBuilder::Run& r : nest.runs_) {
    TileRun run = {};
    const Block& whole = r.layer->whole;
    for (size_t a = 0; a < 4; ++a) run.out[a] = r.out[a] ? index_of(nest.range_of(*r.out[a], whole.out.hi[a])) : TileRun::all;
    for (size_t a = 0; a < 3; ++a)
      run.reduction[a] = r.reduction[a] ? index_of(nest.range_of(*r.reduction[a], whole.reduction.hi[a])) : TileRun::all;
    runs.push_back(run);
  }
  if (ranges.size() >= 255) throw Error("a loop nest has too many different tiles");
  Nest record = {};
  record.depth = static_cast<uint8_t>(nest.trips_.size());
  record.ranges = static_cast<uint8_t>(ranges.size());
  record.tiles = static_cast<uint8_t>(nest.tiles_.size());
  record.body_steps = static_cast<uint8_t>(nest.body_.size());
  std::copy(nest.trips_.begin(), nest.trips_.end(), record.trips);
  record.tables = append_section(ranges.data(), ranges.size() * sizeof(TileRange));
  append_section(nest.tiles_.data(), nest.tiles_.size() * sizeof(TileOperand));
  append_step(StepKind::nest, 0, 0, append_section(&record, sizeof record));
  uint32_t begin = static_cast<uint32_t>(code_.size()) * 8;
  for (const NestBuilder::BodyStep& step : nest.body_) {
    if (step.kind != StepKind::run_tile) {
      append_step(step.kind, 0, static_cast<uint16_t>(step.index), 0);
      continue;
    }
    const NestBuilder::Run& r = nest.runs_[static_cast<size_t>(step.index)];
    const Step& from = *r.layer->step;
    append_step(StepKind::run_tile, static_cast<uint8_t>(from.operands + 1), from.kernel & (step_walks_down - 1u), from.params);
    for (int i = 0; i < r.layer->operands(); ++i) {
      Operand operand = r.layer->operand(i);
      int tile = r.tiles[static_cast<size_t>(i)];
      if (tile >= 0) operand = {0, nest.tile(tile).place.region, operand.role, static_cast<uint16_t>(tile + 1)};
      append(&operand);
    }
    append(&runs[static_cast<size_t>(step.index)]);
  }
  append_step(StepKind::nest_end, 0, 0, begin);
  header().arena_bytes = std::max(header().arena_bytes, nest.arena_bytes());
}

std::vector<uint8_t> ProgramWriter::finish() {
  append_step(StepKind::end, 0, 0, 0);
  uint32_t offset = append_section(code_.data(), code_.size() * 8);
  header().code = {offset, static_cast<uint32_t>(code_.size())};
  header().origins.count = 0;
  header().file_bytes = static_cast<uint32_t>(bytes_.size());
  return bytes_;
}

}  // namespace linnet::plan
