// Every fault ends here (called by linnet_fault, which has started a new stack): one line on standard error, then
// exit status fault_exit_status.
#include "common/board.h"
#include "common/semihosting.h"
#include "port.h"

namespace {

using namespace linnet::port;

// Registers pushed at exception entry.
struct Frame {
  uint32_t r0, r1, r2, r3, r12, lr, pc, psr;
};

// Name and value at once: a line assembled in an array would drag memcpy into every firmware.
void put_error(const char* name, uint32_t value) {
  semihost(Request::write_text, name);
  char digits[9];
  for (int i = 7; i >= 0; --i, value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
  digits[8] = 0;
  semihost(Request::write_text, digits);
}

}  // namespace

extern "C" {

[[noreturn, gnu::used]] void linnet_report_fault(const Frame* frame, uint32_t exception) {
  put_error("fault: exception ", exception);
  // After a stack overflow nothing was pushed, and reading a frame there would fault again.
  const uint32_t at = reinterpret_cast<uint32_t>(frame);
  if (at >= reinterpret_cast<uint32_t>(linnet_stack_begin) + LINNET_BOARD_GUARD_BYTES &&
      at <= reinterpret_cast<uint32_t>(linnet_stack_end) - sizeof(Frame)) {
    put_error(" pc ", frame->pc);
    put_error(" lr ", frame->lr);
  }
#if __ARM_ARCH_ISA_THUMB >= 2  // ARMv6-M has no fault registers
  put_error(" cfsr ", reg(0xE000ED28));
  put_error(" hfsr ", reg(0xE000ED2C));
  put_error(" mmfar ", reg(0xE000ED34));
  put_error(" bfar ", reg(0xE000ED38));
#endif
  semihost(Request::write_text, "\n");
  exit(fault_exit_status);
}

}  // extern "C"
