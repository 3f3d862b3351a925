#include "linnet/board/count.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "linnet/board/artifacts.h"
#include "linnet/board/error.h"
#include "linnet/board/process.h"

namespace linnet::board {
namespace {

// Calls visit(address, first halfword, second halfword) for each instruction of a range.
template <typename Visit>
void each_instruction(const ElfImage& image, const ExecutedRange& range, Visit visit) {
  for (uint32_t at = range.begin; at < range.end;) {
    const auto halfword = [&](uint32_t address) {
      const auto bytes = image.bytes_at(address, 2);
      return static_cast<uint16_t>(bytes.empty() ? 0 : bytes[0] | bytes[1] << 8);
    };
    const uint16_t first = halfword(at);
    const uint32_t size = image.architecture() == Architecture::thumb ? thumb_bytes(first) : riscv_bytes(first);
    visit(at, first, size == 4 ? halfword(at + 2) : uint16_t{0});
    at += size;
  }
}

std::optional<uint32_t> phase_id(const std::string& text) {
  if (text == "start") return std::nullopt;
  return static_cast<uint32_t>(std::stoul(text));
}

// The phase that a record belongs to: its own line stands before.
PhaseCount& phase_of(Counts& counts, const std::string& id) {
  if (counts.phases.empty() || counts.phases.back().id != phase_id(id)) throw std::out_of_range("phase");
  return counts.phases.back();
}

bool parse_line(const std::string& line, Counts& counts) {
  std::istringstream words(line);
  std::string kind, id;
  words >> kind;
  if (kind == "total") {
    words >> counts.total;
  } else if (kind == "marker") {
    words >> counts.marker;
  } else if (kind == "phase") {
    PhaseCount& phase = counts.phases.emplace_back();
    words >> id >> phase.visits >> phase.instructions >> phase.least >> phase.most;
    phase.id = phase_id(id);
  } else if (kind == "inside") {
    words >> id;
    words >> phase_of(counts, id).inside;
  } else if (kind == "range") {
    ExecutedRange range;
    words >> id >> std::hex >> range.begin >> range.end >> std::dec >> range.instructions >> range.count;
    phase_of(counts, id).ranges.push_back(range);
  } else if (kind == "access") {
    AccessCount access;
    words >> id >> access.region >> access.loads >> access.load_bytes >> access.stores >> access.store_bytes;
    phase_of(counts, id).accesses.push_back(access);
  } else {
    return false;
  }
  return !words.fail();
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result.append(c == ',' ? 2 : 1, c);
  return result;
}

std::string plugin_option(const Board& board, const CountRequest& request, const ElfImage& image,
                          const std::filesystem::path& out) {
  const std::filesystem::path plugin =
      request.plugin.empty() ? find_artifact("emulator/liblinnet_count.so", "build the target linnet_count")
                             : request.plugin;
  std::ostringstream option;
  option << escaped(std::filesystem::absolute(plugin).string()) << ",out=" << escaped(out.string());
  const auto mark = image.find("linnet::port::phase");
  const auto base = image.find("linnet_phase_base");
  if (mark && base) {
    option << ",mark=" << mark->address << ",mark_bytes=" << mark->bytes << ",phase_base=" << base->address;
  }
  if (request.inside) {
    size_t entries = 0;
    for (const ElfSymbol& function : image.functions()) {
      if (!request.inside(function.name)) continue;
      option << ",inside=" << function.address;
      ++entries;
    }
    if (entries == 0)
      throw Error("firmware '" + request.run.firmware.string() + "' has no function to count inside of");
  }
  if (request.accesses) {
    for (const Region& region : {board.code, board.ram, board.blobs}) {
      option << ",region=" << region.name << ':' << region.base << ':' << region.bytes;
    }
  }
  return option.str();
}

}  // namespace

const PhaseCount* Counts::phase(std::optional<uint32_t> id) const {
  for (const PhaseCount& phase : phases) {
    if (phase.id == id) return &phase;
  }
  return nullptr;
}

Counts parse_counts(std::istream& text) {
  Counts counts;
  std::string line;
  if (!std::getline(text, line) || line != "linnet-count 1") {
    throw Error(
        "the counting plugin's output does not begin with 'linnet-count 1': plugin and program differ in version");
  }
  while (std::getline(text, line)) {
    if (line == "end") return counts;
    bool good = false;
    try {
      good = parse_line(line, counts);
    } catch (const std::logic_error&) {  // a number or phase that is none
    }
    if (!good) throw Error("the counting plugin's output has a line that is not understood: '" + line + "'");
  }
  throw Error("the counting plugin's output ends too early");
}

CountResult count_instructions(const Board& board, const CountRequest& request) {
  const TemporaryDirectory temporary;
  const std::filesystem::path out = temporary.path() / "counts";
  CountResult result;
  result.image = ElfImage::read(request.run.firmware);
  RunRequest run = request.run;
  run.plugin = plugin_option(board, request, result.image, out);
  result.run = run_firmware(board, run);
  std::ifstream text(out);
  if (!text) {
    throw Error(
        "the emulator ran without its counting plugin having written a result; is this QEMU built with plugins? " +
        result.run.standard_error);
  }
  result.counts = parse_counts(text);
  return result;
}

std::vector<FunctionCount> CountResult::by_function(const PhaseCount& phase) const {
  std::map<std::string, uint64_t> sums;
  const auto name = [](const ElfSymbol* function) { return function != nullptr ? function->name : "(unknown)"; };
  // Ranges end where counts change, not where functions do.
  for (const ExecutedRange& range : phase.ranges) {
    const ElfSymbol* whole = image.function_at(range.begin);
    if (whole == image.function_at(range.end - 1)) {
      sums[name(whole)] += range.instructions * range.count;
      continue;
    }
    each_instruction(image, range, [&](uint32_t address, uint16_t, uint16_t) {
      sums[name(image.function_at(address))] += range.count;
    });
  }
  std::vector<FunctionCount> result;
  for (const auto& [function, instructions] : sums) result.push_back({function, instructions});
  std::stable_sort(result.begin(), result.end(),
                   [](const FunctionCount& a, const FunctionCount& b) { return a.instructions > b.instructions; });
  return result;
}

uint64_t CountResult::in_functions(const PhaseCount& phase,
                                   const std::function<bool(std::string_view name)>& takes) const {
  uint64_t sum = 0;
  for (const FunctionCount& function : by_function(phase)) sum += takes(function.name) ? function.instructions : 0;
  return sum;
}

ClassCounts CountResult::by_class(const PhaseCount& phase) const {
  ClassCounts sums{};
  for (const ExecutedRange& range : phase.ranges) {
    each_instruction(image, range, [&](uint32_t, uint16_t first, uint16_t second) {
      const InstructionClass c =
          image.architecture() == Architecture::thumb ? classify_thumb(first, second) : classify_riscv(first, second);
      sums[static_cast<size_t>(c)] += range.count;
    });
  }
  return sums;
}

}  // namespace linnet::board
