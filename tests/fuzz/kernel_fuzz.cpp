// Fuzzes kernels one by one: whatever its parameters and numbers are, `check` refuses the parameters, or `run` stays inside
// the bytes that `check` named (whole layers) or inside the boxes that `window` named (blocks), each operand in memory of
// exactly that size, nothing is undefined, and an output that overlaps an input as far as `lag` allows is the same.
#include <algorithm>
#include <memory>

#include "linnet/engine/nest.h"
#include "tests/fuzz/catalogue.h"
#include "tests/fuzz/kernel_numbers.h"
#include "tests/fuzz/kernel_seed.h"
#include "tests/fuzz/model_mutator.h"
#include "tests/fuzz/watched_memory.h"

namespace {

using namespace linnet;
using fuzz::KernelSeed;

constexpr size_t largest_params = 512, largest_operand = 1 << 18, widest_element = 8;
constexpr uint64_t most_work = 30000;

const fuzz::Kernels& kernels() {
  static const fuzz::Kernels numbered = fuzz::numbered_kernels();
  return numbered;
}

// The operands of one run.
class Operands {
 public:
  explicit Operands(const KernelSeed& seed) : random_(seed.numbers) {}

  // As aligned as its elements and no more.
  void set(int i, uint64_t bytes, const Extent& extent, bool absent) {
    data[i] = nullptr;
    if (absent) return;
    static std::vector<std::unique_ptr<fuzz::WatchedMemory>> pieces;
    while (pieces.size() <= static_cast<size_t>(i)) pieces.push_back(std::make_unique<fuzz::WatchedMemory>(largest_operand + widest_element));
    size_t element = extent.element_bytes;
    if (element == 8 && !extent.written) element = 4;
    Span<uint8_t> piece = pieces[static_cast<size_t>(i)]->open(element + bytes);
    data[i] = piece.data() + element;
    fill(static_cast<uint8_t*>(data[i]), bytes, extent.element_bytes);
  }

  void* data[max_operands];

 private:
  // Of one kind for an operand: any bits, small numbers, floats around 0.2, the ends of the range.
  void fill(uint8_t* to, uint64_t bytes, uint32_t element) {
    constexpr uint64_t highest_bytes[] = {0, ~uint64_t{0}, 0xFF00FF00FF00FF00, 0, 0xFF000000FF000000, 0, 0, 0, 0xFF00000000000000};
    uint64_t high = highest_bytes[element], kind = random_(4);
    for (uint64_t i = 0; i < bytes; i += 8) {
      uint64_t word = random_.word();
      if (kind == 1) word &= ~high;
      if (kind == 2) word = (word & ~high) | (0x3E3E3E3E3E3E3E3E & high);
      if (kind == 3) word = word & 1 ? 0x7FFFFFFFFFFFFFFF : word & 2 ? 0 - (high & (0 - high)) : ~high;
      std::memcpy(to + i, &word, std::min<uint64_t>(8, bytes - i));
    }
  }

  fuzz::Random random_;
};

// Part [lo, hi) of an axis, by two numbers of the seed.
void cut(int32_t& lo, int32_t& hi, uint8_t from, uint8_t size) {
  int32_t n = hi - lo;
  lo += static_cast<int32_t>(int64_t{n} * from / 256);
  hi = std::min(hi, lo + 1 + static_cast<int32_t>(int64_t{n} * size / 256));
}

// The block that the seed asks for, as far as the kernel can be split.
void choose_block(const KernelSeed& seed, const TileEntry& tile, bool accumulates, Block& block) {
  for (int a = 0; a < 4; ++a)
    if (tile.splits & (split_batch << a)) cut(block.out.lo[a], block.out.hi[a], seed.out[a][0], seed.out[a][1]);
  block.first = block.last = true;
  if (!accumulates) return;
  for (int a = 0; a < 3; ++a) cut(block.reduction.lo[a], block.reduction.hi[a], seed.reduction[a][0], seed.reduction[a][1]);
  block.first = (seed.flags & KernelSeed::first) != 0;
  block.last = (seed.flags & KernelSeed::last) != 0;
}

uint64_t elements_of(const Box& box) {
  uint64_t n = 1;
  for (int a = 0; a < 4; ++a) n *= static_cast<uint64_t>(box.hi[a] - box.lo[a]);
  return n;
}

void run_block(const KernelSeed& seed, const uint8_t* params, const Extent* extents, uint64_t absent) {
  const TileEntry& tile = kernels().table->tiling->kernels[seed.kernel];
  View views[max_operands] = {};
  Block block = {};
  tile.whole(params, block, views);
  block.views = views;
  bool accumulates = false;
  for (int i = 0; i < seed.operands; ++i) accumulates = accumulates || (extents[i].optional && extents[i].written && !(absent >> i & 1));
  choose_block(seed, tile, accumulates, block);
  Operands operands(seed);
  for (int i = 0; i < seed.operands; ++i) {
    Box box = tile.window(params, i, block);
    if (is_empty(box)) box = {};
    uint64_t bytes = elements_of(box) * extents[i].element_bytes;
    if (bytes > extents[i].bytes) fuzz::fail("a window is larger than its operand");
    operands.set(i, bytes, extents[i], (absent >> i & 1) != 0);
    views[i] = dense_view(box.hi[1] - box.lo[1], box.hi[2] - box.lo[2], box.hi[3] - box.lo[3]);
    for (int a = 0; a < 4; ++a) views[i].origin[a] = box.lo[a];
  }
  kernels().table->kernels[seed.kernel].run(operands.data, params, &block, Direction::up);
}

// A whole layer with each operand in memory of its own.
class WholeRun {
 public:
  WholeRun(const KernelSeed& seed, const uint8_t* params, const Extent* extents, uint64_t absent)
      : seed_(seed), params_(params), extents_(extents), absent_(absent), down_((seed.flags & KernelSeed::down) != 0) {}

  void run() {
    run(fresh());
    for (int o = 0; o < seed_.operands; ++o)
      for (int i = 0; i < seed_.operands; ++i) {
        int64_t in_at;
        if (extents_[o].written && !extents_[o].optional && !extents_[i].written && !extents_[i].optional && overlaps(i, o, in_at))
          compare(i, o, in_at, output(o));
      }
  }

 private:
  Operands fresh() const {
    Operands operands(seed_);
    for (int i = 0; i < seed_.operands; ++i) operands.set(i, extents_[i].bytes, extents_[i], (absent_ >> i & 1) != 0);
    return operands;
  }
  static uint8_t* byte(const Operands& operands, int i) { return static_cast<uint8_t*>(operands.data[i]); }
  void run(const Operands& operands) const {
    kernels().table->kernels[seed_.kernel].run(operands.data, params_, nullptr, down_ ? Direction::down : Direction::up);
  }

  // A layer may write a part of its output: CONCATENATION.
  struct Written {
    std::vector<uint8_t> bytes, mask;
  };
  Written output(int o) const {
    uint32_t n = extents_[o].bytes;
    Operands operands = fresh();
    run(operands);
    Written written = {{byte(operands, o), byte(operands, o) + n}, std::vector<uint8_t>(n)};
    operands = fresh();
    for (uint32_t i = 0; i < n; ++i) byte(operands, o)[i] ^= 0xFF;
    run(operands);
    for (uint32_t i = 0; i < n; ++i) written.mask[i] = byte(operands, o)[i] == written.bytes[i];
    return written;
  }

  // Where the input begins, counted from the output's start, when it is as near as its lag allows. False: apart.
  bool overlaps(int i, int o, int64_t& in_at) const {
    Lag lag = kernels().answers[seed_.kernel].lag(params_, i, o);
    int64_t in_bytes = extents_[i].bytes, out_bytes = extents_[o].bytes, distance = down_ ? lag.backward : lag.forward;
    if (distance == Lag::never) return false;
    in_at = down_ ? out_bytes - distance - in_bytes : distance;
    int64_t unit = std::max(extents_[i].element_bytes, extents_[o].element_bytes), over = (in_at % unit + unit) % unit;
    if (over != 0) in_at += down_ ? -over : unit - over;
    return in_at < out_bytes && in_at + in_bytes > 0;
  }

  void compare(int i, int o, int64_t in_at, const Written& expected) const {
    static fuzz::WatchedMemory memory(2 * largest_operand);
    int64_t in_bytes = extents_[i].bytes, first = std::min<int64_t>(in_at, 0), last = std::max<int64_t>(in_at + in_bytes, extents_[o].bytes);
    Operands operands = fresh();
    Span<uint8_t> both = memory.open(static_cast<size_t>(last - first));
    std::memset(both.data(), 0xA5, both.size());
    uint8_t* at = both.data() - first;
    std::memcpy(at + in_at, operands.data[i], static_cast<size_t>(in_bytes));
    operands.data[i] = at + in_at;
    operands.data[o] = at;
    run(operands);
    for (size_t b = 0; b < expected.bytes.size(); ++b)
      fuzz::require(!expected.mask[b] || at[b] == expected.bytes[b], "an output differs that overlaps an input by no more than its lag");
  }

  const KernelSeed& seed_;
  const uint8_t* params_;
  const Extent* extents_;
  uint64_t absent_;
  bool down_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::WatchedMemory memory(largest_params);
  if (size < sizeof(KernelSeed) || size - sizeof(KernelSeed) > largest_params) return 0;
  auto seed = fuzz::load<KernelSeed>(data);
  seed.kernel %= fuzz::kernel_numbers;
  const KernelEntry& kernel = kernels().table->kernels[seed.kernel];
  if (!kernel.run || seed.operands > max_operands) return 0;
  Bytes params = memory.hold(data + sizeof seed, size - sizeof seed);
  Extent extents[max_operands];
  if (!kernel.check(params.data(), static_cast<uint32_t>(params.size()), extents, seed.operands)) return 0;
  Cost cost = kernels().answers[seed.kernel].cost(params.data());
  uint64_t work = cost.macs + cost.operations, absent = 0;
  for (int i = 0; i < seed.operands; ++i) {
    work += extents[i].bytes;
    if (extents[i].optional && (seed.absent >> i & 1)) absent |= uint64_t{1} << i;
  }
  if (work > most_work) return 0;
  WholeRun(seed, params.data(), extents, absent).run();
  run_block(seed, params.data(), extents, absent);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned number) {
  fuzz::Random random(number);
  if (size < sizeof(KernelSeed) + 4 || random(16) == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t rounds = 1 + random(3); rounds; --rounds) {
    uint8_t* word = data + sizeof(KernelSeed) + 4 * random((size - sizeof(KernelSeed)) / 4);
    auto old = fuzz::load<uint32_t>(word);
    switch (random(8)) {
      case 0: data[2 + random(sizeof(KernelSeed) - 2)] = static_cast<uint8_t>(random(256)); break;  // all but the kernel
      case 1: fuzz::store(word, random(10)); break;
      case 2: fuzz::store(word, old + random(5) - 2); break;
      case 3: fuzz::store(word, old * (2 + random(3))); break;
      case 4: fuzz::store(word + 2 * random(2), static_cast<uint16_t>(random(2) ? random(8) : fuzz::odd_word(random, old, size))); break;
      case 5: fuzz::store(word, fuzz::load<uint32_t>(data + sizeof(KernelSeed) + 4 * random((size - sizeof(KernelSeed)) / 4))); break;
      default: fuzz::store(word, fuzz::odd_word(random, old, size)); break;
    }
  }
  return size;
}
