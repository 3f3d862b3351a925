set(LINNET_TOOLCHAIN_CORE cortex-m4)
include("${CMAKE_CURRENT_LIST_DIR}/arm.cmake")
