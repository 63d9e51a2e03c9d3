// SPDX-License-Identifier: Apache-2.0
//! What it means that two runs on the virtual clock are the same.
#ifndef SPECVERIFY_TESTS_UNIT_APPS_LAB_SAME_RUN_HPP
#define SPECVERIFY_TESTS_UNIT_APPS_LAB_SAME_RUN_HPP

#include "../../../apps/lab/virtual_run.hpp"

#include <doctest/doctest.h>

//! Tokens, both sides' counters, and every round with its bytes and times.
inline void check_same(const lab::run_result& a, const lab::run_result& b) {
  CHECK(a.tokens == b.tokens);
  CHECK(a.seconds == b.seconds);
  CHECK(a.greeting_bytes == b.greeting_bytes);
  CHECK(a.edge == b.edge);
  CHECK(a.cloud == b.cloud);
  REQUIRE(a.rounds.size() == b.rounds.size());
  for (std::size_t r = 0; r < a.rounds.size(); ++r) {
    const lab::round_entry &x = a.rounds[r], &y = b.rounds[r];
    CHECK(x.drafted == y.drafted);
    CHECK(x.accepted == y.accepted);
    CHECK(x.emitted == y.emitted);
    CHECK(x.skipped == y.skipped);
    CHECK(x.mismatches == y.mismatches);
    CHECK(x.accepted_mismatches == y.accepted_mismatches);
    CHECK(x.state == y.state);
    CHECK(x.bytes_up == y.bytes_up);
    CHECK(x.bytes_down == y.bytes_down);
    CHECK(x.seconds() == y.seconds());
  }
}

#endif
