// Vector table and reset of the Cortex-M boards.
#include "common/start_memory.h"
#include "port.h"

extern "C" {
int main();
[[noreturn]] void linnet_reset();

// The stack may be what is broken: start a new one before doing anything else.
[[gnu::naked]] void linnet_fault() {
  asm volatile(
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
      "movs r0, #0\n"
      "msr msplim, r0\n"
#endif
      "mrs r0, msp\n"
      "mrs r1, ipsr\n"
      "ldr r2, =linnet_stack_end\n"
      "mov sp, r2\n"
      "ldr r2, =linnet_report_fault\n"
      "bx r2\n");
}

// A handler of this name in the firmware, or in another file here, replaces each.
[[gnu::weak, gnu::nothrow, gnu::alias("linnet_fault")]] void linnet_svcall();
[[gnu::weak, gnu::nothrow, gnu::alias("linnet_fault")]] void linnet_pendsv();
[[gnu::weak, gnu::nothrow, gnu::alias("linnet_fault")]] void linnet_systick();
}

namespace {

using namespace linnet::port;

using Handler = void (*)();

struct Vectors {
  uint32_t* stack;
  Handler handlers[15];
};

// Only the system exceptions: the port enables no interrupt of a peripheral.
extern "C" [[gnu::used, gnu::section(".vectors")]] const Vectors linnet_vectors = {
    linnet_stack_end,
    {linnet_reset, linnet_fault, linnet_fault, linnet_fault, linnet_fault, linnet_fault, nullptr, nullptr, nullptr,
     nullptr, linnet_svcall, linnet_fault, nullptr, linnet_pendsv, linnet_systick}};

#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
void enable_fpu() {
  reg(0xE000ED88) |= 0x00F00000;  // CPACR: full access to coprocessors 10 and 11
  asm volatile("dsb\n isb" ::: "memory");
}
#else
void enable_fpu() {}
#endif

// An overflowing stack must fault, not eat the arena below it.
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
void guard_stack() { asm volatile("msr msplim, %0" ::"r"(linnet_stack_begin)); }
#elif LINNET_BOARD_GUARD_BYTES
void guard_stack() {
  constexpr uint32_t size = static_cast<uint32_t>(30 - __builtin_clz(LINNET_BOARD_GUARD_BYTES));  // 2^(size+1) bytes
  reg(0xE000ED9C) = reinterpret_cast<uint32_t>(linnet_stack_begin) | 0x10;                        // MPU_RBAR: region 0
  reg(0xE000EDA0) = 0x10000000 | size << 1 | 1;  // MPU_RASR: never execute, no access
  reg(0xE000ED94) = 5;                           // MPU_CTRL: on, default map elsewhere
  asm volatile("dsb\n isb" ::: "memory");
}
#else
void guard_stack() {}
#endif

}  // namespace

void linnet_reset() {
  enable_fpu();
  prepare_memory();
  guard_stack();
  exit(main());
}
