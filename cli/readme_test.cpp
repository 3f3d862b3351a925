// The README shows what there is: its program is the one that is built, its output is what the command prints.
#include <gmock/gmock.h>

#include <regex>
#include <sstream>

#include "linnet/board/artifacts.h"
#include "linnet/board/error.h"
#include "linnet/board/process.h"
#include "tests/support/models.h"

namespace linnet::cli::test {
namespace {

std::string text_of(const std::string& file) {
  std::vector<uint8_t> bytes = linnet::test::read_file(LINNET_SOURCE_DIR "/" + file);
  return {bytes.begin(), bytes.end()};
}

// What stands between "```<language>\n" and "```"; there must be one such block.
std::string block(const std::string& language) {
  std::string text = text_of("README.md"), begin = "\n```" + language + "\n";
  size_t at = text.find(begin);
  EXPECT_NE(at, text.npos) << "no block " << language;
  if (at == text.npos) return "";
  text = text.substr(at + begin.size());
  EXPECT_EQ(text.find(begin), text.npos) << "a second block " << language << ", which nothing checks";
  return text.substr(0, text.find("```"));
}

TEST(Readme, ShowsTheProgramThatIsBuilt) { EXPECT_EQ(block("cpp"), text_of("examples/firmware/main.cpp")); }

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::string output_of(std::vector<std::string> words) {
  EXPECT_EQ(words.at(0), "linnet");
  words[0] = LINNET_BINARY_DIR "/linnet";
  board::ProcessRequest request;
  request.words = words;
  request.working_directory = LINNET_SOURCE_DIR;
  board::ProcessResult result = board::run_process(request);
  EXPECT_EQ(result.status, 0) << result.standard_error;
  return result.standard_output;
}

// How deep the stack is depends on the kernels' code of the day.
std::string without_stack(const std::string& text) {
  return std::regex_replace(text, std::regex("stack [0-9]+ bytes"), "stack N bytes");
}

// "$ command", then its output; "..." stands for any number of lines.
TEST(Readme, ShowsWhatTheCommandPrints) {
  try {
    board::find_firmware("runner", "mps2-an386");
  } catch (const board::Error& error) {
    GTEST_SKIP() << error.what();
  }
  if (!board::find_program("qemu-system-arm")) GTEST_SKIP() << "qemu-system-arm is not installed";
  std::istringstream lines(without_stack(block("console")));
  std::string command, rest;  // rest: output that the README has not shown yet
  int commands = 0;
  bool skip = false;
  auto finish = [&] { EXPECT_TRUE(skip || rest.empty()) << command << " prints more:\n" << rest; };
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("$ ")) {
      finish();
      command = line.substr(2);
      rest = without_stack(output_of(words_of(command)));
      skip = false;
      ++commands;
    } else if (line == "...") {
      skip = true;
    } else {
      size_t at = skip ? ("\n" + rest).find("\n" + line + "\n") : (rest.starts_with(line + "\n") ? 0 : rest.npos);
      ASSERT_NE(at, rest.npos) << "'" << line << "' is not what " << command << " prints next:\n" << rest;
      rest = rest.substr(at + line.size() + 1);
      skip = false;
    }
  }
  finish();
  EXPECT_EQ(commands, 2);
}

}  // namespace
}  // namespace linnet::cli::test
