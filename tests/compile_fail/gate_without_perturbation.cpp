// SPDX-License-Identifier: Apache-2.0
//! A gate that needs uncertainty has to say how it is measured: the first error names the concept and the member.
// expect-first: skip_policy: perturbation_options perturbation
#include <specverify/session/edge.hpp>

namespace sv = specverify;

struct uncertain_only {
  static constexpr bool needs_uncertainty = true, needs_attention = false, needs_coin = false;
  static constexpr sv::guarantee strength = sv::guarantee::lossy;
#ifndef SPECVERIFY_MUST_FAIL
  sv::perturbation_options perturbation{};
#endif
  bool send(const sv::skip_observation& seen) const noexcept { return seen.disagreements > 0; }
};

bool made() { return sv::make_edge(sv::edge_options{}, uncertain_only{}).ok(); }
