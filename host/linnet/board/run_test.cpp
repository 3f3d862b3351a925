#include "linnet/board/run.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "linnet/board/test_firmware.h"

namespace linnet::board {
namespace {

using namespace std::chrono_literals;

const Board& m4() { return *find_board("mps2-an386"); }

RunRequest request_for(const Board& board, std::vector<std::string> arguments) {
  RunRequest request;
  request.firmware = test_firmware("port-selftest", board);
  request.arguments = std::move(arguments);
  request.time_limit = 20s;
  return request;
}

RunResult run(const Board& board, std::vector<std::string> arguments) {
  return run_firmware(board, request_for(board, std::move(arguments)));
}

uint32_t checksum(const std::vector<uint8_t>& bytes) {
  uint32_t sum = 0;
  for (const uint8_t byte : bytes) sum = sum * 31 + byte;
  return sum;
}

std::vector<uint8_t> noise(size_t bytes, uint32_t seed) {
  std::vector<uint8_t> result(bytes);
  for (uint8_t& byte : result) byte = static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
  return result;
}

TEST(PlaceBlobs, OrderAlignmentAndEdges) {
  const uint32_t room = m4().blobs.bytes - blob_directory_bytes;
  const auto placed = place_blobs(
      m4(), {{3, "a", std::vector<uint8_t>(1)}, {0, "b", std::vector<uint8_t>(65)}, {9, "c", std::vector<uint8_t>(0)}});
  ASSERT_EQ(placed.size(), 3u);
  EXPECT_EQ(placed[0].address, m4().blobs.base + blob_directory_bytes);
  EXPECT_EQ(placed[1].address, placed[0].address + 64);
  EXPECT_EQ(placed[2].address, placed[1].address + 128);
  EXPECT_EQ(placed[1].bytes, 65u);
  EXPECT_EQ(place_blobs(m4(), {{0, "model", std::vector<uint8_t>(room)}})[0].bytes, room);
  const std::string message = message_of([&] { place_blobs(m4(), {{0, "model", std::vector<uint8_t>(room + 1)}}); });
  EXPECT_EQ(message, "model has " + std::to_string(room + 1) + " bytes, and mps2-an386 has room for " +
                         std::to_string(room) + "; choose a board with more memory");
}

TEST(PlaceBlobs, Refuses) {
  EXPECT_NE(message_of([] {
              place_blobs(m4(), {{0, "x", std::filesystem::path("/nonexistent.tflite")}});
            }).find("/nonexistent.tflite"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              place_blobs(m4(), {{blob_slots, "x", std::vector<uint8_t>(1)}});
            }).find("no slot 16"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              place_blobs(m4(), {{1, "x", std::vector<uint8_t>(1)}, {1, "y", std::vector<uint8_t>(1)}});
            }).find("twice"),
            std::string::npos);
}

// ---- With a stand-in for QEMU
// -----------------------------------------------------------------------------------------

class EmulatorStandIn : public testing::Test {
 protected:
  void SetUp() override { LINNET_NEEDS_FIRMWARE("port-selftest", m4()); }

  RunRequest request(const std::string& script, std::vector<std::string> arguments = {}) {
    const auto file = directory_.path() / "emulator";
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    RunRequest result = request_for(m4(), std::move(arguments));
    result.emulator = file.string();
    return result;
  }

  TemporaryDirectory directory_;
};

TEST_F(EmulatorStandIn, GetsTheWords) {
  RunRequest request = this->request("printf '%s\\n' \"$@\"", {"a,b", "c"});
  request.words = {{m4().blobs.base + 4, 0xDEADBEEF}};
  request.plugin = "plugin.so,out=x";
  request.emulator_options = {"-icount", "shift=0"};
  std::istringstream lines(run_firmware(m4(), request).standard_output);
  std::vector<std::string> words;
  for (std::string line; std::getline(lines, line);) words.push_back(line);
  const auto follows = [&](const std::string& a, const std::string& b) {
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == a && words[i + 1] == b) return true;
    }
    return false;
  };
  EXPECT_TRUE(follows("-machine", "mps2-an386"));
  EXPECT_TRUE(follows("-semihosting-config", "enable=on,target=native,arg=port-selftest-mps2-an386,arg=a,,b,arg=c"));
  EXPECT_TRUE(follows("-device", "loader,addr=0x21000004,data=0xdeadbeef,data-len=4"));
  EXPECT_TRUE(follows("-plugin", "plugin.so,out=x"));
  EXPECT_TRUE(follows("-icount", "shift=0"));
  EXPECT_TRUE(follows("-kernel", std::filesystem::absolute(request.firmware).string()));
}

TEST_F(EmulatorStandIn, SaysWhenEmulatorRefuses) {
  const std::string message =
      message_of([&] { run_firmware(m4(), request("echo \"$0: Some ROM regions are overlapping\" >&2; exit 1")); });
  EXPECT_NE(message.find("refused to start"), std::string::npos);
  EXPECT_NE(message.find("overlapping"), std::string::npos);
}

TEST_F(EmulatorStandIn, SaysWhenEmulatorAborts) {
  const std::string message =
      message_of([&] { run_firmware(m4(), request("echo 'qemu: fatal: Lockup' >&2; kill -ABRT $$")); });
  EXPECT_NE(message.find("signal 6: qemu: fatal: Lockup"), std::string::npos) << message;
}

TEST_F(EmulatorStandIn, StatusOneOfAFirmwareIsAResult) {
  EXPECT_EQ(run_firmware(m4(), request("echo no >&2; exit 1")).exit_status, 1);
}

TEST_F(EmulatorStandIn, HarmlessLineIsRemoved) {
  EXPECT_EQ(run_firmware(m4(), request("echo 'Timer with period zero, disabling' >&2; echo x >&2")).standard_error,
            "x\n");
}

TEST_F(EmulatorStandIn, TimeLimit) {
  RunRequest request = this->request("sleep 60");
  request.time_limit = 100ms;
  EXPECT_NE(message_of([&] { run_firmware(m4(), request); }).find("still running after 100 ms"), std::string::npos);
}

TEST_F(EmulatorStandIn, MissingEmulatorNamesThePackage) {
  RunRequest request = request_for(m4(), {});
  request.emulator = "qemu-that-is-not-there";
  const std::string message = message_of([&] { run_firmware(m4(), request); });
  EXPECT_NE(message.find("qemu-that-is-not-there is not installed"), std::string::npos) << message;
  EXPECT_NE(message.find("apt install qemu-system-arm"), std::string::npos) << message;
}

TEST_F(EmulatorStandIn, ImpossibleRequests) {
  EXPECT_NE(message_of([&] { run_firmware(m4(), request("true", {"a b"})); }).find("'a b'"), std::string::npos);
  EXPECT_NE(message_of([&] { run_firmware(m4(), request("true", {""})); }).find("empty"), std::string::npos);
  RunRequest outside = request("true");
  outside.words = {{0x30000000, 1}};
  EXPECT_NE(message_of([&] { run_firmware(m4(), outside); }).find("0x30000000"), std::string::npos);
  EXPECT_NE(message_of([&] { run_firmware(*find_board("riscv32-virt"), request("true")); }).find("another board"),
            std::string::npos);
}

// ---- With QEMU
// --------------------------------------------------------------------------------------------------------

class FirmwareRun : public testing::TestWithParam<const Board*> {
 protected:
  void SetUp() override { LINNET_NEEDS_EMULATOR("port-selftest", board()); }
  const Board& board() const { return *GetParam(); }
};

TEST_P(FirmwareRun, ExitStatus) {
  EXPECT_EQ(run(board(), {"exit", "0"}).exit_status, 0);
  EXPECT_EQ(run(board(), {"exit", "17"}).exit_status, 17);
  EXPECT_EQ(run(board(), {"exit", "511"}).exit_status, 255);
}

TEST_P(FirmwareRun, CommandLineAndText) {
  const RunResult result = run(board(), {"echo", "one", "a,b", "$HOME"});
  EXPECT_EQ(result.standard_output, "[one][a,b][$HOME]-42");
  EXPECT_EQ(result.standard_error, "");
}

TEST_P(FirmwareRun, CopiesHostFiles) {
  const TemporaryDirectory directory;
  const std::vector<uint8_t> bytes = noise(1000, 5);
  std::ofstream(directory.path() / "from", std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), 1000);
  RunRequest request = request_for(board(), {"copy", "from", "to"});
  request.working_directory = directory.path();
  const RunResult result = run_firmware(board(), request);
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.standard_output, "bytes 1000\n");
  std::ifstream stream(directory.path() / "to", std::ios::binary);
  EXPECT_EQ(std::vector<uint8_t>(std::istreambuf_iterator<char>(stream), {}), bytes);
  EXPECT_EQ(run(board(), {"copy", "/nonexistent/from", "to"}).exit_status, 3);
}

TEST_P(FirmwareRun, BlobsArrive) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "with,comma and space";
  const std::vector<uint8_t> a = noise(10'001, 1), b = noise(777, 2);
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(a.data()), 10'001);
  RunRequest request = request_for(board(), {"blobs"});
  request.blobs = {{0, "model", file}, {15, "input", b}, {2, "empty", std::vector<uint8_t>()}};
  char expected[200];
  snprintf(expected, sizeof(expected), "slot 0\nbytes 10001\nsum %08x\nslot 15\nbytes 777\nsum %08x\n", checksum(a),
           checksum(b));
  EXPECT_EQ(run_firmware(board(), request).standard_output, expected);
  EXPECT_EQ(run(board(), {"blobs"}).standard_output, "");
}

// The last byte of the blob region exists and arrives.
TEST_P(FirmwareRun, BlobsMayFillTheirRegion) {
  const uint32_t most = std::min(board().blobs.bytes - blob_directory_bytes, 16u << 20);
  const std::vector<uint8_t> bytes = noise(most, 3);
  RunRequest request = request_for(board(), {"blobs"});
  request.blobs = {{0, "model", bytes}};
  char expected[100];
  snprintf(expected, sizeof(expected), "slot 0\nbytes %u\nsum %08x\n", most, checksum(bytes));
  EXPECT_EQ(run_firmware(board(), request).standard_output, expected);
}

TEST_P(FirmwareRun, DataIsInitialisedAndFreeMemoryIsMemory) {
  const RunResult result = run(board(), {"memory"});
  EXPECT_EQ(result.exit_status, 0);
  unsigned free_bytes = 0;
  ASSERT_EQ(sscanf(result.standard_output.c_str(), "free %u", &free_bytes), 1);
  EXPECT_GT(free_bytes, board().ram.bytes - board().stack_bytes - 1024);
}

TEST_P(FirmwareRun, MovesAndFillsAreRight) { EXPECT_EQ(run(board(), {"moves"}).exit_status, 0); }

TEST_P(FirmwareRun, StackDepthIsMeasured) {
  for (const unsigned bytes : {64u, 300u, 1200u}) {
    unsigned before = 0, deep = 0;
    ASSERT_EQ(sscanf(run(board(), {"stack", std::to_string(bytes)}).standard_output.c_str(), "before %u\nstack %u",
                     &before, &deep),
              2);
    EXPECT_LE(before, 16u);
    EXPECT_GE(deep, bytes);
    EXPECT_LE(deep, bytes + 64);
  }
}

TEST_P(FirmwareRun, FaultsAreReported) {
  const RunResult undefined = run(board(), {"fault", "undefined"});
  EXPECT_TRUE(undefined.faulted()) << undefined.standard_error;
  EXPECT_NE(undefined.standard_error.find(" pc "), std::string::npos);
  EXPECT_FALSE(run(board(), {"exit", std::to_string(fault_exit_status)}).faulted());
  // 0x9F000000, and where that is memory another hole; lm3s6965evb has no address that faults.
  const std::string hole = board().name == "mps3-an547" ? "251658240" : "2667577344";
  if (board().name != "lm3s6965evb") {
    EXPECT_TRUE(run(board(), {"fault", "bus", hole}).faulted());
  }
}

TEST_P(FirmwareRun, StackOverflowIsAFault) {
  const RunResult result = run(board(), {"fault", "stack"});
  EXPECT_TRUE(result.faulted()) << result.exit_status << result.standard_error;
}

TEST_P(FirmwareRun, EndlessFirmwareIsStopped) {
  RunRequest request = request_for(board(), {"spin"});
  request.time_limit = 300ms;
  EXPECT_NE(message_of([&] { run_firmware(board(), request); }).find("still running"), std::string::npos);
}

// Sends the text to a socket that the emulator is about to open, and returns what comes back until it is closed.
std::string talk(const std::string& path, const std::string& text) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  for (int tries = 0; connect(line, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0; ++tries) {
    if (tries == 1000) return "no connection";
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(send(line, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  std::string answer;
  char buffer[512];
  for (ssize_t got; (got = recv(line, buffer, sizeof(buffer), 0)) > 0;) answer.append(buffer, static_cast<size_t>(got));
  close(line);
  return answer;
}

// The test firmware echoes each byte plus one, up to a 'q'.
TEST_P(FirmwareRun, SerialLineCarriesBothDirections) {
  const TemporaryDirectory directory;
  std::string text, expected;
  for (int i = 0; i < 3000; ++i) {
    const char c = static_cast<char>(i * 7 % 250);
    if (c == 'q') continue;
    text += c;
    expected += static_cast<char>(c + 1);
  }
  const std::string path = (directory.path() / "line").string();
  RunRequest request = request_for(board(), {"serial"});
  request.serial = "chardev:line";
  request.emulator_options = {"-chardev", "socket,id=line,server=on,wait=on,path=" + path};
  std::string answer;
  std::thread far_end([&] { answer = talk(path, text + "q"); });
  const RunResult result = run_firmware(board(), request);
  far_end.join();
  EXPECT_EQ(result.exit_status, 0) << result.standard_error;
  EXPECT_TRUE(answer == expected) << answer.size() << " bytes of " << expected.size();
}

// Under -icount the clock is a function of the instructions: SysTick at 2^6 ns an instruction, mcycle at 1.
TEST_P(FirmwareRun, ClockRuns) {
  RunRequest request = request_for(board(), {"ticks"});
  request.emulator_options = {"-icount", board().architecture == Architecture::riscv32 ? "shift=0" : "shift=6"};
  const std::string first = run_firmware(board(), request).standard_output;
  unsigned short_ticks = 0, long_ticks = 0;
  ASSERT_EQ(sscanf(first.c_str(), "short %u\nlong %u", &short_ticks, &long_ticks), 2) << first;
  // 10,000,000 turns after 1,000 turns, wrapping the 24-bit counter twice or more.
  EXPECT_NEAR(double(long_ticks) / 10'000'000, double(short_ticks) / 1000, 0.1 * short_ticks / 1000) << first;
  EXPECT_EQ(run_firmware(board(), request).standard_output, first);
}

INSTANTIATE_TEST_SUITE_P(Boards, FirmwareRun, testing::ValuesIn(all_boards()), board_test_name);

}  // namespace
}  // namespace linnet::board
