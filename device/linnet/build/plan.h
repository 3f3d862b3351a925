// Plan: where a host solver wants everything to lie. Read in place from a file ("linnet.plan" metadata) or from memory;
// never trusted: the builder checks bounds, alignment and overlap while it builds.
#pragma once
#include <stdint.h>

#include "linnet/core/span.h"
#include "linnet/core/status.h"

namespace linnet {

// After the node at `position`, the buffer of `entry` moves to `offset`.
struct PlannedMove {
  uint16_t position;
  uint16_t entry;
  uint32_t offset;
};
static_assert(sizeof(PlannedMove) == 8);

// Entries are the builder's: the tensors of subgraph 0, then, in the order of lowering, the scratch of each node and the
// tensors of each subgraph where it is called. Positions count nodes in the same order from 1; 0 is before the first.
struct Plan {
  static constexpr uint32_t not_in_arena = UINT32_MAX;
  static constexpr uint32_t magic = 0x4c504e4c;  // "LNPL"
  static constexpr uint32_t version = 1;

  uint32_t arena_bytes = 0;
  Span<const uint32_t> offsets;     // one per entry; not_in_arena for constants, aliases, the caller's buffers
  Span<const uint32_t> walks_down;  // one bit per run step in the order of emission
  Span<const PlannedMove> moves;    // by position

  bool step_walks_down(uint32_t step) const {
    return step / 32 < walks_down.size() && (walks_down[step / 32] >> (step % 32) & 1) != 0;
  }

  // The file form: magic, version, arena_bytes, counts of the three lists, then the lists; all 32-bit words.
  static Status read(Bytes file, Plan& plan) {
    constexpr uint32_t head_words = 6;
    const uint32_t* words = reinterpret_cast<const uint32_t*>(file.data());
    if (file.size() < head_words * 4 || (reinterpret_cast<uintptr_t>(words) & 3) != 0 || words[0] != magic)
      return LINNET_ERROR(malformed, "the plan in the model is damaged");
    if (words[1] != version) return LINNET_ERROR(mismatch, "the plan in the model was made by another version of Linnet");
    size_t room = file.size() / 4 - head_words;
    if (words[3] > room || words[4] > room - words[3] || words[5] > (room - words[3] - words[4]) / 2) return LINNET_ERROR(malformed, "the plan in the model is cut short");
    plan.arena_bytes = words[2];
    const uint32_t* at = words + head_words;
    plan.offsets = {at, words[3]};
    plan.walks_down = {at + words[3], words[4]};
    plan.moves = {reinterpret_cast<const PlannedMove*>(at + words[3] + words[4]), words[5]};
    return {};
  }
};

}  // namespace linnet
