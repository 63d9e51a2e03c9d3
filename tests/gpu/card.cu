// SPDX-License-Identifier: Apache-2.0
// Names the GPU: its compute capability without a dot, then what reports quote. Exit code 77: there is none.
#include <cuda_runtime.h>

#include <cstdio>

int main() {
  int count = 0, driver = 0, clock = 0, memory_clock = 0;
  if (const cudaError_t why = cudaGetDeviceCount(&count); why != cudaSuccess || count == 0) {
    std::printf("no GPU found: %s\n", cudaGetErrorString(why));
    return 77;
  }
  cudaDeviceProp card{};
  if (const cudaError_t why = cudaGetDeviceProperties(&card, 0); why != cudaSuccess) {
    std::printf("the GPU does not answer: %s\n", cudaGetErrorString(why));
    return 1;
  }
  (void)cudaDriverGetVersion(&driver);
  (void)cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0);
  (void)cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, 0);
  std::printf(
      "%d%d %s, %d multiprocessors, %d MHz, %zu MB at %d MHz x %d bits, L2 %d MB, ECC %s, driver for CUDA %d.%d\n",
      card.major, card.minor, card.name, card.multiProcessorCount, clock / 1000, card.totalGlobalMem >> 20,
      memory_clock / 1000, card.memoryBusWidth, card.l2CacheSize >> 20, card.ECCEnabled != 0 ? "on" : "off",
      driver / 1000, driver % 1000 / 10);
  return 0;
}
