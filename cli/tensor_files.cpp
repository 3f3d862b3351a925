#include "cli/tensor_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/errors.h"
#include "cli/npy_file.h"
#include "cli/text.h"

namespace linnet::cli {
namespace {

std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

bool is_image(const std::string& path) { return ending_of(path) == ".bmp" || ending_of(path) == ".png"; }

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream stream;
  errno = 0;
  if (!std::filesystem::is_directory(path))
    stream.open(path, std::ios::binary);
  else
    errno = EISDIR;
  if (!stream.is_open()) throw BadInput(fmt::format("cannot read '{}': {}", path, std::strerror(errno ? errno : EIO)));
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) throw BadInput(fmt::format("cannot read '{}'", path));
  std::string content = std::move(text).str();
  return {content.begin(), content.end()};
}

}  // namespace

TensorBytes read_tensor(const std::string& path, const PortInfo& port, const std::string& what, Pixels pixels) {
  std::vector<uint8_t> file = read_file(path);
  try {
    if (ending_of(path) == ".npy") return read_npy(file, port);
    if (is_image(path)) {
      Image image = read_image(file, port, pixels);
      if (image.taken_as_signed && pixels == Pixels::automatic)
        fmt::print(
            stderr,
            "linnet: {} holds signed pixels by the look of it and is taken so (--pixels unsigned if it is not)\n",
            path);
      return std::move(image.bytes);
    }
    if (file.size() != port.bytes) throw Mismatch(fmt::format("the file has {} bytes", file.size()));
    return file;
  } catch (const Mismatch& error) {
    throw BadInput(fmt::format("{}: {}, but {} is {} ({} bytes)", path, error.what(), what,
                               type_text(port.type, port.dims), port.bytes));
  } catch (const Error& error) {
    throw BadInput(fmt::format("{}: {}", path, error.what()));
  }
}

std::vector<uint8_t> tensor_file_content(const std::string& path, const PortInfo& port, const TensorBytes& bytes) {
  if (is_image(path)) throw BadInput(fmt::format("{}: outputs are written as .npy or raw, not as images", path));
  return ending_of(path) == ".npy" ? write_npy(port, bytes) : bytes;
}

}  // namespace linnet::cli
