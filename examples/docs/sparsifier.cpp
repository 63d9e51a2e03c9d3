// SPDX-License-Identifier: Apache-2.0
// A sparsifier of our own: a fixed budget of tokens, halved after every support that kept more than 99 % of the mass.
#include <specverify/sparsify/top_k.hpp>

#include <algorithm>

namespace {
using namespace specverify;

struct shrinking_top_k {
  struct state_type {
    std::uint32_t budget = 64;
  };
  static constexpr top_k sparsifier(state_type state) noexcept { return {state.budget, true}; }
  constexpr state_type initial_state() const noexcept { return {}; }
  constexpr read_request request(state_type state, std::uint32_t vocab_size) const noexcept {
    return sparsifier(state).request({}, vocab_size);
  }
  constexpr std::size_t workspace_size(state_type state, std::uint32_t vocab_size) const noexcept {
    return sparsifier(state).workspace_size({}, vocab_size);
  }
  result<support> select(const row_summary& row, state_type state, workspace& scratch) const noexcept {
    return sparsifier(state).select(row, {}, scratch);
  }
  state_type advance(state_type state, const support& kept) const noexcept {
    return {retained_mass(kept) > 0.99 ? std::max(1u, state.budget / 2) : 64u};
  }
};
static_assert(sparsifier<shrinking_top_k>);
}  // namespace

int main() { return shrinking_top_k{}.request({32}, 1000).survivors == 32 ? 0 : 1; }
