#include "cli/sources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/text.h"
#include "linnet/run/catalogue.h"
#include "linnet/run/program_file.h"

namespace linnet::cli {
namespace {

const std::set<std::string_view> taken_names = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
    "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
    "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
    "wchar_t", "while", "xor", "xor_eq",
    // not keywords, but unhappy as the name of a namespace or of a CMake target
    "linnet", "std", "main", "linux", "unix", "arm", "test", "all", "clean", "install", "help"};

std::string port_lines(const std::vector<PortInfo>& ports, const char* what) {
  std::string lines;
  for (size_t i = 0; i < ports.size(); ++i) {
    std::string name = one_line(ports[i].name);
    std::replace(name.begin(), name.end(), '\\', '/');  // at the end of a comment it would swallow the next line
    lines += fmt::format("//   {} {}: {} ({} bytes), {}\n", what, i, type_text(ports[i].type, ports[i].dims),
                         ports[i].bytes, name);
  }
  return lines;
}

// Bytes as the elements of an array; `bytes` is 16-aligned in the file and so are its lines.
std::string array_text(const std::vector<uint8_t>& bytes) {
  std::string text;
  text.reserve(bytes.size() * 4);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % 32 == 0) text += i == 0 ? "    " : "\n    ";
    fmt::format_to(std::back_inserter(text), "{},", bytes[i]);
  }
  return text;
}

std::string table_text(const std::vector<uint32_t>& kernels, uint32_t hash, bool nests) {
  if (kernels.empty()) return "constexpr linnet::KernelTable kernels = {linnet::hash_seed, 0, nullptr, nullptr};\n";
  std::vector<std::string> types;
  for (uint32_t k : kernels) types.push_back(catalogue().kernels[k].type);
  return fmt::format(
      "using Table = linnet::{}<\n    {}>;\n"
      "static_assert(Table::table.hash == {:#010x}u,\n"
      "              \"the Program below was made for other kernels than this Linnet has: export it again\");\n"
      "constexpr linnet::KernelTable kernels = Table::table;\n",
      nests ? "TiledKernels" : "Kernels", fmt::join(types, ",\n    "), hash);
}

}  // namespace

std::string identifier(const std::string& text) {
  std::string name;
  for (char c : text) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty()) return "model";
  if (name[0] >= '0' && name[0] <= '9') name = "model_" + name;
  return taken_names.count(name) ? name + "_model" : name;
}

Sources program_sources(const std::string& name, const LoadedModel& loaded, const std::vector<uint8_t>& program,
                        const std::vector<uint32_t>& kernels) {
  const Header& header = header_of(program.data());
  uint32_t activations = align_up(header.arena_bytes, persistent_alignment);
  uint32_t persistent = align_up(header.persistent_bytes, persistent_alignment) + Interpreter::bases_bytes(header);
  std::string file = std::filesystem::path(loaded.path()).filename().string();
  Sources sources;
  sources.arena_bytes = activations + persistent;
  std::set<std::string_view> headers;
  for (uint32_t k : kernels) {
    sources.kernels.push_back(catalogue().kernels[k].type);
    headers.insert(catalogue().kernels[k].header);
  }
  bool nests = has_nests({program.data(), program.size()});
  if (nests) headers.insert("linnet/engine/nest.h");
  std::string includes;
  for (std::string_view h : headers) includes += fmt::format("#include \"{}\"\n", h);

  sources.header = fmt::format(
      "// {0}, made by `linnet export` from {1}: make it again rather than change it.\n"
      "//   linnet::Interpreter net;   net.init({0}::program, {0}::kernels, arena)\n{2}{3}"
      "#pragma once\n"
      "#include \"linnet/linnet.h\"\n\n"
      "namespace {0} {{\n\n"
      "// Of an arena aligned to 16 bytes (15 more elsewhere): {4} of activations and {5} that persist.\n"
      "constexpr uint32_t ARENA_BYTES = {6};\n"
      "alignas(16) extern const uint8_t program[{7}];\n"
      "extern const linnet::KernelTable kernels;\n\n"
      "}}  // namespace {0}\n",
      name, one_line(file), port_lines(loaded.inputs(), "input"), port_lines(loaded.outputs(), "output"), activations,
      persistent, std::max(sources.arena_bytes, 16u), program.size());
  sources.source = fmt::format(
      "// {0}, made by `linnet export` from {1}: make it again rather than change it.\n"
      "#include \"{0}.h\"\n\n{2}\n"
      "namespace {0} {{\n\n{3}\n"
      "alignas(16) const uint8_t program[{4}] = {{\n{5}\n}};\n\n"
      "}}  // namespace {0}\n",
      name, one_line(file), includes, table_text(kernels, header.kernels_hash, nests), program.size(), array_text(program));
  sources.cmake = fmt::format(
      "# {0}, made by `linnet export` from {1}. In a firmware's CMakeLists.txt:\n"
      "#   set(LINNET_DEVICE_DIR <the folder device/ of Linnet>)\n"
      "#   add_subdirectory(<this folder>)\n"
      "#   target_link_libraries(<firmware> PRIVATE {0})\n"
      "if(NOT EXISTS \"${{LINNET_DEVICE_DIR}}/linnet/linnet.h\")\n"
      "  message(FATAL_ERROR \"set LINNET_DEVICE_DIR to the folder device/ of Linnet\")\n"
      "endif()\n"
      "add_library({0} STATIC \"${{CMAKE_CURRENT_LIST_DIR}}/{0}.cpp\")\n"
      "target_compile_features({0} PUBLIC cxx_std_17)\n"
      "target_include_directories({0} PUBLIC \"${{CMAKE_CURRENT_LIST_DIR}}\" \"${{LINNET_DEVICE_DIR}}\")\n"
      "# The bits are promised: no fused multiply-add that the source does not ask for.\n"
      "target_compile_options({0} PRIVATE -ffp-contract=off)\n",
      name, one_line(file));
  return sources;
}

}  // namespace linnet::cli
