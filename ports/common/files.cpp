#include "common/semihosting.h"
#include "port.h"

namespace linnet::port {

void exit(int status) {
  const struct {
    uint32_t reason;
    int status;
  } block = {0x20026, status & 0xFF};  // ADP_Stopped_ApplicationExit
  for (;;) semihost(Request::exit_extended, &block);
}

int32_t open(const char* path, OpenMode mode) {
  uint32_t length = 0;
  while (path[length] != 0) ++length;
  const struct {
    const char* path;
    OpenMode mode;
    uint32_t length;
  } block = {path, mode, length};
  return semihost(Request::open, &block);
}

// Both requests answer with the number of bytes that were *not* moved.
uint32_t read(int32_t handle, void* to, uint32_t bytes) {
  const struct {
    int32_t handle;
    void* to;
    uint32_t bytes;
  } block = {handle, to, bytes};
  const auto left = static_cast<uint32_t>(semihost(Request::read, &block));
  return left <= bytes ? bytes - left : 0;
}

uint32_t write(int32_t handle, const void* from, uint32_t bytes) {
  const struct {
    int32_t handle;
    const void* from;
    uint32_t bytes;
  } block = {handle, from, bytes};
  const auto left = static_cast<uint32_t>(semihost(Request::write, &block));
  return left <= bytes ? bytes - left : 0;
}

bool seek(int32_t handle, uint32_t position) {
  const struct {
    int32_t handle;
    uint32_t position;
  } block = {handle, position};
  return semihost(Request::seek, &block) == 0;
}

int32_t file_bytes(int32_t handle) { return semihost(Request::file_length, &handle); }

bool close(int32_t handle) { return semihost(Request::close, &handle) == 0; }

bool command_line(char* text, uint32_t bytes) {
  if (bytes == 0) return false;
  struct {
    char* text;
    uint32_t bytes;
  } block = {text, bytes};
  text[0] = 0;
  return semihost(Request::command_line, &block) == 0;
}

char* next_word(char** rest) {
  char* at = *rest;
  while (*at == ' ') ++at;
  if (*at == 0) return nullptr;
  char* word = at;
  while (*at != 0 && *at != ' ') ++at;
  if (*at == ' ') *at++ = 0;
  *rest = at;
  return word;
}

}  // namespace linnet::port
