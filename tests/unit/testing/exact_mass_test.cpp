// SPDX-License-Identifier: Apache-2.0
#include <specverify/testing/exact_mass.hpp>

#include <doctest/doctest.h>

namespace sv = specverify;

TEST_CASE("enumerate_law: exact masses add and scale without rounding") {
  const sv::exact_mass one = sv::exact_mass::one();
  CHECK(one.value() == 1.0);
  sv::exact_mass third = one.scaled(3).scaled(5);  // 15 / 2^106
  CHECK(third.value() == 15 * 0x1.0p-106);
  sv::exact_mass rest = one.scaled(sv::uniform_steps - 3);
  rest += one.scaled(3).scaled(sv::uniform_steps - 5);
  CHECK_FALSE(rest == one);
  rest += third;
  CHECK(rest == one);
  CHECK(one.scaled(sv::uniform_steps) == one);
  CHECK(one.scaled(0) == sv::exact_mass{});
}
