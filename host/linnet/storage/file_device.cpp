#include "linnet/storage/file_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace linnet {
namespace {

int open_file(const std::string& path, StorageFacts& facts) {
  auto fail = [&](int file) {
    std::string reason = std::strerror(errno);
    if (file >= 0) close(file);
    throw std::runtime_error("cannot use " + path + " as a storage: " + reason);
  };
  int file = open(path.c_str(), facts.capacity_bytes ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDWR | O_CLOEXEC, 0644);
  if (file < 0) fail(file);
  struct stat info;
  if (fstat(file, &info) != 0) fail(file);
  uint64_t size = static_cast<uint64_t>(info.st_size);
  if (facts.capacity_bytes == 0) facts.capacity_bytes = size;
  if (size < facts.capacity_bytes && ftruncate(file, static_cast<off_t>(facts.capacity_bytes)) != 0) fail(file);
  return file;
}

}  // namespace

const StorageDriver FileDevice::driver = {&submit, &poll, &wait, &clear, nullptr, nullptr};

FileDevice::FileDevice(const std::string& path, StorageFacts facts, Throttle throttle)
    : file_(open_file(path, facts)), throttle_(throttle), device_(driver, this, facts), thread_([this] { serve(); }) {}

FileDevice::~FileDevice() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
  close(file_);
}

FileDevice::Counts FileDevice::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

Status FileDevice::submit(void* context, const StorageRequest& request) {
  FileDevice& device = *static_cast<FileDevice*>(context);
  {
    std::lock_guard lock(device.mutex_);
    if (!device.fault_.ok()) return device.fault_;
    if (device.queue_.size() == queue_length) return LINNET_ERROR(busy, "the storage's queue is full");
    device.queue_.push_back(request);
  }
  device.work_.notify_one();
  return {};
}

Status FileDevice::poll(void* context, uint32_t& completed) {
  FileDevice& device = *static_cast<FileDevice*>(context);
  std::lock_guard lock(device.mutex_);
  completed = device.seen_ = device.completed_;
  return device.fault_;
}

void FileDevice::wait(void* context) {
  FileDevice& device = *static_cast<FileDevice*>(context);
  std::unique_lock lock(device.mutex_);
  device.progress_.wait(lock, [&] { return device.completed_ != device.seen_ || !device.fault_.ok() || device.queue_.empty(); });
}

void FileDevice::clear(void* context) {
  FileDevice& device = *static_cast<FileDevice*>(context);
  std::unique_lock lock(device.mutex_);
  if (device.queue_.size() > 1) {  // all but the one that is being carried out
    device.completed_ += static_cast<uint32_t>(device.queue_.size() - 1);
    device.queue_.erase(device.queue_.begin() + 1, device.queue_.end());
  }
  device.progress_.wait(lock, [&] { return device.queue_.empty(); });
  device.fault_ = {};
}

void FileDevice::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    StorageRequest request = queue_.front();
    Status status = fault_;
    if (status.ok()) {
      lock.unlock();
      status = carry_out(request);
      lock.lock();
    }
    if (status.ok()) {
      (request.kind == StorageRequest::Kind::read ? counts_.read_requests : counts_.write_requests) += 1;
      (request.kind == StorageRequest::Kind::read ? counts_.read_bytes : counts_.write_bytes) += request.bytes;
    }
    fault_ = status;
    queue_.pop_front();
    ++completed_;
    progress_.notify_all();
  }
}

Status FileDevice::carry_out(const StorageRequest& request) {
  bool reads = request.kind == StorageRequest::Kind::read;
  double rate = reads ? throttle_.read_bytes_per_second : throttle_.write_bytes_per_second;
  auto until = std::chrono::steady_clock::now() +
               std::chrono::duration<double>(throttle_.latency_seconds + (rate > 0 ? request.bytes / rate : 0));
  std::vector<uint8_t> erased(request.kind == StorageRequest::Kind::erase ? request.bytes : 0, 0xFF);
  uint8_t* data = request.kind == StorageRequest::Kind::erase ? erased.data() : request.data;
  for (size_t done = 0; done < request.bytes;) {
    off_t at = static_cast<off_t>(request.offset + done);
    ssize_t n = reads ? pread(file_, data + done, request.bytes - done, at) : pwrite(file_, data + done, request.bytes - done, at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && reads) return LINNET_ERROR(storage_fault, "reading from the storage failed");
    if (n < 0) return LINNET_ERROR(storage_fault, "writing to the storage failed: is it full or write-protected?");
    if (n == 0) return LINNET_ERROR(storage_fault, "the storage ends before the data that the Program expects there");
    done += static_cast<size_t>(n);
  }
  if (throttle_.latency_seconds > 0 || rate > 0) std::this_thread::sleep_until(until);
  return {};
}

}  // namespace linnet
