#include "linnet/board/board.h"

#include <gtest/gtest.h>

#include <set>

#include "linnet/board/error.h"
#include "linnet/board/test_firmware.h"

namespace linnet::board {
namespace {

TEST(Boards, NamesAreDistinctAndFound) {
  std::set<std::string_view> names;
  for (const Board& board : boards()) {
    EXPECT_TRUE(names.insert(board.name).second) << board.name;
    EXPECT_EQ(find_board(board.name), &board);
  }
  EXPECT_EQ(find_board("mps2-an386")->core, "cortex-m4");
  EXPECT_EQ(find_board("mps2"), nullptr);
}

TEST(Boards, UnknownNameListsTheOthers) {
  try {
    board_named("arduino");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("arduino"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("mps2-an386"), std::string::npos);
  }
}

TEST(Boards, RegionsAreApart) {
  for (const Board& board : boards()) {
    const Region* regions[] = {&board.code, &board.ram, &board.blobs};
    for (const Region* a : regions) {
      EXPECT_GT(a->bytes, 0u);
      EXPECT_LE(uint64_t{a->base} + a->bytes, uint64_t{1} << 32);
      for (const Region* b : regions) {
        if (a == b) continue;
        EXPECT_TRUE(a->base >= uint64_t{b->base} + b->bytes || b->base >= uint64_t{a->base} + a->bytes)
            << board.name << " " << a->name << " " << b->name;
      }
    }
  }
}

TEST(Region, ContainsKnowsItsEdges) {
  const Region region{"r", 0x1000, 0x100};
  EXPECT_TRUE(region.contains(0x1000, 0x100));
  EXPECT_TRUE(region.contains(0x10FF, 1));
  EXPECT_FALSE(region.contains(0x10FF, 2));
  EXPECT_FALSE(region.contains(0xFFF, 1));
  EXPECT_FALSE(region.contains(0x1000, 0x101));
  EXPECT_FALSE(region.contains(0x1000, ~uint64_t{0}));
  const Region top{"top", 0xFFFFFF00, 0x100};
  EXPECT_TRUE(top.contains(0xFFFFFFFF, 1));
  EXPECT_FALSE(top.contains(0x100000000, 1));
}

class BoardFirmware : public testing::TestWithParam<const Board*> {};

TEST_P(BoardFirmware, FirmwareIsLinkedAsTheListSays) {
  const Board& board = *GetParam();
  LINNET_NEEDS_FIRMWARE("port-smallest", board);
  const ElfImage image = ElfImage::read(test_firmware("port-smallest", board));
  EXPECT_EQ(image.architecture(), board.architecture);
  EXPECT_EQ(image.find("linnet_stack_end")->address, board.ram.base + board.ram.bytes);
  EXPECT_EQ(image.find("linnet_stack_begin")->address, board.ram.base + board.ram.bytes - board.stack_bytes);
  EXPECT_EQ(image.find("linnet_phase_base")->address, board.code.base);
}

// Bytes that every firmware pays before it does anything.
TEST_P(BoardFirmware, StartUpFaultsAndTextStayBelowOneKilobyte) {
  LINNET_NEEDS_FIRMWARE("port-smallest", *GetParam());
  const ElfImage image = ElfImage::read(test_firmware("port-smallest", *GetParam()));
  RecordProperty("flash_bytes", static_cast<int>(image.flash_bytes()));
  EXPECT_LE(image.flash_bytes(), 900u);
  EXPECT_LE(image.ram_bytes(), 16u);
}

INSTANTIATE_TEST_SUITE_P(Boards, BoardFirmware, testing::ValuesIn(all_boards()), board_test_name);

}  // namespace
}  // namespace linnet::board
