# 32-bit x86 without SSE2, with x87 floating point (g++-12-multilib). Programs run on the build machine. The headers of
# the kernel are in Debian's folder for x86-64. g++-multilib would link to them, but excludes cross compilers.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_CXX_COMPILER g++-12)
set(CMAKE_CXX_FLAGS_INIT "-m32 -march=i686 -mfpmath=387 -idirafter /usr/include/x86_64-linux-gnu")
