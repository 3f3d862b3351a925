#include "cli/buffers_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "cli/errors.h"
#include "cli/text.h"

namespace linnet::cli {
namespace {

std::string trimmed(const std::string& text) {
  size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line + ",");
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(trimmed(cell));
  return cells;
}

int64_t number_in(const std::string& text, const char* column, size_t line) {
  constexpr int64_t most = int64_t{1} << 40;  // sums of many stay far from overflow
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most)
    throw Error(fmt::format("line {}: {} is '{}', not a whole number from 0 to {}", line, column, one_line(text), most));
  return value;
}

}  // namespace

BufferTable read_buffers(const std::string& text) {
  BufferTable table;
  std::istringstream stream(text);
  std::string line;
  std::getline(stream, line);
  std::vector<std::string> titles = cells_of(line);
  std::map<std::string, size_t> column;
  for (const char* name : {"id", "lower", "upper", "size"}) {
    auto at = std::find(titles.begin(), titles.end(), name);
    if (at == titles.end()) throw Error(fmt::format("line 1: no column '{}'; the columns are id,lower,upper,size", name));
    column[name] = static_cast<size_t>(at - titles.begin());
  }
  for (size_t n = 2; std::getline(stream, line); ++n) {
    if (trimmed(line).empty()) continue;
    std::vector<std::string> cells = cells_of(line);
    if (cells.size() != titles.size())
      throw Error(fmt::format("line {}: {} cells where line 1 has {}", n, cells.size(), titles.size()));
    auto number = [&](const char* name) { return number_in(cells[column[name]], name, n); };
    int64_t lower = number("lower"), upper = number("upper");
    if (upper <= lower) throw Error(fmt::format("line {}: upper ({}) is not above lower ({})", n, upper, lower));
    table.ids.push_back(cells[column["id"]]);
    table.problem.buffers.push_back({number("size"), lower, upper - 1, 1, {}});
  }
  return table;
}

std::string offsets_text(const BufferTable& table, const plan::Placement& placement) {
  std::string text = "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < table.ids.size(); ++i) {
    const plan::Buffer& b = table.problem.buffers[i];
    text += fmt::format("{},{},{},{},{}\n", table.ids[i], b.first_step, b.last_step + 1, b.size_bytes, placement.offsets[i]);
  }
  return text;
}

int64_t most_live_bytes(const plan::PlacementProblem& problem) {
  std::map<int64_t, int64_t> changes;
  for (const plan::Buffer& b : problem.buffers) {
    changes[b.first_step] += b.size_bytes;
    changes[b.last_step + 1] -= b.size_bytes;
  }
  int64_t live = 0, most = 0;
  for (auto [step, change] : changes) most = std::max(most, live += change);
  return most;
}

}  // namespace linnet::cli
