#include "cli/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/errors.h"

namespace linnet::cli {

MappedFile::MappedFile(const std::string& path) {
  auto reason = [] { return std::string(std::strerror(errno)); };
  int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) throw BadInput(fmt::format("cannot read '{}': {}", path, reason()));
  struct stat status = {};
  std::string problem;
  if (::fstat(handle, &status) != 0) {
    problem = reason();
  } else if (!S_ISREG(status.st_mode)) {
    problem = S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file";
  } else if (status.st_size == 0) {
    problem = "it is empty";
  } else {
    size_ = static_cast<size_t>(status.st_size);
    void* at = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, handle, 0);
    if (at == MAP_FAILED)
      problem = reason();
    else
      data_ = static_cast<const uint8_t*>(at);
  }
  ::close(handle);
  if (!problem.empty()) throw BadInput(fmt::format("cannot read '{}': {}", path, problem));
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<uint8_t*>(data_), size_);
}

}  // namespace linnet::cli
