// SPDX-License-Identifier: Apache-2.0
#include "pair.hpp"

#include <doctest/doctest.h>

#include <specverify/session/cloud_session.hpp>

#include <support/secret_of.hpp>

#include <type_traits>
#include <utility>

namespace sv = specverify;
using specverify_test::bytes;

TEST_CASE("cloud_session: moves, has no virtual function, and cannot be copied") {
  static_assert(std::is_move_constructible_v<sv::cloud_session> && std::is_move_assignable_v<sv::cloud_session>);
  static_assert(!std::is_copy_constructible_v<sv::cloud_session>);
  static_assert(!std::is_polymorphic_v<sv::cloud_session>);
  sv::cloud_options options{.secret = specverify_test::secret_of(2), .salt = 1, .vocab_size = 30};
  auto made = sv::make_cloud(options);
  REQUIRE(made.ok());
  const sv::cloud_session moved = std::move(*made);
  CHECK(moved.state() == sv::cloud_state::blank);
  CHECK_FALSE(moved.has_outputs());
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
  // Bytes between the members of a snapshot have no value: what is read from the journals is compared.
  std::vector<sv::token_id> text(100), other(100);
  const auto one = sv::read_journal<sv::cloud_snapshot>(moved.cloud_journal, text);
  const auto two = sv::read_journal<sv::cloud_snapshot>(still.cloud_journal, other);
  REQUIRE((one.ok() && two.ok() && one->last && two->last));
  CHECK(text == other);
  CHECK(one->found.records == two->found.records);
  CHECK(one->last->prefix_hash == two->last->prefix_hash);
  CHECK(one->last->round == two->last->round);
  CHECK(one->last->last == two->last->last);
  CHECK(one->last->stop == two->last->stop);
  CHECK(moved.cloud->statistics() == still.cloud->statistics());
}
