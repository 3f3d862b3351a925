// Networks of other people: outputs and each node's checksum against what TensorFlow Lite Micro's reference kernels gave.
#include <cmath>
#include <map>
#include <fstream>
#include <regex>
#include <sstream>

#include "linnet/run/catalogue.h"
#include "tests/support/models.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

namespace fs = std::filesystem;

struct Golden {
  const char* model;  // below the models folder
  const char* name;   // of the files in golden/
  bool integer;
};

class GoldenTest : public ::testing::TestWithParam<Golden> {
 protected:
  void SetUp() override {
    LINNET_NEEDS_MODELS();
    file_ = test::read_file(test::models_folder() / GetParam().model);
    input_ = test::read_file(golden(".in"));
    output_ = test::read_file(golden(".out"));
  }
  fs::path golden(const char* extension) const {
    return test::models_folder() / "golden" / (std::string(GetParam().name) + extension);
  }

  std::vector<uint8_t> file_, input_, output_;
};

void expect_close(const TensorBytes& got, const TensorBytes& want) {
  auto a = test::from_bytes<float>(got), b = test::from_bytes<float>(want);
  ASSERT_EQ(a.size(), b.size());
  float largest = 0;
  for (float x : b) largest = std::max(largest, std::fabs(x));
  for (size_t i = 0; i < a.size(); ++i) ASSERT_LE(std::fabs(a[i] - b[i]), 1e-5f * largest) << "element " << i;
}

TEST_P(GoldenTest, OutputsAgree) {
  std::vector<TensorBytes> out = test::run_model(file_, {input_});
  ASSERT_EQ(out.size(), 1u);
  if (GetParam().integer) EXPECT_EQ(out[0], output_);
  else expect_close(out[0], output_);
}

TEST_P(GoldenTest, EveryNodeAgrees) {
  if (!GetParam().integer) GTEST_SKIP() << "float bits differ between compilers and processors";
  Model model = open_model({file_.data(), file_.size()});
  std::map<int, uint32_t> want;
  std::ifstream lines(golden(".nodes"));
  std::regex pattern(R"(^(\d+) \S+ tensor \d+ bytes \d+ crc ([0-9a-f]{8}))");
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_search(line, match, pattern)) want[std::stoi(match[1])] = static_cast<uint32_t>(std::stoul(match[2], nullptr, 16));
  ASSERT_FALSE(want.empty());
  for (bool in_model : {false, true}) {
    ProgramOptions options;
    options.constants_in_model = in_model;
    BuiltProgram program = build_program(model, catalogue().table, options);
    std::vector<NodeCrc> crcs = node_crcs(program, *catalogue().table.kernels, {input_}, model.file());
    EXPECT_EQ(crcs.size(), want.size());
    for (const NodeCrc& c : crcs) EXPECT_EQ(c.crc, want.at(c.node)) << "node " << c.node;
  }
}

const Golden goldens[] = {
    {"mlperf_tiny/kws_ref_model.tflite", "kws_ref_model", true},
    {"mlperf_tiny/vww_96_int8.tflite", "vww_96_int8", true},
    {"mlperf_tiny/pretrainedResnet_quant.tflite", "pretrainedResnet_quant", true},
    {"mlperf_tiny/ad01_int8.tflite", "ad01_int8", true},
    {"mlperf_tiny/ad01_fp32.tflite", "ad01_fp32", false},
    {"mlperf_tiny/vww_96_float.tflite", "vww_96_float", false},
    {"mlperf_tiny/pretrainedResnet.tflite", "pretrainedResnet", false},
    {"tflite_micro/person_detect.tflite", "person_detect", true},
    {"tflite_micro/hello_world_int8.tflite", "hello_world_int8", true},
    {"tflite_micro/hello_world_float.tflite", "hello_world_float", false},
    {"tflite_micro/micro_speech_quantized.tflite", "micro_speech_quantized", true},
    {"tflite_micro/keyword_scrambled_8bit.tflite", "keyword_scrambled_8bit", true},
    {"tinyengine/vww.tflite", "vww", true},
};
INSTANTIATE_TEST_SUITE_P(Models, GoldenTest, ::testing::ValuesIn(goldens),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace linnet
