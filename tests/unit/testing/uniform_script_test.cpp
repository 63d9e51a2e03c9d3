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

TEST_CASE("enumerate_law: a script says which halves it was asked for and does not list") {
  sv::uniform_script script;
  const sv::scripted_source source(script);
  const sv::random_counter counter = at(7, sv::purpose::acceptance);
  CHECK(script.filled_halves() == 0u);
  (void)source(counter);
  CHECK(script.filled_halves() == 0b11u);
  script.forget();
  script.set(counter, 0, 1);
  (void)source(counter);
  CHECK(script.filled_halves() == 0b10u);
  script.forget();
  script.set(counter, 1, 1);
  (void)source(counter);
  CHECK(script.filled_halves() == 0u);
  (void)source(at(8, sv::purpose::acceptance));
  CHECK(script.filled_halves() == 0b11u);
}
