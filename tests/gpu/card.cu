// SPDX-License-Identifier: Apache-2.0
// Names the GPU: its compute capability without a dot, then what reports quote. Exit code 77: there is none that these
// kernels run on; 1: there is one, but it does not answer.
#include <cuda_runtime.h>

#include <cstdio>

namespace {

int without_card(cudaError_t why) {
  int driver = 0, runtime = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  if (why == cudaErrorInsufficientDriver && driver != 0) {
    std::printf("the driver is too old: it is for CUDA %d.%d, and nvcc makes programs for CUDA %d.%d\n", driver / 1000,
                driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return 1;
  }
  if (why == cudaErrorInsufficientDriver || why == cudaErrorNoDevice || why == cudaSuccess) {
    std::printf("no GPU found: %s\n", cudaGetErrorString(why));
    return 77;
  }
  std::printf("the GPU does not answer: %s\n", cudaGetErrorString(why));
  return 1;
}

}  // namespace

int main() {
  int count = 0, driver = 0, clock = 0, memory_clock = 0;
  if (const cudaError_t why = cudaGetDeviceCount(&count); why != cudaSuccess || count == 0) return without_card(why);
  cudaDeviceProp card{};
  if (const cudaError_t why = cudaGetDeviceProperties(&card, 0); why != cudaSuccess) return without_card(why);
  if (card.major < 8) {
    std::printf("%s has compute capability %d.%d, and 8.0 is needed\n", card.name, card.major, card.minor);
    return 77;
  }
  if (const cudaError_t why = cudaFree(nullptr); why != cudaSuccess) {  // makes a context: another program may hold it
    std::printf("%s does not take a program now: %s\n", card.name, cudaGetErrorString(why));
    return 1;
  }
  std::size_t free_bytes = 0, all = 0;
  (void)cudaMemGetInfo(&free_bytes, &all);
  (void)cudaDriverGetVersion(&driver);
  (void)cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0);
  (void)cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, 0);
  std::printf(
      "%d%d %s, %d multiprocessors, %d MHz, %zu of %zu MB free, %d MHz x %d bits, L2 %d MB, ECC %s, driver for CUDA "
      "%d.%d\n",
      card.major, card.minor, card.name, card.multiProcessorCount, clock / 1000, free_bytes >> 20, all >> 20,
      memory_clock / 1000, card.memoryBusWidth, card.l2CacheSize >> 20, card.ECCEnabled != 0 ? "on" : "off",
      driver / 1000, driver % 1000 / 10);
  return 0;
}
