#include "linnet/board/process.h"

#include <gtest/gtest.h>

#include "linnet/board/error.h"
#include "linnet/board/test_firmware.h"

namespace linnet::board {
namespace {

using namespace std::chrono_literals;

ProcessRequest shell(const std::string& script) { return {.words = {"/bin/sh", "-c", script}}; }

TEST(Process, CollectsBothStreamsAndTheStatus) {
  const ProcessResult result = run_process(shell("echo out; echo err >&2; exit 37"));
  EXPECT_EQ(result.end, ProcessEnd::exited);
  EXPECT_EQ(result.status, 37);
  EXPECT_EQ(result.standard_output, "out\n");
  EXPECT_EQ(result.standard_error, "err\n");
}

TEST(Process, LargeOutputOnBothStreamsDoesNotBlock) {
  const ProcessResult result = run_process(shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2"));
  EXPECT_EQ(result.standard_output.size(), 3000000u);
  EXPECT_EQ(result.standard_error.size(), 3000000u);
}

TEST(Process, WordsReachTheProgramUnchanged) {
  const ProcessResult result =
      run_process({.words = {"/bin/sh", "-c", "printf '<%s>' \"$@\"", "sh", "a b", "$HOME", "", "'\"*;,"}});
  EXPECT_EQ(result.standard_output, "<a b><$HOME><><'\"*;,>");
}

TEST(Process, NothingToRead) { EXPECT_EQ(run_process(shell("cat")).standard_output, ""); }

TEST(Process, WorkingDirectory) {
  const TemporaryDirectory directory;
  ProcessRequest request = shell("pwd -P");
  request.working_directory = directory.path();
  EXPECT_EQ(run_process(request).standard_output, std::filesystem::canonical(directory.path()).string() + "\n");
}

TEST(Process, TimeLimitEndsTheWholeGroup) {
  ProcessRequest request = shell("sleep 60 & echo $!; wait");
  request.time_limit = 200ms;
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result = run_process(request);
  EXPECT_EQ(result.end, ProcessEnd::timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  // The grandchild is dead or a zombie that init has not yet taken away: no command line either way.
  const std::string pid = result.standard_output.substr(0, result.standard_output.find('\n'));
  const ProcessResult left = run_process(shell("tr -d '\\0' < /proc/" + pid + "/cmdline 2>/dev/null; true"));
  EXPECT_EQ(left.standard_output, "");
}

TEST(Process, TimeLimitHoldsWhenStreamsAreClosed) {
  ProcessRequest request = shell("exec >&- 2>&-; sleep 60");
  request.time_limit = 200ms;
  EXPECT_EQ(run_process(request).end, ProcessEnd::timed_out);
}

TEST(Process, OutputLimit) {
  ProcessRequest request = shell("cat /dev/zero");
  request.output_limit_bytes = 100'000;
  const ProcessResult result = run_process(request);
  EXPECT_EQ(result.end, ProcessEnd::output_limit);
  EXPECT_LE(result.standard_output.size(), 100'000u);
}

TEST(Process, Signal) {
  const ProcessResult result = run_process(shell("kill -ABRT $$"));
  EXPECT_EQ(result.end, ProcessEnd::signalled);
  EXPECT_EQ(result.status, SIGABRT);
}

TEST(Process, MissingProgram) {
  EXPECT_NE(message_of([] { run_process({.words = {"/nonexistent/program"}}); }).find("/nonexistent/program"),
            std::string::npos);
}

TEST(Program, IsFoundByPath) {
  EXPECT_TRUE(find_program("sh"));
  EXPECT_TRUE(find_program("/bin/sh"));
  EXPECT_FALSE(find_program("/bin/"));
  EXPECT_FALSE(find_program("/etc/passwd"));
  EXPECT_FALSE(find_program("no-such-program-anywhere"));
}

TEST(TemporaryDirectory, IsGoneAfterwards) {
  std::filesystem::path path;
  {
    const TemporaryDirectory directory;
    path = directory.path();
    std::filesystem::create_directory(path / "inner");
    EXPECT_TRUE(std::filesystem::is_directory(path / "inner"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace linnet::board
