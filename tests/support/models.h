// Networks that other people made, where they are at hand: folder LINNET_MODELS, or shared/models beside the checkout.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace linnet::test {

inline std::filesystem::path models_folder() {
  if (const char* set = std::getenv("LINNET_MODELS")) return set;
  return std::filesystem::path(LINNET_SOURCE_DIR) / "../shared/models";
}
inline bool have_models() { return std::filesystem::is_directory(models_folder()); }

// At the start of a test that needs them.
#define LINNET_NEEDS_MODELS() \
  if (!::linnet::test::have_models()) GTEST_SKIP() << "no networks at " << ::linnet::test::models_folder() << " (LINNET_MODELS)"

inline std::vector<uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace linnet::test
