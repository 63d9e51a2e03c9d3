// SPDX-License-Identifier: Apache-2.0
//! Times a race over shared noise (a reading and the race), compared with a loop over all ids in double.
#include <specverify/row/reading.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void read_and_race_of(benchmark::State& state, Policy policy, noise_kind kind) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  row_memory made(vocab_size, {}, race_request(vocab_size));
  std::uint32_t position = 0;
  run(state, input, [&](const std::vector<float>& row) {
    const auto read = made.read(policy, row, race_request(vocab_size));
    const auto token = read->race({kind, 0x5eed}, position++);
    if (!token) state.SkipWithError("race");
    benchmark::DoNotOptimize(token);
  });
}

template <class Policy>
void read_and_race(benchmark::State& state, Policy policy) {
  read_and_race_of(state, policy, noise_kind::philox);
}
template <class Policy>
void read_and_race_of_vllm(benchmark::State& state, Policy policy) {
  read_and_race_of(state, policy, noise_kind::vllm_fp32);
}

void loop_over_all(benchmark::State& state) {
  rows input(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0);
  std::uint32_t position = 0;
  run(state, input, [&](const std::vector<float>& row) {
    const coupling_noise noise{noise_kind::philox, 0x5eed};
    std::size_t best = 0;
    double most = -1e300;
    for (std::size_t id = 0; id < row.size(); ++id) {
      const double key = static_cast<double>(row[id]) - numeric::log(noise.time(position, static_cast<token_id>(id)));
      if (key > most) {
        most = key;
        best = id;
      }
    }
    ++position;
    benchmark::DoNotOptimize(best);
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(read_and_race);
SPECVERIFY_BENCH_POLICIES(read_and_race_of_vllm);
BENCHMARK(loop_over_all)->Apply(bench_inputs::sizes);
