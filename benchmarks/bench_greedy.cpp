// SPDX-License-Identifier: Apache-2.0
//! Times greedy_rule on 8 accepted drafts, compared with std::max_element on each row. `row_us` is the time per row
//! read, in microseconds.
#include <specverify/verify/greedy.hpp>

#include "support/greedy_round.hpp"

namespace {

using namespace bench_greedy_round;

template <class Policy>
void verify_best(benchmark::State& state) {
  verify<Policy>(state, sv::greedy_rule{}, [](std::size_t, sv::token_id best) { return best; });
}

}  // namespace

BENCHMARK(verify_best<sv::exec::simd_policy>)
    ->Name("greedy_rule/simd/f32")
    ->Arg(32000)
    ->Arg(128256)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(verify_best<sv::exec::seq_policy>)->Name("greedy_rule/seq/f32")->Arg(32000)->Unit(benchmark::kMicrosecond);
BENCHMARK(baseline)->Name("std_max_element/f32")->Arg(32000)->Arg(128256)->Unit(benchmark::kMicrosecond);
