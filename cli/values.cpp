#include "cli/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace linnet::cli {
namespace {

constexpr size_t values_shown = 8, classes_shown = 5, values_in_json = 65536;

template <class T>
T load(const TensorBytes& bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

}  // namespace

Json port_json(const PortInfo& port) {
  Json json = {{"name", port.name},
               {"index", port.index},
               {"type", type_name(port.type)},
               {"shape", port.dims},
               {"bytes", port.bytes}};
  if (!port.signature_name.empty()) json["signature_name"] = port.signature_name;
  if (port.scale != 0) {
    json["scale"] = port.scale;
    json["zero_point"] = port.zero_point;
  }
  return json;
}

size_t element_count(const PortInfo& port) {
  uint32_t size = element_bytes(port.type);
  return size == 0 ? 0 : port.bytes / size;
}

Json element(const PortInfo& port, const TensorBytes& bytes, size_t i) {
  switch (port.type) {
    case Type::float32:
      return load<float>(bytes, i);
    case Type::float64:
      return load<double>(bytes, i);
    case Type::int8:
      return load<int8_t>(bytes, i);
    case Type::uint8:
      return load<uint8_t>(bytes, i);
    case Type::boolean:
      return load<uint8_t>(bytes, i) != 0;
    case Type::int16:
      return load<int16_t>(bytes, i);
    case Type::uint16:
      return load<uint16_t>(bytes, i);
    case Type::int32:
      return load<int32_t>(bytes, i);
    case Type::uint32:
      return load<uint32_t>(bytes, i);
    case Type::int64:
      return load<int64_t>(bytes, i);
    case Type::uint64:
      return load<uint64_t>(bytes, i);
    default:
      return nullptr;
  }
}

double real_value(const PortInfo& port, const TensorBytes& bytes, size_t i) {
  Json stored = element(port, bytes, i);
  if (stored.is_boolean()) return stored.get<bool>() ? 1 : 0;
  if (!stored.is_number()) return 0;
  if (stored.is_number_float() || port.scale == 0) return stored.get<double>();
  return (stored.get<double>() - port.zero_point) * static_cast<double>(port.scale);
}

bool is_distribution(const PortInfo& port, const TensorBytes& bytes) {
  size_t n = element_count(port);
  if (n < 2 || n > 100000 || port.dims.empty() || static_cast<size_t>(port.dims.back()) != n) return false;
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    double p = real_value(port, bytes, i);
    if (!(p >= 0 && p <= 1)) return false;
    sum += p;
  }
  bool quantized = port.type != Type::float32 && port.type != Type::float64;
  double rounding = 1e-3 + (quantized ? 0.5 * static_cast<double>(port.scale) * static_cast<double>(n) +
                                            static_cast<double>(port.scale)
                                      : 0);
  return (port.scale != 0 || !quantized) && std::abs(sum - 1) <= std::min(rounding, 0.25);
}

std::vector<size_t> top_classes(const PortInfo& port, const TensorBytes& bytes, size_t count) {
  std::vector<size_t> order(element_count(port));
  std::iota(order.begin(), order.end(), size_t{0});
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<long>(count), order.end(), [&](size_t a, size_t b) {
    double x = real_value(port, bytes, a), y = real_value(port, bytes, b);
    return x != y ? x > y : a < b;
  });
  order.resize(count);
  return order;
}

std::string output_text(const PortInfo& port, const TensorBytes& bytes) {
  size_t n = element_count(port);
  std::string text;
  if (is_distribution(port, bytes)) {
    for (size_t i : top_classes(port, bytes, classes_shown))
      text += fmt::format("  class {}: {:.4f}\n", i, real_value(port, bytes, i));
    if (n > classes_shown) text += fmt::format("  and {} more\n", n - classes_shown);
    return text;
  }
  text = " ";
  for (size_t i = 0; i < std::min(n, values_shown); ++i) text += fmt::format(" {:.6g}", real_value(port, bytes, i));
  if (n > values_shown) text += fmt::format(" and {} more", n - values_shown);
  return text + "\n";
}

Json output_json(const PortInfo& port, const TensorBytes& bytes) {
  Json json = port_json(port);
  json["crc32"] = fmt::format("{:08x}", crc32({bytes.data(), bytes.size()}));
  size_t n = element_count(port);
  if (n > values_in_json) return json;
  Json values = Json::array();
  for (size_t i = 0; i < n; ++i) values.push_back(element(port, bytes, i));
  json["values"] = std::move(values);
  if (is_distribution(port, bytes)) {
    Json classes = Json::array();
    for (size_t i : top_classes(port, bytes, classes_shown))
      classes.push_back({{"class", i}, {"probability", real_value(port, bytes, i)}});
    json["top_classes"] = std::move(classes);
  }
  return json;
}

}  // namespace linnet::cli
