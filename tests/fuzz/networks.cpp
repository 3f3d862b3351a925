#include "tests/fuzz/networks.h"

#include "linnet/graph/network_builder.h"

namespace linnet::fuzz {
namespace {

using namespace graph;

std::vector<uint8_t> residual(Type type, const Quantization& q) {
  NetworkBuilder n(1);
  int x = n.input(type, {1, 5, 4, 2}, q);
  int a = n.conv_2d(x, {.channels = 3, .kernel = {3, 3}, .activation = Activation::relu6});
  int b = n.depthwise_conv_2d(a, {.channels = 3, .kernel = {3, 3}});
  int c = n.add(a, b);
  int d = n.average_pool_2d(c, {.kernel = {2, 2}, .stride = {2, 2}});
  n.output(n.softmax(n.fully_connected(n.reshape(d, {1, 12}), {.channels = 3})));
  return n.write();
}

std::vector<uint8_t> branches() {
  NetworkBuilder n(2);
  int x = n.input(Type::int8, {1, 4, 4, 2}, per_tensor(0.1f, 3));
  int y = n.input(Type::int8, {1, 4, 4, 2}, per_tensor(0.1f, 3));
  int a = n.max_pool_2d(n.pad(x, {{0, 0}, {1, 1}, {1, 1}, {0, 0}}), {});
  int b = n.strided_slice(n.transpose(y, {0, 2, 1, 3}), {.begin = {0, 0, 0, 0}, .end = {1, 3, 3, 2}, .strides = {1, 1, 1, 1}});
  n.output(n.concatenation({a, b}, 3));
  n.output(n.mean(n.mul(n.sub(x, y), x), {1, 2}));
  n.output(n.leaky_relu(n.logistic(n.tanh(n.relu6(n.relu(y)))), 0.1f));
  return n.write();
}

std::vector<uint8_t> state(Type type, const Quantization& q) {
  NetworkBuilder n(3);
  int x = n.input(type, {1, 2, 3}, q);
  n.output(n.unidirectional_sequence_lstm(x, {.units = 2}));
  n.output(n.svdf(n.input(type, {1, 3}, q), {.units = 2, .memory = 3}));
  return n.write();
}

std::vector<uint8_t> calls() {
  NetworkBuilder n(4);
  int condition = n.input(Type::boolean, {1});
  int x = n.input(Type::float32, {4});
  int then = n.add_subgraph("then");
  n.output(n.relu(n.input(Type::float32, {4})));
  int otherwise = n.add_subgraph("else");
  n.output(n.input(Type::float32, {4}));
  n.select_subgraph(0);
  n.output(n.add(n.if_(condition, {x}, then, otherwise, {{.shape = {4}}}), x));
  return n.write();
}

std::vector<uint8_t> types() {
  NetworkBuilder n(5);
  int x = n.input(Type::float32, {1, 3, 3, 2});
  int q = n.quantize(x, Type::int8, per_tensor(0.05f, 1));
  n.output(n.dequantize(n.transpose_conv(q, {.channels = 2, .kernel = {3, 3}, .stride = {2, 2}})));
  n.output(n.fully_connected(n.reshape(x, {1, 18}), {.channels = 2, .weights = Type::int8}));
  n.output(n.conv_2d(x, {.channels = 2, .kernel = {2, 2}, .weights = Type::int8}));
  return n.write();
}

}  // namespace

std::vector<std::vector<uint8_t>> small_networks() {
  return {residual(Type::int8, per_tensor(0.1f, 2)), residual(Type::float32, {}), residual(Type::int16, per_tensor(0.001f)),
          branches(), state(Type::float32, {}), state(Type::int8, per_tensor(0.1f)), calls(), types()};
}

}  // namespace linnet::fuzz
