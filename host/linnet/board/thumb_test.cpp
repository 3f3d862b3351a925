#include "linnet/board/thumb.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "linnet/board/test_firmware.h"

namespace linnet::board {
namespace {

struct Sample {
  const char* text;
  InstructionClass is;
};

using enum InstructionClass;

// Assembled by the GNU assembler, so that the encodings are not this project's own reading of the manual.
const Sample common[] = {{"movs r0, #1", alu},
                         {"adds r0, r1, r2", alu},
                         {"lsls r0, r1, #3", alu},
                         {"cmp r0, #4", alu},
                         {"ands r0, r1", alu},
                         {"muls r0, r1, r0", multiply},
                         {"mov r8, r1", alu},
                         {"add r8, r1", alu},
                         {"mov pc, r1", branch},
                         {"bx lr", branch},
                         {"blx r3", branch},
                         {"ldr r0, [pc, #4]", load},
                         {"ldr r0, [r1, r2]", load},
                         {"ldrsb r0, [r1, r2]", load},
                         {"ldrsh r0, [r1, r2]", load},
                         {"ldrb r0, [r1, r2]", load},
                         {"ldrh r0, [r1, r2]", load},
                         {"str r0, [r1, r2]", store},
                         {"strb r0, [r1, r2]", store},
                         {"strh r0, [r1, r2]", store},
                         {"ldr r0, [r1, #4]", load},
                         {"str r0, [r1, #4]", store},
                         {"ldrb r0, [r1, #1]", load},
                         {"strb r0, [r1, #1]", store},
                         {"ldrh r0, [r1, #2]", load},
                         {"strh r0, [r1, #2]", store},
                         {"ldr r0, [sp, #4]", load},
                         {"str r0, [sp, #4]", store},
                         {"add r0, sp, #4", alu},
                         {"add sp, #8", alu},
                         {"sub sp, #8", alu},
                         {"sxth r0, r1", alu},
                         {"uxtb r0, r1", alu},
                         {"push {r4, lr}", store},
                         {"pop {r4, pc}", load},
                         {"rev r0, r1", alu},
                         {"bkpt 0xab", other},
                         {"wfi", other},
                         {"stmia r0!, {r1, r2}", store},
                         {"ldmia r0!, {r1, r2}", load},
                         {"svc 1", other},
                         {"udf #0", other},
                         {"beq .", branch},
                         {"b .", branch},
                         {"bl .", branch},
                         {"dsb", other},
                         {"mrs r0, msp", other},
                         {"cpsid i", other}};

const Sample main_profile[] = {{"cbz r0, .+8", branch},
                               {"cbnz r0, .+8", branch},
                               {"nop", other},
                               {"it eq\n moveq r0, r1", other},
                               {"ldr.w r0, [r1, #400]", load},
                               {"str.w r0, [r1, #400]", store},
                               {"ldrb.w r0, [r1, #400]", load},
                               {"ldrsb.w r0, [r1, #400]", load},
                               {"ldrsh.w r0, [r1], #2", load},
                               {"strb.w r0, [r1], #1", store},
                               {"strh.w r0, [r1, r2, lsl #1]", store},
                               {"ldr.w r0, [r1, r2, lsl #2]", load},
                               {"ldr.w pc, [r1, r2, lsl #2]", load},
                               {"pld [r0]", other},
                               {"ldrd r0, r1, [r2]", load},
                               {"strd r0, r1, [r2, #8]!", store},
                               {"ldmia.w r0!, {r1-r8}", load},
                               {"stmdb sp!, {r4-r9, lr}", store},
                               {"pop.w {r4-r9, pc}", load},
                               {"ldrex r0, [r1]", load},
                               {"strex r0, r1, [r2]", store},
                               {"ldrexb r0, [r1]", load},
                               {"tbb [pc, r0]", branch},
                               {"tbh [pc, r0, lsl #1]", branch},
                               {"add.w r0, r1, r2, lsl #3", alu},
                               {"mvn.w r0, r1", alu},
                               {"addw r0, r1, #4000", alu},
                               {"movw r0, #4000", alu},
                               {"movt r0, #4000", alu},
                               {"ssat r0, #8, r1", alu},
                               {"usat r0, #8, r1", alu},
                               {"ubfx r0, r1, #3, #4", alu},
                               {"bfi r0, r1, #3, #4", alu},
                               {"clz r0, r1", alu},
                               {"rbit r0, r1", alu},
                               {"lsl.w r0, r1, r2", alu},
                               {"sxtb.w r8, r1", alu},
                               {"mul r8, r1, r2", multiply},
                               {"mla r0, r1, r2, r3", multiply},
                               {"mls r0, r1, r2, r3", multiply},
                               {"smull r0, r1, r2, r3", multiply},
                               {"umlal r0, r1, r2, r3", multiply},
                               {"sdiv r0, r1, r2", divide},
                               {"udiv r0, r1, r2", divide},
                               {"beq.w .+1000", branch},
                               {"b.w .+100000", branch},
                               {"bl .+100000", branch},
                               {"dmb", other},
                               {"isb", other},
                               {"msr basepri, r0", other}};

const Sample dsp[] = {{"smlad r0, r1, r2, r3", multiply},
                      {"smlald r0, r1, r2, r3", multiply},
                      {"smlabb r0, r1, r2, r3", multiply},
                      {"smmul r0, r1, r2", multiply},
                      {"smuad r0, r1, r2", multiply},
                      {"usad8 r0, r1, r2", multiply},
                      {"umaal r0, r1, r2, r3", multiply},
                      {"sxtb16 r0, r1, ror #8", alu},
                      {"sadd8 r0, r1, r2", alu},
                      {"qadd r0, r1, r2", alu},
                      {"sel r0, r1, r2", alu},
                      {"pkhbt r0, r1, r2, lsl #16", alu},
                      {"ssat16 r0, #8, r1", alu},
                      {"uadd16 r0, r1, r2", alu}};

const Sample fpu[] = {{"vldr s0, [r0]", load},
                      {"vstr s0, [r0, #4]", store},
                      {"vldmia r0!, {s0-s3}", load},
                      {"vstmia r0!, {s0-s3}", store},
                      {"vpush {d8}", store},
                      {"vpop {d8}", load},
                      {"vadd.f32 s0, s1, s2", floating},
                      {"vmla.f32 s0, s1, s2", floating},
                      {"vfma.f32 s0, s1, s2", floating},
                      {"vmul.f32 s0, s1, s2", floating},
                      {"vnmul.f32 s0, s1, s2", floating},
                      {"vdiv.f32 s0, s1, s2", divide},
                      {"vsqrt.f32 s0, s1", divide},
                      {"vcmp.f32 s0, #0.0", floating},
                      {"vcvt.s32.f32 s0, s1", floating},
                      {"vcvt.f32.s32 s0, s1", floating},
                      {"vneg.f32 s0, s1", floating},
                      {"vabs.f32 s0, s1", floating},
                      {"vmov s0, r0", floating},
                      {"vmov r0, r1, s0, s1", floating},
                      {"vmov r0, r1, d0", floating},
                      {"vmov.f32 s0, #1.0", floating},
                      {"vmov.f32 s0, s1", floating},
                      {"vmrs APSR_nzcv, fpscr", floating}};

const Sample fpu5[] = {{"vmaxnm.f32 s0, s1, s2", floating}, {"vseleq.f32 s0, s1, s2", floating},
                       {"vrintn.f32 s0, s1", floating},     {"vcvta.s32.f32 s0, s1", floating},
                       {"vdiv.f64 d0, d1, d2", divide},     {"vsqrt.f64 d0, d1", divide},
                       {"vadd.f64 d0, d1, d2", floating},   {"vldr d0, [r0]", load}};

const Sample secure[] = {
    {"sg", other}, {"tt r0, r1", other}, {"lda r0, [r1]", load}, {"stl r0, [r1]", store}, {"msr msplim, r0", other}};

const Sample mve[] = {{"vldrb.8 q0, [r0]", load},
                      {"vldrw.32 q0, [r0], #16", load},
                      {"vldrb.s32 q0, [r0, #4]", load},
                      {"vldrw.u32 q0, [r0, q1]", load},
                      {"vldrw.u32 q0, [q1, #8]", load},
                      {"vld20.8 {q0, q1}, [r0]", load},
                      {"vld43.32 {q0, q1, q2, q3}, [r0]!", load},
                      {"vstrb.8 q0, [r0]", store},
                      {"vstrw.32 q0, [r0], #16", store},
                      {"vstrb.16 q0, [r0, q1]", store},
                      {"vst20.8 {q0, q1}, [r0]", store},
                      {"vadd.i32 q0, q1, q2", vector},
                      {"vadd.i32 q0, q1, r0", vector},
                      {"vmul.i8 q0, q1, q2", vector},
                      {"vmladava.s8 r0, q1, q2", vector},
                      {"vmlaldav.s16 r0, r1, q1, q2", vector},
                      {"vaddva.s32 r0, q1", vector},
                      {"vqdmulh.s32 q0, q1, r0", vector},
                      {"vqrdmulh.s32 q0, q1, q2", vector},
                      {"vrshl.s32 q0, q1, q2", vector},
                      {"vshr.s32 q0, q1, #3", vector},
                      {"vdup.8 q0, r0", floating},
                      {"vmov.i32 q0, #0", vector},
                      {"vmax.s8 q0, q1, q2", vector},
                      {"vfma.f32 q0, q1, q2", vector},
                      {"vadd.f32 q0, q1, q2", vector},
                      {"vcmp.i32 eq, q0, q1", vector},
                      {"vpst\n vaddt.i32 q0, q0, q1", vector},
                      {"vctp.8 r0", vector},
                      {"vmovnb.i32 q0, q1", vector},
                      {"vmullb.s8 q0, q1, q2", vector},
                      {"vmov q0[2], q0[0], r0, r1", vector},
                      {"dls lr, r0", branch},
                      {"wls lr, r0, .+8", branch},
                      {"le lr, .-8", branch},
                      {"dlstp.8 lr, r0", branch},
                      {"letp lr, .-8", branch},
                      {"csel r0, r1, r2, eq", alu},
                      {"asrl r0, r1, #3", alu}};

// The first two halfwords of each sample, by one run of the assembler.
std::vector<std::pair<uint16_t, uint16_t>> assemble(const std::string& prefix, std::vector<std::string> flags,
                                                    const std::string& head, std::span<const Sample> samples) {
  const TemporaryDirectory directory;
  const auto source = directory.path() / "a.s", object = directory.path() / "a.o", binary = directory.path() / "a.bin";
  {
    std::ofstream text(source);
    text << head;
    for (size_t i = 0; i < samples.size(); ++i) text << ".org " << 16 * i << "\n" << samples[i].text << "\n";
    text << ".org " << 16 * samples.size() << "\n";
  }
  flags.insert(flags.begin(), find_program(prefix + "as")->string());
  flags.insert(flags.end(), {source.string(), "-o", object.string()});
  const ProcessResult assembled = run_process({.words = flags});
  EXPECT_EQ(assembled.status, 0) << assembled.standard_error;
  run_process({.words = {find_program(prefix + "objcopy")->string(), "-O", "binary", "-j", ".text", object.string(),
                         binary.string()}});
  std::ifstream stream(binary, std::ios::binary);
  std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(stream), {});
  EXPECT_GE(bytes.size(), 16 * samples.size());
  bytes.resize(16 * samples.size());
  std::vector<std::pair<uint16_t, uint16_t>> result;
  for (size_t at = 0; at < bytes.size(); at += 16) {
    result.emplace_back(bytes[at] | bytes[at + 1] << 8, bytes[at + 2] | bytes[at + 3] << 8);
  }
  return result;
}

void check(const std::vector<std::string>& flags, std::span<const Sample> samples) {
  if (!find_program("arm-none-eabi-as")) GTEST_SKIP() << "arm-none-eabi-as is not installed";
  const auto encoded = assemble("arm-none-eabi-", flags, ".syntax unified\n.thumb\n", samples);
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto [first, second] = encoded[i];
    EXPECT_EQ(name_of(classify_thumb(first, second)), name_of(samples[i].is))
        << samples[i].text << std::hex << " " << first << " " << second;
  }
}

TEST(Thumb, Common) { check({"-mcpu=cortex-m0"}, common); }
TEST(Thumb, MainProfile) { check({"-mcpu=cortex-m3"}, main_profile); }
TEST(Thumb, Dsp) { check({"-mcpu=cortex-m4"}, dsp); }
TEST(Thumb, FloatingPoint) { check({"-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16"}, fpu); }
TEST(Thumb, FloatingPoint5) { check({"-mcpu=cortex-m7", "-mfpu=fpv5-d16"}, fpu5); }
TEST(Thumb, Secure) { check({"-mcpu=cortex-m33"}, secure); }
TEST(Thumb, VectorAndLoops) { check({"-march=armv8.1-m.main+mve.fp+fp.dp"}, mve); }

TEST(Thumb, LengthIsThatOfTheArchitecture) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint32_t top = bits >> 11;
    EXPECT_EQ(thumb_bytes(static_cast<uint16_t>(bits)), top == 0x1D || top == 0x1E || top == 0x1F ? 4u : 2u);
  }
}

const Sample riscv[] = {{"add a0, a1, a2", alu},
                        {"addi a0, a1, 100", alu},
                        {"lui a0, 5", alu},
                        {"auipc a0, 5", alu},
                        {"lw a0, 4(a1)", load},
                        {"lbu a0, 4(a1)", load},
                        {"sw a0, 4(a1)", store},
                        {"sb a0, 4(a1)", store},
                        {"lw a0, 4(sp)", load},
                        {"sw a0, 4(sp)", store},
                        {"mul a0, a1, a2", multiply},
                        {"mulh a0, a1, a2", multiply},
                        {"divu a0, a1, a2", divide},
                        {"rem a0, a1, a2", divide},
                        {"beq a0, a1, .", branch},
                        {"beqz a0, .", branch},
                        {"j .", branch},
                        {"jal ra, .", branch},
                        {"ret", branch},
                        {"jalr a0", branch},
                        {"mv a0, a1", alu},
                        {"li a0, 3", alu},
                        {"slli a0, a0, 3", alu},
                        {"add a0, a0, a1", alu},
                        {"ebreak", other},
                        {"csrr a0, mcycle", other},
                        {"lr.w a0, (a1)", load},
                        {"amoadd.w a0, a1, (a2)", store},
                        {"addi a0, sp, 16", alu}};

TEST(RiscV, Samples) {
  if (!find_program("riscv64-unknown-elf-as")) GTEST_SKIP() << "riscv64-unknown-elf-as is not installed";
  const auto encoded = assemble("riscv64-unknown-elf-", {"-march=rv32imac_zicsr", "-mabi=ilp32"}, "", riscv);
  for (size_t i = 0; i < std::size(riscv); ++i) {
    const auto [first, second] = encoded[i];
    EXPECT_EQ(name_of(classify_riscv(first, second)), name_of(riscv[i].is))
        << riscv[i].text << std::hex << " " << first << " " << second;
  }
}

}  // namespace
}  // namespace linnet::board
