// linnet boards: the boards that firmware exists for, and what of it is installed here.
#include <fmt/format.h>

#include <memory>

#include "cli/errors.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "linnet/board/artifacts.h"
#include "linnet/board/board.h"
#include "linnet/board/error.h"
#include "linnet/board/process.h"

namespace linnet::cli {
namespace {

// Empty if `linnet run --on` works for the board; else what is missing, in a few words and with how to get it.
struct Missing {
  std::string what, message;
};
Missing missing(const board::Board& board) {
  if (!board::find_program(std::string(board.emulator())))
    return {fmt::format("needs {}", board.emulator_package()),
            fmt::format("{} is not installed (Debian: apt install {})", board.emulator(), board.emulator_package())};
  try {
    board::find_firmware("runner", board.name);
    return {};
  } catch (const board::Error& error) {
    return {"no runner built", error.what()};
  }
}

Json region_json(const board::Region& region) { return {{"base", region.base}, {"bytes", region.bytes}}; }

int list_boards(bool json) {
  Json list = Json::array();
  list.push_back({{"board", "host"}, {"ready", true}});
  TextTable table({{"board"},
                   {"core"},
                   {"clock MHz", TextTable::right},
                   {"code KB", TextTable::right},
                   {"RAM KB", TextTable::right},
                   {"model KB", TextTable::right},
                   {"stack", TextTable::right},
                   {"run --on"}});
  table.add({"host", "this machine", "", "", "", "", "", "ready"});
  for (const board::Board& board : board::boards()) {
    Missing problem = missing(board);
    table.add({std::string(board.name), std::string(board.core), fmt::format("{:g}", board.clock_hz / 1e6),
               std::to_string(board.code.bytes / 1024), std::to_string(board.ram.bytes / 1024),
               std::to_string(board.blobs.bytes / 1024), std::to_string(board.stack_bytes),
               problem.what.empty() ? "ready" : problem.what});
    Json entry = {{"board", board.name},
                  {"core", board.core},
                  {"clock_hz", board.clock_hz},
                  {"code", region_json(board.code)},
                  {"ram", region_json(board.ram)},
                  {"model_memory", region_json(board.blobs)},
                  {"stack_bytes", board.stack_bytes},
                  {"emulator", board.emulator()},
                  {"machine", board.machine},
                  {"ready", problem.what.empty()}};
    if (!problem.what.empty()) entry["missing"] = problem.message;
    list.push_back(std::move(entry));
  }
  if (json)
    print_json({{"boards", std::move(list)}});
  else
    fmt::print("{}", table.text());
  return exit_done;
}

}  // namespace

void add_boards(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("boards", "List the boards, their memory, and what is installed for them");
  verb->add_flag("--json", *json, "Print one JSON object");
  verb->callback([&action, json] { action = [json] { return list_boards(*json); }; });
}

}  // namespace linnet::cli
