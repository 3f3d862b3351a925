// linnet run: one network, some inputs, its outputs and what it took; on this machine or on an emulated board.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "cli/errors.h"
#include "cli/host_run.h"
#include "cli/kernel_sets.h"
#include "cli/loaded_model.h"
#include "cli/memory_policy.h"
#include "cli/output_files.h"
#include "cli/tensor_files.h"
#include "cli/text.h"
#include "cli/values.h"
#include "cli/verbs.h"
#include "linnet/board/board.h"
#include "linnet/board/board_run.h"
#include "linnet/board/error.h"
#include "linnet/graph/operator_names.h"

namespace linnet::cli {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> inputs, outputs;
  std::string on = "host";
  std::string prepare;
  std::string memory = "static";
  std::string pixels = "auto";
  std::string kernels;
  std::string arena_size;
  uint32_t runs = 1;
  bool nodes = false;
  bool json = false;
};

// ---- What the options mean
// --------------------------------------------------------------------------------------------

RunOptions run_options(const Options& options, const LoadedModel& loaded, const BuildTable& table) {
  plan::MemoryPolicy memory = chosen_memory(options.memory);
  if (!options.prepare.empty() && options.prepare != "device" && options.prepare != "host")
    throw BadInput(fmt::format("--prepare {}: it is `device` or `host`", options.prepare));
  if (options.prepare == "device" && loaded.is_program())
    throw BadInput(fmt::format("--prepare device: {} is a Program already, prepared on a host", loaded.path()));
  if (options.runs == 0) throw BadInput("--num-runs 0: at least one run is needed for an output");
  RunOptions how;
  if (memory == plan::MemoryPolicy::compacting && loaded.is_program())
    throw BadInput(fmt::format("--memory compacting: {} is a Program: where its buffers lie is decided", loaded.path()));
  if (memory == plan::MemoryPolicy::compacting && options.prepare != "host")
    throw BadInput("--memory compacting: a device plans no moves by itself; add --prepare host, or run a model planned so");
  how.memory = memory;
  how.built_on_device = options.prepare != "host" && !loaded.is_program();
  if (!options.arena_size.empty()) how.arena_bytes = parse_size(options.arena_size, "--arena-size");
  how.runs = options.runs;
  how.node_checksums = options.nodes;
  how.table = &table;
  return how;
}

Pixels chosen_pixels(const std::string& word) {
  if (word == "auto") return Pixels::automatic;
  if (word == "unsigned") return Pixels::are_unsigned;
  if (word == "signed") return Pixels::are_signed;
  throw BadInput(fmt::format("--pixels {}: it is `auto`, `unsigned` or `signed`", word));
}

std::vector<TensorBytes> read_inputs(const Options& options, const LoadedModel& loaded) {
  const std::vector<PortInfo>& ports = loaded.inputs();
  std::vector<std::string> files = files_by_port(options.inputs, ports, "-i", "input");
  std::vector<TensorBytes> inputs;
  Pixels pixels = chosen_pixels(options.pixels);
  for (size_t i = 0; i < ports.size(); ++i) {
    std::string what = fmt::format("input {} '{}'", i, one_line(ports[i].name));
    if (!files[i].empty())
      inputs.push_back(read_tensor(files[i], ports[i], what, pixels));
    else if (options.inputs.empty())
      inputs.emplace_back(ports[i].bytes);
    else
      throw BadInput(fmt::format(
          "{} is not given: -i once for each input, in the model's order or as NAME=FILE, or for none at all", what));
  }
  return inputs;
}

// ---- On a board
// -------------------------------------------------------------------------------------------------------

std::vector<board::NodeRecord> node_records(const BuiltProgram& built) {
  std::vector<board::NodeRecord> records;
  for (const BuiltNode& node : built.nodes)
    if (!node.outputs.empty()) records.push_back({node.end_step, node.outputs[0].place, node.outputs[0].bytes});
  return records;
}

std::vector<NodeCrc> node_results(const BuiltProgram& built, const std::vector<uint32_t>& crcs) {
  std::vector<NodeCrc> nodes;
  for (const BuiltNode& node : built.nodes) {
    if (node.outputs.empty() || nodes.size() == crcs.size()) continue;
    nodes.push_back({node.subgraph, node.node, node.outputs[0].tensor, node.outputs[0].bytes, crcs[nodes.size()]});
  }
  return nodes;
}

// Programs for the runner's table, which is the catalogue's.
std::vector<uint8_t> for_runner(std::vector<uint8_t> program, const SmallTable* small) {
  if (!small) return program;
  return load_program_file([&] {
    program = program_file({program.data(), program.size()}, small->kernels());
    return Bytes(program.data(), program.size());
  }());
}

[[noreturn]] void report(const LoadedModel& loaded, const board::DeviceError& error, const MemoryNeed& need,
                         const board::Board& board, const RunOptions& how) {
  if (static_cast<Code>(error.code) == Code::out_of_memory) {
    uint32_t needed = need.arena_bytes != 0 ? need.arena_bytes : error.need_bytes;
    if (how.arena_bytes) throw AnswerIsNo(too_small(loaded.path(), *how.arena_bytes, needed));
    throw AnswerIsNo(
        fmt::format("{}: the network needs an arena of {} bytes, more than {} has", loaded.path(), needed, board.name));
  }
  std::string where = error.node < 0 ? "" : fmt::format("operator {}: ", error.node);
  throw Error(fmt::format("{}: on {}: {}{}", loaded.path(), board.name, where, error.text));
}

RunResult run_on_board(const LoadedModel& loaded, const std::vector<TensorBytes>& inputs, const RunOptions& how,
                       const SmallTable* small, const board::Board& board) {
  board::NetworkRequest request;
  std::optional<BuiltProgram> built;
  if (!loaded.is_program()) built = built_for(loaded, how);
  bool on_device = built && how.built_on_device;
  if (on_device && small && small->table().hash != catalogue().table.kernels->hash)
    throw BadInput("--kernels: a board chooses among all kernels of its firmware; add --prepare host");
  RunResult result;
  result.need = memory_need(loaded, built ? &*built : nullptr, how);
  if (built) result.moved_bytes = built->moved_bytes();
  Bytes program = built ? Bytes(built->bytes.data(), built->bytes.size()) : loaded.program();
  if (header_of(program.data()).caller_buffers != 0)
    throw BadInput(fmt::format(
        "{}: the Program leaves inputs or outputs to its caller; the boards' runner cannot give them", loaded.path()));
  if (on_device)
    request.model = std::filesystem::path(loaded.path());
  else
    request.model = for_runner({program.begin(), program.end()}, built ? small : nullptr);
  request.inputs = inputs;
  for (const PortInfo& port : loaded.outputs()) request.output_bytes.push_back(port.bytes);
  request.arena_bytes = how.arena_bytes;
  request.runs = how.runs;
  if (how.node_checksums) {
    if (!built) throw BadInput("--nodes needs the .tflite: a Program does not know the tensors of its nodes");
    require_straight_line(program);
    request.nodes = node_records(*built);
  }
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "linnet: running on {} ...\r", board.name);
  board::NetworkResult ran = board::run_network(board, request);
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\033[K");
  if (ran.error) report(loaded, *ran.error, result.need, board, how);
  result.need.arena_bytes = ran.arena_bytes;
  result.need.persistent_bytes = ran.persistent_bytes;
  result.need.activation_bytes = ran.activation_bytes;
  result.stack_bytes = ran.stack_bytes;
  result.outputs = std::move(ran.outputs);
  if (built && how.node_checksums) result.nodes = node_results(*built, ran.node_crcs);
  return result;
}

// ---- Results
// ----------------------------------------------------------------------------------------------------------

std::string node_name(const LoadedModel& loaded, const NodeCrc& node) {
  Model::Subgraph graph = loaded.model().subgraph(static_cast<uint32_t>(node.subgraph));
  return operator_name(graph.op(static_cast<uint32_t>(node.node)).builtin_code());
}

Json result_json(const Options& options, const LoadedModel& loaded, const RunResult& result,
                 const std::vector<std::string>& files) {
  Json json = {{"model", loaded.path()},
               {"on", options.on},
               {"prepared_on", loaded.is_program() || options.prepare == "host" ? "host" : "device"}};
  json.update(memory_json(result.need));
  json["stack_bytes"] = result.stack_bytes;
  if (result.moved_bytes) json["moved_bytes"] = *result.moved_bytes;
  json["num_runs"] = options.runs;
  Json outputs = Json::array();
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    outputs.push_back(output_json(loaded.outputs()[i], result.outputs[i]));
    if (!files[i].empty()) outputs.back()["file"] = files[i];
  }
  json["outputs"] = std::move(outputs);
  if (options.nodes) {
    Json nodes = Json::array();
    for (const NodeCrc& node : result.nodes)
      nodes.push_back({{"index", node.node},
                       {"operator", node_name(loaded, node)},
                       {"tensor", node.tensor},
                       {"bytes", node.bytes},
                       {"crc32", fmt::format("{:08x}", node.crc)}});
    json["nodes"] = std::move(nodes);
  }
  return json;
}

void print_result(const Options& options, const LoadedModel& loaded, const RunResult& result,
                  const std::vector<std::string>& files) {
  for (const NodeCrc& node : result.nodes)
    fmt::print("{} {} tensor {} bytes {} crc {:08x}\n", node.node, node_name(loaded, node), node.tensor, node.bytes,
               node.crc);
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const PortInfo& port = loaded.outputs()[i];
    fmt::print("output {} '{}', {}{}\n", i, short_name(port.name), type_text(port.type, port.dims),
               files[i].empty() ? "" : " -> " + files[i]);
    if (files[i].empty()) fmt::print("{}", output_text(port, result.outputs[i]));
  }
  const MemoryNeed& need = result.need;
  fmt::print("arena {} bytes: activations {} (of it scratch {}), persistent {}; stack {} bytes on {}\n",
             need.arena_bytes, need.activation_bytes, need.scratch_bytes, need.persistent_bytes, result.stack_bytes,
             options.on);
  if (result.moved_bytes.value_or(0) > 0) fmt::print("moved {} bytes per inference\n", *result.moved_bytes);
}

int run(const Options& options) {
  const board::Board* board = options.on == "host" ? nullptr : &board::board_named(options.on);
  LoadedModel loaded(options.model);
  std::unique_ptr<SmallTable> small = chosen_kernels(options.kernels);
  const BuildTable& all = catalogue().table;
  // A Program file comes with its kernels, as the catalogue numbers them.
  RunOptions how = run_options(options, loaded, small && !loaded.is_program() ? small->build_table() : all);
  std::vector<std::string> files = files_by_port(options.outputs, loaded.outputs(), "-o", "output");
  for (size_t i = 0; i < files.size(); ++i)  // a wrong ending should not cost a run
    if (!files[i].empty()) tensor_file_content(files[i], loaded.outputs()[i], TensorBytes(loaded.outputs()[i].bytes));
  std::vector<TensorBytes> inputs = read_inputs(options, loaded);
  RunResult result;
  try {
    result = board ? run_on_board(loaded, inputs, how, small.get(), *board) : run_on_host(loaded, inputs, how);
  } catch (const AnswerIsNo& error) {
    if (options.json) print_json({{"model", loaded.path()}, {"fits", false}, {"reason", error.what()}});
    throw;
  }
  OutputFiles written;
  for (size_t i = 0; i < files.size(); ++i)
    if (!files[i].empty()) written.add(files[i], tensor_file_content(files[i], loaded.outputs()[i], result.outputs[i]));
  written.commit();
  if (options.inputs.empty() && !inputs.empty())  // said of a run that was done: a refusal is one sentence
    fmt::print(stderr, "linnet: no input is given (-i FILE): {} filled with zeros\n",
               inputs.size() == 1 ? "it is" : "all inputs are");
  if (options.json)
    print_json(result_json(options, loaded, result, files));
  else
    print_result(options, loaded, result, files);
  return exit_done;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("run", "Run a network here or on an emulated board");
  verb->add_option("MODEL", options->model, "A .tflite or Program file")->required();
  auto words = [&](const char* name, std::vector<std::string>& to, const char* text) {
    verb->add_option(name, to, text)
        ->type_name("FILE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
  };
  words("-i,--input", options->inputs,
        "An input, once per tensor in the model's order, or NAME=FILE: raw, .npy, .bmp, .png");
  words("-o,--output", options->outputs, "Where an output goes, likewise: .npy, or raw");
  verb->add_option("--pixels", options->pixels, "How pictures hold pixels: unsigned, signed (as int8), or auto")
      ->capture_default_str();
  verb->add_option("--on", options->on, "host, or a board (see linnet boards)")->capture_default_str();
  verb->add_option("--prepare", options->prepare, "Who builds the Program: device (default), or host: ahead of time, by the model's plan or one made "
                   "for it in its order of operators");
  verb->add_option("--memory", options->memory, "Memory policy: static, or (with --prepare host) compacting: live buffers move where that saves memory")->capture_default_str();
  verb->add_option("--kernels", options->kernels, "Use the kernels of one set only: reference, ...");
  verb->add_option("--arena-size", options->arena_size,
                   "Run in an arena of exactly this size (64K, 1M); default: what is needed");
  verb->add_option("--num-runs", options->runs, "Inferences, each from fresh state")->capture_default_str();
  verb->add_flag("--nodes", options->nodes, "Print the CRC-32 of each node's output");
  verb->add_flag("--json", options->json, "Print one JSON object");
  verb->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace linnet::cli
