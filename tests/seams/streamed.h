// A layer of a network with everything in memory, rewritten to run out of a storage that holds its weights and feature maps.
#pragma once
#include <algorithm>

#include "tests/seams/support.h"

namespace linnet::seams {

constexpr int input = 0, filter = 1, bias = 2, output = 3, accumulator = 4;  // operands of a convolution

struct Streamed {
  std::vector<uint8_t> program;
  std::vector<uint8_t> image;  // of the storage before the inference
  uint32_t output_offset;
};

// How the nest is cut: tile sizes, and the counters of the reduction from the outermost inwards.
struct Cut {
  int32_t rows, columns, channels;
  int32_t filter_rows = 0, filter_columns = 0, in_channels = 0;  // 0: all
  bool channels_first = false;   // boxes of input channels outside those of filter rows: another order than the reference's
  bool packed_weights = true;
  uint8_t slots = 3, prefetch = 2;
};

inline uint16_t pieces(int32_t extent, int32_t size) { return static_cast<uint16_t>(size ? (extent + size - 1) / size : 1); }

inline Streamed stream(const InCore& in_core, const BuildTable& table, const Cut& cut, uint32_t block_bytes = 1) {
  plan::LayerStep layer = plan::layer_steps(in_core.program, *table.kernels).at(0);
  const Block& whole = layer.whole;
  // counters: rows, columns, channels, then the reduction
  std::vector<uint16_t> trips = {pieces(whole.out.hi[1], cut.rows), pieces(whole.out.hi[2], cut.columns), pieces(whole.out.hi[3], cut.channels)};
  plan::ReductionTiles reduction;
  auto split = [&](std::optional<plan::Pieces>& axis, int32_t size, int32_t extent) {
    if (size == 0) return;
    axis = plan::tiles(static_cast<int>(trips.size()), size);
    trips.push_back(pieces(extent, size));
  };
  if (cut.channels_first) split(reduction.c, cut.in_channels, whole.reduction.hi[2]);
  split(reduction.y, cut.filter_rows, whole.reduction.hi[0]);
  split(reduction.x, cut.filter_columns, whole.reduction.hi[1]);
  if (!cut.channels_first) split(reduction.c, cut.in_channels, whole.reduction.hi[2]);

  plan::NestBuilder nest(trips);
  int run = nest.run(layer, {.y = plan::tiles(0, cut.rows), .x = plan::tiles(1, cut.columns), .c = plan::tiles(2, cut.channels)}, reduction);
  Streamed streamed;
  auto end = [&] { return align_up(static_cast<uint32_t>(streamed.image.size()), 512); };
  auto append = [&](Bytes bytes) {
    streamed.image.resize(end());
    streamed.image.insert(streamed.image.end(), bytes.begin(), bytes.end());
  };
  plan::SlotSpec in_tiles{cut.slots, cut.prefetch, StorageForm::strided, 0, block_bytes};
  int input_tile = nest.slots(run, input, in_tiles);
  append({in_core.inputs[0].data(), in_core.inputs[0].size()});
  auto constant = [&](int operand, StorageForm form) {
    plan::SlotSpec spec{cut.slots, cut.prefetch, form, end(), block_bytes};
    int tile = nest.slots(run, operand, spec);
    const uint8_t* data = in_core.model.file().data() + layer.operand(operand).offset;
    if (form == StorageForm::packed) pack(nest, tile, layer.views[static_cast<size_t>(operand)], data, streamed.image);
    else append({data, nest.storage_bytes(tile)});
    streamed.image.resize(std::max<size_t>(streamed.image.size(), spec.storage_offset + nest.storage_bytes(tile)));
    return tile;
  };
  int filter_tile = constant(filter, cut.packed_weights ? StorageForm::packed : StorageForm::strided);
  int bias_tile = constant(bias, StorageForm::packed);
  streamed.output_offset = end();
  int output_tile = nest.slots(run, output, {cut.slots, 0, StorageForm::strided, streamed.output_offset, block_bytes});
  streamed.image.resize(streamed.output_offset + align_up(nest.storage_bytes(output_tile), 512));
  if (trips.size() > 3) nest.slots(run, accumulator, {1});
  nest.load(input_tile);
  nest.load(filter_tile);
  nest.load(bias_tile);
  nest.compute(run);
  nest.store(output_tile);

  plan::ProgramWriter program(in_core.program);
  Header& header = program.header();
  header.arena_bytes = header.model_bytes = 0;
  header.inputs.count = header.outputs.count = 0;
  header.storage_bytes = static_cast<uint32_t>(streamed.image.size());
  program.add(nest);
  program.wait();
  streamed.program = program.finish();
  return streamed;
}

}  // namespace linnet::seams
