// BlockDevice: storage outside the address space (a card, serial flash, PSRAM, a file), as the engine sees it.
//
// Requests are taken without waiting and are carried out one after the other in the order given: a read sees every write
// before it, and a buffer may be given to the next request while the previous one still uses it. Completion is a counter,
// which an interrupt may advance. A device serves one inference at a time.
//
// A driver is a table of functions in constant memory and a context of its own, no virtual calls. The first failure sticks:
// nothing after it is carried out, until `clear`.
#pragma once
#include <stdint.h>

#include "linnet/core/status.h"

namespace linnet {

// What planners and reports need to know. 0 where it is unknown or does not apply.
struct StorageFacts {
  uint64_t capacity_bytes = 0;
  uint32_t block_bytes = 1;  // a power of two: requests start and end at multiples of it
  uint32_t erase_bytes = 0;  // what one erase clears; 0: writing needs no erase
  uint32_t read_bytes_per_second = 0;
  uint32_t write_bytes_per_second = 0;
  uint32_t read_latency_us = 0;  // of a request, before its first byte
  uint32_t write_latency_us = 0;
  uint32_t endurance_cycles = 0;  // writes that a block survives
  uint32_t read_pj_per_byte = 0;
  uint32_t write_pj_per_byte = 0;
  uint32_t idle_uw = 0;
};

struct StorageRequest {
  enum class Kind : uint8_t { read, write, erase };
  uint64_t offset;
  uint8_t* data;  // must stay until the request has completed; null for erase
  uint32_t bytes;
  Kind kind;
};

struct StorageDriver {
  // Takes a request. Code::busy when the queue is full; any other failure is a fault.
  Status (*submit)(void* context, const StorageRequest& request);
  // How many requests have completed since the beginning, modulo 2^32. A fault is a status with Code::storage_fault.
  Status (*poll)(void* context, uint32_t& completed);
  // Returns when poll may have something new to say: sleep until an interrupt. Null: poll again at once.
  void (*wait)(void* context);
  // Drops what is outstanding (counting it as completed), touches no request's memory any more, and forgets the fault.
  void (*clear)(void* context);
  // For a data cache that the device's transfers bypass. Null where there is none.
  void (*clean_cache)(const void* data, uint32_t bytes);
  void (*invalidate_cache)(void* data, uint32_t bytes);
};

class BlockDevice {
 public:
  BlockDevice(const StorageDriver& driver, void* context, const StorageFacts& facts)
      : driver_(driver), context_(context), facts_(facts) {}

  const StorageFacts& facts() const { return facts_; }

  // Starts a transfer; waits only while the device's queue is full. `ticket` (never 0) is for await().
  Status submit(StorageRequest::Kind kind, uint64_t offset, uint8_t* data, uint32_t bytes, uint32_t& ticket) {
    if (((offset | bytes) & (facts_.block_bytes - 1)) != 0)
      return LINNET_ERROR(mismatch, "the Program was planned for a storage with smaller blocks: plan it for this one");
    if (offset > facts_.capacity_bytes || bytes > facts_.capacity_bytes - offset)
      return LINNET_ERROR(storage_fault, "the storage is too small for the Program");
    if (kind == StorageRequest::Kind::write && driver_.clean_cache) driver_.clean_cache(data, bytes);
    if (kind == StorageRequest::Kind::read) invalidate(data, bytes);
    for (;;) {
      Status status = driver_.submit(context_, {offset, data, bytes, kind});
      if (status.ok()) break;
      if (status.code() != Code::busy) return status;
      LINNET_TRY(await(oldest_after_completed()));
    }
    ticket = ++submitted_ | ticket_mark;
    return {};
  }

  // Until the request of `ticket` and all before it have completed. Tickets that were never given are complete.
  Status await(uint32_t ticket) {
    while (((submitted_ - ticket) & ~ticket_mark) < outstanding()) {
      uint32_t completed = completed_;
      LINNET_TRY(driver_.poll(context_, completed));
      if (completed == completed_ && driver_.wait) driver_.wait(context_);
      completed_ = completed;
    }
    return {};
  }

  // Until nothing is outstanding: no request uses anybody's memory any more. A fault is reported once and then forgotten.
  Status settle() {
    Status status = await(submitted_);
    uint32_t completed;
    if (status.ok()) status = driver_.poll(context_, completed);
    if (status.ok()) return status;
    driver_.clear(context_);
    completed_ = submitted_;
    return status;
  }

  // After a read has completed and before its bytes are looked at.
  void invalidate(void* data, uint32_t bytes) const {
    if (driver_.invalidate_cache) driver_.invalidate_cache(data, bytes);
  }

 private:
  static constexpr uint32_t ticket_mark = 0x80000000u;  // so that no ticket is 0
  uint32_t outstanding() const { return submitted_ - completed_; }
  uint32_t oldest_after_completed() const { return (completed_ + 1) | ticket_mark; }

  const StorageDriver& driver_;
  void* context_;
  StorageFacts facts_;
  uint32_t submitted_ = 0;
  uint32_t completed_ = 0;  // as far as is known
};

}  // namespace linnet
