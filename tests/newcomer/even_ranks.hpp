// SPDX-License-Identifier: Apache-2.0
// A sparsifier of one's own: ranks 0, 2, ... of the 2 * size largest tokens.
#pragma once
#include <specverify/all.hpp>
namespace sv = specverify;

struct even_ranks {
  std::uint32_t size = 2;
  using state_type = sv::no_state;
  constexpr sv::no_state initial_state() const noexcept { return {}; }
  constexpr sv::read_request request(sv::no_state, std::uint32_t) const noexcept { return {.top_entries = 2 * size}; }
  constexpr std::size_t workspace_size(sv::no_state, std::uint32_t) const noexcept {
    return sv::slice_bytes<sv::token_id>(size) + sv::slice_bytes<std::uint32_t>(size) + sv::workspace_alignment;
  }
  sv::result<sv::support> select(const sv::row_summary& row, sv::no_state, sv::workspace& scratch) const noexcept {
    const auto ids = row.top_ids();
    const auto weights = row.top_weights();
    sv::workspace_scope scope(scratch);
    const auto kept_ids = scratch.take<sv::token_id>(size);
    const auto kept_weights = scratch.take<std::uint32_t>(size);
    if (!kept_ids || !kept_weights) return sv::status{sv::errc::workspace_too_small, sv::part::host, 0};
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::size_t rank = 0;
      for (std::size_t j = 0; j < ids.size(); ++j)
        if (weights[j] > weights[i] || (weights[j] == weights[i] && j < i)) ++rank;
      if (rank % 2 != 0 || kept == size) continue;
      (*kept_ids)[kept] = ids[i];
      (*kept_weights)[kept++] = weights[i];
    }
    scope.keep();
    return sv::support{kept_ids->first(kept), kept_weights->first(kept), 0, row.vocab_size()};
  }
  constexpr sv::no_state advance(sv::no_state, const sv::support&) const noexcept { return {}; }
};
static_assert(sv::sparsifier<even_ranks>);
