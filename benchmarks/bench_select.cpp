// SPDX-License-Identifier: Apache-2.0
//! Top-K of a row's logits: digest and selection, against std::partial_sort of ids.
#include <specverify/row/select.hpp>

#include <numeric>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void top(benchmark::State& state, Policy policy, std::uint32_t k) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  digest_request request;
  request.survivors = k;
  digested made(vocab_size, {}, request);
  run(state, input, [&](const std::vector<float>& row) {
    selection chosen;
    if (!made.make(policy, row, {}, request) || !select_top_k(policy, made.value, made.space, k, chosen).ok() ||
        chosen.ids.size() != k) {
      state.SkipWithError("select_top_k");
    }
    benchmark::DoNotOptimize(chosen);
  });
}
template <class Policy>
void top_8(benchmark::State& state, Policy policy) {
  top(state, policy, 8);
}
template <class Policy>
void top_64(benchmark::State& state, Policy policy) {
  top(state, policy, 64);
}
template <class Policy>
void top_1024(benchmark::State& state, Policy policy) {
  top(state, policy, 1024);
}
void partial_sort_64(benchmark::State& state) {
  rows input(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0);
  std::vector<token_id> ids(input.values[0].size());
  run(state, input, [&](const std::vector<float>& row) {
    std::iota(ids.begin(), ids.end(), 0);
    std::partial_sort(ids.begin(), ids.begin() + 64, ids.end(), [&](token_id a, token_id b) {
      return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
    });
    benchmark::DoNotOptimize(ids.data());
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(top_8);
SPECVERIFY_BENCH_POLICIES(top_64);
SPECVERIFY_BENCH_POLICIES(top_1024);
BENCHMARK(partial_sort_64)->Apply(bench_inputs::sizes);
