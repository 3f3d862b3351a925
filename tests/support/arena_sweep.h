// From nothing to a little more than enough, byte by byte: an error with a sensible number, then success for ever, the
// smallest size that succeeds is the one reported, and nothing outside of the arena is ever written.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>

#include "linnet/run/catalogue.h"
#include "linnet/run/session.h"

namespace linnet::test {

// An arena that grows inside a larger memory, whose bytes beyond it must keep their value.
class GrowingArena {
 public:
  GrowingArena(uint32_t most, size_t misalignment) : memory_(most + beyond, misalignment, fill) {}

  Span<uint8_t> of(uint32_t bytes) const { return memory_.span().subspan(0, bytes); }
  bool intact_beyond(uint32_t bytes) const {
    const uint8_t* at = memory_.span().data() + bytes;
    return std::all_of(at, at + beyond, [](uint8_t b) { return b == fill; });
  }
  bool intact() const { return memory_.intact(); }

 private:
  static constexpr uint32_t beyond = 128;
  static constexpr uint8_t fill = 0xA5;
  GuardedMemory memory_;
};

// `init(net, memory)`; `need` is what it takes, reported beforehand. `inputs` for inferences in the first arenas that do.
template <class Init>
void sweep_arena(uint32_t need, size_t misalignment, const std::vector<TensorBytes>& inputs, Init init) {
  GrowingArena arena(need + 64, misalignment);
  Interpreter net;
  std::vector<TensorBytes> outputs;
  for (uint32_t size = 0; size <= need + 64; ++size) {
    Status status = init(net, arena.of(size));
    ASSERT_EQ(status.ok(), size >= need) << size << " of " << need << " bytes: " << status.text();
    ASSERT_TRUE(arena.intact_beyond(size)) << size;
    if (!status.ok()) {
      ASSERT_EQ(status.code(), Code::out_of_memory) << size << " bytes: " << status.text();
      ASSERT_GT(net.where().bytes, size);
      ASSERT_LE(net.where().bytes, need);
    } else if (size == need || size == need + 1 || size == need + 64) {
      std::vector<TensorBytes> got = infer(net, inputs);
      if (outputs.empty()) outputs = got;
      ASSERT_EQ(got, outputs) << size;
      ASSERT_TRUE(arena.intact_beyond(size)) << size;
    }
  }
  EXPECT_TRUE(arena.intact());
}

// Both ways to start: built on the device from the model, and made ahead of time.
inline void check_arena_sizes(const Model& model, const std::vector<TensorBytes>& inputs, size_t misalignment = 0) {
  const BuildTable& table = catalogue().table;
  BuiltProgram program = build_program(model, table);
  // Lost at the beginning, where activations start at a multiple of 16, and at the end, where state does at one of 8.
  auto padded = [&](uint32_t need) {
    uint32_t before = (arena_alignment - misalignment % arena_alignment) % arena_alignment;
    return need + before;
  };
  sweep_arena(padded(program.arena_bytes_built()), misalignment, inputs,
              [&](Interpreter& net, Span<uint8_t> memory) { return net.init(model, table, memory); });
  sweep_arena(padded(program.arena_bytes_ready()), misalignment, inputs, [&](Interpreter& net, Span<uint8_t> memory) {
    return net.init({program.bytes.data(), program.bytes.size()}, *table.kernels, memory);
  });
}

}  // namespace linnet::test
