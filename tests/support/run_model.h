// For tests of operators and networks: runs a .tflite in every way that must give the same bits and fails the test where
// they differ.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "linnet/run/session.h"

namespace linnet::test {

// `file` built by the device's code in an arena of exactly the reported size, built ahead of time, and stepwise; arenas
// filled with different bytes, at an odd address, between guard zones. Returns the outputs, or fails the test.
std::vector<TensorBytes> run_model(const std::vector<uint8_t>& file, const std::vector<TensorBytes>& inputs);

// Integers of the whole range, floats from -1 to 1; the same for a seed on every machine.
std::vector<TensorBytes> random_inputs(const Model& model, uint32_t seed);

// The message with which a model is refused; empty (and a test failure) if it is not.
std::string refusal(const std::vector<uint8_t>& file);

template <class T>
TensorBytes to_bytes(const std::vector<T>& values) {
  TensorBytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<T> from_bytes(const TensorBytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// One input, one output.
template <class In, class Out = In>
std::vector<Out> run_single(const std::vector<uint8_t>& file, const std::vector<In>& input) {
  std::vector<TensorBytes> outputs = run_model(file, {to_bytes(input)});
  return outputs.empty() ? std::vector<Out>{} : from_bytes<Out>(outputs[0]);
}

}  // namespace linnet::test
