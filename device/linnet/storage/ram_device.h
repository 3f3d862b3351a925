// RamDevice: memory that can be addressed as a storage, such as memory-mapped PSRAM. Requests complete at once.
#pragma once
#include "linnet/core/span.h"
#include "linnet/storage/block_device.h"

namespace linnet {

class RamDevice {
 public:
  explicit RamDevice(Span<uint8_t> memory, StorageFacts facts = {})
      : memory_(memory), device_(driver, this, with_capacity(facts, memory.size())) {}
  RamDevice(const RamDevice&) = delete;
  RamDevice& operator=(const RamDevice&) = delete;

  BlockDevice& device() { return device_; }

 private:
  static StorageFacts with_capacity(StorageFacts facts, uint64_t bytes) {
    facts.capacity_bytes = bytes;
    return facts;
  }
  static Status submit(void* context, const StorageRequest& request) {  // BlockDevice has checked the bounds
    RamDevice& ram = *static_cast<RamDevice*>(context);
    uint8_t* at = ram.memory_.data() + request.offset;
    switch (request.kind) {
      case StorageRequest::Kind::read: __builtin_memcpy(request.data, at, request.bytes); break;
      case StorageRequest::Kind::write: __builtin_memcpy(at, request.data, request.bytes); break;
      case StorageRequest::Kind::erase: __builtin_memset(at, 0xFF, request.bytes); break;
    }
    ++ram.completed_;
    return {};
  }
  static Status poll(void* context, uint32_t& completed) {
    completed = static_cast<RamDevice*>(context)->completed_;
    return {};
  }
  static void clear(void*) {}
  static constexpr StorageDriver driver = {&submit, &poll, nullptr, &clear, nullptr, nullptr};

  Span<uint8_t> memory_;
  uint32_t completed_ = 0;
  BlockDevice device_;
};

}  // namespace linnet
