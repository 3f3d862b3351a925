// Start-up, faults and one line of text: what a port costs a firmware in bytes (see the size test in
// host/linnet/board).
#include "port.h"

int main() {
  linnet::port::put_string("ok\n");
  linnet::port::put_decimal(7);
  linnet::port::put_hex(7);
  return 0;
}
