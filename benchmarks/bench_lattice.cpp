// SPDX-License-Identifier: Apache-2.0
//! The lattice point of a whole row: digest, selection and counts together, against the rule over every entry and the time to read the row once.
#include <specverify/core/random.hpp>
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

using namespace specverify;

// Logits of a Zipf law with noise, in an order without pattern.
std::vector<float> make_logits(std::uint32_t vocab_size) {
  std::vector<float> logits(vocab_size);
  for (std::uint32_t i = 0; i < vocab_size; ++i) {
    const std::uint32_t rank = static_cast<std::uint32_t>((std::uint64_t{i} * 2654435761u) % vocab_size);
    logits[i] = static_cast<float>(-1.2 * std::log(1.0 + rank) + decision_uniform(philox{}({i, 0, 0, purpose::training, 0})));
  }
  return logits;
}

double seconds_since(std::chrono::steady_clock::time_point start) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

// Seconds to sum the row once, the least of many.
double read_floor(const std::vector<float>& logits) {
  double best = 1;
  for (int i = 0; i < 50; ++i) {
    const auto start = std::chrono::steady_clock::now();
    float lanes[16] = {};
    for (std::size_t v = 0; v + 16 <= logits.size(); v += 16) {
      for (std::size_t lane = 0; lane < 16; ++lane) lanes[lane] += logits[v + lane];
    }
    benchmark::DoNotOptimize(lanes);
    best = std::min(best, seconds_since(start));
  }
  return best;
}

template <class Policy>
void from_survivors(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0)), resolution = static_cast<std::uint32_t>(state.range(1));
  const std::vector<float> logits = make_logits(vocab_size);
  const top_k largest{lattice_support_size(vocab_size, resolution), true};
  const digest_request wanted = largest.request({}, vocab_size);
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, wanted));
  std::vector<std::byte> more(largest.workspace_size({}, vocab_size) + lattice::workspace_size(largest.support_size));
  std::vector<std::uint32_t> counts(largest.support_size);
  const double floor = read_floor(logits);
  double best = 1;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    workspace space{memory}, scratch{more};
    row_digest digested;
    support kept;
    if (!digest(policy, logits_row(std::span<const float>(logits)), {}, wanted, space, digested).ok()) state.SkipWithError("digest");
    if (!largest.select(digested, space, scratch, {}, kept).ok()) state.SkipWithError("select");
    if (!lattice{}.quantize(kept, resolution, counts, scratch).ok()) state.SkipWithError("quantize");
    benchmark::DoNotOptimize(counts.data());
    best = std::min(best, seconds_since(start));
  }
  state.counters["x_read_floor"] = best / floor;  // least against least
  if (std::accumulate(counts.begin(), counts.end(), 0u) != resolution) state.SkipWithError("the counts do not sum");
}

// The rule over all V integer weights, which are given here for nothing.
void over_every_entry(benchmark::State& state) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0)), resolution = static_cast<std::uint32_t>(state.range(1));
  const std::vector<float> logits = make_logits(vocab_size);
  std::vector<token_id> ids(vocab_size);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<std::uint32_t> weights, counts(vocab_size);
  for (const float logit : logits) weights.push_back(static_cast<std::uint32_t>(0x1p29 * std::exp(static_cast<double>(logit))));
  std::vector<std::byte> memory(sparse_lattice::workspace_size(vocab_size));
  for (auto _ : state) {
    workspace scratch{memory};
    if (!sparse_lattice{}.quantize({ids, weights, 0, vocab_size}, resolution, counts, scratch).ok()) state.SkipWithError("quantize");
    benchmark::DoNotOptimize(counts.data());
  }
}

}  // namespace

BENCHMARK_CAPTURE(from_survivors, seq, exec::seq)->ArgNames({"V", "l"})->Args({32000, 100})->Args({128256, 100})->Args({128256, 240});
BENCHMARK_CAPTURE(from_survivors, simd, exec::simd)->ArgNames({"V", "l"})->Args({32000, 100})->Args({128256, 100})->Args({128256, 240});
BENCHMARK(over_every_entry)->ArgNames({"V", "l"})->Args({32000, 100})->Args({128256, 100})->Args({128256, 240});
