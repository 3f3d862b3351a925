#include "common/semihosting.h"
#include "port.h"

namespace linnet::port {
namespace {

// ":tt" opened for writing is the host's standard output. 0 is not open yet: handles start at 1.
int32_t standard_output() {
  static int32_t handle = 0;
  if (handle == 0) {
    const struct {
      const char* name;
      uint32_t mode, length;
    } block = {":tt", 4, 3};
    handle = semihost(Request::open, &block);
  }
  return handle;
}

}  // namespace

void put_bytes(const char* text, uint32_t bytes) { write(standard_output(), text, bytes); }

void put_string(const char* text) {
  uint32_t bytes = 0;
  while (text[bytes] != 0) ++bytes;
  put_bytes(text, bytes);
}

void put_decimal(uint32_t value) {
  char digits[10];
  uint32_t at = sizeof(digits);
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  put_bytes(digits + at, static_cast<uint32_t>(sizeof(digits)) - at);
}

void put_signed(int32_t value) {
  if (value < 0) put_bytes("-", 1);
  put_decimal(value < 0 ? 0u - static_cast<uint32_t>(value) : static_cast<uint32_t>(value));
}

void put_hex(uint32_t value) {
  char digits[8];
  for (char& digit : digits) {
    digit = "0123456789abcdef"[value >> 28];
    value <<= 4;
  }
  put_bytes(digits, sizeof(digits));
}

}  // namespace linnet::port
