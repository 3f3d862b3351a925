#include "linnet/ops/quantize.h"

#include "linnet/graph/network_builder.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using graph::per_tensor;

TEST(Quantize, FloatRoundsHalvesAwayFromZeroAndSaturates) {
  NetworkBuilder n;
  n.output(n.quantize(n.input(Type::float32, {9}), Type::int8, per_tensor(0.5f, 3)));
  float inf = std::numeric_limits<float>::infinity();
  auto y = test::run_single<float, int8_t>(n.write(), {0.f, 0.25f, -0.25f, 0.2499999f, -0.75f, 1e9f, -1e9f, inf, -inf});
  EXPECT_EQ(y, (std::vector<int8_t>{3, 4, 2, 3, 1, 127, -128, 127, -128}));
}

TEST(Quantize, JustBelowAHalfStaysDown) {
  NetworkBuilder n;
  n.output(n.quantize(n.input(Type::float32, {2}), Type::int16, per_tensor(1.0f)));
  EXPECT_EQ((test::run_single<float, int16_t>(n.write(), {0.49999997f, -0.49999997f})), (std::vector<int16_t>{0, 0}));
}

TEST(Quantize, NotANumberIsSomeNumber) {
  NetworkBuilder n;
  n.output(n.quantize(n.input(Type::float32, {1}), Type::uint8, per_tensor(1.0f, 7)));
  EXPECT_EQ((test::run_single<float, uint8_t>(n.write(), {std::numeric_limits<float>::quiet_NaN()})).size(), 1u);
}

TEST(Quantize, RequantisesBetweenTypes) {
  NetworkBuilder n;
  int x = n.input(Type::int16, {4}, per_tensor(0.25f));
  n.output(n.quantize(x, Type::int8, per_tensor(0.5f, -1)));
  n.output(n.quantize(x, Type::int32, per_tensor(0.125f)));
  auto y = test::run_model(n.write(), {test::to_bytes<int16_t>({3, -3, 1000, -32768})});
  EXPECT_EQ(test::from_bytes<int8_t>(y.at(0)), (std::vector<int8_t>{1, -2, 127, -128}));
  EXPECT_EQ(test::from_bytes<int32_t>(y.at(1)), (std::vector<int32_t>{6, -6, 2000, -65536}));
}

TEST(Quantize, SignFlipsBetweenInt8AndUint8) {
  NetworkBuilder n;
  int x = n.input(Type::int8, {3}, per_tensor(0.5f, -128));
  n.output(n.quantize(n.quantize(x, Type::uint8, per_tensor(0.5f, 0)), Type::int8, per_tensor(0.5f, -128)));
  EXPECT_EQ(test::run_single<int8_t>(n.write(), {-128, 0, 127}), (std::vector<int8_t>{-128, 0, 127}));
}

TEST(Quantize, ScalarWithoutAShapeVector) {
  NetworkBuilder n;
  int x = n.input(Type::float32, {});
  n.tensor(x).omit_shape = true;
  n.output(n.quantize(x, Type::int8, per_tensor(1.0f)));
  EXPECT_EQ((test::run_single<float, int8_t>(n.write(), {41.6f})), (std::vector<int8_t>{42}));
}

TEST(Quantize, BlocksAndLags) {
  NetworkBuilder n;
  int x = n.input(Type::float32, {2, 3, 5, 7});
  int a = n.quantize(x, Type::int16, per_tensor(1 / 100.f));
  int b = n.quantize(a, Type::int8, per_tensor(1 / 100.f, 3));
  n.output(n.quantize(b, Type::int32, per_tensor(1 / 1000.f)));
  std::vector<TensorBytes> inputs = {n.random_input(x)};
  test::check_blocks<ops::quantize::FromFloat<int16_t>>(n.write(), inputs);
  test::check_blocks<ops::quantize::FromInt<int16_t, int8_t>>(n.write(), inputs);
  // Nearer, the first output falls on the low bytes of a float, which do not show.
  test::check_lags<ops::quantize::FromFloat<int16_t>>(n.write(), inputs, false);
  test::check_lags<ops::quantize::FromInt<int16_t, int8_t>>(n.write(), inputs);
  test::check_lags<ops::quantize::FromInt<int8_t, int32_t>>(n.write(), inputs);
}

TEST(Quantize, RefusesWhatItCannotDo) {
  auto refused = [](Type from, Type to, graph::Quantization q, std::vector<int32_t> shape) {
    NetworkBuilder n;
    int y = n.quantize(n.input(from, {2, 3}, from == Type::float32 ? graph::Quantization() : per_tensor(1.0f)), to, q);
    n.tensor(y).shape = shape;
    n.output(y);
    return test::refusal(n.write());
  };
  EXPECT_NE(refused(Type::float32, Type::int8, {}, {2, 3}).find("scale"), std::string::npos);
  EXPECT_NE(refused(Type::float32, Type::int8, graph::per_channel({1, 1, 1}, 1), {2, 3}).find("per channel"), std::string::npos);
  EXPECT_NE(refused(Type::float32, Type::int8, per_tensor(1), {3, 2}).find("shape"), std::string::npos);
  EXPECT_NE(refused(Type::int32, Type::int32, per_tensor(1), {2, 3}).find("types"), std::string::npos);
  EXPECT_NE(refused(Type::int8, Type::int8, per_tensor(1e-30f), {2, 3}).find("factor"), std::string::npos);
}

}  // namespace
}  // namespace linnet
