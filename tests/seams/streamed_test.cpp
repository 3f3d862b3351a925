// Seam: a convolution whose weights and feature maps lie in storage, run through a nest with three slots for each tile,
// gives the bits of the run in memory, in an arena smaller than its weights. And what happens when the storage fails.
#include <algorithm>
#include <fstream>

#include "linnet/storage/ram_device.h"
#include "tests/seams/streamed.h"

namespace linnet::seams {
namespace {

using graph::NetworkBuilder;

Status init(Interpreter& net, const Streamed& streamed, const BuildTable& table, Span<uint8_t> arena, BlockDevice* device) {
  Resources resources;
  resources.storage = device;
  return net.init({streamed.program.data(), streamed.program.size()}, *table.kernels, arena, resources);
}
uint32_t arena_bytes(const Streamed& s) { return align_up(reinterpret_cast<const Header*>(s.program.data())->arena_bytes, 8); }

TensorBytes run_from_file(const Streamed& streamed, const BuildTable& table, size_t output_bytes, uint32_t block_bytes) {
  TemporaryFile file;
  std::ofstream(file.path(), std::ios::binary).write(reinterpret_cast<const char*>(streamed.image.data()), static_cast<std::streamsize>(streamed.image.size()));
  StorageFacts facts;
  facts.block_bytes = block_bytes;
  TensorBytes result(output_bytes);
  {
    FileDevice storage(file.path(), facts);
    GuardedMemory arena(arena_bytes(streamed));
    Interpreter net;
    if (Status s = init(net, streamed, table, arena.span(), &storage.device()); !s.ok()) throw Error(describe(s, net.where()));
    if (Status s = net.run(); !s.ok()) throw Error(describe(s, net.where()));
    EXPECT_TRUE(arena.intact());
    EXPECT_GT(storage.counts().read_bytes, streamed.output_offset);
  }
  std::ifstream(file.path(), std::ios::binary).seekg(streamed.output_offset).read(reinterpret_cast<char*>(result.data()), static_cast<std::streamsize>(output_bytes));
  return result;
}

NetworkBuilder convolution(Type type, graph::ConvSpec spec, std::vector<int32_t> shape) {
  NetworkBuilder n(11);
  n.output(n.conv_2d(n.input(type, std::move(shape), type == Type::float32 ? graph::Quantization{} : graph::per_tensor(0.04f, type == Type::int8 ? 5 : 0)), spec));
  return n;
}

void expect_same(NetworkBuilder n, const Cut& cut, uint32_t block_bytes = 1) {
  InCore in_core(n, all_table(), true);
  Streamed streamed = stream(in_core, all_table(), cut, block_bytes);
  plan::LayerStep layer = plan::layer_steps(in_core.program, *all_table().kernels).at(0);
  EXPECT_LT(arena_bytes(streamed), layer.extents[filter].bytes) << "the arena is to be smaller than the weights";
  EXPECT_TRUE(run_from_file(streamed, all_table(), in_core.outputs[0].size(), block_bytes) == in_core.outputs[0]);
}

const graph::ConvSpec three_by_three = {.channels = 48, .kernel = {3, 3}, .activation = graph::Activation::relu6};

TEST(Streamed, AnInt8ConvolutionInTilesOverRowsColumnsChannelsAndBoxesOfTheReductionGivesTheSameBits) {
  expect_same(convolution(Type::int8, three_by_three, {1, 9, 11, 48}),
              {.rows = 4, .columns = 3, .channels = 16, .filter_rows = 2, .in_channels = 16, .channels_first = true});
}

TEST(Streamed, AnInt8ConvolutionThroughAStorageOfBlocksGivesTheSameBits) {
  expect_same(convolution(Type::int8, three_by_three, {2, 9, 11, 48}),
              {.rows = 5, .columns = 4, .channels = 16, .in_channels = 16}, 16);
}

TEST(Streamed, AFloatConvolutionInBoxesOfTheReductionInOrderGivesTheSameBits) {
  expect_same(convolution(Type::float32, three_by_three, {1, 9, 11, 48}),
              {.rows = 4, .columns = 3, .channels = 16, .filter_rows = 1, .filter_columns = 2});
  expect_same(convolution(Type::float32, three_by_three, {1, 9, 11, 48}),
              {.rows = 4, .columns = 5, .channels = 16, .filter_rows = 1, .filter_columns = 1, .in_channels = 20, .packed_weights = false});
}

TEST(Streamed, StridesDilationsAndSixteenBitsGiveTheSameBits) {
  graph::ConvSpec strided = {.channels = 40, .kernel = {5, 3}, .stride = {2, 1}};
  expect_same(convolution(Type::int16, strided, {1, 13, 10, 32}), {.rows = 2, .columns = 3, .channels = 8, .filter_rows = 3, .in_channels = 16});
  graph::ConvSpec dilated = {.channels = 40, .kernel = {3, 3}, .dilation = {2, 3}, .padding = graph::Padding::valid};
  expect_same(convolution(Type::int8, dilated, {1, 13, 12, 40}), {.rows = 3, .columns = 6, .channels = 8, .in_channels = 8});
}

TEST(Streamed, EverySlotCountAndPrefetchDistanceGivesTheSameBits) {
  for (uint8_t slots = 1; slots <= 4; ++slots)
    for (uint8_t prefetch = 0; prefetch < slots; ++prefetch)
      expect_same(convolution(Type::int8, three_by_three, {1, 6, 6, 48}),
                  {.rows = 3, .columns = 2, .channels = 8, .in_channels = 16, .slots = slots, .prefetch = prefetch});
}

TEST(Streamed, AFloatReductionOutOfOrderIsRefused) {
  NetworkBuilder n = convolution(Type::float32, three_by_three, {1, 9, 11, 48});
  InCore in_core(n, all_table(), true);
  for (Cut cut : {Cut{.rows = 4, .columns = 3, .channels = 16, .in_channels = 16},
                  Cut{.rows = 4, .columns = 3, .channels = 16, .filter_rows = 2, .filter_columns = 1},
                  Cut{.rows = 4, .columns = 3, .channels = 16, .filter_rows = 1, .filter_columns = 1, .in_channels = 16, .channels_first = true, .packed_weights = false}}) {
    Streamed streamed = stream(in_core, all_table(), cut);
    GuardedMemory arena(arena_bytes(streamed));
    RamDevice storage({streamed.image.data(), streamed.image.size()});
    Interpreter net;
    Status status = init(net, streamed, all_table(), arena.span(), &storage.device());
    EXPECT_STREQ(status.text(), "the Program splits a layer's reduction in a way that the kernel cannot");
  }
}

// ---- Storage that fails -----------------------------------------------------------------------------------------------

class StreamedInRam : public ::testing::Test {
 protected:
  NetworkBuilder network_ = convolution(Type::int8, three_by_three, {1, 6, 6, 48});
  InCore in_core_{network_, all_table(), true};
  Streamed streamed_ = stream(in_core_, all_table(), {.rows = 3, .columns = 3, .channels = 16, .in_channels = 24});
  std::vector<uint8_t> image_ = streamed_.image;
  GuardedMemory arena_{arena_bytes(streamed_)};

  TensorBytes result() const {
    auto from = image_.begin() + streamed_.output_offset;
    return {from, from + static_cast<std::ptrdiff_t>(in_core_.outputs[0].size())};
  }
};

TEST_F(StreamedInRam, ADeviceThatCompletesAtOnceGivesTheSameBitsTileByTile) {
  RamDevice storage({image_.data(), image_.size()});
  Interpreter net;
  ASSERT_TRUE(init(net, streamed_, all_table(), arena_.span(), &storage.device()).ok());
  int steps = 0;
  while (net.step() == Progress::more) ++steps;
  EXPECT_TRUE(net.status().ok());
  EXPECT_GT(steps, 2 * 2 * 3 * 2 * 4) << "step() is to return between tiles";
  EXPECT_TRUE(result() == in_core_.outputs[0]);
  EXPECT_TRUE(arena_.intact());
}

TEST_F(StreamedInRam, AnInferenceCanBeCancelledAtAnyTileAndTheNextOneIsRight) {
  RamDevice storage({image_.data(), image_.size()});
  Interpreter net;
  ASSERT_TRUE(init(net, streamed_, all_table(), arena_.span(), &storage.device()).ok());
  for (int after = 1; after < 100; after += 7) {
    for (int i = 0; i < after; ++i) ASSERT_EQ(net.step(), Progress::more);
    net.cancel();
  }
  EXPECT_TRUE(net.run().ok());
  EXPECT_TRUE(result() == in_core_.outputs[0]);
}

TEST_F(StreamedInRam, NoStorageOrOneThatIsTooSmallIsRefusedAtOnce) {
  Interpreter net;
  EXPECT_EQ(init(net, streamed_, all_table(), arena_.span(), nullptr).code(), Code::mismatch);
  RamDevice storage({image_.data(), image_.size() - 1});
  EXPECT_EQ(init(net, streamed_, all_table(), arena_.span(), &storage.device()).code(), Code::mismatch);
}

TEST_F(StreamedInRam, ATableWithoutLoopNestsRefusesTheProgram) {
  BuildTable table = Build<AllKernels, AllOperators>::table;
  Interpreter net;
  EXPECT_STREQ(init(net, streamed_, table, arena_.span(), nullptr).text(), "this firmware cannot run loop nests");
}

// Memory whose n-th request fails, late: the fault shows only when the engine asks for completion.
class FailingDevice {
 public:
  explicit FailingDevice(std::vector<uint8_t>& memory) : memory_(memory), device_(driver, this, facts(memory.size())) {}
  BlockDevice& device() { return device_; }
  void fail_at(uint32_t request) {
    countdown_ = request;
    armed_ = true;
  }

 private:
  static StorageFacts facts(uint64_t bytes) {
    StorageFacts f;
    f.capacity_bytes = bytes;
    return f;
  }
  static Status submit(void* context, const StorageRequest& request) {
    FailingDevice& d = *static_cast<FailingDevice*>(context);
    d.pending_.push_back(request);
    return {};
  }
  static Status poll(void* context, uint32_t& completed) {
    FailingDevice& d = *static_cast<FailingDevice*>(context);
    if (d.faulty_) return LINNET_ERROR(storage_fault, "the card was removed");
    if (!d.pending_.empty()) {
      StorageRequest request = d.pending_.front();
      if (d.armed_ && d.countdown_-- == 0) {
        d.faulty_ = true;
        return LINNET_ERROR(storage_fault, "the card was removed");
      }
      uint8_t* at = d.memory_.data() + request.offset;
      if (request.kind == StorageRequest::Kind::read) std::copy_n(at, request.bytes, request.data);
      else std::copy_n(request.data, request.bytes, at);
      d.pending_.erase(d.pending_.begin());
      ++d.completed_;
    }
    completed = d.completed_;
    return {};
  }
  static void clear(void* context) {
    FailingDevice& d = *static_cast<FailingDevice*>(context);
    d.completed_ += static_cast<uint32_t>(d.pending_.size());
    d.pending_.clear();
    d.faulty_ = d.armed_ = false;
  }
  static constexpr StorageDriver driver = {&submit, &poll, nullptr, &clear, nullptr, nullptr};

  std::vector<uint8_t>& memory_;
  std::vector<StorageRequest> pending_;
  uint32_t completed_ = 0, countdown_ = 0;
  bool armed_ = false, faulty_ = false;
  BlockDevice device_;
};

TEST_F(StreamedInRam, AFaultAtAnyRequestEndsTheInferenceWithAnErrorAndTheNextOneIsRight) {
  FailingDevice storage(image_);
  Interpreter net;
  ASSERT_TRUE(init(net, streamed_, all_table(), arena_.span(), &storage.device()).ok());
  uint32_t faults = 0;
  for (uint32_t request = 0;; request += 5, ++faults) {
    storage.fail_at(request);
    Status status = net.run();
    if (status.ok()) break;
    EXPECT_EQ(status.code(), Code::storage_fault);
    EXPECT_STREQ(status.text(), "the card was removed");
    std::fill(image_.begin() + streamed_.output_offset, image_.end(), uint8_t{0});
    if (faults % 16 != 0) continue;
    EXPECT_TRUE(net.run().ok());
    EXPECT_TRUE(result() == in_core_.outputs[0]);
  }
  EXPECT_GT(faults, 50u);
  EXPECT_TRUE(arena_.intact());
}

TEST_F(StreamedInRam, AFileThatWasCutShortEndsTheInferenceAndOneThatIsWholeAgainRuns) {
  TemporaryFile file;
  auto write = [&](size_t bytes) {
    std::ofstream(file.path(), std::ios::binary | std::ios::trunc).write(reinterpret_cast<const char*>(image_.data()), static_cast<std::streamsize>(bytes));
  };
  write(image_.size());
  FileDevice storage(file.path());
  Interpreter net;
  ASSERT_TRUE(init(net, streamed_, all_table(), arena_.span(), &storage.device()).ok());
  write(streamed_.output_offset / 2);
  Status status = net.run();
  EXPECT_EQ(status.code(), Code::storage_fault);
  EXPECT_STREQ(status.text(), "the storage ends before the data that the Program expects there");
  write(image_.size());
  EXPECT_TRUE(net.run().ok());
}

TEST_F(StreamedInRam, ADeviceWithLargerBlocksThanThePlanKnewIsRefusedWithTheReason) {
  StorageFacts facts;
  facts.block_bytes = 64;
  RamDevice storage({image_.data(), image_.size()}, facts);
  Interpreter net;
  ASSERT_TRUE(init(net, streamed_, all_table(), arena_.span(), &storage.device()).ok());
  EXPECT_STREQ(net.run().text(), "the Program was planned for a storage with smaller blocks: plan it for this one");
}

}  // namespace
}  // namespace linnet::seams
