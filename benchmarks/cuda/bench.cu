// SPDX-License-Identifier: Apache-2.0
// Times kernels of cuda/ on a GPU, in turn with a plain read of memory: a table on stdout, and lines of CSV in a file.
// usage: bench CSV [--quick]     --quick: V = 128 256 and 64 rows alone
// Each call takes other rows than the one before, until three times the L2 cache is passed or there are 256 copies;
// "L2" says that the copies fit there all the same. Ratios: see measure.cuh.
//
// SPECVERIFY_BENCH_SCALAR: this unit times one type of rows; SPECVERIFY_BENCH_APART: others do. scripts/gpu_check
// compiles three units side by side.
#include "tasks.cuh"

#if defined(SPECVERIFY_BENCH_SCALAR)

using namespace specverify;
template void cuda_bench::measure_size<SPECVERIFY_BENCH_SCALAR>(const cuda_bench::machine& on, std::uint32_t rows,
                                                                std::uint32_t vocab_size);

#else

#include <cstring>

#if defined(SPECVERIFY_BENCH_APART)
namespace cuda_bench {
extern template void measure_size<float>(const machine& on, std::uint32_t rows, std::uint32_t vocab_size);
extern template void measure_size<bfloat16_bits>(const machine& on, std::uint32_t rows, std::uint32_t vocab_size);
}  // namespace cuda_bench
#endif

namespace {

using namespace specverify;
using namespace cuda_bench;

void measure_all(const machine& on, bool quick) {
  const graph plain(on.stream, 4, [&](int, cudaStream_t stream) { on.read(stream); });
  const double read = static_cast<double>(on.memory.size()) / plain.time(plain.replays_for(20000));
  std::printf("%s, %d multiprocessors, L2 %d MB; a plain read: %.0f GB/s\n\n", on.card.name,
              on.card.multiProcessorCount, on.card.l2CacheSize >> 20, read / 1000);
  print_heads(on.csv);
  for (const std::uint32_t vocab_size : {32000u, 128256u, 262144u}) {
    for (const std::uint32_t rows : {1u, 8u, 64u, 512u}) {
      if (quick && (vocab_size != 128256 || rows != 64)) continue;
      measure_size<float>(on, rows, vocab_size);
      measure_size<bfloat16_bits>(on, rows, vocab_size);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const bool quick = count > 2 && std::strcmp(arguments[2], "--quick") == 0;
  return run_on_card(count > 1 ? arguments[1] : nullptr, "w", [quick](const machine& on) { measure_all(on, quick); });
}

#endif
