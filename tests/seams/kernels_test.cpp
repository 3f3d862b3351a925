// Seam: kernels that can be split along some axes only take part in bands and tiles as far as they can; what they cannot do
// is refused with the reason.
#include "linnet/storage/ram_device.h"
#include "tests/seams/bands.h"
#include "tests/seams/streamed.h"

namespace linnet::seams {
namespace {

using graph::NetworkBuilder;

// The reference convolution as a vendor library might offer it: with fewer ways to divide it.
template <uint8_t axes>
struct Limited {
  using Computation = ops::conv_2d::Int8;
  static constexpr const char* set = axes ? "rows_only" : "whole_only";
  static constexpr Splits splits = static_cast<Splits>(axes);
  static Lag lag(const Computation::Params&, int, int) { return {}; }
  static void run(const Call& call, const Computation::Params& p) {
    ++calls;
    Computation::run(call, p);
  }
  static inline int calls = 0;
};
using RowsOnly = Limited<split_rows>;
using WholeOnly = Limited<split_none>;

template <class K>
const BuildTable& table_with() { return TiledBuild<typename Concat<List<K>, AllKernels>::type, AllOperators>::table(); }

NetworkBuilder two_convolutions() {
  NetworkBuilder n(5);
  int x = n.input(Type::int8, {1, 12, 9, 4}, graph::per_tensor(0.05f));
  x = n.conv_2d(x, {.channels = 8, .kernel = {3, 3}});
  n.output(n.conv_2d(x, {.channels = 4, .kernel = {3, 3}}));
  return n;
}

TEST(LimitedKernels, OneThatCanDoRowsOnlyTakesPartInBands) {
  NetworkBuilder n = two_convolutions();
  InCore in_core(n, table_with<RowsOnly>());
  std::vector<uint8_t> program = in_bands(in_core, table_with<RowsOnly>(), {3, 3});
  RowsOnly::calls = 0;
  EXPECT_EQ(run_program(program, table_with<RowsOnly>(), in_core.inputs), in_core.outputs);
  EXPECT_GE(RowsOnly::calls, 2 * 2 * 4) << "two inferences, two layers, four bands";
}

TEST(LimitedKernels, OneThatCanDoWholeLayersOnlyIsNotPlannedIntoBandsAndRefusedThere) {
  NetworkBuilder n = two_convolutions();
  InCore in_core(n, table_with<WholeOnly>());
  try {
    in_bands(in_core, table_with<WholeOnly>(), {3, 3});
    ADD_FAILURE() << "it was planned into bands";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "a layer of the chain has a kernel that cannot be split into rows");
  }
  // The same Program in bands, handed to a firmware whose kernel cannot do it.
  InCore splittable(n, table_with<RowsOnly>());
  std::vector<uint8_t> program = in_bands(splittable, table_with<RowsOnly>(), {3, 3});
  reinterpret_cast<Header*>(program.data())->kernels_hash = table_with<WholeOnly>().kernels->hash;
  Status status = refusal(program, table_with<WholeOnly>());
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_STREQ(status.text(), "the Program splits a layer along an axis that the kernel cannot split");
}

Status run_streamed(const Streamed& streamed, const BuildTable& table, std::vector<uint8_t>& image) {
  RamDevice storage({image.data(), image.size()});
  GuardedMemory arena(reinterpret_cast<const Header*>(streamed.program.data())->arena_bytes + 8);
  Interpreter net;
  Resources resources;
  resources.storage = &storage.device();
  LINNET_TRY(net.init({streamed.program.data(), streamed.program.size()}, *table.kernels, arena.span(), resources));
  return net.run();
}

TEST(LimitedKernels, EachRunsOutOfStorageInThePiecesThatItCanDo) {
  NetworkBuilder n(6);
  n.output(n.conv_2d(n.input(Type::int8, {1, 12, 8, 16}, graph::per_tensor(0.05f)), {.channels = 16, .kernel = {3, 3}}));
  auto result = [](const InCore& in_core, const BuildTable& table, const Cut& cut) -> std::string {
    Streamed streamed = stream(in_core, table, cut);
    std::vector<uint8_t> image = streamed.image;
    if (Status s = run_streamed(streamed, table, image); !s.ok()) return s.text();
    auto from = image.begin() + streamed.output_offset;
    return TensorBytes(from, from + static_cast<std::ptrdiff_t>(in_core.outputs[0].size())) == in_core.outputs[0] ? "same bits" : "other bits";
  };
  const char* along_axis = "the Program splits a layer along an axis that the kernel cannot split";
  const char* reduction = "the Program splits a layer's reduction in a way that the kernel cannot";
  Cut whole{.rows = 12, .columns = 8, .channels = 16, .slots = 1, .prefetch = 0};
  Cut rows = whole, columns = whole, channels = whole, inner = rows;
  rows.rows = inner.rows = 5;
  columns.columns = 3;
  channels.channels = 8;
  inner.in_channels = 8;
  InCore by_rows(n, table_with<RowsOnly>(), true), by_layer(n, table_with<WholeOnly>(), true);
  EXPECT_EQ(result(by_rows, table_with<RowsOnly>(), whole), "same bits");
  EXPECT_EQ(result(by_rows, table_with<RowsOnly>(), rows), "same bits");
  EXPECT_EQ(result(by_rows, table_with<RowsOnly>(), columns), along_axis);
  EXPECT_EQ(result(by_rows, table_with<RowsOnly>(), channels), along_axis);
  EXPECT_EQ(result(by_rows, table_with<RowsOnly>(), inner), reduction);
  EXPECT_EQ(result(by_layer, table_with<WholeOnly>(), whole), "same bits");
  EXPECT_EQ(result(by_layer, table_with<WholeOnly>(), rows), along_axis);
}

}  // namespace
}  // namespace linnet::seams
