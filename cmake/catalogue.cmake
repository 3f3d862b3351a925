# The catalogue of operators and kernels: ops/<op>.h and kernels/<set>/<op>.h register themselves by where they are.
#
# Writes <build>/catalogue/linnet_catalogue.h, which includes them all and joins their lists:
#   linnet::all::Kernels    kernels of every set, the reference ones last
#   linnet::all::Operators
#   LINNET_CATALOGUE_KERNELS(X)  X("header", List) for each header, in the order of linnet::all::Kernels
# A header in ops/ that defines no operator (op.h and shared parts) says so by having no `using Operators`.
include_guard(GLOBAL)

set(device "${CMAKE_CURRENT_LIST_DIR}/../device")
get_filename_component(device "${device}" ABSOLUTE)
file(GLOB op_headers CONFIGURE_DEPENDS "${device}/linnet/ops/*.h")
file(GLOB kernel_headers CONFIGURE_DEPENDS "${device}/linnet/kernels/*/*.h")
set(includes "")
set(kernel_lists "")
set(kernel_origins "")
set(reference_origins "")
set(reference_lists "")
set(operator_lists "")
foreach(header IN LISTS kernel_headers)
  file(STRINGS "${header}" registers REGEX "^using Kernels =")
  if(registers)
    get_filename_component(op "${header}" NAME_WE)
    get_filename_component(folder "${header}" DIRECTORY)
    get_filename_component(set_name "${folder}" NAME)
    string(APPEND includes "#include \"linnet/kernels/${set_name}/${op}.h\"\n")
    list(APPEND kernel_lists "kernels::${set_name}::${op}::Kernels")
    string(APPEND kernel_origins
           " \\\n  X(\"linnet/kernels/${set_name}/${op}.h\", linnet::kernels::${set_name}::${op}::Kernels)")
  endif()
endforeach()
foreach(header IN LISTS op_headers)
  file(STRINGS "${header}" registers REGEX "^using Operators =")
  if(registers)
    get_filename_component(op "${header}" NAME_WE)
    string(APPEND includes "#include \"linnet/ops/${op}.h\"\n")
    list(APPEND reference_lists "ops::${op}::Kernels")
    string(APPEND reference_origins " \\\n  X(\"linnet/ops/${op}.h\", linnet::ops::${op}::Kernels)")
    list(APPEND operator_lists "ops::${op}::Operators")
  endif()
endforeach()
list(APPEND kernel_lists ${reference_lists})
list(JOIN kernel_lists ", " kernel_lists)
list(JOIN operator_lists ", " operator_lists)
set(LINNET_CATALOGUE_DIR "${CMAKE_BINARY_DIR}/catalogue")
file(CONFIGURE OUTPUT "${LINNET_CATALOGUE_DIR}/linnet_catalogue.h" CONTENT
"// Written by cmake/catalogue.cmake.
#pragma once
${includes}#include \"linnet/kernels/table.h\"
namespace linnet::all {
using Kernels = Concat<${kernel_lists}>::type;
using Operators = Concat<${operator_lists}>::type;
}  // namespace linnet::all
#define LINNET_CATALOGUE_KERNELS(X)${kernel_origins}${reference_origins}
" @ONLY)
