#include "linnet/board/board_run.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "linnet/board/artifacts.h"
#include "linnet/board/error.h"
#include "linnet/board/process.h"

namespace linnet::board {
namespace {

// Slots of the blob directory (ports/runner/main.cpp).
constexpr uint32_t model_slot = 0, first_input_slot = 1, node_slot = 14;

// The runner's `key value` lines.
struct Report {
  std::map<std::string, std::string> values;
  std::vector<uint32_t> crcs;

  uint32_t number(const std::string& key) const {
    auto found = values.find(key);
    return found == values.end() ? 0 : static_cast<uint32_t>(std::stoul(found->second));
  }
  int32_t index(const std::string& key) const { return values.count(key) ? static_cast<int32_t>(number(key)) : -1; }
};

Report parse_report(const std::string& text) {
  Report report;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("error ")) {
      report.values["error"];
      line.erase(0, 6);
    }
    size_t space = line.find(' ');
    if (space == line.npos) continue;
    std::string key = line.substr(0, space), value = line.substr(space + 1);
    if (key == "crc")
      report.crcs.push_back(static_cast<uint32_t>(std::stoul(value, nullptr, 16)));
    else
      report.values[key] = value;
  }
  return report;
}

std::vector<Blob> blobs_of(const NetworkRequest& request) {
  if (request.inputs.size() > runner_max_inputs) {
    throw Error("the network has " + std::to_string(request.inputs.size()) +
                " inputs; the boards' runner takes at most " + std::to_string(runner_max_inputs));
  }
  std::vector<Blob> blobs = {{model_slot, "the model", request.model}};
  for (uint32_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.inputs[i].empty())
      blobs.push_back({first_input_slot + i, "input " + std::to_string(i), request.inputs[i]});
  }
  if (!request.nodes.empty()) {
    std::vector<uint8_t> bytes(request.nodes.size() * sizeof(NodeRecord));
    std::memcpy(bytes.data(), request.nodes.data(), bytes.size());
    blobs.push_back({node_slot, "the list of nodes", std::move(bytes)});
  }
  return blobs;
}

std::vector<std::vector<uint8_t>> read_outputs(const std::filesystem::path& file, const std::vector<uint32_t>& sizes) {
  std::ifstream stream(file, std::ios::binary);
  std::vector<std::vector<uint8_t>> outputs;
  for (uint32_t bytes : sizes) {
    outputs.emplace_back(bytes);
    stream.read(reinterpret_cast<char*>(outputs.back().data()), bytes);
    if (!stream) throw Error("the board wrote fewer bytes of output than the network has");
  }
  if (stream.peek() != std::ifstream::traits_type::eof())
    throw Error("the board wrote more bytes of output than the network has");
  return outputs;
}

}  // namespace

NetworkResult run_network(const Board& board, const NetworkRequest& request) {
  const TemporaryDirectory temporary;
  RunRequest run;
  run.firmware = request.firmware.empty() ? find_firmware("runner", board.name) : request.firmware;
  run.blobs = blobs_of(request);
  run.arguments = {"out=outputs", "runs=" + std::to_string(request.runs)};
  if (request.want_program) run.arguments.push_back("program=program");
  if (request.arena_bytes) run.arguments.push_back("arena=" + std::to_string(*request.arena_bytes));
  run.working_directory = temporary.path();
  run.time_limit = request.time_limit;
  // The runner is looked for before the directory changes.
  run.firmware = std::filesystem::absolute(run.firmware);
  if (auto* file = std::get_if<std::filesystem::path>(&run.blobs[0].content)) *file = std::filesystem::absolute(*file);

  const RunResult ran = run_firmware(board, run);
  if (ran.faulted()) throw Error("the firmware faulted on " + std::string(board.name) + ": " + ran.standard_error);
  Report report;
  try {
    report = parse_report(ran.standard_output);
  } catch (const std::exception&) {
    throw Error("the runner's report cannot be understood: " + ran.standard_output);
  }
  NetworkResult result;
  if (report.values.count("error")) {
    result.error = DeviceError{report.number("code"), report.values["text"],  report.index("subgraph"),
                               report.index("node"),  report.index("tensor"), report.number("need_bytes")};
    return result;
  }
  if (ran.exit_status != 0 || !report.values.count("done")) {
    throw Error("the runner on " + std::string(board.name) + " ended with status " + std::to_string(ran.exit_status) +
                " and no result: " + ran.standard_error);
  }
  result.arena_bytes = report.number("arena_bytes");
  result.activation_bytes = report.number("activation_bytes");
  result.persistent_bytes = report.number("persistent_bytes");
  result.interpreter_bytes = report.number("interpreter_bytes");
  result.stack_bytes = report.number("stack_bytes");
  result.outputs = read_outputs(temporary.path() / "outputs", request.output_bytes);
  result.node_crcs = std::move(report.crcs);
  if (request.want_program) {
    std::ifstream stream(temporary.path() / "program", std::ios::binary);
    result.program.assign(std::istreambuf_iterator<char>(stream), {});
  }
  return result;
}

}  // namespace linnet::board
