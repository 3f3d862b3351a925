// Makes cases and runs them in Linnet, for differential.py to run in other engines.
//
//     differential_cases OUT      reads lines "FAMILY seed N" or "FAMILY choices A,B,C"; appends a case for each to OUT
//     differential_cases --list   the families, and every operator with its types that the catalogue claims, as JSON
//
// A case in OUT is a line of JSON followed by `bytes` bytes: the .tflite, then the inputs of each inference, then (unless
// Linnet refuses the model) the outputs of each. Linnet runs it three ways: built by the device's code, made ahead of time,
// and made ahead of time by the host's planner; all must give the same bytes.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <variant>

#include "linnet/graph/operator_names.h"
#include "linnet/plan/planned_build.h"
#include "linnet/run/catalogue.h"
#include "tests/differential/case_maker.h"

namespace linnet::differential {
namespace {

using Json = nlohmann::ordered_json;

const Families& families() {
  static const Families all = [] {
    Families list;
    add_sums(list);
    add_elementwise(list);
    add_shapes(list);
    add_state(list);
    return list;
  }();
  return all;
}

struct Tensors {
  std::vector<uint8_t> file;
  std::vector<std::vector<TensorBytes>> inputs, outputs;  // by inference
};

std::vector<std::vector<TensorBytes>> infer_all(Interpreter& net, const GuardedMemory& arena, const Tensors& tensors) {
  std::vector<std::vector<TensorBytes>> outputs;
  for (const std::vector<TensorBytes>& inputs : tensors.inputs) outputs.push_back(infer(net, inputs));
  if (!arena.intact()) throw std::logic_error("written outside the arena");
  return outputs;
}

std::vector<std::vector<TensorBytes>> run_ready(const BuiltProgram& program, const Tensors& tensors) {
  GuardedMemory arena(program.arena_bytes_ready(), 0, 0xFF);
  Interpreter net;
  if (Status s = net.init({program.bytes.data(), program.bytes.size()}, *catalogue().table.kernels, arena.span()); !s.ok())
    throw std::logic_error("Program refused: " + describe(s, net.where()));
  return infer_all(net, arena, tensors);
}

std::vector<std::vector<TensorBytes>> run_built(const Model& model, uint32_t arena_bytes, const Tensors& tensors) {
  GuardedMemory arena(arena_bytes, 0, 0x55);
  Interpreter net;
  if (Status s = net.init(model, catalogue().table, arena.span()); !s.ok())
    throw std::logic_error("in an arena of the reported size: " + describe(s, net.where()));
  return infer_all(net, arena, tensors);
}

// Fills in the outputs, or says in `about` why there are none: "refused", or "broken" where Linnet contradicts itself.
void run(Tensors& tensors, Json& about) {
  const BuildTable& table = catalogue().table;
  try {
    Model model = open_model({tensors.file.data(), tensors.file.size()});
    BuiltProgram program = build_program(model, table);
    try {
      tensors.outputs = run_ready(program, tensors);
      if (run_built(model, program.arena_bytes_built(), tensors) != tensors.outputs) throw std::logic_error("built on the device: other outputs");
      if (run_ready(plan::build_planned(model, table, {}, plan::quick_options()), tensors) != tensors.outputs) throw std::logic_error("planned: other outputs");
    } catch (const std::exception& error) {
      about["broken"] = error.what();
    }
  } catch (const Error& error) {
    about["refused"] = error.what();
  }
}

// The entries of the catalogue that the model's operators use.
std::vector<uint32_t> entries_used(const Tensors& tensors) {
  const BuildTable& table = catalogue().table;
  Model model = open_model({tensors.file.data(), tensors.file.size()});
  std::vector<uint32_t> used;
  for (uint32_t s = 0; s < model.subgraph_count(); ++s)
    for (uint32_t i = 0; i < model.subgraph(s).operator_count(); ++i) {
      Node node = node_of(model, model.subgraph(s), static_cast<int32_t>(s), i);
      auto is = [](Type wanted, const TensorInfo& given) { return wanted == Type::none || wanted == given.type; };
      for (uint32_t o = 0; o < table.operator_count; ++o) {
        const TypeSignature& types = table.operators[o].types;
        if (table.operators[o].builtin_code == operator_of(node).builtin_code() && is(types.input0, node.input(0)) &&
            is(types.input1, node.input(1)) && is(types.output0, node.output(0)))
          used.push_back(o);
      }
    }
  return used;
}

Json describe_tensors(const graph::SubgraphSpec& graph, const std::vector<int>& tensors) {
  Json list = Json::array();
  for (int t : tensors) {
    if (t < 0) {
      list.push_back(nullptr);
      continue;
    }
    const graph::TensorSpec& tensor = graph.tensors[static_cast<size_t>(t)];
    list.push_back({{"type", type_name(tensor.type)}, {"shape", tensor.shape}, {"scales", tensor.quantization.scales},
                    {"zero_points", tensor.quantization.zero_points}, {"constant", !tensor.data.empty()}});
  }
  return list;
}

// Every operator with what it reads and writes.
Json describe_nodes(const graph::Network& network) {
  Json nodes = Json::array();
  for (const graph::SubgraphSpec& graph : network.subgraphs)
    for (const graph::OperatorSpec& op : graph.operators) {
      Json options = Json::object();
      for (const graph::Option& option : op.options)
        std::visit([&](const auto& value) { options[std::to_string(option.field)] = value; }, option.value);
      nodes.push_back({{"operator", operator_name(op.code)}, {"version", op.version}, {"inputs", describe_tensors(graph, op.inputs)},
                       {"outputs", describe_tensors(graph, op.outputs)}, {"options", options}});
    }
  return nodes;
}

void append(std::string& to, const std::vector<std::vector<TensorBytes>>& tensors) {
  for (const auto& inference : tensors)
    for (const TensorBytes& bytes : inference) to.append(bytes.begin(), bytes.end());
}

std::string make_case(const Family& family, Choices choices) {
  CaseMaker maker(choices);
  family.make(maker);
  Tensors tensors;
  tensors.inputs = maker.inputs();
  tensors.file = maker.n.write();
  Json about = {{"family", family.name}, {"choices", choices.made()}};
  run(tensors, about);
  about["nodes"] = describe_nodes(maker.n.network);
  about["entries"] = entries_used(tensors);
  Json types = Json::array();
  for (int t : maker.n.network.subgraphs[0].outputs) types.push_back(type_name(maker.n.tensor(t).type));
  about["output_types"] = types;
  about["file_bytes"] = tensors.file.size();
  about["inferences"] = tensors.inputs.size();
  for (const char* key : {"input_bytes", "output_bytes"}) {
    const auto& list = key[0] == 'i' ? tensors.inputs : tensors.outputs;
    Json sizes = Json::array();
    if (!list.empty())
      for (const TensorBytes& bytes : list[0]) sizes.push_back(bytes.size());
    about[key] = sizes;
  }
  std::string bytes(tensors.file.begin(), tensors.file.end());
  append(bytes, tensors.inputs);
  append(bytes, tensors.outputs);
  about["bytes"] = bytes.size();
  return about.dump() + "\n" + bytes;
}

std::string make_case(const std::string& request) {
  std::istringstream words(request);
  std::string name, kind, numbers;
  words >> name >> kind >> numbers;
  for (const Family& family : families()) {
    if (family.name != name) continue;
    if (kind == "seed") return make_case(family, Choices(std::stoull(numbers)));
    std::vector<uint32_t> given;
    std::istringstream list(numbers);
    for (std::string number; std::getline(list, number, ',');) given.push_back(static_cast<uint32_t>(std::stoul(number)));
    return make_case(family, Choices(given));
  }
  throw Error("no family is called '" + name + "'");
}

void list() {
  Json names = Json::array(), claims = Json::array();
  for (const Family& family : families()) names.push_back(family.name);
  const BuildTable& table = catalogue().table;
  auto word = [](Type type) { return type == Type::none ? std::string("any") : std::string(type_name(type)); };
  for (uint32_t o = 0; o < table.operator_count; ++o) {
    const OperatorEntry& entry = table.operators[o];
    claims.push_back(fmt::format("{} {} {} -> {}", operator_name(entry.builtin_code), word(entry.types.input0), word(entry.types.input1), word(entry.types.output0)));
  }
  std::cout << Json{{"families", names}, {"claims", claims}}.dump() << "\n";
}

}  // namespace
}  // namespace linnet::differential

int main(int count, char** arguments) {
  using namespace linnet::differential;
  if (count != 2) {
    std::cerr << "usage: differential_cases OUT|--list\n";
    return 2;
  }
  try {
    if (std::string(arguments[1]) == "--list") {
      list();
      return 0;
    }
    std::ofstream out(arguments[1], std::ios::binary | std::ios::app);
    for (std::string request; std::getline(std::cin, request);) out << make_case(request);
    return out.flush().good() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "differential_cases: " << error.what() << "\n";
    return 2;
  }
}
