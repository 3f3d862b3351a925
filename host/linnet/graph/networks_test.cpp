#include "linnet/graph/networks.h"

#include <gtest/gtest.h>

#include "linnet/run/catalogue.h"
#include "linnet/run/program_builder.h"

namespace linnet::graph {
namespace {

class NamedNetworks : public testing::TestWithParam<size_t> {
 protected:
  const NamedNetwork& network() { return named_networks()[GetParam()]; }
};

TEST_P(NamedNetworks, CanBeBuiltOfBothTypes) {
  for (Type type : {Type::int8, Type::float32}) {
    std::vector<uint8_t> file = network().make(type);
    BuiltProgram program = build_program(open_model({file.data(), file.size()}), catalogue().table);
    EXPECT_GT(program.header().arena_bytes, 0u);
  }
}

TEST_P(NamedNetworks, AreTheSameEveryTime) { EXPECT_EQ(network().make(Type::int8), network().make(Type::int8)); }

INSTANTIATE_TEST_SUITE_P(All, NamedNetworks, testing::Range<size_t>(0, named_networks().size()),
                         [](const auto& which) { return named_networks()[which.param].name; });

TEST(WattsStrogatz, HasAsManyNodesAsAskedFor) {
  std::vector<uint8_t> file = watts_strogatz({.nodes = 20, .stages = 2, .seed = 9});
  Model model = open_model({file.data(), file.size()});
  uint32_t depthwise = 0;
  for (uint32_t i = 0; i < model.subgraph(0).operator_count(); ++i)
    depthwise += model.subgraph(0).op(i).builtin_code() == 4;
  EXPECT_EQ(depthwise, 40u);
}

}  // namespace
}  // namespace linnet::graph
