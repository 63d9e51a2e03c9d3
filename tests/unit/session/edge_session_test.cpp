// SPDX-License-Identifier: Apache-2.0
#include "pair.hpp"

#include <doctest/doctest.h>

#include <specverify/session/edge_session.hpp>

#include <type_traits>
#include <utility>

namespace sv = specverify;
using specverify_test::bytes;

TEST_CASE("edge_session: moves, has no virtual function, and cannot be copied") {
  static_assert(std::is_move_constructible_v<sv::edge_session> && std::is_move_assignable_v<sv::edge_session>);
  static_assert(!std::is_copy_constructible_v<sv::edge_session>);
  static_assert(!std::is_polymorphic_v<sv::edge_session>);
  CHECK(sv::edge_session::strength == sv::guarantee::unconditional);
}

// A record may be due while a session stands somewhere else than it was made: nothing points into the old place.
TEST_CASE("edge_session: one that moves between two messages goes on as if it had not") {
  specverify_test::pair moved, still;
  still.finish(still.start());
  bytes question = moved.start();
  for (int i = 0; i < 200 && moved.edge->state() != sv::edge_state::finished; ++i) {
    const bytes answer = moved.answer(question);
    sv::edge_session elsewhere = std::move(*moved.edge);
    moved.edge.emplace(std::move(elsewhere));
    question = moved.hear(answer);
  }
  REQUIRE(moved.edge->state() == sv::edge_state::finished);
  CHECK(moved.text() == still.text());
  CHECK(moved.edge_journal == still.edge_journal);
  CHECK(moved.edge->statistics() == still.edge->statistics());
}
