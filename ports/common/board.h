// The figures of the board being built for; the build passes its folder as include path ("board.h" there).
#pragma once

#ifndef LINNET_BOARD_HEADER
#error "build with -DLINNET_BOARD_HEADER=\"ports/<board>/board.h\""
#endif
#include LINNET_BOARD_HEADER

#include <stdint.h>

// Placed by firmware.ld; only the addresses mean anything.
extern "C" {
extern uint32_t linnet_data_source[], linnet_data_begin[], linnet_data_end[];
extern uint32_t linnet_bss_begin[], linnet_bss_end[];
extern uint32_t linnet_free_begin[], linnet_free_end[];
extern uint32_t linnet_stack_begin[], linnet_stack_end[];
}

namespace linnet::port {

inline volatile uint32_t& reg(uint32_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

}  // namespace linnet::port
