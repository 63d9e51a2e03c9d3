// SPDX-License-Identifier: Apache-2.0
//! Times one task of the benchmarks in turn with plain reads, and writes a line to the table and to the CSV. `ratio` is
//! the time divided by the time of reading the rows once at the speed of a plain read of 256 MB. `ratio, same` is the
//! time divided by the time of plain reads of the same rows, launched in the same way.
#ifndef SPECVERIFY_BENCHMARKS_CUDA_MEASURE_CUH
#define SPECVERIFY_BENCHMARKS_CUDA_MEASURE_CUH

#include "inputs.cuh"
#include "timing.cuh"

namespace cuda_bench {

inline constexpr int samples = 7;
inline constexpr double sample_microseconds = 3000;

inline void print_heads(std::FILE* csv) {
  std::printf("%-16s %-18s %-8s %5s %7s %10s %10s %10s %8s %10s %8s\n", "who", "task", "scalar", "rows", "V",
              "us, least", "us, median", "one read", "ratio", "same rows", "ratio");
  std::fprintf(csv, "who,task,scalar,rows,V,us_least,us_median,us_one_read,ratio,from,us_same_rows,ratio_same\n");
}

//! A task, and the medians of all samples.
struct line {
  const char* who;
  const char* task;
  const char* scalar;
  std::uint32_t rows, size;
  bool in_cache;
  timing time, floor, ratio, same, ratio_same;

  void print(std::FILE* csv) const {
    std::printf("%-16s %-18s %-8s %5u %7u %10.2f %10.2f %10.2f %8.2f %10.2f %8.2f  %s\n", who, task, scalar, rows, size,
                time.least, time.median, floor.median, ratio.median, same.median, ratio_same.median,
                in_cache ? "L2" : "");
    std::fprintf(csv, "%s,%s,%s,%u,%u,%.3f,%.3f,%.3f,%.3f,%s,%.3f,%.3f\n", who, task, scalar, rows, size, time.least,
                 time.median, floor.median, ratio.median, in_cache ? "L2" : "memory", same.median, ratio_same.median);
    std::fflush(stdout);
  }
};

//! `enqueue(copy, stream)` must use the rows of that copy. `Timed` must be graph or plain_calls.
template <class Timed, class Scalar, class Enqueue>
void measure(const machine& on, const inputs<Scalar>& in, const char* who, const char* task, const Enqueue& enqueue) {
  if (!on.takes(task)) return;
  const int calls = static_cast<int>(std::max(in.copies, 8u));
  const std::size_t bytes = in.row_bytes(in.count, in.size);
  const auto copy_of = [&in](int i) { return static_cast<std::uint32_t>(i) % in.copies; };
  const Timed asked(on.stream, calls, [&](int i, cudaStream_t stream) { enqueue(copy_of(i), stream); });
  const Timed same(on.stream, calls,
                   [&](int i, cudaStream_t stream) { on.read(stream, in.rows_of(copy_of(i)).data, bytes); });
  const graph plain(on.stream, 2, [&](int, cudaStream_t stream) { on.read(stream); });
  const int replays = asked.replays_for(sample_microseconds), same_replays = same.replays_for(sample_microseconds),
            plain_replays = plain.replays_for(sample_microseconds);
  std::vector<double> times, floors, ratios, sames, ratios_same;
  for (int sample = 0; sample < samples; ++sample) {
    const double read = plain.time(plain_replays);
    times.push_back(asked.time(replays));
    sames.push_back(same.time(same_replays));
    floors.push_back(static_cast<double>(bytes) * read / static_cast<double>(on.memory.size()));
    ratios.push_back(times.back() / floors.back());
    ratios_same.push_back(times.back() / sames.back());
  }
  const bool in_cache = static_cast<double>(bytes) * in.copies < 2.0 * static_cast<double>(on.card.l2CacheSize);
  const char* scalar = sizeof(Scalar) == 4 ? "float32" : "bf16";
  line{who,
       task,
       scalar,
       in.count,
       in.size,
       in_cache,
       timing_of(times),
       timing_of(floors),
       timing_of(ratios),
       timing_of(sames),
       timing_of(ratios_same)}
      .print(on.csv);
}

//! Returns whether the device has room for a batch, and prints a line if not.
template <class Scalar>
[[nodiscard]] bool fits(const machine& on, std::uint32_t rows, std::uint32_t vocab_size) {
  std::size_t free_bytes = 0, all = 0;
  must(cudaMemGetInfo(&free_bytes, &all), "cudaMemGetInfo");
  const std::size_t needed = inputs<Scalar>::needed(on.card, rows, vocab_size);
  if (needed <= free_bytes / 10 * 8) return true;
  std::printf("%u rows of %u: not measured, %zu MB are needed and %zu MB are free\n", rows, vocab_size, needed >> 20,
              free_bytes >> 20);
  return false;
}

//! Runs `measure_all(machine)`. Returns 77 if there is no GPU, and 2 if the file cannot be written.
template <class MeasureAll>
int run_on_card(const char* csv_path, const char* mode, const MeasureAll& measure_all) {
  int cards = 0;
  if (const cudaError_t why = cudaGetDeviceCount(&cards); why != cudaSuccess || cards == 0) {
    std::printf("no GPU found: %s\n", cudaGetErrorString(why));
    return 77;
  }
  std::FILE* csv = csv_path == nullptr ? nullptr : std::fopen(csv_path, mode);
  if (csv == nullptr) {
    std::printf("the first argument is a CSV file that can be written\n");
    return 2;
  }
  {
    machine on(csv);
    measure_all(on);
  }
  return std::fclose(csv) == 0 ? 0 : 1;
}

}  // namespace cuda_bench

#endif
