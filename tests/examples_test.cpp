// The programs of examples/firmware on the board they are for, and the example network on every board.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>

#include "linnet/board/board_run.h"
#include "linnet/board/test_firmware.h"
#include "linnet/run/catalogue.h"
#include "linnet/run/session.h"
#include "tests/support/models.h"

namespace linnet {
namespace {

using test::read_file;
const std::filesystem::path examples = LINNET_SOURCE_DIR "/examples";
constexpr std::array digit_names = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
constexpr size_t pixels = 64;

// The picture of a digit as the network takes it: what stands behind the header of its .npy.
TensorBytes tensor_of(int digit) {
  std::vector<uint8_t> file = read_file(examples / fmt::format("digits/inputs/{}_int8.npy", digit_names[digit]));
  EXPECT_GT(file.size(), pixels);
  return {file.end() - pixels, file.end()};
}

// The answer of the .tflite on this machine.
std::vector<int8_t> scores_of(const TensorBytes& input) {
  std::vector<uint8_t> file = read_file(examples / "digits/digits_int8.tflite");
  BuiltProgram program = build_program(open_model({file.data(), file.size()}), catalogue().table);
  GuardedMemory arena(header_of(program.bytes.data()).arena_bytes, 0);
  Interpreter net;
  EXPECT_TRUE(net.init({program.bytes.data(), program.bytes.size()}, *catalogue().table.kernels, arena.span()).ok());
  TensorBytes output = infer(net, {input}).at(0);
  return {output.begin(), output.end()};
}

class Examples : public testing::Test {
 protected:
  board::RunResult run(const char* firmware, std::vector<board::Blob> blobs) const {
    board::RunRequest request;
    request.firmware = board::find_firmware(firmware, board_.name);
    request.blobs = std::move(blobs);
    return board::run_firmware(board_, request);
  }
  const board::Board& board_ = board::board_named("mps2-an386");
};

TEST_F(Examples, ReadsEveryDigit) {
  LINNET_NEEDS_EMULATOR("example-digits", board_);
  for (int digit = 0; digit < 10; ++digit) {
    TensorBytes picture = tensor_of(digit);
    for (uint8_t& pixel : picture) pixel ^= 0x80;  // the camera's pixels are 0 .. 255
    board::RunResult result = run("example-digits", {{0, "picture", picture}});
    EXPECT_EQ(result.exit_status, 0) << result.standard_error;
    EXPECT_EQ(result.standard_output, fmt::format("digit {}\n", digit));
  }
  EXPECT_EQ(run("example-digits", {{0, "picture", TensorBytes(pixels - 1)}}).exit_status, 2);
}

TEST_F(Examples, CancelsAtEveryStepWithTheInputInItsOwnBuffer) {
  LINNET_NEEDS_EMULATOR("example-own-input", board_);
  TensorBytes three = tensor_of(3), eight = tensor_of(8);
  board::RunResult result = run("example-own-input", {{0, "first", three}, {1, "second", eight}});
  EXPECT_EQ(result.exit_status, 0) << result.standard_error;
  EXPECT_EQ(result.standard_output, fmt::format("scores {}\nscores {}\ncancelled at each of the steps before 15\n",
                                                fmt::join(scores_of(three), " "), fmt::join(scores_of(eight), " ")));
}

// Boards of other families, where their runner is built (build presets cortex-m7 and so on).
class ExampleOnBoard : public testing::TestWithParam<const board::Board*> {};

TEST_P(ExampleOnBoard, GivesTheBitsOfTheHost) {
  LINNET_NEEDS_EMULATOR("runner", *GetParam());
  board::NetworkRequest request;
  request.model = examples / "digits/digits_int8.tflite";
  request.output_bytes = {10};
  for (int digit = 0; digit < 10; ++digit) {
    request.inputs = {tensor_of(digit)};
    board::NetworkResult result = board::run_network(*GetParam(), request);
    ASSERT_FALSE(result.error) << result.error->text;
    std::vector<int8_t> scores = scores_of(request.inputs[0]);
    EXPECT_EQ(result.outputs.at(0), TensorBytes(scores.begin(), scores.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(Boards, ExampleOnBoard, testing::ValuesIn(board::all_boards()), board::board_test_name);

}  // namespace
}  // namespace linnet
