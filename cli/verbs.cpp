#include "cli/verbs.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cli/errors.h"
#include "cli/text.h"
#include "linnet/board/error.h"

namespace linnet::cli {
namespace {

void complain(const std::string& message) { fmt::print(stderr, "linnet: {}\n", message); }

// CLI11 would only say that a subcommand is missing.
void check_verb(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) throw BadInput("a verb is required (see linnet --help)");
  auto is_it = [&](const CLI::App* verb) { return verb->check_name(words[0]); };
  if (!words[0].starts_with("-") && app.get_subcommands(is_it).empty())
    throw BadInput(fmt::format("there is no verb '{}' (see linnet --help)", one_line(words[0])));
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {  // --help, --version
    app.exit(error);
    return exit_done;
  }
  std::string verb;
  for (const CLI::App* chosen : app.get_subcommands()) verb = " " + chosen->get_name();
  complain(fmt::format("{} (see linnet{} --help)", one_line(error.what()), verb));
  return exit_bad_input;
}

}  // namespace

void add_all_verbs(CLI::App& app, Action& action) {
  add_inspect(app, action);
  add_plan(app, action);
  add_run(app, action);
  add_export(app, action);
  add_ops(app, action);
  add_boards(app, action);
}

int run_command(int argc, const char* const* argv) {
  CLI::App app("Runs TensorFlow Lite networks on microcontrollers, in the memory there is.", "linnet");
  app.set_version_flag("--version", "linnet " LINNET_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  Action action;
  add_all_verbs(app, action);
  int status = exit_bad_input;
  try {
    std::vector<std::string> words = with_hyphens(argc, argv);
    check_verb(app, words);
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 wants them
    app.parse(reversed);
    status = action();
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error);
  } catch (const AnswerIsNo& error) {
    complain(error.what());
    status = exit_no;
  } catch (const Error& error) {
    complain(error.what());
  } catch (const board::Error& error) {
    complain(error.what());
  } catch (const std::bad_alloc&) {
    complain("this machine has too little memory for that");
  } catch (const std::exception& error) {
    complain(error.what());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    complain("standard output could not be written completely");
    return exit_bad_input;
  }
  return status;
}

}  // namespace linnet::cli
