// The boards that firmware exists for. The figures are those the firmware is linked with (ports/<board>/board.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace linnet::board {

enum class Architecture { thumb, riscv32 };

struct Region {
  std::string_view name;
  uint32_t base = 0;
  uint32_t bytes = 0;

  bool contains(uint64_t address, uint64_t size_bytes) const {
    return address >= base && size_bytes <= bytes && address - base <= bytes - size_bytes;
  }
};

struct Board {
  std::string_view name;
  std::string_view machine;  // QEMU's name
  std::string_view core;
  Architecture architecture = Architecture::thumb;
  Region code;   // vectors, text, constants
  Region ram;    // data, arena, stack at its end
  Region blobs;  // what the host places: directory, model, Program, inputs
  uint32_t stack_bytes = 0;
  uint32_t clock_hz = 0;

  std::string_view emulator() const;          // program to run
  std::string_view emulator_package() const;  // Debian package that has it
};

std::span<const Board> boards();

// Null when there is none of that name.
const Board* find_board(std::string_view name);

// Throws Error, listing the names there are.
const Board& board_named(std::string_view name);

// First bytes of the blob region: a directory of {address, bytes}, two words for each slot (ports/port.h).
constexpr uint32_t blob_slots = 16;
constexpr uint32_t blob_directory_bytes = blob_slots * 8;
constexpr uint32_t blob_alignment_bytes = 64;

}  // namespace linnet::board
