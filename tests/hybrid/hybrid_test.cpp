// A network with float activations and int8 weights, which TensorFlow Lite Micro refuses, against what TensorFlow Lite's
// reference kernels give: outputs.csv, made by make_outputs.py.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "linnet/run/catalogue.h"
#include "tests/support/models.h"
#include "tests/support/run_model.h"

namespace linnet {
namespace {

constexpr size_t classes = 12;

struct Expected {
  uint32_t seed;
  float amplitude;
  std::vector<float> logits, outputs;
};

std::vector<Expected> read_expected() {
  std::vector<uint8_t> text = test::read_file(std::filesystem::path(LINNET_SOURCE_DIR) / "tests/hybrid/outputs.csv");
  std::istringstream lines(std::string(text.begin(), text.end()));
  std::vector<Expected> all;
  for (std::string line; std::getline(lines, line);) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    Expected e = {0, 0, std::vector<float>(classes), std::vector<float>(classes)};
    words >> e.seed >> e.amplitude;
    auto read = [&](float& value) {  // a stream refuses numbers as small as 1e-40
      std::string word;
      words >> word;
      value = std::strtof(word.c_str(), nullptr);
    };
    for (float& value : e.logits) read(value);
    for (float& value : e.outputs) read(value);
    EXPECT_TRUE(words) << line;
    all.push_back(std::move(e));
  }
  return all;
}

// As make_outputs.py makes them.
TensorBytes numbers(uint32_t seed, float amplitude, size_t count) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    values.push_back(static_cast<float>(static_cast<int32_t>((seed >> 16) % 8192) - 4096) / 4096 * amplitude);
  }
  return test::to_bytes(values);
}

// The largest difference, in parts of the largest magnitude.
float error_of(const std::vector<float>& got, const std::vector<float>& want) {
  float largest = 0, difference = 0;
  for (float value : want) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < want.size(); ++i) difference = std::max(difference, std::fabs(got.at(i) - want[i]));
  return difference / largest;
}

TEST(Hybrid, AgreesWithTensorFlowLitesReferenceKernels) {
  LINNET_NEEDS_MODELS();
  std::vector<uint8_t> file = test::read_file(test::models_folder() / "mlperf_tiny/kws_ref_model_float32.tflite");
  Model model = open_model({file.data(), file.size()});
  BuiltProgram program = build_program(model, catalogue().table);
  const BuiltNode& before_softmax = program.nodes.at(program.nodes.size() - 2);
  GuardedMemory arena(program.arena_bytes_ready());
  Interpreter net;
  ASSERT_TRUE(net.init({program.bytes.data(), program.bytes.size()}, *catalogue().table.kernels, arena.span()).ok());
  std::vector<Expected> all = read_expected();
  ASSERT_EQ(all.size(), 16u);
  float worst_logits = 0, worst_outputs = 0;
  for (const Expected& e : all) {
    SCOPED_TRACE(testing::Message() << "seed " << e.seed << ", amplitude " << e.amplitude);
    TensorBytes input = numbers(e.seed, e.amplitude, net.input(0).bytes() / 4), logits;
    std::vector<TensorBytes> outputs = infer(net, {input}, [&](uint32_t steps) {
      const uint8_t* at = net.address(before_softmax.outputs.at(0).place);
      if (steps == before_softmax.end_step) logits.assign(at, at + classes * 4);
    });
    float of_logits = error_of(test::from_bytes<float>(logits), e.logits), of_outputs = error_of(test::from_bytes<float>(outputs.at(0)), e.outputs);
    EXPECT_LE(of_logits, 1e-5f);
    EXPECT_LE(of_outputs, 1e-5f);
    worst_logits = std::max(worst_logits, of_logits);
    worst_outputs = std::max(worst_outputs, of_outputs);
    EXPECT_EQ(test::run_model(file, {input}), outputs);
  }
  std::printf("largest relative error: logits %.2g, outputs %.2g\n", static_cast<double>(worst_logits), static_cast<double>(worst_outputs));
}

}  // namespace
}  // namespace linnet
