#include "linnet/ops/relu.h"

#include "linnet/graph/network_builder.h"
#include "tests/support/block_check.h"
#include "tests/support/lag_check.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

using graph::NetworkBuilder;
using graph::per_tensor;

TEST(Relu, FloatClampsBelowZeroAndAboveSix) {
  NetworkBuilder n(1);
  int x = n.input(Type::float32, {1, 5});
  n.output(n.relu(x));
  n.output(n.relu6(x));
  auto out = test::run_model(n.write(), {test::to_bytes<float>({-1, 0, 2, 6, 7})});
  EXPECT_EQ(test::from_bytes<float>(out.at(0)), (std::vector<float>{0, 0, 2, 6, 7}));
  EXPECT_EQ(test::from_bytes<float>(out.at(1)), (std::vector<float>{0, 0, 2, 6, 6}));
}

TEST(Relu, Int8MovesToTheOutputsScale) {
  NetworkBuilder n(1);
  int x = n.input(Type::int8, {6}, per_tensor(0.5f, 10));
  n.output(n.relu(x, per_tensor(0.25f, -100)));
  n.output(n.relu6(x, per_tensor(0.25f, -100)));
  auto out = test::run_model(n.write(), {test::to_bytes<int8_t>({-128, 9, 10, 11, 30, 127})});
  EXPECT_EQ(test::from_bytes<int8_t>(out.at(0)), (std::vector<int8_t>{-100, -100, -100, -98, -60, 127}));
  EXPECT_EQ(test::from_bytes<int8_t>(out.at(1)), (std::vector<int8_t>{-100, -100, -100, -98, -76, -76}));  // 6 is 24 steps
}

TEST(Relu, BlocksAndOverlapGiveTheSameBits) {
  for (Type type : {Type::float32, Type::int8, Type::int16}) {
    NetworkBuilder n(3);
    auto q = type == Type::float32 ? graph::Quantization{} : per_tensor(type == Type::int8 ? 0.1f : 0.001f, type == Type::int8 ? -5 : 0);
    int x = n.input(type, {2, 5, 3, 7}, q);
    n.output(n.relu(x, q));
    std::vector<TensorBytes> inputs = {n.random_input(x)};
    auto file = n.write();
    test::run_model(file, inputs);
    if (type == Type::float32) {
      test::check_blocks<ops::relu::Float>(file, inputs);
      test::check_lags<ops::relu::Float>(file, inputs);
    } else if (type == Type::int8) {
      test::check_blocks<ops::relu::Int<int8_t>>(file, inputs);
      test::check_lags<ops::relu::Int<int8_t>>(file, inputs);
    } else {
      test::check_blocks<ops::relu::Int<int16_t>>(file, inputs);
      test::check_lags<ops::relu::Int<int16_t>>(file, inputs);
    }
  }
}

TEST(Relu, RefusesWhatItCannotCompute) {
  NetworkBuilder n(1);
  int x = n.input(Type::int8, {6}, per_tensor(1e9f, 0));
  n.output(n.relu(x, per_tensor(1e-9f, 0)));
  EXPECT_NE(test::refusal(n.write()).find("too far apart"), std::string::npos);
}

}  // namespace
}  // namespace linnet
