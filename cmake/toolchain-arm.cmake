# 32-bit Arm.
set(CMAKE_SYSTEM_PROCESSOR arm)
set(specverify_triplet arm-linux-gnueabihf)
include("${CMAKE_CURRENT_LIST_DIR}/toolchain-debian.cmake")
