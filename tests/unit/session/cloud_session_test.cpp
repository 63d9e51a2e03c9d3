// SPDX-License-Identifier: Apache-2.0
#include "pair.hpp"

#include <doctest/doctest.h>

#include <specverify/session/cloud_session.hpp>

#include <type_traits>
#include <utility>

namespace sv = specverify;
using specverify_test::bytes;

TEST_CASE("cloud_session: moves, has no virtual function, and cannot be copied") {
  static_assert(std::is_move_constructible_v<sv::cloud_session> && std::is_move_assignable_v<sv::cloud_session>);
  static_assert(!std::is_copy_constructible_v<sv::cloud_session>);
  static_assert(!std::is_polymorphic_v<sv::cloud_session>);
}

TEST_CASE("cloud_session: one that moves between two messages goes on as if it had not") {
  specverify_test::pair moved, still;
  still.finish(still.start());
  bytes question = moved.start();
  for (int i = 0; i < 200 && moved.edge->state() != sv::edge_state::finished; ++i) {
    sv::cloud_session elsewhere = std::move(*moved.cloud);
    moved.cloud.emplace(std::move(elsewhere));
    question = moved.exchange(question);
  }
  REQUIRE(moved.edge->state() == sv::edge_state::finished);
  CHECK(moved.text() == still.text());
  CHECK(moved.cloud_journal.size() == still.cloud_journal.size());
  CHECK(moved.cloud->statistics() == still.cloud->statistics());
}
