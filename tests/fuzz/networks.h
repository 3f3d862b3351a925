// Small networks that between them use every operator and the ways in which buffers live: chains, branches, state, calls.
#pragma once
#include <cstdint>
#include <vector>

namespace linnet::fuzz {

std::vector<std::vector<uint8_t>> small_networks();

}  // namespace linnet::fuzz
