#include "linnet/ops/transpose_conv.h"

#include "tests/support/convolution_check.h"

namespace linnet {
namespace {

using graph::Activation;
using graph::ConvSpec;
using graph::NetworkBuilder;
using graph::Padding;
using test::AddOperator;

AddOperator transpose(const ConvSpec& spec) {
  return [spec](NetworkBuilder& n, int x) { return n.transpose_conv(x, spec); };
}

std::vector<float> counted(int n) {
  std::vector<float> values(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i + 1);
  return values;
}

TEST(TransposeConv, PaddingThatIsNoMultipleOfTheStride) {
  NetworkBuilder n;
  int x = n.input(Type::float32, {1, 3, 3, 1});
  int filter = n.constant(Type::float32, {1, 4, 4, 1}, counted(16));
  n.output(n.transpose_conv(x, {.channels = 1, .kernel = {4, 4}, .stride = {2, 2}, .filter = filter, .bias = graph::absent}));
  EXPECT_EQ((test::run_single<float>(n.write(), counted(9))),
            (std::vector<float>{6,  17,  20,  29,  34,  21,  18, 46,  58,  70,  86,  51,  38, 94,  106, 134, 150, 87,
                                54, 118, 142, 142, 170, 93,  98, 214, 238, 254, 282, 153, 70, 149, 164, 169, 186, 99}));
}

// The definition: input pixel i adds to outputs i * stride - padding + k. Whole numbers, so the order does not matter.
std::vector<float> scattered(const std::vector<float>& in, int rows, const std::vector<float>& filter, int size, int stride, int padding, int out_rows) {
  std::vector<float> out(static_cast<size_t>(out_rows * out_rows));
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < rows; ++x)
      for (int ky = 0; ky < size; ++ky)
        for (int kx = 0; kx < size; ++kx) {
          int oy = y * stride - padding + ky, ox = x * stride - padding + kx;
          if (oy < 0 || ox < 0 || oy >= out_rows || ox >= out_rows) continue;
          out[static_cast<size_t>(oy * out_rows + ox)] += in[static_cast<size_t>(y * rows + x)] * filter[static_cast<size_t>(ky * size + kx)];
        }
  return out;
}

TEST(TransposeConv, SweepOfFiltersAndStrides) {
  for (int size = 2; size <= 6; ++size)
    for (int stride = 1; stride <= 4; ++stride)
      for (Padding padding : {Padding::same, Padding::valid}) {
        const int rows = 3;
        NetworkBuilder n;
        int x = n.input(Type::float32, {1, rows, rows, 1});
        int filter = n.constant(Type::float32, {1, size, size, 1}, counted(size * size));
        int y = n.transpose_conv(x, {.channels = 1, .kernel = {size, size}, .stride = {stride, stride}, .padding = padding, .filter = filter, .bias = graph::absent});
        n.output(y);
        int out_rows = n.tensor(y).shape[1];
        int total = (rows - 1) * stride + size - out_rows;
        EXPECT_EQ((test::run_single<float>(n.write(), counted(9))),
                  scattered(counted(9), rows, counted(size * size), size, stride, total > 0 ? total / 2 : 0, out_rows))
            << size << " " << stride << " " << static_cast<int>(padding);
      }
}

const ConvSpec shapes[] = {
    {.channels = 3, .kernel = {3, 3}, .stride = {2, 2}},
    {.channels = 2, .kernel = {2, 4}, .stride = {1, 3}, .padding = Padding::valid, .activation = Activation::relu},
    {.channels = 1, .kernel = {1, 5}, .stride = {3, 2}, .activation = Activation::relu6, .per_channel = false},
};

template <class C>
void check_shapes(Type type, Type bias = Type::none) {
  for (ConvSpec spec : shapes) {
    spec.bias_type = bias;
    test::check_blocks_and_batches<C>(type, {2, 4, 3, 2}, transpose(spec));
    spec.activation = Activation::none;
    test::check_overlap<C>(type, {2, 4, 3, 2}, transpose(spec));
  }
}

TEST(TransposeConv, FloatInBlocksAndInPlace) { check_shapes<ops::transpose_conv::Float>(Type::float32); }
TEST(TransposeConv, Int8InBlocksAndInPlace) { check_shapes<ops::transpose_conv::Int8>(Type::int8); }
TEST(TransposeConv, Int16InBlocksAndInPlace) {
  check_shapes<ops::transpose_conv::Int16Wide>(Type::int16);
  check_shapes<ops::transpose_conv::Int16>(Type::int16, Type::int32);
}

TEST(TransposeConv, AbsentBiasIsZeros) {
  ConvSpec spec{.channels = 3, .kernel = {3, 3}, .stride = {2, 2}};
  test::check_optional_bias(Type::float32, {1, 3, 3, 2}, transpose(spec));
  test::check_optional_bias(Type::int8, {1, 3, 3, 2}, transpose(spec));
  test::check_optional_bias(Type::int16, {1, 3, 3, 2}, transpose(spec));
  spec.bias_type = Type::int32;
  test::check_optional_bias(Type::int16, {1, 3, 3, 2}, transpose(spec));
}

TEST(TransposeConv, RefusesWhatItDoesNotCover) {
  auto message = [](const std::function<void(NetworkBuilder&, graph::OperatorSpec&)>& change) {
    NetworkBuilder n;
    int x = n.input(Type::float32, {1, 3, 3, 2});
    n.output(n.transpose_conv(x, {.channels = 2, .kernel = {2, 2}, .stride = {2, 2}}));
    change(n, n.last_operator());
    return test::refusal(n.write());
  };
  for (int32_t hostile : {0, -1, INT32_MIN, INT32_MAX})
    for (uint8_t field : std::initializer_list<uint8_t>{1, 2})
      EXPECT_NE(message([&](NetworkBuilder&, graph::OperatorSpec& op) {
                  std::erase_if(op.options, [&](const graph::Option& o) { return o.field == field; });
                  op.options.push_back({field, hostile});
                }).find("make no sense"), std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, graph::OperatorSpec& op) { n.tensor(op.outputs[0]).shape[3] = 3; }).find("do not match"), std::string::npos);
  EXPECT_NE(message([](NetworkBuilder& n, graph::OperatorSpec& op) { n.tensor(op.outputs[0]).shape[0] = 2; }).find("do not match"), std::string::npos);
}

}  // namespace
}  // namespace linnet
