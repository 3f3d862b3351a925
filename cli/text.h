// Words and numbers between the command and people.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "linnet/core/types.h"

namespace linnet::cli {

using Json = nlohmann::ordered_json;

// Prints the object that --json promises.
void print_json(const Json& object);

// Long options with `-` whatever way they were spelled: --arena_size=64K is --arena-size=64K. Without the program's
// name.
std::vector<std::string> with_hyphens(int argc, const char* const* argv);

// "65536", "64K", "1M", "2GiB" (powers of 1024) as bytes. Throws BadInput that names the option.
uint32_t parse_size(const std::string& text, std::string_view option);

std::string shape_text(const std::vector<int32_t>& dims);            // "1x96x96x1", "scalar"
std::string type_text(Type type, const std::vector<int32_t>& dims);  // "int8 1x96x96x1"
std::string one_line(std::string_view text);  // names out of files: control characters become '?', line breaks spaces

std::string short_name(std::string_view text);           // one_line, its middle left out where it is long
std::string counted(size_t n, const std::string& what);  // "1 step", "2 steps"

// A table for people: columns as wide as their content.
class TextTable {
 public:
  enum Align { left, right };
  struct Column {
    std::string title;
    Align align = left;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;  // with a line of titles unless all are empty

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace linnet::cli
