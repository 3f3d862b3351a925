// Reads the handwritten digit on a picture of 8x8 grey pixels, and tells which one it is.
#include <linnet/linnet.h>

#include "digits.h"  // made by `linnet export`: program, kernels, ARENA_BYTES
#include "port.h"    // the board: here an emulated one, whose "camera" is memory that the emulator fills

using namespace linnet;

alignas(16) static uint8_t arena[digits::ARENA_BYTES];

static int report(Status s) {
  port::put_string(s.text());
  return 1;
}

static bool camera_read(int8_t* to, uint32_t pixels) {
  const port::Bytes camera = port::blob(0);
  for (uint32_t i = 0; i < pixels && i < camera.bytes; ++i) to[i] = static_cast<int8_t>(camera.data[i] - 128);
  return camera.bytes == pixels;
}

int main() {
  Interpreter net;
  if (auto s = net.init(digits::program, digits::kernels, arena); !s.ok()) return report(s);
  if (!camera_read(net.input(0).data<int8_t>(), net.input(0).bytes())) return 2;

  while (net.step() == Progress::more) {  // or net.run(), which does all steps
    // feed the watchdog, let another task run, or net.cancel()
  }
  if (!net.status().ok()) return report(net.status());

  const int8_t* scores = net.output(0).data<int8_t>();
  uint32_t best = 0;
  for (uint32_t digit = 1; digit < net.output(0).bytes(); ++digit)
    if (scores[digit] > scores[best]) best = digit;
  port::put_string("digit ");
  port::put_decimal(best);
  port::put_string("\n");
  return 0;
}
