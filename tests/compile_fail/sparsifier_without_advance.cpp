// SPDX-License-Identifier: Apache-2.0
//! A sparsifier without `advance`: the first error names the concept and the member.
// expect-first: sparsifier: state_type advance(
#include <specverify/session/edge.hpp>

namespace sv = specverify;

struct largest {
  using state_type = sv::no_state;
  sv::top_k widest{4};
  state_type initial_state() const noexcept { return {}; }
  sv::read_request request(state_type, std::uint32_t vocab_size) const noexcept {
    return widest.request({}, vocab_size);
  }
  std::size_t workspace_size(state_type, std::uint32_t vocab_size) const noexcept {
    return widest.workspace_size({}, vocab_size);
  }
  sv::result<sv::support> select(const sv::row_summary& row, state_type, sv::workspace& scratch) const noexcept {
    return widest.select(row, {}, scratch);
  }
#ifndef SPECVERIFY_MUST_FAIL
  state_type advance(state_type, const sv::support&) const noexcept { return {}; }
#endif
};

bool made() { return sv::make_edge(sv::edge_options{}, largest{}).ok(); }
