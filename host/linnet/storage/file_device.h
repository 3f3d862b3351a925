// FileDevice: a file as a storage, served by a thread of its own, so that input and output really overlap computing.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "linnet/storage/block_device.h"

namespace linnet {

// How long requests take besides what the machine needs, to stand for a slower device. 0: as fast as possible.
struct Throttle {
  double read_bytes_per_second = 0;
  double write_bytes_per_second = 0;
  double latency_seconds = 0;
};

class FileDevice {
 public:
  // Opens a file for reading and writing. With `capacity_bytes` in the facts it is made, or made longer, where needed;
  // with 0 the capacity is the file's size. Throws std::runtime_error, naming the file.
  explicit FileDevice(const std::string& path, StorageFacts facts = {}, Throttle throttle = {});
  ~FileDevice();
  FileDevice(const FileDevice&) = delete;
  FileDevice& operator=(const FileDevice&) = delete;

  BlockDevice& device() { return device_; }

  struct Counts {
    uint64_t read_requests = 0, write_requests = 0, read_bytes = 0, write_bytes = 0;
  };
  Counts counts() const;

 private:
  static constexpr size_t queue_length = 64;

  static Status submit(void* context, const StorageRequest& request);
  static Status poll(void* context, uint32_t& completed);
  static void wait(void* context);
  static void clear(void* context);
  static const StorageDriver driver;

  void serve();
  Status carry_out(const StorageRequest& request);

  int file_;
  Throttle throttle_;
  mutable std::mutex mutex_;
  std::condition_variable work_, progress_;
  std::deque<StorageRequest> queue_;  // the first one is being carried out
  uint32_t completed_ = 0, seen_ = 0;
  Status fault_;
  bool stopping_ = false;
  Counts counts_;
  BlockDevice device_;
  std::thread thread_;
};

}  // namespace linnet
