// Loop nests come in files, and files lie. Whatever the records say, loading or running them ends with a status and leaves
// everything outside the arena alone.
#include <chrono>
#include <random>

#include "linnet/storage/ram_device.h"
#include "tests/seams/bands.h"
#include "tests/seams/streamed.h"

namespace linnet::seams {
namespace {

using graph::NetworkBuilder;

// Runs a Program, however it was damaged, for a bounded number of steps. What it reads from storage may be damaged too.
struct Victim {
  std::vector<uint8_t> program;
  std::vector<uint8_t> image;
  uint32_t arena_bytes = reinterpret_cast<const Header*>(program.data())->arena_bytes;

  bool loads(const std::vector<uint8_t>& damaged) {
    RamDevice storage({image.data(), image.size()});
    GuardedMemory arena(arena_bytes + 64);
    Interpreter net;
    Resources resources;
    resources.storage = &storage.device();
    bool ok = net.init({damaged.data(), damaged.size()}, *all_table().kernels, arena.span(), resources).ok();
    if (ok)
      for (int step = 0; step < 60 && net.step() == Progress::more; ++step) {}
    EXPECT_TRUE(arena.intact());
    return ok;
  }
};

// Damages records of the code and the nest's tables, which the writer has appended behind everything else; now and then
// anything. Values are those that arithmetic goes wrong with.
void damage(std::vector<uint8_t>& program, size_t tables, std::mt19937& random) {
  constexpr uint32_t values[] = {0, 1, 2, 3, 4, 7, 8, 16, 255, 256, 4095, 65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0};
  for (uint32_t edits = 1 + random() % 3; edits > 0; --edits) {
    bool anywhere = random() % 16 == 0;
    size_t from = anywhere ? 16 : tables, at = from + random() % (program.size() - from);
    uint32_t value = values[random() % std::size(values)];
    switch (random() % 5) {
      case 0: program[at] = static_cast<uint8_t>(value); break;
      case 1: program[at] = static_cast<uint8_t>(program[at] ^ 1u << random() % 8); break;
      case 2: program[at] = static_cast<uint8_t>(program[at] + (random() % 2 ? 1 : -1)); break;
      default:
        at &= ~size_t{3};
        if (at + 4 <= program.size()) std::memcpy(&program[at], &value, random() % 4 == 0 ? 2 : 4);
    }
  }
}

void attack(Victim victim, size_t tables, uint32_t rounds, uint32_t seed) {
  std::mt19937 random(seed);
  ASSERT_TRUE(victim.loads(victim.program));
  uint32_t accepted = 0;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);  // on slow machines
  for (uint32_t i = 0; i < rounds; ++i) {
    std::vector<uint8_t> damaged = victim.program;
    damage(damaged, tables, random);
    // an arena much larger than ours is the caller's to refuse; here it is only slow
    if (reinterpret_cast<const Header*>(damaged.data())->arena_bytes <= victim.arena_bytes) accepted += victim.loads(damaged);
    if (i % 1024 == 0 && std::chrono::steady_clock::now() > end) break;
  }
  EXPECT_GT(accepted, rounds / 100) << "damage that is always noticed at load tests little of the rest";
}

TEST(HostileNests, StreamedConvolutionsInt8) {
  NetworkBuilder n(2);
  n.output(n.conv_2d(n.input(Type::int8, {1, 6, 5, 8}, graph::per_tensor(0.05f)), {.channels = 8, .kernel = {3, 3}, .stride = {2, 1}}));
  InCore in_core(n, all_table(), true);
  Streamed streamed = stream(in_core, all_table(), {.rows = 2, .columns = 2, .channels = 4, .filter_rows = 2, .in_channels = 4});
  attack({streamed.program, streamed.image}, in_core.program.bytes.size(), 50000, 1);
}

TEST(HostileNests, StreamedConvolutionsFloat) {
  NetworkBuilder n(2);
  n.output(n.conv_2d(n.input(Type::float32, {1, 5, 5, 4}), {.channels = 8, .kernel = {3, 3}}));
  InCore in_core(n, all_table(), true);
  Streamed streamed = stream(in_core, all_table(), {.rows = 2, .columns = 3, .channels = 4, .filter_rows = 1, .filter_columns = 1});
  attack({streamed.program, streamed.image}, in_core.program.bytes.size(), 25000, 2);
}

TEST(HostileNests, ChainsInBands) {
  NetworkBuilder n(3);
  int x = n.input(Type::int8, {1, 8, 6, 3}, graph::per_tensor(0.05f));
  x = n.conv_2d(x, {.channels = 4, .kernel = {3, 3}});
  x = n.depthwise_conv_2d(x, {.channels = 4, .kernel = {3, 3}});
  n.output(n.max_pool_2d(x, {}));
  InCore in_core(n, all_table());
  std::vector<uint8_t> program = in_bands(in_core, all_table(), {2, 2, 1});
  attack({program, std::vector<uint8_t>(64)}, in_core.program.bytes.size(), 25000, 3);
}

// Damage that random bytes rarely hit, each refused at load.
class OneField : public ::testing::Test {
 protected:
  OneField() : in_core_(network_, all_table(), true), streamed_(stream(in_core_, all_table(), {.rows = 2, .columns = 2, .channels = 4, .in_channels = 4})) {}

  Nest& nest() { return *reinterpret_cast<Nest*>(&streamed_.program[nest_step().params]); }
  TileRange* ranges() { return reinterpret_cast<TileRange*>(&streamed_.program[nest().tables]); }
  TileOperand* tiles() { return reinterpret_cast<TileOperand*>(ranges() + nest().ranges); }
  Step& nest_step() { return *reinterpret_cast<Step*>(&streamed_.program[reinterpret_cast<Header*>(streamed_.program.data())->code.offset]); }
  Step& step(StepKind kind) {
    for (Step* s = &nest_step();; s += 1 + s->operands)
      if (s->kind == static_cast<uint8_t>(kind)) return *s;
  }
  bool loads() { return Victim{streamed_.program, streamed_.image}.loads(streamed_.program); }

  static NetworkBuilder make() {
    NetworkBuilder n(2);
    n.output(n.conv_2d(n.input(Type::int8, {1, 6, 5, 8}, graph::per_tensor(0.05f)), {.channels = 8, .kernel = {3, 3}}));
    return n;
  }
  NetworkBuilder network_ = make();
  InCore in_core_;
  Streamed streamed_;
};

TEST_F(OneField, Intact) { EXPECT_TRUE(loads()); }
TEST_F(OneField, DepthOfSeven) { nest().depth = 7; EXPECT_FALSE(loads()); }
TEST_F(OneField, NoTrips) { nest().trips[1] = 0; EXPECT_FALSE(loads()); }
TEST_F(OneField, MoreRoundsThanCanBeCounted) {
  for (uint16_t& trips : nest().trips) trips = 65535;
  EXPECT_FALSE(loads());
}
TEST_F(OneField, ACounterThatIsNotThere) { ranges()[0].counter[1] = 5; EXPECT_FALSE(loads()); }
TEST_F(OneField, StepsThatOverflow) { ranges()[0].step[0] = INT32_MAX; EXPECT_FALSE(loads()); }
TEST_F(OneField, ANegativeStride) { tiles()[0].stride[1] = -8; EXPECT_FALSE(loads()); }
TEST_F(OneField, AStrideOfZeroThatMakesABoxLargerThanItsMemory) { tiles()[0].stride[1] = 0; EXPECT_FALSE(loads()); }
TEST_F(OneField, ASlotSmallerThanItsBox) { tiles()[0].slot_bytes -= 8; EXPECT_FALSE(loads()); }
TEST_F(OneField, SlotsBehindTheArena) { tiles()[0].place.offset += 1u << 16; EXPECT_FALSE(loads()); }
TEST_F(OneField, SlotsInTheProgramItself) { tiles()[0].place.region = region_program; EXPECT_FALSE(loads()); }
TEST_F(OneField, PrefetchingIntoTheTileInUse) { tiles()[0].prefetch = tiles()[0].slots; EXPECT_FALSE(loads()); }
TEST_F(OneField, ATileBehindTheStorage) { tiles()[1].storage = static_cast<uint32_t>(streamed_.image.size()); EXPECT_FALSE(loads()); }
TEST_F(OneField, ABoxThatChangesWhileItsSlotStays) { tiles()[0].level = 1; EXPECT_FALSE(loads()); }
TEST_F(OneField, ATileOfAnotherElementSize) { tiles()[0].element_bytes = 2; EXPECT_FALSE(loads()); }
TEST_F(OneField, ASplitReductionWithoutAccumulator) {
  operands_of(&step(StepKind::run_tile));
  auto* operand = reinterpret_cast<Operand*>(&step(StepKind::run_tile) + 1) + accumulator;
  *operand = {};
  EXPECT_FALSE(loads());
}
TEST_F(OneField, AKernelThatIsNotThere) { step(StepKind::run_tile).kernel = 999; EXPECT_FALSE(loads()); }
TEST_F(OneField, ANestThatEndsElsewhere) { step(StepKind::nest_end).params -= 8; EXPECT_FALSE(loads()); }
TEST_F(OneField, ANestWithinANest) { step(StepKind::load).kind = static_cast<uint8_t>(StepKind::nest); EXPECT_FALSE(loads()); }
TEST_F(OneField, AStoreOutsideNests) { step(StepKind::wait).kind = static_cast<uint8_t>(StepKind::store); EXPECT_FALSE(loads()); }

TEST_F(OneField, ATileThatIsNotLoadedFarEnoughEndsTheInference) {
  TileRange& rows = ranges()[tiles()[0].range[1]];
  rows.size -= 1;  // of the input
  Victim victim{streamed_.program, streamed_.image};
  RamDevice storage({victim.image.data(), victim.image.size()});
  GuardedMemory arena(victim.arena_bytes + 64);
  Interpreter net;
  Resources resources;
  resources.storage = &storage.device();
  ASSERT_TRUE(net.init({streamed_.program.data(), streamed_.program.size()}, *all_table().kernels, arena.span(), resources).ok());
  EXPECT_STREQ(net.run().text(), "a tile of the Program reaches outside what was loaded");
}

}  // namespace
}  // namespace linnet::seams
