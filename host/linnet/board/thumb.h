// Classes of Thumb-2 instructions (ARMv6-M to ARMv8.1-M with MVE), from their encoding.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace linnet::board {

enum class InstructionClass : uint8_t {
  alu,       // moves, logic, shifts, addition, bit fields, saturation, packing
  multiply,  // integer multiply and multiply-accumulate, 16 and 32 bit, long
  load,      // every width, multiple and vector too; POP and LDM that return belong here
  store,
  branch,    // direct, indirect, calls, compare-and-branch, hardware loops, table branches
  divide,    // SDIV, UDIV, VDIV, VSQRT
  floating,  // scalar floating-point arithmetic, conversions, moves to and from the FPU
  vector,    // MVE arithmetic and predication
  other,     // IT, hints, barriers, system registers, exceptions, undefined
};

constexpr size_t instruction_classes = 9;
std::string_view name_of(InstructionClass c);

// 4 when the first halfword begins a 32-bit instruction, else 2.
constexpr uint32_t thumb_bytes(uint16_t first) { return first >> 11 >= 0x1D ? 4 : 2; }

// `second` is ignored for a 16-bit instruction.
InstructionClass classify_thumb(uint16_t first, uint16_t second);

// The same for RISC-V rv32imac.
constexpr uint32_t riscv_bytes(uint16_t first) { return (first & 3) == 3 ? 4 : 2; }
InstructionClass classify_riscv(uint16_t first, uint16_t second);

using ClassCounts = std::array<uint64_t, instruction_classes>;

}  // namespace linnet::board
