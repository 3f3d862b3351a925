// For tests: runs the `linnet` of this build, in a directory of the test's own.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linnet/board/process.h"

namespace linnet::cli::test {

struct Ran {
  int status = -1;
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }  // throws, and so fails the test, where it is none
};

class CommandTest : public testing::Test {
 protected:
  Ran linnet(std::vector<std::string> words) const {
    words.insert(words.begin(), std::string(LINNET_BINARY_DIR) + "/linnet");
    return run(words);
  }
  Ran run(const std::vector<std::string>& words) const {
    board::ProcessRequest request;
    request.words = words;
    request.working_directory = folder_.path();
    request.time_limit = std::chrono::minutes(5);
    board::ProcessResult result = board::run_process(request);
    EXPECT_EQ(result.end, board::ProcessEnd::exited) << words[0] << ": signal or time limit\n" << result.standard_error;
    return {result.status, result.standard_output, result.standard_error};
  }

  // Bad input: status 2, one sentence that contains `part`, nothing on standard output.
  void expect_refused(std::vector<std::string> words, const std::string& part) const {
    Ran ran = linnet(words);
    EXPECT_EQ(ran.status, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_TRUE(ran.err.starts_with("linnet: ")) << ran.err;
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  template <class Bytes>
  void write(const std::string& name, const Bytes& bytes) const {
    std::ofstream stream(path(name), std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size() * sizeof(bytes[0])));
  }
  std::vector<uint8_t> read(const std::string& name) const {
    std::ifstream stream(path(name), std::ios::binary);
    EXPECT_TRUE(stream) << name;
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      names.push_back(std::filesystem::relative(entry.path(), folder_.path()).string());
    std::sort(names.begin(), names.end());
    return names;
  }

  board::TemporaryDirectory folder_;
};

}  // namespace linnet::cli::test
