// SPDX-License-Identifier: Apache-2.0
//! A gate that does not say what it leaves of the guarantee: the first error names the concept and the member.
// expect-first: skip_policy: static constexpr guarantee strength
#include <specverify/session/edge.hpp>

namespace sv = specverify;

struct every_other {
  static constexpr bool needs_uncertainty = false, needs_attention = false, needs_coin = false;
#ifndef SPECVERIFY_MUST_FAIL
  static constexpr sv::guarantee strength = sv::guarantee::lossy;
#endif
  bool send(const sv::skip_observation& seen) const noexcept { return seen.position % 2 == 0; }
};

bool made() { return sv::make_edge(sv::edge_options{}, every_other{}).ok(); }
