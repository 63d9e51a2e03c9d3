// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/policy/concepts.hpp>
#include <specverify/policy/window.hpp>

using namespace specverify;

namespace {
struct short_when_flat {  // looks at the law of the position, never at a token
  [[nodiscard]] draft_plan begin(const observation&) const noexcept { return {}; }
  [[nodiscard]] bool proceed(std::uint32_t, const law& next, std::uint64_t bits) const noexcept {
    return next.size < 8 && bits < 5000;
  }
};
struct throwing_window {
  [[nodiscard]] draft_plan begin(const observation&) const { return {}; }
  [[nodiscard]] bool proceed(std::uint32_t, const law&, std::uint64_t) const { return true; }
};
}  // namespace

TEST_CASE("window_policy: what is one and what is not") {
  CHECK(window_policy<fixed_window>);
  CHECK(window_policy<short_when_flat>);
  CHECK_FALSE(window_policy<throwing_window>);
  CHECK_FALSE(window_policy<int>);
  CHECK(budgeted_window<bit_budget_window>);
  CHECK_FALSE(budgeted_window<fixed_window>);
  CHECK_FALSE(budgeted_window<short_when_flat>);
  CHECK(ranged_window<fixed_window>);
  CHECK_FALSE(ranged_window<short_when_flat>);
  CHECK(counting_window<bit_budget_window>);
  CHECK_FALSE(counting_window<fixed_window>);
}
