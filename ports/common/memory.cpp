#include "common/board.h"
#include "port.h"

namespace linnet::port {
namespace {

constexpr uint32_t stack_paint = 0xA5C35A3C;
uint32_t* painted_end = nullptr;

uint32_t* painted_begin() {
  return reinterpret_cast<uint32_t*>(reinterpret_cast<uint32_t>(linnet_stack_begin) + LINNET_BOARD_GUARD_BYTES);
}

}  // namespace

Bytes blob(uint32_t slot) {
  struct Entry {
    uint32_t address, bytes;
  };
  if (slot >= blob_slots) return {nullptr, 0};
  const volatile Entry& entry = reinterpret_cast<const volatile Entry*>(LINNET_BOARD_BLOBS_BASE)[slot];
  const uint32_t address = entry.address, bytes = entry.bytes;
  // The loader fills flash that nobody wrote with 0 on these boards; real flash reads all ones.
  if (bytes == 0 || bytes == 0xFFFFFFFF) return {nullptr, 0};
  return {reinterpret_cast<uint8_t*>(address), bytes};
}

Bytes free_memory() {
  return {reinterpret_cast<uint8_t*>(linnet_free_begin),
          static_cast<uint32_t>(reinterpret_cast<uint8_t*>(linnet_free_end) -
                                reinterpret_cast<uint8_t*>(linnet_free_begin))};
}

// No prologue of its own may lie in what it paints: the stack pointer is read once, and nothing is pushed after it.
[[gnu::noinline]] void paint_stack() {
  uint32_t* end;
#if defined(__riscv)
  asm volatile("mv %0, sp" : "=r"(end));
#else
  asm volatile("mov %0, sp" : "=r"(end));
#endif
  for (volatile uint32_t* at = painted_begin(); at < end; ++at) *at = stack_paint;
  painted_end = end;
}

uint32_t stack_bytes() {
  const uint32_t* at = painted_begin();
  while (at < painted_end && *at == stack_paint) ++at;
  return static_cast<uint32_t>(reinterpret_cast<const uint8_t*>(painted_end) - reinterpret_cast<const uint8_t*>(at));
}

}  // namespace linnet::port
