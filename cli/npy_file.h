// NumPy's array files (format versions 1 and 2), through xtensor.
#pragma once
#include <vector>

#include "cli/loaded_model.h"
#include "linnet/run/session.h"

namespace linnet::cli {

// Throws Error that says what the file has where that does not agree with the port.
TensorBytes read_npy(const std::vector<uint8_t>& file, const PortInfo& port);
std::vector<uint8_t> write_npy(const PortInfo& port, const TensorBytes& bytes);

}  // namespace linnet::cli
