// What the seam proofs share: kernel tables with loop nests, networks with everything in memory to compare with, and
// storage images.
#pragma once
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "linnet/engine/nest.h"
#include "linnet/graph/network_builder.h"
#include "linnet/ops/conv_2d.h"
#include "linnet/ops/depthwise_conv_2d.h"
#include "linnet/ops/pool_2d.h"
#include "linnet/ops/relu.h"
#include "linnet/ops/softmax.h"
#include "linnet/plan/tiling.h"
#include "linnet/storage/file_device.h"
#include "tests/support/run_model.h"

namespace linnet::seams {

template <class KernelList, class OperatorList>
struct TiledBuild;
template <class... K, class O>
struct TiledBuild<List<K...>, O> {
  static const BuildTable& table() {
    static BuildTable tiled = [] {
      BuildTable t = Build<List<K...>, O>::table;
      t.kernels = &TiledKernels<K...>::table;
      return t;
    }();
    return tiled;
  }
};

using AllKernels = Concat<ops::conv_2d::Kernels, ops::depthwise_conv_2d::Kernels, ops::pool_2d::Kernels, ops::relu::Kernels,
                          ops::softmax::Kernels>::type;
using AllOperators = Concat<ops::conv_2d::Operators, ops::depthwise_conv_2d::Operators, ops::pool_2d::Operators,
                            ops::relu::Operators, ops::softmax::Operators>::type;
inline const BuildTable& all_table() { return TiledBuild<AllKernels, AllOperators>::table(); }

// A network with everything in memory: the bits that every other way must give.
struct InCore {
  std::vector<uint8_t> file;
  Model model;
  BuiltProgram program;
  std::vector<TensorBytes> inputs, outputs;

  InCore(graph::NetworkBuilder& network, const BuildTable& table, bool constants_in_model = false)
      : file(network.write()), model(open_model({file.data(), file.size()})) {
    ProgramOptions options;
    options.constants_in_model = constants_in_model;
    program = build_program(model, table, options);
    for (int input : network.network.subgraphs[0].inputs) inputs.push_back(network.random_input(input));
    GuardedMemory arena(program.arena_bytes_ready());
    Interpreter net;
    Resources resources;
    resources.model = model.file();
    Status status = net.init({program.bytes.data(), program.bytes.size()}, *table.kernels, arena.span(), resources);
    if (!status.ok()) throw Error(describe(status, net.where()));
    outputs = infer(net, inputs);
  }
};

// A Program's run in an arena of exactly its size between guard zones.
inline std::vector<TensorBytes> run_program(const std::vector<uint8_t>& program, const BuildTable& table,
                                            const std::vector<TensorBytes>& inputs, Bytes model = {}) {
  const Header& header = *reinterpret_cast<const Header*>(program.data());
  GuardedMemory arena(align_up(header.arena_bytes, persistent_alignment) + align_up(header.persistent_bytes, persistent_alignment));
  Interpreter net;
  Resources resources;
  resources.model = model;
  if (Status s = net.init({program.data(), program.size()}, *table.kernels, arena.span(), resources); !s.ok())
    throw Error(describe(s, net.where()));
  std::vector<TensorBytes> outputs = infer(net, inputs);
  EXPECT_EQ(infer(net, inputs, [](uint32_t) {}), outputs) << "a second inference, tile by tile, differs";
  EXPECT_TRUE(arena.intact());
  return outputs;
}

// The status with which a Program is refused, or with which its inference ends.
inline Status refusal(const std::vector<uint8_t>& program, const BuildTable& table) {
  const Header& header = *reinterpret_cast<const Header*>(program.data());
  GuardedMemory arena(header.arena_bytes + header.persistent_bytes + 64);
  Interpreter net;
  Status status = net.init({program.data(), program.size()}, *table.kernels, arena.span());
  return status.ok() ? net.run() : status;
}

// A file that is gone when the test ends.
class TemporaryFile {
 public:
  TemporaryFile() {
    char name[] = "/tmp/linnet-storage-XXXXXX";
    int file = mkstemp(name);
    if (file < 0) throw Error("cannot make a temporary file");
    close(file);
    path_ = name;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Writes the tiles of a packed operand, cut from a dense tensor, into an image.
inline void pack(const plan::NestBuilder& nest, int tile, const View& dense, const uint8_t* tensor, std::vector<uint8_t>& image) {
  const TileOperand& t = nest.tile(tile);
  for (const auto& packed : nest.packed_tiles(tile)) {
    const Box& box = packed.box;
    for (int32_t b = box.lo[0]; b < box.hi[0]; ++b)
      for (int32_t y = box.lo[1]; y < box.hi[1]; ++y)
        for (int32_t x = box.lo[2]; x < box.hi[2]; ++x)
          for (int32_t c = box.lo[3]; c < box.hi[3]; ++c) {
            int32_t at = (b - box.lo[0]) * t.stride[0] + (y - box.lo[1]) * t.stride[1] + (x - box.lo[2]) * t.stride[2] + c - box.lo[3];
            int32_t from = b * dense.stride[0] + y * dense.stride[1] + x * dense.stride[2] + c;
            size_t to = packed.offset + static_cast<size_t>(at) * t.element_bytes;
            if (image.size() < to + t.element_bytes) image.resize(to + t.element_bytes);
            std::memcpy(&image[to], tensor + static_cast<size_t>(from) * t.element_bytes, t.element_bytes);
          }
  }
}

}  // namespace linnet::seams
