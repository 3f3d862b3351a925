// Writes the seeds of reader_fuzz into the folder given: small files that between them use all that the reader knows.
//     reader_corpus tests/fuzz/corpus/reader
#include <fstream>
#include <iostream>

#include "linnet/graph/network_builder.h"

namespace {

using namespace linnet;
using namespace linnet::graph;

std::string folder;

void save(const std::string& name, const NetworkBuilder& network) {
  std::vector<uint8_t> file = network.write();
  std::ofstream(folder + "/" + name + ".tflite", std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
}

void convolutions(Type type, const std::string& name) {
  NetworkBuilder n;
  Quantization q = type == Type::float32 ? Quantization() : per_tensor(0.1f);
  int x = n.input(type, {1, 4, 4, 2}, q);
  int y = n.depthwise_conv_2d(n.conv_2d(x, {.channels = 2, .kernel = {2, 2}}), {.channels = 2, .kernel = {2, 2}});
  n.output(n.softmax(n.fully_connected(n.reshape(n.max_pool_2d(y, {}), {1, -1}), {.channels = 2})));
  n.network.signatures.push_back({.key = "serve", .inputs = {{"x", x}}, .outputs = {{"y", 0}}});
  n.network.metadata.push_back({"linnet.plan", {1, 2, 3, 4}});
  save(name, n);
}

void shapes() {
  NetworkBuilder n;
  int x = n.input(Type::int8, {1, 3, 3, 1}, per_tensor(0.1f, 5));
  int y = n.pad(x, {{0, 0}, {1, 0}, {0, 1}, {0, 0}});
  y = n.strided_slice(n.transpose(y, {0, 2, 1, 3}), {.begin = {0, 0}, .end = {1, 2}, .strides = {1, 1}});
  n.output(n.mean(n.concatenation({y, y}, 3), {1, 2}));
  n.output(n.add(x, n.add({.type = Type::int8, .quantization = per_tensor(1), .data = {7}, .omit_shape = true})));
  save("shapes", n);
}

void state(Type type, const std::string& name) {
  NetworkBuilder n;
  Quantization q = type == Type::float32 ? Quantization() : per_tensor(0.1f);
  n.output(n.unidirectional_sequence_lstm(n.input(type, {1, 2, 2}, q), {.units = 2}));
  n.output(n.svdf(n.input(type, {1, 3}, q), {.units = 2, .memory = 2}));
  save(name, n);
}

void branches() {
  NetworkBuilder n;
  int condition = n.input(Type::boolean, {1});
  int x = n.input(Type::float32, {2});
  int then = n.add_subgraph("then");
  n.output(n.relu(n.input(Type::float32, {2})));
  int otherwise = n.add_subgraph("else");
  n.output(n.input(Type::float32, {2}));
  n.select_subgraph(0);
  n.output(n.if_(condition, {x}, then, otherwise, {{.shape = {2}}}));
  save("branches", n);
}

void behind() {
  NetworkBuilder n;
  n.network.external_data = true;
  n.network.inline_offset = 1;
  int x = n.input(Type::float32, {1, 4});
  n.output(n.custom("Mine", {n.fully_connected(x, {.channels = 2, .weights = Type::int8})}, {.shape = {1, 2}}, {1, 2, 3}));
  n.tensor(x).shape_signature = {-1, 4};
  save("behind", n);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: reader_corpus FOLDER\n";
    return 2;
  }
  folder = argv[1];
  convolutions(Type::float32, "convolutions_float32");
  convolutions(Type::int8, "convolutions_int8");
  convolutions(Type::int16, "convolutions_int16");
  shapes();
  state(Type::float32, "state_float32");
  state(Type::int8, "state_int8");
  branches();
  behind();
}
