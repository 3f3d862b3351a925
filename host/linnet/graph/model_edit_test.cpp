// Changing a model keeps everything else of it.
#include "linnet/graph/model_edit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "linnet/graph/network_builder.h"
#include "linnet/run/program_builder.h"

namespace linnet::graph {
namespace {

Model opened(const std::vector<uint8_t>& file) { return open_model({file.data(), file.size()}); }

std::vector<uint8_t> bytes_of(Bytes b) { return {b.begin(), b.end()}; }

// Everything a reader can ask of an operator, but not where it stands.
std::string operator_text(const Model::Operator& op) {
  std::string text = std::to_string(op.builtin_code()) + " v" + std::to_string(op.version());
  for (int32_t t : op.inputs()) text += " " + std::to_string(t);
  text += " ->";
  for (int32_t t : op.outputs()) text += " " + std::to_string(t);
  return text;
}

std::vector<std::string> operators_of(const Model& model) {
  std::vector<std::string> list;
  for (uint32_t i = 0; i < model.subgraph(0).operator_count(); ++i) list.push_back(operator_text(model.subgraph(0).op(i)));
  return list;
}

void expect_same_tensors(const Model& a, const Model& b) {
  ASSERT_EQ(a.subgraph_count(), b.subgraph_count());
  for (uint32_t s = 0; s < a.subgraph_count(); ++s) {
    Model::Subgraph x = a.subgraph(s), y = b.subgraph(s);
    ASSERT_EQ(x.tensor_count(), y.tensor_count());
    EXPECT_TRUE(std::equal(x.inputs().begin(), x.inputs().end(), y.inputs().begin(), y.inputs().end()));
    EXPECT_TRUE(std::equal(x.outputs().begin(), x.outputs().end(), y.outputs().begin(), y.outputs().end()));
    for (uint32_t t = 0; t < x.tensor_count(); ++t) {
      Model::Tensor p = x.tensor(t), q = y.tensor(t);
      EXPECT_STREQ(p.name(), q.name());
      EXPECT_EQ(p.type(), q.type());
      EXPECT_TRUE(std::equal(p.dims().begin(), p.dims().end(), q.dims().begin(), q.dims().end()));
      EXPECT_EQ(p.is_variable(), q.is_variable());
      ASSERT_EQ(p.is_constant(), q.is_constant());
      if (p.is_constant()) {
        EXPECT_EQ(bytes_of(a.buffer(p.buffer())), bytes_of(b.buffer(q.buffer())));
      }
    }
  }
}

// Three branches whose operators can run in many orders. `external`: constants behind the flatbuffer.
std::vector<uint8_t> branches(bool external) {
  NetworkBuilder n(3);
  n.network.external_data = external;
  n.network.metadata.push_back({"other", {1, 2, 3, 4, 5}});
  int x = n.input(Type::int8, {1, 4, 4, 2}, per_tensor(0.1f));
  int a = n.conv_2d(x, {.channels = 3, .kernel = {3, 3}}), b = n.conv_2d(x, {.channels = 3});
  int c = n.relu(x);
  n.output(n.add(a, b));
  n.output(n.softmax(c));
  return n.write();
}

class ModelEditTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(DataInsideAndBehind, ModelEditTest, testing::Bool());

TEST_P(ModelEditTest, NoChangeIsTheSameBytes) {
  std::vector<uint8_t> file = branches(GetParam());
  EXPECT_EQ(edit_model(opened(file), {}), file);
}

TEST_P(ModelEditTest, OperatorsMoveAndNothingElseDoes) {
  std::vector<uint8_t> file = branches(GetParam());
  std::vector<int32_t> order = {2, 4, 1, 0, 3}, back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
  std::vector<uint8_t> moved = edit_model(opened(file), {.order = order, .metadata = {}});
  std::vector<std::string> before = operators_of(opened(file)), after = operators_of(opened(moved));
  ASSERT_EQ(after.size(), order.size());
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(after[i], before[static_cast<size_t>(order[i])]);
  expect_same_tensors(opened(file), opened(moved));
  EXPECT_EQ(bytes_of(opened(moved).metadata("other")), (std::vector<uint8_t>{1, 2, 3, 4, 5}));
  std::vector<uint8_t> returned = edit_model(opened(moved), {.order = back, .metadata = {}});
  EXPECT_EQ(operators_of(opened(returned)), before);
  expect_same_tensors(opened(file), opened(returned));
}

TEST_P(ModelEditTest, MetadataIsAddedAndReplaced) {
  std::vector<uint8_t> file = branches(GetParam());
  std::vector<uint8_t> first = edit_model(opened(file), {.order = {}, .metadata = {{"new", {9, 8, 7}}}});
  std::vector<uint8_t> second = edit_model(opened(first), {.order = {}, .metadata = {{"new", {6}}, {"other", {4, 4}}}});
  EXPECT_EQ(bytes_of(opened(first).metadata("new")), (std::vector<uint8_t>{9, 8, 7}));
  EXPECT_EQ(bytes_of(opened(first).metadata("other")), (std::vector<uint8_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(opened(second).metadata_count(), 2u);
  EXPECT_EQ(bytes_of(opened(second).metadata("new")), (std::vector<uint8_t>{6}));
  EXPECT_EQ(bytes_of(opened(second).metadata("other")), (std::vector<uint8_t>{4, 4}));
  for (const auto& edited : {first, second}) {
    EXPECT_EQ(operators_of(opened(edited)), operators_of(opened(file)));
    expect_same_tensors(opened(file), opened(edited));
  }
}

TEST(ModelEdit, RefusesAnOrderThatIsNone) {
  std::vector<uint8_t> file = branches(false);
  for (std::vector<int32_t> order : {std::vector<int32_t>{0, 1, 2}, {0, 1, 2, 3, 3}, {0, 1, 2, 3, 5}, {-1, 0, 1, 2, 3}})
    EXPECT_THROW(edit_model(opened(file), {.order = order, .metadata = {}}), std::invalid_argument);
}

}  // namespace
}  // namespace linnet::graph
