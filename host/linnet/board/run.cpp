#include "linnet/board/run.h"

#include <cstring>
#include <fstream>

#include "linnet/board/elf_image.h"
#include "linnet/board/error.h"
#include "linnet/board/process.h"

namespace linnet::board {
namespace {

uint64_t size_of(const Blob& blob) {
  if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&blob.content)) return bytes->size();
  const auto& file = std::get<std::filesystem::path>(blob.content);
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(file, error);
  if (error) throw Error("cannot read '" + file.string() + "' (" + blob.name + "): " + error.message());
  return size;
}

std::filesystem::path write_file(const std::filesystem::path& file, const std::vector<uint8_t>& bytes) {
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) throw Error("cannot write '" + file.string() + "'");
  return file;
}

// A comma ends an option for QEMU; two are a comma.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == ',') result += ',';
  }
  return result;
}

std::string hex(uint32_t value) {
  char text[16];
  snprintf(text, sizeof(text), "0x%x", value);
  return text;
}

std::string load_file(const std::filesystem::path& file, uint32_t address) {
  return "loader,file=" + escaped(std::filesystem::absolute(file).string()) + ",addr=" + hex(address) + ",force-raw=on";
}

std::vector<uint8_t> directory_of(const std::vector<PlacedBlob>& placed) {
  std::vector<uint8_t> bytes(blob_directory_bytes);
  for (const PlacedBlob& blob : placed) {
    memcpy(&bytes[blob.slot * 8], &blob.address, 4);
    memcpy(&bytes[blob.slot * 8 + 4], &blob.bytes, 4);
  }
  return bytes;
}

// An image linked for another board would only show as silence or a crash.
void check_image(const Board& board, const std::filesystem::path& firmware) {
  const ElfImage image = ElfImage::read(firmware);
  for (const ElfSection& section : image.sections()) {
    if (!section.loaded || section.bytes == 0) continue;
    if (board.code.contains(section.address, section.bytes) || board.ram.contains(section.address, section.bytes))
      continue;
    throw Error("firmware '" + firmware.string() + "' has " + section.name + " at " + hex(section.address) +
                ", where " + std::string(board.name) + " has neither code nor RAM: it was built for another board");
  }
}

std::string semihosting(const RunRequest& request) {
  std::string text = "enable=on,target=native,arg=" + escaped(request.firmware.stem().string());
  for (const std::string& word : request.arguments) {
    if (word.empty() || word.find(' ') != word.npos) {
      throw Error("the word '" + word +
                  "' for the firmware is empty or contains a space; name files relative to the "
                  "working directory");
    }
    text += ",arg=" + escaped(word);
  }
  return text;
}

std::vector<std::string> emulator_words(const Board& board, const RunRequest& request,
                                        const std::filesystem::path& temporary) {
  const std::string wanted = request.emulator.empty() ? std::string(board.emulator()) : request.emulator;
  const auto program = find_program(wanted);
  if (!program) {
    throw Error(wanted + " is not installed; it runs the board " + std::string(board.name) + " (Debian: apt install " +
                std::string(board.emulator_package()) + ")");
  }
  std::vector<std::string> words = {
      program->string(), "-machine",    std::string(board.machine), "-display", "none", "-monitor", "none",
      "-serial",         request.serial};
  if (board.architecture == Architecture::riscv32) words.insert(words.end(), {"-bios", "none"});
  words.insert(words.end(), {"-semihosting-config", semihosting(request)});
  words.insert(words.end(), {"-kernel", std::filesystem::absolute(request.firmware).string()});
  const std::vector<PlacedBlob> placed = place_blobs(board, request.blobs);
  if (!placed.empty()) {
    const auto directory = write_file(temporary / "directory", directory_of(placed));
    words.insert(words.end(), {"-device", load_file(directory, board.blobs.base)});
  }
  for (size_t i = 0; i < placed.size(); ++i) {
    const auto* bytes = std::get_if<std::vector<uint8_t>>(&request.blobs[i].content);
    const auto file = bytes != nullptr ? write_file(temporary / ("blob" + std::to_string(i)), *bytes)
                                       : std::get<std::filesystem::path>(request.blobs[i].content);
    if (placed[i].bytes != 0) words.insert(words.end(), {"-device", load_file(file, placed[i].address)});
  }
  for (const Word& word : request.words) {
    if (!board.ram.contains(word.address, 4) && !board.blobs.contains(word.address, 4)) {
      throw Error("a word at " + hex(word.address) + " is outside RAM and blob region of " + std::string(board.name));
    }
    words.insert(words.end(),
                 {"-device", "loader,addr=" + hex(word.address) + ",data=" + hex(word.value) + ",data-len=4"});
  }
  if (!request.plugin.empty()) words.insert(words.end(), {"-plugin", request.plugin});
  words.insert(words.end(), request.emulator_options.begin(), request.emulator_options.end());
  return words;
}

void remove_line(std::string& text, const std::string& line) {
  for (size_t at; (at = text.find(line)) != text.npos;) text.erase(at, line.size());
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

std::vector<PlacedBlob> place_blobs(const Board& board, const std::vector<Blob>& blobs) {
  std::vector<PlacedBlob> placed;
  uint64_t at = blob_directory_bytes;
  for (const Blob& blob : blobs) {
    if (blob.slot >= blob_slots) throw Error(blob.name + ": there is no slot " + std::to_string(blob.slot));
    for (const PlacedBlob& other : placed) {
      if (other.slot == blob.slot) throw Error(blob.name + ": slot " + std::to_string(blob.slot) + " is taken twice");
    }
    at = (at + blob_alignment_bytes - 1) / blob_alignment_bytes * blob_alignment_bytes;
    const uint64_t bytes = size_of(blob);
    if (at > board.blobs.bytes || bytes > board.blobs.bytes - at) {
      const uint64_t left = at > board.blobs.bytes ? 0 : board.blobs.bytes - at;
      throw Error(blob.name + " has " + std::to_string(bytes) + " bytes, and " + std::string(board.name) +
                  " has room for " + std::to_string(left) + "; choose a board with more memory");
    }
    placed.push_back({blob.slot, board.blobs.base + static_cast<uint32_t>(at), static_cast<uint32_t>(bytes)});
    at += bytes;
  }
  return placed;
}

bool RunResult::faulted() const {
  return exit_status == fault_exit_status && standard_error.find("fault: ") != std::string::npos;
}

RunResult run_firmware(const Board& board, const RunRequest& request) {
  check_image(board, request.firmware);
  const TemporaryDirectory temporary;
  ProcessRequest process;
  process.words = emulator_words(board, request, temporary.path());
  process.working_directory = request.working_directory;
  process.time_limit = request.time_limit;
  ProcessResult result = run_process(process);
  remove_line(result.standard_error, "Timer with period zero, disabling\n");  // lm3s6965evb, harmless

  const std::string what = "firmware '" + request.firmware.filename().string() + "' on " + std::string(board.name);
  switch (result.end) {
    case ProcessEnd::timed_out:
      throw Error(what + " was still running after " + std::to_string(request.time_limit.count()) +
                  " ms and was stopped");
    case ProcessEnd::output_limit:
      throw Error(what + " wrote more than " + std::to_string(process.output_limit_bytes) + " bytes and was stopped");
    case ProcessEnd::signalled:
      // QEMU aborts when a fault handler faults.
      throw Error(what + " ended the emulator by signal " + std::to_string(result.status) + ": " +
                  last_line(result.standard_error));
    case ProcessEnd::exited:
      break;
  }
  if (result.status == 1 && result.standard_error.starts_with(process.words[0] + ":")) {
    throw Error("the emulator refused to start: " + last_line(result.standard_error));
  }
  return {result.status, std::move(result.standard_output), std::move(result.standard_error)};
}

}  // namespace linnet::board
