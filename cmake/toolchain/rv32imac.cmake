# RISC-V (rv32imac). For projects that build a firmware with Linnet's headers and for the board presets; the host's own
# build needs none of them (see firmware.cmake).
set(LINNET_TOOLCHAIN_CORE rv32imac)
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv32)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_CXX_COMPILER riscv64-unknown-elf-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_EXECUTABLE_SUFFIX .elf)

include("${CMAKE_CURRENT_LIST_DIR}/../boards.cmake")
linnet_need_compiler(riscv64-unknown-elf-g++ gcc-riscv64-unknown-elf)
list(JOIN LINNET_CORE_FLAGS_${LINNET_TOOLCHAIN_CORE} " " linnet_core_flags)
list(JOIN LINNET_FIRMWARE_FLAGS " " linnet_firmware_flags)
set(CMAKE_C_FLAGS_INIT "${linnet_core_flags} -ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_INIT "${linnet_core_flags} ${linnet_firmware_flags}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${LINNET_CORE_LINK_FLAGS_rv32imac} -nostdlib -nostartfiles -Wl,--gc-sections")
set(CMAKE_BUILD_TYPE_INIT MinSizeRel)
