// SPDX-License-Identifier: Apache-2.0
//! Times the row statistics (digest) without options, and with top entries, the integer total or the exact normalizer.
#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void with_request(benchmark::State& state, Policy policy, const read_request& request) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  row_memory made(vocab_size, {}, request);
  run(state, input, [&](const std::vector<float>& row) {
    const auto read = made.read(policy, row, request);
    if (!read) return state.SkipWithError("read_row");
    benchmark::DoNotOptimize(read);
  });
}

template <class Policy>
void coarse(benchmark::State& state, Policy policy) {
  with_request(state, policy, {});
}
template <class Policy>
void top_entries_64(benchmark::State& state, Policy policy) {
  read_request request;
  request.top_entries = 64;
  with_request(state, policy, request);
}
template <class Policy>
void top_entries_64_and_total(benchmark::State& state, Policy policy) {
  read_request request;
  request.top_entries = 64;
  request.integer_total = true;
  with_request(state, policy, request);
}
template <class Policy>
void exact_normaliser(benchmark::State& state, Policy policy) {
  read_request request;
  request.exact_normaliser = true;
  with_request(state, policy, request);
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(coarse);
SPECVERIFY_BENCH_POLICIES(top_entries_64);
SPECVERIFY_BENCH_POLICIES(top_entries_64_and_total);
SPECVERIFY_BENCH_POLICIES(exact_normaliser);
