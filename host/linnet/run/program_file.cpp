#include "linnet/run/program_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "linnet/engine/nest.h"

namespace linnet {
namespace {

// Behind the Program: magic, bytes of text, then a line for each kernel: set, computation, params_version.
constexpr uint32_t names_magic = 0x4b4e4e4c;  // "LNNK"
constexpr size_t names_head_bytes = 8;

uint32_t word_at(Bytes bytes, size_t offset) {
  uint32_t word;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

std::string kernel_line(const KernelInfo& kernel) {
  return fmt::format("{} {} {}\n", kernel.set, kernel.computation, kernel.params_version);
}

StepKind kind_of(const Step& step) { return static_cast<StepKind>(step.kind); }


// Catalogue indices of the kernels named behind the Program, if they are.
std::optional<std::vector<uint32_t>> named_kernels(Bytes file, uint32_t program_bytes) {
  if (file.size() < program_bytes + names_head_bytes || word_at(file, program_bytes) != names_magic)
    return std::nullopt;
  size_t first = program_bytes + names_head_bytes, bytes = word_at(file, program_bytes + 4);
  if (bytes > file.size() - first) throw Error("the names of the Program's kernels are cut short");
  std::map<std::string, uint32_t> known;
  for (const KernelInfo& kernel : catalogue().kernels) known.emplace(kernel_line(kernel), known.size());
  std::istringstream text(std::string(reinterpret_cast<const char*>(file.data()) + first, bytes));
  std::vector<uint32_t> kernels;
  for (std::string line; std::getline(text, line);) {
    auto found = known.find(line + "\n");
    if (found == known.end())
      throw Error(fmt::format(
          "the Program needs the kernel '{}', which this version of Linnet does not have: make it again", line));
    kernels.push_back(found->second);
  }
  return kernels;
}

const TileOperand* tiles_of(Bytes program, const Nest& nest) {
  return reinterpret_cast<const TileOperand*>(program.data() + nest.tables + nest.ranges * sizeof(TileRange));
}

void check(Bytes program, const KernelTable& table) {
  Where where;
  ProgramCheck check(program, table, 0);
  if (Status status = check.run(where); !status.ok())
    throw Error(where.node < 0 ? std::string(status.text()) : fmt::format("step {}: {}", where.node, status.text()));
}

}  // namespace

SmallTable::SmallTable(std::vector<uint32_t> kernels) : kernels_(std::move(kernels)) {
  const BuildTable& all = catalogue().table;
  for (uint32_t k : kernels_) {
    entries_.push_back(all.kernels->kernels[k]);
    facts_.push_back(all.facts[k]);
  }
  table_ = *all.kernels;
  table_.hash = kernels_hash(kernels_);
  table_.count = static_cast<uint32_t>(entries_.size());
  table_.kernels = entries_.data();
  if (all.kernels->tiling) {
    for (uint32_t k : kernels_) tiles_.push_back(all.kernels->tiling->kernels[k]);
    tiling_ = *all.kernels->tiling;
    tiling_.kernels = tiles_.data();
    table_.tiling = &tiling_;
  }
  build_table_ = all;
  build_table_.kernels = &table_;
  build_table_.facts = facts_.data();
}

void for_each_step(Bytes program, const std::function<void(const Step&)>& visit) {
  const Header& header = header_of(program.data());
  const Step* step = reinterpret_cast<const Step*>(program.data() + header.code.offset);
  for (;; step = next_step(step)) {
    visit(*step);
    if (kind_of(*step) == StepKind::end) return;
  }
}

std::optional<uint32_t> kernel_of(const Step& step) {
  if (kind_of(step) != StepKind::run && kind_of(step) != StepKind::run_tile) return std::nullopt;
  return step.kernel & (step_walks_down - 1u);
}

bool has_nests(Bytes program) {
  bool found = false;
  for_each_step(program, [&](const Step& step) { found = found || kind_of(step) == StepKind::nest; });
  return found;
}

std::vector<uint32_t> kernels_used(Bytes program) {
  std::set<uint32_t> used;
  for_each_step(program, [&](const Step& step) {
    if (auto kernel = kernel_of(step)) used.insert(*kernel);
  });
  return {used.begin(), used.end()};
}

std::vector<uint8_t> with_kernels(Bytes program, const std::vector<uint32_t>& kernels, uint32_t hash) {
  std::vector<uint8_t> changed(program.begin(), program.begin() + header_of(program.data()).file_bytes);
  reinterpret_cast<Header*>(changed.data())->kernels_hash = hash;
  for_each_step({changed.data(), changed.size()}, [&](const Step& step) {
    auto kernel = kernel_of(step);
    if (!kernel) return;
    auto found = std::find(kernels.begin(), kernels.end(), *kernel);
    if (found == kernels.end()) throw Error("the Program uses a kernel that is to be left out");
    const_cast<Step&>(step).kernel = static_cast<uint16_t>((step.kernel & step_walks_down) | (found - kernels.begin()));
  });
  return changed;
}

uint32_t scratch_bytes(Bytes program, const KernelTable& table) {
  const Header& header = header_of(program.data());
  ProgramCheck check(program, table, UINT32_MAX);
  const StepOrigin* origins = reinterpret_cast<const StepOrigin*>(program.data() + header.origins.offset);
  std::map<uint32_t, std::map<uint32_t, uint32_t>> nodes;  // node -> offset -> bytes
  uint32_t index = 0, most = 0;
  const Nest* nest = nullptr;
  for_each_step(program, [&](const Step& step) {
    uint32_t node = index < header.origins.count ? origins[index].subgraph * 65536u + origins[index].node : index;
    ++index;
    if (kind_of(step) == StepKind::nest) nest = reinterpret_cast<const Nest*>(program.data() + step.params);
    auto kernel = kernel_of(step);
    int operands = step.operands - (kind_of(step) == StepKind::run_tile ? 1 : 0);
    Extent extents[max_operands] = {};
    if (!kernel || !check.check_kernel(*kernel, step.params, extents, operands)) return;
    for (int i = 0; i < operands; ++i) {
      const Operand& operand = operands_of(&step)[i];
      if ((operand.role != role_scratch && operand.role != role_accumulator) || operand.region != region_arena) continue;
      uint32_t offset = operand.offset, extent = extents[i].bytes;
      if (operand.tile != 0) {
        const TileOperand& tile = tiles_of(program, *nest)[operand.tile - 1];
        offset = tile.place.offset;
        if (tile.slots != 0) extent = tile.slots * (tile.slot_bytes + 4);  // each with its request
      }
      uint32_t& bytes = nodes[node][offset];
      bytes = std::max(bytes, extent);
    }
  });
  for (const auto& [node, places] : nodes) {
    uint32_t sum = 0;
    for (const auto& [offset, bytes] : places) sum += bytes;
    most = std::max(most, sum);
  }
  return most;
}

std::vector<uint8_t> program_file(Bytes program, std::span<const uint32_t> kernels) {
  std::vector<uint8_t> file(program.begin(), program.begin() + header_of(program.data()).file_bytes);
  std::string names;
  for (uint32_t k : kernels) names += kernel_line(catalogue().kernels[k]);
  for (uint32_t word : {names_magic, static_cast<uint32_t>(names.size())})
    for (int shift = 0; shift < 32; shift += 8) file.push_back(static_cast<uint8_t>(word >> shift));
  file.insert(file.end(), names.begin(), names.end());
  return file;
}

bool is_program_file(Bytes file) { return file.size() >= 4 && word_at(file, 0) == program_magic; }

std::vector<uint8_t> load_program_file(Bytes file) {
  if (!is_program_file(file) || file.size() < sizeof(Header))
    throw Error("this is not a Linnet Program, or it is cut short");
  const KernelTable& all = *catalogue().table.kernels;
  const Header& header = header_of(file.data());
  if (header.file_bytes > file.size()) throw Error("the Program is cut short");
  std::optional<std::vector<uint32_t>> kernels;
  if (header.kernels_hash != all.hash) kernels = named_kernels(file, header.file_bytes);
  if (!kernels) {
    check(file, all);
    return {file.begin(), file.begin() + header.file_bytes};
  }
  SmallTable own(*kernels);
  check(file, own.table());
  std::vector<uint8_t> program(file.begin(), file.begin() + header.file_bytes);
  reinterpret_cast<Header*>(program.data())->kernels_hash = all.hash;
  for_each_step({program.data(), program.size()}, [&](const Step& step) {
    auto kernel = kernel_of(step);
    if (kernel) const_cast<Step&>(step).kernel = static_cast<uint16_t>((step.kernel & step_walks_down) | (*kernels)[*kernel]);
  });
  check({program.data(), program.size()}, all);
  return program;
}

}  // namespace linnet
