// SPDX-License-Identifier: Apache-2.0
#include <specverify/testing/uniform_script.hpp>

#include <doctest/doctest.h>

namespace sv = specverify;

namespace {

sv::random_counter at(std::uint32_t position, sv::purpose use, std::uint32_t lane = 0) {
  return {position, 0, lane, use, 0};
}
double first(const sv::scripted_source& source, sv::random_counter counter) {
  return sv::decision_uniform(source(counter), 0);
}
double second(const sv::scripted_source& source, sv::random_counter counter) {
  return sv::decision_uniform(source(counter), 1);
}

}  // namespace

TEST_CASE("enumerate_law: a script answers what was written, remembers what was read") {
  sv::uniform_script script(sv::script_fill::near_one);
  const sv::scripted_source source(script);
  script.set_uniform(at(7, sv::purpose::acceptance), 0, 0.25);
  CHECK(first(source, at(7, sv::purpose::acceptance)) == 0.25);
  CHECK(second(source, at(7, sv::purpose::acceptance)) == 1.0 - 0x1.0p-53);
  CHECK(first(source, at(8, sv::purpose::acceptance)) == 1.0 - 0x1.0p-53);
  CHECK(script.reads().size() == 2);
  CHECK(script.reads()[1].position == 8);
  script.set_fill(sv::script_fill::zero);
  CHECK(first(source, at(8, sv::purpose::acceptance)) == 0.0);
}
