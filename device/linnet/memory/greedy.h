// Greedy placement by size: the planner of a device that has no plan (David et al. 2020, section 4.4.2).
//
// Buffers in order of decreasing size, each at the lowest offset where it collides with no buffer that lives at the same
// time. Needs no memory but the table itself.
#pragma once
#include <stdint.h>

#include "linnet/core/span.h"
#include "linnet/memory/arena.h"

namespace linnet {

// A buffer to be placed: lives from position `first` to position `last`, both included.
struct Buffer {
  static constexpr uint32_t unplaced = UINT32_MAX;
  uint32_t bytes = 0;
  uint32_t offset = unplaced;
  uint16_t first = 0;
  uint16_t last = 0;
};

inline bool live_together(const Buffer& a, const Buffer& b) { return a.first <= b.last && b.first <= a.last; }
inline bool share_memory(const Buffer& a, const Buffer& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// Places every unplaced buffer for which `wanted(entry)`; Entry derives from Buffer. Returns the bytes used.
template <class Entry, class Wanted>
uint32_t place_greedily(Span<Entry> entries, Wanted wanted) {
  uint32_t used = 0;
  for (;;) {
    Entry* next = nullptr;
    for (Entry& e : entries)
      if (wanted(e) && e.offset == Buffer::unplaced && (!next || e.bytes > next->bytes)) next = &e;
    if (!next) return used;
    Buffer at = *next;
    at.offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (const Entry& e : entries) {
        if (!wanted(e) || e.offset == Buffer::unplaced || !live_together(at, e) || !share_memory(at, e)) continue;
        at.offset = align_up(e.offset + e.bytes, arena_alignment);  // no lower place is free of this one
        moved = true;
      }
    }
    next->offset = at.offset;
    if (at.offset + at.bytes > used) used = at.offset + at.bytes;
  }
}

}  // namespace linnet
