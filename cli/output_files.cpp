#include "cli/output_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/errors.h"

namespace linnet::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path) {
  throw BadInput(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
}

void write_all(int handle, std::span<const uint8_t> content, const std::string& path) {
  while (!content.empty()) {
    ssize_t n = ::write(handle, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path);
    content = content.subspan(static_cast<size_t>(n));
  }
}

struct Handle {
  int value;
  ~Handle() {
    if (value >= 0) ::close(value);
  }
  int release() { return std::exchange(value, -1); }
};

mode_t file_mode() {
  mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

OutputFiles::~OutputFiles() {
  for (const File& file : files_)
    if (!file.temporary.empty()) ::unlink(file.temporary.c_str());
  for (auto path = directories_.rbegin(); path != directories_.rend(); ++path)
    ::rmdir(path->c_str());  // if it is empty
}

void OutputFiles::add_directory(const std::string& path) {
  fs::path so_far;
  for (const fs::path& part : fs::path(path)) {
    so_far /= part;
    if (fs::is_directory(so_far)) continue;
    if (::mkdir(so_far.c_str(), 0777) != 0) {
      if (fs::exists(so_far)) throw BadInput(fmt::format("'{}' is a file, not a directory", so_far.string()));
      throw BadInput(fmt::format("cannot make the directory '{}': {}", so_far.string(), std::strerror(errno)));
    }
    directories_.push_back(so_far.string());
  }
}

void OutputFiles::add(const std::string& given, std::span<const uint8_t> content) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(given, error);  // a link's target is replaced, not the link
  if (error) path = given;
  fs::file_status status = fs::status(given, error);
  if (fs::is_directory(status)) throw BadInput(fmt::format("cannot write '{}': it is a directory", given));
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    files_.push_back({given, {}, {content.begin(), content.end()}});
    return;
  }
  std::string temporary = (path.parent_path() / fmt::format(".{}.XXXXXX", path.filename().string())).string();
  Handle handle{::mkstemp(temporary.data())};
  if (handle.value < 0) fail(given);
  files_.push_back({path.string(), temporary, {}});
  write_all(handle.value, content, given);
  if (::fchmod(handle.value, file_mode()) != 0 || ::close(handle.release()) != 0) fail(given);
}

void OutputFiles::commit() {
  for (File& file : files_) {
    if (file.temporary.empty()) {
      Handle handle{::open(file.path.c_str(), O_WRONLY)};
      if (handle.value < 0) fail(file.path);
      write_all(handle.value, file.content, file.path);
    } else {
      if (::rename(file.temporary.c_str(), file.path.c_str()) != 0) fail(file.path);
      file.temporary.clear();
    }
  }
  files_.clear();
  directories_.clear();
}

}  // namespace linnet::cli
