// A firmware for the tests of ports, emulator and host/linnet/board: does what its command line says.
//   prog exit N | echo ... | copy FROM TO | blobs | memory | fault KIND [ADDRESS] | loop N | phases N | stack N | moves
//   | ticks | spin
#include "port.h"

using namespace linnet::port;

namespace {

bool same(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return *a == *b;
}

uint32_t number(const char* text) {
  uint32_t value = 0;
  for (; text != nullptr && *text >= '0' && *text <= '9'; ++text)
    value = value * 10 + static_cast<uint32_t>(*text - '0');
  return value;
}

void line(const char* name, uint32_t value) {
  put_string(name);
  put_string(" ");
  put_decimal(value);
  put_string("\n");
}

int copy(const char* from, const char* to) {
  const int32_t in = open(from, OpenMode::read);
  if (in < 0) return 3;
  const int32_t out = open(to, OpenMode::write);
  if (out < 0) return 4;
  line("bytes", static_cast<uint32_t>(file_bytes(in)));
  uint8_t buffer[64];
  while (const uint32_t got = read(in, buffer, sizeof(buffer))) {
    if (write(out, buffer, got) != got) return 5;
  }
  return close(in) && close(out) ? 0 : 6;
}

int blobs() {
  for (uint32_t slot = 0; slot < blob_slots; ++slot) {
    const Bytes b = blob(slot);
    if (b.bytes == 0) continue;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < b.bytes; ++i) sum = sum * 31 + b.data[i];
    line("slot", slot);
    line("bytes", b.bytes);
    put_string("sum ");
    put_hex(sum);
    put_string("\n");
  }
  return 0;
}

volatile uint32_t initialised = 0x12345678;
volatile uint32_t cleared;

int memory() {
  const Bytes free = free_memory();
  line("free", free.bytes);
  for (uint32_t i = 0; i < free.bytes; i += 1021) free.data[i] = 1;
  return initialised == 0x12345678 && cleared == 0 ? 0 : 7;
}

// Exactly 3 n + 1 instructions on Thumb (2 n + 1 on RISC-V) from its first to its last.
[[gnu::naked, gnu::noinline]] void loop(uint32_t /*n*/) {
#if defined(__riscv)
  asm volatile("1: addi a0, a0, -1\n bnez a0, 1b\n ret");
#else
  asm volatile("1: nop\n .syntax unified\n subs r0, r0, #1\n bne 1b\n bx lr");
#endif
}

// Every call of phase() is followed by a known number of instructions: those of loop(n) and its call.
int phases(uint32_t n) {
  phase(7);
  loop(n);
  phase(300);
  loop(2 * n);
  phase(7);
  loop(n);
  phase(0);
  return 0;
}

[[gnu::noinline]] uint32_t use_stack(uint32_t bytes) {
  volatile uint8_t* block = static_cast<volatile uint8_t*>(__builtin_alloca(bytes));
  for (uint32_t i = 0; i < bytes; ++i) block[i] = 1;
  return block[bytes / 2];
}

int stack(uint32_t bytes) {
  paint_stack();
  const uint32_t before = stack_bytes();
  use_stack(bytes);
  line("before", before);
  line("stack", stack_bytes());
  return 0;
}

[[gnu::noinline]] uint32_t recurse(uint32_t depth) {
  volatile uint32_t keep[8] = {depth};
  return depth == 0xFFFFFFFF ? 0 : recurse(depth + 1) + keep[depth & 7];
}

int fault(const char* kind, uint32_t address) {
  if (same(kind, "undefined")) {
#if defined(__riscv)
    asm volatile(".word 0");
#else
    asm volatile("udf #0");
#endif
  } else if (same(kind, "bus")) {
    return static_cast<int>(*reinterpret_cast<volatile uint32_t*>(address));
  } else if (same(kind, "stack")) {
    return static_cast<int>(recurse(0));
  }
  return 9;
}

// memcpy, memmove, memset and memcmp against byte loops, for every small size, distance and alignment.
int moves() {
  static uint8_t a[96], b[96];
  for (uint32_t size = 0; size <= 40; ++size) {
    for (uint32_t from = 0; from < 24; ++from) {
      for (uint32_t to = 0; to < 24; ++to) {
        for (uint32_t i = 0; i < sizeof(a); ++i) a[i] = b[i] = static_cast<uint8_t>(i * 7 + 1);
        __builtin_memmove(a + to, a + from, size);
        for (uint32_t i = 0; i < size; ++i) {
          const uint32_t k = to <= from ? i : size - 1 - i;
          *static_cast<volatile uint8_t*>(b + to + k) = b[from + k];
        }
        for (uint32_t i = 0; i < sizeof(a); ++i) {
          if (a[i] != b[i]) return 10;
        }
        __builtin_memcpy(a + to, b + from + 30, size);
        for (uint32_t i = 0; i < size; ++i) {
          if (a[to + i] != b[from + 30 + i]) return 11;
        }
      }
      __builtin_memset(a + from, 0x1FF, size);
      for (uint32_t i = 0; i < size; ++i) {
        if (a[from + i] != 0xFF) return 12;
      }
      if (__builtin_memcmp(a + from, a + from, size) != 0) return 13;
      if (size > 0) {
        a[from + size - 1] = 0xFE;
        if (__builtin_memcmp(a + from, b + 60, 0) != 0) return 14;
      }
    }
  }
  return 0;
}

int clock() {
  start_ticks();
  const uint64_t begin = ticks();
  loop(1000);
  const uint64_t end = ticks();
  loop(10000000);
  const uint64_t late = ticks();
  line("short", static_cast<uint32_t>(end - begin));
  line("long", static_cast<uint32_t>(late - end));
  return late > end && end > begin ? 0 : 15;
}

int serial() {
  serial_start();
  for (;;) {
    const uint8_t byte = serial_read();
    if (byte == 'q') return 0;
    serial_write(static_cast<uint8_t>(byte + 1));
  }
}

int dispatch(char* words) {
  next_word(&words);  // the program's name
  char* verb = next_word(&words);
  if (verb == nullptr) return 1;
  if (same(verb, "echo")) {
    while (char* word = next_word(&words)) {
      put_string("[");
      put_string(word);
      put_string("]");
    }
    put_signed(-42);
    return 0;
  }
  char* first = next_word(&words);
  char* second = next_word(&words);
  if (same(verb, "exit")) return static_cast<int>(number(first));
  if (same(verb, "copy") && second != nullptr) return copy(first, second);
  if (same(verb, "blobs")) return blobs();
  if (same(verb, "memory")) return memory();
  if (same(verb, "fault") && first != nullptr) return fault(first, number(second));
  if (same(verb, "loop")) return loop(number(first)), 0;
  if (same(verb, "phases")) return phases(number(first));
  if (same(verb, "stack")) return stack(number(first));
  if (same(verb, "moves")) return moves();
  if (same(verb, "ticks")) return clock();
  if (same(verb, "serial")) return serial();
  if (same(verb, "spin")) {
    for (;;) loop(1000);
  }
  return 2;
}

}  // namespace

int main() {
  char words[512];
  if (!command_line(words, sizeof(words))) return 100;
  return dispatch(words);
}
