// Networks that the literature knows, made up anew: their graphs, with narrower layers and random weights, so that
// planners, cost models and reports have something to be tried on.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "linnet/core/types.h"

namespace linnet::graph {

struct NamedNetwork {
  std::string name;
  std::string source;                              // where its graph is described
  bool branchy;                                    // its operators can run in more than one order
  std::function<std::vector<uint8_t>(Type)> make;  // the .tflite, of float32 or int8
};

const std::vector<NamedNetwork>& named_networks();

// Random graphs with as many nodes as wanted.
struct WiredSpec {
  int nodes = 32;  // in each of the stages, each a sum of its inputs and a convolution in two operators
  int stages = 3;
  int neighbours = 4;  // Watts-Strogatz: the ring before rewiring
  double rewired = 0.75;
  uint64_t seed = 1;
};
std::vector<uint8_t> watts_strogatz(const WiredSpec& spec, Type type = Type::int8);

// A chain of convolutions whose results are wanted again later; of how many channels, and by which place of the chain, is
// such that the holes they leave in a still placement are too narrow, whichever placement it is. The seed chooses extents.
std::vector<uint8_t> narrow_holes(uint32_t seed);

}  // namespace linnet::graph
