// A libFuzzer mutator that knows Programs: it changes header, steps, operands, nests and parameters where they stand, with
// numbers that may well pass for right there.
#pragma once
#include "linnet/engine/nest.h"
#include "tests/fuzz/model_mutator.h"

namespace linnet::fuzz {

// `kernels`: numbers that a step may name.
class ProgramMutator {
 public:
  ProgramMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed, const std::vector<uint16_t>& kernels)
      : data_(data), size_(size), max_size_(max_size), random_(seed), kernels_(kernels) {}

  size_t run() {
    if (size_ < sizeof(Header) || random_(20) == 0) return LLVMFuzzerMutate(data_, size_, max_size_);
    for (uint32_t rounds = 1 + random_(4); rounds; --rounds) change();
    return size_;
  }

 private:
  Header header() const { return load<Header>(data_); }
  bool has(size_t at, size_t bytes) const { return at <= size_ && bytes <= size_ - at; }

  void change() {
    switch (random_(16)) {
      case 0: return change_word(4 * random_(sizeof(Header) / 4), false);
      case 1: return change_record(header().inputs, sizeof(Port));
      case 2: return change_record(header().outputs, sizeof(Port));
      case 3: return change_record(header().fills, sizeof(StateFill));
      case 4: return change_word(4 * random_(size_ / 4), true);
      case 5: return repeat_step();
      case 6: case 7: return change_nest();
      case 8: case 9: case 10: return change_params();
      default: return change_step();
    }
  }

  void change_record(const Slice& slice, size_t record) {
    if (slice.count != 0) change_word(slice.offset + record * random_(slice.count) + 4 * random_(record / 4), true);
  }

  void change_word(size_t at, bool bytes) {
    if (!has(at, 4)) return;
    auto old = load<uint32_t>(data_ + at);
    switch (random_(8)) {
      case 0: case 1: if (bytes) data_[at + random_(4)] = static_cast<uint8_t>(random_(16)); return;
      case 2: return store(data_ + at, load<uint32_t>(data_ + 4 * random_(size_ / 4)));
      case 3: return store(data_ + at, old + 4 * (random_(65) - 32));
      default: return store(data_ + at, odd_word(random_, old, size_));
    }
  }

  // A step with its operands; false if the chain is broken before it. The one chosen is any of the first hundred.
  bool find_step(size_t& at) {
    Slice code = header().code;
    size_t found[100], n = 0;
    for (size_t next = code.offset; n < 100 && (next & 3) == 0 && has(next, sizeof(Step));) {
      found[n++] = next;
      auto step = load<Step>(data_ + next);
      if (step.kind == static_cast<uint8_t>(StepKind::end)) break;
      next += 8 * (1 + size_t{step.operands});
    }
    if (n == 0) return false;
    at = found[random_(n)];
    return true;
  }

  void change_step() {
    size_t at;
    if (!find_step(at)) return;
    auto step = load<Step>(data_ + at);
    switch (random_(8)) {
      case 0: step.kind = static_cast<uint8_t>(random_(17)); break;
      case 1: step.kernel = kernels_[random_(kernels_.size())]; break;
      case 2: step.kernel ^= step_walks_down; break;
      case 3: step.params += 4 * (random_(17) - 8); break;
      case 4: if (random_(4) == 0) step.operands += random_(2) ? 1 : -1; break;
      default: return change_operand(at, step.operands);
    }
    store(data_ + at, step);
  }

  void change_operand(size_t step, uint32_t operands) {
    if (operands == 0) return;
    size_t at = step + 8 * (1 + random_(operands));
    if (!has(at, sizeof(Operand))) return;
    auto operand = load<Operand>(data_ + at);
    switch (random_(6)) {
      case 0: operand.region = static_cast<uint8_t>(random_(11)); break;
      case 1: operand.tile = static_cast<uint16_t>(random_(5)); break;
      case 2: operand.role = static_cast<uint8_t>(random_(8)); break;
      case 3: operand.offset = odd_word(random_, operand.offset, size_); break;
      default: operand.offset += random_(2) ? 8 * (random_(33) - 16) : random_(9) - 4; break;
    }
    store(data_ + at, operand);
  }

  // Parameters of a step: sizes, strides, multipliers, modes.
  void change_params() {
    size_t at;
    if (!find_step(at)) return;
    size_t params = size_t{load<Step>(data_ + at).params} + 4 * random_(24);
    if (!has(params, 4)) return;
    auto old = load<uint32_t>(data_ + params);
    switch (random_(6)) {
      case 0: return store(data_ + params, random_(10));
      case 1: return store(data_ + params, 0 - random_(4));
      case 2: return store(data_ + params, old + random_(5) - 2);
      case 3: return store(data_ + params, old * (2 + random_(3)));
      case 4: return store(data_ + params + 2 * random_(2), static_cast<uint16_t>(odd_word(random_, old, size_)));
      default: return store(data_ + params, odd_word(random_, old, size_));
    }
  }

  void change_nest() {
    size_t at;
    for (int tries = 0; tries < 8; ++tries) {
      if (!find_step(at)) return;
      auto step = load<Step>(data_ + at);
      if (step.kind != static_cast<uint8_t>(StepKind::nest) || !has(step.params, sizeof(Nest))) continue;
      auto nest = load<Nest>(data_ + step.params);
      size_t tiles = nest.tables + nest.ranges * sizeof(TileRange);
      switch (random_(4)) {
        case 0: return change_word(step.params + 4 * random_(sizeof(Nest) / 4), true);
        case 1: return change_word(nest.tables + 4 * random_(nest.ranges * sizeof(TileRange) / 4 + 1), true);
        default: return change_word(tiles + 4 * random_(nest.tiles * sizeof(TileOperand) / 4 + 1), true);
      }
    }
  }

  // A step twice: what follows in the file moves back, so do the sections behind it.
  void repeat_step() {
    size_t at;
    if (!find_step(at)) return;
    size_t bytes = 8 * (1 + size_t{load<Step>(data_ + at).operands});
    if (!has(at, bytes) || size_ + bytes > max_size_) return;
    std::memmove(data_ + at + bytes, data_ + at, size_ - at);
    size_ += bytes;
    auto h = header();
    auto moved = static_cast<uint32_t>(bytes);
    for (Slice* slice : {&h.inputs, &h.outputs, &h.origins, &h.params, &h.fills})
      if (slice->offset > at) slice->offset += moved;
    h.file_bytes += moved;
    h.code.count += moved / 8;
    store(data_, h);
    move_params(at, h, moved);
  }
  void move_params(size_t at, const Header& h, uint32_t moved) {
    for (size_t next = h.code.offset; (next & 3) == 0 && has(next, sizeof(Step));) {
      auto step = load<Step>(data_ + next);
      auto kind = static_cast<StepKind>(step.kind);
      bool placed = kind == StepKind::run || kind == StepKind::run_tile || kind == StepKind::nest;
      bool aimed = (kind == StepKind::branch || kind == StepKind::jump) && step.params > at - h.code.offset;
      if ((placed && step.params > at) || aimed) step.params += moved;
      store(data_ + next, step);
      if (kind == StepKind::end) return;
      for (size_t o = 1; o <= step.operands && has(next + 8 * o, 8); ++o) {
        auto operand = load<Operand>(data_ + next + 8 * o);
        if (operand.region == region_program && operand.offset > at) operand.offset += moved;
        store(data_ + next + 8 * o, operand);
      }
      next += 8 * (1 + size_t{step.operands});
    }
  }

  uint8_t* data_;
  size_t size_, max_size_;
  Random random_;
  const std::vector<uint16_t>& kernels_;
};

}  // namespace linnet::fuzz
