set(LINNET_TOOLCHAIN_CORE cortex-m33)
include("${CMAKE_CURRENT_LIST_DIR}/arm.cmake")
