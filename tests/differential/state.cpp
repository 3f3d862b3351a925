// What remembers, and what calls.
#include <cmath>

#include "tests/differential/case_maker.h"

namespace linnet::differential {
namespace {

using graph::Activation;

void svdf(CaseMaker& c, Type type, Type time_weights) {
  c.inferences = 4;
  Shape in = {c.draw.range(1, 3), c.draw.range(1, 12)};
  Quantization q = type == Type::int8 ? c.scaled(type, static_cast<float>(std::exp2(-c.draw.range(0, 32) / 4.0))) : Quantization();
  graph::SvdfSpec spec{.units = c.draw.range(1, 6), .rank = c.draw.range(1, 3), .memory = c.draw.range(1, 8)};
  spec.activation = c.draw.among({Activation::relu, Activation::none});
  spec.time_weights = time_weights;
  c.n.output(c.n.svdf(c.input(type, in, q), spec));
}

void lstm(CaseMaker& c, Type type) {
  c.inferences = 3;
  Shape in = {c.draw.range(1, 3), c.draw.range(1, 5), c.draw.range(1, 8)};
  Quantization q = is_quantized(type) ? c.scaled(type, static_cast<float>(std::exp2(-c.draw.range(0, 16) / 4.0) / (type == Type::int8 ? 16 : 4096))) : Quantization();
  graph::LstmSpec spec{.units = c.draw.range(1, 7), .time_major = c.draw.maybe(), .cell_clip = c.draw.among({0.0f, 3.0f, 0.5f})};
  c.n.output(c.n.unidirectional_sequence_lstm(c.input(type, in, q), spec));
}

void if_(CaseMaker& c, Type type) {
  Shape shape = c.shape_of_any_rank(3);
  Quantization q = c.quantization(type);
  int condition = c.input(Type::boolean, {1});
  int x = c.input(type, shape, q);
  auto body = [&](bool turned) {
    int graph = c.n.add_subgraph();
    int y = c.n.input(type, shape, q);
    std::vector<int32_t> order;
    for (size_t i = 0; i < shape.size(); ++i) order.push_back(static_cast<int32_t>(i));
    c.n.output(turned ? c.n.reshape(y, shape) : c.n.add(y, y, q));
    return graph;
  };
  int then = body(c.draw.maybe()), otherwise = body(true);
  c.n.select_subgraph(0);
  c.n.output(c.n.if_(condition, {x}, then, otherwise, {{.type = type, .shape = shape, .quantization = q}}));
}

}  // namespace

void add_state(Families& families) {
  families.push_back({"svdf.float32", [](CaseMaker& c) { svdf(c, Type::float32, Type::float32); }});
  families.push_back({"svdf.int8", [](CaseMaker& c) { svdf(c, Type::int8, Type::int16); }});
  families.push_back({"svdf_narrow.int8", [](CaseMaker& c) { svdf(c, Type::int8, Type::int8); }});
  for (Type type : {Type::float32, Type::int8, Type::int16}) {
    families.push_back({std::string("unidirectional_sequence_lstm.") + type_name(type), [=](CaseMaker& c) { lstm(c, type); }});
    families.push_back({std::string("if.") + type_name(type), [=](CaseMaker& c) { if_(c, type); }});
  }
}

}  // namespace linnet::differential
