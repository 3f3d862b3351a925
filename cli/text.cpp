#include "cli/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "cli/errors.h"

namespace linnet::cli {
namespace {

// Characters on the screen of UTF-8 text.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void print_json(const Json& object) { fmt::print("{}\n", object.dump(2, ' ', false, Json::error_handler_t::replace)); }

std::vector<std::string> with_hyphens(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  for (std::string& word : words) {
    if (word == "--") break;
    if (word.starts_with("--"))
      std::replace(word.begin(), word.begin() + static_cast<long>(std::min(word.find('='), word.size())), '_', '-');
  }
  return words;
}

uint32_t parse_size(const std::string& text, std::string_view option) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  std::string unit(rest, end);
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::toupper(c); });
  int shift = -1;
  if (unit.empty() || unit == "B") shift = 0;
  if (unit == "K" || unit == "KB" || unit == "KIB") shift = 10;
  if (unit == "M" || unit == "MB" || unit == "MIB") shift = 20;
  if (unit == "G" || unit == "GB" || unit == "GIB") shift = 30;
  if (error != std::errc() || shift < 0)
    throw BadInput(fmt::format("{}: '{}' is not a size; write bytes, or 64K, or 1M", option, text));
  if (value > (uint64_t{UINT32_MAX} >> shift)) throw BadInput(fmt::format("{}: {} is more than 4 GB", option, text));
  return static_cast<uint32_t>(value << shift);
}

std::string shape_text(const std::vector<int32_t>& dims) {
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

std::string type_text(Type type, const std::vector<int32_t>& dims) {
  return fmt::format("{} {}", type_name(type), shape_text(dims));
}

std::string one_line(std::string_view text) {
  std::string line;
  for (char c : text) line += c == '\n' ? ' ' : static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return line;
}

std::string short_name(std::string_view text) {
  constexpr size_t longest = 60, kept = 28;
  std::string line = one_line(text);
  if (line.size() <= longest) return line;
  return line.substr(0, kept) + "..." + line.substr(line.size() - kept);
}

std::string counted(size_t n, const std::string& what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

std::string TextTable::text() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(width(columns_[c].title));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], width(row[c]));
  }
  std::string text;
  auto line = [&](const std::vector<std::string>& cells) {
    std::string one;
    for (size_t c = 0; c < cells.size(); ++c) {
      std::string padding(widths[c] - width(cells[c]), ' ');
      if (widths[c] == 0) continue;
      if (!one.empty()) one += "  ";
      one += columns_[c].align == right ? padding + cells[c] : cells[c] + padding;
    }
    text += one.substr(0, one.find_last_not_of(' ') + 1) + "\n";
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  if (std::any_of(titles.begin(), titles.end(), [](const std::string& t) { return !t.empty(); })) line(titles);
  for (const auto& row : rows_) line(row);
  return text;
}

}  // namespace linnet::cli
