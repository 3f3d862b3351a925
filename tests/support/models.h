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

// Below that folder, but for the single operators in seanet/.
struct PublishedNetwork {
  const char* file;
  const char* name;
};
constexpr PublishedNetwork published_networks[] = {
    {"mlperf_tiny/ad01_fp32.tflite", "ad01_fp32"},
    {"mlperf_tiny/ad01_int8.tflite", "ad01_int8"},
    {"mlperf_tiny/kws_ref_model.tflite", "kws_ref_model"},
    {"mlperf_tiny/kws_ref_model_float32.tflite", "kws_ref_model_float32"},
    {"mlperf_tiny/pretrainedResnet.tflite", "pretrainedResnet"},
    {"mlperf_tiny/pretrainedResnet_quant.tflite", "pretrainedResnet_quant"},
    {"mlperf_tiny/vww_96_float.tflite", "vww_96_float"},
    {"mlperf_tiny/vww_96_int8.tflite", "vww_96_int8"},
    {"tflite_micro/hello_world_float.tflite", "hello_world_float"},
    {"tflite_micro/hello_world_int8.tflite", "hello_world_int8"},
    {"tflite_micro/keyword_scrambled.tflite", "keyword_scrambled"},
    {"tflite_micro/keyword_scrambled_8bit.tflite", "keyword_scrambled_8bit"},
    {"tflite_micro/micro_speech_quantized.tflite", "micro_speech_quantized"},
    {"tflite_micro/person_detect.tflite", "person_detect"},
    {"tflite_micro/simple_add_model.tflite", "simple_add_model"},
    {"tflite_micro/trained_lstm.tflite", "trained_lstm"},
    {"tinyengine/vww.tflite", "vww"},
};
constexpr const char* seanet_operators[] = {"add", "conv", "leaky_relu", "pad", "quantize", "strided_slice", "sub", "transpose_conv"};

// At the start of a test that needs them.
#define LINNET_NEEDS_MODELS() \
  if (!::linnet::test::have_models()) GTEST_SKIP() << "no networks at " << ::linnet::test::models_folder() << " (LINNET_MODELS)"

inline std::vector<uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace linnet::test
