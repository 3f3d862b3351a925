// CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV, FULLY_CONNECTED: sums of products.
#include <cmath>

#include "tests/differential/case_maker.h"

namespace linnet::differential {
namespace {

using graph::Activation;
using graph::ConvSpec;
using graph::Padding;

struct Types {
  const char* name;
  Type input, weights, bias;
};
const Types types_of_sums[] = {{"float32", Type::float32, Type::float32, Type::float32},
                               {"int8", Type::int8, Type::int8, Type::int32},
                               {"int16", Type::int16, Type::int8, Type::int64},
                               {"int16_narrow", Type::int16, Type::int8, Type::int32},
                               {"hybrid", Type::float32, Type::int8, Type::float32}};

// Biases as far as sums of products can be added to them without passing the accumulator's end.
Limits of_bias(Type type, Choices& draw) {
  if (type == Type::float32) return {};
  double furthest = draw.seldom() ? (type == Type::int64 ? std::exp2(39) : 2147483647.0 - (1 << 25)) : draw.among({3.0, 2000.0, 200000.0});
  return {-furthest, furthest};
}

// Scales of outputs: such that sums fill the type, or near that, or far from it.
float output_scale(CaseMaker& c, float of_products, size_t terms) {
  double full = of_products * 64 * std::sqrt(static_cast<double>(terms));
  switch (c.draw.range(0, 4)) {
    case 0:
    case 1: return static_cast<float>(full);
    case 2:
    case 3: return static_cast<float>(full * std::exp2(c.draw.range(-12, 12) * 0.49));
    default: return static_cast<float>(full * std::exp2(c.draw.range(-20, 24)));
  }
}

// Filter and bias of an operator whose output channels lie along `dimension` of the filter, and the output's scale.
Quantization add_weights(CaseMaker& c, const Types& types, ConvSpec& spec, Quantization of_input, Shape filter, int dimension, size_t terms) {
  int32_t channels = filter[static_cast<size_t>(dimension)];
  Quantization q, of_bias_tensor, out;
  if (types.weights == Type::int8) {
    spec.per_channel = c.draw.maybe();
    float base = c.scale();
    std::vector<float> scales;
    for (int i = 0; i < (spec.per_channel ? channels : 1); ++i)
      scales.push_back(base * (i == 0 ? 1 : static_cast<float>(std::exp2(-c.draw.range(0, 24) / 4.0))));
    q = graph::per_channel(scales, scales.size() > 1 ? dimension : 0);
  }
  if (is_quantized(types.input)) {
    of_bias_tensor = q;
    of_bias_tensor.dimension = 0;
    for (float& s : of_bias_tensor.scales) s *= of_input.scales[0];
    float scale = output_scale(c, q.scales[0] * of_input.scales[0], terms);
    out = c.scaled(types.input, scale);
  }
  spec.filter = c.constant(types.weights, filter, q, types.weights == Type::int8 ? (c.draw.seldom() ? Limits{-128, 127} : Limits{-127, 127}) : Limits{});
  spec.bias_type = types.bias;
  bool engines_need_it = filter.size() == 4 && dimension == 3;  // DEPTHWISE_CONV_2D: TFLM ends without a bias, LiteRT refuses
  bool without = engines_need_it ? c.draw.range(0, 15) == 9 : c.draw.range(0, 3) == 3;
  spec.bias = without ? graph::absent : c.constant(types.bias, {channels}, of_bias_tensor, of_bias(types.bias, c.draw));
  return out;
}

Activation activation(Choices& draw) {
  return draw.among({Activation::none, Activation::relu, Activation::relu6, Activation::relu_n1_to_1});
}

// Window, strides, dilations and padding over an input of this size.
void add_window(CaseMaker& c, ConvSpec& spec, const Shape& in, bool dilated) {
  spec.padding = c.draw.maybe() ? Padding::valid : Padding::same;
  bool even = c.draw.maybe();
  for (size_t i = 0; i < 2; ++i) {
    int size = in[i + 1];
    spec.kernel[i] = c.draw.range(1, spec.padding == Padding::valid ? std::min(5, size) : 5);
    spec.stride[i] = even && i == 1 ? spec.stride[0] : c.draw.range(1, 4);
    int most = spec.padding == Padding::valid && spec.kernel[i] > 1 ? (size - 1) / (spec.kernel[i] - 1) : 3;
    spec.dilation[i] = dilated ? c.draw.range(1, std::min(3, most)) : 1;
  }
}

void conv_2d(CaseMaker& c, const Types& types) {
  Shape in = {c.draw.range(1, 3), c.draw.range(1, 9), c.draw.range(1, 9), c.draw.range(1, 9)};
  int groups = types.weights == types.input && c.draw.seldom() ? c.draw.range(1, 3) : 1;
  ConvSpec spec;
  spec.channels = c.draw.range(1, 9) * groups;
  in[3] *= groups;
  add_window(c, spec, in, true);
  spec.activation = activation(c.draw);
  Quantization of_input = c.quantization(types.input);
  int x = c.input(types.input, in, of_input);
  Shape filter = {spec.channels, spec.kernel[0], spec.kernel[1], in[3] / groups};
  Quantization out = add_weights(c, types, spec, of_input, filter, 0, static_cast<size_t>(filter[1] * filter[2] * filter[3]));
  c.n.output(c.n.conv_2d(x, spec, out));
}

void depthwise_conv_2d(CaseMaker& c, const Types& types) {
  Shape in = {c.draw.range(1, 3), c.draw.range(1, 9), c.draw.range(1, 9), c.draw.range(1, 9)};
  ConvSpec spec;
  spec.channels = in[3] * c.draw.range(1, 4);
  add_window(c, spec, in, true);
  spec.activation = activation(c.draw);
  Quantization of_input = c.quantization(types.input);
  int x = c.input(types.input, in, of_input);
  Quantization out = add_weights(c, types, spec, of_input, {1, spec.kernel[0], spec.kernel[1], spec.channels}, 3, static_cast<size_t>(spec.kernel[0] * spec.kernel[1]));
  c.n.output(c.n.depthwise_conv_2d(x, spec, out));
}

void transpose_conv(CaseMaker& c, const Types& types) {
  Shape in = {c.draw.range(1, 3), c.draw.range(1, 6), c.draw.range(1, 6), c.draw.range(1, 6)};
  ConvSpec spec;
  spec.channels = c.draw.range(1, 6);
  spec.padding = c.draw.maybe() ? Padding::valid : Padding::same;
  for (size_t i = 0; i < 2; ++i) spec.kernel[i] = c.draw.range(1, 5), spec.stride[i] = c.draw.range(1, 4);
  spec.activation = c.draw.seldom() ? activation(c.draw) : Activation::none;
  Quantization of_input = c.quantization(types.input);
  int x = c.input(types.input, in, of_input);
  Shape filter = {spec.channels, spec.kernel[0], spec.kernel[1], in[3]};
  Quantization out = add_weights(c, types, spec, of_input, filter, 0, static_cast<size_t>(filter[1] * filter[2] * filter[3]));
  c.n.output(c.n.transpose_conv(x, spec, out));
}

void fully_connected(CaseMaker& c, const Types& types) {
  Shape in = c.shape_of_any_rank();
  if (in.size() == 1) in.insert(in.begin(), 1);
  in.back() = c.draw.maybe() ? c.draw.range(1, 70) : in.back();
  ConvSpec spec;
  spec.channels = c.draw.range(1, 12);
  spec.keep_dims = c.draw.maybe();
  spec.activation = activation(c.draw);
  Quantization of_input = c.quantization(types.input);
  int x = c.input(types.input, in, of_input);
  Quantization out = add_weights(c, types, spec, of_input, {spec.channels, in.back()}, 0, static_cast<size_t>(in.back()));
  c.n.output(c.n.fully_connected(x, spec, out));
}

}  // namespace

void add_sums(Families& families) {
  for (const Types& types : types_of_sums) {
    std::string suffix = std::string(".") + types.name;
    bool hybrid = types.input != types.weights && types.input == Type::float32;
    families.push_back({"conv_2d" + suffix, [&](CaseMaker& c) { conv_2d(c, types); }});
    if (types.bias != Type::int32 || types.input == Type::int8)
      families.push_back({"depthwise_conv_2d" + suffix, [&](CaseMaker& c) { depthwise_conv_2d(c, types); }});
    if (!hybrid) families.push_back({"transpose_conv" + suffix, [&](CaseMaker& c) { transpose_conv(c, types); }});
    families.push_back({"fully_connected" + suffix, [&](CaseMaker& c) { fully_connected(c, types); }});
  }
}

}  // namespace linnet::differential
