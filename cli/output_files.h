// Files that appear under their name only when they are complete.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace linnet::cli {

// Several files that belong together. Content is written beside its destination first; commit() renames. What was not
// committed is removed. Devices and pipes (/dev/stdout) are written to directly, at commit.
class OutputFiles {
 public:
  OutputFiles() = default;
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // Makes the directory if need be; removes it again if nothing is committed.
  void add_directory(const std::string& path);
  // Throws BadInput when it cannot be written.
  void add(const std::string& path, std::span<const uint8_t> content);
  void add(const std::string& path, std::string_view text) {
    add(path, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  }
  void commit();

 private:
  struct File {
    std::string path;
    std::string temporary;  // empty: write `content` directly
    std::vector<uint8_t> content;
  };
  std::vector<File> files_;
  std::vector<std::string> directories_;
};

}  // namespace linnet::cli
