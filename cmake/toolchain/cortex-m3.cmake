set(LINNET_TOOLCHAIN_CORE cortex-m3)
include("${CMAKE_CURRENT_LIST_DIR}/arm.cmake")
