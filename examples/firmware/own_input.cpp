// An input in the firmware's own buffer, and inferences that are dropped at every possible step: what a firmware does
// that must answer something more urgent. Says on the way whether each answer is that of an undisturbed inference.
// Blobs 0 and 1: two inputs of the network, as it takes them.
#include <linnet/linnet.h>

#include "digits_own_input.h"  // made by `linnet export --caller-inputs`
#include "port.h"

using namespace linnet;

namespace {

constexpr uint32_t pixels = 64, digits = 10;
alignas(16) uint8_t arena[digits_own_input::ARENA_BYTES];
int8_t picture[pixels];
Interpreter net;

int fail(const char* what) {
  port::put_string(what);
  port::put_string("\n");
  return 1;
}

bool same(const int8_t* a, const uint8_t* b, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i)
    if (static_cast<uint8_t>(a[i]) != b[i]) return false;
  return true;
}

bool show(uint32_t slot) {
  const port::Bytes blob = port::blob(slot);
  if (blob.bytes == pixels) __builtin_memcpy(picture, blob.data, pixels);
  return blob.bytes == pixels;
}

// The scores of an undisturbed inference, also as a line of text.
bool answer(uint32_t slot, int8_t (&scores)[digits]) {
  if (!show(slot) || !net.run().ok() || net.output(0).bytes() != digits) return false;
  __builtin_memcpy(scores, net.output(0).data<int8_t>(), digits);
  port::put_string("scores");
  for (int8_t score : scores) {
    port::put_string(" ");
    port::put_signed(score);
  }
  port::put_string("\n");
  return same(picture, port::blob(slot).data, pixels);  // the network leaves the buffer as it was
}

}  // namespace

int main() {
  if (!net.init(digits_own_input::program, digits_own_input::kernels, arena).ok()) return fail("init failed");
  if (net.run().code() != Code::invalid_call) return fail("ran without a buffer");
  if (net.bind_input(0, picture, pixels - 1).code() != Code::invalid_call)
    return fail("took a buffer that is too small");
  if (!net.bind_input(0, picture, pixels).ok()) return fail("refused the buffer");
  if (net.input(0).data<int8_t>() != picture) return fail("the input lies elsewhere");

  int8_t first[digits], second[digits];
  if (!answer(0, first) || !answer(1, second)) return fail("an inference failed");

  uint32_t steps = 1;
  show(0);
  while (net.step() == Progress::more) ++steps;
  if (!net.status().ok()) return fail("an inference in steps failed");
  if (__builtin_memcmp(net.output(0).data<int8_t>(), first, digits) != 0) return fail("steps give another answer");

  for (uint32_t cancelled = 1; cancelled < steps; ++cancelled) {
    show(1);
    for (uint32_t i = 0; i < cancelled; ++i)
      if (net.step() != Progress::more) return fail("an inference ended early");
    net.cancel();
    show(0);
    if (!net.run().ok()) return fail("no inference after a cancelled one");
    if (__builtin_memcmp(net.output(0).data<int8_t>(), first, digits) != 0) return fail("cancelling left a trace");
  }
  port::put_string("cancelled at each of the steps before ");
  port::put_decimal(steps);
  port::put_string("\n");
  return 0;
}
