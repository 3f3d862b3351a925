#include "linnet/board/board.h"

#include <string>

#include "linnet/board/error.h"

namespace linnet::board {
namespace {

// Each pair of includes makes one element; their order is the meaning.
// clang-format off
constexpr Board known_boards[] = {
#include "ports/mps2-an386/board.h"
#include "linnet/board/board_record.inc"
#include "ports/microbit/board.h"
#include "linnet/board/board_record.inc"
#include "ports/lm3s6965evb/board.h"
#include "linnet/board/board_record.inc"
#include "ports/mps2-an385/board.h"
#include "linnet/board/board_record.inc"
#include "ports/mps2-an500/board.h"
#include "linnet/board/board_record.inc"
#include "ports/mps2-an505/board.h"
#include "linnet/board/board_record.inc"
#include "ports/mps3-an547/board.h"
#include "linnet/board/board_record.inc"
#include "ports/riscv32-virt/board.h"
#include "linnet/board/board_record.inc"
};
// clang-format on

}  // namespace

std::string_view Board::emulator() const {
  return architecture == Architecture::riscv32 ? "qemu-system-riscv32" : "qemu-system-arm";
}

std::string_view Board::emulator_package() const {
  return architecture == Architecture::riscv32 ? "qemu-system-misc" : "qemu-system-arm";
}

std::span<const Board> boards() { return known_boards; }

const Board* find_board(std::string_view name) {
  for (const Board& board : known_boards) {
    if (board.name == name) return &board;
  }
  return nullptr;
}

const Board& board_named(std::string_view name) {
  if (const Board* board = find_board(name)) return *board;
  std::string text = "there is no board '" + std::string(name) + "'; the boards are";
  for (const Board& board : known_boards) text.append(" ").append(board.name);
  throw Error(text);
}

}  // namespace linnet::board
