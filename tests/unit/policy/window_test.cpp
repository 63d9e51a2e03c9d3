// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/policy/window.hpp>

using namespace specverify;

TEST_CASE("fixed_window: the plan never changes and every position is drafted") {
  constexpr fixed_window window{{7, 240, 32}};
  observation seen;
  for (std::uint32_t round = 0; round < 20; ++round) {
    CHECK(window.begin(seen) == draft_plan{7, 240, 32});
    CHECK(window.proceed(seen.position, law{}, 1000000));
    record_round(seen, 7, round % 8, round % 8 + 1, 100);
  }
}
