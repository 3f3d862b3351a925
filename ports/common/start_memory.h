// The part of start-up that all cores share: .data from its load address, .bss cleared.
#pragma once

#include "common/board.h"

namespace linnet::port {

inline void prepare_memory() {
  const uint32_t* from = linnet_data_source;
  for (uint32_t* to = linnet_data_begin; to < linnet_data_end;) *to++ = *from++;
  for (uint32_t* to = linnet_bss_begin; to < linnet_bss_end;) *to++ = 0;
}

}  // namespace linnet::port
