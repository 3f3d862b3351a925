// linnet plan, and that verbs which make Programs ahead of time use what it finds.
#include "cli/buffers_file.h"
#include "cli/errors.h"
#include "cli/test_command.h"
#include "linnet/graph/network_builder.h"
#include "linnet/graph/networks.h"

namespace linnet::cli::test {
namespace {

// In the given order three wide tensors wait while others are computed; branch by branch only one does.
std::vector<uint8_t> branchy_network() {
  graph::NetworkBuilder n(7);
  int x = n.input(Type::int8, {1, 8, 8, 2}, graph::per_tensor(0.05f));
  std::vector<int> wide, narrow;
  for (int i = 0; i < 3; ++i) wide.push_back(n.conv_2d(x, {.channels = 16, .kernel = {3, 3}}));
  for (int w : wide) narrow.push_back(n.conv_2d(w, {.channels = 2, .kernel = {3, 3}}));
  n.output(n.add(n.add(narrow[0], narrow[1]), narrow[2]));
  return n.write();
}

class PlanCommandTest : public CommandTest {
 protected:
  std::string outputs_of(const std::vector<std::string>& words) {
    Ran ran = linnet(words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.status == 0 ? ran.json()["outputs"].dump() : "";
  }
};

TEST_F(PlanCommandTest, APlannedModelGivesTheSameBitsInLessMemory) {
  write("net.tflite", branchy_network());
  Ran best = linnet({"plan", "net.tflite", "-o", "best.tflite", "--json"});
  ASSERT_EQ(best.status, 0) << best.err;
  Ran keep = linnet({"plan", "net.tflite", "--order", "keep", "--json"});
  ASSERT_EQ(keep.status, 0) << keep.err;
  EXPECT_LT(best.json()["peak_bytes"], best.json()["given_peak_bytes"]);
  EXPECT_LT(best.json()["arena_bytes"], keep.json()["arena_bytes"]);
  EXPECT_LE(best.json()["lower_bound_bytes"], best.json()["peak_bytes"]);
  EXPECT_EQ(keep.json()["peak_bytes"], keep.json()["given_peak_bytes"]);
  EXPECT_TRUE(best.json()["optimal"]);
  std::string expected = outputs_of({"run", "net.tflite", "--json"});
  EXPECT_EQ(outputs_of({"run", "best.tflite", "--json"}), expected);
  EXPECT_EQ(outputs_of({"run", "best.tflite", "--prepare", "host", "--json"}), expected);
  EXPECT_EQ(linnet({"run", "best.tflite", "--prepare", "host", "--json"}).json()["arena_bytes"], best.json()["arena_bytes"]);
  EXPECT_EQ(linnet({"run", "net.tflite", "--prepare", "host", "--json"}).json()["arena_bytes"], keep.json()["arena_bytes"]);
}

TEST_F(PlanCommandTest, ExportPlansUnlessTheModelIsPlanned) {
  write("net.tflite", branchy_network());
  ASSERT_EQ(linnet({"plan", "net.tflite", "-o", "best.tflite"}).status, 0);
  auto arena = [&](const std::vector<std::string>& words) { return linnet(words).json()["arena_bytes"].get<uint32_t>(); };
  uint32_t best = arena({"plan", "net.tflite", "--json"}), keep = arena({"plan", "net.tflite", "--order=keep", "--json"});
  EXPECT_EQ(arena({"export", "net.tflite", "-o", "a", "--json"}), best);
  EXPECT_EQ(arena({"export", "net.tflite", "-o", "b", "--order", "keep", "--json"}), keep);
  EXPECT_EQ(arena({"export", "best.tflite", "-o", "c", "--order", "keep", "--json"}), best);
  EXPECT_EQ(outputs_of({"run", "a/net.lnnp", "--json"}).empty(), false);
  EXPECT_LE(arena({"export", "net.tflite", "-o", "d", "--caller-inputs", "--caller-outputs", "--json"}), best);
}

TEST_F(PlanCommandTest, CompactingTakesLessWithTheSameBits) {
  write("net.tflite", graph::narrow_holes(1));
  auto json = [&](const std::vector<std::string>& words) {
    Ran ran = linnet(words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.json();
  };
  std::vector<std::string> keep = {"plan", "net.tflite", "--order", "keep", "--json"}, moving = keep;
  moving.insert(moving.end(), {"--memory", "compacting", "-o", "moving.tflite"});
  auto fixed = json(keep), planned = json(moving);
  EXPECT_EQ(fixed["moved_bytes"], 0);
  EXPECT_GT(planned["moved_bytes"], 0);
  EXPECT_LT(planned["arena_bytes"], fixed["arena_bytes"]);
  EXPECT_EQ(planned["static_activation_bytes"], fixed["activation_bytes"]);
  auto here = json({"run", "net.tflite", "--prepare", "host", "--memory", "compacting", "--json"});
  auto travelled = json({"run", "moving.tflite", "--json"});  // built as a device builds it, by the plan in the file
  auto still = json({"run", "net.tflite", "--json"});
  EXPECT_EQ(here["arena_bytes"], planned["arena_bytes"]);
  EXPECT_EQ(here["moved_bytes"], planned["moved_bytes"]);
  EXPECT_EQ(travelled["moved_bytes"], planned["moved_bytes"]);
  EXPECT_EQ(still["moved_bytes"], 0);
  EXPECT_EQ(here["outputs"].dump(), still["outputs"].dump());
  EXPECT_EQ(travelled["outputs"].dump(), still["outputs"].dump());
  auto exported = json({"export", "net.tflite", "--order", "keep", "--memory", "compacting", "-o", "sources", "--json"});
  EXPECT_EQ(exported["arena_bytes"], planned["arena_bytes"]);
  EXPECT_EQ(exported["moved_bytes"], planned["moved_bytes"]);
  auto seen = json({"inspect", "net.tflite", "--memory", "compacting", "--json"});
  EXPECT_EQ(seen["prepared_on_host"]["arena_bytes"], planned["arena_bytes"]);
  EXPECT_EQ(seen["moved_bytes"], planned["moved_bytes"]);
  expect_refused({"run", "sources/net.lnnp", "--memory", "compacting"}, "is a Program");
}

TEST_F(PlanCommandTest, SaysWhenItDoesNotFit) {
  write("net.tflite", branchy_network());
  uint32_t need = linnet({"plan", "net.tflite", "--json"}).json()["arena_bytes"];
  EXPECT_EQ(linnet({"plan", "net.tflite", "--ram", std::to_string(need), "-o", "fits.tflite"}).status, 0);
  Ran small = linnet({"plan", "net.tflite", "--ram", std::to_string(need - 1), "-o", "none.tflite", "--json"});
  EXPECT_EQ(small.status, 1);
  EXPECT_NE(small.err.find(std::to_string(need)), std::string::npos) << small.err;
  EXPECT_EQ(small.json()["fits"], false);
  EXPECT_TRUE(std::filesystem::exists(path("fits.tflite")));
  EXPECT_FALSE(std::filesystem::exists(path("none.tflite")));
}

TEST_F(PlanCommandTest, PlacesBuffersOfATable) {
  // b and c never meet a; upper is exclusive.
  write("p.csv", std::string("id,lower,upper,size\na,0,5,10\nb,5,9,4\nc,6,9,6\n"));
  Ran ran = linnet({"plan", "--buffers", "p.csv", "--capacity", "10", "-o", "o.csv", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.json()["arena_bytes"], 10);
  EXPECT_EQ(ran.json()["peak_bytes"], 10);
  EXPECT_TRUE(ran.json()["optimal"]);
  std::ifstream stream(path("o.csv"));
  std::string written(std::istreambuf_iterator<char>(stream), {});
  EXPECT_EQ(written.substr(0, written.find('\n')), "id,lower,upper,size,offset");
  EXPECT_NE(written.find("a,0,5,10,0\n"), std::string::npos) << written;
  Ran small = linnet({"plan", "--buffers", "p.csv", "--capacity", "9", "-o", "none.csv"});
  EXPECT_EQ(small.status, 1);
  EXPECT_FALSE(std::filesystem::exists(path("none.csv")));
}

TEST_F(PlanCommandTest, RefusesWhatMakesNoSense) {
  write("net.tflite", branchy_network());
  write("p.csv", std::string("id,lower,upper,size\na,5,5,10\n"));
  expect_refused({"plan"}, "MODEL");
  expect_refused({"plan", "net.tflite", "--order", "worst"}, "worst");
  expect_refused({"plan", "net.tflite", "--kernels", "magic"}, "reference");
  expect_refused({"plan", "net.tflite", "--capacity", "1K"}, "--ram");
  expect_refused({"plan", "net.tflite", "--time-limit", "0"}, "above 0");
  expect_refused({"plan", "net.tflite", "--buffers", "p.csv"}, "MODEL");
  expect_refused({"plan", "--buffers", "p.csv"}, "line 2");
}

TEST(BuffersFile, NamesTheLineThatIsWrong) {
  EXPECT_THROW(read_buffers("id,lower,size\n"), Error);
  EXPECT_THROW(read_buffers("id,lower,upper,size\na,0,1\n"), Error);
  EXPECT_THROW(read_buffers("id,lower,upper,size\na,0,1,-3\n"), Error);
  BufferTable table = read_buffers("size,id,upper,lower\r\n7,x,3,1\r\n");
  ASSERT_EQ(table.problem.buffers.size(), 1u);
  EXPECT_EQ(table.problem.buffers[0].size_bytes, 7);
  EXPECT_EQ(table.problem.buffers[0].last_step, 2);
  EXPECT_EQ(most_live_bytes(table.problem), 7);
}

}  // namespace
}  // namespace linnet::cli::test
