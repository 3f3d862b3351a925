// Images as inputs: .bmp and .png, through stb_image.
#pragma once
#include <vector>

#include "cli/loaded_model.h"
#include "linnet/run/session.h"

namespace linnet::cli {

// How the bytes of a picture's pixels are meant. Some example pictures of int8 networks are their tensor's bytes as
// they are: signed, with dark at -128, so that viewers show jumps where brightness passes the middle.
enum class Pixels { automatic, are_unsigned, are_signed };

struct Image {
  TensorBytes bytes;
  bool taken_as_signed = false;
};

// A pixel p becomes p - 128 (int8), p (uint8) or p / 255 (float32); a signed one is the int8 itself. Throws Error that
// says what the image has where that does not agree with the port.
Image read_image(const std::vector<uint8_t>& file, const PortInfo& port, Pixels pixels);

// Whether a grey picture makes more sense with signed pixels: smoother and of more contrast at once. Of a picture that
// is what it seems, the other reading adds jumps or loses contrast. Pictures below 32 x 32 are always what they seem.
bool looks_signed(const uint8_t* pixels, int height, int width);

}  // namespace linnet::cli
