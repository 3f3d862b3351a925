// Runs a firmware on an emulated board (QEMU), with data placed in its memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "linnet/board/board.h"

namespace linnet::board {

// One slot of the board's blob directory (linnet::port::blob).
struct Blob {
  uint32_t slot = 0;
  std::string name;  // what messages call it: "model", "input 0"
  // A file is handed to the emulator as it is; bytes are written to a temporary file first.
  std::variant<std::filesystem::path, std::vector<uint8_t>> content;
};

struct PlacedBlob {
  uint32_t slot = 0;
  uint32_t address = 0;
  uint32_t bytes = 0;
};

// Where each blob goes: in the order given, behind the directory, at multiples of blob_alignment_bytes. Throws Error
// when a file cannot be read, a slot is taken twice or does not exist, or the blobs do not fit.
std::vector<PlacedBlob> place_blobs(const Board& board, const std::vector<Blob>& blobs);

struct Word {
  uint32_t address = 0;
  uint32_t value = 0;
};

struct RunRequest {
  std::filesystem::path firmware;  // ELF
  std::vector<Blob> blobs;
  std::vector<Word> words;  // further 32-bit words to store before the start
  // What linnet::port::command_line() gives after the program's name. Semihosting joins words by spaces, so that none
  // may be empty or contain one: name files relative to working_directory.
  std::vector<std::string> arguments;
  std::filesystem::path working_directory;  // base of the firmware's file names; empty: the caller's
  std::chrono::milliseconds time_limit{60'000};
  std::string serial = "null";                // value of QEMU's -serial: where the board's first UART goes
  std::string plugin;                         // value of QEMU's -plugin, if any
  std::vector<std::string> emulator_options;  // further words for QEMU
  std::string emulator;                       // program to run instead of the board's
};

struct RunResult {
  int exit_status = 0;
  std::string standard_output;  // what the firmware wrote by put_string() and the like
  std::string standard_error;   // fault reports, and the emulator's own messages

  bool faulted() const;  // the processor did; standard_error has the registers
};

// Ends with the firmware. Throws Error when the emulator is not installed, something does not fit the board, the time
// limit passed, or the emulator itself failed. A firmware's exit status, also that of a fault, is a result.
RunResult run_firmware(const Board& board, const RunRequest& request);

// Same as linnet::port::fault_exit_status.
constexpr int fault_exit_status = 250;

}  // namespace linnet::board
