// The dependency rule of the folders, read off the #include lines.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

// What a folder may include besides itself. `build` and `engine` see the op contract (ops/op.h) but no operator.
const std::map<std::string, std::set<std::string>> allowed = {
    {"device/linnet/core", {}},
    {"device/linnet/model", {"device/linnet/core"}},
    {"device/linnet/ops", {"device/linnet/core"}},
    {"device/linnet/kernels", {"device/linnet/ops", "device/linnet/core"}},
    {"device/linnet/memory", {"device/linnet/core"}},
    {"device/linnet/storage", {"device/linnet/core"}},
    {"device/linnet/engine", {"device/linnet/core", "device/linnet/memory", "device/linnet/storage"}},
    {"device/linnet/build", {"device/linnet/core", "device/linnet/memory", "device/linnet/model", "device/linnet/engine"}},
};
// Single files that are contracts rather than content of their folder.
const std::set<std::string> contracts = {"linnet/ops/op.h", "linnet/kernels/table.h", "linnet/engine/program.h"};

std::string folder_of(const std::string& include) {
  for (const auto& [folder, _] : allowed)
    if (include.rfind(folder.substr(7) + "/", 0) == 0) return folder;
  return include.rfind("linnet/", 0) == 0 ? "host" : "";
}

TEST(Layers, DeviceFoldersIncludeOnlyWhatTheyMay) {
  const fs::path root = LINNET_SOURCE_DIR;
  const std::regex pattern(R"re(^\s*#\s*include\s*[<"]([^>"]+)[>"])re");
  int files = 0;
  for (const auto& [folder, others] : allowed)
    for (const auto& file : fs::recursive_directory_iterator(root / folder)) {
      if (file.path().extension() != ".h") continue;
      ++files;
      std::ifstream in(file.path());
      std::smatch match;
      for (std::string line; std::getline(in, line);) {
        if (!std::regex_search(line, match, pattern)) continue;
        std::string include = match[1];
        std::string target = folder_of(include);
        bool vendor = folder == "device/linnet/kernels" && include.find('/') == std::string::npos;  // arm_acle.h and the like
        bool fine = include == "stdint.h" || include == "stddef.h" || vendor || target == folder || others.count(target) ||
                    (contracts.count(include) && folder != "device/linnet/core" && folder != "device/linnet/model");
        EXPECT_TRUE(fine) << file.path() << " includes " << include;
      }
    }
  EXPECT_GT(files, 20);
}

TEST(Layers, DeviceCodeUsesNoHeapExceptionsOrLibrary) {
  const std::regex forbidden(R"re(\b(new|throw|try|catch|virtual|dynamic_cast|typeid|malloc|free|printf|std::)\b|\bdelete (?!;)|[^=] delete\b)re");
  for (const auto& file : fs::recursive_directory_iterator(fs::path(LINNET_SOURCE_DIR) / "device")) {
    if (file.path().extension() != ".h") continue;
    std::ifstream in(file.path());
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      std::string code = std::regex_replace(line.substr(0, line.find("//")), std::regex(R"re("[^"]*")re"), "");
      EXPECT_FALSE(std::regex_search(code, forbidden)) << file.path() << ":" << number << ": " << line;
    }
  }
}

// Engine and builder know operators only through the contract.
TEST(Layers, EngineAndBuilderNameNoOperator) {
  const std::regex pattern(R"re(linnet/(ops|kernels)/(?!op\.h|table\.h))re");
  for (const char* folder : {"device/linnet/engine", "device/linnet/build"})
    for (const auto& file : fs::directory_iterator(fs::path(LINNET_SOURCE_DIR) / folder)) {
      if (file.path().extension() != ".h") continue;
      std::ifstream in(file.path());
      for (std::string line; std::getline(in, line);) EXPECT_FALSE(std::regex_search(line, pattern)) << file.path() << line;
    }
}

TEST(Layers, EveryFolderHasAShortReadme) {
  for (const char* top : {"device/linnet", "host/linnet", "."})
    for (const auto& folder : fs::directory_iterator(fs::path(LINNET_SOURCE_DIR) / top)) {
      std::string name = folder.path().filename();
      if (!folder.is_directory() || name[0] == '.' || name.rfind("build", 0) == 0) {
        if (!(folder.is_directory() && name == "build" && std::string(top) == "device/linnet")) continue;
      }
      if (std::string(top) == "." && (name == "device" || name == "host")) continue;
      std::ifstream in(folder.path() / "README.md");
      int lines = 0;
      for (std::string line; std::getline(in, line);) ++lines;
      EXPECT_TRUE(lines >= 1 && lines <= 10) << folder.path() << " has a README of " << lines << " lines";
    }
}

}  // namespace
