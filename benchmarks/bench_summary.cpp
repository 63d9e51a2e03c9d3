// SPDX-License-Identifier: Apache-2.0
//! Times decisions on the total weight of a row: a sparsifier that needs only bounds of the total, and a sparsifier
//! that needs the exact sum.
#include <specverify/row/summary.hpp>
#include <specverify/sparsify/threshold.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy>
void decide(benchmark::State& state, Policy policy, bool with_total) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  const threshold sparsifier{0.01, 64, with_total};
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, sparsifier.request({}, vocab_size)) +
                                sparsifier.workspace_size({}, vocab_size));
  workspace scratch{std::span<std::byte>(memory)};
  run(state, input, [&](const std::vector<float>& row) {
    workspace_scope scope(scratch);
    const auto reading = read_row(policy, view(row), {}, sparsifier.request({}, vocab_size), scratch);
    const auto kept = reading ? sparsifier.select(*reading, {}, scratch) : result<support>(reading.error());
    if (!kept) state.SkipWithError("select");
    benchmark::DoNotOptimize(kept->size());
  });
}

template <class Policy>
void by_bounds(benchmark::State& state, Policy policy) {
  decide(state, policy, false);
}
template <class Policy>
void by_sum(benchmark::State& state, Policy policy) {
  decide(state, policy, true);
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(by_bounds);
SPECVERIFY_BENCH_POLICIES(by_sum);
