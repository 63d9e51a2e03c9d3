// SPDX-License-Identifier: Apache-2.0
//! Times the reading of one row, alone and with an accept test and a draw.
#include <specverify/row/reading.hpp>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

template <class Policy, class Use>
void read_and(benchmark::State& state, Policy policy, const Use& use) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, {}));
  workspace scratch{std::span<std::byte>(memory)};
  std::uint32_t position = 0;
  run(state, input, [&](const std::vector<float>& row) {
    workspace_scope scope(scratch);
    const auto reading = read_row(policy, view(row), {}, {}, scratch);
    if (!reading || !use(*reading, uniforms<>{philox{{1, 2}}, position++, 0})) state.SkipWithError("read_row");
  });
}

template <class Policy>
void read_only(benchmark::State& state, Policy policy) {
  read_and(state, policy, [](const auto& row, const uniforms<>&) {
    benchmark::DoNotOptimize(row.argmax());
    return true;
  });
}

template <class Policy>
void read_test_and_draw(benchmark::State& state, Policy policy) {
  read_and(state, policy, [](const auto& row, const uniforms<>& at) {
    const auto tested = row.accept({row.argmax(), 95, 100}, at.at(purpose::acceptance));
    const auto drawn = row.sample(at.at(purpose::bonus_draw));
    benchmark::DoNotOptimize(tested);
    benchmark::DoNotOptimize(drawn);
    return tested.ok() && drawn.ok();
  });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(read_only);
SPECVERIFY_BENCH_POLICIES(read_test_and_draw);
