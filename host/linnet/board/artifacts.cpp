#include "linnet/board/artifacts.h"

#include <cstdlib>

#include "linnet/board/board.h"
#include "linnet/board/error.h"

namespace linnet::board {

std::filesystem::path find_artifact(const std::string& name, std::string_view how_to_get_it) {
  std::error_code ignored;
  if (const char* given = getenv("LINNET_ARTIFACTS")) {
    const std::filesystem::path path = std::filesystem::path(given) / name;
    if (std::filesystem::exists(path, ignored)) return path;
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (std::filesystem::path folder = program.parent_path(); folder != folder.parent_path();
       folder = folder.parent_path()) {
    for (const auto& path : {folder / name, folder / "lib/linnet" / name}) {
      if (std::filesystem::exists(path, ignored)) return path;
    }
  }
  throw Error("there is no " + name + " beside this program; " + std::string(how_to_get_it));
}

std::filesystem::path find_firmware(std::string_view name, std::string_view board) {
  const Board* known = find_board(board);
  const bool riscv = known != nullptr && known->architecture == Architecture::riscv32;
  const std::string file = "firmware/" + std::string(name) + "-" + std::string(board) + ".elf";
  return find_artifact(
      file, riscv ? "install the cross compiler (Debian: apt install gcc-riscv64-unknown-elf) and build again"
                  : "install the cross compiler (Debian: apt install gcc-arm-none-eabi) and build again");
}

}  // namespace linnet::board
