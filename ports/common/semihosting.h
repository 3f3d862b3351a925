// One semihosting request: operation number and argument block as in Arm's "Semihosting for AArch32 and AArch64"
// (RISC-V took over the numbers).
#pragma once

#include <stdint.h>

namespace linnet::port {

enum class Request : uint32_t {
  open = 0x01,
  close = 0x02,
  write_text = 0x04,
  write = 0x05,
  read = 0x06,
  seek = 0x0A,
  file_length = 0x0C,
  command_line = 0x15,
  exit_extended = 0x20,
};

// Never inlined: a request is rare, its bytes are not.
[[gnu::noinline]] inline int32_t semihost(Request request, const void* block) {
#if defined(__riscv)
  register uint32_t a0 asm("a0") = static_cast<uint32_t>(request);
  register const void* a1 asm("a1") = block;
  // The three instructions mark the ebreak as a request; they must be uncompressed and on one page.
  asm volatile(
      ".option push\n .option norvc\n .balign 16\n"
      "slli x0, x0, 0x1f\n ebreak\n srai x0, x0, 7\n"
      ".option pop"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return static_cast<int32_t>(a0);
#else
  register uint32_t r0 asm("r0") = static_cast<uint32_t>(request);
  register const void* r1 asm("r1") = block;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return static_cast<int32_t>(r0);
#endif
}

}  // namespace linnet::port
