// Every operator and kernel that this build of Linnet has, with what the host asks about them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "linnet/kernels/table.h"

namespace linnet {

struct KernelInfo {
  std::string_view set;          // "reference", ...
  std::string_view computation;  // "conv_2d.int8"
  uint32_t params_version;
  uint32_t params_bytes;
  Splits splits;
  std::string_view header;       // "linnet/ops/conv_2d.h"
  std::string type;              // "linnet::ops::conv_2d::Int8", spelled so that every compiler means the same
  Box (*window)(const void* params, int operand, const Block& block);
  Cost (*cost)(const void* params);
};

struct Catalogue {
  const BuildTable& table;             // with loop nests
  std::span<const KernelInfo> kernels;  // in the table's order
};
const Catalogue& catalogue();

// The hash that a kernel table of these kernels (indices into the catalogue) has in a firmware.
uint32_t kernels_hash(std::span<const uint32_t> kernels);

}  // namespace linnet
