// What a compiler may call although nobody wrote the call. Own versions, because the C library's are either byte loops
// (newlib-nano) or several hundred bytes (newlib). Compile with -ffreestanding, or these loops become calls of
// themselves.
#include <stddef.h>
#include <stdint.h>

namespace {

// Cores above ARMv6-M do unaligned single loads and stores; RISC-V boards may trap into a slow handler.
#if defined(__ARM_FEATURE_UNALIGNED)
constexpr uintptr_t alignment_mask = 0;
#else
constexpr uintptr_t alignment_mask = 3;
#endif

struct [[gnu::packed, gnu::may_alias]] Word {
  uint32_t value;
};
struct [[gnu::may_alias]] AlignedWord {
  uint32_t value;
};

#if defined(__ARM_FEATURE_UNALIGNED)
using Unit = Word;
#else
using Unit = AlignedWord;
#endif

bool words_allowed(const void* a, const void* b) {
  return ((reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b)) & alignment_mask) == 0;
}

}  // namespace

extern "C" {

void* memcpy(void* __restrict to, const void* __restrict from, size_t bytes) {
  auto* t = static_cast<uint8_t*>(to);
  auto* f = static_cast<const uint8_t*>(from);
  if (words_allowed(t, f)) {
    for (; bytes >= 16; bytes -= 16, t += 16, f += 16) {
      auto* tw = reinterpret_cast<Unit*>(t);
      auto* fw = reinterpret_cast<const Unit*>(f);
      const Unit a = fw[0], b = fw[1], c = fw[2], d = fw[3];
      tw[0] = a, tw[1] = b, tw[2] = c, tw[3] = d;
    }
    for (; bytes >= 4; bytes -= 4, t += 4, f += 4) *reinterpret_cast<Unit*>(t) = *reinterpret_cast<const Unit*>(f);
  }
  for (; bytes != 0; --bytes) *t++ = *f++;
  return to;
}

void* memmove(void* to, const void* from, size_t bytes) {
  auto* t = static_cast<uint8_t*>(to);
  auto* f = static_cast<const uint8_t*>(from);
  // Upwards memcpy reads up to 16 bytes before it writes them, so an overlap below is safe at any distance.
  if (t <= f || t >= f + bytes) return memcpy(to, from, bytes);
  t += bytes;
  f += bytes;
  if (words_allowed(t, f)) {
    for (; bytes >= 4; bytes -= 4) {
      t -= 4, f -= 4;
      *reinterpret_cast<Unit*>(t) = *reinterpret_cast<const Unit*>(f);
    }
  }
  for (; bytes != 0; --bytes) *--t = *--f;
  return to;
}

void* memset(void* to, int value, size_t bytes) {
  auto* t = static_cast<uint8_t*>(to);
  const uint32_t word = (static_cast<uint32_t>(value) & 0xFF) * 0x01010101u;
  if (words_allowed(t, t)) {
    for (; bytes >= 4; bytes -= 4, t += 4) reinterpret_cast<Unit*>(t)->value = word;
  }
  for (; bytes != 0; --bytes) *t++ = static_cast<uint8_t>(value);
  return to;
}

int memcmp(const void* left, const void* right, size_t bytes) {
  auto* l = static_cast<const uint8_t*>(left);
  auto* r = static_cast<const uint8_t*>(right);
  for (; bytes != 0; --bytes, ++l, ++r) {
    if (*l != *r) return *l - *r;
  }
  return 0;
}

}  // extern "C"
