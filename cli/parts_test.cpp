// The parts that verbs share.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/errors.h"
#include "cli/image_file.h"
#include "cli/npy_file.h"
#include "cli/output_files.h"
#include "cli/text.h"
#include "cli/values.h"
#include "linnet/board/process.h"

namespace linnet::cli {
namespace {

TEST(Size, Units) {
  EXPECT_EQ(parse_size("0", "-x"), 0u);
  EXPECT_EQ(parse_size("64K", "-x"), 65536u);
  EXPECT_EQ(parse_size("64kB", "-x"), 65536u);
  EXPECT_EQ(parse_size("1M", "-x"), 1048576u);
  EXPECT_EQ(parse_size("3GiB", "-x"), 3221225472u);
  EXPECT_EQ(parse_size("4294967295", "-x"), 4294967295u);
  for (const char* bad : {"", "K", "-1", "1.5K", "12 K", "4294967296", "4G", "99999999999999999999", "1T", "0x10"})
    EXPECT_THROW(parse_size(bad, "-x"), BadInput) << bad;
}

TEST(Words, UnderscoresInNamesOfOptionsOnly) {
  const char* words[] = {"linnet", "run", "my_model", "--arena_size=a_b", "--num_runs",
                         "-i",     "x_y", "--",       "--left_alone"};
  EXPECT_EQ(with_hyphens(9, words), (std::vector<std::string>{"run", "my_model", "--arena-size=a_b", "--num-runs", "-i",
                                                              "x_y", "--", "--left_alone"}));
}

TEST(Table, ColumnsAreAsWideAsTheirContent) {
  TextTable table({{"n", TextTable::right}, {"name"}, {}});
  table.add({"1", "short", ""});
  table.add({"1000", "\xC3\xA4\xC3\xB6", "x"});
  EXPECT_EQ(table.text(), "   n  name\n   1  short\n1000  \xC3\xA4\xC3\xB6     x\n");
}

PortInfo port(Type type, std::vector<int32_t> dims, float scale = 0, int32_t zero_point = 0) {
  PortInfo p;
  p.type = type;
  p.dims = std::move(dims);
  p.bytes = element_bytes(type);
  for (int32_t d : p.dims) p.bytes *= static_cast<uint32_t>(d);
  p.scale = scale;
  p.zero_point = zero_point;
  return p;
}

TEST(Values, Dequantised) {
  PortInfo p = port(Type::int8, {1, 3}, 1 / 256.0f, -128);
  TensorBytes bytes = {0x80, 0x00, 0x7F};
  EXPECT_EQ(real_value(p, bytes, 0), 0);
  EXPECT_EQ(real_value(p, bytes, 1), 0.5);
  EXPECT_EQ(real_value(p, bytes, 2), 255 / 256.0);
  EXPECT_FALSE(is_distribution(p, bytes));
  EXPECT_TRUE(is_distribution(p, {0x80, 0x00, 0x00}));
  EXPECT_EQ(top_classes(p, {0x00, 0x80, 0x00}, 2), (std::vector<size_t>{0, 2}));
}

TEST(Values, NotANumberIsNoDistribution) {
  PortInfo p = port(Type::float32, {1, 2});
  float values[2] = {NAN, 1};
  TensorBytes bytes(8);
  std::memcpy(bytes.data(), values, 8);
  EXPECT_FALSE(is_distribution(p, bytes));
  EXPECT_NO_THROW(output_json(p, bytes).dump());
}

template <class T>
void there_and_back(Type type, std::vector<int32_t> dims) {
  PortInfo p = port(type, std::move(dims));
  TensorBytes bytes(p.bytes);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(type == Type::boolean ? i % 2 : i * 29 + 1);
  EXPECT_EQ(read_npy(write_npy(p, bytes), p), bytes) << type_name(type);
}

TEST(Npy, ThereAndBack) {
  there_and_back<float>(Type::float32, {2, 3});
  there_and_back<int8_t>(Type::int8, {7});
  there_and_back<uint8_t>(Type::uint8, {1, 2, 3, 4});
  there_and_back<int16_t>(Type::int16, {5, 1});
  there_and_back<int32_t>(Type::int32, {});
  there_and_back<int64_t>(Type::int64, {2, 2});
  there_and_back<bool>(Type::boolean, {9});
}

std::vector<uint8_t> npy(std::string dictionary, const std::vector<uint8_t>& data, size_t header_bytes) {
  dictionary.resize(header_bytes - 1, ' ');
  dictionary += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header_bytes);
  file += static_cast<char>(header_bytes >> 8);
  file += dictionary;
  file.append(data.begin(), data.end());
  return {file.begin(), file.end()};
}

TEST(Npy, HeadersOfEveryLength) {
  PortInfo p = port(Type::uint8, {2, 2});
  for (size_t length = 64; length < 700; length += 13)
    EXPECT_EQ(read_npy(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }", {1, 2, 3, 4}, length), p),
              (TensorBytes{1, 2, 3, 4}))
        << length;
}

TEST(Npy, ColumnMajorIsTurned) {
  PortInfo p = port(Type::uint8, {2, 3});
  EXPECT_EQ(read_npy(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", {1, 4, 2, 5, 3, 6}, 118), p),
            (TensorBytes{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, Refuses) {
  PortInfo p = port(Type::int16, {2});
  std::vector<uint8_t> data = {1, 2, 3, 4};
  auto refused = [&](const std::string& dictionary) {
    EXPECT_THROW(read_npy(npy(dictionary, data, 118), p), Error) << dictionary;
  };
  EXPECT_EQ(read_npy(npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", data, 118), p), data);
  refused("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }");
  refused("{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }");
  refused("{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }");
  refused("{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999,), }");
  refused("{'descr': '<i2', 'fortran_order': False, 'shape': (9223372036854775807, 2), }");
  refused("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }");
  refused("nonsense");
  refused("");
  std::vector<uint8_t> whole = npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", data, 118);
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(read_npy({whole.begin(), whole.begin() + static_cast<long>(length)}, p), Error) << length;
}

// Nothing that is what it seems is mistaken; a picture of strong contrast is recognised with its top bits flipped.
TEST(Pixels, LookSignedOnlyWhenTheyAre) {
  constexpr int side = 96;
  auto picture = [&](auto value) {
    std::vector<uint8_t> pixels;
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) pixels.push_back(static_cast<uint8_t>(std::clamp<double>(value(x, y), 0, 255)));
    return pixels;
  };
  auto waves = picture(
      [](int x, int y) { return 128 + 100 * std::sin(x / 17.0) * std::cos(y / 11.0) + 20 * std::sin(x * y / 50.0); });
  auto strong = picture([](int x, int y) { return 128 + 400 * std::sin(x / 17.0) * std::cos(y / 11.0); });
  auto ramp = picture([](int x, int y) { return (x + y) * 255.0 / (2 * side); });
  auto board = picture([](int x, int y) { return (x / 8 + y / 8) % 2 * 255; });
  auto text = picture([](int x, int y) { return (x * 7 + y * 13) % 5 < 2 ? 3 : 250; });
  auto flat = picture([](int, int) { return 77; });
  for (auto* usual : {&waves, &strong, &ramp, &board, &text, &flat})
    EXPECT_FALSE(looks_signed(usual->data(), side, side));
  for (uint8_t& p : strong) p ^= 0x80;
  EXPECT_TRUE(looks_signed(strong.data(), side, side));
  EXPECT_FALSE(looks_signed(strong.data(), 31, side)) << "too small to tell";
}

TEST(OutputFiles, ReplacesTheTargetOfALinkAndKeepsPermissionsUsual) {
  board::TemporaryDirectory folder;
  auto at = [&](const char* name) { return (folder.path() / name).string(); };
  std::ofstream(at("target")) << "old";
  std::filesystem::create_symlink("target", at("link"));
  {
    OutputFiles files;
    files.add(at("link"), std::string_view("new"));
    EXPECT_EQ(std::filesystem::file_size(at("target")), 3u);
    files.commit();
  }
  EXPECT_TRUE(std::filesystem::is_symlink(at("link")));
  std::string text;
  std::ifstream(at("target")) >> text;
  EXPECT_EQ(text, "new");
  mode_t mask = umask(0);
  umask(mask);
  struct stat status = {};
  stat(at("target").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
}

TEST(OutputFiles, MadeDirectoriesGoWhenNothingIsCommitted) {
  board::TemporaryDirectory folder;
  {
    OutputFiles files;
    files.add_directory((folder.path() / "a/b").string());
    files.add((folder.path() / "a/b/c").string(), std::string_view("x"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a"));
}

}  // namespace
}  // namespace linnet::cli
