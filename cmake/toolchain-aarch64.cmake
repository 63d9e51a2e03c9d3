# 64-bit Arm.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(specverify_triplet aarch64-linux-gnu)
include("${CMAKE_CURRENT_LIST_DIR}/toolchain-debian.cmake")
