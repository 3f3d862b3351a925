// linnet ops: the operators and kernels there are; with --model, what of a model is not among them.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "cli/errors.h"
#include "cli/loaded_model.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "linnet/graph/operator_names.h"
#include "linnet/run/catalogue.h"

namespace linnet::cli {
namespace {

struct Options {
  std::string model;
  bool json = false;
};

std::vector<std::string_view> kernel_sets() {
  std::vector<std::string_view> sets;
  for (const KernelInfo& kernel : catalogue().kernels)
    if (std::find(sets.begin(), sets.end(), kernel.set) == sets.end()) sets.push_back(kernel.set);
  return sets;
}

std::vector<std::string_view> computations() {
  std::vector<std::string_view> names;
  for (const KernelInfo& kernel : catalogue().kernels)
    if (std::find(names.begin(), names.end(), kernel.computation) == names.end()) names.push_back(kernel.computation);
  std::sort(names.begin(), names.end());
  return names;
}

bool has_kernel(std::string_view set, std::string_view computation) {
  auto kernels = catalogue().kernels;
  return std::any_of(kernels.begin(), kernels.end(),
                     [&](const KernelInfo& k) { return k.set == set && k.computation == computation; });
}

std::string type_or_any(Type type) { return type == Type::none ? "any" : type_name(type); }

std::vector<OperatorEntry> operators() {
  const BuildTable& table = catalogue().table;
  std::vector<OperatorEntry> list(table.operators, table.operators + table.operator_count);
  std::stable_sort(list.begin(), list.end(), [](const OperatorEntry& a, const OperatorEntry& b) {
    return operator_name(a.builtin_code) < operator_name(b.builtin_code);
  });
  return list;
}

void print_catalogue() {
  TextTable operator_table(
      {{"operator"}, {"versions up to", TextTable::right}, {"input"}, {"second input"}, {"output"}});
  for (const OperatorEntry& op : operators())
    operator_table.add({operator_name(op.builtin_code), std::to_string(op.max_version), type_or_any(op.types.input0),
                        type_or_any(op.types.input1), type_or_any(op.types.output0)});
  std::vector<TextTable::Column> columns = {{"computation"}};
  for (std::string_view set : kernel_sets()) columns.push_back({std::string(set)});
  TextTable kernel_table(columns);
  for (std::string_view computation : computations()) {
    std::vector<std::string> row = {std::string(computation)};
    for (std::string_view set : kernel_sets()) row.push_back(has_kernel(set, computation) ? "yes" : "-");
    kernel_table.add(row);
  }
  fmt::print("{}\n{}", operator_table.text(), kernel_table.text());
}

Json catalogue_json() {
  Json operator_list = Json::array(), kernel_list = Json::array();
  for (const OperatorEntry& op : operators())
    operator_list.push_back(
        {{"operator", operator_name(op.builtin_code)},
         {"code", op.builtin_code},
         {"max_version", op.max_version},
         {"types", {type_or_any(op.types.input0), type_or_any(op.types.input1), type_or_any(op.types.output0)}}});
  for (const KernelInfo& kernel : catalogue().kernels)
    kernel_list.push_back({{"computation", kernel.computation},
                           {"set", kernel.set},
                           {"params_version", kernel.params_version},
                           {"type", kernel.type},
                           {"header", kernel.header}});
  return {{"operators", std::move(operator_list)}, {"kernel_sets", kernel_sets()}, {"kernels", std::move(kernel_list)}};
}

// One line for each operator that is refused, or for what else is wrong; empty if the model can run.
std::vector<std::string> obstacles(const LoadedModel& loaded) {
  if (loaded.is_program()) return {};  // loading has checked it
  try {
    build_program(loaded.model(), catalogue().table);
    return {};
  } catch (const Error& error) {
    std::vector<std::string> lines;
    std::istringstream text(error.what());
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
}

int check_model(const Options& options) {
  LoadedModel loaded(options.model);
  std::vector<std::string> lines = obstacles(loaded);
  if (options.json) {
    print_json({{"model", options.model}, {"supported", lines.empty()}, {"obstacles", lines}});
  } else if (lines.empty()) {
    fmt::print("{}: nothing stands in the way\n", options.model);
  } else {
    fmt::print("{}: {} {} in the way\n", options.model, lines.size(),
               lines.size() == 1 ? "thing stands" : "things stand");
    for (const std::string& line : lines) fmt::print("  {}\n", line);
  }
  return lines.empty() ? exit_done : exit_no;
}

int ops(const Options& options) {
  if (!options.model.empty()) return check_model(options);
  if (options.json)
    print_json(catalogue_json());
  else
    print_catalogue();
  return exit_done;
}

}  // namespace

void add_ops(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("ops", "List operators and kernels, or all that stands in a model's way");
  verb->add_option("--model", options->model, "A .tflite or Program file to check");
  verb->add_flag("--json", options->json, "Print one JSON object");
  verb->callback([&action, options] { action = [options] { return ops(*options); }; });
}

}  // namespace linnet::cli
