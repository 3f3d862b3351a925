#include "tests/support/operator_networks.h"

#include <functional>

#include "linnet/graph/network_builder.h"

namespace linnet::test {
namespace {

using graph::NetworkBuilder;
using graph::Padding;
using graph::per_tensor;

struct Operator {
  const char* name;
  std::function<int(NetworkBuilder&, int x)> add;
  std::vector<int32_t> shape = {6, 5, 4};  // of one batch
  bool int16 = true;
  bool has_state = false;
};

const Operator operators[] = {
    {"conv_2d", [](auto& n, int x) { return n.conv_2d(x, {.channels = 5, .kernel = {3, 2}, .stride = {2, 1}}); }},
    {"depthwise_conv_2d", [](auto& n, int x) { return n.depthwise_conv_2d(x, {.channels = 8, .kernel = {3, 3}}); }},
    {"transpose_conv", [](auto& n, int x) { return n.transpose_conv(x, {.channels = 3, .kernel = {3, 4}, .stride = {2, 3}}); }},
    {"fully_connected", [](auto& n, int x) { return n.fully_connected(x, {.channels = 7}); }, {9}},
    {"average_pool_2d", [](auto& n, int x) { return n.average_pool_2d(x, {.kernel = {3, 2}, .padding = Padding::same}); }},
    {"max_pool_2d", [](auto& n, int x) { return n.max_pool_2d(x, {.kernel = {2, 3}}); }},
    {"softmax", [](auto& n, int x) { return n.softmax(x); }},
    {"mean", [](auto& n, int x) { return n.mean(x, {1, 2}); }},
    {"add", [](auto& n, int x) { return n.add(x, n.relu(x)); }},
    {"sub", [](auto& n, int x) { return n.sub(x, n.random_constant(n.tensor(x).type, {4}, n.tensor(x).quantization)); }},
    {"mul", [](auto& n, int x) { return n.mul(n.random_constant(n.tensor(x).type, {5, 1}, n.tensor(x).quantization), x); }},
    {"relu", [](auto& n, int x) { return n.relu(x); }},
    {"relu6", [](auto& n, int x) { return n.relu6(x); }},
    {"leaky_relu", [](auto& n, int x) { return n.leaky_relu(x, 0.3f); }},
    {"logistic", [](auto& n, int x) { return n.logistic(x); }},
    {"tanh", [](auto& n, int x) { return n.tanh(x); }},
    {"pad", [](auto& n, int x) { return n.pad(x, {{0, 0}, {1, 2}, {0, 1}, {0, 0}}); }},
    {"concatenation", [](auto& n, int x) { return n.concatenation({x, x, n.relu(x)}, -1); }},
    {"reshape", [](auto& n, int x) { return n.relu(n.reshape(x, {n.tensor(x).shape[0], -1})); }},
    {"transpose", [](auto& n, int x) { return n.transpose(x, {0, 3, 1, 2}); }},
    {"strided_slice",
     [](auto& n, int x) {
       return n.strided_slice(x, {.begin = {0, 1, -1}, .end = {0, -1, 0}, .strides = {1, 2, -2}, .end_mask = 1});
     }},
    {"svdf", [](auto& n, int x) { return n.svdf(x, {.units = 3, .rank = 2, .memory = 5}); }, {6}, false, true},
    {"unidirectional_sequence_lstm", [](auto& n, int x) { return n.unidirectional_sequence_lstm(x, {.units = 6}); }, {4, 5}, true, true},
};

OperatorNetwork network_of(const Operator& op, Type type, int32_t batch) {
  NetworkBuilder n(3);
  std::vector<int32_t> shape = op.shape;
  shape.insert(shape.begin(), batch);
  int x = n.input(type, shape, type == Type::float32 ? graph::Quantization{} : type == Type::int8 ? per_tensor(0.05f, 3) : per_tensor(0.0003f));
  n.output(op.add(n, x));
  std::vector<uint8_t> file = n.write();
  return {std::string(op.name) + "." + type_name(type), std::move(file), n.random_input(x), op.has_state};
}

}  // namespace

std::vector<OperatorNetwork> operator_networks(Type type, int32_t batch) {
  std::vector<OperatorNetwork> networks;
  for (const Operator& op : operators)
    if (type != Type::int16 || op.int16) networks.push_back(network_of(op, type, batch));
  return networks;
}

}  // namespace linnet::test
