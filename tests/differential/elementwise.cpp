// What is computed element by element, or row by row; and conversions between types.
#include <cmath>

#include "tests/differential/case_maker.h"

namespace linnet::differential {
namespace {

using graph::Activation;
using graph::NetworkBuilder;

const std::vector<Type> activations = {Type::float32, Type::int8, Type::int16};

// The scale of a result, near a suitable one or far from it.
Quantization around(CaseMaker& c, Type type, float suitable) {
  if (!is_quantized(type)) return {};
  double factor = c.draw.maybe() ? std::exp2(c.draw.range(-10, 10) * 0.37) : 1;
  return c.scaled(type, static_cast<float>(suitable * factor));
}

// Two shapes that can be broadcast into one another.
std::pair<Shape, Shape> broadcast_shapes(CaseMaker& c, int most_rank = 4) {
  Shape a = c.shape_of_any_rank(most_rank, 6), b = a;
  if (!c.draw.maybe()) return {a, b};
  for (Shape* shape : {&a, &b})
    for (int32_t& d : *shape)
      if (c.draw.range(0, 3) == 3) d = 1;
  Shape& shorter = c.draw.maybe() ? a : b;
  shorter.erase(shorter.begin(), shorter.begin() + c.draw.range(0, static_cast<int>(shorter.size()) - 1));
  return {a, b};
}

using Binary = int (NetworkBuilder::*)(int, int, Quantization, Activation);

void binary(CaseMaker& c, Type type, Binary op, bool product) {
  auto [a, b] = broadcast_shapes(c);
  Quantization of_a = c.quantization(type), of_b = c.quantization(type);
  if (!product && is_quantized(type) && c.draw.range(0, 3) > 0)  // scales that have much to do with each other
    of_b.scales[0] = of_a.scales[0] * static_cast<float>(std::exp2(c.draw.range(-24, 24) / 4.0));
  double most = product ? 46340 : 1073741823;  // results stay within 32 bits
  Limits limits = type == Type::int32 ? Limits{-most, most} : Limits{};
  Quantization out;
  if (is_quantized(type)) {
    float suitable = product ? of_a.scales[0] * of_b.scales[0] * 64 : std::max(of_a.scales[0], of_b.scales[0]) * 1.5f;
    out = around(c, type, suitable);
  }
  bool both = c.draw.range(0, 3) == 0;
  bool first = c.draw.maybe();
  int x = both || first ? c.input(type, a, of_a, limits) : c.constant(type, a, of_a, limits);
  int y = both || !first ? c.input(type, b, of_b, limits) : c.constant(type, b, of_b, limits);
  Activation activation = c.draw.among({Activation::none, Activation::relu, Activation::relu6, Activation::relu_n1_to_1});
  c.n.output((c.n.*op)(x, y, out, activation));
}

void rectifier(CaseMaker& c, Type type, bool six) {
  Quantization q = c.quantization(type), out = is_quantized(type) ? around(c, type, q.scales[0]) : q;
  int x = c.input(type, c.shape_of_any_rank(), q);
  c.n.output(six ? c.n.relu6(x, out) : c.n.relu(x, out));
}

void leaky_relu(CaseMaker& c, Type type) {
  Quantization q = c.quantization(type), out = is_quantized(type) ? around(c, type, q.scales[0]) : q;
  float alpha = c.draw.among({0.5f, 0.3f, 0.01f, 0.0f, 1.0f, 1.7f, -0.5f});
  c.n.output(c.n.leaky_relu(c.input(type, c.shape_of_any_rank(), q), alpha, out));
}

// Inputs of functions that saturate: most scales such that the type spans a few units.
Quantization of_curve(CaseMaker& c, Type type) {
  if (!is_quantized(type)) return {};
  double span = std::exp2(c.draw.range(0, 40) / 4.0 - 3);
  if (type == Type::int16 && c.draw.maybe()) return graph::per_tensor(static_cast<float>(std::exp2(-c.draw.range(9, 15))));
  return c.scaled(type, static_cast<float>(span / (type == Type::int16 ? 32768 : 128)));
}

using Curve = int (NetworkBuilder::*)(int);
void curve(CaseMaker& c, Type type, Curve op) { c.n.output((c.n.*op)(c.input(type, c.shape_of_any_rank(4, 12), of_curve(c, type)))); }

void softmax(CaseMaker& c, Type type, bool wide) {
  float beta = c.draw.among({1.0f, 0.5f, 2.0f, 0.1f});
  int x = c.input(type, c.shape_of_any_rank(4, 12), of_curve(c, type)), y = c.n.softmax(x, beta);
  if (wide) c.n.tensor(y).type = Type::int16, c.n.tensor(y).quantization = graph::per_tensor(1 / 65536.f, -32768);
  c.n.output(y);
}

void quantize(CaseMaker& c, Type from, Type to) {
  Quantization q = from == Type::int32 ? graph::per_tensor(c.scale()) : c.quantization(from), out;
  float factor = static_cast<float>(std::exp2(c.draw.range(-24, 24) / 4.0));
  out = c.scaled(to, from == Type::float32 ? c.scale() : q.scales[0] * factor);
  double span = out.scales[0] * (to == Type::int16 ? 40000.0 : 200.0);
  Limits limits;
  if (from == Type::float32) limits = {-span, span};
  if (from == Type::int32) limits = c.draw.maybe() ? Limits{} : Limits{-span / q.scales[0], span / q.scales[0]};
  if (from == Type::int32 && limits.high > 2147483647.0) limits = {};
  c.n.output(c.n.quantize(c.input(from, c.shape_of_any_rank(), q, limits), to, out));
}

}  // namespace

void add_elementwise(Families& families) {
  auto add = [&](const std::string& name, const std::vector<Type>& types, const std::function<void(CaseMaker&, Type)>& make) {
    for (Type type : types) families.push_back({name + "." + type_name(type), [=](CaseMaker& c) { make(c, type); }});
  };
  std::vector<Type> numbers = activations;
  numbers.push_back(Type::int32);
  add("add", numbers, [](CaseMaker& c, Type type) { binary(c, type, &NetworkBuilder::add, false); });
  add("sub", numbers, [](CaseMaker& c, Type type) { binary(c, type, &NetworkBuilder::sub, false); });
  add("mul", numbers, [](CaseMaker& c, Type type) { binary(c, type, &NetworkBuilder::mul, true); });
  add("relu", activations, [](CaseMaker& c, Type type) { rectifier(c, type, false); });
  add("relu6", activations, [](CaseMaker& c, Type type) { rectifier(c, type, true); });
  add("leaky_relu", activations, leaky_relu);
  add("logistic", activations, [](CaseMaker& c, Type type) { curve(c, type, &NetworkBuilder::logistic); });
  add("tanh", activations, [](CaseMaker& c, Type type) { curve(c, type, &NetworkBuilder::tanh); });
  add("softmax", activations, [](CaseMaker& c, Type type) { softmax(c, type, false); });
  add("softmax_wide", {Type::int8}, [](CaseMaker& c, Type type) { softmax(c, type, true); });
  constexpr Type conversions[][2] = {
      {Type::float32, Type::int8}, {Type::float32, Type::uint8}, {Type::float32, Type::int16}, {Type::int8, Type::int8},
      {Type::int8, Type::uint8}, {Type::int8, Type::int16}, {Type::int8, Type::int32}, {Type::uint8, Type::int8},
      {Type::int16, Type::int8}, {Type::int16, Type::int16}, {Type::int16, Type::int32}, {Type::int32, Type::int8},
      {Type::int32, Type::int16}};
  for (const Type(&types)[2] : conversions) {
    Type from = types[0], to = types[1];
    families.push_back({std::string("quantize.") + type_name(from) + "_" + type_name(to), [=](CaseMaker& c) { quantize(c, from, to); }});
  }
  add("dequantize", {Type::int8, Type::uint8, Type::int16}, [](CaseMaker& c, Type type) {
    Quantization q = c.quantization(type);
    c.n.output(c.n.dequantize(c.input(type, c.shape_of_any_rank(), q)));
  });
}

}  // namespace linnet::differential
