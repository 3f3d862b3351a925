// Elements of tensors as numbers, for people and for JSON.
#pragma once
#include <string>
#include <vector>

#include "cli/loaded_model.h"
#include "cli/text.h"
#include "linnet/run/session.h"

namespace linnet::cli {

// {name, index, type, shape, bytes, ...} as every verb prints a port.
Json port_json(const PortInfo& port);

// The element's stored number: integers as they are, floats as floats.
Json element(const PortInfo& port, const TensorBytes& bytes, size_t i);
// Dequantised, where the tensor has one scale; else the number itself.
double real_value(const PortInfo& port, const TensorBytes& bytes, size_t i);
size_t element_count(const PortInfo& port);

// Probabilities, as SOFTMAX gives them: one vector of at least two values from 0 to 1 that add up to 1.
bool is_distribution(const PortInfo& port, const TensorBytes& bytes);
// Indices of the largest values, best first, the lower index first among equals.
std::vector<size_t> top_classes(const PortInfo& port, const TensorBytes& bytes, size_t count);

// Some lines for people: the first values, or the top classes.
std::string output_text(const PortInfo& port, const TensorBytes& bytes);
// port_json with crc32 and values.
Json output_json(const PortInfo& port, const TensorBytes& bytes);

}  // namespace linnet::cli
