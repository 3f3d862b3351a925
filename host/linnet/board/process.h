// Runs a program without a shell, with a time limit, and collects what it writes.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace linnet::board {

struct ProcessRequest {
  std::vector<std::string> words;                // program (a path) and its arguments
  std::filesystem::path working_directory = {};  // empty: the caller's
  std::chrono::milliseconds time_limit{60'000};
  size_t output_limit_bytes = size_t{64} << 20;  // of each stream
};

enum class ProcessEnd { exited, signalled, timed_out, output_limit };

struct ProcessResult {
  ProcessEnd end = ProcessEnd::exited;
  int status = 0;  // exit status, or the signal's number
  std::string standard_output;
  std::string standard_error;
};

// The program reads nothing. It and its children (one process group) are dead when this returns.
// Throws Error when it cannot be started.
ProcessResult run_process(const ProcessRequest& request);

// The program's path by the search rules of PATH; a name with a slash is taken as it is. Empty when there is none.
std::optional<std::filesystem::path> find_program(const std::string& name);

// A directory of its own, removed with its content at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace linnet::board
