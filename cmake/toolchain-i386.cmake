# 32-bit x86 without SSE2, floating point by x87 (g++-12-multilib); programs run on the build machine. The headers of
# its kernel are where Debian has them for x86-64: g++-multilib links them elsewhere, but excludes cross compilers.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_CXX_COMPILER g++-12)
set(CMAKE_CXX_FLAGS_INIT "-m32 -march=i686 -mfpmath=387 -idirafter /usr/include/x86_64-linux-gnu")
