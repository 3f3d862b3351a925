// Small inputs that other engines got wrong, each with the whole kind of fault behind it. Expected values follow from
// the definition of the operator, or are those of a run that must be the same.
//
// What is tested beside the code is not repeated here:
//   an absent bias equals zeros            AbsentBiasIsZeros in device/linnet/ops/*_test.cpp (each type and width of
//   bias) an arena of every size, running again  below, and networks_test.cpp on other people's networks buffers
//   reused, reordered, moved       host/linnet/plan/planned_run_test.cpp, tests/seams IF that ignores or passes on
//   inputs    device/linnet/ops/if_test.cpp broken numbers and structures          device/linnet/model/model_test.cpp;
//   at random: tests/fuzz exit status and message of all this    cli/command_test.cpp
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "linnet/graph/network_builder.h"
#include "linnet/model/schema.h"
#include "linnet/run/catalogue.h"
#include "tests/support/arena_sweep.h"
#include "tests/support/operator_networks.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::ConvSpec;
using graph::NetworkBuilder;
using graph::Padding;
using graph::per_tensor;
using test::from_bytes;
using test::to_bytes;
using File = std::vector<uint8_t>;
using Shape = std::vector<int32_t>;

constexpr Type all_types[] = {Type::float32, Type::int8, Type::int16};

const BuildTable& table() { return catalogue().table; }
Bytes bytes_of(const File& file) { return {file.data(), file.size()}; }

// ---- Scales per channel
// -------------------------------------------------------------------------------------------------

using AddSum = int (*)(NetworkBuilder&, int x, int filter, int channels);

struct SumOperator {
  const char* name;
  AddSum add;
  Shape input, filter;
  int channel_dimension;
  bool hybrid;
};
const SumOperator sum_operators[] = {
    {"FULLY_CONNECTED",
     [](NetworkBuilder& n, int x, int f, int c) {
       return n.fully_connected(x, {.channels = c, .filter = f, .bias = graph::absent}, n.tensor(x).quantization);
     },
     {3, 5},
     {4, 5},
     0,
     true},
    {"CONV_2D",
     [](NetworkBuilder& n, int x, int f, int c) {
       return n.conv_2d(x, {.channels = c, .kernel = {3, 2}, .filter = f, .bias = graph::absent},
                        n.tensor(x).quantization);
     },
     {1, 4, 3, 2},
     {4, 3, 2, 2},
     0,
     true},
    {"DEPTHWISE_CONV_2D",
     [](NetworkBuilder& n, int x, int f, int c) {
       return n.depthwise_conv_2d(x, {.channels = c, .kernel = {3, 2}, .filter = f, .bias = graph::absent},
                                  n.tensor(x).quantization);
     },
     {1, 4, 3, 2},
     {1, 3, 2, 4},
     3,
     true},
    {"TRANSPOSE_CONV",
     [](NetworkBuilder& n, int x, int f, int c) {
       return n.transpose_conv(x,
                               {.channels = c, .kernel = {3, 2}, .stride = {2, 1}, .filter = f, .bias = graph::absent},
                               n.tensor(x).quantization);
     },
     {1, 4, 3, 2},
     {4, 3, 2, 2},
     0,
     false},
};

struct ScaledFilter {
  File file;
  TensorBytes input;
};
ScaledFilter with_scales(const SumOperator& op, Type type, const std::vector<float>& scales, int dimension) {
  NetworkBuilder n(5);
  int x = n.input(type, op.input, type == Type::float32 ? graph::Quantization{} : per_tensor(0.5f));
  int filter = n.random_constant(Type::int8, op.filter, graph::per_channel(scales, dimension), 9);
  n.output(op.add(n, x, filter, 4));
  ScaledFilter made = {n.write(), {}};
  made.input = n.random_input(x);
  return made;
}

// Channel c of a filter with scales per channel is channel c of the filter that has scale c throughout. Powers of two,
// so that no rounding differs.
TEST(ScalesPerChannel, EachChannelIsTheOneOfAFilterWithThatScaleAlone) {
  const std::vector<float> scales = {0.5f, 0.0625f, 0.25f, 0.125f};
  for (const SumOperator& op : sum_operators)
    for (Type type : all_types) {
      if (type == Type::float32 && !op.hybrid) continue;
      SCOPED_TRACE(std::string(op.name) + " " + type_name(type));
      ScaledFilter s = with_scales(op, type, scales, op.channel_dimension);
      TensorBytes got = test::run_model(s.file, {s.input}).at(0);
      size_t element = element_bytes(type), channels = scales.size();
      std::vector<TensorBytes> alone;
      for (float scale : scales) {
        File everywhere = with_scales(op, type, std::vector<float>(channels, scale), op.channel_dimension).file;
        alone.push_back(test::run_model(everywhere, {s.input}).at(0));
        if (type == Type::float32) continue;  // hybrid inputs are quantised otherwise if there is one scale for all
        EXPECT_EQ(test::run_model(with_scales(op, type, {scale}, 0).file, {s.input}).at(0), alone.back());
      }
      for (size_t i = 0; i < got.size() / element; ++i)
        EXPECT_EQ(std::memcmp(&got[i * element], &alone[i % channels][i * element], element), 0) << "element " << i;
      EXPECT_NE(alone[0], alone[1]);  // or the scales do nothing
    }
}

TEST(ScalesPerChannel, AnotherNumberOrDimensionIsRefused) {
  for (const SumOperator& op : sum_operators)
    for (Type type : all_types) {
      if (type == Type::float32 && !op.hybrid) continue;
      SCOPED_TRACE(std::string(op.name) + " " + type_name(type));
      for (size_t count : {size_t{0}, size_t{2}, size_t{3}, size_t{5}})
        EXPECT_FALSE(
            test::refusal(with_scales(op, type, std::vector<float>(count, 0.25f), op.channel_dimension).file).empty())
            << count << " scales";
      int other = op.channel_dimension == 0 ? 1 : 2;  // as many as it has elements, but not the output channels
      size_t count = static_cast<size_t>(op.filter[static_cast<size_t>(other)]);
      EXPECT_FALSE(test::refusal(with_scales(op, type, std::vector<float>(count, 0.25f), other).file).empty());
    }
}

// ---- Rows and batches
// -----------------------------------------------------------------------------------------------------

TEST(Batches, EverySoftmaxRowIsThatRowAlone) {
  struct Types {
    Type from, to;
  };
  for (Types t : {Types{Type::int8, Type::int8}, Types{Type::int8, Type::int16}, Types{Type::int16, Type::int16},
                  Types{Type::float32, Type::float32}})
    for (const Shape& shape : {Shape{3, 4}, Shape{3, 1, 4}, Shape{1, 3, 1, 4}, Shape{2, 3, 4}, Shape{7, 1}}) {
      TensorBytes input;
      auto network = [&](const Shape& s) {
        NetworkBuilder n(2);
        int x = n.input(
            t.from, s,
            t.from == Type::float32 ? graph::Quantization{} : per_tensor(t.from == Type::int8 ? 0.05f : 0.0003f));
        int y = n.softmax(x);
        if (t.from != t.to) n.tensor(y).type = t.to, n.tensor(y).quantization = per_tensor(1 / 65536.f, -32768);
        n.output(y);
        input = n.random_input(x);
        return n.write();
      };
      File one = network({1, shape.back()}), file = network(shape);
      TensorBytes all = test::run_model(file, {input}).at(0);
      size_t row = static_cast<size_t>(shape.back()) * element_bytes(t.from);
      TensorBytes rows;
      for (auto at = input.begin(); at != input.end(); at += static_cast<ptrdiff_t>(row)) {
        TensorBytes y = test::run_model(one, {TensorBytes(at, at + static_cast<ptrdiff_t>(row))}).at(0);
        rows.insert(rows.end(), y.begin(), y.end());
      }
      EXPECT_EQ(all, rows) << type_name(t.from) << " to " << type_name(t.to);
    }
}

// f(concat(a, b, c)) = concat(f(a), f(b), f(c)).
TEST(Batches, AreIndependentInEveryOperator) {
  for (Type type : all_types) {
    auto three = test::operator_networks(type, 3), one = test::operator_networks(type, 1);
    for (size_t i = 0; i < three.size(); ++i) {
      SCOPED_TRACE(three[i].name);
      TensorBytes all = test::run_model(three[i].file, {three[i].input}).at(0), joined;
      size_t bytes = one[i].input.size();
      for (size_t b = 0; b < 3; ++b) {
        auto at = three[i].input.begin() + static_cast<ptrdiff_t>(b * bytes);
        TensorBytes y = test::run_model(one[i].file, {TensorBytes(at, at + static_cast<ptrdiff_t>(bytes))}).at(0);
        joined.insert(joined.end(), y.begin(), y.end());
      }
      EXPECT_EQ(joined, all);
    }
  }
}

// ---- TRANSPOSE_CONV
// -------------------------------------------------------------------------------------------------------

struct Scatter {  // input pixel (y, x) adds to outputs (y, x) * stride - padding + k
  int rows, columns, in_channels, out_channels, filter_rows, filter_columns, stride_rows, stride_columns;
  bool same;

  static int padding(int in, int size, int stride, int out) {
    return std::max(0, ((in - 1) * stride + size - out) / 2);
  }
  static int length(int in, int size, int stride, bool same) { return same ? in * stride : (in - 1) * stride + size; }

  std::vector<int> apply(const std::vector<int>& in, const std::vector<int>& filter) const {
    int out_rows = length(rows, filter_rows, stride_rows, same),
        out_columns = length(columns, filter_columns, stride_columns, same);
    int top = padding(rows, filter_rows, stride_rows, out_rows),
        left = padding(columns, filter_columns, stride_columns, out_columns);
    std::vector<int> out(static_cast<size_t>(out_rows * out_columns * out_channels));
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < columns; ++x)
        for (int ky = 0; ky < filter_rows; ++ky)
          for (int kx = 0; kx < filter_columns; ++kx) {
            int oy = y * stride_rows - top + ky, ox = x * stride_columns - left + kx;
            if (oy < 0 || ox < 0 || oy >= out_rows || ox >= out_columns) continue;
            for (int o = 0; o < out_channels; ++o)
              for (int i = 0; i < in_channels; ++i)
                out[static_cast<size_t>((oy * out_columns + ox) * out_channels + o)] +=
                    in[static_cast<size_t>((y * columns + x) * in_channels + i)] *
                    filter[static_cast<size_t>(((o * filter_rows + ky) * filter_columns + kx) * in_channels + i)];
          }
    return out;
  }
};

template <class T, class W>
void check_scatter(const Scatter& s, Type type, std::mt19937& random) {
  auto numbers = [&](int count, int limit) {
    std::vector<int> v(static_cast<size_t>(count));
    for (int& x : v) x = static_cast<int>(random() % static_cast<unsigned>(2 * limit + 1)) - limit;
    return v;
  };
  // Scales of 1 and small numbers: every sum is exact in every type.
  std::vector<int> in = numbers(s.rows * s.columns * s.in_channels, 1);
  std::vector<int> weights = numbers(s.out_channels * s.filter_rows * s.filter_columns * s.in_channels, 2);
  NetworkBuilder n;
  graph::Quantization q = type == Type::float32 ? graph::Quantization{} : per_tensor(1);
  int x = n.input(type, {1, s.rows, s.columns, s.in_channels}, q);
  int filter = n.constant(type == Type::float32 ? type : Type::int8,
                          {s.out_channels, s.filter_rows, s.filter_columns, s.in_channels},
                          std::vector<W>(weights.begin(), weights.end()), q);
  n.output(n.transpose_conv(x,
                            {.channels = s.out_channels,
                             .kernel = {s.filter_rows, s.filter_columns},
                             .stride = {s.stride_rows, s.stride_columns},
                             .padding = s.same ? Padding::same : Padding::valid,
                             .filter = filter,
                             .bias = graph::absent},
                            q));
  std::vector<int> want = s.apply(in, weights);
  EXPECT_EQ((test::run_single<T>(n.write(), std::vector<T>(in.begin(), in.end()))),
            std::vector<T>(want.begin(), want.end()));
}

TEST(TransposeConvSweep, FollowsTheDefinitionForUnequalFiltersAndStrides) {
  std::mt19937 random(1);
  for (int filter_rows = 2; filter_rows <= 6; ++filter_rows)
    for (int filter_columns = 2; filter_columns <= 6; ++filter_columns)
      for (int stride_rows = 1; stride_rows <= 4; ++stride_rows)
        for (int stride_columns = 1; stride_columns <= 4; ++stride_columns)
          for (bool same : {false, true}) {
            if (random() % 4 != 0) continue;  // some of the 800, others for each type
            Scatter s = {3, 2, 2, 2, filter_rows, filter_columns, stride_rows, stride_columns, same};
            SCOPED_TRACE(testing::Message() << filter_rows << "x" << filter_columns << " by " << stride_rows << "x"
                                            << stride_columns << " " << same);
            check_scatter<float, float>(s, Type::float32, random);
            check_scatter<int8_t, int8_t>(s, Type::int8, random);
            check_scatter<int16_t, int8_t>(s, Type::int16, random);
          }
}

// ---- Sums beyond 31 bits
// --------------------------------------------------------------------------------------------------

// 520 products of 32767 and 127 pass 2^31; times 2^-17 that is 16509 and a half.
TEST(WideSums, Int16DoesNotWrapInAnyOperator) {
  struct Case {
    const char* name;
    Shape input, filter;
    int (*add)(NetworkBuilder&, int x, const ConvSpec&, graph::Quantization);
    Padding padding;
  };
  const Case cases[] = {
      {"FULLY_CONNECTED",
       {1, 520},
       {1, 520},
       [](auto& n, int x, auto& s, auto q) { return n.fully_connected(x, s, q); },
       Padding::same},
      {"CONV_2D",
       {1, 2, 2, 130},
       {1, 2, 2, 130},
       [](auto& n, int x, auto& s, auto q) { return n.conv_2d(x, s, q); },
       Padding::valid},
      {"DEPTHWISE_CONV_2D",
       {1, 20, 26, 1},
       {1, 20, 26, 1},
       [](auto& n, int x, auto& s, auto q) { return n.depthwise_conv_2d(x, s, q); },
       Padding::valid},
      {"TRANSPOSE_CONV",
       {1, 1, 1, 520},
       {1, 1, 1, 520},
       [](auto& n, int x, auto& s, auto q) { return n.transpose_conv(x, s, q); },
       Padding::same},
  };
  for (const Case& c : cases)
    for (bool wide_bias : {false, true})
      for (int sign : {1, -1}) {
        NetworkBuilder n;
        int x = n.input(Type::int16, c.input, per_tensor(1.0f / 1024));
        int filter = n.constant(Type::int8, c.filter, std::vector<int8_t>(520, static_cast<int8_t>(127 * sign)),
                                per_tensor(1.0f / 128));
        int bias = wide_bias ? n.constant<int64_t>(Type::int64, {1}, {0}, per_tensor(1.0f / 131072)) : graph::absent;
        std::array<int, 2> kernel = {1, 1};
        if (c.filter.size() == 4) kernel = {c.filter[1], c.filter[2]};
        n.output(c.add(n, x, {.channels = 1, .kernel = kernel, .padding = c.padding, .filter = filter, .bias = bias},
                       per_tensor(1.0f)));
        int y = sign * test::run_single<int16_t>(n.write(), std::vector<int16_t>(520, 32767)).at(0);
        EXPECT_TRUE(y == 16509 || y == 16510) << c.name << " " << sign << ": " << y;
      }
}

// ---- Optional biases
// -------------------------------------------------------------------------------------------------------

enum class Bias { none, absent_input, zeros32, zeros64 };

// Where an operator's options say quantized_bias_type, and the version that has it.
struct NarrowSums {
  int field = 0, version = 0;
};

// The output with that bias, in a file that says that sums have 32 bits, or nothing about them.
TensorBytes with_bias(const SumOperator& op, Bias bias, NarrowSums narrow) {
  NetworkBuilder n(5);
  int x = n.input(Type::int16, op.input, per_tensor(0.5f));
  int filter = n.random_constant(Type::int8, op.filter, per_tensor(0.01f));
  n.output(op.add(n, x, filter, 4));
  n.tensor(n.subgraph().outputs[0]).quantization = per_tensor(0.9f);
  std::vector<int>& inputs = n.last_operator().inputs;
  if (inputs.back() == graph::absent) inputs.pop_back();
  if (bias == Bias::absent_input) inputs.push_back(graph::absent);
  if (bias == Bias::zeros32) inputs.push_back(n.constant<int32_t>(Type::int32, {4}, {0, 0, 0, 0}, per_tensor(0.005f)));
  if (bias == Bias::zeros64) inputs.push_back(n.constant<int64_t>(Type::int64, {4}, {0, 0, 0, 0}, per_tensor(0.005f)));
  if (narrow.field) {
    n.last_operator().options.push_back({static_cast<uint8_t>(narrow.field), static_cast<int8_t>(Type::int32)});
    n.last_operator().version = narrow.version;
  }
  File file = n.write();
  return test::run_model(file, {n.random_input(x)}).at(0);
}

// Sums of int16 activations have 64 bits, with or without a bias, also with one of 32 bits; but CONV_2D's are TFLM's,
// where a bias of 32 bits means sums of 32, which round otherwise.
TEST(OptionalBias, ZerosOfAnyWidthAreAsNoBiasForInt16) {
  for (const SumOperator& op : sum_operators) {
    TensorBytes without = with_bias(op, Bias::none, {});
    EXPECT_EQ(with_bias(op, Bias::absent_input, {}), without) << op.name;
    EXPECT_EQ(with_bias(op, Bias::zeros64, {}), without) << op.name;
    if (std::string(op.name) == "CONV_2D") continue;
    EXPECT_EQ(with_bias(op, Bias::zeros32, {}), without) << op.name;
  }
}

// A file can say that sums have 32 bits (quantized_bias_type): then they have them without a bias too.
TEST(OptionalBias, ZerosAreAsNoBiasWhereTheFileAsksForSumsOf32Bits) {
  const std::map<std::string, NarrowSums> fields = {
      {"FULLY_CONNECTED", {4, 11}}, {"CONV_2D", {6, 8}}, {"TRANSPOSE_CONV", {4, 5}}};
  for (const SumOperator& op : sum_operators) {
    auto field = fields.find(op.name);
    if (field == fields.end()) continue;  // DEPTHWISE_CONV_2D cannot say it
    TensorBytes without = with_bias(op, Bias::none, field->second);
    EXPECT_EQ(with_bias(op, Bias::absent_input, field->second), without) << op.name;
    EXPECT_EQ(with_bias(op, Bias::zeros32, field->second), without) << op.name;
    EXPECT_NE(without, with_bias(op, Bias::none, {})) << op.name;  // or the field does nothing
  }
  EXPECT_EQ(with_bias(sum_operators[1], Bias::zeros32, {}),
            with_bias(sum_operators[1], Bias::none, fields.at("CONV_2D")));  // a bias says it too
}

// ---- Scalars and unequal ranks
// ----------------------------------------------------------------------------------------------

size_t count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1},
                         [](size_t n, int32_t d) { return n * static_cast<size_t>(d); });
}

// Element of `shape`, aligned to the right, that goes with element i of `out`.
size_t broadcast_index(size_t i, const Shape& out, const Shape& shape) {
  size_t index = 0, stride = 1;
  for (size_t k = 0; k < out.size(); ++k) {
    size_t along = i % static_cast<size_t>(out[out.size() - 1 - k]);
    i /= static_cast<size_t>(out[out.size() - 1 - k]);
    if (k >= shape.size()) continue;
    auto length = static_cast<size_t>(shape[shape.size() - 1 - k]);
    if (length != 1) index += along * stride;
    stride *= length;
  }
  return index;
}

template <class T>
void check_broadcasts(Type type) {
  graph::Quantization q = type == Type::int8 || type == Type::int16 ? per_tensor(1) : graph::Quantization{};
  struct Pair {
    Shape a, b;
    bool omit_a = false, omit_b = false;
  };
  const Pair pairs[] = {{{2, 1, 6}, {6}},
                        {{6}, {2, 1, 6}},
                        {{1, 1, 13}, {13}},
                        {{13}, {1, 1, 13}},
                        {{2, 3}, {}, false, true},
                        {{}, {2, 3}, true, false},
                        {{}, {}, true, true},
                        {{}, {1}, true, false},
                        {{}, {1, 1}},
                        {{2, 1, 6}, {1}},
                        {{2, 1, 6}, {4, 1}},
                        {{1, 2, 1, 3}, {2, 1}},
                        {{3, 1, 2}, {1, 4, 1}},
                        {{5}, {5}},
                        {{2, 2, 3}, {2, 3}}};
  for (const Pair& p : pairs)
    for (int operation : {0, 1, 2})
      for (bool constant : {false, true}) {
        NetworkBuilder n;
        int a = n.input(type, p.a, q);
        std::vector<T> x(count(p.a)), y(count(p.b));
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i % 7) - 3;
        for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(i % 5) + 1;
        int b = constant ? n.constant(type, p.b, y, q) : n.input(type, p.b, q);
        n.tensor(a).omit_shape = p.omit_a;
        n.tensor(b).omit_shape = p.omit_b;
        int out = operation == 0 ? n.add(a, b, q) : operation == 1 ? n.sub(a, b, q) : n.mul(a, b, q);
        n.tensor(out).omit_shape = n.tensor(out).shape.empty() && p.omit_a && p.omit_b;
        n.output(out);
        Shape shape = n.tensor(out).shape;
        std::vector<T> want(count(shape));
        for (size_t i = 0; i < want.size(); ++i) {
          T u = x[broadcast_index(i, shape, p.a)], v = y[broadcast_index(i, shape, p.b)];
          want[i] = static_cast<T>(operation == 0 ? u + v : operation == 1 ? u - v : u * v);
        }
        std::vector<TensorBytes> inputs = {to_bytes(x)};
        if (!constant) inputs.push_back(to_bytes(y));
        auto got = test::run_model(n.write(), inputs);
        ASSERT_EQ(got.size(), 1u);
        EXPECT_EQ(from_bytes<T>(got[0]), want)
            << type_name(type) << " operation " << operation << " ranks " << p.a.size() << ", " << p.b.size();
      }
}

TEST(Scalars, AndUnequalRanksBroadcast) {
  check_broadcasts<float>(Type::float32);
  check_broadcasts<int8_t>(Type::int8);
  check_broadcasts<int16_t>(Type::int16);
  check_broadcasts<int32_t>(Type::int32);
}

// Without a shape vector a tensor is one element, like [1].
TEST(Scalars, AreLikeOneElementInEveryOperatorThatTakesThem) {
  using Add = int (*)(NetworkBuilder&, int);
  const Add operators[] = {
      [](auto& n, int x) { return n.relu(x); },
      [](auto& n, int x) { return n.relu6(x); },
      [](auto& n, int x) { return n.leaky_relu(x, 0.5f); },
      [](auto& n, int x) { return n.logistic(x); },
      [](auto& n, int x) { return n.tanh(x); },
      [](auto& n, int x) {
        return n.reshape(x, {1, 1});
      },
      [](auto& n, int x) { return n.reshape(n.relu(x), {}); },
      [](auto& n, int x) { return n.quantize(x, Type::int8, per_tensor(0.1f, 2)); },
      [](auto& n, int x) { return n.tensor(x).type == Type::float32 ? n.relu(x) : n.dequantize(x); }};
  for (Type type : all_types)
    for (const Add& add : operators) {
      std::vector<TensorBytes> outputs;
      for (int form = 0; form < 3; ++form) {  // [1], [], no vector
        NetworkBuilder n;
        int x = n.input(type, form == 0 ? Shape{1} : Shape{},
                        type == Type::float32 ? graph::Quantization{} : per_tensor(type == Type::int8 ? 0.1f : 0.001f));
        n.tensor(x).omit_shape = form == 2;
        int y = add(n, x);
        if (n.tensor(y).shape.empty()) n.tensor(y).omit_shape = form == 2;
        n.output(y);
        File file = n.write();
        outputs.push_back(test::run_model(file, {n.random_input(x)}).at(0));
        EXPECT_EQ(outputs.back(), outputs.front())
            << type_name(type) << " operator " << (&add - operators) << " form " << form;
      }
    }
}

TEST(Scalars, AreWhatAMeanOverEveryAxisGives) {
  for (bool omit : {false, true}) {
    NetworkBuilder n;
    int y = n.mean(n.input(Type::float32, {2, 3}), {0, 1}, false);
    n.tensor(y).omit_shape = omit;
    n.output(y);
    EXPECT_EQ((test::run_single<float>(n.write(), {1, 2, 3, 4, 5, 6})), std::vector<float>{3.5f});
  }
}

// ---- Scales of 0, scales of floats
// --------------------------------------------------------------------------------------------

// Files give tensors that are not quantised a table all the same, of zeros or of the scale that they had before.
TEST(NeedlessScales, ChangeNothingOfFloatNetworks) {
  auto run = [](const std::function<graph::Quantization(size_t tensor)>& dress) {
    NetworkBuilder n(4);
    int x = n.input(Type::float32, {1, 5, 4, 2});
    int y = n.conv_2d(x, {.channels = 3, .kernel = {3, 3}, .activation = graph::Activation::relu6});
    y = n.concatenation({y, n.mul(y, y), n.leaky_relu(y, 0.2f)}, 3);
    y = n.average_pool_2d(n.pad(y, {{0, 0}, {1, 0}, {0, 1}, {0, 0}}), {});
    y = n.mean(n.transpose(n.sub(y, n.tanh(n.logistic(y))), {0, 3, 1, 2}), {3}, false);
    n.output(n.softmax(n.fully_connected(n.reshape(y, {1, -1}), {.channels = 3})));
    TensorBytes input = n.random_input(x);
    for (size_t i = 0; i < n.subgraph().tensors.size(); ++i) n.subgraph().tensors[i].quantization = dress(i);
    return test::run_model(n.write(), {input});
  };
  std::vector<TensorBytes> expected = run([](size_t) { return graph::Quantization(); });
  EXPECT_EQ(run([](size_t) { return per_tensor(0); }), expected);
  EXPECT_EQ(run([](size_t i) { return per_tensor(0.25f * static_cast<float>(i + 1), static_cast<int64_t>(i)); }),
            expected);
  EXPECT_EQ(run([](size_t) { return graph::Quantization{{}, {5}}; }), expected);
}

// Where a scale is needed, one of 0 is none: refused by the operator, with its name.
TEST(NeedlessScales, Of0AreRefusedByOperatorsThatNeedThem) {
  for (const test::OperatorNetwork& net : test::operator_networks(Type::int8, 1)) {
    const std::string name = net.name.substr(0, net.name.find('.'));
    if (name == "reshape" || name == "transpose" || name == "strided_slice" || name == "pad" || name == "concatenation")
      continue;
    SCOPED_TRACE(net.name);
    File file = net.file;
    Model model = open_model(bytes_of(file));
    uint32_t input = static_cast<uint32_t>(model.subgraph(0).inputs()[0]);
    auto* scale = const_cast<float*>(model.subgraph(0).tensor(input).scales().data());
    std::memset(scale, 0, sizeof *scale);
    std::string message = test::refusal(file);
    EXPECT_NE(message.find("scale"), std::string::npos) << message;
    EXPECT_NE(message.find("operator 0"), std::string::npos) << message;
  }
}

// A filter's channel of nothing but zeros may have a scale of 0: its outputs are the bias's, here none.
TEST(NeedlessScales, Of0InAFilterMakeItsChannelZero) {
  for (const SumOperator& op : sum_operators)
    for (Type type : all_types) {
      if (type == Type::float32 && !op.hybrid) continue;
      ScaledFilter zero = with_scales(op, type, {0.5f, 0, 0.25f, 0.125f}, op.channel_dimension);
      ScaledFilter some = with_scales(op, type, {0.5f, 0.5f, 0.25f, 0.125f}, op.channel_dimension);
      TensorBytes got = test::run_model(zero.file, {zero.input}).at(0),
                  others = test::run_model(some.file, {some.input}).at(0);
      size_t element = element_bytes(type);
      if (type == Type::float32) {  // where zeros have a sign
        std::vector<float> numbers = from_bytes<float>(got);
        for (size_t i = 1; i < numbers.size(); i += 4) numbers[i] = std::fabs(numbers[i]);
        got = to_bytes(numbers);
      }
      const uint8_t nothing[4] = {};
      for (size_t i = 0; i < got.size() / element; ++i)
        EXPECT_EQ(std::memcmp(&got[i * element], i % 4 == 1 ? nothing : &others[i * element], element), 0)
            << op.name << " element " << i;
    }
}

// ---- Arenas of every size
// -------------------------------------------------------------------------------------------------

TEST(ArenaSizes, EveryOneForEveryOperator) {
  for (Type type : all_types)
    for (const test::OperatorNetwork& net : test::operator_networks(type, 1)) {
      SCOPED_TRACE(net.name);
      Model model = open_model(bytes_of(net.file));
      test::check_arena_sizes(model, {net.input});
    }
}

TEST(ArenaSizes, EveryOneAtEveryAlignment) {
  auto networks = test::operator_networks(Type::int8, 1);
  for (const std::string name : {"conv_2d.int8", "unidirectional_sequence_lstm.int8"}) {
    auto net = std::find_if(networks.begin(), networks.end(), [&](auto& o) { return o.name == name; });
    Model model = open_model(bytes_of(net->file));
    for (size_t misalignment = 0; misalignment < 16; ++misalignment) {
      SCOPED_TRACE(testing::Message() << net->name << " at " << misalignment);
      test::check_arena_sizes(model, {net->input}, misalignment);
    }
  }
}

// ---- Running again
// ----------------------------------------------------------------------------------------------------------

TEST(RunningAgain, GivesTheSameWhateverTheArenaHeldBefore) {
  for (Type type : all_types)
    for (const test::OperatorNetwork& net : test::operator_networks(type, 2)) {
      SCOPED_TRACE(net.name);
      Model model = open_model(bytes_of(net.file));
      BuiltProgram program = build_program(model, table());
      std::vector<TensorBytes> expected;
      for (bool ready : {false, true})
        for (uint8_t fill : {0x00, 0xFF, 0x55}) {
          GuardedMemory arena(ready ? program.arena_bytes_ready() : program.arena_bytes_built(), 0, fill);
          Interpreter interpreter;
          Status status = ready ? interpreter.init(bytes_of(program.bytes), *table().kernels, arena.span())
                                : interpreter.init(model, table(), arena.span());
          ASSERT_TRUE(status.ok()) << status.text();
          for (int i = 0; i < 6; ++i) {
            if (net.has_state) interpreter.reset();
            std::vector<TensorBytes> got = infer(interpreter, {net.input});
            if (expected.empty()) expected = got;
            EXPECT_EQ(got, expected) << "run " << i << " over " << int{fill};
          }
          EXPECT_TRUE(arena.intact());
        }
    }
}

// ---- Alignment
// ----------------------------------------------------------------------------------------------------------------

TEST(Alignment, AModelAnywhereRunsOrSaysWhatItNeeds) {
  for (Type type : all_types)
    for (const test::OperatorNetwork& net : test::operator_networks(type, 1)) {
      File room(net.file.size() + 32);
      size_t base = (16 - reinterpret_cast<uintptr_t>(room.data()) % 16) % 16;
      std::vector<TensorBytes> expected = test::run_model(net.file, {net.input});
      for (size_t shift = 0; shift < 16; ++shift) {
        uint8_t* at = room.data() + base + shift;
        std::memcpy(at, net.file.data(), net.file.size());
        Model model;
        Where where;
        Status status = Model::open({at, net.file.size()}, model, where);
        if (!status.ok()) {
          EXPECT_NE(shift, 0u);
          EXPECT_EQ(status.code(), Code::invalid_call);
          EXPECT_NE(std::string(status.text()).find("multiple of 16"), std::string::npos);
          continue;
        }
        GuardedMemory arena(build_program(model, table()).arena_bytes_built());
        Interpreter interpreter;
        ASSERT_TRUE(interpreter.init(model, table(), arena.span()).ok()) << net.name << " at " << shift;
        EXPECT_EQ(infer(interpreter, {net.input}), expected) << net.name << " at " << shift;
      }
    }
}

TEST(Alignment, TheCallersBuffersAnywhereGiveTheSameOrAreRefused) {
  for (Type type : all_types)
    for (const test::OperatorNetwork& net : test::operator_networks(type, 1)) {
      std::vector<TensorBytes> expected = test::run_model(net.file, {net.input});
      Model model = open_model(bytes_of(net.file));
      BuildOptions options;
      options.caller_inputs = options.caller_outputs = true;
      GuardedMemory arena(65536);
      Interpreter interpreter;
      ASSERT_TRUE(interpreter.init(model, table(), arena.span(), options).ok()) << net.name;
      for (size_t shift = 0; shift < 16; ++shift) {
        GuardedMemory in(net.input.size(), shift), out(expected[0].size(), 15 - shift);
        auto bind = [&](const Span<uint8_t>& memory, bool input) {
          auto bytes = static_cast<uint32_t>(memory.size());
          Status status = input ? interpreter.bind_input(0, memory.data(), bytes)
                                : interpreter.bind_output(0, memory.data(), bytes);
          if (!status.ok()) {
            EXPECT_NE(reinterpret_cast<uintptr_t>(memory.data()) % element_bytes(type), 0u) << net.name;
            EXPECT_EQ(status.code(), Code::invalid_call);
            EXPECT_NE(std::string(status.text()).find("aligned to the size of the tensor's elements"),
                      std::string::npos);
          }
          return status.ok();
        };
        bool bound = bind(in.span(), true);
        GuardedMemory aligned(expected[0].size());
        Span<uint8_t> to = out.span();
        if (!bind(to, false)) {
          to = aligned.span();
          ASSERT_TRUE(bind(to, false));
        }
        if (!bound) continue;
        std::copy(net.input.begin(), net.input.end(), in.span().data());
        interpreter.reset();
        ASSERT_TRUE(interpreter.run().ok());
        EXPECT_EQ(TensorBytes(to.data(), to.data() + to.size()), expected[0]) << net.name << " at " << shift;
        EXPECT_TRUE(in.intact() && out.intact() && aligned.intact());
        EXPECT_TRUE(std::equal(net.input.begin(), net.input.end(), in.span().data()))
            << net.name << ": the caller's input was written";
      }
    }
}

// Converters put constants of 64 bits at multiples of four bytes. A Program that leaves them in the model passes its
// check and runs; under UBSan nobody reads them otherwise.
TEST(Alignment, ConstantsOf64BitsAtMultiplesOfFour) {
  using Add = int (*)(NetworkBuilder&);
  const Add networks[] = {
      [](NetworkBuilder& n) {
        return n.conv_2d(n.input(Type::int16, {1, 3, 3, 2}, per_tensor(0.1f)), {.channels = 3, .kernel = {2, 2}});
      },
      [](NetworkBuilder& n) {
        return n.depthwise_conv_2d(n.input(Type::int16, {1, 3, 3, 2}, per_tensor(0.1f)),
                                   {.channels = 4, .kernel = {2, 2}});
      },
      [](NetworkBuilder& n) {
        return n.transpose_conv(n.input(Type::int16, {1, 3, 3, 2}, per_tensor(0.1f)),
                                {.channels = 3, .kernel = {2, 2}});
      },
      [](NetworkBuilder& n) {
        return n.fully_connected(n.input(Type::int16, {2, 6}, per_tensor(0.1f)), {.channels = 3});
      },
      [](NetworkBuilder& n) {
        return n.unidirectional_sequence_lstm(n.input(Type::int16, {1, 2, 3}, per_tensor(0.1f)), {.units = 2});
      },
      [](NetworkBuilder& n) {
        return n.concatenation({n.input(Type::int64, {2, 3}), n.random_constant(Type::int64, {4, 3})}, 0);
      },
      [](NetworkBuilder& n) {
        n.input(Type::int8, {1});
        return n.transpose(n.random_constant(Type::int64, {2, 3}), {1, 0});
      },
      [](NetworkBuilder& n) {
        n.input(Type::int8, {1});
        return n.reshape(n.random_constant(Type::int64, {2, 3}), {6});
      },
      [](NetworkBuilder& n) {
        n.input(Type::int8, {1});
        return n.strided_slice(n.random_constant(Type::int64, {2, 3}),
                               {.begin = {0, 2}, .end = {2, 0}, .strides = {1, -1}});
      },
  };
  for (const Add& add : networks) {
    SCOPED_TRACE(&add - networks);
    NetworkBuilder n(6);
    n.output(add(n));
    std::vector<TensorBytes> inputs = {n.random_input(n.subgraph().inputs[0])};
    File file = n.write();
    std::vector<TensorBytes> expected = test::run_model(file, inputs);
    n.network.external_data = true;
    file = n.write();
    int moved = 0;
    for (size_t i = 0, buffers = open_model(bytes_of(file)).buffer_count(); i < n.subgraph().tensors.size(); ++i) {
      Model model = open_model(bytes_of(file));
      Model::Tensor tensor = model.subgraph(0).tensor(static_cast<uint32_t>(i));
      if (tensor.type() != Type::int64 || !tensor.is_constant()) continue;
      ASSERT_LT(tensor.buffer(), buffers);
      // A copy at the end, four bytes after a multiple of eight.
      uint64_t to = (file.size() + 7) / 8 * 8 + 4;
      File data(tensor.data().begin(), tensor.data().end());
      uint32_t buffer = tensor.buffer();
      file.resize(to);
      file.insert(file.end(), data.begin(), data.end());
      graph::overwrite(
          file, graph::find_field(file, {{schema::Model::buffers, static_cast<int>(buffer)}}, schema::Buffer::offset),
          to);
      ++moved;
    }
    ASSERT_GT(moved, 0);
    EXPECT_EQ(test::run_model(file, inputs), expected);
    Model model = open_model(bytes_of(file));
    ProgramOptions options;
    options.constants_in_model = true;
    BuiltProgram program = build_program(model, table(), options);
    GuardedMemory arena(program.arena_bytes_ready());
    Resources resources;
    resources.model = model.file();
    Interpreter interpreter;
    Status status = interpreter.init(bytes_of(program.bytes), *table().kernels, arena.span(), resources);
    ASSERT_TRUE(status.ok()) << describe(status, interpreter.where());
    EXPECT_EQ(infer(interpreter, inputs), expected);
  }
}

// ---- Unsupported operators
// ----------------------------------------------------------------------------------------------------

File with_three_unsupported_operators() {
  NetworkBuilder n;
  int x = n.input(Type::int8, {1, 4}, per_tensor(0.5f)), condition = n.input(Type::boolean, {1});
  int y = n.relu(x);
  y = n.op({.code = 98, .version = 7, .inputs = {y}}, {n.tensor(y)});  // LEAKY_RELU of a version to come
  y = n.custom("Secret", {y}, n.tensor(y));
  auto branch = [&](bool supported) {
    int subgraph = n.add_subgraph();
    int inner = n.input(Type::int8, {1, 4}, per_tensor(0.5f));
    n.output(supported ? n.relu(inner)
                       : n.op({.code = 77, .version = 2, .inputs = {inner}}, {n.tensor(inner)}));  // SHAPE
    n.select_subgraph(0);
    return subgraph;
  };
  int then = branch(true), otherwise = branch(false);
  n.output(n.if_(condition, {y}, then, otherwise, {n.tensor(y)}));
  return n.write();
}

TEST(UnsupportedOperators, AreAllNamedAtOnceWithVersionAndTypes) {
  std::string message = test::refusal(with_three_unsupported_operators());
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 2) << message;
  for (const char* part : {"operator 1 (LEAKY_RELU", "version 7", "operator 2 (", "Secret", "operator 0 (", "version 2",
                           "of subgraph 2", "int8"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in:\n" << message;
}

TEST(UnsupportedOperators, AreRefusedBeforeAnythingIsAllocated) {
  File file = with_three_unsupported_operators();
  Model model = open_model(bytes_of(file));
  for (size_t size : {size_t{0}, size_t{1}, size_t{4096}}) {
    GuardedMemory arena(size, 0, 0x3C);
    Interpreter interpreter;
    EXPECT_EQ(interpreter.init(model, table(), arena.span()).code(), Code::unsupported) << size;
    EXPECT_EQ(interpreter.where().node, 1);
    Span<uint8_t> span = arena.span();
    EXPECT_TRUE(std::all_of(span.begin(), span.end(), [](uint8_t b) { return b == 0x3C; })) << "the arena was written";
    EXPECT_TRUE(arena.intact());
  }
}

// ---- Weights outside the flatbuffer
// -----------------------------------------------------------------------------------------

TEST(WeightsOutside, EqualTheSameInside) {
  for (Type type : all_types)
    for (const std::string name :
         {"conv_2d", "fully_connected", "unidirectional_sequence_lstm", "svdf", "mul", "transpose", "strided_slice"}) {
      auto build = [&](bool outside, uint64_t inline_offset, TensorBytes* input) {
        NetworkBuilder n(8);
        graph::Quantization q =
            type == Type::float32 ? graph::Quantization{} : per_tensor(type == Type::int8 ? 0.05f : 0.0003f);
        int x = n.input(type,
                        name == "fully_connected" || name == "svdf" ? Shape{1, 6}
                        : name[0] == 'u'                            ? Shape{1, 2, 3}
                                                                    : Shape{1, 4, 3, 2},
                        q);
        int y = name == "conv_2d"           ? n.conv_2d(x, {.channels = 3, .kernel = {3, 3}})
                : name == "fully_connected" ? n.fully_connected(x, {.channels = 3})
                : name == "svdf"            ? n.svdf(x, {.units = 2, .memory = 3})
                : name == "mul"             ? n.mul(x, n.random_constant(type, {2}, q))
                : name == "transpose"       ? n.transpose(x, {0, 2, 1, 3})
                : name == "strided_slice"   ? n.strided_slice(x, {.begin = {0, 1}, .end = {1, 3}, .strides = {1, 1}})
                                            : n.unidirectional_sequence_lstm(x, {.units = 2});
        n.output(y);
        n.network.external_data = outside;
        n.network.inline_offset = inline_offset;
        File file = n.write();
        *input = n.random_input(x);
        return file;
      };
      if (type == Type::int16 && name == "svdf") continue;
      SCOPED_TRACE(name + " " + type_name(type));
      TensorBytes input;
      File inside = build(false, 0, &input), outside = build(true, 0, &input), marked = build(false, 1, &input);
      EXPECT_NE(inside, outside);
      EXPECT_NE(inside, marked);
      std::vector<TensorBytes> expected = test::run_model(inside, {input});
      EXPECT_EQ(test::run_model(outside, {input}), expected);
      EXPECT_EQ(test::run_model(marked, {input}), expected) << "an offset of 1 means inside";
      // Cut anywhere in the data behind the flatbuffer it is refused, never read beyond.
      Model model = open_model(bytes_of(outside));
      size_t begin = outside.size();
      for (uint32_t i = 0; i < model.buffer_count(); ++i)
        if (!model.buffer(i).empty())
          begin = std::min<size_t>(begin, static_cast<size_t>(model.buffer(i).data() - outside.data()));
      for (size_t size = begin; size < outside.size(); ++size) {
        File cut(outside.begin(), outside.begin() + static_cast<ptrdiff_t>(size));
        Model ignored;
        Where where;
        EXPECT_EQ(Model::open(bytes_of(cut), ignored, where).code(), Code::malformed) << size;
      }
    }
}

// ---- Broken files
// -----------------------------------------------------------------------------------------------------------

// Open, build and run, in an arena between guard zones, a hundred steps at most. What matters is that it ends and stays
// inside.
enum class Outcome { not_opened, not_built, ran };
Outcome survive(const File& file, const TensorBytes& input) {
  Model model;
  Where where;
  if (!Model::open(bytes_of(file), model, where).ok()) return Outcome::not_opened;
  GuardedMemory arena(8192);
  Interpreter net;
  if (!net.init(model, table(), arena.span()).ok()) {
    EXPECT_TRUE(arena.intact());
    return Outcome::not_built;
  }
  for (uint32_t i = 0; i < net.input_count(); ++i) {
    Tensor tensor = net.input(i);
    std::copy_n(input.begin(), std::min<size_t>(input.size(), tensor.bytes()), tensor.data<uint8_t>());
  }
  for (int step = 0; step < 100 && net.step() == Progress::more; ++step) {
  }
  EXPECT_TRUE(arena.intact());
  return Outcome::ran;
}

TEST(BrokenFiles, CutAtAnyByteOrWithAnyByteChangedEndInAnErrorOrAnInference) {
  NetworkBuilder n(2);
  int x = n.input(Type::int8, {1, 4, 4, 2}, per_tensor(0.1f, 3));
  int y = n.average_pool_2d(n.conv_2d(x, {.channels = 3, .kernel = {3, 3}}), {});
  n.output(n.softmax(n.fully_connected(n.reshape(n.add(y, y), {1, 12}), {.channels = 3})));
  File good = n.write();
  TensorBytes input = n.random_input(x);
  ASSERT_EQ(survive(good, input), Outcome::ran);
  auto start = std::chrono::steady_clock::now();
  for (size_t size = 0; size < good.size(); ++size) {
    File cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_EQ(survive(cut, input), Outcome::not_opened) << "cut to " << size;
  }
  int outcomes[3] = {};
  for (size_t at = 0; at < good.size(); ++at)
    for (uint8_t value : {uint8_t{0}, uint8_t{0xFF}, uint8_t{0x7F}, static_cast<uint8_t>(good[at] ^ 1),
                          static_cast<uint8_t>(good[at] ^ 0x80), static_cast<uint8_t>(good[at] + 4)}) {
      File damaged = good;
      damaged[at] = value;
      ++outcomes[static_cast<int>(survive(damaged, input))];
    }
  for (int count : outcomes) EXPECT_GT(count, 100);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

// Scales as far apart as floats go: refused, or computed without anything undefined.
TEST(BrokenFiles, WithExtremeScalesEndInAnErrorOrAnInference) {
  int outcomes[3] = {};
  for (Type type : all_types)
    for (const test::OperatorNetwork& net : test::operator_networks(type, 1)) {
      SCOPED_TRACE(net.name);
      Model model = open_model(bytes_of(net.file));
      for (uint32_t t = 0; t < model.subgraph(0).tensor_count(); ++t)
        for (float scale : {1e-45f, 1e-38f, 1e-20f, 1e-6f, 1e6f, 1e20f, 3e38f}) {
          File file = net.file;
          for (const float& old : model.subgraph(0).tensor(t).scales())
            graph::overwrite(file, static_cast<size_t>(reinterpret_cast<const uint8_t*>(&old) - net.file.data()),
                             scale);
          ++outcomes[static_cast<int>(survive(file, net.input))];
        }
    }
  EXPECT_EQ(outcomes[static_cast<int>(Outcome::not_opened)], 0);
  EXPECT_GT(outcomes[static_cast<int>(Outcome::not_built)], 100);
  EXPECT_GT(outcomes[static_cast<int>(Outcome::ran)], 100);
}

TEST(BrokenFiles, WhoseShapesAskForMoreThanThereIsAreRefusedAtOnce) {
  auto start = std::chrono::steady_clock::now();
  for (int32_t huge : {1 << 12, 1 << 15, 1 << 20, 1 << 28, INT32_MAX})
    for (Type type : all_types) {
      NetworkBuilder n;
      int x = n.input(type, {1, huge, huge, 1}, type == Type::float32 ? graph::Quantization{} : per_tensor(0.1f));
      n.output(n.relu(x));
      File file = n.write();
      Model model;
      Where where;
      if (!Model::open(bytes_of(file), model, where).ok()) continue;
      GuardedMemory arena(8192);
      Interpreter net;
      Status status = net.init(model, table(), arena.span());
      if (status.code() == Code::out_of_memory)
        EXPECT_GT(net.where().bytes, 8192u);
      else
        EXPECT_EQ(status.code(), Code::unsupported) << huge << ": " << status.text();  // 2 GB and more
    }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace linnet
