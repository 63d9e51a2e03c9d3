// SPDX-License-Identifier: Apache-2.0
//! A window whose `begin` may throw: the first error names the concept and the member.
// expect-first: window_policy: draft_plan begin(
#include <specverify/session/edge.hpp>

namespace sv = specverify;

#ifdef SPECVERIFY_MUST_FAIL
#define NOEXCEPT
#else
#define NOEXCEPT noexcept
#endif
struct steady {
  sv::draft_plan begin(const sv::observation&) const NOEXCEPT { return {2}; }
  bool proceed(std::uint32_t, const sv::law&, std::uint64_t) const noexcept { return true; }
};

bool made() { return sv::make_edge(sv::edge_options{}, steady{}).ok(); }
