#include "linnet/board/thumb.h"

#include <span>

namespace linnet::board {
namespace {

using enum InstructionClass;

// An encoding belongs to the first row with (bits & mask) == value.
struct Row {
  uint32_t mask;
  uint32_t value;
  InstructionClass is;
};

constexpr Row narrow[] = {
    {0xC000, 0x0000, alu},       // shifts, add, subtract, move, compare with immediate
    {0xFFC0, 0x4340, multiply},  // MULS
    {0xFC00, 0x4000, alu},       // data processing, register
    {0xFF00, 0x4700, branch},    // BX, BLX
    {0xFF87, 0x4487, branch},    // ADD pc
    {0xFF87, 0x4687, branch},    // MOV pc
    {0xFC00, 0x4400, alu},       // ADD, CMP, MOV of high registers
    {0xF800, 0x4800, load},      // LDR literal
    {0xFE00, 0x5600, load},      // LDRSB register
    {0xF800, 0x5800, load},      // LDR, LDRH, LDRB, LDRSH register
    {0xF000, 0x5000, store},     // STR, STRH, STRB register
    {0xE800, 0x6000, store},     // STR, STRB immediate
    {0xE800, 0x6800, load},      // LDR, LDRB immediate
    {0xE800, 0x8000, store},     // STRH immediate, STR sp
    {0xE800, 0x8800, load},      // LDRH immediate, LDR sp
    {0xF000, 0xA000, alu},       // ADR, ADD sp
    {0xFF00, 0xB000, alu},       // ADD, SUB sp
    {0xF500, 0xB100, branch},    // CBZ, CBNZ
    {0xFF00, 0xB200, alu},       // extends
    {0xFE00, 0xB400, store},     // PUSH
    {0xFE00, 0xBC00, load},      // POP
    {0xFFC0, 0xBA80, other},     // HLT
    {0xFF00, 0xBA00, alu},       // REV
    {0xF000, 0xB000, other},     // CPS, BKPT, IT, hints
    {0xF800, 0xC000, store},     // STM
    {0xF800, 0xC800, load},      // LDM
    {0xFE00, 0xDE00, other},     // UDF, SVC
    {0xF000, 0xD000, branch},    // conditional
    {0xF800, 0xE000, branch},    // B
};

constexpr Row wide[] = {
    // Load and store multiple, double, exclusive; table branch.
    {0xFFFFFFFF, 0xE97FE97F, other},   // SG
    {0xFFF0FFE0, 0xE8D0F000, branch},  // TBB, TBH
    {0xFFF0F03F, 0xE840F000, other},   // TT
    {0xFE100000, 0xE8000000, store},
    {0xFE100000, 0xE8100000, load},
    // Data processing, shifted register (MVE's long shifts too).
    {0xFE000000, 0xEA000000, alu},
    // Floating point and MVE: the coprocessor number, bits 11 to 8, is 10 or 11, or 14 or 15.
    {0xFFA00E00, 0xEC000E00, vector},    // VMOV of two lanes and two registers
    {0xFFE00E00, 0xEC400A00, floating},  // VMOV of two registers
    {0xFE100E00, 0xEC000A00, store},     // VSTR, VSTM, VPUSH
    {0xFE100E00, 0xEC100A00, load},      // VLDR, VLDM, VPOP
    {0xEE100E00, 0xEC000E00, store},     // MVE, FPSCR
    {0xEE100E00, 0xEC100E00, load},
    {0xFFB00E50, 0xEE800A00, divide},    // VDIV
    {0xFFBF0ED0, 0xEEB10AC0, divide},    // VSQRT
    {0xEF000E00, 0xEE000A00, floating},  // VADD, VMLA, VCVT, VMOV, VSEL, ...
    {0xEF000E00, 0xEE000E00, vector},
    {0xEF000000, 0xEF000000, vector},
    {0xEC000000, 0xEC000000, other},  // another coprocessor
    // Branches and control.
    {0xFFC0FFFF, 0xF000E801, vector},  // VCTP
    {0xFFFFFFFF, 0xF00FE001, other},   // LCTP
    {0xF800D001, 0xF000C001, branch},  // DLS, WLS, LE
    {0xF800D000, 0xF000D000, branch},  // BL
    {0xF800D000, 0xF0009000, branch},  // B
    {0xFB80D000, 0xF3808000, other},   // MSR, MRS, hints, barriers
    {0xF800D000, 0xF0008000, branch},  // conditional
    {0xF8008000, 0xF0000000, alu},     // immediates, bit fields, saturation
    // Single loads and stores.
    {0xFE70F000, 0xF810F000, other},  // PLD, PLI
    {0xFF100000, 0xF8000000, store},
    {0xFE100000, 0xF8100000, load},
    // Data processing, register; multiplication; division.
    {0xFF000000, 0xFA000000, alu},
    {0xFFD000F0, 0xFB9000F0, divide},
    {0xFF000000, 0xFB000000, multiply},
};

InstructionClass look_up(std::span<const Row> rows, uint32_t bits) {
  for (const Row& row : rows) {
    if ((bits & row.mask) == row.value) return row.is;
  }
  return other;
}

constexpr Row riscv[] = {
    {0x0000007F, 0x00000003, load},                                                                    // LB .. LHU
    {0x0000007F, 0x00000023, store},                                                                   // SB .. SW
    {0x0000007F, 0x00000063, branch},                                                                  // BEQ ..
    {0x0000007F, 0x00000067, branch},                                                                  // JALR
    {0x0000007F, 0x0000006F, branch},                                                                  // JAL
    {0xFE00407F, 0x02000033, multiply},                                                                // MUL ..
    {0xFE00407F, 0x02004033, divide},                                                                  // DIV, REM
    {0x0000007F, 0x00000033, alu},      {0x0000007F, 0x00000013, alu}, {0x0000007F, 0x00000037, alu},  // LUI
    {0x0000007F, 0x00000017, alu},                                                                     // AUIPC
    {0xF800007F, 0x1000002F, load},                                                                    // LR
    {0x0000007F, 0x0000002F, store},                                                                   // SC, AMO
};

constexpr Row riscv_compressed[] = {
    {0xE003, 0x0000, alu},                            // C.ADDI4SPN
    {0xE003, 0x4000, load},                           // C.LW
    {0xE003, 0xC000, store},                          // C.SW
    {0xE003, 0x2001, branch},                         // C.JAL
    {0xE003, 0xA001, branch},                         // C.J
    {0xC003, 0xC001, branch},                         // C.BEQZ, C.BNEZ
    {0x0003, 0x0001, alu},    {0xE003, 0x0002, alu},  // C.SLLI
    {0xE003, 0x4002, load},                           // C.LWSP
    {0xE003, 0xC002, store},                          // C.SWSP
    {0xFFFF, 0x9002, other},                          // C.EBREAK
    {0xE07F, 0x8002, branch},                         // C.JR, C.JALR
    {0xE003, 0x8002, alu},                            // C.MV, C.ADD
};

}  // namespace

std::string_view name_of(InstructionClass c) {
  constexpr std::string_view names[instruction_classes] = {"alu",    "multiply", "load",   "store", "branch",
                                                           "divide", "floating", "vector", "other"};
  return names[static_cast<size_t>(c)];
}

InstructionClass classify_thumb(uint16_t first, uint16_t second) {
  if (thumb_bytes(first) == 2) return look_up(narrow, first);
  return look_up(wide, static_cast<uint32_t>(first) << 16 | second);
}

InstructionClass classify_riscv(uint16_t first, uint16_t second) {
  if (riscv_bytes(first) == 2) return look_up(riscv_compressed, first);
  return look_up(riscv, static_cast<uint32_t>(second) << 16 | first);
}

}  // namespace linnet::board
