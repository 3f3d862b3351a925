#include "tests/fuzz/networks.h"

#include <functional>

#include "linnet/graph/network_builder.h"

namespace linnet::fuzz {
namespace {

using namespace graph;

class Collection {
 public:
  std::vector<SmallNetwork> networks;

  void add(const std::string& name, const std::function<void(NetworkBuilder&)>& make) {
    NetworkBuilder n(networks.size() + 1);
    make(n);
    for (size_t s = 0; s < n.network.subgraphs.size(); ++s) n.network.subgraphs[s].name.clear();
    n.network.description.clear();
    for (SubgraphSpec& graph : n.network.subgraphs)  // small files are mutated where it matters
      for (TensorSpec& tensor : graph.tensors) tensor.name = " ";
    networks.push_back({name, n.write()});
  }

  // One operator on one input in each type given.
  void add(const std::string& name, const std::vector<Type>& types, std::vector<int32_t> shape,
           const std::function<int(NetworkBuilder&, int)>& op) {
    for (Type type : types)
      add(name + "_" + type_name(type), [&](NetworkBuilder& n) { n.output(op(n, n.input(type, shape, scale_of(type)))); });
  }

  static Quantization scale_of(Type type) {
    switch (type) {
      case Type::int8: return per_tensor(0.1f, 3);
      case Type::uint8: return per_tensor(0.1f, 120);
      case Type::int16: return per_tensor(0.001f);
      default: return {};
    }
  }
};

const std::vector<Type> activations = {Type::float32, Type::int8, Type::int16};
const std::vector<Type> numbers = {Type::float32, Type::int8, Type::int16, Type::int32};
const std::vector<Type> padded = {Type::float32, Type::int8, Type::int16, Type::int32, Type::uint8};
const std::vector<Type> widths = {Type::int8, Type::int16, Type::float32, Type::int64};
const std::vector<int32_t> image = {1, 4, 3, 2};

void add_sums(Collection& all) {
  for (bool narrow : {false, true}) {
    std::vector<Type> types = narrow ? std::vector<Type>{Type::int16} : activations;
    Type bias = narrow ? Type::int32 : Type::none;
    std::string suffix = narrow ? "_narrow" : "";
    all.add("conv_2d" + suffix, types, image, [=](auto& n, int x) { return n.conv_2d(x, {.channels = 3, .kernel = {3, 2}, .stride = {2, 1}, .activation = Activation::relu6, .bias_type = bias}); });
    all.add("fully_connected" + suffix, types, {2, 5}, [=](auto& n, int x) { return n.fully_connected(x, {.channels = 3, .bias_type = bias}); });
    all.add("transpose_conv" + suffix, types, {1, 2, 3, 2}, [=](auto& n, int x) { return n.transpose_conv(x, {.channels = 2, .kernel = {3, 4}, .stride = {2, 3}, .bias_type = bias}); });
  }
  all.add("depthwise_conv_2d", activations, image, [](auto& n, int x) { return n.depthwise_conv_2d(x, {.channels = 4, .kernel = {3, 3}, .dilation = {1, 2}}); });
  all.add("grouped_conv_2d", activations, {1, 3, 3, 4}, [](auto& n, int x) {
    Type weights = n.tensor(x).type == Type::float32 ? Type::float32 : Type::int8;
    int filter = n.random_constant(weights, {4, 2, 2, 2}, weights == Type::int8 ? per_tensor(0.02f) : Quantization());
    return n.conv_2d(x, {.channels = 4, .padding = Padding::valid, .filter = filter, .bias = absent});
  });
  all.add("fully_connected_keep", {Type::int8}, {2, 2, 4}, [](auto& n, int x) { return n.fully_connected(x, {.channels = 3, .per_channel = false, .bias = absent, .keep_dims = true}); });
  for (bool per_channel : {false, true})
    all.add(per_channel ? "hybrid_channels" : "hybrid", [=](NetworkBuilder& n) {
      int x = n.input(Type::float32, image);
      n.output(n.conv_2d(x, {.channels = 2, .kernel = {2, 2}, .weights = Type::int8, .per_channel = per_channel}));
      n.output(n.depthwise_conv_2d(x, {.channels = 2, .kernel = {2, 2}, .weights = Type::int8, .per_channel = true}));
      n.output(n.fully_connected(n.reshape(x, {2, 12}), {.channels = 2, .weights = Type::int8, .per_channel = per_channel}));
    });
}

void add_elementwise(Collection& all) {
  all.add("add", numbers, image, [](auto& n, int x) { return n.add(x, x, {}, n.tensor(x).type == Type::int32 ? Activation::none : Activation::relu); });
  all.add("sub", numbers, image, [](auto& n, int x) { return n.sub(x, n.random_constant(n.tensor(x).type, {2}, n.tensor(x).quantization)); });
  all.add("mul", numbers, image, [](auto& n, int x) { return n.mul(n.random_constant(n.tensor(x).type, {3, 1}, n.tensor(x).quantization), x); });
  all.add("broadcast", numbers, {3, 1}, [](auto& n, int x) { return n.mul(n.add(n.input(n.tensor(x).type, {2, 1, 4}, n.tensor(x).quantization), x), x); });
  all.add("relu", activations, {5}, [](auto& n, int x) { return n.relu(x); });
  all.add("relu6", activations, {5}, [](auto& n, int x) { return n.relu6(x); });
  all.add("leaky_relu", activations, {5}, [](auto& n, int x) { return n.leaky_relu(x, 0.3f); });
  all.add("logistic", activations, {2, 5}, [](auto& n, int x) { return n.logistic(x); });
  all.add("tanh", activations, {2, 5}, [](auto& n, int x) { return n.tanh(x); });
  all.add("softmax", activations, {2, 5}, [](auto& n, int x) { return n.softmax(x); });
  all.add("softmax_wide", {Type::int8}, {2, 5}, [](auto& n, int x) {
    int y = n.softmax(x);
    n.tensor(y).type = Type::int16;
    n.tensor(y).quantization = per_tensor(1 / 65536.f, -32768);
    return y;
  });
  all.add("average_pool_2d", activations, image, [](auto& n, int x) { return n.average_pool_2d(x, {.kernel = {3, 2}, .padding = Padding::same, .activation = Activation::relu}); });
  all.add("max_pool_2d", activations, image, [](auto& n, int x) { return n.max_pool_2d(x, {.kernel = {2, 3}}); });
  all.add("mean", activations, image, [](auto& n, int x) { return n.mean(x, {1, 2}); });
  all.add("mean_channels", activations, {2, 3, 4}, [](auto& n, int x) { return n.mean(x, {-1, 0}, false); });
}

void add_shapes(Collection& all) {
  all.add("pad", padded, image, [](auto& n, int x) { return n.pad(x, {{0, 0}, {1, 2}, {0, 1}, {0, 0}}); });
  all.add("pad_v2", padded, image, [](auto& n, int x) {
    int y = n.pad(x, {{0, 1}, {1, 0}, {0, 0}, {1, 1}});
    int value = n.random_constant(n.tensor(x).type, {1}, n.tensor(x).quantization, 100);
    n.last_operator().code = 60;  // PADV2
    n.last_operator().inputs.push_back(value);
    return y;
  });
  all.add("concatenation", widths, {2, 3}, [](auto& n, int x) { return n.concatenation({x, n.transpose(n.transpose(x, {1, 0}), {1, 0}), x}, -1); });
  all.add("strided_slice", widths, {3, 4, 5}, [](auto& n, int x) { return n.strided_slice(x, {.begin = {0, 1, -1}, .end = {0, -1, 0}, .strides = {1, 2, -2}, .end_mask = 1}); });
  all.add("transpose", widths, {2, 3, 1, 2, 2}, [](auto& n, int x) { return n.transpose(x, {4, 1, 3, 0, 2}); });
  all.add("reshape", widths, {2, 3}, [](auto& n, int x) { return n.reshape(x, {3, -1}); });
}

void add_types(Collection& all) {
  constexpr Type quantizations[][2] = {
      {Type::float32, Type::int8}, {Type::float32, Type::uint8}, {Type::float32, Type::int16}, {Type::int8, Type::int8},
      {Type::int8, Type::uint8}, {Type::int8, Type::int16}, {Type::int8, Type::int32}, {Type::uint8, Type::int8},
      {Type::int16, Type::int8}, {Type::int16, Type::int16}, {Type::int16, Type::int32}, {Type::int32, Type::int8},
      {Type::int32, Type::int16}};
  auto scale = [](Type type) { return type == Type::int32 ? per_tensor(0.002f) : Collection::scale_of(type); };
  for (const Type(&types)[2] : quantizations) {
    Type from = types[0], to = types[1];
    all.add(std::string("quantize_") + type_name(from) + "_" + type_name(to),
            [=](NetworkBuilder& n) { n.output(n.quantize(n.input(from, {5}, scale(from)), to, scale(to))); });
  }
  all.add("dequantize", {Type::int8, Type::uint8, Type::int16}, {5}, [](auto& n, int x) { return n.dequantize(x); });
}

void add_state(Collection& all) {
  all.add("lstm", activations, {1, 2, 3}, [](auto& n, int x) { return n.unidirectional_sequence_lstm(x, {.units = 2, .cell_clip = 3}); });
  all.add("lstm_time_major", activations, {2, 2, 2}, [](auto& n, int x) { return n.unidirectional_sequence_lstm(x, {.units = 2, .time_major = true}); });
  all.add("svdf", {Type::float32, Type::int8}, {2, 3}, [](auto& n, int x) { return n.svdf(x, {.units = 2, .rank = 2, .memory = 3}); });
  all.add("svdf_narrow", {Type::int8}, {1, 3}, [](auto& n, int x) { return n.svdf(x, {.units = 2, .memory = 3, .activation = Activation::relu, .time_weights = Type::int8}); });
}

void add_residual(Collection& all) {
  all.add("residual", activations, {1, 5, 4, 2}, [](auto& n, int x) {
    int a = n.conv_2d(x, {.channels = 3, .kernel = {3, 3}, .activation = Activation::relu6});
    int b = n.depthwise_conv_2d(a, {.channels = 3, .kernel = {3, 3}});
    int d = n.average_pool_2d(n.add(a, b), {.kernel = {2, 2}, .stride = {2, 2}});
    return n.softmax(n.fully_connected(n.reshape(d, {1, 12}), {.channels = 3}));
  });
}

void add_branches(Collection& all) {
  all.add("branches", [](NetworkBuilder& n) {
    int x = n.input(Type::int8, {1, 4, 4, 2}, per_tensor(0.1f, 3));
    int y = n.input(Type::int8, {1, 4, 4, 2}, per_tensor(0.1f, 3));
    int a = n.max_pool_2d(n.pad(x, {{0, 0}, {1, 1}, {1, 1}, {0, 0}}), {});
    int b = n.strided_slice(n.transpose(y, {0, 2, 1, 3}), {.begin = {0, 0, 0, 0}, .end = {1, 3, 3, 2}, .strides = {1, 1, 1, 1}});
    n.output(n.concatenation({a, b}, 3));
    n.output(n.mean(n.mul(n.sub(x, y), x), {1, 2}));
    n.output(n.leaky_relu(n.logistic(n.tanh(n.relu6(n.relu(y)))), 0.1f));
  });
  all.add("ports", [](NetworkBuilder& n) {  // an input that is an output, an unused one, one twice, a constant output
    int x = n.input(Type::float32, {4}), unused = n.input(Type::int8, {3});
    (void)unused;
    n.output(x);
    n.output(n.reshape(x, {2, 2}));
    n.output(n.relu(x));
    n.output(n.subgraph().outputs.back());
    n.output(n.random_constant(Type::float32, {2}));
  });
  all.add("scalar", [](NetworkBuilder& n) {
    int one = n.add({.type = Type::int8, .quantization = per_tensor(1), .data = {7}, .omit_shape = true});
    n.output(n.add(n.input(Type::int8, {1, 3, 3, 1}, per_tensor(0.1f, 5)), n.add(one, one)));
  });
}

void add_calls(Collection& all) {
  all.add("if", [](NetworkBuilder& n) {
    int condition = n.input(Type::boolean, {1});
    int x = n.input(Type::float32, {4});
    int then = n.add_subgraph("then");
    n.output(n.relu(n.input(Type::float32, {4})));
    int otherwise = n.add_subgraph("else");
    n.output(n.input(Type::float32, {4}));
    n.select_subgraph(0);
    n.output(n.add(n.if_(condition, {x}, then, otherwise, {{.shape = {4}}}), x));
  });
  all.add("if_within_if", [](NetworkBuilder& n) {
    int outer = n.input(Type::boolean, {1}), inner = n.input(Type::boolean, {1});
    int x = n.input(Type::int8, {3}, per_tensor(0.1f));
    auto branch = [&](const auto& body) {
      int graph = n.add_subgraph();
      int condition = n.input(Type::boolean, {1});
      body(condition, n.input(Type::int8, {3}, per_tensor(0.1f)));
      return graph;
    };
    TensorSpec out{.type = Type::int8, .shape = {3}, .quantization = per_tensor(0.1f)};
    int deep = branch([&](int, int y) { n.output(n.relu6(n.relu(y))); });
    int shallow = branch([&](int, int y) { n.output(n.random_constant(Type::int8, {3}, n.tensor(y).quantization)); });
    int middle = branch([&](int condition, int y) { n.output(n.if_(condition, {condition, y}, deep, shallow, {out})); });
    n.select_subgraph(0);
    n.output(n.if_(outer, {inner, x}, middle, shallow, {out}));
  });
}

}  // namespace

std::vector<SmallNetwork> small_networks() {
  Collection all;
  add_sums(all);
  add_elementwise(all);
  add_shapes(all);
  add_types(all);
  add_state(all);
  add_residual(all);
  add_branches(all);
  add_calls(all);
  return std::move(all.networks);
}

}  // namespace linnet::fuzz
