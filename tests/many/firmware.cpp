// Obeys the words of a script (script.h). Blobs 0 to 3: models or Programs, 4 to 7 their inputs; the first word: arena=BYTES.
#include "port.h"
#include "runner/tables.h"
#include "tests/many/script.h"

using namespace linnet;

namespace {

struct Text {
  static void put_string(const char* text) { port::put_string(text); }
  static void put_decimal(uint32_t value) { port::put_decimal(value); }
  static void put_hex(uint32_t value) { port::put_hex(value); }
};

Bytes blob(uint32_t slot) {
  port::Bytes bytes = port::blob(slot);
  return {bytes.data, bytes.bytes};
}

uint32_t arena_bytes(const char* word) {
  uint32_t bytes = 0;
  while (*word && *word != '=') ++word;
  for (word += *word == '='; *word; ++word) bytes = bytes * 10 + static_cast<uint32_t>(*word - '0');
  return bytes;
}

}  // namespace

int main() {
  static char words[2048];
  if (!port::command_line(words, sizeof words)) return 2;
  char* rest = words;
  port::next_word(&rest);  // the name of the firmware
  const char* word = port::next_word(&rest);
  port::Bytes free = port::free_memory();
  uint32_t bytes = word ? arena_bytes(word) : 0;
  if (bytes == 0 || bytes > free.bytes) return 2;
  static test::Script<Text> script({free.data, bytes}, build_table());
  for (uint32_t i = 0; i < test::most_networks; ++i) script.give(i, {blob(i), blob(test::most_networks + i)});
  while ((word = port::next_word(&rest)))
    if (!script.obey(word)) return 2;
  return 0;
}
