#include "linnet/storage/file_device.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <numeric>
#include <vector>

namespace linnet {
namespace {

class FileDeviceTest : public ::testing::Test {
 protected:
  FileDeviceTest() {
    char name[] = "/tmp/linnet-device-XXXXXX";
    close(mkstemp(name));
    path_ = name;
  }
  ~FileDeviceTest() override { std::remove(path_.c_str()); }
  static StorageFacts of(uint64_t capacity) {
    StorageFacts facts;
    facts.capacity_bytes = capacity;
    return facts;
  }
  std::string path_;
  using Kind = StorageRequest::Kind;
};

TEST_F(FileDeviceTest, RequestsAreCarriedOutInOrderMoreThanTheQueueHolds) {
  FileDevice file(path_, of(4096));
  std::vector<uint8_t> from(4), to(4 * 500);
  uint32_t ticket = 0;
  for (uint32_t i = 0; i < 500; ++i) {  // the same place and the same buffer every time
    ASSERT_TRUE(file.device().await(ticket).ok());
    std::fill(from.begin(), from.end(), static_cast<uint8_t>(i));
    ASSERT_TRUE(file.device().submit(Kind::write, 100, from.data(), 4, ticket).ok());
    uint32_t unused;
    ASSERT_TRUE(file.device().submit(Kind::read, 100, &to[4 * i], 4, unused).ok());
  }
  ASSERT_TRUE(file.device().settle().ok());
  for (uint32_t i = 0; i < 500; ++i) EXPECT_EQ(to[4 * i + 3], static_cast<uint8_t>(i));
  for (uint32_t i = 0; i < 300; ++i) ASSERT_TRUE(file.device().submit(Kind::read, 0, &to[i], 1, ticket).ok());
  EXPECT_TRUE(file.device().settle().ok());
  EXPECT_EQ(file.counts().read_requests, 800u);
  EXPECT_EQ(file.counts().write_bytes, 2000u);
}

TEST_F(FileDeviceTest, SubmittingDoesNotWaitForTheTransfer) {
  Throttle slow;
  slow.latency_seconds = 0.05;
  FileDevice file(path_, of(64), slow);
  std::vector<uint8_t> to(64);
  uint32_t ticket;
  auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(file.device().submit(Kind::read, 0, to.data(), 64, ticket).ok());
  auto submitted = std::chrono::steady_clock::now();
  ASSERT_TRUE(file.device().await(ticket).ok());
  auto done = std::chrono::steady_clock::now();
  EXPECT_GE(done - start, std::chrono::milliseconds(50));
  EXPECT_GT(done - submitted, submitted - start);
}

TEST_F(FileDeviceTest, AnEraseLeavesOnes) {
  FileDevice file(path_, of(64));
  std::vector<uint8_t> to(8);
  uint32_t ticket;
  ASSERT_TRUE(file.device().submit(Kind::erase, 8, nullptr, 16, ticket).ok());
  ASSERT_TRUE(file.device().submit(Kind::read, 4, to.data(), 8, ticket).ok());
  ASSERT_TRUE(file.device().await(ticket).ok());
  EXPECT_EQ(to, (std::vector<uint8_t>{0, 0, 0, 0, 255, 255, 255, 255}));
}

TEST_F(FileDeviceTest, AFaultIsReportedOnceThenForgottenAndWhatCameAfterItWasDropped) {
  FileDevice file(path_, of(64));
  ASSERT_EQ(truncate(path_.c_str(), 16), 0);
  std::vector<uint8_t> to(8, 7), ones(8, 1);
  uint32_t ticket;
  ASSERT_TRUE(file.device().submit(Kind::read, 32, to.data(), 8, ticket).ok());
  Status status = file.device().submit(Kind::write, 0, ones.data(), 8, ticket);  // may know of the fault already
  status = file.device().settle();
  EXPECT_EQ(status.code(), Code::storage_fault);
  EXPECT_STREQ(status.text(), "the storage ends before the data that the Program expects there");
  ASSERT_TRUE(file.device().submit(Kind::read, 0, to.data(), 8, ticket).ok());
  EXPECT_TRUE(file.device().settle().ok());
  EXPECT_EQ(to, std::vector<uint8_t>(8, 0));
}

TEST_F(FileDeviceTest, RequestsBeyondTheEndOrAcrossBlocksAreRefused) {
  StorageFacts facts = of(1024);
  facts.block_bytes = 512;
  FileDevice file(path_, facts);
  std::vector<uint8_t> to(2048);
  uint32_t ticket;
  EXPECT_EQ(file.device().submit(Kind::read, 512, to.data(), 1024, ticket).code(), Code::storage_fault);
  EXPECT_EQ(file.device().submit(Kind::read, 0, to.data(), 100, ticket).code(), Code::mismatch);
  EXPECT_EQ(file.device().submit(Kind::read, 8, to.data(), 512, ticket).code(), Code::mismatch);
  EXPECT_TRUE(file.device().submit(Kind::read, 512, to.data(), 512, ticket).ok());
  EXPECT_TRUE(file.device().settle().ok());  // before the buffer goes
}

TEST_F(FileDeviceTest, AFileThatCannotBeOpenedIsNamed) {
  try {
    FileDevice file("/nonexistent/card.img", of(64));
    ADD_FAILURE();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("/nonexistent/card.img"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace linnet
