#include "linnet/graph/network_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace linnet::graph {
namespace {

// Numbers of schema: BuiltinOperator and union BuiltinOptions, written down a second time on purpose: a test that made its
// model with the numbers of the operator under test could not notice that they are wrong.
namespace code {
constexpr int32_t add = 0, average_pool_2d = 1, concatenation = 2, conv_2d = 3, depthwise_conv_2d = 4, dequantize = 6,
                  fully_connected = 9, logistic = 14, max_pool_2d = 17, mul = 18, relu = 19, relu6 = 21, reshape = 22,
                  softmax = 25, svdf = 27, tanh = 28, custom = 32, pad = 34, transpose = 39, mean = 40, sub = 41,
                  unidirectional_sequence_lstm = 44, strided_slice = 45, transpose_conv = 67, leaky_relu = 98,
                  quantize = 114, if_ = 118;
}
namespace options {
constexpr uint8_t conv_2d = 1, depthwise_conv_2d = 2, pool_2d = 5, svdf = 6, fully_connected = 8, softmax = 9,
                  concatenation = 10, add = 11, reshape = 17, mul = 21, pad = 22, transpose = 26, reducer = 27, sub = 28,
                  strided_slice = 32, dequantize = 38, transpose_conv = 49, unidirectional_sequence_lstm = 71,
                  leaky_relu = 75, quantize = 89, if_ = 92;
}

int8_t number(Padding p) { return static_cast<int8_t>(p); }
int8_t number(Activation a) { return static_cast<int8_t>(a); }

int32_t output_size(int32_t input, int kernel, int stride, int dilation, Padding padding) {
  if (padding == Padding::same) return (input + stride - 1) / stride;
  return (input - (kernel - 1) * dilation - 1 + stride) / stride;
}

std::vector<int32_t> broadcast(std::vector<int32_t> a, std::vector<int32_t> b) {
  while (a.size() < b.size()) a.insert(a.begin(), 1);
  while (b.size() < a.size()) b.insert(b.begin(), 1);
  for (size_t i = 0; i < a.size(); ++i) a[i] = a[i] == 1 ? b[i] : a[i];
  return a;
}

size_t product(const std::vector<int32_t>& shape) {
  size_t n = 1;
  for (int32_t d : shape) n *= static_cast<size_t>(d);
  return n;
}

bool is_integer(Type type) { return type != Type::float32 && type != Type::float16 && type != Type::float64; }
double highest(Type type) { return type == Type::int16 ? 32767 : 127; }

}  // namespace

Quantization per_tensor(float scale, int64_t zero_point) { return {{scale}, {zero_point}, 0}; }

Quantization per_channel(std::vector<float> scales, int32_t dimension) {
  std::vector<int64_t> zero_points(scales.size(), 0);
  return {std::move(scales), std::move(zero_points), dimension};
}

// ---- Tensors ------------------------------------------------------------------------------------------------------------

uint64_t NetworkBuilder::next() {  // splitmix64
  uint64_t z = random_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double NetworkBuilder::uniform() { return static_cast<double>(static_cast<int64_t>(next()) >> 11) / (1ll << 52); }

int NetworkBuilder::add_subgraph(const std::string& name) {
  network.subgraphs.push_back({.name = name});
  return current_ = static_cast<int>(network.subgraphs.size()) - 1;
}

int NetworkBuilder::add(TensorSpec spec) {
  auto& tensors = subgraph().tensors;
  if (spec.name.empty()) spec.name = "t" + std::to_string(tensors.size());
  tensors.push_back(std::move(spec));
  return static_cast<int>(tensors.size()) - 1;
}

int NetworkBuilder::input(Type type, std::vector<int32_t> shape, Quantization quantization, const std::string& name) {
  int i = add({.type = type, .shape = std::move(shape), .quantization = std::move(quantization), .name = name});
  subgraph().inputs.push_back(i);
  return i;
}

int NetworkBuilder::variable(Type type, std::vector<int32_t> shape, Quantization quantization) {
  return add({.type = type, .shape = std::move(shape), .quantization = std::move(quantization), .is_variable = true});
}

int NetworkBuilder::indices(const std::vector<int32_t>& values) {
  return constant(Type::int32, {static_cast<int32_t>(values.size())}, values);
}

int NetworkBuilder::random_constant(Type type, std::vector<int32_t> shape, Quantization quantization, int32_t limit) {
  size_t each = element_bytes(type);
  if (limit == 0) limit = each == 1 ? 127 : each == 2 ? 32767 : 2000;
  std::vector<uint8_t> data(product(shape) * each);
  for (size_t i = 0; i < data.size(); i += each) {
    if (type == Type::float32) {
      auto value = static_cast<float>(uniform());
      std::memcpy(&data[i], &value, sizeof value);
    } else {
      auto value = static_cast<int64_t>(std::lround(uniform() * limit));
      std::memcpy(&data[i], &value, std::min(each, sizeof value));  // little-endian: the low bytes
    }
  }
  return add({.type = type, .shape = std::move(shape), .quantization = std::move(quantization), .data = std::move(data)});
}

std::vector<uint8_t> NetworkBuilder::random_bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  for (auto& b : bytes) b = static_cast<uint8_t>(next() >> 32);
  return bytes;
}

std::vector<uint8_t> NetworkBuilder::random_input(int i) {
  const TensorSpec& t = tensor(i);
  std::vector<uint8_t> bytes = random_bytes(product(t.shape) * element_bytes(t.type));
  if (t.type == Type::boolean) {
    for (auto& b : bytes) b &= 1;
  } else if (t.type == Type::float32) {
    for (size_t at = 0; at < bytes.size(); at += 4) {
      auto value = static_cast<float>(uniform());
      std::memcpy(&bytes[at], &value, 4);
    }
  }
  return bytes;
}

// ---- Operators in general -----------------------------------------------------------------------------------------------

int NetworkBuilder::op(OperatorSpec spec, std::vector<TensorSpec> outputs) {
  for (auto& output : outputs) spec.outputs.push_back(add(std::move(output)));
  int first = spec.outputs.empty() ? absent : spec.outputs.front();
  subgraph().operators.push_back(std::move(spec));
  return first;
}

int NetworkBuilder::custom(const std::string& name, std::vector<int> inputs, TensorSpec output,
                           std::vector<uint8_t> custom_options) {
  return op({.code = code::custom, .inputs = std::move(inputs), .custom_name = name,
             .custom_options = std::move(custom_options)},
            {std::move(output)});
}

int8_t NetworkBuilder::int_version(int x, int8_t if_float, int8_t if_int8, int8_t if_int16) {
  Type type = tensor(x).type;
  return type == Type::int16 ? if_int16 : type == Type::int8 || type == Type::uint8 ? if_int8 : if_float;
}

// ---- Sums of products ---------------------------------------------------------------------------------------------------

int NetworkBuilder::make_filter(int x, const ConvSpec& spec, std::vector<int32_t> shape, int channel_dimension) {
  if (spec.filter != automatic) return spec.filter;
  Type type = spec.weights != Type::none ? spec.weights : is_integer(tensor(x).type) ? Type::int8 : Type::float32;
  Quantization q;
  if (type != Type::float32) {
    auto channels = spec.per_channel ? static_cast<size_t>(shape[static_cast<size_t>(channel_dimension)]) : 1;
    std::vector<float> scales;
    for (size_t i = 0; i < channels; ++i) scales.push_back(static_cast<float>(0.01 * (1.5 + uniform())));
    q = per_channel(scales, channels > 1 ? channel_dimension : 0);
  }
  return random_constant(type, std::move(shape), q);
}

int NetworkBuilder::make_bias(int x, int filter, const ConvSpec& spec, int32_t channels) {
  if (spec.bias != automatic) return spec.bias;
  Type input = tensor(x).type;
  Type type = spec.bias_type;
  if (type == Type::none) type = input == Type::int16 ? Type::int64 : is_integer(input) ? Type::int32 : Type::float32;
  Quantization q;
  if (is_integer(type)) {
    q = tensor(filter).quantization;
    q.dimension = 0;
    for (auto& s : q.scales) s *= tensor(x).quantization.scales.at(0);
  }
  return random_constant(type, {channels}, q, input == Type::int16 ? 200000 : 2000);
}

// Scales for which three standard deviations of a sum of `terms` products fill the type.
Quantization NetworkBuilder::sum_quantization(int x, int filter, size_t terms, Quantization out) {
  if (!out.scales.empty() || !quantized(x)) return out;
  const TensorSpec& input = tensor(x);
  float weight = 1;
  if (quantized(filter)) {
    auto& scales = tensor(filter).quantization.scales;
    weight = *std::max_element(scales.begin(), scales.end());
  }
  double deviation = input.quantization.scales[0] * highest(input.type) / std::sqrt(3.0) * weight * 127 / std::sqrt(3.0) *
                     std::sqrt(static_cast<double>(terms));
  return per_tensor(static_cast<float>(3 * deviation / highest(input.type)), input.type == Type::int16 ? 0 : -5);
}

// Converters that give int16 activations a bias of 32 bits say so: field `number` of the last operator's options.
void NetworkBuilder::say_bias_type(int x, const ConvSpec& spec, uint8_t number, int32_t version) {
  if (tensor(x).type != Type::int16 || spec.bias_type != Type::int32) return;
  last_operator().options.push_back({number, static_cast<int8_t>(Type::int32)});
  last_operator().version = version;
}

int NetworkBuilder::conv_2d(int x, const ConvSpec& spec, Quantization out) {
  auto in = tensor(x).shape;
  int filter = make_filter(x, spec, {spec.channels, spec.kernel[0], spec.kernel[1], in[3]}, 0);
  auto f = tensor(filter).shape;
  int bias = make_bias(x, filter, spec, f[0]);
  bool hybrid = !is_integer(tensor(x).type) && is_integer(tensor(filter).type);
  int32_t version = hybrid ? (tensor(filter).quantization.scales.size() > 1 ? 5 : 2) : int_version(x, 1, 3, 4);
  int y = op({.code = code::conv_2d, .version = version, .inputs = {x, filter, bias}, .options_type = options::conv_2d,
             .options = {{0, number(spec.padding)}, {1, spec.stride[1]}, {2, spec.stride[0]}, {3, number(spec.activation)},
                         {4, spec.dilation[1]}, {5, spec.dilation[0]}}},
            {{.type = tensor(x).type,
              .shape = {in[0], output_size(in[1], f[1], spec.stride[0], spec.dilation[0], spec.padding),
                        output_size(in[2], f[2], spec.stride[1], spec.dilation[1], spec.padding), f[0]},
              .quantization = sum_quantization(x, filter, product(f) / static_cast<size_t>(f[0]), out)}});
  say_bias_type(x, spec, 6, 8);
  return y;
}

int NetworkBuilder::depthwise_conv_2d(int x, const ConvSpec& spec, Quantization out) {
  auto in = tensor(x).shape;
  int filter = make_filter(x, spec, {1, spec.kernel[0], spec.kernel[1], spec.channels}, 3);
  auto f = tensor(filter).shape;
  int bias = make_bias(x, filter, spec, f[3]);
  bool hybrid = !is_integer(tensor(x).type) && is_integer(tensor(filter).type);
  bool dilated = spec.dilation[0] != 1 || spec.dilation[1] != 1;
  int32_t version = hybrid ? (tensor(filter).quantization.scales.size() > 1 ? 6 : 4)
                           : int_version(x, dilated ? 2 : 1, 3, 5);
  return op({.code = code::depthwise_conv_2d, .version = version, .inputs = {x, filter, bias},
             .options_type = options::depthwise_conv_2d,
             .options = {{0, number(spec.padding)}, {1, spec.stride[1]}, {2, spec.stride[0]}, {3, f[3] / in[3]},
                         {4, number(spec.activation)}, {5, spec.dilation[1]}, {6, spec.dilation[0]}}},
            {{.type = tensor(x).type,
              .shape = {in[0], output_size(in[1], f[1], spec.stride[0], spec.dilation[0], spec.padding),
                        output_size(in[2], f[2], spec.stride[1], spec.dilation[1], spec.padding), f[3]},
              .quantization = sum_quantization(x, filter, static_cast<size_t>(f[1] * f[2]), out)}});
}

int NetworkBuilder::fully_connected(int x, const ConvSpec& spec, Quantization out) {
  auto in = tensor(x).shape;
  auto all = static_cast<int32_t>(product(in));
  int32_t columns = spec.filter != automatic ? tensor(spec.filter).shape[1] : spec.keep_dims ? in.back() : all / in[0];
  int filter = make_filter(x, spec, {spec.channels, columns}, 0);
  auto f = tensor(filter).shape;
  int bias = make_bias(x, filter, spec, f[0]);
  bool hybrid = !is_integer(tensor(x).type) && is_integer(tensor(filter).type);
  bool per_channel = tensor(filter).quantization.scales.size() > 1;
  int32_t version = hybrid ? (per_channel ? 12 : 3) : int_version(x, 1, 4, 7);
  if (!hybrid && version < 5 && spec.keep_dims) version = 5;
  if (!hybrid && version < 6 && bias == absent) version = 6;
  if (!hybrid && version == 4 && per_channel) version = 12;
  std::vector<int32_t> shape = {all / columns, f[0]};
  if (spec.keep_dims) {
    shape = in;
    shape.back() = f[0];
  }
  int y = op({.code = code::fully_connected, .version = version, .inputs = {x, filter, bias},
             .options_type = options::fully_connected,
             .options = {{0, number(spec.activation)}, {2, spec.keep_dims}}},
            {{.type = tensor(x).type, .shape = shape,
              .quantization = sum_quantization(x, filter, static_cast<size_t>(columns), out)}});
  say_bias_type(x, spec, 4, 11);
  return y;
}

int NetworkBuilder::transpose_conv(int x, const ConvSpec& spec, Quantization out) {
  auto in = tensor(x).shape;
  int filter = make_filter(x, spec, {spec.channels, spec.kernel[0], spec.kernel[1], in[3]}, 0);
  auto f = tensor(filter).shape;
  int bias = make_bias(x, filter, spec, f[0]);
  auto size = [&](int32_t input, int kernel, int stride) {
    return spec.padding == Padding::same ? input * stride : (input - 1) * stride + kernel;
  };
  std::vector<int32_t> shape = {in[0], size(in[1], f[1], spec.stride[0]), size(in[2], f[2], spec.stride[1]), f[0]};
  std::vector<int> inputs = {indices(shape), filter, x};
  int32_t version = int_version(x, 1, 2, 3);
  if (bias != absent) {
    inputs.push_back(bias);
    version = 3;
  }
  if (spec.activation != Activation::none) version = 4;
  int y = op({.code = code::transpose_conv, .version = version, .inputs = inputs, .options_type = options::transpose_conv,
             .options = {{0, number(spec.padding)}, {1, spec.stride[1]}, {2, spec.stride[0]}, {3, number(spec.activation)}}},
            {{.type = tensor(x).type, .shape = shape,
              .quantization = sum_quantization(x, filter, product(f) / static_cast<size_t>(f[0]), out)}});
  say_bias_type(x, spec, 4, 5);
  return y;
}

// ---- Pools, element-wise operators --------------------------------------------------------------------------------------

int NetworkBuilder::pool(int x, int32_t operator_code, const PoolSpec& spec) {
  auto in = tensor(x).shape;
  return op({.code = operator_code, .version = int_version(x, 1, 2, 3), .inputs = {x}, .options_type = options::pool_2d,
             .options = {{0, number(spec.padding)}, {1, spec.stride[1]}, {2, spec.stride[0]}, {3, spec.kernel[1]},
                         {4, spec.kernel[0]}, {5, number(spec.activation)}}},
            {{.type = tensor(x).type,
              .shape = {in[0], output_size(in[1], spec.kernel[0], spec.stride[0], 1, spec.padding),
                        output_size(in[2], spec.kernel[1], spec.stride[1], 1, spec.padding), in[3]},
              .quantization = tensor(x).quantization}});
}

int NetworkBuilder::average_pool_2d(int x, const PoolSpec& spec) { return pool(x, code::average_pool_2d, spec); }
int NetworkBuilder::max_pool_2d(int x, const PoolSpec& spec) { return pool(x, code::max_pool_2d, spec); }

int NetworkBuilder::binary(int32_t operator_code, uint8_t options_type, int version, int a, int b, Quantization out,
                           Activation activation) {
  OperatorSpec spec{.code = operator_code, .version = version, .inputs = {a, b}, .options_type = options_type,
                    .options = {{0, number(activation)}}};
  // Scales that are no powers of two say so; the schema's default is that they are.
  if (operator_code != code::mul && tensor(a).type == Type::int16) spec.options.push_back({1, false});
  return op(std::move(spec), {{.type = tensor(a).type, .shape = broadcast(tensor(a).shape, tensor(b).shape),
                               .quantization = std::move(out)}});
}

int NetworkBuilder::add(int a, int b, Quantization out, Activation activation) {
  if (out.scales.empty() && quantized(a)) {
    out = per_tensor(tensor(a).quantization.scales[0] + tensor(b).quantization.scales[0], int_version(a, 0, 3, 0));
  }
  return binary(code::add, options::add, int_version(a, 1, 2, 3), a, b, out, activation);
}

int NetworkBuilder::sub(int a, int b, Quantization out, Activation activation) {
  if (out.scales.empty() && quantized(a)) {
    out = per_tensor(tensor(a).quantization.scales[0] + tensor(b).quantization.scales[0], int_version(a, 0, -3, 0));
  }
  return binary(code::sub, options::sub, int_version(a, 1, 2, 5), a, b, out, activation);
}

int NetworkBuilder::mul(int a, int b, Quantization out, Activation activation) {
  if (out.scales.empty() && quantized(a)) {
    auto scale = tensor(a).quantization.scales[0] * tensor(b).quantization.scales[0] * highest(tensor(a).type);
    out = per_tensor(static_cast<float>(scale), int_version(a, 0, 4, 0));
  }
  return binary(code::mul, options::mul, int_version(a, 1, 2, 4), a, b, out, activation);
}

int NetworkBuilder::unary(OperatorSpec spec, int x, Quantization out) {
  if (out.scales.empty()) out = tensor(x).quantization;
  spec.inputs = {x};
  return op(std::move(spec), {{.type = tensor(x).type, .shape = tensor(x).shape, .quantization = std::move(out)}});
}

int NetworkBuilder::relu(int x, Quantization out) {
  return unary({.code = code::relu, .version = int_version(x, 1, 2, 3)}, x, std::move(out));
}
int NetworkBuilder::relu6(int x, Quantization out) {
  return unary({.code = code::relu6, .version = int_version(x, 1, 2, 3)}, x, std::move(out));
}
int NetworkBuilder::leaky_relu(int x, float alpha, Quantization out) {
  return unary({.code = code::leaky_relu, .version = int_version(x, 1, 2, 2), .options_type = options::leaky_relu,
                .options = {{0, alpha}}},
               x, std::move(out));
}
// The scales of LOGISTIC, TANH and SOFTMAX follow from the range of their results.
int NetworkBuilder::logistic(int x) {
  Quantization out;
  if (quantized(x)) out = tensor(x).type == Type::int16 ? per_tensor(1 / 32768.f) : per_tensor(1 / 256.f, -128);
  return unary({.code = code::logistic, .version = int_version(x, 1, 2, 3)}, x, out);
}
int NetworkBuilder::tanh(int x) {
  Quantization out;
  if (quantized(x)) out = per_tensor(tensor(x).type == Type::int16 ? 1 / 32768.f : 1 / 128.f);
  return unary({.code = code::tanh, .version = int_version(x, 1, 2, 3)}, x, out);
}
int NetworkBuilder::softmax(int x, float beta) {
  Quantization out;
  if (quantized(x)) out = tensor(x).type == Type::int16 ? per_tensor(1 / 32768.f) : per_tensor(1 / 256.f, -128);
  return unary({.code = code::softmax, .version = int_version(x, 1, 2, 3), .options_type = options::softmax,
                .options = {{0, beta}}},
               x, out);
}

int NetworkBuilder::quantize(int x, Type type, Quantization out) {
  int32_t version = is_integer(tensor(x).type) ? (type == Type::int16 || tensor(x).type == Type::int16 ? 3 : 2) : 1;
  return op({.code = code::quantize, .version = version, .inputs = {x}, .options_type = options::quantize},
            {{.type = type, .shape = tensor(x).shape, .quantization = std::move(out)}});
}
int NetworkBuilder::dequantize(int x) {
  return op({.code = code::dequantize, .version = int_version(x, 1, 2, 3), .inputs = {x},
             .options_type = options::dequantize},
            {{.type = Type::float32, .shape = tensor(x).shape}});
}

// ---- Shapes -------------------------------------------------------------------------------------------------------------

int NetworkBuilder::mean(int x, std::vector<int32_t> axes, bool keep_dims, Quantization out) {
  std::vector<int32_t> shape = tensor(x).shape;
  auto rank = static_cast<int32_t>(shape.size());
  for (int32_t axis : axes) shape[static_cast<size_t>((axis + rank) % rank)] = keep_dims ? 1 : -1;
  std::erase(shape, -1);
  if (out.scales.empty()) out = tensor(x).quantization;
  int axis_tensor = indices(axes);
  return op({.code = code::mean, .version = int_version(x, 1, 2, 3), .inputs = {x, axis_tensor},
             .options_type = options::reducer, .options = {{0, keep_dims}}},
            {{.type = tensor(x).type, .shape = shape, .quantization = std::move(out)}});
}

int NetworkBuilder::pad(int x, const std::vector<std::array<int32_t, 2>>& before_after) {
  std::vector<int32_t> shape = tensor(x).shape, flat;
  for (size_t i = 0; i < before_after.size(); ++i) {
    shape[i] += before_after[i][0] + before_after[i][1];
    flat.insert(flat.end(), before_after[i].begin(), before_after[i].end());
  }
  int paddings = constant(Type::int32, {static_cast<int32_t>(before_after.size()), 2}, flat);
  return op({.code = code::pad, .version = int_version(x, 1, 2, 3), .inputs = {x, paddings}, .options_type = options::pad},
            {{.type = tensor(x).type, .shape = shape, .quantization = tensor(x).quantization}});
}

int NetworkBuilder::concatenation(std::vector<int> inputs, int axis, Quantization out, Activation activation) {
  int first = inputs.at(0);
  std::vector<int32_t> shape = tensor(first).shape;
  auto along = static_cast<size_t>(axis < 0 ? axis + static_cast<int>(shape.size()) : axis);
  shape[along] = 0;
  for (int i : inputs) shape[along] += tensor(i).shape[along];
  if (out.scales.empty()) out = tensor(first).quantization;
  return op({.code = code::concatenation, .version = int_version(first, 1, 2, 3), .inputs = std::move(inputs),
             .options_type = options::concatenation, .options = {{0, axis}, {1, number(activation)}}},
            {{.type = tensor(first).type, .shape = shape, .quantization = std::move(out)}});
}

int NetworkBuilder::reshape(int x, std::vector<int32_t> shape) {
  std::vector<int32_t> result = shape;
  int32_t known = 1;
  for (int32_t d : shape) known *= d == -1 ? 1 : d;
  for (auto& d : result)
    if (d == -1) d = static_cast<int32_t>(product(tensor(x).shape)) / known;
  int shape_tensor = indices(shape);
  return op({.code = code::reshape, .inputs = {x, shape_tensor}, .options_type = options::reshape,
             .options = {{0, shape}}},
            {{.type = tensor(x).type, .shape = result, .quantization = tensor(x).quantization}});
}

int NetworkBuilder::transpose(int x, std::vector<int32_t> permutation) {
  std::vector<int32_t> shape;
  for (int32_t p : permutation) shape.push_back(tensor(x).shape[static_cast<size_t>(p)]);
  int permutation_tensor = indices(permutation);
  return op({.code = code::transpose, .version = int_version(x, 1, 2, 4), .inputs = {x, permutation_tensor},
             .options_type = options::transpose},
            {{.type = tensor(x).type, .shape = shape, .quantization = tensor(x).quantization}});
}

int NetworkBuilder::strided_slice(int x, const SliceSpec& spec) {
  const std::vector<int32_t> in = tensor(x).shape;
  std::vector<int32_t> shape;
  if (spec.ellipsis_mask || spec.new_axis_mask) throw std::invalid_argument("strided_slice: set the output's shape by op()");
  for (size_t i = 0; i < in.size(); ++i) {
    if (i >= spec.begin.size()) {
      shape.push_back(in[i]);
      continue;
    }
    if (spec.shrink_axis_mask >> i & 1) continue;
    int32_t stride = spec.strides[i];
    auto bound = [&](int32_t v, bool masked, int32_t if_masked) {
      if (masked) return if_masked;
      if (v < 0) v += in[i];
      return stride > 0 ? std::clamp(v, 0, in[i]) : std::clamp(v, -1, in[i] - 1);
    };
    int32_t begin = bound(spec.begin[i], spec.begin_mask >> i & 1, stride > 0 ? 0 : in[i] - 1);
    int32_t end = bound(spec.end[i], spec.end_mask >> i & 1, stride > 0 ? in[i] : -1);
    int32_t span = stride > 0 ? end - begin : begin - end;
    shape.push_back(std::max(0, (span + std::abs(stride) - 1) / std::abs(stride)));
  }
  int begin = indices(spec.begin), end = indices(spec.end), strides = indices(spec.strides);
  return op({.code = code::strided_slice, .version = int_version(x, 1, 2, 4), .inputs = {x, begin, end, strides},
             .options_type = options::strided_slice,
             .options = {{0, spec.begin_mask}, {1, spec.end_mask}, {2, spec.ellipsis_mask}, {3, spec.new_axis_mask},
                         {4, spec.shrink_axis_mask}}},
            {{.type = tensor(x).type, .shape = shape, .quantization = tensor(x).quantization}});
}

// ---- State, control flow ------------------------------------------------------------------------------------------------

int NetworkBuilder::svdf(int x, const SvdfSpec& spec, Quantization out) {
  const std::vector<int32_t> in = tensor(x).shape;
  bool integer = is_integer(tensor(x).type);
  bool hybrid = !integer && spec.weights == Type::int8;
  int32_t filters = spec.units * spec.rank;
  Type feature_type = integer || hybrid ? Type::int8 : Type::float32;
  Type time_type = integer ? spec.time_weights : feature_type;
  Type state_type = integer ? spec.time_weights : Type::float32;
  auto scale = [&](float s) { return integer || hybrid ? per_tensor(s) : Quantization(); };
  int features = random_constant(feature_type, {filters, in[1]}, scale(0.01f));
  float time_scale = time_type == Type::int16 ? 0.01f / 256 : 0.01f;
  int time = random_constant(time_type, {filters, spec.memory}, scale(time_scale));
  Quantization state_q, bias_q;
  if (integer) {
    auto x_scale = tensor(x).quantization.scales.at(0);
    // Holds three standard deviations of a dot product with the feature weights.
    double deviation = x_scale * 73 * 0.73 * std::sqrt(static_cast<double>(in[1]));
    state_q = per_tensor(static_cast<float>(3 * deviation / highest(state_type)));
    bias_q = per_tensor(state_q.scales[0] * time_scale);
    if (out.scales.empty()) out = per_tensor(static_cast<float>(3 * deviation * std::sqrt(spec.memory * spec.rank) / 127), -2);
  }
  int bias = random_constant(integer ? Type::int32 : Type::float32, {spec.units}, bias_q);
  int state = variable(state_type, {in[0], filters * spec.memory}, state_q);
  return op({.code = code::svdf, .version = integer ? 3 : hybrid ? 2 : 1, .inputs = {x, features, time, bias, state},
             .options_type = options::svdf, .options = {{0, spec.rank}, {1, number(spec.activation)}}},
            {{.type = tensor(x).type, .shape = {in[0], spec.units}, .quantization = std::move(out)}});
}

int NetworkBuilder::unidirectional_sequence_lstm(int x, const LstmSpec& spec, Quantization out) {
  const std::vector<int32_t> in = tensor(x).shape;
  int32_t features = in[2], batch = spec.time_major ? in[1] : in[0];
  Type type = tensor(x).type;
  bool integer = is_integer(type);
  if (integer && out.scales.empty()) out = type == Type::int16 ? per_tensor(1 / 32768.f) : per_tensor(1 / 128.f);
  Type weights = integer ? Type::int8 : Type::float32;
  auto scale = [&](double s) { return integer ? per_tensor(static_cast<float>(s)) : Quantization(); };
  std::vector<int> inputs(24, absent);
  inputs[0] = x;
  // Gates in the file's order: input, forget, cell, output.
  for (size_t gate = 0; gate < 4; ++gate) {
    double input_scale = 0.006 + 0.001 * static_cast<double>(gate), state_scale = 0.007 - 0.001 * static_cast<double>(gate);
    inputs[1 + gate] = random_constant(weights, {spec.units, features}, scale(input_scale));
    inputs[5 + gate] = random_constant(weights, {spec.units, spec.units}, scale(state_scale));
    double bias_scale = integer ? input_scale * tensor(x).quantization.scales.at(0) : 1;
    inputs[12 + gate] = random_constant(integer ? (type == Type::int16 ? Type::int64 : Type::int32) : Type::float32,
                                        {spec.units}, scale(bias_scale), 1000);
  }
  inputs[18] = variable(type, {batch, spec.units}, out);
  inputs[19] = variable(integer ? Type::int16 : type, {batch, spec.units}, scale(1.0 / 2048));
  std::vector<int> intermediates;
  if (integer) {
    for (int gate = 0; gate < 4; ++gate) {  // used with layer normalisation only
      intermediates.push_back(add({.type = Type::int16, .shape = {0}, .quantization = per_tensor(1 / 4096.f)}));
    }
    intermediates.push_back(add({.type = type, .shape = {0}, .quantization = out}));  // the hidden state before projection
  }
  std::vector<int32_t> shape = in;
  shape[2] = spec.units;
  return op({.code = code::unidirectional_sequence_lstm, .version = 1, .inputs = inputs,
             .options_type = options::unidirectional_sequence_lstm,
             .options = {{0, number(spec.activation)}, {1, spec.cell_clip}, {3, spec.time_major}},
             .intermediates = intermediates},
            {{.type = type, .shape = shape, .quantization = out}});
}

int NetworkBuilder::if_(int condition, std::vector<int> inputs, int then_subgraph, int else_subgraph,
                        std::vector<TensorSpec> outputs) {
  inputs.insert(inputs.begin(), condition);
  return op({.code = code::if_, .inputs = std::move(inputs), .options_type = options::if_,
             .options = {{0, then_subgraph}, {1, else_subgraph}}},
            std::move(outputs));
}

}  // namespace linnet::graph
