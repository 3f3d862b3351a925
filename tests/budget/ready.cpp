// The smallest firmware that runs a Program made ahead of time, with the same kernels.
#include "linnet/linnet.h"
#include "port.h"
#include "tests/budget/tables.h"

using namespace linnet;

namespace {
Interpreter net;
}

int main() {
  port::Bytes file = port::blob(0), free = port::free_memory();
  if (!net.init({file.data, file.bytes}, budget::KernelsOf<budget::Kernels>::table, Span<uint8_t>(free.data, free.bytes)).ok())
    return 1;
  port::Bytes input = port::blob(1);
  __builtin_memcpy(net.input(0).data<uint8_t>(), input.data, input.bytes);
  if (!net.run().ok()) return 1;
  port::put_bytes(net.output(0).data<char>(), net.output(0).bytes());
  return 0;
}
