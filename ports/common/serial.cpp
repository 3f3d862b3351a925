// UARTs by polling; which one, and where, is in the board's table.
#include "common/board.h"
#include "port.h"

namespace linnet::port {

#if defined(LINNET_BOARD_UART_CMSDK)

namespace {
constexpr uint32_t uart = LINNET_BOARD_UART_CMSDK;
}
void serial_start() {
  reg(uart + 0x10) = 16;  // smallest divider
  reg(uart + 0x08) = 3;   // transmitter and receiver on
}
void serial_write(uint8_t byte) {
  while (reg(uart + 4) & 1) {
  }
  reg(uart) = byte;
}
bool serial_ready() { return reg(uart + 4) & 2; }
uint8_t serial_read() {
  while (!serial_ready()) {
  }
  return static_cast<uint8_t>(reg(uart));
}

#elif defined(LINNET_BOARD_UART_PL011)

namespace {
constexpr uint32_t uart = LINNET_BOARD_UART_PL011;
}
void serial_start() { reg(uart + 0x30) = 0x301; }
void serial_write(uint8_t byte) {
  while (reg(uart + 0x18) & 0x20) {
  }
  reg(uart) = byte;
}
bool serial_ready() { return !(reg(uart + 0x18) & 0x10); }
uint8_t serial_read() {
  while (!serial_ready()) {
  }
  return static_cast<uint8_t>(reg(uart));
}

#elif defined(LINNET_BOARD_UART_NRF51)

namespace {
constexpr uint32_t uart = LINNET_BOARD_UART_NRF51;
}
void serial_start() {
  reg(uart + 0x500) = 4;
  reg(uart + 0x008) = 1;
  reg(uart + 0x000) = 1;
}
void serial_write(uint8_t byte) {
  reg(uart + 0x11C) = 0;
  reg(uart + 0x51C) = byte;
  while (reg(uart + 0x11C) == 0) {
  }
}
bool serial_ready() { return reg(uart + 0x108) != 0; }
uint8_t serial_read() {
  while (!serial_ready()) {
  }
  reg(uart + 0x108) = 0;
  return static_cast<uint8_t>(reg(uart + 0x518));
}

#elif defined(LINNET_BOARD_UART_16550)

namespace {
volatile uint8_t& byte_reg(uint32_t offset) {
  return *reinterpret_cast<volatile uint8_t*>(LINNET_BOARD_UART_16550 + offset);
}
}  // namespace
void serial_start() {}
void serial_write(uint8_t byte) {
  while (!(byte_reg(5) & 0x20)) {
  }
  byte_reg(0) = byte;
}
bool serial_ready() { return byte_reg(5) & 1; }
uint8_t serial_read() {
  while (!serial_ready()) {
  }
  return byte_reg(0);
}

#endif

}  // namespace linnet::port
