#include "cli/npy_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <sstream>
#include <xtensor/xarray.hpp>
#include <xtensor/xnpy.hpp>

#include "cli/errors.h"

namespace linnet::cli {
namespace {

constexpr size_t magic_bytes = 6, longest_header_bytes = 0x7000;

struct Preamble {
  std::string header;  // the dictionary, with its line break
  size_t data_offset = 0;
};

// What stands before the header. xtensor trusts the length, so it is checked here.
Preamble preamble_of(const std::vector<uint8_t>& file) {
  if (file.size() < 12 || std::memcmp(file.data(), "\x93NUMPY", magic_bytes) != 0)
    throw Error("this is not a .npy file");
  bool wide = file[magic_bytes] == 2;
  if (!wide && file[magic_bytes] != 1) throw Error("this version of the .npy format is not supported");
  size_t at = magic_bytes + (wide ? 6 : 4);
  size_t length = file[8] | file[9] << 8;
  if (wide) length |= static_cast<size_t>(file[10]) << 16 | static_cast<size_t>(file[11]) << 24;
  if (length < 2 || length > longest_header_bytes || length > file.size() - at || file[at + length - 1] != '\n')
    throw Error("the .npy file is damaged");
  Preamble preamble{std::string(file.begin() + static_cast<long>(at), file.begin() + static_cast<long>(at + length)),
                    at + length};
  preamble.header.pop_back();
  preamble.header.erase(preamble.header.find_last_not_of(' ') + 1);
  return preamble;
}

// The file again, its header padded to a length whose bytes xtensor 0.24 reads right: it takes them as signed.
std::string for_xtensor(const Preamble& preamble, const std::vector<uint8_t>& file) {
  std::string header = preamble.header;
  while (((header.size() + 1) & 0x8080) != 0) header += ' ';
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(file.begin() + static_cast<long>(preamble.data_offset), file.end());
  return text;
}

template <class T>
TensorBytes load(const Preamble& preamble, const std::vector<uint8_t>& file, const PortInfo& port) {
  std::istringstream stream(for_xtensor(preamble, file));
  auto array = xt::load_npy<T>(stream);
  auto squeezed = [](const auto& dims) {
    std::vector<size_t> result;
    for (auto d : dims)
      if (d != 1) result.push_back(static_cast<size_t>(d));
    return result;
  };
  if (squeezed(array.shape()) != squeezed(port.dims))
    throw Mismatch(fmt::format("the array's shape is {}", fmt::join(array.shape(), "x")));
  if (!stream) throw Error("the array is cut short");
  TensorBytes bytes;
  bytes.reserve(port.bytes);
  for (auto at = array.template begin<xt::layout_type::row_major>();
       at != array.template end<xt::layout_type::row_major>(); ++at) {
    T value = *at;
    const uint8_t* first = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), first, first + sizeof value);
  }
  return bytes;
}

template <class T>
std::vector<uint8_t> dump(const PortInfo& port, const TensorBytes& bytes) {
  std::vector<size_t> shape(port.dims.begin(), port.dims.end());
  xt::xarray<T> array(shape);
  std::memcpy(array.data(), bytes.data(), bytes.size());
  std::string text = xt::dump_npy(array);
  return {text.begin(), text.end()};
}

// Calls `action` with a value of the element type.
template <class A>
auto for_type(Type type, A action) {
  switch (type) {
    case Type::float32:
      return action(float());
    case Type::float64:
      return action(double());
    case Type::int8:
      return action(int8_t());
    case Type::uint8:
      return action(uint8_t());
    case Type::int16:
      return action(int16_t());
    case Type::uint16:
      return action(uint16_t());
    case Type::int32:
      return action(int32_t());
    case Type::uint32:
      return action(uint32_t());
    case Type::int64:
      return action(int64_t());
    case Type::uint64:
      return action(uint64_t());
    case Type::boolean:
      return action(bool());
    default:
      throw Error(fmt::format("elements of type {} cannot be kept in a .npy file; use a raw one", type_name(type)));
  }
}

}  // namespace

TensorBytes read_npy(const std::vector<uint8_t>& file, const PortInfo& port) {
  Preamble preamble = preamble_of(file);
  try {
    return for_type(port.type, [&](auto element) { return load<decltype(element)>(preamble, file, port); });
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // xtensor's and the standard library's
    if (std::strstr(error.what(), "formats not matching"))
      throw Mismatch(fmt::format("the array's element type is another one ({})", preamble.header));
    throw Error("the .npy file is damaged or of a kind that is not supported");
  }
}

std::vector<uint8_t> write_npy(const PortInfo& port, const TensorBytes& bytes) {
  return for_type(port.type, [&](auto element) { return dump<decltype(element)>(port, bytes); });
}

}  // namespace linnet::cli
