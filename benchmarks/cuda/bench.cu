// SPDX-License-Identifier: Apache-2.0
// Times kernels of cuda/ on a GPU, in turn with a plain read of memory. Prints a table and writes lines of CSV to a
// file.
// usage: bench CSV [--quick] [--only TASK] [--tuning BLOCKS,PART,THREADS,ROUNDS]
//   --quick   only V = 128 256 and 64 rows
//   --only    only tasks whose name begins with TASK
//   --tuning  digest_blocks, least_part, digest_threads and split_rounds of cuda_tuning, instead of the GPU's
// Each call takes rows that the call before did not take, until three times the L2 cache or 256 copies are reached.
// "L2" means that the copies fit in the L2 cache. Ratios: see measure.cuh.
//
// SPECVERIFY_BENCH_SCALAR: this translation unit times one type of rows. SPECVERIFY_BENCH_APART: other units do.
// scripts/gpu_check compiles three units side by side.
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
  bool quick = false;
  const char *only = "", *tuning = "";
  for (int i = 2; i < count; ++i) {
    if (std::strcmp(arguments[i], "--quick") == 0) quick = true;
    if (std::strcmp(arguments[i], "--only") == 0 && i + 1 < count) only = arguments[++i];
    if (std::strcmp(arguments[i], "--tuning") == 0 && i + 1 < count) tuning = arguments[++i];
  }
  return run_on_card(count > 1 ? arguments[1] : nullptr, "w", [&](machine& on) {
    on.only = only;
    (void)std::sscanf(tuning, "%u,%u,%u,%u", &on.tuning.digest_blocks, &on.tuning.least_part, &on.tuning.digest_threads,
                      &on.tuning.split_rounds);
    measure_all(on, quick);
  });
}

#endif
