// SPDX-License-Identifier: Apache-2.0
//! Creates rows for benchmarks, and measures the read floor and ratios to it. "hot" reads one row again and again;
//! "rot" reads 16 rows in turn.
#ifndef SPECVERIFY_BENCHMARKS_SUPPORT_INPUTS_HPP
#define SPECVERIFY_BENCHMARKS_SUPPORT_INPUTS_HPP

#include <specverify/core/random.hpp>
#include <specverify/row/reading.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <vector>

#if defined(__AVX512F__)
#define SPECVERIFY_BENCH_VECTOR 64
#elif defined(__AVX__)
#define SPECVERIFY_BENCH_VECTOR 32
#else
#define SPECVERIFY_BENCH_VECTOR 16
#endif

namespace bench_inputs {

using namespace specverify;

enum class shape { flat, peak };

//! z = 3 N(0, 1). `peak` adds 41 large logits: p = 0.5 for the first, 0.4 for the next 40.
inline std::vector<float> make_row(std::uint32_t vocab_size, std::uint32_t seed, shape kind) {
  std::vector<float> row(vocab_size);
  for (std::uint32_t i = 0; i < vocab_size; ++i) {
    const random_block bits = philox{{seed, 1}}({i, 0, 0, purpose::training, 0});
    std::uint64_t sum = 0;  // eight 16-bit uniforms: variance 8/12
    for (const std::uint32_t word : bits.word) sum += (word & 0xFFFFu) + (word >> 16);
    row[i] = static_cast<float>((static_cast<double>(sum) / 65536.0 - 4.0) * 3.0 / 0.8165);
  }
  if (kind == shape::peak) {
    const float base = 4.5f + static_cast<float>(__builtin_log(static_cast<double>(vocab_size)));
    for (std::uint32_t i = 0; i < 41; ++i)
      row[(i * 2654435761u + seed) % vocab_size] = i == 0 ? base + 2.3f : base - 1.6f;
  }
  return row;
}

struct rows {
  std::vector<std::vector<float>> values;
  std::size_t at = 0;
  rows(std::uint32_t vocab_size, bool rotating, shape kind = shape::peak) {
    for (std::uint32_t r = 0; r < (rotating ? 16u : 1u); ++r) values.push_back(make_row(vocab_size, r, kind));
  }
  const std::vector<float>& next() { return values[at = (at + 1) % values.size()]; }
};

//! Returns the CPU time of this thread in seconds, so other work on the machine does not count.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

//! Returns the seconds of an action on the same rows in the same order: the median of 33 groups of 8 calls.
template <class Action>
double median_seconds(rows& input, const Action& action) {
  std::vector<double> times;
  for (int i = 0; i < 33; ++i) {
    const double start = thread_seconds();
    for (int call = 0; call < 8; ++call) action(input.next());
    times.push_back((thread_seconds() - start) / 8);
  }
  std::nth_element(times.begin(), times.begin() + 16, times.end());
  return times[16];
}

//! Returns the median seconds to sum a row once with eight vector accumulators, the read floor.
inline double read_floor(rows& input) {
  return median_seconds(input, [](const std::vector<float>& row) {
    using vector_type = float __attribute__((vector_size(SPECVERIFY_BENCH_VECTOR)));
    constexpr std::size_t width = SPECVERIFY_BENCH_VECTOR / sizeof(float);
    const float* from = row.data();
    const auto part = [&](std::size_t at) {
      vector_type values;
      __builtin_memcpy(&values, from + at, sizeof(values));
      return values;
    };
    vector_type a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
    std::size_t v = 0;
    for (; v + 8 * width <= row.size(); v += 8 * width) {
      a += part(v);
      b += part(v + width);
      c += part(v + 2 * width);
      d += part(v + 3 * width);
      e += part(v + 4 * width);
      f += part(v + 5 * width);
      g += part(v + 6 * width);
      h += part(v + 7 * width);
    }
    float rest = 0;
    for (; v < row.size(); ++v) rest += from[v];
    const vector_type sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
    for (std::size_t i = 0; i < width; ++i) rest += sum[i];
    benchmark::DoNotOptimize(rest);
  });
}

//! Runs `action(row)` in the state's loop. Reports the median time divided by the median read floor of the same run.
template <class Action>
void run(benchmark::State& state, rows& input, const Action& action) {
  const double floor_before = read_floor(input);
  const double median = median_seconds(input, action);
  const double floor_after = read_floor(input);
  for (auto _ : state) action(input.next());
  state.counters["x_read_floor"] = median / std::min(floor_before, floor_after);
  state.counters["floor_us"] = 1e6 * std::min(floor_before, floor_after);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(input.values[0].size()));
}

//! Draws tokens from the result of `read(row)`, and counts the trials.
template <class Read>
void run_draws(benchmark::State& state, rows& input, const Read& read) {
  std::uint32_t position = 0;
  std::uint64_t trials = 0;
  run(state, input, [&](const std::vector<float>& row) {
    const auto from = read(row);
    if (!from) return state.SkipWithError("no reading");
    const auto out = from->sample(uniforms{philox{{1, 2}}, position++, 0}.at(purpose::draft_draw));
    if (!out) return state.SkipWithError("no token");
    trials += out->trials;
    benchmark::DoNotOptimize(out);
  });
  state.counters["trials"] = static_cast<double>(trials) / position;
}

//! Memory for one reading.
struct row_memory {
  std::vector<std::byte> memory;
  workspace space;
  row_memory(std::uint32_t vocab_size, const row_transform& transform, const read_request& request)
      : memory(digest_workspace_size(vocab_size, transform, request)) {}
  template <class Policy>
  result<row_reading<Policy, float>> read(Policy policy, const std::vector<float>& row,
                                          const read_request& request = {}) {
    space = workspace(std::span<std::byte>(memory));
    return read_row(policy, logits_row(std::span<const float>(row)), {}, request, space);
  }
};

inline row_view<float> view(const std::vector<float>& row) { return logits_row(std::span<const float>(row)); }

//! Registers vocabulary sizes, each with one hot row and with rotating rows.
inline void sizes(benchmark::internal::Benchmark* registered) {
  registered->ArgNames({"V", "rot"});
  for (const std::int64_t vocab_size : {32000, 128256, 151936}) {
    for (const std::int64_t rotating : {0, 1}) registered->Args({vocab_size, rotating});
  }
}

}  // namespace bench_inputs

#define SPECVERIFY_BENCH_POLICIES(function)                                            \
  BENCHMARK_CAPTURE(function, seq, specverify::exec::seq)->Apply(bench_inputs::sizes); \
  BENCHMARK_CAPTURE(function, simd, specverify::exec::simd)->Apply(bench_inputs::sizes)

#endif
