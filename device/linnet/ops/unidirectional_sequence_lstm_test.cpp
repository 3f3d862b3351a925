#include "linnet/ops/unidirectional_sequence_lstm.h"

#include <cmath>

#include "linnet/graph/network_builder.h"
#include "linnet/run/catalogue.h"
#include "tests/support/block_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::LstmSpec;
using graph::NetworkBuilder;
using graph::per_tensor;

graph::Quantization input_quantization(Type type) {
  return type == Type::int8 ? per_tensor(0.03f, -5) : type == Type::int16 ? per_tensor(0.0002f) : graph::Quantization();
}
const Type types[] = {Type::float32, Type::int8, Type::int16};

// The definition in double, from the network's own weights, scales and zero points.
std::vector<double> definition(NetworkBuilder& n, const TensorBytes& input, bool time_major) {
  auto& op = n.last_operator();
  auto values = [&](int index, const TensorBytes& bytes) {
    const graph::TensorSpec& t = n.tensor(index);
    std::vector<double> v;
    double scale = t.quantization.scales.empty() ? 1 : t.quantization.scales[0];
    double zero = t.quantization.zero_points.empty() ? 0 : static_cast<double>(t.quantization.zero_points[0]);
    auto append = [&](auto example) {
      for (auto x : test::from_bytes<decltype(example)>(bytes)) v.push_back((static_cast<double>(x) - zero) * scale);
    };
    switch (t.type) {
      case Type::float32: append(0.0f); break;
      case Type::int8: append(int8_t{}); break;
      case Type::int16: append(int16_t{}); break;
      case Type::int32: append(int32_t{}); break;
      default: append(int64_t{}); break;
    }
    return v;
  };
  auto constant = [&](size_t i) { return values(op.inputs[i], n.tensor(op.inputs[i]).data); };
  std::vector<double> x = values(op.inputs[0], input), w[4], r[4], b[4];
  for (size_t g = 0; g < 4; ++g) w[g] = constant(1 + g), r[g] = constant(5 + g), b[g] = constant(12 + g);
  const auto& in = n.tensor(op.inputs[0]).shape;
  auto steps = static_cast<size_t>(in[time_major ? 0 : 1]), batches = static_cast<size_t>(in[time_major ? 1 : 0]);
  auto features = static_cast<size_t>(in[2]), units = b[0].size();
  std::vector<double> y(steps * batches * units);
  for (size_t batch = 0; batch < batches; ++batch) {
    std::vector<double> h(units), c(units);
    for (size_t t = 0; t < steps; ++t) {
      size_t place = time_major ? t * batches + batch : batch * steps + t;
      std::vector<double> next(units);
      for (size_t u = 0; u < units; ++u) {
        double gate[4];
        for (size_t g = 0; g < 4; ++g) {
          gate[g] = b[g][u];
          for (size_t i = 0; i < features; ++i) gate[g] += w[g][u * features + i] * x[place * features + i];
          for (size_t i = 0; i < units; ++i) gate[g] += r[g][u * units + i] * h[i];
          gate[g] = g == 2 ? std::tanh(gate[g]) : 1 / (1 + std::exp(-gate[g]));
        }
        c[u] = gate[1] * c[u] + gate[0] * gate[2];
        next[u] = gate[3] * std::tanh(c[u]);
      }
      h = next;
      for (size_t u = 0; u < units; ++u) y[place * units + u] = h[u];
    }
  }
  return y;
}

TEST(Lstm, FollowsTheDefinition) {
  for (Type type : types)
    for (bool time_major : {false, true}) {
      NetworkBuilder n(4);
      int x = n.input(type, {2, 5, 6}, input_quantization(type));
      n.output(n.unidirectional_sequence_lstm(x, {.units = 7, .time_major = time_major}));
      TensorBytes data = n.random_input(x);
      std::vector<double> want = definition(n, data, time_major);
      TensorBytes got = test::run_model(n.write(), {data}).at(0);
      for (size_t i = 0; i < want.size(); ++i) {
        double y = type == Type::float32 ? static_cast<double>(test::from_bytes<float>(got)[i])
                   : type == Type::int8  ? test::from_bytes<int8_t>(got)[i] / 128.0
                                         : test::from_bytes<int16_t>(got)[i] / 32768.0;
        ASSERT_NEAR(y, want[i], type == Type::float32 ? 2e-6 : type == Type::int8 ? 0.02 : 0.003) << type_name(type) << " " << i;
      }
    }
}

TEST(Lstm, BlocksOfBatches) {
  for (bool time_major : {false, true}) {
    NetworkBuilder n(5);
    std::vector<TensorBytes> inputs;
    for (Type type : types) {
      int x = n.input(type, {4, 3, 5}, input_quantization(type));
      inputs.push_back(n.random_input(x));
      n.output(n.unidirectional_sequence_lstm(x, {.units = 6, .time_major = time_major, .cell_clip = 0.3f}));
    }
    test::check_blocks<ops::unidirectional_sequence_lstm::Float>(n.write(), inputs, 5);
    test::check_blocks<ops::unidirectional_sequence_lstm::Int<int8_t>>(n.write(), inputs, 5);
    test::check_blocks<ops::unidirectional_sequence_lstm::Int<int16_t>>(n.write(), inputs, 5);
  }
}

TEST(Lstm, BatchesAreIndependent) {
  for (Type type : types) {
    NetworkBuilder three(3), one(3);
    LstmSpec spec = {.units = 4};
    int x = three.input(type, {3, 2, 5}, input_quantization(type));
    three.output(three.unidirectional_sequence_lstm(x, spec));
    one.output(one.unidirectional_sequence_lstm(one.input(type, {1, 2, 5}, input_quantization(type)), spec));
    TensorBytes data = three.random_input(x), all = test::run_model(three.write(), {data}).at(0);
    for (size_t k = 0; k < 3; ++k) {
      auto part = [&](const TensorBytes& t) { return TensorBytes(t.begin() + static_cast<ptrdiff_t>(k * t.size() / 3), t.begin() + static_cast<ptrdiff_t>((k + 1) * t.size() / 3)); };
      EXPECT_EQ(test::run_model(one.write(), {part(data)}).at(0), part(all));
    }
  }
}

// A sequence at once, and step by step through the state, are the same.
TEST(Lstm, StateCarriesOver) {
  for (Type type : types) {
    NetworkBuilder long_one(2), short_one(2);
    int x = long_one.input(type, {1, 6, 3}, input_quantization(type));
    long_one.output(long_one.unidirectional_sequence_lstm(x, {.units = 5}));
    short_one.output(short_one.unidirectional_sequence_lstm(short_one.input(type, {1, 1, 3}, input_quantization(type)), {.units = 5}));
    TensorBytes data = long_one.random_input(x), all = test::run_model(long_one.write(), {data}).at(0), pieces;
    std::vector<uint8_t> file = short_one.write();
    Model model = open_model({file.data(), file.size()});
    BuiltProgram program = build_program(model, catalogue().table);
    GuardedMemory arena(program.arena_bytes_ready());
    Interpreter net;
    ASSERT_TRUE(net.init({program.bytes.data(), program.bytes.size()}, *catalogue().table.kernels, arena.span()).ok());
    for (size_t t = 0; t < 6; ++t) {
      auto step = static_cast<ptrdiff_t>(data.size() / 6);
      TensorBytes y = infer(net, {{data.begin() + static_cast<ptrdiff_t>(t) * step, data.begin() + static_cast<ptrdiff_t>(t + 1) * step}}).at(0);
      pieces.insert(pieces.end(), y.begin(), y.end());
    }
    EXPECT_EQ(pieces, all);
  }
}

TEST(Lstm, CostsOfTheLargestSizes) {
  ops::unidirectional_sequence_lstm::FloatParams p = {{1, 1, INT32_MAX, 1, 0}, 0};
  EXPECT_EQ(ops::unidirectional_sequence_lstm::Float::cost(p).macs, 4 * (uint64_t{INT32_MAX} + 1));
}

TEST(Lstm, RefusesWhatItCannotDo) {
  auto refused = [](auto change) {
    NetworkBuilder n;
    n.output(n.unidirectional_sequence_lstm(n.input(Type::int8, {2, 3, 4}, per_tensor(0.03f, 1)), {.units = 5}));
    change(n, n.last_operator());
    return test::refusal(n.write());
  };
  auto extra = [](NetworkBuilder& n) { return n.random_constant(Type::int16, {5}, per_tensor(1)); };
  EXPECT_NE(refused([&](auto& n, auto& op) { int t = extra(n); op.inputs[10] = t; }).find("peephole"), std::string::npos);
  EXPECT_NE(refused([&](auto& n, auto& op) { int t = extra(n); op.inputs[16] = t; }).find("projection"), std::string::npos);
  EXPECT_NE(refused([&](auto& n, auto& op) { int t = extra(n); op.inputs[21] = t; }).find("layer normalisation"), std::string::npos);
  EXPECT_NE(refused([](auto&, auto& op) { op.options[0].value = int8_t{1}; }).find("TANH"), std::string::npos);
  EXPECT_NE(refused([](auto& n, auto& op) { n.tensor(op.inputs[19]).quantization = per_tensor(0.001f); }).find("power of two"), std::string::npos);
  EXPECT_NE(refused([](auto& n, auto& op) { n.tensor(op.inputs[18]).quantization = {}; }).find("one scale"), std::string::npos);
  EXPECT_NE(refused([](auto& n, auto& op) { n.tensor(op.inputs[3]).shape = {4, 5}; }).find("sizes"), std::string::npos);
  EXPECT_NE(refused([](auto& n, auto& op) { n.tensor(op.inputs[14]).type = Type::int64; n.tensor(op.inputs[14]).data.resize(40); }).find("types and sizes"), std::string::npos);
}

}  // namespace
}  // namespace linnet
