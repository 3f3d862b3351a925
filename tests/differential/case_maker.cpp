#include "tests/differential/case_maker.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace linnet::differential {
namespace {

size_t elements(const Shape& shape) {
  size_t n = 1;
  for (int32_t d : shape) n *= static_cast<size_t>(d);
  return n;
}

Limits held_by(Type type) {
  switch (type) {
    case Type::int8: return {-128, 127};
    case Type::uint8: return {0, 255};
    case Type::int16: return {-32768, 32767};
    case Type::boolean: return {0, 1};
    case Type::int64: return {-9007199254740992.0, 9007199254740992.0};
    default: return {-2147483648.0, 2147483647.0};
  }
}

template <class T>
void store(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace

Shape CaseMaker::shape(int rank, int most) {
  Shape s;
  int left = 2000;
  for (int i = 0; i < rank; ++i) {
    s.push_back(draw.range(1, std::max(1, std::min(most, left))));
    left /= s.back();
  }
  return s;
}

int CaseMaker::zero_point(Type type) {
  if (type != Type::int8 && type != Type::uint8) return 0;
  int low = type == Type::int8 ? -128 : 0;
  switch (draw.range(0, 3)) {
    case 0: return 0;
    case 1: return low + draw.range(0, 255);
    case 2: return low;
    default: return low + 255;
  }
}

float CaseMaker::scale() {
  switch (draw.range(0, 3)) {
    case 0: return 0.5f;
    case 1: return static_cast<float>(std::exp2(-draw.range(0, 80) / 8.0) * 1.01);
    case 2: return static_cast<float>(std::exp2(-draw.range(1, 40)) * 1.7);
    default: return static_cast<float>(std::exp2(draw.range(0, 20)) * 0.3);
  }
}

Quantization CaseMaker::with_zero_point(Type type, float scale) { return graph::per_tensor(scale, zero_point(type)); }

Quantization CaseMaker::quantization(Type type) {
  if (!is_quantized(type)) return {};
  float s = scale();
  return with_zero_point(type, s);
}

double CaseMaker::number(Type type, Limits limits) {
  bool real = type == Type::float32, limited = limits.low != limits.high;
  if (!limited) limits = real ? Limits{-1, 1} : held_by(type);
  double middle = limited ? (limits.low + limits.high) / 2 : 0, width = limits.high - limits.low;
  int kind = kind_ == 2 ? static_cast<int>(numbers_.below(2)) * 2 + 1 : kind_;
  if (real && !limited && kind_ >= 2) {
    if (kind == 3 && numbers_.below(4) == 0) return numbers_.below(2) ? 0.0 : -0.0;
    double magnitude = std::exp2(numbers_.uniform() * 20 - 10);
    return numbers_.below(2) ? magnitude : -magnitude;
  }
  double value = limits.low + numbers_.uniform() * width;
  if (kind == 0 && !real) value = std::max(limits.low, std::min(limits.high, std::floor(middle + numbers_.uniform() * 11 - 5)));
  if (kind == 3) value = numbers_.below(2) ? limits.low : limits.high;
  return real ? value : std::round(value);
}

std::vector<uint8_t> CaseMaker::numbers(const graph::TensorSpec& tensor, Limits limits) {
  size_t count = elements(tensor.shape), each = element_bytes(tensor.type);
  std::vector<uint8_t> bytes(count * each);
  double alike = number(tensor.type, limits);
  for (size_t i = 0; i < count; ++i) {
    double value = kind_ == 4 ? alike : number(tensor.type, limits);
    uint8_t* to = &bytes[i * each];
    if (tensor.type == Type::float32) {
      store(to, static_cast<float>(value));
    } else {
      auto whole = static_cast<int64_t>(value);
      std::memcpy(to, &whole, each);  // little-endian: the low bytes
    }
  }
  return bytes;
}

int CaseMaker::input(Type type, Shape of, Quantization q, Limits limits) {
  int tensor = n.input(type, std::move(of), std::move(q));
  limits_[tensor] = limits;
  return tensor;
}

int CaseMaker::constant(Type type, Shape of, Quantization q, Limits limits) {
  graph::TensorSpec spec{.type = type, .shape = std::move(of), .quantization = std::move(q)};
  spec.data = numbers(spec, limits);
  return n.add(std::move(spec));
}

int CaseMaker::input_or_constant(Type type, Shape of, Quantization q, Limits limits) {
  return draw.maybe() ? constant(type, std::move(of), std::move(q), limits) : input(type, std::move(of), std::move(q), limits);
}

std::vector<std::vector<TensorBytes>> CaseMaker::inputs() {
  n.select_subgraph(0);
  std::vector<std::vector<TensorBytes>> all;
  for (int i = 0; i < inferences; ++i) {
    std::vector<TensorBytes> of_inference;
    for (int tensor : n.subgraph().inputs) of_inference.push_back(numbers(n.tensor(tensor), limits_[tensor]));
    all.push_back(std::move(of_inference));
  }
  return all;
}

}  // namespace linnet::differential
