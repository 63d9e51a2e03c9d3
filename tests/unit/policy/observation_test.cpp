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

TEST_CASE("observation: probabilities of accepted drafts stand on the right, zeros on the left") {
  observation seen;
  record_accepted(seen, 0.25f);
  record_accepted(seen, 0.5f);
  CHECK(seen.accepted_probability[63] == 0.5f);
  CHECK(seen.accepted_probability[62] == 0.25f);
  CHECK(seen.accepted_probability[61] == 0.0f);
  for (int i = 0; i < 64; ++i) record_accepted(seen, 1.0f / static_cast<float>(i + 1));
  CHECK(seen.accepted_probability[0] == 1.0f);
  CHECK(seen.accepted_probability[63] == 1.0f / 64);
}

TEST_CASE("observation: acceptance is a mean per resolution, and an untried one copies the nearest") {
  observation seen;
  CHECK(acceptance_of(seen, 240) == 0.8f);
  record_round(seen, 4, 2, 3, 100, 240);  // two accepted, one rejected, the fourth was not tested
  const double by_hand = ((0.8 * 0.95 + 0.05) * 0.95 + 0.05) * 0.95;
  CHECK(static_cast<double>(acceptance_of(seen, 240)) == doctest::Approx(by_hand).epsilon(1e-6));
  CHECK(seen.last_resolution == 240);
  CHECK(acceptance_of(seen, 720) == acceptance_of(seen, 240));
  record_round(seen, 1, 1, 2, 100, 720);  // starts from what was assumed
  CHECK(static_cast<double>(acceptance_of(seen, 720)) == doctest::Approx(by_hand * 0.95 + 0.05).epsilon(1e-6));
  CHECK(acceptance_of(seen, 479) == acceptance_of(seen, 240));
  CHECK(acceptance_of(seen, 480) == acceptance_of(seen, 240));
  CHECK(acceptance_of(seen, 481) == acceptance_of(seen, 720));
  for (const std::uint32_t resolution : {12u, 24u, 1280u}) record_round(seen, 1, 0, 1, 100, resolution);
  CHECK(seen.acceptance[0].resolution == 240);
  CHECK(seen.acceptance[2].resolution == 12);
  CHECK(seen.acceptance[3].resolution == 1280);
  const observation before = seen;
  record_round(seen, 0, 0, 1, 0);
  CHECK(seen.acceptance == before.acceptance);
  CHECK(seen.last_resolution == 0);
}
