// Tensors in files: raw little-endian, NumPy .npy, and for images .bmp and .png. The name's ending decides.
#pragma once
#include <string>
#include <vector>

#include "cli/image_file.h"
#include "cli/loaded_model.h"
#include "linnet/run/session.h"

namespace linnet::cli {

// The bytes for an input. Raw: exactly as many as the tensor has. .npy: its element type, and its shape apart from
// dimensions of 1. Images: its height and width; grey and colour are converted (image_file.h says how pixels become
// elements; standard error says so where that is not the usual way). Throws BadInput that says what is expected.
TensorBytes read_tensor(const std::string& path, const PortInfo& port, const std::string& what, Pixels pixels);

// The content of a file of that name that holds the tensor: .npy, or raw for any other ending but .bmp and .png.
std::vector<uint8_t> tensor_file_content(const std::string& path, const PortInfo& port, const TensorBytes& bytes);

}  // namespace linnet::cli
