// Small networks: every operator in every combination of types that it has, and every way in which buffers live (chains,
// branches, state, calls). Seeds of the fuzzers; networks_test.cpp proves that none is missing.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace linnet::fuzz {

struct SmallNetwork {
  std::string name;  // of the seed's file; stays when networks are added
  std::vector<uint8_t> file;

  // By this number a seed of plan_fuzz names its network.
  uint16_t number() const {
    uint32_t hash = 2166136261u;
    for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
    return static_cast<uint16_t>(hash ^ hash >> 16);
  }
};

std::vector<SmallNetwork> small_networks();

}  // namespace linnet::fuzz
