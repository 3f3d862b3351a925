// What a firmware may ask of the board it runs on. One implementation per concern stands in ports/common; a board is a
// table of figures (ports/<board>/board.h) and a linker script made from it.
//
// Everything here works on an emulated board, and on a real one under a debugger that serves semihosting.
// Functions that are not called cost no bytes.
#pragma once

#include <stdint.h>

namespace linnet::port {

// ---- Text ---------------------------------------------------------------------------------------

// Writes to the host's standard output.
void put_bytes(const char* text, uint32_t bytes);
void put_string(const char* text);
void put_decimal(uint32_t value);
void put_signed(int32_t value);
void put_hex(uint32_t value);  // always eight digits, no prefix

// ---- End ----------------------------------------------------------------------------------------

// Ends the emulation; the low eight bits of `status` become QEMU's exit status. Returning from main() does the same.
[[noreturn]] void exit(int status);

// Exit status after a CPU fault; one line with the fault registers has then been written to standard error.
constexpr int fault_exit_status = 250;

// ---- Files of the host (semihosting) ------------------------------------------------------------

// The numbers are the semihosting specification's (fopen's "rb" and "wb").
enum class OpenMode : uint32_t { read = 1, write = 5 };

// Handle, or -1. Relative paths start at the emulator's working directory.
int32_t open(const char* path, OpenMode mode);
// Bytes actually read or written: fewer than asked at the end of the file or on an error.
uint32_t read(int32_t handle, void* to, uint32_t bytes);
uint32_t write(int32_t handle, const void* from, uint32_t bytes);
// False when the position is outside the file.
bool seek(int32_t handle, uint32_t position);
// Length in bytes, or -1.
int32_t file_bytes(int32_t handle);
bool close(int32_t handle);

// The host's words, separated by one space each, ended by 0. False when the text does not fit (or there is none).
bool command_line(char* text, uint32_t bytes);
// Cuts the next word off *rest, in place: returns it, ended by 0, and moves *rest behind it; null at the end.
char* next_word(char** rest);

// ---- Memory -------------------------------------------------------------------------------------

struct Bytes {
  uint8_t* data;
  uint32_t bytes;
};

// What the host placed for the firmware: model, Program, inputs. The first words of the board's blob region are a
// directory of {address, bytes} per slot; a slot that was not filled has data null and bytes 0.
// Treat as read-only: on some boards the region is flash.
constexpr uint32_t blob_slots = 16;
Bytes blob(uint32_t slot);

// RAM between .bss and the stack, 16-aligned: the natural place of an arena whose size the host chooses.
Bytes free_memory();

// Fills the unused stack below the caller with a pattern ...
void paint_stack();
// ... and tells how deep the stack has been since, in bytes below the stack pointer at the call of paint_stack().
uint32_t stack_bytes();

// ---- Time and counting --------------------------------------------------------------------------

// Starts / reads a free-running counter of CPU clocks (SysTick with its overflow interrupt; mcycle on RISC-V). Under
// emulation it is only meaningful with `-icount`; instructions are counted exactly by the emulator's plugin instead.
void start_ticks();
uint64_t ticks();
extern const uint32_t clock_hz;

// Tells a counting emulator that phase `id` (below phase_limit) begins here. The body is one load from (flash + id) and
// a return: the plugin learns `id` from the load's address. The plugin books the instructions of this function apart;
// the caller's own (set up r0, branch with link) count in the phase that ends.
constexpr uint32_t phase_limit = 65536;
void phase(uint32_t id);

// ---- Serial line (UART), for boards without a debugger ------------------------------------------

void serial_start();
void serial_write(uint8_t byte);  // waits for room
bool serial_ready();              // a byte has come in
uint8_t serial_read();            // waits for a byte

}  // namespace linnet::port
