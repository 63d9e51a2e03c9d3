// SPDX-License-Identifier: Apache-2.0
//! Times the device's half of a round of 8 drafts without the model. For each row it reads the row, selects the
//! support, rounds it to counts and draws a token; then it encodes the message. The second pair also measures the
//! perturbation of every token. The time is per round. Counters: `floors` is the time divided by the time of plain sums
//! of the 8 rows, and `..._%` is the share of each part in a round that is timed part by part.
#include "support/steps.hpp"

namespace {

using namespace bench_steps;

template <class Sparsifier>
void step(benchmark::State& state, Sparsifier sparsifier, bool perturbed) {
  edge<Sparsifier> device(sparsifier, perturbed);
  const double floor = floor_us();
  std::uint32_t number = 0;
  std::uint64_t sent = 0;
  watch off(false), on(true);
  const auto run = [&](watch& spent) {
    const auto message = device.round(number++, spent);
    if (message.empty()) state.SkipWithError("round");
    sent += message.size();
  };
  for (int i = 0; i < 16; ++i) run(off);
  std::vector<double> times;
  for (auto _ : state) {
    const double start = thread_seconds();
    run(off);
    times.push_back(thread_seconds() - start);
  }
  for (int i = 0; i < 200; ++i) run(on);
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  state.counters["median_us"] = 1e6 * times[times.size() / 2];
  state.counters["floors"] = 1e6 * times[times.size() / 2] / (length * floor);
  state.counters["bytes"] = static_cast<double>(sent) / number;
  on.report(state, device.parts);
}

}  // namespace

BENCHMARK_CAPTURE(step, k_sqs, k_sqs(), false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(step, c_sqs, c_sqs(), false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(step, k_sqs_perturbed, k_sqs(), true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(step, c_sqs_perturbed, c_sqs(), true)->Unit(benchmark::kMicrosecond);
