#include "cli/loaded_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "cli/errors.h"
#include "cli/text.h"
#include "linnet/run/program_file.h"

namespace linnet::cli {
namespace {

PortInfo model_port(const Model& model, int32_t tensor_index, bool input) {
  Model::Tensor tensor = model.subgraph(0).tensor(static_cast<uint32_t>(tensor_index));
  PortInfo port;
  port.name = tensor.name();
  port.index = tensor_index;
  port.type = tensor.type();
  port.dims.assign(tensor.dims().begin(), tensor.dims().end());
  port.bytes = tensor.bytes();
  if (tensor.scales().size() == 1) port.scale = tensor.scales()[0];
  if (tensor.zero_points().size() == 1) port.zero_point = static_cast<int32_t>(tensor.zero_points()[0]);
  for (uint32_t s = 0; s < model.signature_count(); ++s) {
    Model::Signature signature = model.signature(s);
    if (signature.subgraph() != 0) continue;
    for (uint32_t i = 0; i < (input ? signature.input_count() : signature.output_count()); ++i) {
      Model::NamedTensor named = input ? signature.input(i) : signature.output(i);
      if (port.signature_name.empty() && named.tensor() == static_cast<uint32_t>(tensor_index))
        port.signature_name = named.name();
    }
  }
  return port;
}

PortInfo program_port(const Port& from, const std::string& name) {
  PortInfo port;
  port.name = name;
  port.type = static_cast<Type>(from.type);
  port.dims.assign(from.dims, from.dims + from.rank);
  port.bytes = from.bytes;
  std::memcpy(&port.scale, &from.scale_bits, sizeof port.scale);
  port.zero_point = from.zero_point;
  return port;
}

std::vector<PortInfo> program_ports(Bytes program, const Slice& slice, const char* what) {
  std::vector<PortInfo> ports;
  for (uint32_t i = 0; i < slice.count; ++i)
    ports.push_back(program_port(ports_of(program.data(), slice)[i], fmt::format("{} {}", what, i)));
  return ports;
}

// A file of another kind deserves a plainer word than "damaged".
void check_kind(Bytes file, const std::string& path) {
  if (is_program_file(file)) return;
  if (file.size() >= 8 && std::memcmp(file.data() + 4, "TFL3", 4) == 0) return;
  throw BadInput(fmt::format("{}: this is neither a .tflite file nor a Linnet Program", path));
}

}  // namespace

LoadedModel::LoadedModel(const std::string& path) : path_(path), file_(path) {
  check_kind(file_.bytes(), path);
  if (is_program_file(file_.bytes())) {
    program_ = about(path, [&] { return load_program_file(file_.bytes()); });
    const Header& header = header_of(program_.data());
    inputs_ = program_ports(program(), header.inputs, "input");
    outputs_ = program_ports(program(), header.outputs, "output");
    return;
  }
  model_ = about(path, [&] { return open_model(file_.bytes()); });
  for (int32_t t : model_->subgraph(0).inputs()) inputs_.push_back(model_port(*model_, t, true));
  for (int32_t t : model_->subgraph(0).outputs()) outputs_.push_back(model_port(*model_, t, false));
}

int find_port(const std::vector<PortInfo>& ports, const std::string& name) {
  for (auto field : {&PortInfo::signature_name, &PortInfo::name})
    for (size_t i = 0; i < ports.size(); ++i)
      if (!name.empty() && ports[i].*field == name) return static_cast<int>(i);
  size_t number = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  bool whole = !name.empty() && error == std::errc() && end == name.data() + name.size();
  return whole && number < ports.size() ? static_cast<int>(number) : -1;
}

std::vector<std::string> files_by_port(const std::vector<std::string>& words, const std::vector<PortInfo>& ports,
                                       const std::string& option, const std::string& what) {
  std::vector<std::string> files(ports.size());
  size_t next = 0;
  for (const std::string& word : words) {
    int port = -1;
    std::string file = word;
    // Names may contain "=": the longest that is one counts.
    for (size_t at = word.rfind('='); port < 0 && at != word.npos && at != 0; at = word.rfind('=', at - 1)) {
      port = find_port(ports, word.substr(0, at));
      if (port >= 0) file = word.substr(at + 1);
    }
    if (port < 0) {
      if (word.find('=') != word.npos && !std::filesystem::exists(word)) {
        std::vector<std::string> names;
        for (const PortInfo& p : ports) names.push_back(one_line(p.signature_name.empty() ? p.name : p.signature_name));
        throw BadInput(fmt::format("{} {}: there is no {} of that name; the model's are: {}", option, one_line(word),
                                   what, fmt::join(names, ", ")));
      }
      while (next < files.size() && !files[next].empty()) ++next;
      if (next == files.size())
        throw BadInput(fmt::format("{} {}: the model has only {} {}{}", option, word, ports.size(), what,
                                   ports.size() == 1 ? "" : "s"));
      port = static_cast<int>(next);
    }
    std::string& slot = files[static_cast<size_t>(port)];
    if (file.empty()) throw BadInput(fmt::format("{} {}: a file name is missing behind the '='", option, word));
    if (!slot.empty()) throw BadInput(fmt::format("{} gives {} {} twice", option, what, port));
    slot = file;
  }
  return files;
}

Error build_error(const std::string& path, const std::string& lines) {
  auto count = std::count(lines.begin(), lines.end(), '\n') + 1;
  if (count == 1) return Error(path + ": " + lines);
  return Error(fmt::format("{}: {} operators stand in the way:\n{}", path, count, lines));
}

}  // namespace linnet::cli
