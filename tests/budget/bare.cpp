// The smallest firmware that runs a bare .tflite of the kernels in tables.h: what person_detect needs, no texts.
#include "linnet/model.h"
#include "port.h"
#include "tests/budget/tables.h"

using namespace linnet;

namespace {
Interpreter net;
Model model;
}  // namespace

int main() {
  port::Bytes file = port::blob(0), free = port::free_memory();
  Where where;
  if (!Model::open({file.data, file.bytes}, model, where).ok()) return 1;
  if (!net.init(model, Build<budget::Kernels, budget::Operators>::table, Span<uint8_t>(free.data, free.bytes)).ok()) return 1;
  port::Bytes input = port::blob(1);
  __builtin_memcpy(net.input(0).data<uint8_t>(), input.data, input.bytes);
  if (!net.run().ok()) return 1;
  port::put_bytes(net.output(0).data<char>(), net.output(0).bytes());
  return 0;
}
