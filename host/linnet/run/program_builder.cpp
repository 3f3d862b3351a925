#include "linnet/run/program_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linnet/graph/operator_names.h"
#include "linnet/run/program_file.h"

namespace linnet {
namespace {

// What the builder's hooks write to.
struct Recorder {
  const Model* model;
  Builder* builder;
  std::vector<std::string> refusals;
  std::vector<BuiltNode> nodes;
  std::map<uint32_t, uint32_t> weights;  // buffer -> offset in the weights section
};

void on_refusal(void* context, Status status, const Where& where) {
  Recorder& r = *static_cast<Recorder*>(context);
  r.refusals.push_back(describe(status, where, r.model));
}

void on_node(void* context, const EmittedNode& emitted) {
  Recorder& r = *static_cast<Recorder*>(context);
  BuiltNode node{emitted.subgraph, emitted.node, emitted.position, emitted.first_step, emitted.end_step, {}};
  Model::Subgraph graph = r.model->subgraph(static_cast<uint32_t>(emitted.subgraph));
  for (int32_t t : graph.op(static_cast<uint32_t>(emitted.node)).outputs())
    if (t >= 0)
      node.outputs.push_back({t, r.builder->place_of(emitted.entry_base + static_cast<uint32_t>(t)),
                              graph.tensor(static_cast<uint32_t>(t)).bytes()});
  r.nodes.push_back(std::move(node));
}

uint32_t place_constant(void* context, uint32_t buffer) { return static_cast<Recorder*>(context)->weights.at(buffer); }

// Lays the constants that operators read one after the other, each buffer once.
uint32_t lay_out_weights(const Model& model, std::map<uint32_t, uint32_t>& offsets) {
  uint64_t at = 0;
  for (uint32_t s = 0; s < model.subgraph_count(); ++s)
    for (uint32_t t = 0; t < model.subgraph(s).tensor_count(); ++t) {
      Model::Tensor tensor = model.subgraph(s).tensor(t);
      if (!tensor.is_constant() || !offsets.emplace(tensor.buffer(), static_cast<uint32_t>(at)).second) continue;
      at += align_up(static_cast<uint32_t>(model.buffer(tensor.buffer()).size()), program_alignment);
      if (at > INT32_MAX) throw Error("the constants are larger than 2 GB: a Program cannot hold them");
    }
  return static_cast<uint32_t>(at);
}

}  // namespace

std::string describe(Status status, const Where& where, const Model* model) {
  std::string text;
  if (where.node >= 0) {
    text = fmt::format("operator {}", where.node);
    if (model && where.subgraph >= 0 && static_cast<uint32_t>(where.subgraph) < model->subgraph_count()) {
      Model::Subgraph graph = model->subgraph(static_cast<uint32_t>(where.subgraph));
      if (static_cast<uint32_t>(where.node) < graph.operator_count())
        text += fmt::format(" ({})", describe_operator(*model, graph, static_cast<uint32_t>(where.node)));
    }
  }
  if (where.tensor >= 0) text += fmt::format("{}tensor {}", text.empty() ? "" : ", ", where.tensor);
  if (where.subgraph > 0) text += fmt::format(" of subgraph {}", where.subgraph);
  if (!text.empty()) text += ": ";
  text += status.text();
  if (where.bytes != 0) text += fmt::format(" (it takes {} bytes)", where.bytes);
  return text;
}

ArenaNeed arena_need(const Header& header) {
  return {align_up(header.arena_bytes, persistent_alignment),
          align_up(header.persistent_bytes, persistent_alignment) + Interpreter::bases_bytes(header)};
}

uint32_t shared_arena_bytes(std::span<const ArenaNeed> networks) {
  uint64_t activations = 0, persistent = 0;
  for (const ArenaNeed& need : networks) {
    activations = std::max<uint64_t>(activations, need.activation_bytes);
    persistent += need.persistent_bytes;
  }
  if (activations + persistent > INT32_MAX) throw Error("together the networks need an arena of more than 2 GB");
  return static_cast<uint32_t>(activations + persistent);
}

ArenaNeed BuiltProgram::need_built() const {
  ArenaNeed need = need_ready();
  uint32_t origins = align_up(header().origins.count * static_cast<uint32_t>(sizeof(StepOrigin)), 8);  // not on a device
  need.activation_bytes = std::max(need.activation_bytes, align_up(table_bytes, persistent_alignment));
  need.persistent_bytes += align_up(header().params.offset - origins + align_up(header().params.count, 8), persistent_alignment);
  return need;
}

Model open_model(Bytes file) {
  Model model;
  Where where;
  if (Status status = Model::open(file, model, where); !status.ok()) throw Error(describe(status, where));
  return model;
}

uint64_t BuiltProgram::moved_bytes() const {
  std::vector<bool> of_operator;
  for (const BuiltNode& node : nodes) {
    of_operator.resize(std::max<size_t>(of_operator.size(), node.end_step), false);
    std::fill(of_operator.begin() + node.first_step, of_operator.begin() + node.end_step, true);
  }
  uint64_t moved = 0;
  size_t index = 0;
  for_each_step({bytes.data(), bytes.size()}, [&](const Step& step) {
    bool between = index >= of_operator.size() || !of_operator[index];
    if (between && static_cast<StepKind>(step.kind) == StepKind::move) moved += step.params;
    ++index;
  });
  return moved;
}

BuiltProgram build_program(const Model& model, const BuildTable& table, const ProgramOptions& given) {
  Recorder recorder{&model, nullptr, {}, {}, {}};
  BuildOptions options;
  options.plan = given.plan;
  options.ignore_model_plan = given.ignore_model_plan;
  options.origins = given.origins;
  options.caller_inputs = given.caller_inputs;
  options.caller_outputs = given.caller_outputs;
  options.context = &recorder;
  options.on_refusal = on_refusal;
  options.on_node = on_node;
  if (!given.constants_in_model) {
    options.place_constant = place_constant;
    options.weights_bytes = lay_out_weights(model, recorder.weights);
  }
  std::vector<TensorEntry> entries(65536);
  Builder builder(model, table, options, {entries.data(), entries.size()});
  recorder.builder = &builder;
  Where where;
  auto require = [&](Status status) {
    if (!status.ok()) throw Error(describe(status, where, &model));
  };
  if (!builder.infer(where).ok()) throw Error(fmt::format("{}", fmt::join(recorder.refusals, "\n")));
  require(builder.count(where));
  require(builder.place(where));
  BuiltProgram built;
  built.bytes.resize(builder.program_bytes());
  require(builder.emit(built.bytes.data(), where));
  for (const auto& [buffer, offset] : recorder.weights) {
    Bytes data = model.buffer(buffer);
    std::copy(data.begin(), data.end(), built.bytes.begin() + builder.weights_offset() + offset);
  }
  built.nodes = std::move(recorder.nodes);
  built.table_bytes = builder.entry_count() * static_cast<uint32_t>(sizeof(TensorEntry));
  entries.resize(builder.entry_count());
  built.entries = std::move(entries);
  return built;
}

}  // namespace linnet
