// Programs as files and for other kernel tables than they were built for.
//
// A step names its kernel by an index into the firmware's table, which the Program knows only by its hash. A Program
// *file* therefore ends, behind the Program itself, with the names of those kernels; a firmware never looks there.
// Programs whose table is the catalogue's need no names.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linnet/run/catalogue.h"
#include "linnet/run/program_builder.h"

namespace linnet {

// Some of the catalogue's kernels as a table of their own.
class SmallTable {
 public:
  // `kernels`: indices into the catalogue, in the order that the table will have.
  explicit SmallTable(std::vector<uint32_t> kernels);
  SmallTable(const SmallTable&) = delete;
  SmallTable& operator=(const SmallTable&) = delete;

  const std::vector<uint32_t>& kernels() const { return kernels_; }
  const KernelTable& table() const { return table_; }
  // With every operator of the catalogue; models that need other kernels are refused.
  const BuildTable& build_table() const { return build_table_; }

 private:
  std::vector<uint32_t> kernels_;
  std::vector<KernelEntry> entries_;
  std::vector<KernelFacts> facts_;
  std::vector<TileEntry> tiles_;
  Tiling tiling_ = {};
  KernelTable table_;
  BuildTable build_table_;
};

// Calls `visit` for each step of a Program that has passed ProgramCheck, the final one included; the body of a loop nest
// once.
void for_each_step(Bytes program, const std::function<void(const Step&)>& visit);

// The kernel that a step runs, on a whole layer or on tiles; none for other steps.
std::optional<uint32_t> kernel_of(const Step& step);

bool has_nests(Bytes program);

// The kernels (indices into the Program's table) that its steps use, ascending.
std::vector<uint32_t> kernels_used(Bytes program);

// The Program with each kernel index replaced by its position in `kernels`, which must contain every index that is
// used. `hash` is that of the new table.
std::vector<uint8_t> with_kernels(Bytes program, const std::vector<uint32_t>& kernels, uint32_t hash);

// The most scratch memory that the steps of one node use, in bytes. Nodes are told apart where the Program has origins.
uint32_t scratch_bytes(Bytes program, const KernelTable& table);

// A Program file. `kernels`: the catalogue indices that make up the Program's table.
std::vector<uint8_t> program_file(Bytes program, std::span<const uint32_t> kernels);

bool is_program_file(Bytes file);

// A Program file's Program for the catalogue's table, checked, in 16-aligned memory of its own. Throws Error when it is
// damaged, or was made for kernels that are not in the catalogue.
std::vector<uint8_t> load_program_file(Bytes file);

}  // namespace linnet
