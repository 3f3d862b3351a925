#include "cli/image_file.h"

#include <fmt/format.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cli/errors.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_BMP
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace linnet::cli {
namespace {

struct Picture {
  int height = 0, width = 0, channels = 1;
};

// What a tensor takes as a picture: [batch of 1,] height, width [, 1 or 3 channels].
Picture picture_of(const PortInfo& port) {
  std::vector<int32_t> dims = port.dims;
  if (dims.size() == 4 && dims[0] == 1) dims.erase(dims.begin());
  if (dims.size() == 3 && (dims[2] == 1 || dims[2] == 3)) return {dims[0], dims[1], dims[2]};
  if (dims.size() == 3 && dims[0] == 1) return {dims[1], dims[2], 1};
  if (dims.size() == 2) return {dims[0], dims[1], 1};
  throw Mismatch("an image needs an input of a height, a width and 1 or 3 channels");
}

// How much neighbours differ, and how much all pixels do, with each pixel's top bit flipped or not.
struct Look {
  double roughness = 0, variance = 0;
};
Look look_of(const uint8_t* pixels, int height, int width, uint8_t flip) {
  Look look;
  double sum = 0, squares = 0, count = double(height) * width;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      auto at = [&](int row, int column) {
        return static_cast<int>(
            pixels[static_cast<size_t>(row) * static_cast<size_t>(width) + static_cast<size_t>(column)] ^ flip);
      };
      int p = at(y, x);
      if (y > 0) look.roughness += std::abs(p - at(y - 1, x));
      if (x > 0) look.roughness += std::abs(p - at(y, x - 1));
      sum += p;
      squares += p * p;
    }
  look.variance = squares / count - (sum / count) * (sum / count);
  return look;
}

}  // namespace

bool looks_signed(const uint8_t* pixels, int height, int width) {
  constexpr int least_side = 32;
  if (height < least_side || width < least_side) return false;
  Look seems = look_of(pixels, height, width, 0), other = look_of(pixels, height, width, 0x80);
  return other.roughness < 0.85 * seems.roughness && other.variance > 1.3 * seems.variance;
}

Image read_image(const std::vector<uint8_t>& file, const PortInfo& port, Pixels how) {
  Picture wanted = picture_of(port);
  if (file.size() > INT_MAX) throw Error("the image is larger than 2 GB");
  int width = 0, height = 0, channels = 0, size = static_cast<int>(file.size());
  if (!stbi_info_from_memory(file.data(), size, &width, &height, &channels))
    throw Error(fmt::format("the image cannot be read ({})", stbi_failure_reason()));
  if (width != wanted.width || height != wanted.height)
    throw Mismatch(fmt::format("the image is {} pixels high and {} wide", height, width));
  std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(file.data(), size, &width, &height, &channels, wanted.channels), stbi_image_free);
  if (!pixels) throw Error(fmt::format("the image is damaged ({})", stbi_failure_reason()));

  size_t count = static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(wanted.channels);
  bool is_signed = how == Pixels::are_signed;
  if (how == Pixels::automatic && port.type == Type::int8 && wanted.channels == 1)
    is_signed = looks_signed(pixels.get(), height, width);
  if (is_signed && port.type != Type::int8) throw Mismatch("signed pixels go into inputs of type int8");
  TensorBytes bytes(port.bytes);
  for (size_t i = 0; i < count; ++i) {
    uint8_t pixel = pixels.get()[i];
    if (port.type == Type::uint8) {
      bytes[i] = pixel;
    } else if (port.type == Type::int8) {
      bytes[i] = is_signed ? pixel : static_cast<uint8_t>(pixel - 128);
    } else if (port.type == Type::float32) {
      float value = static_cast<float>(pixel) / 255.0f;
      std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
    } else {
      throw Mismatch("images go into inputs of type int8, uint8 or float32");
    }
  }
  return {std::move(bytes), is_signed};
}

}  // namespace linnet::cli
