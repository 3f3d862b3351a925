#include "linnet/board/elf_image.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "linnet/board/test_firmware.h"

namespace linnet::board {
namespace {

const Board& m4() { return *find_board("mps2-an386"); }

std::vector<uint8_t> content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(ElfImage, KnowsFunctionsAndTheirBytes) {
  LINNET_NEEDS_FIRMWARE("port-selftest", m4());
  const ElfImage image = ElfImage::read(test_firmware("port-selftest", m4()));
  const auto phase = image.find("linnet::port::phase");
  ASSERT_TRUE(phase);
  EXPECT_EQ(phase->bytes, 4u);
  EXPECT_EQ(phase->address % 2, 0u);  // without the Thumb bit
  // ldrb r0, [r0]; bx lr
  const auto bytes = image.bytes_at(phase->address, 4);
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.end()), (std::vector<uint8_t>{0x00, 0x78, 0x70, 0x47}));
  EXPECT_EQ(image.function_at(phase->address)->name, phase->name);
  EXPECT_EQ(image.function_at(phase->address + 3)->name, phase->name);
  EXPECT_NE(image.function_at(phase->address + 4), image.function_at(phase->address));
  EXPECT_FALSE(image.find("linnet::port::phas"));
  // One name for the handlers that are all linnet_fault.
  EXPECT_EQ(image.function_at(image.find("linnet_fault")->address)->name, "linnet_fault");
}

TEST(ElfImage, SizesAreThoseOfTheSections) {
  LINNET_NEEDS_FIRMWARE("port-selftest", m4());
  const ElfImage image = ElfImage::read(test_firmware("port-selftest", m4()));
  uint32_t text = 0, data = 0, zeros = 0;
  for (const ElfSection& section : image.sections()) {
    if (section.name == ".text") text = section.bytes;
    if (section.name == ".data") data = section.bytes;
    if (section.name == ".bss") zeros = section.bytes;
  }
  EXPECT_GT(text, 1000u);
  EXPECT_GT(data, 0u);
  EXPECT_GT(zeros, 0u);
  EXPECT_EQ(image.flash_bytes(), text + data);
  EXPECT_EQ(image.ram_bytes(), data + zeros);
  EXPECT_TRUE(image.bytes_at(m4().ram.base + data + zeros, 4).empty());
  EXPECT_TRUE(image.bytes_at(0xFFFFFFFF, 4).empty());
}

TEST(ElfImage, BadFilesAreRefused) {
  EXPECT_NE(message_of([] { ElfImage::read("/nonexistent.elf"); }).find("/nonexistent.elf"), std::string::npos);
  EXPECT_NE(message_of([] { ElfImage::parse(std::vector<uint8_t>(100), "zeros"); }).find("zeros"), std::string::npos);
  EXPECT_NE(message_of([] { ElfImage::read("/proc/self/exe"); }).find("32-bit"), std::string::npos);
}

// Nothing but an Error may come out of a damaged file.
TEST(ElfImage, SurvivesDamage) {
  LINNET_NEEDS_FIRMWARE("port-smallest", m4());
  const std::vector<uint8_t> whole = content(test_firmware("port-smallest", m4()));
  const auto try_it = [](std::vector<uint8_t> bytes) {
    try {
      const ElfImage image = ElfImage::parse(std::move(bytes), "damaged");
      for (const ElfSection& section : image.sections()) image.bytes_at(section.address, section.bytes);
    } catch (const Error&) {
      return false;
    }
    return true;
  };
  EXPECT_TRUE(try_it(whole));
  for (size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 997) {
    EXPECT_FALSE(try_it({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)})) << size;
  }
  uint32_t table_at = 0;
  memcpy(&table_at, &whole[32], 4);
  for (const uint8_t value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
    for (size_t at = 0; at < whole.size(); at = at == 51 ? table_at : at + 1) {
      std::vector<uint8_t> bytes = whole;
      bytes[at] = value;
      try_it(std::move(bytes));
    }
  }
}

}  // namespace
}  // namespace linnet::board
