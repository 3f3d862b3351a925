// Images as inputs: .bmp and .png, through stb_image.
#pragma once
#include <vector>

#include "cli/loaded_model.h"
#include "linnet/run/session.h"

namespace linnet::cli {

// Throws Error that says what the image has where that does not agree with the port.
TensorBytes read_image(const std::vector<uint8_t>& file, const PortInfo& port);

}  // namespace linnet::cli
