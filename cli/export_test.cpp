// What `linnet export` writes compiles by itself and computes the same.
#include <gmock/gmock.h>

#include "cli/sources.h"
#include "cli/test_command.h"
#include "linnet/board/process.h"
#include "linnet/graph/network_builder.h"
#include "linnet/run/catalogue.h"
#include "linnet/run/program_file.h"
#include "tests/seams/bands.h"
#include "tests/support/models.h"

namespace linnet::cli::test {
namespace {

using graph::NetworkBuilder;
using graph::per_tensor;
using testing::ElementsAre;
using testing::HasSubstr;

class Export : public CommandTest {
 protected:
  void SetUp() override {
    if (!board::find_program("g++")) GTEST_SKIP() << "needs g++";
  }

  // A program for this machine from the sources in `folder`: `firmware INPUTS OUTPUTS`, each a file of raw tensors.
  void build(const std::string& folder, const std::string& name) {
    write("main.cpp", with_name(R"(
#include <cstdio>
#include "NAME.h"
alignas(16) static uint8_t arena[NAME::ARENA_BYTES];
int main(int, char** argv) {
  linnet::Interpreter net;
  if (auto s = net.init(NAME::program, NAME::kernels, arena); !s.ok()) return std::puts(s.text()), 1;
  std::FILE* in = std::fopen(argv[1], "rb");
  for (uint32_t i = 0; i < net.input_count(); ++i)
    if (std::fread(net.input(i).data<uint8_t>(), 1, net.input(i).bytes(), in) != net.input(i).bytes()) return 2;
  if (!net.run().ok()) return 3;
  std::FILE* out = std::fopen(argv[2], "wb");
  for (uint32_t i = 0; i < net.output_count(); ++i) std::fwrite(net.output(i).data<uint8_t>(), 1, net.output(i).bytes(), out);
  std::fclose(out);
}
)",
                                name));
    Ran ran = run({"/usr/bin/env", "g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Wshadow", "-Werror",
                   "-ffp-contract=off", "-I", LINNET_SOURCE_DIR "/device", "-I", folder, "main.cpp",
                   folder + "/" + name + ".cpp", "-o", "firmware"});
    ASSERT_EQ(ran.status, 0) << ran.err;
  }

  static std::string with_name(std::string text, const std::string& name) {
    for (size_t at; (at = text.find("NAME")) != text.npos;) text.replace(at, 4, name);
    return text;
  }

  // Exported and compiled, run by the command from both files: always the same bytes.
  void expect_same_everywhere(const std::string& model, const std::string& name, const std::vector<uint8_t>& input) {
    write("input", input);
    Ran exported = linnet({"export", model, "-o", "sources", "--as", "cmake", "--json"});
    ASSERT_EQ(exported.status, 0) << exported.err;
    EXPECT_EQ(exported.json()["name"], name);
    ASSERT_NO_FATAL_FAILURE(build("sources", name));
    Ran ran = run({path("firmware"), "input", "firmware.out"});
    ASSERT_EQ(ran.status, 0) << ran.out;
    ASSERT_EQ(linnet({"run", model, "-i", "input", "-o", "tflite.out"}).status, 0);
    Ran program = linnet({"run", "sources/" + name + ".lnnp", "-i", "input", "-o", "program.out", "--json"});
    ASSERT_EQ(program.status, 0) << program.err;
    EXPECT_EQ(program.json()["arena_bytes"], exported.json()["arena_bytes"]);
    EXPECT_EQ(read("firmware.out"), read("tflite.out"));
    EXPECT_EQ(read("program.out"), read("tflite.out"));
  }
};

TEST_F(Export, SmallNetworkIsTheSameEverywhere) {
  NetworkBuilder n;
  int x = n.input(Type::int8, {1, 4, 4, 2}, per_tensor(0.25f, -3));
  int y = n.relu6(n.relu(x, per_tensor(0.125f, -100)), per_tensor(0.05f, -128));
  n.output(n.reshape(y, {1, 32}));
  write("3 small-net.tflite", n.write());
  expect_same_everywhere("3 small-net.tflite", "model_3_small_net", n.random_input(x));
  EXPECT_THAT(linnet({"inspect", "sources/model_3_small_net.lnnp"}).out, HasSubstr("reference/relu.int8"));
  EXPECT_EQ(linnet({"export", "sources/model_3_small_net.lnnp", "-o", "again"}).status, 0);
  EXPECT_EQ(read("again/model_3_small_net.lnnp"), read("sources/model_3_small_net.lnnp"));
}

TEST_F(Export, NetworkWithoutKernels) {
  NetworkBuilder n;
  int x = n.input(Type::int8, {1, 8}, per_tensor(1));
  n.output(n.reshape(x, {2, 4}));
  write("nothing.tflite", n.write());
  expect_same_everywhere("nothing.tflite", "nothing", n.random_input(x));
}

TEST_F(Export, ExampleDigits) {
  std::filesystem::path model = LINNET_SOURCE_DIR "/examples/digits/digits_int8.tflite";
  if (linnet({"ops", "--model", model.string()}).status != 0) GTEST_SKIP() << "operators are missing";
  std::filesystem::copy(model, path("digits.tflite"));
  std::vector<uint8_t> input(64);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<uint8_t>(i * 37);
  expect_same_everywhere("digits.tflite", "digits", input);
}

// The exported folder as a library of somebody's CMake project, for this machine and for a Cortex-M4.
TEST_F(Export, IsALibraryOfACMakeProject) {
  if (!board::find_program("cmake") || !board::find_program("ninja")) GTEST_SKIP() << "needs cmake and ninja";
  ASSERT_EQ(linnet({"export", LINNET_SOURCE_DIR "/examples/digits/digits_int8.tflite", "-o", "digits"}).status, 0);
  write("main.cpp", std::string(R"(
#include <linnet/linnet.h>
#include "digits_int8.h"
alignas(16) static uint8_t arena[digits_int8::ARENA_BYTES];
int main() {
  linnet::Interpreter net;
  return net.init(digits_int8::program, digits_int8::kernels, arena).ok() && net.run().ok() ? 0 : 1;
}
)"));
  write("CMakeLists.txt", std::string(R"(
cmake_minimum_required(VERSION 3.21)
project(own LANGUAGES CXX)
set(LINNET_DEVICE_DIR ")" LINNET_SOURCE_DIR R"(/device")
add_subdirectory(digits)
if(CMAKE_CROSSCOMPILING)
  add_library(own OBJECT main.cpp)
else()
  add_executable(own main.cpp)
endif()
target_link_libraries(own PRIVATE digits_int8)
)"));
  auto build_in = [&](const std::string& tree, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"/usr/bin/env", "cmake", "-S", ".", "-B", tree, "-G", "Ninja"};
    words.insert(words.end(), more.begin(), more.end());
    Ran ran = run(words);
    if (ran.status == 0) ran = run({"/usr/bin/env", "cmake", "--build", tree});
    EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  };
  build_in("here", {});
  EXPECT_EQ(run({path("here/own")}).status, 0);
  if (!board::find_program("arm-none-eabi-g++")) return;
  build_in("board", {"--toolchain", LINNET_SOURCE_DIR "/cmake/toolchain/cortex-m4.cmake"});
}

// A Program of loop nests: three layers in bands of rows. Shown, run, and exported with a kernel table that has nests.
TEST_F(Export, ProgramWithLoopNests) {
  NetworkBuilder n(7);
  int x = n.input(Type::int8, {1, 21, 10, 3}, per_tensor(0.05f));
  int y = n.conv_2d(x, {.channels = 8, .kernel = {3, 3}, .stride = {2, 2}});
  n.output(n.conv_2d(n.depthwise_conv_2d(y, {.channels = 8, .kernel = {3, 3}}), {.channels = 6}));
  seams::InCore in_core(n, catalogue().table);
  std::vector<uint8_t> bands = seams::in_bands(in_core, catalogue().table, {2, 2, 2});
  write("bands.lnnp", bands);
  write("input", in_core.inputs[0]);
  Ran ran = linnet({"run", "bands.lnnp", "-i", "input", "-o", "bands.out"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(read("bands.out"), in_core.outputs[0]);
  std::string shown = linnet({"inspect", "bands.lnnp"}).out;
  EXPECT_THAT(shown, HasSubstr("nest of"));
  EXPECT_THAT(shown, HasSubstr("reference/depthwise_conv_2d.int8, in tiles"));
  expect_same_everywhere("bands.lnnp", "bands", in_core.inputs[0]);
  EXPECT_EQ(linnet({"export", "sources/bands.lnnp", "-o", "again"}).status, 0);
  EXPECT_EQ(read("again/bands.lnnp"), read("sources/bands.lnnp"));
}

// Every kernel's type and header, as the compiler that wrote them understands them.
TEST_F(Export, EveryKernelOfTheCatalogueCanBeNamed) {
  std::string source;
  for (const KernelInfo& kernel : catalogue().kernels) source += "#include \"" + std::string(kernel.header) + "\"\n";
  source += "#include \"linnet/kernels/table.h\"\n";
  std::vector<uint32_t> indices;
  for (const KernelInfo& kernel : catalogue().kernels) {
    indices.push_back(static_cast<uint32_t>(indices.size()));
    source += (indices.size() == 1 ? "using Table = linnet::Kernels<" : ", ") + kernel.type;
  }
  source += ">;\nstatic_assert(Table::table.hash == " + std::to_string(kernels_hash(indices)) + "u);\n";
  write("all.cpp", source);
  Ran ran = run({"/usr/bin/env", "g++", "-std=c++17", "-fsyntax-only", "-I", LINNET_SOURCE_DIR "/device", "all.cpp"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(kernels_hash(indices), catalogue().table.kernels->hash);
  if (!board::find_program("arm-none-eabi-g++")) return;
  ran = run({"/usr/bin/env", "arm-none-eabi-g++", "-std=c++17", "-mcpu=cortex-m4", "-fsyntax-only", "-I",
             LINNET_SOURCE_DIR "/device", "all.cpp"});
  EXPECT_EQ(ran.status, 0) << ran.err;
}

TEST_F(Export, LeavesNothingBehindOnFailure) {
  NetworkBuilder n;
  n.output(n.relu(n.input(Type::float32, {4})));
  write("net.tflite", n.write());
  write("file", std::string("x"));
  expect_refused({"export", "net.tflite", "-o", "file"}, "not a directory");
  std::filesystem::create_directories(path("taken/net.h"));  // a directory where a file should go
  expect_refused({"export", "net.tflite", "-o", "taken"}, "is a directory");
  expect_refused({"export", "absent.tflite", "-o", "new/folder"}, "absent.tflite");
  EXPECT_THAT(files(), ElementsAre("file", "net.tflite", "taken", "taken/net.h"));
}

// A Program that was made for other kernels says so.
TEST_F(Export, ProgramOfUnknownKernels) {
  NetworkBuilder n;
  n.output(n.relu(n.input(Type::float32, {4})));
  write("net.tflite", n.write());
  ASSERT_EQ(linnet({"export", "net.tflite", "-o", "s"}).status, 0);
  std::vector<uint8_t> file = read("s/net.lnnp");
  std::string text(file.begin(), file.end());
  text.replace(text.find("relu.float32"), 4, "RELU");
  write("other.lnnp", text);
  expect_refused({"run", "other.lnnp"}, "RELU.float32");
  write("cut.lnnp", text.substr(0, text.find("LNNK")));
  expect_refused({"run", "cut.lnnp"}, "other kernels");
  expect_refused({"run", "s/net.lnnp", "--prepare", "device"}, "Program already");
  for (size_t at = 0; at < file.size(); at += 7) {
    std::vector<uint8_t> damaged = file;
    damaged[at] ^= 0x82;
    write("damaged.lnnp", damaged);
    int status = linnet({"run", "damaged.lnnp"}).status;
    EXPECT_TRUE(status == 0 || status == 2) << at;
  }
}

TEST(Identifier, IsOneWhateverTheFileIsCalled) {
  EXPECT_EQ(identifier("person_detect"), "person_detect");
  EXPECT_EQ(identifier("vww-96.int8"), "vww_96_int8");
  EXPECT_EQ(identifier("__x__"), "x");
  EXPECT_EQ(identifier("a--b"), "a_b");
  EXPECT_EQ(identifier("2nd"), "model_2nd");
  EXPECT_EQ(identifier("\xC3\xA9t\xC3\xA9"), "t");
  EXPECT_EQ(identifier(""), "model");
  EXPECT_EQ(identifier("class"), "class_model");
  EXPECT_EQ(identifier("std"), "std_model");
}

}  // namespace
}  // namespace linnet::cli::test
