// The verbs of the command. Each add_... declares its options; if it is the one that was asked for, it sets `action`.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace linnet::cli {

using Action = std::function<int()>;  // gives the exit status; may throw what errors.h lists

void add_inspect(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_ops(CLI::App& app, Action& action);
void add_boards(CLI::App& app, Action& action);

void add_all_verbs(CLI::App& app, Action& action);

// The whole command: 0 done, 1 the answer is no, 2 usage or bad input.
int run_command(int argc, const char* const* argv);

}  // namespace linnet::cli
