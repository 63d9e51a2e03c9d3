# s390x, big-endian.
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(specverify_triplet s390x-linux-gnu)
include("${CMAKE_CURRENT_LIST_DIR}/toolchain-debian.cmake")
