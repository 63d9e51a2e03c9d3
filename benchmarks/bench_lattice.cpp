// SPDX-License-Identifier: Apache-2.0
//! Times the lattice point of a whole row (digest, selection and counts together), compared with the rule over every
//! entry and with reading the row once.
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/top_k.hpp>

#include "support/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

using namespace bench_inputs;

template <class Policy>
void from_top_entries(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0)),
             resolution = static_cast<std::uint32_t>(state.range(1));
  rows input(vocab_size, false);
  const top_k largest{lattice_support_size(vocab_size, resolution), true};
  const read_request wanted = largest.request({}, vocab_size);
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, wanted));
  std::vector<std::byte> more(largest.workspace_size({}, vocab_size) + lattice::workspace_size(largest.support_size));
  std::vector<std::uint32_t> counts(largest.support_size);
  run(state, input, [&](const std::vector<float>& row) {
    workspace space{memory}, scratch{more};
    const auto reading = read_row(policy, view(row), {}, wanted, space);
    if (!reading) return state.SkipWithError("read");
    const auto kept = largest.select(*reading, {}, scratch);
    if (!kept) return state.SkipWithError("select");
    if (!lattice{}.quantize(*kept, resolution, counts, scratch).ok()) state.SkipWithError("quantize");
    benchmark::DoNotOptimize(counts.data());
  });
  if (std::accumulate(counts.begin(), counts.end(), 0u) != resolution) state.SkipWithError("the counts do not sum");
}

// Applies the rule to all V integer weights, which are precomputed here.
void over_every_entry(benchmark::State& state) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0)),
             resolution = static_cast<std::uint32_t>(state.range(1));
  const std::vector<float> logits = make_row(vocab_size, 0, shape::peak);
  const float maximum = *std::max_element(logits.begin(), logits.end());
  std::vector<token_id> ids(vocab_size);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<std::uint32_t> weights, counts(vocab_size);
  for (const float logit : logits)
    weights.push_back(static_cast<std::uint32_t>(0x1p31 * std::exp(static_cast<double>(logit - maximum))));
  std::vector<std::byte> memory(sparse_lattice::workspace_size(vocab_size));
  for (auto _ : state) {
    workspace scratch{memory};
    if (!sparse_lattice{}.quantize({ids, weights, 0, vocab_size}, resolution, counts, scratch).ok())
      state.SkipWithError("quantize");
    benchmark::DoNotOptimize(counts.data());
  }
}

}  // namespace

BENCHMARK_CAPTURE(from_top_entries, seq, exec::seq)
    ->ArgNames({"V", "l"})
    ->Args({32000, 100})
    ->Args({128256, 100})
    ->Args({128256, 240});
BENCHMARK_CAPTURE(from_top_entries, simd, exec::simd)
    ->ArgNames({"V", "l"})
    ->Args({32000, 100})
    ->Args({128256, 100})
    ->Args({128256, 240});
BENCHMARK(over_every_entry)->ArgNames({"V", "l"})->Args({32000, 100})->Args({128256, 100})->Args({128256, 240});
