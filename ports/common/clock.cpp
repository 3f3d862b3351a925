#include "common/board.h"
#include "port.h"

namespace linnet::port {

extern const uint32_t clock_hz = LINNET_BOARD_CLOCK_HZ;

#if defined(__riscv)

void start_ticks() {}

uint64_t ticks() {
  uint32_t high, low, again;
  do {
    asm volatile("csrr %0, mcycleh\n csrr %1, mcycle\n csrr %2, mcycleh" : "=r"(high), "=r"(low), "=r"(again));
  } while (high != again);
  return static_cast<uint64_t>(high) << 32 | low;
}

#else

namespace {
constexpr uint32_t systick_control = 0xE000E010, systick_reload = 0xE000E014, systick_value = 0xE000E018;
constexpr uint32_t systick_period = 1u << 24;
volatile uint32_t overflows = 0;
}  // namespace

extern "C" void linnet_systick() { overflows = overflows + 1; }

void start_ticks() {
  overflows = 0;
  reg(systick_reload) = systick_period - 1;
  reg(systick_value) = 0;
  reg(systick_control) = 7;  // CPU clock, interrupt, on
}

uint64_t ticks() {
  uint32_t high, value;
  do {
    high = overflows;
    value = reg(systick_value);
  } while (high != overflows);
  return static_cast<uint64_t>(high) * systick_period + (systick_period - 1 - value);
}

#endif

}  // namespace linnet::port
