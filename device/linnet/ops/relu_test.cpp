#include "linnet/graph/network_builder.h"
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

}  // namespace
}  // namespace linnet
