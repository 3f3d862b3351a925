// linnet export: sources for a firmware, with exactly the kernels that the network uses.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "cli/errors.h"
#include "cli/loaded_model.h"
#include "cli/memory_policy.h"
#include "cli/output_files.h"
#include "cli/sources.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "linnet/plan/planned_build.h"
#include "linnet/run/catalogue.h"
#include "linnet/run/program_file.h"

namespace linnet::cli {
namespace {

struct Options {
  std::string model;
  std::string directory;
  std::string as = "cmake";
  std::string name;
  std::string order = "best";
  std::string memory = "static";
  bool caller_inputs = false, caller_outputs = false;
  bool json = false;
};

plan::NetworkOptions network_options(const Options& options) {
  plan::NetworkOptions how;
  if (options.order == "keep")
    how.order = plan::OrderPolicy::keep;
  else if (options.order != "best")
    throw BadInput(fmt::format("--order {}: it is `keep` or `best`", options.order));
  how.memory = chosen_memory(options.memory);
  return how;
}

// The Program with the catalogue's kernel indices.
std::vector<uint8_t> whole_program(const Options& options, const LoadedModel& loaded, std::optional<uint64_t>& moved_bytes) {
  if (loaded.is_program()) {
    if (options.caller_inputs || options.caller_outputs)
      throw BadInput(
          fmt::format("{}: who owns the buffers of a Program is decided already; give the .tflite", loaded.path()));
    return {loaded.program().begin(), loaded.program().end()};
  }
  ProgramOptions how;
  how.origins = false;  // only for people
  how.caller_inputs = options.caller_inputs;
  how.caller_outputs = options.caller_outputs;
  return about_model(loaded, [&] {
    BuiltProgram built = plan::build_planned(loaded.model(), catalogue().table, how, network_options(options));
    moved_bytes = built.moved_bytes();
    return built.bytes;
  });
}

int export_sources(const Options& options) {
  if (options.as != "cmake") throw BadInput(fmt::format("--as {}: there is no such form; it is cmake", options.as));
  LoadedModel loaded(options.model);
  std::string name =
      options.name.empty() ? identifier(std::filesystem::path(options.model).stem().string()) : options.name;
  if (name != identifier(name))
    throw BadInput(fmt::format("--name {}: a C++ namespace cannot be called so; {} would do", name, identifier(name)));

  std::optional<uint64_t> moved_bytes;  // a Program file does not tell these moves from an operator's
  std::vector<uint8_t> whole = whole_program(options, loaded, moved_bytes);
  std::vector<uint32_t> kernels = kernels_used({whole.data(), whole.size()});
  std::vector<uint8_t> program = with_kernels({whole.data(), whole.size()}, kernels, kernels_hash(kernels));
  Sources sources = program_sources(name, loaded, program, kernels);

  OutputFiles files;
  files.add_directory(options.directory);
  auto path = [&](const std::string& file) { return (std::filesystem::path(options.directory) / file).string(); };
  files.add(path(name + ".h"), sources.header);
  files.add(path(name + ".cpp"), sources.source);
  files.add(path("CMakeLists.txt"), sources.cmake);
  files.add(path(name + ".lnnp"), program_file({program.data(), program.size()}, kernels));
  files.commit();
  if (options.json) {
    Json json = {{"name", name},
                {"directory", options.directory},
                {"files", {name + ".h", name + ".cpp", "CMakeLists.txt", name + ".lnnp"}},
                {"program_bytes", program.size()},
                {"arena_bytes", sources.arena_bytes},
                {"kernels", sources.kernels}};
    if (moved_bytes) json["moved_bytes"] = *moved_bytes;
    print_json(json);
  } else {
    fmt::print("{}: {}.h, {}.cpp, CMakeLists.txt, {}.lnnp: a Program of {} bytes, {}, an arena of {} bytes\n",
               options.directory, name, name, name, program.size(), counted(kernels.size(), "kernel"),
               sources.arena_bytes);
  }
  return exit_done;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("export", "Write sources for a firmware: Program, kernel table, header");
  verb->add_option("MODEL", options->model, "A .tflite or Program file")->required();
  verb->add_option("-o,--output", options->directory, "Directory for the sources")->type_name("DIR")->required();
  verb->add_option("--as", options->as, "Form of the sources: cmake")->capture_default_str();
  verb->add_option("--name", options->name, "Namespace and file name; default: the model's file name");
  verb->add_option("--order", options->order,
                   "Order of operators where the model has no plan of its own: keep, or best for the least memory")
      ->capture_default_str();
  verb->add_option("--memory", options->memory,
                   "Memory policy where the model has no plan of its own: static, or compacting: live buffers move where that saves memory")
      ->capture_default_str();
  verb->add_flag("--caller-inputs", options->caller_inputs,
                 "Inputs lie in buffers that the firmware gives (bind_input)");
  verb->add_flag("--caller-outputs", options->caller_outputs, "Likewise outputs (bind_output)");
  verb->add_flag("--json", options->json, "Print one JSON object");
  verb->callback([&action, options] { action = [options] { return export_sources(*options); }; });
}

}  // namespace linnet::cli
