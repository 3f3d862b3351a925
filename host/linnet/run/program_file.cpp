#include "linnet/run/program_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <sstream>

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

bool is_nest(const Step& step) {
  return step.kind >= static_cast<uint8_t>(StepKind::nest) && step.kind <= static_cast<uint8_t>(StepKind::store);
}

bool is_run(const Step& step) { return step.kind == static_cast<uint8_t>(StepKind::run); }

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
  build_table_ = all;
  build_table_.kernels = &table_;
  build_table_.facts = facts_.data();
}

void for_each_step(Bytes program, const std::function<void(const Step&)>& visit) {
  const Header& header = header_of(program.data());
  const Step* step = reinterpret_cast<const Step*>(program.data() + header.code.offset);
  for (;; step = next_step(step)) {
    if (is_nest(*step)) throw Error("the Program contains loop nests, which this command cannot look into yet");
    visit(*step);
    if (step->kind == static_cast<uint8_t>(StepKind::end)) return;
  }
}

std::vector<uint32_t> kernels_used(Bytes program) {
  std::set<uint32_t> used;
  for_each_step(program, [&](const Step& step) {
    if (is_run(step)) used.insert(step.kernel & (step_walks_down - 1u));
  });
  return {used.begin(), used.end()};
}

std::vector<uint8_t> with_kernels(Bytes program, const std::vector<uint32_t>& kernels, uint32_t hash) {
  std::vector<uint8_t> changed(program.begin(), program.begin() + header_of(program.data()).file_bytes);
  reinterpret_cast<Header*>(changed.data())->kernels_hash = hash;
  for_each_step({changed.data(), changed.size()}, [&](const Step& step) {
    if (!is_run(step)) return;
    auto found = std::find(kernels.begin(), kernels.end(), step.kernel & (step_walks_down - 1u));
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
  for_each_step(program, [&](const Step& step) {
    uint32_t node = index < header.origins.count ? origins[index].subgraph * 65536u + origins[index].node : index;
    ++index;
    Extent extents[max_operands] = {};
    if (!is_run(step) || !check.check_kernel(step.kernel & (step_walks_down - 1u), step.params, extents, step.operands))
      return;
    for (uint32_t i = 0; i < step.operands; ++i) {
      const Operand& operand = operands_of(&step)[i];
      if (operand.role != role_scratch || operand.region != region_arena) continue;
      uint32_t& bytes = nodes[node][operand.offset];
      bytes = std::max(bytes, extents[i].bytes);
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
    if (!is_run(step)) return;
    uint32_t kernel = (*kernels)[step.kernel & (step_walks_down - 1u)];
    const_cast<Step&>(step).kernel = static_cast<uint16_t>((step.kernel & step_walks_down) | kernel);
  });
  check({program.data(), program.size()}, all);
  return program;
}

}  // namespace linnet
