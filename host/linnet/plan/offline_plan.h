// The plan that TensorFlow Lite Micro takes: where each tensor of its arena lies.
//
// Source: metadata "OfflineMemoryAllocation" (TFLM, "Offline memory planning" in its memory management guide): int32
// words version = 1, subgraph = 0, count, then an offset for each tensor of all subgraphs, -1 for what TFLM places
// itself.
#pragma once
#include <cstdint>
#include <vector>

#include "linnet/model/model.h"
#include "linnet/plan/problem.h"

namespace linnet::plan {

struct OfflinePlan {
  std::vector<uint8_t> metadata;
  int64_t arena_bytes = 0;  // tensors that have an offset, and scratch
  int64_t lower_bound_bytes = 0;
  bool optimal = false;
};

// For the operators in the model's order, with room for the scratch of TFLM's reference kernels, which it places itself
// where it finds room (other kernels of its may ask for more). TFLM keeps a tensor of its own for each (a RESHAPE's
// result is a copy) and checks nothing, and its kernels may write before they have read, so nothing overlaps. Offsets
// are multiples of 16. Constants, variables, what no operator touches, and tensors of called subgraphs get -1.
OfflinePlan offline_plan(const Model& model, const Limits& limits = {});

}  // namespace linnet::plan
