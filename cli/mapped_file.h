// A file's bytes in place, however large it is.
#pragma once
#include <string>

#include "linnet/core/span.h"

namespace linnet::cli {

class MappedFile {
 public:
  // Throws BadInput when the file is missing, unreadable, a directory or empty.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Bytes bytes() const { return {data_, size_}; }  // starts on a page

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace linnet::cli
