// Any straight Program rewritten to loop nests, each layer in two pieces along each of the first two axes that its kernel can
// split: so that windows of all kernels are looked at.
#pragma once
#include <list>
#include <optional>

#include "linnet/plan/tiling.h"
#include "linnet/run/catalogue.h"

namespace linnet::fuzz {

enum class Tiled {
  plain,    // operands where they are, as a whole
  buffers,  // the same as boxes of the operands
  slots,    // inputs and outputs in slots that storage fills and takes; what is in storage does not matter here
};

class TiledLayer {
 public:
  TiledLayer(const plan::LayerStep& layer, uint32_t arena_bytes) : layer_(layer), nest_(split(), arena_bytes), run_(nest_.run(layer, out_)) {}

  const plan::NestBuilder& in(Tiled form, uint32_t& storage_bytes) {
    std::vector<int> stored;
    for (int i = 0; i < layer_.operands(); ++i) {
      const Operand& operand = layer_.operand(i);
      if (operand.region == region_none || form == Tiled::plain) continue;
      if (form == Tiled::slots && operand.role == role_in) nest_.load(slots(i, storage_bytes));
      else if (form == Tiled::slots && operand.role == role_out) stored.push_back(slots(i, storage_bytes));
      else nest_.buffer(run_, i, operand);
    }
    nest_.compute(run_);
    for (int tile : stored) nest_.store(tile);
    if (form == Tiled::slots) nest_.wait();
    return nest_;
  }

 private:
  int slots(int operand, uint32_t& storage_bytes) {
    int tile = nest_.slots(run_, operand, {2, 1, StorageForm::strided, storage_bytes});
    storage_bytes += nest_.storage_bytes(tile);
    return tile;
  }
  std::vector<uint16_t> split() {
    std::vector<uint16_t> trips;
    std::optional<plan::Pieces>* axes[] = {&out_.b, &out_.y, &out_.x, &out_.c};
    for (int axis : {1, 2, 3, 0}) {
      int32_t extent = layer_.whole.out.hi[axis];
      if (trips.size() == 2 || extent < 2 || !(layer_.kernel->splits & (split_batch << axis))) continue;
      *axes[axis] = plan::tiles(static_cast<int>(trips.size()), (extent + 1) / 2);
      trips.push_back(2);
    }
    if (trips.empty()) trips.push_back(1);
    return trips;
  }

  const plan::LayerStep& layer_;
  plan::OutTiles out_;
  plan::NestBuilder nest_;
  int run_;
};

// All steps are kernels.
inline bool is_straight(const BuiltProgram& program) {
  const auto* step = reinterpret_cast<const Step*>(program.bytes.data() + program.header().code.offset);
  for (; static_cast<StepKind>(step->kind) != StepKind::end; step = next_step(step))
    if (static_cast<StepKind>(step->kind) != StepKind::run) return false;
  return true;
}

inline std::vector<uint8_t> in_tiles(const BuiltProgram& built, Tiled form) {
  std::vector<plan::LayerStep> layers = plan::layer_steps(built, *catalogue().table.kernels);
  std::list<TiledLayer> nests;
  plan::ProgramWriter program(built);
  uint32_t storage_bytes = 0;
  for (const plan::LayerStep& layer : layers) program.add(nests.emplace_back(layer, built.header().arena_bytes).in(form, storage_bytes));
  program.header().storage_bytes = storage_bytes;
  return program.finish();
}

}  // namespace linnet::fuzz
