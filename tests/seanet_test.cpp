// Single operators of an int16 x int8 network, with inputs and outputs that other people published: byte for byte.
#include <algorithm>
#include <sstream>

#include "tests/support/models.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

namespace fs = std::filesystem;

// Numbers separated by commas or white space, as elements of the type that the file's name ends in.
TensorBytes read_csv(const fs::path& path) {
  std::vector<uint8_t> text = test::read_file(path);
  std::string numbers(text.begin(), text.end());
  std::replace(numbers.begin(), numbers.end(), ',', ' ');
  std::istringstream in(numbers);
  bool wide = path.stem().string().ends_with("int32");
  TensorBytes bytes;
  for (int32_t x; in >> x;) {
    auto* from = reinterpret_cast<const uint8_t*>(&x);
    bytes.insert(bytes.end(), from, from + (wide ? 4 : 2));
  }
  EXPECT_TRUE(in.eof()) << path << " contains something else than numbers";
  return bytes;
}

// The file beside `model` whose name is the model's with `middle` and a type.
fs::path beside(const fs::path& model, const std::string& middle) {
  for (const char* type : {"int16", "int32"}) {
    fs::path path = model.parent_path() / (model.stem().string() + middle + type + ".csv");
    if (fs::exists(path)) return path;
  }
  return {};
}

class SeanetTest : public testing::TestWithParam<const char*> {};

TEST_P(SeanetTest, OutputsAgree) {
  LINNET_NEEDS_MODELS();
  int compared = 0;
  for (const auto& entry : fs::directory_iterator(test::models_folder() / "seanet" / GetParam())) {
    if (entry.path().extension() != ".tflite") continue;
    SCOPED_TRACE(entry.path().filename());
    std::vector<TensorBytes> inputs;
    for (int i = 0; !beside(entry.path(), "_input" + std::to_string(i) + "_").empty(); ++i)
      inputs.push_back(read_csv(beside(entry.path(), "_input" + std::to_string(i) + "_")));
    auto outputs = test::run_model(test::read_file(entry.path()), inputs);
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_TRUE(outputs[0] == read_csv(beside(entry.path(), "_golden_")));
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Operators, SeanetTest,
                         testing::ValuesIn(test::seanet_operators),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace linnet
