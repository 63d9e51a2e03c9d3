// SPDX-License-Identifier: Apache-2.0
//! Times semantic_rule on 8 drafts, half of which are accepted mismatches, compared with std::max_element on each row.
//! `row_us` is the time per row read, in microseconds.
#include <specverify/verify/semantic.hpp>

#include "support/greedy_round.hpp"

namespace {

using namespace bench_greedy_round;

struct lenient {
  [[nodiscard]] sv::result<double> score(std::uint32_t) const noexcept { return 0.25; }
};

template <class Policy>
void verify_half(benchmark::State& state) {
  verify<Policy>(state, sv::semantic_rule<lenient>{{}, 0.5}, [](std::size_t i, sv::token_id best) {
    return i % 2 == 0 ? best : best == 0 ? sv::token_id{1} : sv::token_id{0};
  });
}

}  // namespace

BENCHMARK(verify_half<sv::exec::simd_policy>)
    ->Name("semantic_rule/simd/f32")
    ->Arg(32000)
    ->Arg(128256)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(verify_half<sv::exec::seq_policy>)->Name("semantic_rule/seq/f32")->Arg(32000)->Unit(benchmark::kMicrosecond);
BENCHMARK(baseline)->Name("std_max_element/f32")->Arg(32000)->Arg(128256)->Unit(benchmark::kMicrosecond);
