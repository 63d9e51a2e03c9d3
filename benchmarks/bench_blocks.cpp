// SPDX-License-Identifier: Apache-2.0
//! Times readings from an engine's block maxima and sums, compared with a digest of the same row: a token, and the 64
//! largest entries.
#include <specverify/row/blocks.hpp>

#include <cmath>

#include "support/inputs.hpp"

namespace {

using namespace bench_inputs;

//! Output of an epilogue for every row.
struct claims {
  std::vector<std::vector<float>> maxima, sums;
  std::uint32_t size;

  claims(const rows& input, std::uint32_t block) : size(block) {
    for (const std::vector<float>& row : input.values) {
      std::vector<float> tops, totals;
      for (std::size_t first = 0; first < row.size(); first += size) {
        const std::size_t end = std::min<std::size_t>(row.size(), first + size);
        const float top = *std::max_element(row.data() + first, row.data() + end);
        double sum = 0;
        for (std::size_t v = first; v < end; ++v)
          sum += std::exp(static_cast<double>(row[v]) - static_cast<double>(top));
        tops.push_back(top);
        totals.push_back(static_cast<float>(sum));
      }
      maxima.push_back(tops);
      sums.push_back(totals);
    }
  }
  [[nodiscard]] row_blocks of(std::size_t row) const { return {size, maxima[row], sums[row], 1e-4}; }
};

template <std::uint32_t Block, class Policy>
void from_blocks(benchmark::State& state, Policy policy, std::uint32_t top_entries) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  const claims claimed(input, Block);
  read_request request;
  request.top_entries = top_entries;
  std::vector<std::byte> memory(row_blocks_workspace_size(vocab_size, Block, {}, request));
  workspace scratch;
  run_draws(state, input, [&](const std::vector<float>& row) {
    scratch = workspace(std::span(memory));
    return read_row_from_blocks(policy, view(row), {}, request, claimed.of(input.at), scratch);
  });
}

template <class Policy>
void token_from_blocks_of_1024(benchmark::State& state, Policy policy) {
  from_blocks<1024>(state, policy, 0);
}
template <class Policy>
void token_from_blocks_of_128(benchmark::State& state, Policy policy) {
  from_blocks<128>(state, policy, 0);
}
template <class Policy>
void token_and_64_entries_from_blocks_of_128(benchmark::State& state, Policy policy) {
  from_blocks<128>(state, policy, 64);
}
template <class Policy>
void token_from_a_digest(benchmark::State& state, Policy policy) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  rows input(vocab_size, state.range(1) != 0);
  row_memory made(vocab_size, {}, {});
  run_draws(state, input, [&](const std::vector<float>& row) { return made.read(policy, row); });
}

}  // namespace

SPECVERIFY_BENCH_POLICIES(token_from_blocks_of_1024);
SPECVERIFY_BENCH_POLICIES(token_from_blocks_of_128);
SPECVERIFY_BENCH_POLICIES(token_and_64_entries_from_blocks_of_128);
SPECVERIFY_BENCH_POLICIES(token_from_a_digest);
