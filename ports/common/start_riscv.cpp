// Reset and traps of the RISC-V boards (machine mode, one hart).
#include "common/semihosting.h"
#include "common/start_memory.h"
#include "port.h"

namespace {

using namespace linnet::port;

// An overflowing stack must fault, not eat the arena below it: a locked entry without permissions binds machine mode
// too.
void guard_stack() {
  constexpr uint32_t bytes = LINNET_BOARD_GUARD_BYTES;
  const uint32_t address = reinterpret_cast<uint32_t>(linnet_stack_begin) >> 2 | (bytes / 8 - 1);  // NAPOT
  asm volatile("csrw pmpaddr0, %0\n csrw pmpcfg0, %1" ::"r"(address), "r"(0x98));
}

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

int main();

[[noreturn, gnu::used]] void linnet_prepare() {
  prepare_memory();
  guard_stack();
  exit(main());
}

[[gnu::naked, gnu::section(".vectors")]] void linnet_reset() {
  asm volatile(
      "la sp, linnet_stack_end\n"
      "la t0, linnet_trap\n"
      "csrw mtvec, t0\n"
      "j linnet_prepare\n");
}

[[noreturn, gnu::used]] void linnet_report_trap(uint32_t pc, uint32_t cause, uint32_t value) {
  put_error("fault: pc ", pc);
  put_error(" mcause ", cause);
  put_error(" mtval ", value);
  semihost(Request::write_text, "\n");
  exit(fault_exit_status);
}

// The stack may be what is broken: start a new one before doing anything else.
[[gnu::naked, gnu::aligned(4)]] void linnet_trap() {
  asm volatile(
      "la sp, linnet_stack_end\n"
      "csrr a0, mepc\n"
      "csrr a1, mcause\n"
      "csrr a2, mtval\n"
      "j linnet_report_trap\n");
}

}  // extern "C"
