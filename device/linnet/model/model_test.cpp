#include "linnet/model/model.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>

#include "linnet/graph/network_builder.h"
#include "tests/fuzz/walk_model.h"

namespace linnet {
namespace {

using graph::Activation;
using graph::find_field;
using graph::NetworkBuilder;
using graph::overwrite;
using graph::per_channel;
using graph::per_tensor;
using File = std::vector<uint8_t>;

struct Opened {
  Status status;
  Where where;
  Model model;
};

Opened open(const File& file) {
  Opened result;
  result.status = Model::open({file.data(), file.size()}, result.model, result.where);
  return result;
}

// Tensors: 0 input, 1 filter, 2 bias, 3 between, 4 output, 5 variable; nodes: 0 CONV_2D, 1 RELU. Subgraph 1 only passes on.
NetworkBuilder small() {
  NetworkBuilder n;
  int x = n.input(Type::int8, {1, 4, 4, 2}, per_tensor(0.5f, 3), "x");
  int y = n.conv_2d(x, {.channels = 3, .kernel = {3, 3}});
  n.output(n.relu(y));
  n.variable(Type::int8, {2}, per_tensor(1));
  n.network.signatures.push_back({.key = "serve", .inputs = {{"image", x}}, .outputs = {{"score", 4}}});
  n.network.metadata.push_back({"note", {1, 2, 3}});
  n.add_subgraph("passes");
  n.output(n.input(Type::float32, {2}));
  n.select_subgraph(0);
  return n;
}

// ---- What a good file says ----------------------------------------------------------------------------------------------

TEST(Model, SaysWhatWasWritten) {
  NetworkBuilder n = small();
  File file = n.write();
  Opened o = open(file);
  ASSERT_TRUE(o.status.ok()) << o.status.text();
  EXPECT_EQ(o.where.subgraph, -1);
  EXPECT_EQ(o.where.node, -1);
  EXPECT_EQ(o.where.tensor, -1);
  const Model& m = o.model;
  ASSERT_EQ(m.subgraph_count(), 2u);
  EXPECT_EQ(std::string(m.description()).substr(0, 14), "made by Linnet");
  Model::Subgraph g = m.subgraph(0);
  ASSERT_EQ(g.tensor_count(), 6u);
  for (uint32_t i = 0; i < 6; ++i) {
    const graph::TensorSpec& spec = n.tensor(static_cast<int>(i));
    Model::Tensor t = g.tensor(i);
    EXPECT_EQ(t.type(), spec.type);
    EXPECT_EQ(std::vector<int32_t>(t.dims().begin(), t.dims().end()), spec.shape);
    EXPECT_EQ(std::vector<float>(t.scales().begin(), t.scales().end()), spec.quantization.scales);
    EXPECT_EQ(std::vector<int64_t>(t.zero_points().begin(), t.zero_points().end()), spec.quantization.zero_points);
    EXPECT_EQ(t.quantized_dimension(), spec.quantization.dimension);
    EXPECT_EQ(t.is_variable(), spec.is_variable);
    EXPECT_EQ(t.name(), spec.name);
    EXPECT_EQ(File(t.data().begin(), t.data().end()), spec.data);
    EXPECT_EQ(t.is_constant(), !spec.data.empty());
    if (t.is_constant()) {
      EXPECT_EQ(file.data() + t.data_offset(), t.data().data());
    }
  }
  EXPECT_EQ(g.tensor(0).bytes(), 32u);
  EXPECT_EQ(g.tensor(2).bytes(), 12u);
  ASSERT_EQ(g.operator_count(), 2u);
  Model::Operator conv = g.op(0);
  EXPECT_EQ(conv.builtin_code(), 3);
  EXPECT_EQ(conv.version(), 3);
  EXPECT_EQ(conv.options_type(), 1);
  EXPECT_EQ(conv.options().get<int32_t>(4, 7), 1);  // dilation, written
  EXPECT_EQ(conv.options().get<int8_t>(6, 9), 9);   // quantized_bias_type, not written
  EXPECT_EQ(std::vector<int32_t>(conv.inputs().begin(), conv.inputs().end()), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(conv.outputs()[0], 3);
  EXPECT_FALSE(g.op(1).options().present());
  EXPECT_EQ(g.op(1).options().get<int32_t>(0, 5), 5);
  EXPECT_TRUE(g.op(1).options().vector<int32_t>(0).empty());
  ASSERT_EQ(m.signature_count(), 1u);
  EXPECT_STREQ(m.signature(0).key(), "serve");
  EXPECT_STREQ(m.signature(0).input(0).name(), "image");
  EXPECT_EQ(m.signature(0).output(0).tensor(), 4u);
  Bytes note = m.metadata("note");
  EXPECT_EQ(File(note.begin(), note.end()), (File{1, 2, 3}));
  EXPECT_TRUE(m.metadata("not").empty());
  EXPECT_TRUE(m.metadata("notes").empty());
  EXPECT_STREQ(m.subgraph(1).name(), "passes");
}

TEST(Model, KnowsCustomOperators) {
  for (bool behind : {false, true}) {
    NetworkBuilder n;
    n.network.external_data = behind;
    n.output(n.custom("Mine", {n.input(Type::float32, {2})}, {.shape = {2}}, {9, 8, 7}));
    File file = n.write();
    Opened o = open(file);
    ASSERT_TRUE(o.status.ok()) << o.status.text();
    Model::Operator op = o.model.subgraph(0).op(0);
    EXPECT_EQ(op.builtin_code(), schema::custom_operator);
    EXPECT_STREQ(op.custom_name(), "Mine");
    EXPECT_EQ(File(op.custom_options().begin(), op.custom_options().end()), (File{9, 8, 7}));
  }
}

TEST(Model, TakesTheGreaterOfTheTwoOperatorCodes) {
  auto code_of = [](int32_t code, bool older_only) {
    NetworkBuilder n;
    n.network.older_codes_only = older_only;
    int x = n.input(Type::float32, {2});
    n.output(n.op({.code = code, .inputs = {x}}, {{.shape = {2}}}));
    File file = n.write();
    Opened o = open(file);
    EXPECT_TRUE(o.status.ok()) << o.status.text();
    return o.model.subgraph(0).op(0).builtin_code();
  };
  EXPECT_EQ(code_of(19, true), 19);    // files of older converters
  EXPECT_EQ(code_of(19, false), 19);
  EXPECT_EQ(code_of(203, false), 203);  // the older field cannot hold it and says 127
}

TEST(Model, ReadsScalarsWithoutAShapeVector) {
  NetworkBuilder n;
  int x = n.input(Type::float32, {2, 1, 6});
  int scalar = n.add({.type = Type::float32, .data = {0, 0, 128, 63}, .omit_shape = true});
  n.output(n.add(x, scalar));
  n.output(n.mul(x, n.random_constant(Type::float32, {6})));  // unequal ranks are the operators' business
  File file = n.write();
  Opened o = open(file);
  ASSERT_TRUE(o.status.ok()) << o.status.text();
  Model::Tensor t = o.model.subgraph(0).tensor(static_cast<uint32_t>(scalar));
  EXPECT_EQ(t.rank(), 0u);
  EXPECT_EQ(t.elements(), 1u);
  EXPECT_EQ(t.bytes(), 4u);
  ASSERT_EQ(t.data().size(), 4u);
  EXPECT_EQ(load_unaligned<float>(t.data().data()), 1.0f);
}

TEST(Model, ReadsTensorsWithoutElements) {  // the shape of a RESHAPE to a scalar, for one
  NetworkBuilder n;
  int x = n.input(Type::float32, {1});
  n.output(n.op({.code = 22, .inputs = {x, n.indices({})}}, {{.shape = {}}}));
  Opened o = open(n.write());
  EXPECT_TRUE(o.status.ok()) << o.status.text();
}

TEST(Model, VectorsHaveOneDimensionWhateverTheirQuantisationSays) {
  NetworkBuilder n = small();
  n.tensor(2).quantization.dimension = 3;
  File file = n.write();
  Opened o = open(file);
  ASSERT_TRUE(o.status.ok()) << o.status.text();
  EXPECT_EQ(o.model.subgraph(0).tensor(2).quantized_dimension(), 0);
}

TEST(Model, TheQuantisedDimensionOfOneScaleDoesNotMatter) {
  NetworkBuilder n = small();
  n.tensor(3).quantization.dimension = 77;
  File file = n.write();
  Opened o = open(file);
  ASSERT_TRUE(o.status.ok()) << o.status.text();
  EXPECT_EQ(o.model.subgraph(0).tensor(3).quantized_dimension(), 0);
}

TEST(Model, TakesBuffer0ForNoneWhateverItHolds) {
  NetworkBuilder n;
  n.network.external_data = true;
  int x = n.input(Type::float32, {4});
  n.output(n.add(x, n.random_constant(Type::float32, {4})));
  File file = n.write();
  // Both buffers are now the constant's.
  size_t vector = find_field(file, {}, schema::Model::buffers);
  vector += load_unaligned<uint32_t>(&file[vector]) + 4;
  overwrite(file, vector, load_unaligned<uint32_t>(&file[vector + 4]) + 4);
  Opened o = open(file);
  ASSERT_TRUE(o.status.ok()) << o.status.text();
  EXPECT_EQ(o.model.buffer(0).size(), 16u);
  EXPECT_FALSE(o.model.subgraph(0).tensor(0).is_constant());
  EXPECT_TRUE(o.model.subgraph(0).tensor(1).is_constant());
}

TEST(Model, ShowsNoMoreOfAConstantThanItsShape) {
  NetworkBuilder n = small();
  size_t bytes = n.tensor(1).data.size();
  n.tensor(1).data.resize(bytes + 5);
  File file = n.write();
  Opened o = open(file);
  ASSERT_TRUE(o.status.ok()) << o.status.text();
  EXPECT_EQ(o.model.subgraph(0).tensor(1).data().size(), bytes);
}

// ---- Weights outside the flatbuffer -------------------------------------------------------------------------------------

TEST(Model, FindsDataBehindTheFlatbuffer) {
  NetworkBuilder n = small();
  File inside = n.write();
  n.network.external_data = true;
  File outside = n.write();
  Opened a = open(inside), b = open(outside);
  ASSERT_TRUE(a.status.ok() && b.status.ok()) << b.status.text();
  for (uint32_t i = 0; i < 6; ++i) {
    Model::Tensor t = a.model.subgraph(0).tensor(i), u = b.model.subgraph(0).tensor(i);
    ASSERT_EQ(t.data().size(), u.data().size());
    if (t.is_constant()) {
      EXPECT_EQ(std::memcmp(t.data().data(), u.data().data(), t.data().size()), 0);
      EXPECT_EQ(u.data_offset() % 16, 0u);
    }
  }
  size_t offset = find_field(outside, {{schema::Model::buffers, 1}}, schema::Buffer::offset);
  size_t size = find_field(outside, {{schema::Model::buffers, 1}}, schema::Buffer::size);
  auto refuses = [&](uint64_t at, uint64_t bytes) {
    File file = outside;
    overwrite(file, offset, at);
    overwrite(file, size, bytes);
    return open(file).status.code() == Code::malformed;
  };
  uint64_t end = outside.size();
  EXPECT_FALSE(refuses(end - 64, 64));
  EXPECT_TRUE(refuses(end - 64, 65));
  EXPECT_TRUE(refuses(end + 1, 0));
  EXPECT_TRUE(refuses(end - 63, std::numeric_limits<uint64_t>::max()));
  EXPECT_TRUE(refuses(std::numeric_limits<uint64_t>::max() - 15, 80));  // the sum wraps to 64
  EXPECT_TRUE(refuses(uint64_t(1) << 32, 64));                          // the low half alone would do
  EXPECT_TRUE(refuses(32, (uint64_t(1) << 32) + 64));
}

TEST(Model, Offsets0And1MeanInline) {
  for (uint64_t offset : {0, 1}) {
    NetworkBuilder n = small();
    n.network.inline_offset = offset;
    File file = n.write();
    Opened o = open(file);
    ASSERT_TRUE(o.status.ok()) << o.status.text();
    Bytes data = o.model.subgraph(0).tensor(1).data();
    EXPECT_EQ(File(data.begin(), data.end()), n.tensor(1).data);
  }
}

TEST(Model, ReachesDataBeyond2GiBAndRefusesFilesOf4GiB) {
  NetworkBuilder n = small();
  n.network.external_data = true;
  File file = n.write();
  constexpr uint64_t far = uint64_t(3) << 30;
  overwrite(file, find_field(file, {{schema::Model::buffers, 1}}, schema::Buffer::offset), far);
  size_t size = far + n.tensor(1).data.size();
  // Pages that nobody touches cost nothing, as in a file that is mapped.
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* bytes = static_cast<uint8_t*>(memory);
  std::memcpy(bytes, file.data(), file.size());
  std::memcpy(bytes + far, n.tensor(1).data.data(), n.tensor(1).data.size());
  Model model;
  Where where;
  Status status = Model::open({bytes, size}, model, where);
  ASSERT_TRUE(status.ok()) << status.text();
  Model::Tensor filter = model.subgraph(0).tensor(1);
  EXPECT_EQ(filter.data_offset(), far);
  EXPECT_EQ(File(filter.data().begin(), filter.data().end()), n.tensor(1).data);
  EXPECT_EQ(Model::open({bytes, size - 1}, model, where).code(), Code::malformed);
  EXPECT_EQ(Model::open({bytes, size_t(1) << 32}, model, where).code(), Code::unsupported);  // says so before it looks
  munmap(memory, size);
}

// ---- Alignment ----------------------------------------------------------------------------------------------------------

TEST(Model, RefusesMisalignedFilesAndSaysSo) {
  File file = small().write();
  File room(file.size() + 16);
  for (size_t shift = 0; shift < 16; ++shift) {
    std::memcpy(room.data() + shift, file.data(), file.size());
    Model model;
    Where where;
    Status status = Model::open({room.data() + shift, file.size()}, model, where);
    EXPECT_EQ(status.ok(), shift == 0);
    if (shift) {
      EXPECT_EQ(status.code(), Code::invalid_call);
      EXPECT_NE(std::string(status.text()).find("multiple of 16"), std::string::npos);
    }
  }
}

TEST(Model, RefusesConstantsThatAreMisalignedForTheirType) {
  NetworkBuilder n;
  n.network.external_data = true;
  int x = n.input(Type::float32, {4});
  n.output(n.add(x, n.random_constant(Type::float32, {4})));
  File file = n.write();
  file.resize(file.size() + 16);
  size_t offset = find_field(file, {{schema::Model::buffers, 1}}, schema::Buffer::offset);
  auto at = load_unaligned<uint64_t>(&file[offset]);
  for (uint64_t shift = 0; shift < 16; ++shift) {
    overwrite(file, offset, at + shift);
    Opened o = open(file);
    EXPECT_EQ(o.status.ok(), shift % 4 == 0);
    if (!o.status.ok()) {
      EXPECT_EQ(o.where.tensor, 1);
    }
  }
}

// ---- Broken numbers -----------------------------------------------------------------------------------------------------

struct Broken {
  const char* what;
  std::function<void(NetworkBuilder&)> breaks;
  Code code;
  int subgraph, node, tensor;
};

const float infinity = std::numeric_limits<float>::infinity();

const Broken broken_networks[] = {
    {"buffer of an input", [](auto& n) { n.tensor(0).buffer = 9999; }, Code::malformed, 0, -1, 0},
    {"buffer of an inner tensor", [](auto& n) { n.tensor(3).buffer = 9999; }, Code::malformed, 0, -1, 3},
    {"buffer of an output", [](auto& n) { n.tensor(4).buffer = 9999; }, Code::malformed, 0, -1, 4},
    {"buffer one too far", [](auto& n) { n.tensor(4).buffer = 4; }, Code::malformed, 0, -1, 4},
    {"buffer, second subgraph", [](auto& n) { n.network.subgraphs[1].tensors[0].buffer = 77; }, Code::malformed, 1, -1, 0},
    {"data too short", [](auto& n) { n.tensor(1).data.pop_back(); }, Code::malformed, 0, -1, 1},
    {"bias too short", [](auto& n) { n.tensor(2).data.pop_back(); }, Code::malformed, 0, -1, 2},
    {"negative dimension", [](auto& n) { n.tensor(3).shape[1] = -1; }, Code::malformed, 0, -1, 3},
    {"2^32 elements", [](auto& n) { n.tensor(3).shape = {65536, 65536}; }, Code::unsupported, 0, -1, 3},
    {"2^64 elements", [](auto& n) { n.tensor(3).shape = {65536, 65536, 65536, 65536}; }, Code::unsupported, 0, -1, 3},
    {"2^31 bytes", [](auto& n) { n.tensor(3).shape = {1 << 30, 2}; }, Code::unsupported, 0, -1, 3},
    {"none of 2^32", [](auto& n) { n.tensor(3).shape = {0, 65536, 65536}; }, Code::unsupported, 0, -1, 3},
    {"2^31 bytes of int32",
     [](auto& n) { n.tensor(2) = {.type = Type::int32, .shape = {1 << 29}}; }, Code::unsupported, 0, -1, 2},
    {"type 18", [](auto& n) { n.tensor(3).type = static_cast<Type>(18); }, Code::unsupported, 0, -1, 3},
    {"type -1", [](auto& n) { n.tensor(3).type = static_cast<Type>(255); }, Code::unsupported, 0, -1, 3},
    {"sparse", [](auto& n) { n.tensor(1).sparse = true; }, Code::unsupported, 0, -1, 1},
    {"scale -0", [](auto& n) { n.tensor(3).quantization.scales = {-0.f}; }, Code::malformed, 0, -1, 3},
    {"scale below 0", [](auto& n) { n.tensor(3).quantization.scales = {-1}; }, Code::malformed, 0, -1, 3},
    {"scale infinite", [](auto& n) { n.tensor(3).quantization.scales = {infinity}; }, Code::malformed, 0, -1, 3},
    {"scale not a number", [](auto& n) { n.tensor(3).quantization.scales = {NAN}; }, Code::malformed, 0, -1, 3},
    {"last scale", [](auto& n) { n.tensor(1).quantization.scales[2] = -1; }, Code::malformed, 0, -1, 1},
    {"2 scales, 3 channels",
     [](auto& n) { n.tensor(1).quantization = per_channel({1, 1}, 0); }, Code::malformed, 0, -1, 1},
    {"4 scales, 3 channels",
     [](auto& n) { n.tensor(1).quantization = per_channel({1, 1, 1, 1}, 0); }, Code::malformed, 0, -1, 1},
    {"wrong dimension", [](auto& n) { n.tensor(1).quantization.dimension = 3; }, Code::malformed, 0, -1, 1},
    {"dimension = rank", [](auto& n) { n.tensor(1).quantization.dimension = 4; }, Code::malformed, 0, -1, 1},
    {"dimension < 0", [](auto& n) { n.tensor(1).quantization.dimension = -1; }, Code::malformed, 0, -1, 1},
    {"scales of a scalar",
     [](auto& n) { n.tensor(5) = {.type = Type::int8, .quantization = per_channel({1, 1}, 0)}; }, Code::malformed, 0, -1, 5},
    {"2 zero points", [](auto& n) { n.tensor(3).quantization.zero_points = {0, 0}; }, Code::malformed, 0, -1, 3},
    {"initial value of a variable", [](auto& n) { n.tensor(5).data = {1, 2}; }, Code::unsupported, 0, -1, 5},
    {"zero point 128", [](auto& n) { n.tensor(3).quantization.zero_points = {128}; }, Code::malformed, 0, -1, 3},
    {"zero point -129", [](auto& n) { n.tensor(3).quantization.zero_points = {-129}; }, Code::malformed, 0, -1, 3},
    {"zero point 2^32", [](auto& n) { n.tensor(3).quantization.zero_points = {1ll << 32}; }, Code::malformed, 0, -1, 3},
    {"zero point of a float", [](auto& n) {
       n.network.subgraphs[1].tensors[0].quantization = per_tensor(1, 1ll << 31);
     }, Code::malformed, 1, -1, 0},
    {"quantised in another way", [](auto& n) { n.tensor(3).quantization.details_type = 1; }, Code::unsupported, 0, -1, 3},
    {"operator input", [](auto& n) { n.subgraph().operators[1].inputs[0] = 6; }, Code::malformed, 0, 1, 6},
    {"operator input -2", [](auto& n) { n.subgraph().operators[0].inputs[2] = -2; }, Code::malformed, 0, 0, -2},
    {"operator output", [](auto& n) { n.subgraph().operators[1].outputs[0] = 77; }, Code::malformed, 0, 1, 77},
    {"operator output -1", [](auto& n) { n.subgraph().operators[1].outputs[0] = -1; }, Code::malformed, 0, 1, -1},
    {"intermediates", [](auto& n) { n.subgraph().operators[0].intermediates = {-1, 6}; }, Code::malformed, 0, 0, 6},
    {"graph input", [](auto& n) { n.subgraph().inputs[0] = 9; }, Code::malformed, 0, -1, 9},
    {"graph input -1", [](auto& n) { n.subgraph().inputs[0] = -1; }, Code::malformed, 0, -1, -1},
    {"graph output", [](auto& n) { n.subgraph().outputs[0] = 9; }, Code::malformed, 0, -1, 9},
    {"order", [](auto& n) {
       std::swap(n.subgraph().operators[0], n.subgraph().operators[1]);
     }, Code::malformed, 0, 0, 3},
    {"reads its own output", [](auto& n) { n.subgraph().operators[0].inputs[0] = 3; }, Code::malformed, 0, 0, 3},
    {"no input", [](auto& n) { n.subgraph().inputs.clear(); }, Code::malformed, 0, 0, 0},
    {"produced twice", [](auto& n) { n.subgraph().operators[1].outputs[0] = 3; }, Code::malformed, 0, 1, 3},
    {"writes its input", [](auto& n) { n.subgraph().operators[1].outputs[0] = 0; }, Code::malformed, 0, 1, 0},
    {"writes a constant", [](auto& n) { n.subgraph().operators[1].outputs[0] = 1; }, Code::malformed, 0, 1, 1},
    {"writes a variable", [](auto& n) { n.subgraph().operators[1].outputs[0] = 5; }, Code::malformed, 0, 1, 5},
    {"two outputs alike", [](auto& n) { n.subgraph().operators[1].outputs = {4, 4}; }, Code::malformed, 0, 1, 4},
    {"constant as graph input", [](auto& n) { n.subgraph().inputs.push_back(1); }, Code::malformed, 0, -1, 1},
    {"graph input twice", [](auto& n) { n.subgraph().inputs.push_back(0); }, Code::malformed, 0, -1, 0},
    {"output that nothing produces", [](auto& n) {
       n.tensor(5).is_variable = false;
       n.output(5);
     }, Code::malformed, 0, -1, 5},
    {"no subgraph", [](auto& n) {
       n.network.subgraphs.clear();
       n.network.signatures.clear();
     }, Code::malformed, -1, -1, -1},
    {"signature's subgraph", [](auto& n) { n.network.signatures[0].subgraph = 2; }, Code::malformed, -1, -1, -1},
    {"signature's input", [](auto& n) { n.network.signatures[0].inputs[0].second = 6; }, Code::malformed, -1, -1, 6},
    {"signature's output", [](auto& n) { n.network.signatures[0].outputs[0].second = -1; }, Code::malformed, -1, -1, -1},
};

TEST(Model, RefusesWhatMakesNoSense) {
  ASSERT_TRUE(open(small().write()).status.ok());
  for (const Broken& b : broken_networks) {
    NetworkBuilder n = small();
    b.breaks(n);
    File file = n.write();
    Opened o = open(file);
    EXPECT_EQ(o.status.code(), b.code) << b.what << ": " << o.status.text();
    EXPECT_EQ(o.where.subgraph, b.subgraph) << b.what;
    EXPECT_EQ(o.where.node, b.node) << b.what;
    EXPECT_EQ(o.where.tensor, b.tensor) << b.what;
  }
}

TEST(Model, RefusesIndicesOutOfRange) {
  File good = small().write();
  auto with = [&](std::initializer_list<graph::Step> path, uint8_t field, uint32_t value) {
    File file = good;
    overwrite(file, find_field(file, path, field), value);
    return open(file);
  };
  Opened o = with({{schema::Model::subgraphs, 0}, {schema::SubGraph::operators, 1}}, schema::Operator::opcode_index, 2);
  EXPECT_EQ(o.status.code(), Code::malformed);
  EXPECT_EQ(o.where.subgraph, 0);
  EXPECT_EQ(o.where.node, 1);
  EXPECT_EQ(with({{schema::Model::metadata, 0}}, schema::Metadata::buffer, 4).status.code(), Code::malformed);
  EXPECT_EQ(with({}, schema::Model::version, 2).status.code(), Code::unsupported);
  EXPECT_TRUE(with({{schema::Model::metadata, 0}}, schema::Metadata::buffer, 3).status.ok());
}

// Files give tensors that are not quantised a scale of 0. What an operator needs a scale for, it asks for itself.
TEST(Model, AcceptsScalesOf0) {
  NetworkBuilder n = small();
  for (int i : {0, 1, 3, 5}) n.tensor(i).quantization.scales.assign(n.tensor(i).quantization.scales.size(), 0);
  Opened o = open(n.write());
  EXPECT_TRUE(o.status.ok()) << o.status.text();
}

TEST(Model, AcceptsEveryZeroPointOfTheType) {
  for (auto [type, zero_point] : {std::pair{Type::int8, -128ll}, {Type::int8, 127ll}, {Type::uint8, 255ll},
                                  {Type::uint8, 0ll}, {Type::int16, -32768ll}, {Type::int32, -2147483648ll}}) {
    NetworkBuilder n;
    n.output(n.input(type, {1}, per_tensor(1e-38f, zero_point)));
    EXPECT_TRUE(open(n.write()).status.ok()) << type_name(type) << zero_point;
  }
  NetworkBuilder n;
  n.output(n.input(Type::uint8, {1}, per_tensor(1, -1)));
  EXPECT_EQ(open(n.write()).status.code(), Code::malformed);
}

// ---- Broken structure ---------------------------------------------------------------------------------------------------

TEST(Model, RefusesWhatIsNoFile) {
  EXPECT_EQ(open({}).status.code(), Code::malformed);
  EXPECT_EQ(open({0xff, 0xff, 0xff, 0x7f, 'T', 'F', 'L', '3'}).status.code(), Code::malformed);  // root past the end
  EXPECT_EQ(open({0xff, 0xff, 0xff, 0xff, 'T', 'F', 'L', '3'}).status.code(), Code::malformed);
  EXPECT_EQ(open({0, 0, 0, 0, 'T', 'F', 'L', '3'}).status.code(), Code::malformed);
  EXPECT_EQ(open({4, 0, 0, 0, 'T', 'F', 'L', '3'}).status.code(), Code::malformed);
  File file = small().write();
  file[7] = '4';
  EXPECT_EQ(open(file).status.code(), Code::malformed);
}

TEST(Model, RefusesFilesCutShortAnywhere) {
  for (bool behind : {false, true}) {
    NetworkBuilder n = small();
    n.network.external_data = behind;
    File file = n.write();
    ASSERT_TRUE(open(file).status.ok());
    for (size_t size = 0; size < file.size(); ++size) {
      File cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));  // of exactly that size: no room to over-read
      Model model;
      Where where;
      EXPECT_EQ(Model::open({cut.data(), cut.size()}, model, where).code(), Code::malformed) << size << " bytes";
      EXPECT_EQ(model.file().size(), 0u);
    }
  }
}

TEST(Model, RefusesOffsetsVectorsAndStringsThatLeadOutside) {
  File good = small().write();
  const std::initializer_list<graph::Step> tensor = {{schema::Model::subgraphs, 0}, {schema::SubGraph::tensors, 1}};
  for (uint8_t field : {schema::Tensor::shape, schema::Tensor::name, schema::Tensor::quantization}) {
    size_t at = find_field(good, tensor, field);
    size_t target = at + load_unaligned<uint32_t>(&good[at]);
    for (uint32_t value : {0u, 1u, 0x7fffffffu, 0xffffffffu, 0xfffffff0u, static_cast<uint32_t>(good.size() - at)}) {
      File file = good;
      overwrite(file, at, value);
      Opened o = open(file);
      EXPECT_EQ(o.status.code(), Code::malformed) << int(field) << " offset " << value;
      EXPECT_EQ(o.where.subgraph, 0);
      EXPECT_EQ(o.where.tensor, 1);
      file = good;
      overwrite(file, target, value);  // the count, or the way to the vtable
      if (value > 1 || field == schema::Tensor::quantization) {
        EXPECT_EQ(open(file).status.code(), Code::malformed) << int(field) << " count " << value;
      }
    }
  }
  File file = good;
  size_t name = find_field(file, tensor, schema::Tensor::name);
  name += load_unaligned<uint32_t>(&file[name]);
  file[name + 4 + load_unaligned<uint32_t>(&file[name])] = 'x';  // no NUL
  EXPECT_EQ(open(file).status.code(), Code::malformed);
}

// A vtable that says that a field lies beyond the table's end.
TEST(Model, RefusesFieldsOutsideTheirTable) {
  File good = small().write();
  size_t field = find_field(good, {{schema::Model::subgraphs, 0}, {schema::SubGraph::operators, 0}},
                            schema::Operator::builtin_options);
  size_t table = field + load_unaligned<uint32_t>(&good[field]);
  size_t vtable = table - static_cast<size_t>(load_unaligned<int32_t>(&good[table]));
  uint16_t inline_bytes = load_unaligned<uint16_t>(&good[vtable + 2]);
  File file = good;
  overwrite(file, vtable + 4, inline_bytes);
  EXPECT_EQ(open(file).status.code(), Code::malformed);
  // The last byte is inside; a field of four bytes that begins there reads as absent.
  overwrite(file, vtable + 6, static_cast<uint16_t>(inline_bytes - 1));
  overwrite(file, vtable + 4, load_unaligned<uint16_t>(&good[vtable + 4]));
  Opened o = open(file);
  ASSERT_TRUE(o.status.ok()) << o.status.text();
  EXPECT_EQ(o.model.subgraph(0).op(0).options().get<int32_t>(1, 55), 55);
}

TEST(Model, OptionVectorsThatLeadOutsideAreEmpty) {
  NetworkBuilder n;
  n.output(n.reshape(n.input(Type::float32, {4}), {2, 2}));
  File good = n.write();
  const std::initializer_list<graph::Step> options = {
      {schema::Model::subgraphs, 0}, {schema::SubGraph::operators, 0}, {schema::Operator::builtin_options}};
  size_t at = find_field(good, options, 0);
  auto shape = [](const File& file) {
    Opened o = open(file);
    EXPECT_TRUE(o.status.ok()) << o.status.text();
    auto v = o.model.subgraph(0).op(0).options().vector<int32_t>(0);
    return std::vector<int32_t>(v.begin(), v.end());
  };
  EXPECT_EQ(shape(good), (std::vector<int32_t>{2, 2}));
  for (uint32_t offset : {0x7fffffffu, 0xffffffffu, static_cast<uint32_t>(good.size() - at - 3), 3u}) {
    File file = good;
    overwrite(file, at, offset);
    EXPECT_EQ(shape(file), std::vector<int32_t>()) << offset;
  }
  size_t count = at + load_unaligned<uint32_t>(&good[at]);
  for (uint32_t value : {0x7fffffffu, 0xffffffffu, 0x40000000u, static_cast<uint32_t>((good.size() - count) / 4)}) {
    File file = good;
    overwrite(file, count, value);
    EXPECT_EQ(shape(file), std::vector<int32_t>()) << value;
  }
}

// Thousands of subgraphs that are all the same big one: few bytes, much work.
TEST(Model, RefusesFilesThatShareWithoutMeasure) {
  NetworkBuilder n;
  for (int i = 0; i < 3000; ++i) n.add({.type = Type::int8, .shape = {1, 1, 1, 1}, .name = "t"});
  for (int i = 0; i < 3000; ++i) n.add_subgraph();
  File file = n.write();
  ASSERT_TRUE(open(file).status.ok());
  size_t vector = find_field(file, {}, schema::Model::subgraphs);
  vector += load_unaligned<uint32_t>(&file[vector]) + 4;
  size_t target = vector + load_unaligned<uint32_t>(&file[vector]);
  for (size_t i = 0; i < 3000; ++i) overwrite(file, vector + 4 * i, static_cast<uint32_t>(target - vector - 4 * i));
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(open(file).status.code(), Code::malformed);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Model, FollowsTheOrderOfManyTensors) {
  constexpr int chain = 5000;  // more than are followed at a time
  NetworkBuilder n;
  int x = n.input(Type::float32, {1});
  for (int i = 0; i < chain; ++i) x = n.relu(x);
  n.output(x);
  ASSERT_TRUE(open(n.write()).status.ok());
  for (size_t node : {10u, 2050u, 4990u}) {
    NetworkBuilder m = n;
    std::swap(m.subgraph().operators[node], m.subgraph().operators[node + 1]);
    Opened o = open(m.write());
    EXPECT_EQ(o.status.code(), Code::malformed);
    EXPECT_EQ(o.where.node, static_cast<int32_t>(node));
    EXPECT_EQ(o.where.tensor, static_cast<int32_t>(node) + 1);
  }
}

TEST(Model, RefusesMoreTensorsThanItCanFollow) {
  NetworkBuilder n;
  n.subgraph().tensors.resize(Model::max_tensors, {.type = Type::int8});
  EXPECT_TRUE(open(n.write()).status.ok());
  n.add({.type = Type::int8});
  EXPECT_EQ(open(n.write()).status.code(), Code::unsupported);
}

// Whatever a damaged byte does, open refuses the file or every accessor keeps its promises.
TEST(Model, SurvivesDamagedBytes) {
  NetworkBuilder n = small();
  n.unidirectional_sequence_lstm(n.input(Type::int8, {1, 2, 3}, per_tensor(0.1f)), {.units = 2});
  File good = n.write();
  ASSERT_TRUE(open(good).status.ok());
  std::mt19937 random(5);
  int refused = 0;
  constexpr int rounds = 20000;
  for (int i = 0; i < rounds; ++i) {
    File file = good;
    for (unsigned k = random() % 3 + 1; k; --k) file[random() % file.size()] = static_cast<uint8_t>(random() % 4 ? random() : 0);
    Opened o = open(file);
    if (o.status.ok()) walk(o.model);
    else ++refused;
  }
  EXPECT_GT(refused, rounds / 20);
  EXPECT_LT(refused, rounds);
}

// ---- Other people's networks --------------------------------------------------------------------------------------------

std::filesystem::path models_folder() {
  if (const char* folder = std::getenv("LINNET_MODELS")) return folder;
  auto checkout = std::filesystem::absolute(__FILE__).parent_path().parent_path().parent_path().parent_path();
  return checkout.parent_path() / "shared" / "models";
}

TEST(Model, OpensOtherPeoplesNetworks) {
  auto folder = models_folder();
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no networks at " << folder << "; set LINNET_MODELS";
  int opened = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".tflite") continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    File file{std::istreambuf_iterator<char>(stream), {}};
    Opened o = open(file);
    ASSERT_TRUE(o.status.ok()) << entry.path() << ": " << o.status.text() << ", subgraph " << o.where.subgraph << ", node "
                               << o.where.node << ", tensor " << o.where.tensor;
    EXPECT_NE(walk(o.model), 0u);
    EXPECT_GE(o.model.subgraph(0).operator_count(), 1u);
    ++opened;
    if (file.size() > 4096) continue;
    for (size_t size = 0; size < file.size(); ++size) {  // the padding at a file's end may be missing, nothing else
      File cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      Opened c = open(cut);
      if (c.status.ok()) {
        EXPECT_EQ(walk(c.model), walk(o.model)) << entry.path() << " cut to " << size;
      }
    }
  }
  EXPECT_GT(opened, 0) << folder;
}

}  // namespace
}  // namespace linnet
