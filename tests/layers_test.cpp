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

// Folders with code of their own; a board's folder, pictures and corpora are described by the folder above.
bool has_code(const fs::path& folder) {
  for (const auto& file : fs::directory_iterator(folder)) {
    std::string extension = file.path().extension();
    if (extension == ".cpp" || extension == ".py" || extension == ".cmake" || file.path().filename() == "CMakeLists.txt")
      return folder.filename() != "toolchain";
  }
  return folder.parent_path().filename() == "linnet";
}

TEST(Layers, EveryFolderHasAShortReadme) {
  int folders = 0;
  const fs::path root = LINNET_SOURCE_DIR;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    if (!entry->is_directory()) continue;
    std::string name = entry->path().filename();
    if (name[0] == '.' || name == "__pycache__" || (entry.depth() == 0 && name.rfind("build", 0) == 0)) {
      entry.disable_recursion_pending();
      continue;
    }
    if (entry.depth() != 0 && !has_code(entry->path())) continue;
    ++folders;
    std::ifstream in(entry->path() / "README.md");
    int lines = 0;
    for (std::string line; std::getline(in, line);) ++lines;
    EXPECT_TRUE(lines >= 1 && lines <= 10) << entry->path() << " has a README of " << lines << " lines";
  }
  EXPECT_GT(folders, 25);
}

}  // namespace
