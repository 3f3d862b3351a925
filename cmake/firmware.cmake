# linnet_add_firmware(name BOARDS board... SOURCES file... [FAST_SOURCES file...] [INCLUDES dir...] [DEFINES def...]
#                     [OPTIONS flag...] [DEPENDS file...])
#
# Builds ${CMAKE_BINARY_DIR}/firmware/<name>-<board>.elf for each board, with target firmware-<name>-<board> (in `all`).
# SOURCES are compiled with -Os, FAST_SOURCES (kernels) with -O2; main() is `int main()`; ports/port.h has what the board
# offers. DEPENDS: headers that are made while building.
#
# The cross compiler is called by custom commands, not by a second CMake run: one configure and one dependency graph
# serve the host and every board at once, a change in a header rebuilds exactly what it touches (depfiles), and the
# host's tests can depend on firmware. A nested project would give none of that, and a tree has only one toolchain. In a tree
# configured with one of cmake/toolchain/*.cmake the same function works unchanged.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/boards.cmake")

option(LINNET_FIRMWARE "Build the boards' firmware where its cross compiler is installed" ON)
find_program(LINNET_ARM_CXX arm-none-eabi-g++)
find_program(LINNET_RISCV_CXX NAMES riscv64-unknown-elf-g++ riscv32-unknown-elf-g++)

function(linnet_firmware_compiler core result)
  if(core MATCHES "^rv")
    set(compiler "${LINNET_RISCV_CXX}")
    set(package "gcc-riscv64-unknown-elf")
    set(family "RISC-V")
  else()
    set(compiler "${LINNET_ARM_CXX}")
    set(package "gcc-arm-none-eabi")
    set(family "Cortex-M")
  endif()
  if(NOT LINNET_FIRMWARE)
    set(compiler "")
  elseif(NOT compiler)
    get_property(told GLOBAL PROPERTY LINNET_TOLD_${family})
    if(NOT told)
      message(STATUS
              "No cross compiler for ${family}: firmware for such boards is left out (Debian: apt install ${package})")
      set_property(GLOBAL PROPERTY LINNET_TOLD_${family} TRUE)
    endif()
    set(compiler "")
  endif()
  set(${result} "${compiler}" PARENT_SCOPE)
endfunction()

# One object file: `result` is its path.
function(linnet_firmware_object result)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;DIRECTORY;COMPILER" "FLAGS;DEPENDS")
  get_filename_component(source "${arg_SOURCE}" ABSOLUTE)
  file(RELATIVE_PATH relative "${LINNET_ROOT}" "${source}")
  string(REPLACE "../" "_/" relative "${relative}")
  set(object "${arg_DIRECTORY}/${relative}.o")
  get_filename_component(folder "${object}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  if(LINNET_WARNINGS_AS_ERRORS)
    list(APPEND arg_FLAGS -Werror)
  endif()
  add_custom_command(
    OUTPUT "${object}"
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} "${arg_COMPILER}" ${arg_FLAGS} -std=c++17 -g -Wall -Wextra -Wshadow
            "-ffile-prefix-map=${LINNET_ROOT}/=" -MD -MF "${object}.d" -MT "${object}" -c "${source}" -o "${object}"
    DEPENDS "${source}" ${arg_DEPENDS}
    DEPFILE "${object}.d"
    COMMENT "Cross-compiling ${relative}"
    VERBATIM)
  set(${result} "${object}" PARENT_SCOPE)
endfunction()

# Start-up, console and the rest of ports/common for one board, once: a library, so that a firmware gets what it calls.
function(linnet_port_library board)
  if(TARGET port-${board})
    return()
  endif()
  linnet_board_core(${board} core)
  linnet_firmware_compiler(${core} compiler)
  if(NOT compiler)
    return()
  endif()
  set(directory "${CMAKE_BINARY_DIR}/firmware/ports/${board}")
  file(MAKE_DIRECTORY "${directory}")
  set(flags ${LINNET_CORE_FLAGS_${core}} ${LINNET_FIRMWARE_FLAGS} "-I${LINNET_ROOT}/ports"
      "-DLINNET_BOARD_HEADER=\"${board}/board.h\"")
  if(core MATCHES "^rv")
    set(own start_riscv)
  else()
    set(own start_arm fault_arm)
  endif()
  set(objects "")
  foreach(part IN LISTS own ITEMS text files memory clock phase serial runtime)
    # Copies and fills are in the middle of inference; everything else runs once.
    if(part STREQUAL "runtime")
      set(optimisation -O2)
    else()
      set(optimisation -Os)
    endif()
    linnet_firmware_object(object SOURCE "${LINNET_ROOT}/ports/common/${part}.cpp" DIRECTORY "${directory}"
                           COMPILER "${compiler}" FLAGS ${flags} ${optimisation})
    list(APPEND objects "${object}")
  endforeach()
  string(REGEX REPLACE "g\\+\\+$" "ar" archiver "${compiler}")
  set(script "${directory}/firmware.ld")
  set(library "${directory}/libport.a")
  add_custom_command(
    OUTPUT "${script}"
    COMMAND "${compiler}" -E -P -undef -x c "-I${LINNET_ROOT}/ports" "-DLINNET_BOARD_HEADER=\"${board}/board.h\""
            "${LINNET_ROOT}/ports/common/firmware.ld.in" -o "${script}"
    DEPENDS "${LINNET_ROOT}/ports/common/firmware.ld.in" "${LINNET_ROOT}/ports/${board}/board.h"
    COMMENT "Linker script of ${board}"
    VERBATIM)
  add_custom_command(
    OUTPUT "${library}"
    COMMAND "${CMAKE_COMMAND}" -E rm -f "${library}"
    COMMAND "${archiver}" rcsD "${library}" ${objects}
    DEPENDS ${objects}
    COMMENT "Port library of ${board}"
    VERBATIM)
  add_custom_target(port-${board} DEPENDS "${script}" "${library}")
endfunction()

function(linnet_add_firmware name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "BOARD;BOARDS;SOURCES;FAST_SOURCES;INCLUDES;DEFINES;OPTIONS;DEPENDS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "linnet_add_firmware(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(board IN LISTS arg_BOARD arg_BOARDS)
    if(NOT board IN_LIST LINNET_BOARDS)
      message(FATAL_ERROR "linnet_add_firmware(${name}): no board '${board}'; there are ${LINNET_BOARDS}")
    endif()
    linnet_board_core(${board} core)
    linnet_firmware_compiler(${core} compiler)
    if(NOT compiler)
      continue()
    endif()
    linnet_port_library(${board})
    set(flags ${LINNET_CORE_FLAGS_${core}} ${LINNET_FIRMWARE_FLAGS} "-I${LINNET_ROOT}/ports" "-I${LINNET_ROOT}/device"
        "-DLINNET_BOARD_HEADER=\"${board}/board.h\"")
    foreach(item IN LISTS arg_INCLUDES)
      get_filename_component(item "${item}" ABSOLUTE)
      list(APPEND flags "-I${item}")
    endforeach()
    foreach(item IN LISTS arg_DEFINES)
      list(APPEND flags "-D${item}")
    endforeach()
    list(APPEND flags ${arg_OPTIONS})
    set(directory "${CMAKE_BINARY_DIR}/firmware/objects/${name}-${board}")
    set(objects "")
    foreach(source IN LISTS arg_SOURCES)
      linnet_firmware_object(object SOURCE "${source}" DIRECTORY "${directory}" COMPILER "${compiler}" FLAGS -Os ${flags}
                              DEPENDS ${arg_DEPENDS})
      list(APPEND objects "${object}")
    endforeach()
    foreach(source IN LISTS arg_FAST_SOURCES)
      linnet_firmware_object(object SOURCE "${source}" DIRECTORY "${directory}" COMPILER "${compiler}" FLAGS -O2 ${flags}
                              DEPENDS ${arg_DEPENDS})
      list(APPEND objects "${object}")
    endforeach()
    set(port "${CMAKE_BINARY_DIR}/firmware/ports/${board}")
    set(elf "${CMAKE_BINARY_DIR}/firmware/${name}-${board}.elf")
    # The port's commands belong to its target; files carry the change, the target the order.
    add_custom_command(
      OUTPUT "${elf}"
      COMMAND "${compiler}" ${LINNET_CORE_FLAGS_${core}} ${LINNET_CORE_LINK_FLAGS_${core}} -nostdlib -nostartfiles
              -Wl,--gc-sections -Wl,--no-warn-rwx-segments -Wl,--fatal-warnings
              "-Wl,-Map,${directory}/${name}.map" "-T${port}/firmware.ld"
              ${objects} "${port}/libport.a" -lgcc "${port}/libport.a" -o "${elf}"
      DEPENDS ${objects} "${port}/libport.a" "${port}/firmware.ld" port-${board}
      COMMENT "Linking firmware/${name}-${board}.elf"
      VERBATIM)
    add_custom_target(firmware-${name}-${board} ALL DEPENDS "${elf}")
    add_dependencies(firmware-${name}-${board} port-${board})
  endforeach()
endfunction()
