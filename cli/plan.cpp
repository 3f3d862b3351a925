// linnet plan: the least memory in which a network runs unchanged, and the model that says how.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/buffers_file.h"
#include "cli/errors.h"
#include "cli/kernel_sets.h"
#include "cli/loaded_model.h"
#include "cli/memory_policy.h"
#include "cli/output_files.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "linnet/plan/checker.h"
#include "linnet/plan/network_plan.h"
#include "linnet/plan/placement.h"

namespace linnet::cli {
namespace {

struct Options {
  std::string model;
  std::string output;
  std::string ram;
  std::string order = "best";
  std::string memory = "static";
  std::string kernels;
  std::string buffers;
  std::string capacity;
  double time_limit_s = 10;
  bool json = false;
};

// ---- Buffers ----------------------------------------------------------------------------------------------------------

std::optional<uint32_t> size_of(const std::string& text, std::string_view option) {
  if (text.empty()) return {};
  return parse_size(text, option);
}

int plan_buffers(const Options& options) {
  if (!options.model.empty()) throw BadInput("--buffers is a problem of its own: no MODEL beside it");
  if (!options.ram.empty()) throw BadInput("--ram is for models; with --buffers it is --capacity");
  std::optional<uint32_t> capacity = size_of(options.capacity, "--capacity");
  MappedFile file(options.buffers);
  std::string text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  BufferTable table = about(options.buffers, [&] { return read_buffers(text); });
  plan::Limits limits{options.time_limit_s, capacity.value_or(0)};
  plan::Placement placement = plan::place(table.problem, limits);
  if (std::string wrong = plan::check_placement(table.problem, placement); !wrong.empty()) throw std::logic_error(wrong);
  bool fits = !capacity || placement.arena_bytes <= *capacity;
  Json json = {{"buffers", table.ids.size()},
               {"arena_bytes", placement.arena_bytes},
               {"peak_bytes", most_live_bytes(table.problem)},
               {"lower_bound_bytes", placement.lower_bound_bytes},
               {"optimal", placement.optimal}};
  if (capacity) {
    json["capacity_bytes"] = *capacity;
    json["fits"] = fits;
  }
  if (fits && !options.output.empty()) {
    OutputFiles written;
    written.add(options.output, offsets_text(table, placement));
    written.commit();
  }
  if (options.json)
    print_json(json);
  else
    fmt::print("{}: {} in {} bytes; no placement takes less than {}\n", options.buffers, counted(table.ids.size(), "buffer"),
               placement.arena_bytes, placement.lower_bound_bytes);
  if (!fits)
    throw AnswerIsNo(fmt::format("{}: the best placement found takes {} bytes, more than {}{}", options.buffers,
                                 placement.arena_bytes, *capacity,
                                 placement.lower_bound_bytes > *capacity ? "; none takes less than " +
                                                                               std::to_string(placement.lower_bound_bytes)
                                                                         : "; more --time-limit might help"));
  return exit_done;
}

// ---- Models -----------------------------------------------------------------------------------------------------------

plan::NetworkOptions network_options(const Options& options) {
  plan::NetworkOptions how;
  if (options.order == "keep")
    how.order = plan::OrderPolicy::keep;
  else if (options.order != "best")
    throw BadInput(fmt::format("--order {}: it is `keep` or `best`", options.order));
  how.memory = chosen_memory(options.memory);
  how.order_limits.time_limit_s = options.time_limit_s * 0.5;
  how.placement_limits.time_limit_s = options.time_limit_s * 0.3;
  return how;
}

struct Answer {
  plan::NetworkPlan plan;
  plan::OfflinePlan offline;
  std::vector<uint8_t> file;
  uint32_t arena_bytes = 0, persistent_bytes = 0;
  std::string memory;
};

Answer answer_for(const Options& options, const LoadedModel& loaded, const BuildTable& table) {
  return about_model(loaded, [&] {
    Answer answer;
    answer.memory = options.memory;
    answer.plan = plan::plan_network(loaded.model(), table, network_options(options));
    answer.offline = plan::offline_plan(open_model({answer.plan.model.data(), answer.plan.model.size()}), {options.time_limit_s * 0.2, 0});
    answer.file = plan::planned_model(answer.plan, answer.offline);
    Model planned = open_model({answer.file.data(), answer.file.size()});
    BuiltProgram program = build_program(planned, table);
    answer.arena_bytes = program.arena_bytes_ready();
    answer.persistent_bytes = answer.arena_bytes - align_up(program.header().arena_bytes, persistent_alignment);
    return answer;
  });
}

Json answer_json(const LoadedModel& loaded, const Answer& answer) {
  const plan::NetworkPlan& p = answer.plan;
  return {{"model", loaded.path()},
          {"arena_bytes", answer.arena_bytes},
          {"activation_bytes", p.arena_bytes},
          {"persistent_bytes", answer.persistent_bytes},
          {"memory", answer.memory},
          {"static_activation_bytes", p.still_arena_bytes},
          {"moved_bytes", p.moved_bytes},
          {"moves", p.moves.size()},
          {"given_peak_bytes", p.given_peak_bytes},
          {"peak_bytes", p.peak_bytes},
          {"lower_bound_bytes", p.order_bound_bytes},
          {"optimal", p.order_optimal && p.placement_optimal},
          {"order_optimal", p.order_optimal},
          {"placement_lower_bound_bytes", p.lower_bound_bytes},
          {"placement_optimal", p.placement_optimal},
          {"tflm_activation_bytes", answer.offline.arena_bytes},
          {"tflm_lower_bound_bytes", answer.offline.lower_bound_bytes},
          {"order", p.order}};
}

void print_answer(const LoadedModel& loaded, const Answer& answer) {
  const plan::NetworkPlan& p = answer.plan;
  fmt::print("{}: an arena of {} bytes = {} of activations and scratch + {} persistent\n", loaded.path(),
             answer.arena_bytes, p.arena_bytes, answer.persistent_bytes);
  fmt::print("order: peak {} bytes, in the given order {}; {}\n", p.peak_bytes, p.given_peak_bytes,
             p.order_optimal ? "no order has less" : fmt::format("no order has less than {}", p.order_bound_bytes));
  fmt::print("placement: {}\n", p.placement_optimal ? "none takes less in this order"
                                                    : fmt::format("none takes less than {} in this order", p.lower_bound_bytes));
  fmt::print("TensorFlow Lite Micro, which overlaps nothing: {} bytes of activations with the plan in the file\n", answer.offline.arena_bytes);
  if (answer.memory != "compacting") return;
  if (!p.moves.empty())
    fmt::print("moves: {}, of {} bytes per inference; without them {} of activations and scratch\n", counted(p.moves.size(), "move"),
               p.moved_bytes, p.still_arena_bytes);
  else
    fmt::print("moves: none, {}\n", p.no_moves_because.empty() ? "they would save nothing" : p.no_moves_because);
}

int plan_model(const Options& options) {
  if (options.model.empty()) throw BadInput("plan needs a MODEL, or --buffers FILE.csv (see linnet plan --help)");
  if (!options.capacity.empty()) throw BadInput("--capacity is for --buffers; for a model it is --ram");
  std::optional<uint32_t> ram = size_of(options.ram, "--ram");
  std::unique_ptr<SmallTable> small = chosen_kernels(options.kernels);
  LoadedModel loaded(options.model);
  if (loaded.is_program())
    throw BadInput(fmt::format("{}: a Program is placed already; give the .tflite", loaded.path()));
  Answer answer = answer_for(options, loaded, small ? small->build_table() : catalogue().table);
  bool fits = !ram || answer.arena_bytes <= *ram;
  if (fits && !options.output.empty()) {
    OutputFiles written;
    written.add(options.output, answer.file);
    written.commit();
  }
  if (options.json) {
    Json json = answer_json(loaded, answer);
    if (ram) {
      json["ram_bytes"] = *ram;
      json["fits"] = fits;
    }
    print_json(json);
  } else {
    print_answer(loaded, answer);
  }
  if (!fits)
    throw AnswerIsNo(fmt::format("{}: the network needs {} bytes, more than --ram {} ({} bytes)", loaded.path(),
                                 answer.arena_bytes, options.ram, *ram));
  return exit_done;
}

int plan(const Options& options) {
  if (!(options.time_limit_s > 0)) throw BadInput("--time-limit: it is a number of seconds above 0");
  return options.buffers.empty() ? plan_model(options) : plan_buffers(options);
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("plan", "Find the order and the placement that take the least memory");
  verb->add_option("MODEL", options->model, "A .tflite");
  verb->add_option("-o,--output", options->output,
                   "The model with its operators in the planned order and both plans as metadata, \"linnet.plan\" and "
                   "\"OfflineMemoryAllocation\"; with --buffers the table with a column of offsets")
      ->type_name("OUT");
  verb->add_option("--ram", options->ram, "Status 1, and no OUT, if the arena is larger than this (64K, 1M)");
  verb->add_option("--order", options->order, "Order of operators: keep or best")->capture_default_str();
  verb->add_option("--memory", options->memory, "Memory policy: static, or compacting: live buffers move where that saves memory")
      ->capture_default_str();
  verb->add_option("--time-limit", options->time_limit_s, "Seconds for the whole search")->capture_default_str();
  verb->add_option("--kernels", options->kernels, "Plan for the kernels of one set only: reference, ...");
  verb->add_option("--buffers", options->buffers, "Place the buffers of a table instead: columns id,lower,upper,size")
      ->type_name("FILE.csv");
  verb->add_option("--capacity", options->capacity, "With --buffers: stop at a placement of this size; status 1 if none");
  verb->add_flag("--json", options->json, "Print one JSON object");
  verb->callback([&action, options] { action = [options] { return plan(*options); }; });
}

}  // namespace linnet::cli
