// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/policy/observation.hpp>

#include <type_traits>

using namespace specverify;

TEST_CASE("observation: rounds add up") {
  static_assert(std::is_trivially_copyable_v<observation>);
  observation seen;
  CHECK(seen.round == 1);
  seen.position = 5;
  record_round(seen, 4, 2, 3, 100);
  record_round(seen, 3, 3, 4, 90);
  CHECK(seen.round == 3);
  CHECK(seen.position == 12);
  CHECK(seen.last_drafted == 3);
  CHECK(seen.last_accepted == 3);
  CHECK(seen.drafted == 7);
  CHECK(seen.accepted == 5);
  CHECK(seen.draft_bytes == 190);
}
