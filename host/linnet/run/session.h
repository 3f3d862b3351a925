// Runs a network on the host, in an arena of exactly the size it needs between guard zones.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "linnet/run/program_builder.h"

namespace linnet {

// Memory of `bytes` at `misalignment` past a multiple of 64, between zones that show whether anything wrote outside.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes, size_t misalignment = 0, uint8_t fill = 0xA5);
  Span<uint8_t> span() const { return {data_, bytes_}; }
  bool intact() const;

 private:
  static constexpr size_t zone_bytes = 256;
  std::vector<uint8_t> storage_;
  uint8_t* data_;
  size_t bytes_;
};

using TensorBytes = std::vector<uint8_t>;

// One inference of an initialised interpreter. Inputs must have the tensors' sizes; `after_step` is called with the number
// of steps done after each.
std::vector<TensorBytes> infer(Interpreter& net, const std::vector<TensorBytes>& inputs,
                               const std::function<void(uint32_t)>& after_step = {});

// CRC-32 (IEEE 802.3) as zlib computes it.
uint32_t crc32(Bytes bytes);

struct NodeCrc {
  int32_t subgraph, node, tensor;
  uint32_t bytes, crc;
};
// The checksum of each node's first output right after it was computed, for straight-line Programs.
std::vector<NodeCrc> node_crcs(const BuiltProgram& program, const KernelTable& kernels, const std::vector<TensorBytes>& inputs,
                               Bytes model = {});

}  // namespace linnet
