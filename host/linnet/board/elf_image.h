// A small reader of 32-bit little-endian ELF executables: sections, function symbols, bytes by address.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linnet/board/board.h"

namespace linnet::board {

struct ElfSymbol {
  std::string name;  // demangled
  uint32_t address = 0;
  uint32_t bytes = 0;
  bool function = false;
};

struct ElfSection {
  std::string name;
  uint32_t address = 0;
  uint32_t bytes = 0;
  bool loaded = false;  // occupies memory on the target
  bool zeros = false;   // without content in the file (.bss)
  bool writable = false;
  bool executable = false;
  size_t offset = 0;  // in the file
};

class ElfImage {
 public:
  // Throws Error when the file cannot be read or is not such an executable.
  static ElfImage read(const std::filesystem::path& file);
  static ElfImage parse(std::vector<uint8_t> bytes, const std::string& name);

  Architecture architecture() const { return architecture_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  // By address; one per function, aliases removed.
  const std::vector<ElfSymbol>& functions() const { return functions_; }
  // The function that covers the address, or null.
  const ElfSymbol* function_at(uint32_t address) const;
  // Any symbol, by its whole demangled name, or by the part of it before the parameter list.
  std::optional<ElfSymbol> find(std::string_view name) const;
  // Content at a target address; empty when the file has none there.
  std::span<const uint8_t> bytes_at(uint32_t address, uint32_t size_bytes) const;

  // Bytes in flash: code, constants and the initial values of data. Bytes of RAM: data and zeroed data.
  uint32_t flash_bytes() const;
  uint32_t ram_bytes() const;

 private:
  Architecture architecture_ = Architecture::thumb;
  std::vector<uint8_t> file_;
  std::vector<ElfSection> sections_;
  std::vector<ElfSymbol> symbols_;
  std::vector<ElfSymbol> functions_;
};

}  // namespace linnet::board
