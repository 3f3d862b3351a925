#include "linnet/board/elf_image.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "linnet/board/error.h"

namespace linnet::board {
namespace {

// Records of the file by value, after a check that they are inside it.
class Reader {
 public:
  Reader(std::span<const uint8_t> file, const std::string& name) : file_(file), name_(name) {}

  template <typename T>
  T get(size_t offset) const {
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) bad("ends too early");
    T value;
    memcpy(&value, file_.data() + offset, sizeof(T));
    return value;
  }

  std::string text(const Elf32_Shdr& table, uint32_t offset) const {
    if (offset >= table.sh_size || table.sh_offset > file_.size() || table.sh_size > file_.size() - table.sh_offset) {
      bad("has a name outside its string table");
    }
    const auto* begin = reinterpret_cast<const char*>(file_.data() + table.sh_offset + offset);
    return std::string(begin, strnlen(begin, table.sh_size - offset));
  }

  [[noreturn]] void bad(const std::string& what) const { throw Error("ELF file '" + name_ + "' " + what); }

 private:
  std::span<const uint8_t> file_;
  const std::string& name_;
};

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    &free);
  return status == 0 ? text.get() : name;
}

}  // namespace

ElfImage ElfImage::read(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("cannot read the firmware '" + file.string() + "'");
  return parse({std::istreambuf_iterator<char>(stream), {}}, file.string());
}

ElfImage ElfImage::parse(std::vector<uint8_t> bytes, const std::string& name) {
  ElfImage image;
  image.file_ = std::move(bytes);
  const Reader reader(image.file_, name);
  const auto header = reader.get<Elf32_Ehdr>(0);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) reader.bad("does not begin as an ELF file does");
  if (header.e_ident[EI_CLASS] != ELFCLASS32 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    reader.bad("is not for a 32-bit little-endian core");
  }
  if (header.e_machine != EM_ARM && header.e_machine != EM_RISCV) reader.bad("is for neither Arm nor RISC-V");
  image.architecture_ = header.e_machine == EM_RISCV ? Architecture::riscv32 : Architecture::thumb;
  if (header.e_shentsize != sizeof(Elf32_Shdr) || header.e_shstrndx >= header.e_shnum) {
    reader.bad("has no usable section table");
  }
  std::vector<Elf32_Shdr> raw;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    raw.push_back(reader.get<Elf32_Shdr>(size_t{header.e_shoff} + i * sizeof(Elf32_Shdr)));
  }
  for (const Elf32_Shdr& section : raw) {
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
        (section.sh_offset > image.file_.size() || section.sh_size > image.file_.size() - section.sh_offset)) {
      reader.bad("has a section outside the file");
    }
    image.sections_.push_back({reader.text(raw[header.e_shstrndx], section.sh_name), section.sh_addr, section.sh_size,
                               (section.sh_flags & SHF_ALLOC) != 0, section.sh_type == SHT_NOBITS,
                               (section.sh_flags & SHF_WRITE) != 0, (section.sh_flags & SHF_EXECINSTR) != 0,
                               section.sh_offset});
  }
  struct Function {
    ElfSymbol symbol;
    bool global;
  };
  std::vector<Function> functions;
  for (const Elf32_Shdr& section : raw) {
    if (section.sh_type != SHT_SYMTAB) continue;
    if (section.sh_link >= raw.size()) reader.bad("has a symbol table without names");
    for (size_t at = 0; at + sizeof(Elf32_Sym) <= section.sh_size; at += sizeof(Elf32_Sym)) {
      const auto symbol = reader.get<Elf32_Sym>(section.sh_offset + at);
      const unsigned type = ELF32_ST_TYPE(symbol.st_info);
      if (symbol.st_name == 0 || symbol.st_shndx == SHN_UNDEF || type == STT_FILE || type == STT_SECTION) continue;
      const bool function = type == STT_FUNC;
      const bool thumb = function && header.e_machine == EM_ARM;
      ElfSymbol entry{demangle(reader.text(raw[section.sh_link], symbol.st_name)),
                      thumb ? symbol.st_value & ~1u : symbol.st_value, symbol.st_size, function};
      image.symbols_.push_back(entry);
      if (function) functions.push_back({std::move(entry), ELF32_ST_BIND(symbol.st_info) == STB_GLOBAL});
    }
  }
  // Of several names for one function the global one stays, then the first in the alphabet.
  std::sort(functions.begin(), functions.end(), [](const Function& a, const Function& b) {
    if (a.symbol.address != b.symbol.address) return a.symbol.address < b.symbol.address;
    if (a.global != b.global) return a.global;
    return a.symbol.name < b.symbol.name;
  });
  for (Function& function : functions) {
    if (image.functions_.empty() || image.functions_.back().address != function.symbol.address) {
      image.functions_.push_back(std::move(function.symbol));
    }
  }
  return image;
}

const ElfSymbol* ElfImage::function_at(uint32_t address) const {
  auto next = std::upper_bound(functions_.begin(), functions_.end(), address,
                               [](uint32_t value, const ElfSymbol& symbol) { return value < symbol.address; });
  if (next == functions_.begin()) return nullptr;
  const ElfSymbol& symbol = *std::prev(next);
  // Assembly without a size reaches to the next function.
  return symbol.bytes == 0 || address - symbol.address < symbol.bytes ? &symbol : nullptr;
}

std::optional<ElfSymbol> ElfImage::find(std::string_view name) const {
  for (const ElfSymbol& symbol : symbols_) {
    if (symbol.name == name || (symbol.name.starts_with(name) && symbol.name[name.size()] == '(')) return symbol;
  }
  return std::nullopt;
}

std::span<const uint8_t> ElfImage::bytes_at(uint32_t address, uint32_t size_bytes) const {
  for (const ElfSection& section : sections_) {
    if (!section.loaded || section.zeros || address < section.address) continue;
    const uint32_t offset = address - section.address;
    if (offset > section.bytes || size_bytes > section.bytes - offset) continue;
    return std::span(file_).subspan(section.offset + offset, size_bytes);
  }
  return {};
}

uint32_t ElfImage::flash_bytes() const {
  uint32_t bytes = 0;
  for (const ElfSection& section : sections_) bytes += section.loaded && !section.zeros ? section.bytes : 0;
  return bytes;
}

uint32_t ElfImage::ram_bytes() const {
  uint32_t bytes = 0;
  for (const ElfSection& section : sections_) bytes += section.loaded && section.writable ? section.bytes : 0;
  return bytes;
}

}  // namespace linnet::board
