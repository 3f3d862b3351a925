// Proves that a computation gives the same bits in blocks as in one piece, and that window() covers what a block reads.
// Generic: give the computation and a network that uses it.
//
//     test::check_blocks<ops::pad::Pad<uint8_t>>(n.write(), {input});
//
// The output is divided at random along every axis that the computation declares; each block gets its operands in tiles of
// exactly their windows (under AddressSanitizer nothing else is readable), some of them in rolling buffers of rows, and
// reductions run over boxes with an accumulator.
#pragma once
#include <random>

#include "tests/support/captured_steps.h"

namespace linnet::test {

// An operand's elements inside `box`, taken out of a dense buffer.
struct Tile {
  TensorBytes bytes;
  View view = {};
  Box box = {};
  size_t element = 1;

  Tile(const Box& window, size_t element_bytes, bool rolling, int32_t spare_rows) : box(window), element(element_bytes) {
    int32_t n[4];
    for (int k = 0; k < 4; ++k) n[k] = std::max(0, window.hi[k] - window.lo[k]);
    view = dense_view(n[1] + (rolling ? spare_rows : 0), n[2], n[3]);
    for (int k = 0; k < 4; ++k) view.origin[k] = window.lo[k];
    if (rolling) view.rolling_rows = n[1] + spare_rows;
    bytes.assign(static_cast<size_t>(n[0]) * static_cast<size_t>(view.stride[0]) * element, 0xA5);
  }
  template <class F>  // f(byte in the tile, byte in the dense buffer)
  void for_each(const View& dense, F f) {
    TensorView<uint8_t> mine{nullptr, &view};
    for (int32_t b = box.lo[0]; b < box.hi[0]; ++b)
      for (int32_t y = box.lo[1]; y < box.hi[1]; ++y)
        for (int32_t x = box.lo[2]; x < box.hi[2]; ++x)
          for (int32_t c = box.lo[3]; c < box.hi[3]; ++c) {
            int64_t at = int64_t{b - view.origin[0]} * view.stride[0] + int64_t{mine.row(y)} * view.stride[1] +
                         int64_t{x - view.origin[2]} * view.stride[2] + c - view.origin[3];
            int64_t from = int64_t{b} * dense.stride[0] + int64_t{y} * dense.stride[1] + int64_t{x} * dense.stride[2] + c;
            f(static_cast<size_t>(at) * element, static_cast<size_t>(from) * element);
          }
  }
  void load(const TensorBytes& dense, const View& dense_layout) {
    for_each(dense_layout, [&](size_t at, size_t from) { std::memcpy(&bytes.at(at), &dense.at(from), element); });
  }
  void store(TensorBytes& dense, const View& dense_layout) {
    for_each(dense_layout, [&](size_t at, size_t from) { std::memcpy(&dense.at(from), &bytes.at(at), element); });
  }
};

// Cuts [lo, hi) into pieces; one piece unless `split`.
inline std::vector<std::pair<int32_t, int32_t>> cut(int32_t lo, int32_t hi, bool split, std::mt19937& random) {
  std::vector<std::pair<int32_t, int32_t>> pieces;
  while (lo < hi) {
    int32_t n = split ? 1 + static_cast<int32_t>(random() % static_cast<uint32_t>(hi - lo)) : hi - lo;
    pieces.emplace_back(lo, lo + n);
    lo += n;
  }
  return pieces;
}

template <class C>
void run_block(const CapturedStep<C>& s, const View* dense, Block block, std::vector<TensorBytes>& memory,
               std::vector<TensorBytes>& accumulators, std::mt19937& random) {
  std::vector<Tile> tiles;
  View views[max_operands] = {};
  for (size_t i = 0; i < s.count(); ++i) {
    bool accumulates = s.extents[i].optional && s.extents[i].written;
    Box window = accumulates ? block.out : C::window(s.params, static_cast<int>(i), block);
    bool activation = s.roles[i] == role_in || s.roles[i] == role_out;
    bool rolling = activation && !accumulates && !is_empty(window) && window.hi[0] - window.lo[0] == 1 && random() % 2 != 0;
    tiles.emplace_back(window, s.extents[i].element_bytes, rolling, static_cast<int32_t>(random() % 3));
    views[i] = tiles[i].view;
    if (accumulates) {
      accumulators[i].resize(tiles[i].bytes.size());
      if (block.first) std::fill(accumulators[i].begin(), accumulators[i].end(), uint8_t{0xA5});
    } else if (s.present[i] && s.roles[i] != role_out && !s.is_scratch(i)) {
      tiles[i].load(memory[i], dense[i]);
    }
  }
  void* data[max_operands] = {};
  TensorBytes scratch;
  for (size_t i = 0; i < s.count(); ++i) {
    bool accumulates = s.extents[i].optional && s.extents[i].written;
    if (accumulates) data[i] = block.first && block.last ? nullptr : accumulators[i].data();
    else if (s.is_scratch(i)) data[i] = memory[i].data();
    else if (s.present[i]) data[i] = tiles[i].bytes.data() ? tiles[i].bytes.data() : reinterpret_cast<uint8_t*>(&tiles);
  }
  block.views = views;
  C::run(Call{data, block, Direction::up}, s.params);
  for (size_t i = 0; i < s.count(); ++i) {
    bool accumulates = s.extents[i].optional && s.extents[i].written;
    if (accumulates || !s.extents[i].written || s.is_scratch(i)) continue;
    if (block.last || s.roles[i] == role_inout) tiles[i].store(memory[i], dense[i]);
  }
}

template <class C>
void check_blocks_of(const CapturedStep<C>& s, uint32_t seed) {
  std::mt19937 random(seed);
  View dense[max_operands] = {};
  Block whole = {};
  whole.views = dense;
  C::whole(s.params, whole, dense);
  std::vector<TensorBytes> memory = s.before, accumulators(s.count());
  auto pieces = [&](int axis, Splits flag) { return cut(whole.out.lo[axis], whole.out.hi[axis], (C::splits & flag) != 0, random); };
  bool reduces = (C::splits & (split_reduction | split_reduction_in_order)) != 0 && random() % 4 != 0;
  for (auto [b0, b1] : pieces(0, split_batch))
    for (auto [y0, y1] : pieces(1, split_rows))
      for (auto [x0, x1] : pieces(2, split_columns))
        for (auto [c0, c1] : pieces(3, split_channels)) {
          Block block = whole;
          block.out = {{b0, y0, x0, c0}, {b1, y1, x1, c1}};
          block.first = block.last = true;
          if (!reduces) {
            run_block(s, dense, block, memory, accumulators, random);
            continue;
          }
          const ReductionBox& r = whole.reduction;
          std::vector<ReductionBox> boxes;
          // Boxes that follow one another: below the first axis that is cut everything is whole. In any order: all cut.
          bool any_order = (C::splits & split_reduction) != 0;
          int cut_axis = any_order ? 3 : static_cast<int>(random() % 3);
          for (int k = 0; !any_order && k < cut_axis; ++k) cut_axis = r.hi[k] - r.lo[k] == 1 ? cut_axis : k;
          for (auto [i0, i1] : cut(r.lo[0], r.hi[0], any_order || cut_axis == 0, random))
            for (auto [j0, j1] : cut(r.lo[1], r.hi[1], any_order || cut_axis == 1, random))
              for (auto [k0, k1] : cut(r.lo[2], r.hi[2], any_order || cut_axis == 2, random))
                boxes.push_back({{i0, j0, k0}, {i1, j1, k1}});
          if (any_order) std::shuffle(boxes.begin(), boxes.end(), random);
          for (size_t i = 0; i < boxes.size(); ++i) {
            block.reduction = boxes[i];
            block.first = i == 0;
            block.last = i + 1 == boxes.size();
            run_block(s, dense, block, memory, accumulators, random);
          }
        }
  for (size_t i = 0; i < s.count(); ++i) {
    if (!s.present[i] || (s.roles[i] != role_out && s.roles[i] != role_inout)) continue;
    EXPECT_TRUE(memory[i] == s.after[i]) << C::name << " in blocks (seed " << seed << ") differs at operand " << i;
  }
}

template <class C>
void check_blocks(const std::vector<uint8_t>& file, const std::vector<TensorBytes>& inputs, uint32_t rounds = 20) {
  for (const CapturedStep<C>& s : capture_steps<C>(file, inputs))
    for (uint32_t seed = 1; seed <= rounds; ++seed) check_blocks_of(s, seed);
}

}  // namespace linnet::test
