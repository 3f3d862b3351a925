// What MODEL names on the command line: a .tflite, mapped, or a Program file.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/mapped_file.h"
#include "linnet/run/program_builder.h"

namespace linnet::cli {

// An input or output of the network.
struct PortInfo {
  std::string name;            // the tensor's; "input 0" for a Program, which has no names
  std::string signature_name;  // empty if no signature names it
  int32_t index = -1;          // of the tensor in subgraph 0; -1 for a Program
  Type type = Type::none;
  std::vector<int32_t> dims;
  uint32_t bytes = 0;
  float scale = 0;  // 0: not quantised, or with a scale per channel
  int32_t zero_point = 0;
};

class LoadedModel {
 public:
  // Throws BadInput that starts with the file's name.
  explicit LoadedModel(const std::string& path);

  const std::string& path() const { return path_; }
  bool is_program() const { return !model_; }
  const Model& model() const { return *model_; }  // only of a .tflite
  // Only of a Program file: the Program, checked, with the catalogue's kernel indices.
  Bytes program() const { return {program_.data(), program_.size()}; }

  const std::vector<PortInfo>& inputs() const { return inputs_; }
  const std::vector<PortInfo>& outputs() const { return outputs_; }

 private:
  std::string path_;
  MappedFile file_;
  std::optional<Model> model_;
  std::vector<uint8_t> program_;
  std::vector<PortInfo> inputs_, outputs_;
};

// Which of `ports` a name means: a tensor's or a signature's name, or a number. -1: none.
int find_port(const std::vector<PortInfo>& ports, const std::string& name);

// Splits words of -i or -o ("FILE" in the order of the ports, or "NAME=FILE") by port; empty where none is given.
// Throws BadInput for unknown or repeated ones. `option`: "-i". `what`: "input".
std::vector<std::string> files_by_port(const std::vector<std::string>& words, const std::vector<PortInfo>& ports,
                                       const std::string& option, const std::string& what);

// Runs `action`; an Error from it says which file it is about.
template <class A>
auto about(const std::string& path, A action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(path + ": " + error.what());
  }
}

// The same for errors of building a model's Program, which may be a list of refused operators, one a line.
Error build_error(const std::string& path, const std::string& lines);
template <class A>
auto about_model(const LoadedModel& loaded, A action) {
  try {
    return action();
  } catch (const Error& error) {
    throw build_error(loaded.path(), error.what());
  }
}

}  // namespace linnet::cli
