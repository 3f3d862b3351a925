// The command as people and scripts meet it: exit status, messages, JSON, files.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <map>

#include "cli/test_command.h"
#include "linnet/graph/network_builder.h"
#include "linnet/model/schema.h"
#include "linnet/run/session.h"
#include "tests/support/models.h"

namespace linnet::cli::test {
namespace {

using graph::NetworkBuilder;
using graph::per_tensor;
using testing::ElementsAre;
using testing::HasSubstr;

// x -> RELU -> RELU6, int8, scale 0.5, zero point 0: the output is the input clamped to 0 .. 12.
std::vector<uint8_t> clamp_network(std::vector<int32_t> shape = {1, 2, 3, 1}, Type type = Type::int8) {
  NetworkBuilder n;
  graph::Quantization q = type == Type::float32 ? graph::Quantization{} : per_tensor(0.5f, 0);
  int x = n.input(type, shape, q, "picture");
  n.output(n.relu6(n.relu(x, q), q));
  return n.write();
}

// Two inputs, two outputs, with names in a signature.
std::vector<uint8_t> two_way_network() {
  NetworkBuilder n;
  int a = n.input(Type::float32, {1, 4}, {}, "first"), b = n.input(Type::float32, {1, 2}, {}, "second");
  int c = n.relu(a), d = n.relu(b);
  n.output(c);
  n.output(d);
  n.network.signatures.push_back({"serve", {{"left", a}, {"right", b}}, {{"big", c}, {"small", d}}, 0});
  return n.write();
}

std::vector<uint8_t> bytes_of(const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

using Command = CommandTest;

constexpr const char* digits_folder = LINNET_SOURCE_DIR "/examples/digits/";

// ---- Usage
// ------------------------------------------------------------------------------------------------------------

TEST_F(Command, UsageErrors) {
  expect_refused({}, "a verb is required");
  expect_refused({"dance"}, "there is no verb 'dance'");
  expect_refused({"run"}, "MODEL is required");
  expect_refused({"inspect", "a", "b"}, "b");
  expect_refused({"run", "x", "--no-such-option"}, "--no-such-option");
  expect_refused({"export", "x"}, "output");
}

TEST_F(Command, HelpAndVersionAreDone) {
  for (std::vector<std::string> words : {std::vector<std::string>{"--help"}, {"run", "--help"}, {"--version"}}) {
    Ran ran = linnet(words);
    EXPECT_EQ(ran.status, 0);
    EXPECT_NE(ran.out, "");
    EXPECT_EQ(ran.err, "");
  }
}

TEST_F(Command, BadModels) {
  expect_refused({"inspect", "absent.tflite"}, "cannot read 'absent.tflite': No such file");
  expect_refused({"inspect", "."}, "it is a directory");
  write("empty.tflite", std::string());
  expect_refused({"run", "empty.tflite"}, "it is empty");
  write("text.tflite", std::string("This is not a network at all."));
  expect_refused({"run", "text.tflite"}, "text.tflite: this is neither a .tflite file nor a Linnet Program");
  std::vector<uint8_t> file = clamp_network();
  write("short.tflite", std::vector<uint8_t>(file.begin(), file.begin() + 40));
  expect_refused({"inspect", "short.tflite", "--json"}, "short.tflite: ");
  write("program.lnnp", std::string("LNNP"));
  expect_refused({"inspect", "program.lnnp"}, "program.lnnp: ");
}

// Whatever byte is cut or changed: an answer or a sentence, never a crash, and the same for each verb.
TEST_F(Command, DamagedModelsNeverCrash) {
  std::vector<uint8_t> file = clamp_network();
  for (size_t at = 0; at < file.size(); at += 23) {
    std::vector<uint8_t> damaged = file;
    damaged[at] ^= 0x41;
    write("damaged.tflite", damaged);
    Ran ran = linnet({"run", "damaged.tflite", "--json"});
    EXPECT_TRUE(ran.status == 0 || ran.status == 2) << at;
    EXPECT_EQ(ran.status == 0, !ran.out.empty()) << at;
  }
}

TEST_F(Command, AllUnsupportedOperatorsInOneMessage) {
  NetworkBuilder n;
  int x = n.input(Type::float32, {1, 4});
  for (const char* name : {"First", "Second", "Third"})
    x = n.custom(name, {x}, {.type = Type::float32, .shape = {1, 4}});
  n.output(x);
  write("custom.tflite", n.write());
  for (const char* verb : {"run", "inspect"}) {
    Ran ran = linnet({verb, "custom.tflite"});
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("custom.tflite: 3 operators stand in the way"));
    for (const char* part : {"operator 0 (First", "operator 1 (Second", "operator 2 (Third", "float32"})
      EXPECT_THAT(ran.err, HasSubstr(part));
  }
  Ran ran = linnet({"ops", "--model", "custom.tflite"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr("Third"));
  Ran json = linnet({"ops", "--model", "custom.tflite", "--json"});
  EXPECT_EQ(json.status, 1);
  EXPECT_EQ(json.json()["obstacles"].size(), 3u);
  EXPECT_EQ(json.json()["supported"], false);
}

// ---- inspect
// ----------------------------------------------------------------------------------------------------------

TEST_F(Command, InspectJson) {
  write("clamp.tflite", clamp_network());
  Ran ran = linnet({"inspect", "clamp.tflite", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  nlohmann::json json = ran.json();
  ASSERT_EQ(json["inputs"].size(), 1u);
  EXPECT_EQ(json["inputs"][0]["name"], "picture");
  EXPECT_EQ(json["inputs"][0]["index"], 0);
  EXPECT_EQ(json["inputs"][0]["type"], "int8");
  EXPECT_EQ(json["inputs"][0]["shape"], nlohmann::json({1, 2, 3, 1}));
  EXPECT_EQ(json["inputs"][0]["bytes"], 6);
  EXPECT_EQ(json["outputs"][0]["bytes"], 6);
  EXPECT_EQ(json["tensors"].size(), 3u);
  ASSERT_EQ(json["operators"].size(), 2u);
  EXPECT_EQ(json["operators"][0]["operator"], "RELU");
  EXPECT_EQ(json["operators"][1]["operator"], "RELU6");
  EXPECT_EQ(json["operators"][0]["live_bytes"], 12);
  EXPECT_EQ(json["peak_bytes"], 12);
  EXPECT_GE(json["arena_bytes"], json["prepared_on_host"]["arena_bytes"]);
}

TEST_F(Command, InspectMarksOnePeakAndKeepsColumns) {
  NetworkBuilder n;
  int x = n.input(Type::float32, {1, 16});
  for (int i = 0; i < 300; ++i) x = n.relu(x);
  n.output(x);
  write("long.tflite", n.write());
  Ran ran = linnet({"inspect", "long.tflite"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 300 + 13);
  size_t first = ran.out.find("<- peak");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(ran.out.find("<- peak", first + 1), std::string::npos);
  EXPECT_THAT(ran.out, HasSubstr("peak: 128 bytes live at step 0 (RELU)"));
}

// ---- run: numbers
// -----------------------------------------------------------------------------------------------------

TEST_F(Command, RunsAllWays) {
  write("clamp.tflite", clamp_network());
  write("in.raw", std::vector<int8_t>{-100, -1, 0, 5, 12, 100});
  for (std::vector<std::string> how : {std::vector<std::string>{},
                                       {"--prepare", "host"},
                                       {"--prepare=device"},
                                       {"--num_runs", "3"},
                                       {"--kernels", "reference"},
                                       {"--prepare", "host", "--kernels=reference"},
                                       {"--on", "host", "--memory", "static"}}) {
    std::vector<std::string> words = {"run", "clamp.tflite", "-i", "in.raw", "-o", "out.raw"};
    words.insert(words.end(), how.begin(), how.end());
    Ran ran = linnet(words);
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    EXPECT_THAT(read("out.raw"), ElementsAre(0, 0, 0, 5, 12, 12));
  }
}

TEST_F(Command, RunJson) {
  write("clamp.tflite", clamp_network());
  write("in.raw", std::vector<int8_t>{-100, -1, 0, 5, 12, 100});
  Ran ran = linnet({"run", "clamp.tflite", "-i", "in.raw", "--json", "--nodes"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  nlohmann::json json = ran.json();
  for (const char* key : {"arena_bytes", "persistent_bytes", "activation_bytes", "scratch_bytes", "stack_bytes"})
    EXPECT_TRUE(json[key].is_number_unsigned()) << key;
  EXPECT_GT(json["stack_bytes"], 64);
  EXPECT_LT(json["stack_bytes"], 16384);
  EXPECT_EQ(json["outputs"][0]["values"], nlohmann::json({0, 0, 0, 5, 12, 12}));
  ASSERT_EQ(json["nodes"].size(), 2u);
  EXPECT_EQ(json["nodes"][1]["crc32"], json["outputs"][0]["crc32"]);
}

TEST_F(Command, RunWithoutInputsSaysSo) {
  write("clamp.tflite", clamp_network());
  Ran ran = linnet({"run", "clamp.tflite", "--json"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.err, HasSubstr("zeros"));
  EXPECT_EQ(ran.json()["outputs"][0]["values"], nlohmann::json({0, 0, 0, 0, 0, 0}));
}

TEST_F(Command, ChecksumsLookLikeThis) {
  write("clamp.tflite", clamp_network());
  std::vector<int8_t> input = {-100, -1, 0, 5, 12, 100};
  write("in.raw", input);
  Ran ran = linnet({"run", "clamp.tflite", "-i", "in.raw", "--nodes"});
  std::vector<uint8_t> relu = {0, 0, 0, 5, 12, 100}, relu6 = {0, 0, 0, 5, 12, 12};
  char lines[200];
  snprintf(lines, sizeof lines, "0 RELU tensor 1 bytes 6 crc %08x\n1 RELU6 tensor 2 bytes 6 crc %08x\n",
           crc32({relu.data(), relu.size()}), crc32({relu6.data(), relu6.size()}));
  EXPECT_TRUE(ran.out.starts_with(lines)) << ran.out;
}

TEST_F(Command, ArenaOfExactlyTheNeedAndOneByteLess) {
  write("clamp.tflite", clamp_network({1, 8, 8, 4}));
  for (std::string prepare : {"device", "host"}) {
    Ran ran = linnet({"run", "clamp.tflite", "--json", "--prepare", prepare});
    uint32_t need = ran.json()["arena_bytes"];
    EXPECT_EQ(linnet({"run", "clamp.tflite", "--prepare", prepare, "--arena_size", std::to_string(need)}).status, 0);
    for (uint32_t size : {need - 1, 0u, 16u}) {
      Ran small = linnet({"run", "clamp.tflite", "--prepare", prepare, "--arena-size", std::to_string(size)});
      EXPECT_EQ(small.status, 1);
      EXPECT_EQ(small.out, "");
      EXPECT_THAT(small.err, HasSubstr("needs " + std::to_string(need) + " bytes"));
    }
    Ran json = linnet({"run", "clamp.tflite", "--prepare", prepare, "--arena-size", "16", "--json"});
    EXPECT_EQ(json.status, 1);
    EXPECT_EQ(json.json()["fits"], false);
  }
  EXPECT_EQ(linnet({"run", "clamp.tflite", "--arena-size=64K"}).status, 0);
}

TEST_F(Command, OptionsThatMakeNoSense) {
  write("clamp.tflite", clamp_network());
  expect_refused({"run", "clamp.tflite", "--arena-size", "12Q"}, "'12Q' is not a size");
  expect_refused({"run", "clamp.tflite", "--arena-size", "5G"}, "more than 4 GB");
  expect_refused({"run", "clamp.tflite", "--memory", "compacting"}, "--prepare host");
  expect_refused({"run", "clamp.tflite", "--memory", "swap"}, "compacting");
  expect_refused({"inspect", "clamp.tflite", "--memory", "magic"}, "static");
  expect_refused({"plan", "clamp.tflite", "--memory", "magic"}, "static");
  expect_refused({"export", "clamp.tflite", "-o", "sources", "--memory", "magic"}, "static");
  expect_refused({"run", "clamp.tflite", "--memory", "magic"}, "magic");
  expect_refused({"run", "clamp.tflite", "--prepare", "moon"}, "device");
  expect_refused({"run", "clamp.tflite", "--kernels", "none"}, "reference");
  expect_refused({"run", "clamp.tflite", "--on", "no-such-board"}, "mps2-an386");
  expect_refused({"run", "clamp.tflite", "--pixels", "blue"}, "unsigned");
  expect_refused({"run", "clamp.tflite", "--num-runs", "0"}, "--num-runs");
  expect_refused({"run", "clamp.tflite", "--num-runs", "x"}, "num-runs");
  expect_refused({"export", "clamp.tflite", "-o", "d", "--as", "pascal"}, "cmake");
  expect_refused({"export", "clamp.tflite", "-o", "d", "--name", "two words"}, "two_words");
}

// ---- run: files
// -------------------------------------------------------------------------------------------------------

TEST_F(Command, InputsOfTheWrongKind) {
  write("clamp.tflite", clamp_network());
  write("short.raw", std::vector<int8_t>{1, 2, 3});
  expect_refused({"run", "clamp.tflite", "-i", "short.raw"},
                 "short.raw: the file has 3 bytes, but input 0 'picture' is int8 1x2x3x1 (6 bytes)");
  expect_refused({"run", "clamp.tflite", "-i", "absent.raw"}, "absent.raw");
  expect_refused({"run", "clamp.tflite", "-i", "."}, "directory");
  write("six.raw", std::vector<int8_t>(6));
  expect_refused({"run", "clamp.tflite", "-i", "six.raw", "-i", "six.raw"}, "only 1 input");
  expect_refused({"run", "clamp.tflite", "-i", "image=six.raw"}, "picture");
  expect_refused({"run", "clamp.tflite", "-i", "picture=six.raw", "-i", "picture=six.raw"}, "twice");
  expect_refused({"run", "clamp.tflite", "-i", "picture="}, "missing");
  write("not.npy", std::string("no numbers"));
  expect_refused({"run", "clamp.tflite", "-i", "not.npy"}, "not.npy: this is not a .npy file");
  write("not.png", std::string("no pixels"));
  expect_refused({"run", "clamp.tflite", "-i", "not.png"}, "not.png");
  expect_refused({"run", "clamp.tflite", "-i", "six.raw", "-o", "out.png"}, "not as images");
}

TEST_F(Command, SeveralInputsByOrderAndByName) {
  write("two.tflite", two_way_network());
  write("four.raw", bytes_of({1, -2, 3, -4}));
  write("two.raw", bytes_of({-5, 6}));
  std::vector<uint8_t> big = bytes_of({1, 0, 3, 0}), small = bytes_of({0, 6});
  for (std::vector<std::string> inputs : {std::vector<std::string>{"-i", "four.raw", "-i", "two.raw"},
                                          {"-i", "right=two.raw", "-i", "left=four.raw"},
                                          {"-i", "second=two.raw", "-i", "four.raw"},
                                          {"--input", "1=two.raw", "--input", "0=four.raw"}}) {
    std::vector<std::string> words = {"run", "two.tflite", "-o", "small=s.raw", "-o", "b.raw"};
    words.insert(words.end(), inputs.begin(), inputs.end());
    Ran ran = linnet(words);
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(read("b.raw"), big);
    EXPECT_EQ(read("s.raw"), small);
  }
  expect_refused({"run", "two.tflite", "-i", "four.raw"}, "input 1 'second' is not given");
}

TEST_F(Command, NumpyFilesThereAndBack) {
  write("clamp.tflite", clamp_network());
  write("in.raw", std::vector<int8_t>{-100, -1, 0, 5, 12, 100});
  ASSERT_EQ(linnet({"run", "clamp.tflite", "-i", "in.raw", "-o", "out.npy"}).status, 0);
  std::vector<uint8_t> npy = read("out.npy");
  EXPECT_EQ(npy.size() % 64, 6u);
  ASSERT_EQ(linnet({"run", "clamp.tflite", "-i", "out.npy", "-o", "again.raw"}).status, 0);
  EXPECT_THAT(read("again.raw"), ElementsAre(0, 0, 0, 5, 12, 12));

  write("cut.npy", std::vector<uint8_t>(npy.begin(), npy.end() - 1));
  expect_refused({"run", "clamp.tflite", "-i", "cut.npy"}, "cut.npy");
  write("wide.tflite", clamp_network({1, 6}));
  expect_refused({"run", "wide.tflite", "-i", "out.npy"},
                 "the array's shape is 1x2x3x1, but input 0 'picture' is int8 1x6");
  write("float.tflite", clamp_network({1, 2, 3, 1}, Type::float32));
  expect_refused({"run", "float.tflite", "-i", "out.npy"}, "element type");
  write("plane.tflite", clamp_network({2, 3}));  // the same without dimensions of 1
  EXPECT_EQ(linnet({"run", "plane.tflite", "-i", "out.npy"}).status, 0);
}

// A 3 x 2 bitmap, 24 bits, bottom row first, rows padded to 4 bytes.
std::vector<uint8_t> bitmap(const std::vector<std::array<uint8_t, 3>>& rgb) {
  std::vector<uint8_t> file(54);
  auto put = [&](size_t at, uint32_t value) { std::memcpy(&file[at], &value, 4); };
  file[0] = 'B', file[1] = 'M';
  put(10, 54), put(14, 40), put(18, 3), put(22, 2);
  file[26] = 1, file[28] = 24;
  for (int y : {1, 0}) {
    for (int x = 0; x < 3; ++x) {
      const auto& p = rgb[static_cast<size_t>(y * 3 + x)];
      file.insert(file.end(), {p[2], p[1], p[0]});
    }
    file.insert(file.end(), 3, 0);
  }
  put(2, static_cast<uint32_t>(file.size()));
  return file;
}

TEST_F(Command, PicturesBecomeTensors) {
  write("picture.bmp",
        bitmap({{128, 128, 128}, {129, 129, 129}, {130, 130, 130}, {0, 0, 0}, {255, 255, 255}, {138, 138, 138}}));
  write("grey.tflite", clamp_network());
  ASSERT_EQ(linnet({"run", "grey.tflite", "-i", "picture.bmp", "-o", "out.raw"}).status, 0);
  EXPECT_THAT(read("out.raw"), ElementsAre(0, 1, 2, 0, 12, 10));

  write("colour.tflite", clamp_network({1, 2, 3, 3}));
  ASSERT_EQ(linnet({"run", "colour.tflite", "-i", "picture.bmp", "-o", "out.raw"}).status, 0);
  EXPECT_THAT(read("out.raw"), ElementsAre(0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 12, 12, 12, 10, 10, 10));

  write("float.tflite", clamp_network({1, 2, 3, 1}, Type::float32));
  Ran ran = linnet({"run", "float.tflite", "-i", "picture.bmp", "--json"});
  EXPECT_FLOAT_EQ(ran.json()["outputs"][0]["values"][4], 1.0f);
  EXPECT_FLOAT_EQ(ran.json()["outputs"][0]["values"][5], 138 / 255.0f);

  write("tall.tflite", clamp_network({1, 3, 2, 1}));
  expect_refused({"run", "tall.tflite", "-i", "picture.bmp"},
                 "the image is 2 pixels high and 3 wide, but input 0 'picture' is int8 1x3x2x1");
  write("many.tflite", clamp_network({1, 2, 3, 8}));
  expect_refused({"run", "many.tflite", "-i", "picture.bmp"}, "1 or 3 channels");
  std::vector<uint8_t> cut = read("picture.bmp");
  cut.resize(30);
  write("cut.bmp", cut);
  expect_refused({"run", "grey.tflite", "-i", "cut.bmp"}, "cut.bmp");
}

TEST_F(Command, SignedPixelsByWishAndNotByTheLookOfSmallPictures) {
  write("picture.bmp",
        bitmap({{0, 0, 0}, {1, 1, 1}, {127, 127, 127}, {128, 128, 128}, {255, 255, 255}, {254, 254, 254}}));
  write("grey.tflite", clamp_network());
  ASSERT_EQ(linnet({"run", "grey.tflite", "-i", "picture.bmp", "-o", "out.raw", "--pixels", "signed"}).status, 0);
  EXPECT_THAT(read("out.raw"), ElementsAre(0, 1, 12, 0, 0, 0));
  Ran ran = linnet({"run", "grey.tflite", "-i", "picture.bmp", "-o", "out.raw"});
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(read("out.raw"), ElementsAre(0, 0, 0, 0, 12, 12));
  write("float.tflite", clamp_network({1, 2, 3, 1}, Type::float32));
  expect_refused({"run", "float.tflite", "-i", "picture.bmp", "--pixels", "signed"}, "int8");
}

// The example network gets its example pictures right, as pictures and as arrays, in both types.
TEST_F(Command, ExampleDigits) {
  std::ifstream labels(std::string(digits_folder) + "inputs/labels.csv");
  std::string line;
  std::getline(labels, line);
  int count = 0;
  for (; std::getline(labels, line); ++count) {
    std::string name = line.substr(0, line.find(',')), label = line.substr(line.find(',') + 1);
    for (std::string type : {"int8", "float"})
      for (std::string input : {name + ".png", name + "_" + type + ".npy"}) {
        Ran ran = linnet({"run", digits_folder + ("digits_" + type + ".tflite"), "-i",
                          digits_folder + ("inputs/" + input), "--json"});
        ASSERT_EQ(ran.status, 0) << ran.err;
        EXPECT_EQ(ran.err, "");
        EXPECT_EQ(ran.json()["outputs"][0]["top_classes"][0]["class"], std::stoi(label)) << input;
      }
  }
  EXPECT_EQ(count, 10);
}

// Weights that lie more than 2 GB into a (sparse) file.
TEST_F(Command, ModelAboveTwoGigabytes) {
  NetworkBuilder n;
  int x = n.input(Type::float32, {1, 4});
  int two = n.constant<float>(Type::float32, {4}, {2, 3, 5, 7});
  n.output(n.mul(x, two));
  write("near.tflite", n.write());
  if (linnet({"ops", "--model", "near.tflite"}).status != 0) GTEST_SKIP() << "MUL is missing";
  n.network.external_data = true;
  std::vector<uint8_t> file = n.write();
  uint64_t near = 0, far = 0x90000010;
  for (int i = 1; near <= 1; ++i) {  // the first buffer that has data
    ASSERT_LT(i, static_cast<int>(n.subgraph().tensors.size()) + 1);
    try {
      size_t at = graph::find_field(file, {{schema::Model::buffers, i}}, schema::Buffer::offset);
      std::memcpy(&near, &file[at], sizeof near);
      graph::overwrite(file, at, far);
    } catch (const std::invalid_argument&) {  // it has none
    }
  }
  write("far.tflite", file);
  std::error_code error;
  std::filesystem::resize_file(path("far.tflite"), far + 64, error);
  if (error) GTEST_SKIP() << "no sparse file of that size here: " << error.message();
  {
    std::fstream stream(path("far.tflite"), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(far));
    stream.write(reinterpret_cast<const char*>(&file[near]), 16);
  }
  write("in.raw", bytes_of({1, 10, 100, 1000}));
  for (std::string prepare : {"device", "host"}) {
    Ran ran = linnet({"run", "far.tflite", "-i", "in.raw", "-o", "out.raw", "--prepare", prepare});
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(read("out.raw"), bytes_of({2, 30, 500, 7000}));
  }
}

// Networks of other people: the answers that everybody expects, on this machine and on the board.
class PersonDetect : public CommandTest {
 protected:
  void expect_person(const std::string& picture, bool person, std::vector<std::string> how) {
    std::string folder = linnet::test::models_folder().string();
    std::vector<std::string> words = {"run", folder + "/tflite_micro/person_detect.tflite", "-i",
                                      folder + "/inputs/" + picture, "--json"};
    words.insert(words.end(), how.begin(), how.end());
    Ran ran = linnet(words);
    ASSERT_EQ(ran.status, 0) << ran.err;
    nlohmann::json output = ran.json()["outputs"][0];
    EXPECT_EQ(output["values"][1] > output["values"][0], person) << output.dump();
    nlohmann::json& same = values_[picture];  // whoever runs it
    if (same.is_null()) same = output["values"];
    EXPECT_EQ(output["values"], same);
    EXPECT_EQ(output["top_classes"][0]["class"], person ? 1 : 0);
  }
  void expect_both(const std::vector<std::string>& how) {
    expect_person("person.bmp", true, how);
    expect_person("no_person.bmp", false, how);
  }

  std::map<std::string, nlohmann::json> values_;
};

TEST_F(PersonDetect, OnTheHost) {
  LINNET_NEEDS_MODELS();
  expect_both({});
  expect_both({"--prepare", "host"});
}

TEST_F(PersonDetect, OnTheBoard) {
  LINNET_NEEDS_MODELS();
  nlohmann::json boards = linnet({"boards", "--json"}).json()["boards"];
  for (const auto& board : boards)
    if (board["board"] == "mps2-an386" && board["ready"] == false) GTEST_SKIP() << board["missing"];
  expect_both({});
  expect_both({"--on", "mps2-an386"});
  expect_both({"--on", "mps2-an386", "--prepare", "host"});
}

// ---- Boards
// -----------------------------------------------------------------------------------------------------------

// Without emulator (or firmware) the message says what to install.
TEST_F(Command, WhatABoardNeedsIsNamed) {
  write("clamp.tflite", clamp_network());
  Ran ran = run({"/usr/bin/env", "-i", "PATH=/nonexistent", std::string(LINNET_BINARY_DIR) + "/linnet", "run",
                 "clamp.tflite", "--on", "mps2-an386"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("apt install"));
}

// Where no runner fits, no compiler helps.
TEST_F(Command, BoardsWithoutARunnerAreNamed) {
  write("clamp.tflite", clamp_network());
  expect_refused({"run", "clamp.tflite", "--on", "microbit"}, "microbit has 96 KB for code, too little for a runner");
  for (const auto& board : linnet({"boards", "--json"}).json()["boards"])
    if (board["board"] == "microbit") {
      EXPECT_EQ(board["ready"], false);
    }
}

class OnBoard : public CommandTest {
 protected:
  void SetUp() override {
    for (const auto& board : linnet({"boards", "--json"}).json()["boards"])
      if (board["board"] == "mps2-an386" && board["ready"] == false) GTEST_SKIP() << board["missing"];
  }
};

TEST_F(OnBoard, SameNumbersAsOnTheHost) {
  write("two.tflite", two_way_network());
  write("four.raw", bytes_of({1, -2, 3, -4}));
  write("two.raw", bytes_of({-5, 6}));
  ASSERT_EQ(linnet({"export", "two.tflite", "-o", "s"}).status, 0);
  for (std::vector<std::string> how :
       {std::vector<std::string>{"two.tflite"}, {"two.tflite", "--prepare", "host"}, {"s/two.lnnp"}}) {
    std::vector<std::string> words = {"run", "-i", "four.raw", "-i", "two.raw", "--json"};
    words.insert(words.end(), how.begin(), how.end());
    if (how[0] == "two.tflite") words.push_back("--nodes");
    nlohmann::json host = linnet(words).json();
    words.insert(words.end(), {"--on", "mps2-an386"});
    Ran ran = linnet(words);
    ASSERT_EQ(ran.status, 0) << ran.err;
    nlohmann::json board = ran.json();
    EXPECT_GT(board["stack_bytes"], 0);
    board["stack_bytes"] = host["stack_bytes"];  // the machines' own
    board["on"] = host["on"];
    EXPECT_EQ(board, host);
    uint32_t need = host["arena_bytes"];
    words.insert(words.end(), {"--arena-size", std::to_string(need)});
    EXPECT_EQ(linnet(words).status, 0);
    words.back() = std::to_string(need - 1);
    Ran small = linnet(words);
    EXPECT_EQ(small.status, 1);
    EXPECT_THAT(small.err, HasSubstr("needs " + std::to_string(need) + " bytes"));
  }
}

TEST_F(OnBoard, FileNamesOfEveryKind) {
  write("a model, of mine.tflite", clamp_network());
  write("its input.raw", std::vector<int8_t>{-100, -1, 0, 5, 12, 100});
  Ran ran =
      linnet({"run", "a model, of mine.tflite", "-i", "its input.raw", "-o", "its output.raw", "--on", "mps2-an386"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(read("its output.raw"), ElementsAre(0, 0, 0, 5, 12, 12));
}

TEST_F(OnBoard, TooLargeIsANo) {
  write("large.tflite", clamp_network({1, 1500, 1500, 1}));  // two buffers of 2.2 MB do not fit 4 MB
  Ran ran = linnet({"run", "large.tflite", "--on", "mps2-an386"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("more than mps2-an386 has"));
}

// ---- Files that are there completely or not at all
// ------------------------------------------------------------------------

TEST_F(Command, OutputFilesAreCompleteOrAbsent) {
  write("two.tflite", two_way_network());
  // The second output cannot be written: the first must not appear either, nor anything temporary.
  expect_refused({"run", "two.tflite", "-i", "0=/dev/null"}, "0 bytes");
  Ran ran = linnet({"run", "two.tflite", "-o", "a.npy", "-o", "absent/b.npy"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("cannot write 'absent/b.npy'"));
  EXPECT_THAT(files(), ElementsAre("two.tflite"));
  // An old file stays as it was.
  write("a.npy", std::string("old"));
  EXPECT_EQ(linnet({"run", "two.tflite", "-o", "a.npy", "-o", "absent/b.npy"}).status, 2);
  EXPECT_EQ(read("a.npy").size(), 3u);
  EXPECT_EQ(linnet({"run", "two.tflite", "-o", "a.npy", "-o", "b.npy"}).status, 0);
  EXPECT_THAT(files(), ElementsAre("a.npy", "b.npy", "two.tflite"));
  EXPECT_GT(read("a.npy").size(), 64u);
  EXPECT_EQ(linnet({"run", "two.tflite", "-o", "/dev/null"}).status, 0);
}

TEST_F(Command, FullStandardOutputIsAnError) {
  write("clamp.tflite", clamp_network());
  Ran ran = run({"/bin/sh", "-c", std::string(LINNET_BINARY_DIR) + "/linnet inspect clamp.tflite > /dev/full"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("standard output"));
}

// ---- ops, boards
// ------------------------------------------------------------------------------------------------------

TEST_F(Command, OperatorsAndBoards) {
  nlohmann::json ops = linnet({"ops", "--json"}).json();
  EXPECT_GT(ops["operators"].size(), 2u);
  EXPECT_GT(ops["kernels"].size(), 2u);
  EXPECT_THAT(linnet({"ops"}).out, HasSubstr("RELU6"));
  nlohmann::json boards = linnet({"boards", "--json"}).json();
  EXPECT_EQ(boards["boards"].size(), 9u);
  EXPECT_EQ(boards["boards"][0]["board"], "host");
  for (const auto& board : boards["boards"]) EXPECT_TRUE(board["ready"] == true || board.contains("missing"));
  EXPECT_THAT(linnet({"boards"}).out, HasSubstr("mps2-an386"));
  write("clamp.tflite", clamp_network());
  Ran fine = linnet({"ops", "--model", "clamp.tflite"});
  EXPECT_EQ(fine.status, 0);
  EXPECT_THAT(fine.out, HasSubstr("nothing stands in the way"));
}

}  // namespace
}  // namespace linnet::cli::test
