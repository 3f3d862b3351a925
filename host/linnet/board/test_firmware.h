// For tests: prebuilt test firmware (ports/test), and skipping with a reason where it or the emulator is missing.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "linnet/board/artifacts.h"
#include "linnet/board/board.h"
#include "linnet/board/elf_image.h"
#include "linnet/board/error.h"
#include "linnet/board/process.h"
#include "linnet/board/run.h"

namespace linnet::board {

inline std::vector<const Board*> all_boards() {
  std::vector<const Board*> list;
  for (const Board& board : boards()) list.push_back(&board);
  return list;
}

inline std::string board_test_name(const testing::TestParamInfo<const Board*>& info) {
  std::string name(info.param->name);
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

inline std::filesystem::path test_firmware(std::string_view name, const Board& board) {
  return find_firmware(name, board.name);
}

inline std::string why_no_firmware(std::string_view name, const Board& board) {
  try {
    find_firmware(name, board.name);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

inline std::string why_no_emulator(const Board& board) {
  return find_program(std::string(board.emulator())) ? "" : std::string(board.emulator()) + " is not installed";
}

#define LINNET_NEEDS_FIRMWARE(name, board) \
  if (const std::string why = why_no_firmware(name, board); !why.empty()) GTEST_SKIP() << why

#define LINNET_NEEDS_EMULATOR(name, board) \
  LINNET_NEEDS_FIRMWARE(name, board);      \
  if (const std::string why = why_no_emulator(board); !why.empty()) GTEST_SKIP() << why

// What the expression's Error says; empty when it throws none.
template <typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace linnet::board
