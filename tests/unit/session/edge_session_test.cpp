// SPDX-License-Identifier: Apache-2.0
#include "pair.hpp"

#include <doctest/doctest.h>

#include <specverify/session/edge_session.hpp>

#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace sv = specverify;
using specverify_test::bytes;

TEST_CASE("edge_session: moves, has no virtual function, and cannot be copied") {
  static_assert(std::is_move_constructible_v<sv::edge_session> && std::is_move_assignable_v<sv::edge_session>);
  static_assert(!std::is_copy_constructible_v<sv::edge_session>);
  static_assert(!std::is_polymorphic_v<sv::edge_session>);
}

namespace {

//! A window that is counted, and whose `throws_at`-th copy throws.
struct fragile_window {
  static constexpr bool unconditional = true;
  std::shared_ptr<int> copies = std::make_shared<int>(0);
  int throws_at = 0;

  explicit fragile_window(int at) : throws_at(at) {}
  fragile_window(const fragile_window& other) : copies(other.copies), throws_at(other.throws_at) {
    if (++*copies == throws_at) throw std::runtime_error("no copy");
  }
  fragile_window& operator=(const fragile_window&) = default;
  [[nodiscard]] sv::draft_plan begin(const sv::observation&) const noexcept { return {3}; }
  [[nodiscard]] bool proceed(std::uint32_t, const sv::law&, std::uint64_t) const noexcept { return true; }
};

}  // namespace

// The leak checker of the leg with sanitizers sees memory; what is left of the parts is counted here.
TEST_CASE("edge_session: a part that throws while it is copied leaves nothing behind, a session keeps one copy") {
  const sv::edge_options options{.secret = specverify_test::secret_of(1), .vocab_size = 30};
  int thrown = 0;
  for (int at = 1; thrown == at - 1; ++at) {
    const fragile_window window(at);
    try {
      const auto edge = sv::make_edge(options, sv::top_k{4}, window);
      REQUIRE(edge.ok());
      CHECK(window.copies.use_count() == 2);
    } catch (const std::runtime_error&) {
      ++thrown;
    }
    CHECK(window.copies.use_count() == 1);
  }
  CHECK(thrown >= 2);  // of the argument, and into the session
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
