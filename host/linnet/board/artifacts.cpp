#include "linnet/board/artifacts.h"

#include <cstdlib>
#include <vector>

#include "linnet/board/board.h"
#include "linnet/board/error.h"

namespace linnet::board {
namespace {

constexpr uint32_t runner_code_bytes = 256 * 1024;  // what the runner takes, with all operators, and some more

// $LINNET_ARTIFACTS, then this program's folder and those above it.
std::vector<std::filesystem::path> places() {
  std::error_code ignored;
  std::vector<std::filesystem::path> folders;
  if (const char* given = getenv("LINNET_ARTIFACTS")) folders.emplace_back(given);
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (std::filesystem::path folder = program.parent_path(); folder != folder.parent_path();
       folder = folder.parent_path())
    folders.push_back(folder);
  return folders;
}

// The first of `names` that exists, a nearer place before a farther one; empty if there is none.
std::filesystem::path find_any(const std::vector<std::string>& names) {
  std::error_code ignored;
  for (const std::filesystem::path& folder : places())
    for (const std::string& name : names)
      for (const auto& path : {folder / name, folder / "lib/linnet" / name})
        if (std::filesystem::exists(path, ignored)) return path;
  return {};
}

}  // namespace

std::filesystem::path find_artifact(const std::string& name, std::string_view how_to_get_it) {
  std::filesystem::path path = find_any({name});
  if (path.empty()) throw Error("there is no " + name + " beside this program; " + std::string(how_to_get_it));
  return path;
}

std::filesystem::path find_firmware(std::string_view name, std::string_view board) {
  const std::string file = "firmware/" + std::string(name) + "-" + std::string(board) + ".elf";
  const Board* known = find_board(board);
  if (known == nullptr) return find_artifact(file, "there is no board of that name");
  const std::string core(known->core);
  // A tree of the board's family (build/<core>) lies beside that of the host (build/host).
  std::filesystem::path path = find_any({file, core + "/" + file});
  if (!path.empty()) return path;
  if (name == "runner" && known->code.bytes < runner_code_bytes)
    throw Error(
        std::string(board) + " has " + std::to_string(known->code.bytes / 1024) +
        " KB for code, too little for a runner of all operators; export the network (linnet export) and build a "
        "firmware that contains it");
  const bool riscv = known->architecture == Architecture::riscv32;
  throw Error("there is no " + file + " beside this program; with " +
              (riscv ? "gcc-riscv64-unknown-elf" : "gcc-arm-none-eabi") + " (Debian: apt install), `cmake --preset " +
              core + " && cmake --build --preset " + core + "` makes it");
}

}  // namespace linnet::board
