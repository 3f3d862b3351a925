#include "linnet/plan/offline_plan.h"

#include <cstring>
#include <optional>
#include <stdexcept>

#include "linnet/plan/checker.h"
#include "linnet/plan/placement.h"

namespace linnet::plan {
namespace {

constexpr int64_t alignment = 16;
constexpr int32_t placed_by_tflm = -1;

struct Lifetime {
  int64_t first, last;
};

// As TFLM counts: inputs from before the first operator, results from their operator, outputs through the last one.
std::vector<std::optional<Lifetime>> lifetimes(const Model::Subgraph& graph) {
  std::vector<std::optional<Lifetime>> all(graph.tensor_count());
  auto use = [&](int32_t t, int64_t step) {
    if (t >= 0 && all[static_cast<size_t>(t)]) all[static_cast<size_t>(t)]->last = step;
  };
  for (int32_t t : graph.inputs()) all[static_cast<size_t>(t)] = {0, 0};
  for (uint32_t i = 0; i < graph.operator_count(); ++i) {
    int64_t step = i + 1;
    for (int32_t t : graph.op(i).outputs())
      if (t >= 0 && !all[static_cast<size_t>(t)]) all[static_cast<size_t>(t)] = {step, step};
    for (int32_t t : graph.op(i).inputs()) use(t, step);
  }
  for (int32_t t : graph.outputs()) use(t, graph.operator_count());
  return all;
}

bool in_arena(const Model::Tensor& tensor) {
  return !tensor.is_variable() && !tensor.is_constant() && tensor.bytes() != 0;
}

int64_t aligned(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

namespace code {
constexpr int32_t conv_2d = 3, depthwise_conv_2d = 4, fully_connected = 9, svdf = 27, mean = 40, transpose_conv = 67,
                  sum = 74, unidirectional_sequence_lstm = 44;
}

// What TFLM's reference kernels ask for in Prepare().
std::vector<int64_t> tflm_scratch_bytes(const Model::Subgraph& graph, const Model::Operator& op) {
  auto tensor = [&](const Span<const int32_t>& list, size_t i) -> std::optional<Model::Tensor> {
    if (i >= list.size() || list[i] < 0) return {};
    return graph.tensor(static_cast<uint32_t>(list[i]));
  };
  auto in = [&](size_t i) { return tensor(op.inputs(), i); };
  auto x = in(0), y = tensor(op.outputs(), 0);
  if (!x || !y) return {};
  int64_t outputs = y->elements();
  switch (op.builtin_code()) {
    case code::svdf:
      if (!in(1) || !in(1)->rank() || !x->rank()) return {};
      return x->type() == Type::float32 ? std::vector<int64_t>{4 * x->dims()[0] * in(1)->dims()[0]}
                                        : std::vector<int64_t>{4 * x->dims()[0] * in(1)->dims()[0], 4 * outputs};
    case code::unidirectional_sequence_lstm:
      return in(19) ? std::vector<int64_t>(4, in(19)->bytes()) : std::vector<int64_t>{};  // the cell's state
    case code::transpose_conv:
      if (y->type() == Type::int8) return {4 * outputs};
      return y->type() == Type::int16 ? std::vector<int64_t>{8 * outputs} : std::vector<int64_t>{};
    case code::mean:
    case code::sum:
      if (!in(1)) return {};
      return {x->type() == Type::float32 ? 4 : 4 * outputs, 4 * int64_t{x->rank()}, 4 * int64_t{in(1)->elements()}};
    case code::conv_2d:
    case code::depthwise_conv_2d:
    case code::fully_connected:
      return in(1) && in(1)->type() == Type::int4 ? std::vector<int64_t>{in(1)->elements()} : std::vector<int64_t>{};
    default:
      return {};
  }
}

std::vector<uint8_t> as_metadata(const std::vector<int32_t>& offsets) {
  std::vector<int32_t> words = {1, 0, static_cast<int32_t>(offsets.size())};
  words.insert(words.end(), offsets.begin(), offsets.end());
  std::vector<uint8_t> bytes(words.size() * sizeof(int32_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

}  // namespace

OfflinePlan offline_plan(const Model& model, const Limits& limits) {
  Model::Subgraph graph = model.subgraph(0);
  std::vector<std::optional<Lifetime>> lives = lifetimes(graph);
  PlacementProblem problem;
  std::vector<uint32_t> tensors;  // by buffer
  for (uint32_t t = 0; t < graph.tensor_count(); ++t) {
    if (!lives[t] || !in_arena(graph.tensor(t))) continue;
    tensors.push_back(t);
    problem.buffers.push_back({aligned(graph.tensor(t).bytes()), lives[t]->first, lives[t]->last, alignment, {}});
  }
  for (uint32_t i = 0; i < graph.operator_count(); ++i)
    for (int64_t bytes : tflm_scratch_bytes(graph, graph.op(i)))
      problem.buffers.push_back({aligned(bytes), i + 1, i + 1, alignment, {}});
  Placement placement = place(problem, limits);
  if (std::string wrong = check_placement(problem, placement); !wrong.empty())
    throw std::logic_error("the planner made a wrong plan: " + wrong);
  size_t count = 0;
  for (uint32_t s = 0; s < model.subgraph_count(); ++s) count += model.subgraph(s).tensor_count();
  std::vector<int32_t> offsets(count, placed_by_tflm);
  for (size_t i = 0; i < tensors.size(); ++i) offsets[tensors[i]] = static_cast<int32_t>(placement.offsets[i]);
  return {as_metadata(offsets), placement.arena_bytes, placement.lower_bound_bytes, placement.optimal};
}

}  // namespace linnet::plan
