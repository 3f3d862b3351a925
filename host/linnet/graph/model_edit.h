// Changes to a .tflite that keep everything else of it, byte for byte: names, signatures, options of operators that Linnet
// does not know, buffers outside the flatbuffer.
//
// A changed file is the old one behind a new front. Offsets in flatbuffers lead forward, so a new root table and new lists
// can stand before everything that they refer to; nothing of the old file has to be understood to be kept.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "linnet/model/model.h"

namespace linnet::graph {

struct ModelEdit {
  std::vector<int32_t> order;                            // of subgraph 0's operators, as indices; empty: as they are
  std::map<std::string, std::vector<uint8_t>> metadata;  // added, or put in the place of what has the same name
};

// Without changes, the same bytes. Throws std::invalid_argument if `order` is no permutation.
std::vector<uint8_t> edit_model(const Model& model, const ModelEdit& edit);

}  // namespace linnet::graph
