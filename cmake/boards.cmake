# Boards that firmware can be built for, and the compiler flags of their cores. The figures of a board stand in
# ports/<board>/board.h; a folder there and a name here are all that a new board of a known core needs.
include_guard(GLOBAL)

set(LINNET_ROOT "${CMAKE_CURRENT_LIST_DIR}/..")
get_filename_component(LINNET_ROOT "${LINNET_ROOT}" ABSOLUTE)

set(LINNET_BOARDS mps2-an386 microbit lm3s6965evb mps2-an385 mps2-an500 mps2-an505 mps3-an547 riscv32-virt)

set(LINNET_CORE_FLAGS_cortex-m0 -mcpu=cortex-m0 -mthumb -mfloat-abi=soft)
set(LINNET_CORE_FLAGS_cortex-m3 -mcpu=cortex-m3 -mthumb -mfloat-abi=soft)
set(LINNET_CORE_FLAGS_cortex-m4 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16)
set(LINNET_CORE_FLAGS_cortex-m7 -mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16)
set(LINNET_CORE_FLAGS_cortex-m33 -mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16)
# GCC 12's if-conversion writes vcvtne.*, which its assembler mistakes for an MVE instruction.
set(LINNET_CORE_FLAGS_cortex-m55 -mcpu=cortex-m55 -mthumb -mfloat-abi=hard -fno-if-conversion2)
set(LINNET_CORE_FLAGS_rv32imac -march=rv32imac_zicsr -mabi=ilp32 -mcmodel=medany)
# Linked with these as well: GCC 12 finds its 32-bit libgcc only by this name.
set(LINNET_CORE_LINK_FLAGS_rv32imac -march=rv32imac -mabi=ilp32)

# One meaning for size and for bits: no fused multiply-add that the source does not ask for, no hidden run-time support.
set(LINNET_FIRMWARE_FLAGS
    -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-use-cxa-atexit -fno-unwind-tables
    -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections -ffp-contract=off)

function(linnet_board_core board result)
  file(STRINGS "${LINNET_ROOT}/ports/${board}/board.h" line REGEX "LINNET_BOARD_CORE ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" core "${line}")
  if(NOT DEFINED LINNET_CORE_FLAGS_${core})
    message(FATAL_ERROR "ports/${board}/board.h names the core '${core}', for which cmake/boards.cmake has no flags")
  endif()
  set(${result} "${core}" PARENT_SCOPE)
endfunction()

# For toolchain files: stops with what to install where the compiler is missing.
function(linnet_need_compiler compiler package)
  find_program(path_of_${compiler} ${compiler})
  if(NOT path_of_${compiler})
    message(FATAL_ERROR "${compiler} is not installed (Debian: apt install ${package})")
  endif()
endfunction()

# A toolchain file builds for one core, so for its boards.
if(LINNET_TOOLCHAIN_CORE)
  foreach(board IN LISTS LINNET_BOARDS)
    linnet_board_core(${board} core)
    if(NOT core STREQUAL LINNET_TOOLCHAIN_CORE)
      list(REMOVE_ITEM LINNET_BOARDS ${board})
    endif()
  endforeach()
endif()
