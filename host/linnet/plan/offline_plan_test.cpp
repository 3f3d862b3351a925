#include "linnet/plan/offline_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "linnet/graph/network_builder.h"
#include "linnet/run/program_builder.h"

namespace linnet::plan {
namespace {

struct Words {
  std::vector<int32_t> head, offsets;
};
Words read(const OfflinePlan& plan) {
  std::vector<int32_t> words(plan.metadata.size() / 4);
  std::memcpy(words.data(), plan.metadata.data(), words.size() * 4);
  return {{words.begin(), words.begin() + 3}, {words.begin() + 3, words.end()}};
}

OfflinePlan planned(graph::NetworkBuilder& n) {
  std::vector<uint8_t> file = n.write();
  return offline_plan(open_model({file.data(), file.size()}));
}

bool apart(int32_t a, int32_t a_bytes, int32_t b, int32_t b_bytes) { return a + a_bytes <= b || b + b_bytes <= a; }

TEST(OfflinePlan, GivesEveryTensorOfTheArenaAPlaceOfItsOwnAlsoAReshapesResult) {
  graph::NetworkBuilder n;
  int x = n.input(Type::int8, {1, 4, 4, 2}, graph::per_tensor(0.1f));
  int y = n.relu(x);
  int z = n.reshape(y, {1, 32});
  n.output(z);
  Words words = read(planned(n));
  EXPECT_EQ(words.head, (std::vector<int32_t>{1, 0, static_cast<int32_t>(words.offsets.size())}));
  auto at = [&](int t) { return words.offsets[static_cast<size_t>(t)]; };
  for (int t : {x, y, z}) EXPECT_TRUE(at(t) >= 0 && at(t) % 16 == 0) << t;
  EXPECT_TRUE(apart(at(x), 32, at(y), 32));
  EXPECT_TRUE(apart(at(y), 32, at(z), 32));
  EXPECT_EQ(std::count(words.offsets.begin(), words.offsets.end(), -1), static_cast<int64_t>(words.offsets.size()) - 3);
}

TEST(OfflinePlan, LeavesRoomForTheScratchOfTheOtherEngine) {
  graph::NetworkBuilder n;
  int x = n.input(Type::int8, {1, 2, 2, 4}, graph::per_tensor(0.1f));
  n.output(n.transpose_conv(x, {.channels = 4, .kernel = {3, 3}, .stride = {2, 2}}));
  // 16 bytes in, 64 out, and 64 sums of 4 bytes.
  EXPECT_EQ(planned(n).arena_bytes, 16 + 64 + 256);
}

TEST(OfflinePlan, LeavesVariablesToTheOtherEngine) {
  graph::NetworkBuilder n;
  int x = n.input(Type::int8, {1, 8}, graph::per_tensor(0.1f));
  n.output(n.svdf(x, {.units = 4, .memory = 3}));
  std::vector<uint8_t> file = n.write();
  Model model = open_model({file.data(), file.size()});
  Words words = read(offline_plan(model));
  int variables = 0;
  for (uint32_t t = 0; t < model.subgraph(0).tensor_count(); ++t) {
    if (!model.subgraph(0).tensor(t).is_variable()) continue;
    ++variables;
    EXPECT_EQ(words.offsets[t], -1);
  }
  EXPECT_EQ(variables, 1);
}

}  // namespace
}  // namespace linnet::plan
