#include "linnet/graph/network_builder.h"

#include <gtest/gtest.h>

#include <functional>

#include "linnet/model/model.h"

namespace linnet::graph {
namespace {

using File = std::vector<uint8_t>;

::testing::AssertionResult opens(const File& file) {
  Model model;
  Where where;
  Status status = Model::open({file.data(), file.size()}, model, where);
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status.text() << ", subgraph " << where.subgraph << ", node " << where.node
                                       << ", tensor " << where.tensor;
}

Quantization quantization_of(Type type) {
  if (type == Type::float32) return {};
  return type == Type::int8 ? per_tensor(0.02f, 3) : per_tensor(0.0003f);
}

struct Case {
  const char* name;
  std::function<int(NetworkBuilder&, int)> add;
  std::vector<int32_t> input = {2, 6, 5, 4};
  std::vector<int32_t> output = {2, 6, 5, 4};
};

const Case cases[] = {
    {"conv_2d", [](auto& n, int x) { return n.conv_2d(x, {.channels = 5, .kernel = {3, 3}, .stride = {2, 1}}); },
     {2, 6, 5, 4}, {2, 3, 5, 5}},
    {"conv_2d valid, dilated",
     [](auto& n, int x) {
       return n.conv_2d(x, {.channels = 5, .kernel = {3, 2}, .dilation = {2, 1}, .padding = Padding::valid});
     },
     {2, 6, 5, 4}, {2, 2, 4, 5}},
    {"depthwise_conv_2d", [](auto& n, int x) { return n.depthwise_conv_2d(x, {.channels = 8, .kernel = {3, 3}}); },
     {2, 6, 5, 4}, {2, 6, 5, 8}},
    {"fully_connected", [](auto& n, int x) { return n.fully_connected(x, {.channels = 7}); }, {2, 6, 5, 4}, {2, 7}},
    {"fully_connected, no bias",
     [](auto& n, int x) { return n.fully_connected(x, {.channels = 7, .bias = absent, .keep_dims = true}); },
     {2, 6, 5, 4}, {2, 6, 5, 7}},
    {"transpose_conv", [](auto& n, int x) { return n.transpose_conv(x, {.channels = 3, .kernel = {3, 4}, .stride = {2, 3}}); },
     {2, 6, 5, 4}, {2, 12, 15, 3}},
    {"transpose_conv valid",
     [](auto& n, int x) {
       return n.transpose_conv(x, {.channels = 3, .kernel = {3, 4}, .stride = {2, 3}, .padding = Padding::valid});
     },
     {2, 6, 5, 4}, {2, 13, 16, 3}},
    {"average_pool_2d", [](auto& n, int x) { return n.average_pool_2d(x, {}); }, {2, 6, 5, 4}, {2, 3, 2, 4}},
    {"max_pool_2d", [](auto& n, int x) { return n.max_pool_2d(x, {.padding = Padding::same}); }, {2, 6, 5, 4}, {2, 3, 3, 4}},
    {"add", [](auto& n, int x) { return n.add(x, x); }},
    {"sub", [](auto& n, int x) { return n.sub(x, n.random_constant(n.tensor(x).type, {5, 1}, n.tensor(x).quantization)); }},
    {"mul", [](auto& n, int x) { return n.mul(x, n.random_constant(n.tensor(x).type, {4}, n.tensor(x).quantization)); }},
    {"relu", [](auto& n, int x) { return n.relu(x); }},
    {"relu6", [](auto& n, int x) { return n.relu6(x); }},
    {"leaky_relu", [](auto& n, int x) { return n.leaky_relu(x, 0.3f); }},
    {"logistic", [](auto& n, int x) { return n.logistic(x); }},
    {"tanh", [](auto& n, int x) { return n.tanh(x); }},
    {"softmax", [](auto& n, int x) { return n.softmax(x); }},
    {"mean", [](auto& n, int x) { return n.mean(x, {1, 2}); }, {2, 6, 5, 4}, {2, 1, 1, 4}},
    {"mean, fewer dims", [](auto& n, int x) { return n.mean(x, {-1}, false); }, {2, 6, 5, 4}, {2, 6, 5}},
    {"pad", [](auto& n, int x) { return n.pad(x, {{0, 0}, {1, 2}, {0, 1}, {0, 0}}); }, {2, 6, 5, 4}, {2, 9, 6, 4}},
    {"concatenation", [](auto& n, int x) { return n.concatenation({x, x, x}, -1); }, {2, 6, 5, 4}, {2, 6, 5, 12}},
    {"reshape", [](auto& n, int x) { return n.reshape(x, {8, -1}); }, {2, 6, 5, 4}, {8, 30}},
    {"transpose", [](auto& n, int x) { return n.transpose(x, {0, 3, 1, 2}); }, {2, 6, 5, 4}, {2, 4, 6, 5}},
    {"strided_slice",
     [](auto& n, int x) {
       return n.strided_slice(x, {.begin = {0, 1, -1, 0}, .end = {0, -1, 0, 4}, .strides = {1, 2, -2, 1}, .end_mask = 1});
     },
     {2, 6, 5, 4}, {2, 2, 2, 4}},
    {"strided_slice, fewer dims",
     [](auto& n, int x) {
       return n.strided_slice(x, {.begin = {1, 1}, .end = {2, 4}, .strides = {1, 1}, .shrink_axis_mask = 1});
     },
     {2, 6, 5, 4}, {3, 5, 4}},
    {"dequantize", [](auto& n, int x) { return n.dequantize(x); }},
    {"quantize", [](auto& n, int x) { return n.quantize(x, Type::int8, per_tensor(0.1f)); }},
    {"svdf", [](auto& n, int x) { return n.svdf(x, {.units = 3, .rank = 2, .memory = 5}); }, {2, 6}, {2, 3}},
    {"unidirectional_sequence_lstm",
     [](auto& n, int x) { return n.unidirectional_sequence_lstm(x, {.units = 6}); }, {2, 4, 5}, {2, 4, 6}},
    {"custom", [](auto& n, int x) { return n.custom("Mine", {x}, n.tensor(x)); }},
};

TEST(NetworkBuilder, EveryOperatorIsAFileThatOpens) {
  for (Type type : {Type::float32, Type::int8, Type::int16}) {
    for (const Case& c : cases) {
      NetworkBuilder n;
      int x = n.input(type, c.input, quantization_of(type));
      int y = c.add(n, x);
      n.output(y);
      EXPECT_EQ(n.tensor(y).shape, c.output) << c.name;
      EXPECT_TRUE(opens(n.write())) << c.name << " " << type_name(type);
    }
  }
}

TEST(NetworkBuilder, HybridMeansFloatActivationsAndInt8Weights) {
  NetworkBuilder n;
  int y = n.conv_2d(n.input(Type::float32, {1, 4, 4, 2}), {.channels = 3, .kernel = {3, 3}, .weights = Type::int8});
  n.output(n.fully_connected(y, {.channels = 2, .weights = Type::int8, .per_channel = false}));
  ASSERT_TRUE(opens(n.write()));
  const OperatorSpec& conv = n.subgraph().operators[0];
  EXPECT_EQ(n.tensor(conv.inputs[1]).type, Type::int8);
  EXPECT_EQ(n.tensor(conv.inputs[1]).quantization.scales.size(), 3u);
  EXPECT_EQ(n.tensor(conv.inputs[2]).type, Type::float32);
  EXPECT_EQ(n.tensor(y).type, Type::float32);
  EXPECT_TRUE(n.tensor(y).quantization.scales.empty());
}

TEST(NetworkBuilder, BranchesAreSubgraphs) {
  NetworkBuilder n;
  int condition = n.input(Type::boolean, {1});
  int x = n.input(Type::int8, {3}, per_tensor(1));
  int twice = n.add_subgraph("then");
  int a = n.input(Type::int8, {3}, per_tensor(1));
  n.output(n.add(a, a, per_tensor(1)));
  int same = n.add_subgraph("else");
  n.output(n.input(Type::int8, {3}, per_tensor(1)));
  n.select_subgraph(0);
  n.output(n.if_(condition, {x}, twice, same, {{.type = Type::int8, .shape = {3}, .quantization = per_tensor(1)}}));
  File file = n.write();
  Model model;
  Where where;
  ASSERT_TRUE(Model::open({file.data(), file.size()}, model, where).ok());
  ASSERT_EQ(model.subgraph_count(), 3u);
  Table options = model.subgraph(0).op(0).options();
  EXPECT_EQ(options.get<int32_t>(0, -1), twice);
  EXPECT_EQ(options.get<int32_t>(1, -1), same);
}

TEST(NetworkBuilder, TheSeedDecidesEverything) {
  auto make = [](uint64_t seed) {
    NetworkBuilder n(seed);
    n.output(n.fully_connected(n.input(Type::int8, {1, 8}, per_tensor(1)), {.channels = 4}));
    return n.write();
  };
  EXPECT_EQ(make(1), make(1));
  EXPECT_NE(make(1), make(2));
}

TEST(NetworkBuilder, RandomNumbersAreTheSameOnEveryMachine) {
  NetworkBuilder n(42);
  EXPECT_EQ(n.random_bytes(4), (File{38, 51, 87, 255}));
  int t = n.random_constant(Type::int8, {1000});
  int8_t lowest = 127, highest = -128;
  for (uint8_t b : n.tensor(t).data) {
    lowest = std::min(lowest, static_cast<int8_t>(b));
    highest = std::max(highest, static_cast<int8_t>(b));
  }
  EXPECT_GE(lowest, -127);
  EXPECT_LT(lowest, -115);
  EXPECT_GT(highest, 115);
}

TEST(NetworkBuilder, TheLastByteOfAFileMeansSomething) {
  for (const char* description : {"", "a", "ab", "abc", "abcd"}) {
    NetworkBuilder n;
    n.network.description = description;
    n.output(n.input(Type::float32, {1}));
    File file = n.write();
    EXPECT_TRUE(opens(file));
    EXPECT_EQ(file.size() % 4, 0u);
    file.pop_back();
    EXPECT_FALSE(opens(File(file)));
  }
}

TEST(NetworkBuilder, DataBehindTheFlatbufferIsAligned) {
  NetworkBuilder n;
  n.network.external_data = true;
  n.output(n.fully_connected(n.input(Type::int8, {1, 3}, per_tensor(1)), {.channels = 3}));
  File file = n.write();
  ASSERT_TRUE(opens(file));
  for (int i : {1, 2}) {
    size_t at = find_field(file, {{schema::Model::buffers, i}}, schema::Buffer::offset);
    auto offset = load_unaligned<uint64_t>(&file[at]);
    EXPECT_EQ(offset % 16, 0u);
    EXPECT_EQ(File(file.begin() + static_cast<std::ptrdiff_t>(offset),
                   file.begin() + static_cast<std::ptrdiff_t>(offset + n.tensor(i).data.size())),
              n.tensor(i).data);
  }
}

TEST(NetworkBuilder, FindFieldSaysWhatIsAbsent) {
  NetworkBuilder n;
  n.output(n.input(Type::float32, {1}));
  File file = n.write();
  EXPECT_THROW(find_field(file, {}, schema::Model::metadata_buffer), std::invalid_argument);
}

}  // namespace
}  // namespace linnet::graph
