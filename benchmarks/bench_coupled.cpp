// SPDX-License-Identifier: Apache-2.0
//! Times coupled_rule on 8 accepted drafts, compared with std::max_element on each row. `row_us` is the time per row
//! read, in microseconds.
#include <specverify/verify/coupled.hpp>
#include <specverify/verify/token.hpp>

#include "support/greedy_round.hpp"

namespace {

using namespace bench_greedy_round;

constexpr sv::coupling_noise noise{sv::noise_kind::philox, 0x5eed};

template <class Policy>
void verify_race(benchmark::State& state) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  const auto values = random_rows(vocab_size);
  std::vector<std::byte> memory(sv::verify_workspace_size(vocab_size, {}, length));
  const auto race = [&](std::size_t i, sv::token_id) {
    sv::workspace scratch{std::span(memory)};
    const auto row =
        sv::read_row(Policy{}, sv::logits_row<float>(values[i]), {}, sv::race_request(vocab_size), scratch);
    return row->race(noise, static_cast<std::uint32_t>(i)).value();
  };
  verify<Policy>(state, sv::coupled_rule{noise}, race, memory.size());
}

}  // namespace

BENCHMARK(verify_race<sv::exec::simd_policy>)
    ->Name("coupled_rule/simd/f32")
    ->Arg(32000)
    ->Arg(128256)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(verify_race<sv::exec::seq_policy>)->Name("coupled_rule/seq/f32")->Arg(32000)->Unit(benchmark::kMicrosecond);
BENCHMARK(baseline)->Name("std_max_element/f32")->Arg(32000)->Arg(128256)->Unit(benchmark::kMicrosecond);
