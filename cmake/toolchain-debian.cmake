# Cross build for Debian's packages of one architecture (g++-12-...); programs run under qemu-user.
# The files toolchain-NAME.cmake set CMAKE_SYSTEM_PROCESSOR and the triplet, and include this file.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_CXX_COMPILER ${specverify_triplet}-g++-12)
set(CMAKE_FIND_ROOT_PATH /usr/${specverify_triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR} -L /usr/${specverify_triplet})
