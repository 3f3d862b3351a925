// linnet inspect: what a model consists of and the memory it takes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/errors.h"
#include "cli/loaded_model.h"
#include "cli/memory_policy.h"
#include "cli/network_facts.h"
#include "cli/text.h"
#include "cli/values.h"
#include "cli/verbs.h"
#include "linnet/engine/nest.h"
#include "linnet/run/program_file.h"

namespace linnet::cli {
namespace {

struct Options {
  std::string model;
  std::string memory = "static";
  bool json = false;
};

// ---- For people
// -------------------------------------------------------------------------------------------------------

std::string ports_text(const char* title, const std::vector<PortInfo>& ports) {
  TextTable table({{title}, {}, {}, {}, {}});
  for (size_t i = 0; i < ports.size(); ++i) {
    const PortInfo& port = ports[i];
    std::string quantization =
        port.scale == 0 ? "" : fmt::format("scale {:.7g}, zero point {}", port.scale, port.zero_point);
    table.add({std::to_string(i), short_name(port.name), type_text(port.type, port.dims),
               fmt::format("{} bytes", port.bytes), quantization});
  }
  return table.text();
}

std::vector<int32_t> dims_of(const Model::Tensor& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

// "88 -> 34": the tensors that are not constants.
std::string data_flow(const Model& model, const NodeFacts& node) {
  Model::Subgraph graph = model.subgraph(static_cast<uint32_t>(node.subgraph));
  std::vector<int32_t> inputs;
  for (int32_t t : node.inputs)
    if (t >= 0 && !graph.tensor(static_cast<uint32_t>(t)).is_constant()) inputs.push_back(t);
  return fmt::format("{} -> {}", fmt::join(inputs, ","), fmt::join(node.outputs, ","));
}

std::string output_text_of(const Model& model, const NodeFacts& node) {
  Model::Subgraph graph = model.subgraph(static_cast<uint32_t>(node.subgraph));
  for (int32_t t : node.outputs)
    if (t >= 0)
      return type_text(graph.tensor(static_cast<uint32_t>(t)).type(), dims_of(graph.tensor(static_cast<uint32_t>(t))));
  return "";
}

std::string node_label(const Model& model, const NodeFacts& node) {
  return model.subgraph_count() > 1 ? fmt::format("{}.{}", node.subgraph, node.node) : std::to_string(node.node);
}

std::string operators_text(const Model& model, const NetworkFacts& facts) {
  TextTable table({{"step", TextTable::right},
                   {"operator"},
                   {"tensors"},
                   {"output"},
                   {"MACs", TextTable::right},
                   {"weights", TextTable::right},
                   {"live bytes", TextTable::right},
                   {}});
  for (size_t i = 0; i < facts.nodes.size(); ++i) {
    const NodeFacts& node = facts.nodes[i];
    table.add({node_label(model, node), node.name, data_flow(model, node), output_text_of(model, node),
               std::to_string(node.macs), std::to_string(node.weights_bytes), std::to_string(node.live_bytes),
               i == facts.peak_node ? "<- peak" : ""});
  }
  return table.text();
}

std::string memory_text(const NetworkFacts& facts) {
  TextTable table({{"memory in bytes"},
                   {"arena", TextTable::right},
                   {"activations", TextTable::right},
                   {"of it scratch", TextTable::right},
                   {"persistent", TextTable::right}});
  for (auto [name, need] :
       {std::pair{"Program built on the device", facts.device}, std::pair{"Program made ahead of time", facts.host}})
    table.add({name, std::to_string(need.arena_bytes), std::to_string(need.activation_bytes),
               std::to_string(need.scratch_bytes), std::to_string(need.persistent_bytes)});
  return table.text();
}

void print_model(const LoadedModel& loaded, const NetworkFacts& facts) {
  const Model& model = loaded.model();
  fmt::print("{}: {}, {} MACs, {} bytes of weights\n\n", loaded.path(), counted(facts.nodes.size(), "operator"),
             facts.macs, facts.weights_bytes);
  fmt::print("{}{}\n", ports_text("inputs", loaded.inputs()), ports_text("outputs", loaded.outputs()));
  fmt::print("{}\n", operators_text(model, facts));
  if (!facts.nodes.empty())
    fmt::print("peak: {} bytes live at step {} ({})\n", facts.peak_bytes,
               node_label(model, facts.nodes[facts.peak_node]), facts.nodes[facts.peak_node].name);
  fmt::print("{}", memory_text(facts));
}

// ---- JSON
// -------------------------------------------------------------------------------------------------------------

Json ports_json(const std::vector<PortInfo>& ports) {
  Json list = Json::array();
  for (const PortInfo& port : ports) list.push_back(port_json(port));
  return list;
}

Json tensors_json(const Model& model) {
  Json list = Json::array();
  for (uint32_t s = 0; s < model.subgraph_count(); ++s)
    for (uint32_t t = 0; t < model.subgraph(s).tensor_count(); ++t) {
      Model::Tensor tensor = model.subgraph(s).tensor(t);
      Json json = {{"name", tensor.name()},
                   {"index", t},
                   {"subgraph", s},
                   {"type", type_name(tensor.type())},
                   {"shape", dims_of(tensor)},
                   {"bytes", tensor.bytes()},
                   {"constant", tensor.is_constant()},
                   {"variable", tensor.is_variable()}};
      if (!tensor.scales().empty()) {
        json["scales"] = std::vector<float>(tensor.scales().begin(), tensor.scales().end());
        json["zero_points"] = std::vector<int64_t>(tensor.zero_points().begin(), tensor.zero_points().end());
        json["quantized_dimension"] = tensor.quantized_dimension();
      }
      list.push_back(std::move(json));
    }
  return list;
}

Json kernel_names(const std::vector<uint32_t>& kernels) {
  Json names = Json::array();
  for (uint32_t k : kernels)
    names.push_back(fmt::format("{}/{}", catalogue().kernels[k].set, catalogue().kernels[k].computation));
  return names;
}

Json model_json(const LoadedModel& loaded, const NetworkFacts& facts) {
  Json operators = Json::array();
  for (const NodeFacts& node : facts.nodes)
    operators.push_back({{"index", node.node},
                         {"subgraph", node.subgraph},
                         {"operator", node.name},
                         {"version", node.version},
                         {"inputs", node.inputs},
                         {"outputs", node.outputs},
                         {"macs", node.macs},
                         {"operations", node.operations},
                         {"weights_bytes", node.weights_bytes},
                         {"live_bytes", node.live_bytes},
                         {"kernels", kernel_names(node.kernels)}});
  Json json = {{"model", loaded.path()},
               {"kind", "tflite"},
               {"inputs", ports_json(loaded.inputs())},
               {"outputs", ports_json(loaded.outputs())},
               {"tensors", tensors_json(loaded.model())},
               {"operators", std::move(operators)},
               {"macs", facts.macs},
               {"weights_bytes", facts.weights_bytes},
               {"peak_bytes", facts.peak_bytes},
               {"arena_bytes", facts.device.arena_bytes},
               {"prepared_on_device", memory_json(facts.device)},
               {"moved_bytes", facts.program.moved_bytes()},
               {"prepared_on_host", memory_json(facts.host)}};
  if (!facts.nodes.empty()) json["peak_operator"] = facts.peak_node;
  return json;
}

// ---- Programs
// ---------------------------------------------------------------------------------------------------------

struct ProgramStep {
  std::string kind;
  uint64_t macs = 0;
};

std::string nest_text(const Nest& nest) {
  std::vector<uint16_t> trips(nest.trips, nest.trips + nest.depth);
  return fmt::format("nest of {} rounds", fmt::join(trips, " x "));
}

std::vector<ProgramStep> program_steps(Bytes program) {
  std::vector<ProgramStep> steps;
  for_each_step(program, [&](const Step& step) {
    switch (static_cast<StepKind>(step.kind)) {
      case StepKind::run:
      case StepKind::run_tile: {
        const KernelInfo& kernel = catalogue().kernels[*kernel_of(step)];
        bool tiles = static_cast<StepKind>(step.kind) == StepKind::run_tile;
        steps.push_back({fmt::format("{}/{}{}", kernel.set, kernel.computation, tiles ? ", in tiles" : ""),
                         kernel.cost(program.data() + step.params).macs});
        break;
      }
      case StepKind::nest:
        steps.push_back({nest_text(*reinterpret_cast<const Nest*>(program.data() + step.params))});
        break;
      case StepKind::nest_end:
        steps.push_back({"end of the nest"});
        break;
      case StepKind::load:
        steps.push_back({fmt::format("load tile {}", step.kernel)});
        break;
      case StepKind::store:
        steps.push_back({fmt::format("store tile {}", step.kernel)});
        break;
      case StepKind::wait:
        steps.push_back({"wait"});
        break;
      case StepKind::move:
        steps.push_back({"move"});
        break;
      case StepKind::fill:
        steps.push_back({"fill"});
        break;
      case StepKind::branch:
        steps.push_back({"branch"});
        break;
      case StepKind::jump:
        steps.push_back({"jump"});
        break;
      case StepKind::end:
        break;
      default:
        steps.push_back({"control"});
        break;
    }
  });
  return steps;
}

MemoryNeed program_need(Bytes program) {
  const Header& header = header_of(program.data());
  uint32_t persistent = align_up(header.persistent_bytes, persistent_alignment) + Interpreter::bases_bytes(header);
  return {align_up(header.arena_bytes, persistent_alignment) + persistent, persistent, header.arena_bytes,
          scratch_bytes(program, *catalogue().table.kernels)};
}

void print_program(const LoadedModel& loaded) {
  std::vector<ProgramStep> steps = program_steps(loaded.program());
  MemoryNeed need = program_need(loaded.program());
  TextTable table({{"step", TextTable::right}, {"kernel"}, {"MACs", TextTable::right}});
  for (size_t i = 0; i < steps.size(); ++i)
    table.add({std::to_string(i), steps[i].kind, std::to_string(steps[i].macs)});
  fmt::print("{}: a Program of {}, {} bytes\n\n{}{}\n{}\n", loaded.path(), counted(steps.size(), "step"),
             loaded.program().size(), ports_text("inputs", loaded.inputs()), ports_text("outputs", loaded.outputs()),
             table.text());
  fmt::print("arena: {} bytes = {} of activations (of it {} scratch) + {} persistent\n", need.arena_bytes,
             need.activation_bytes, need.scratch_bytes, need.persistent_bytes);
}

Json program_json(const LoadedModel& loaded) {
  Json operators = Json::array();
  for (const ProgramStep& step : program_steps(loaded.program()))
    operators.push_back({{"index", operators.size()}, {"operator", step.kind}, {"macs", step.macs}});
  MemoryNeed need = program_need(loaded.program());
  return {{"model", loaded.path()},
          {"kind", "program"},
          {"inputs", ports_json(loaded.inputs())},
          {"outputs", ports_json(loaded.outputs())},
          {"tensors", Json::array()},
          {"operators", std::move(operators)},
          {"peak_bytes", need.activation_bytes},
          {"arena_bytes", need.arena_bytes},
          {"prepared_on_host", memory_json(need)}};
}

int inspect(const Options& options) {
  plan::MemoryPolicy memory = chosen_memory(options.memory);
  LoadedModel loaded(options.model);
  if (loaded.is_program()) {
    if (memory == plan::MemoryPolicy::compacting)
      throw BadInput(fmt::format("--memory compacting: {} is a Program: where its buffers lie is decided", loaded.path()));
    if (options.json)
      print_json(program_json(loaded));
    else
      print_program(loaded);
    return exit_done;
  }
  NetworkFacts facts = about_model(loaded, [&] { return network_facts(loaded.model(), memory); });
  if (options.json)
    print_json(model_json(loaded, facts));
  else
    print_model(loaded, facts);
  return exit_done;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("inspect", "Show operators, tensors, MACs and the memory at every step");
  verb->add_option("MODEL", options->model, "A .tflite or Program file")->required();
  verb->add_option("--memory", options->memory, "Of a Program made ahead of time: static, or compacting")->capture_default_str();
  verb->add_flag("--json", options->json, "Print one JSON object");
  verb->callback([&action, options] { action = [options] { return inspect(*options); }; });
}

}  // namespace linnet::cli
