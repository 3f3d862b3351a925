// A network for each operator that keeps batches apart, in each type that it has: what properties of "every operator" are
// tested on.
#pragma once
#include <string>
#include <vector>

#include "linnet/core/types.h"
#include "linnet/run/session.h"

namespace linnet::test {

struct OperatorNetwork {
  std::string name;  // "conv_2d.int8"
  std::vector<uint8_t> file;
  TensorBytes input;  // random, the batch outermost
  bool has_state;
};

// The same weights whatever the batch. float32, int8 or int16.
std::vector<OperatorNetwork> operator_networks(Type type, int32_t batch);

}  // namespace linnet::test
