// SPDX-License-Identifier: Apache-2.0
#include "pair.hpp"

#include <doctest/doctest.h>

#include <specverify/quantize/draft_law.hpp>
#include <specverify/session/edge_session.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace sv = specverify;
using specverify_test::bytes;

TEST_CASE("edge_session: moves, has no virtual function, and cannot be copied") {
  static_assert(std::is_move_constructible_v<sv::edge_session> && std::is_move_assignable_v<sv::edge_session>);
  static_assert(!std::is_copy_constructible_v<sv::edge_session>);
  static_assert(!std::is_polymorphic_v<sv::edge_session>);
  static_assert(!std::is_constructible_v<sv::detail::endpoint, sv::edge_session>);
  static_assert(!std::is_assignable_v<sv::detail::endpoint&, sv::edge_session>);
  static_assert(!std::is_destructible_v<sv::detail::endpoint>);
}

namespace {

#if defined(__cpp_exceptions)
//! Counts copies of a part; the `throws_at`-th throws.
struct fragile {
  std::shared_ptr<int> copies = std::make_shared<int>(0);
  int throws_at = 0;

  explicit fragile(int at = 0) : throws_at(at) {}
  fragile(const fragile& other) : copies(other.copies), throws_at(other.throws_at) {
    if (++*copies == throws_at) throw std::runtime_error("no copy");
  }
  fragile& operator=(const fragile&) = default;
};

struct fragile_sparsifier : sv::top_k, fragile {
  explicit fragile_sparsifier(int at = 0) : sv::top_k{4}, fragile(at) {}
};

struct fragile_window : fragile {
  static constexpr bool unconditional = true;
  using fragile::fragile;
  [[nodiscard]] sv::draft_plan begin(const sv::observation&) const noexcept { return {3}; }
  [[nodiscard]] bool proceed(std::uint32_t, const sv::law&, std::uint64_t) const noexcept { return true; }
};

struct fragile_gate : sv::always_send, fragile {
  using fragile::fragile;
};

//! Makes sessions with a part whose 1st, 2nd, ... copy throws, until none does.
template <class Part>
void check_copies() {
  const sv::edge_options options{.secret = specverify_test::secret_of(1), .vocab_size = 30};
  int thrown = 0;
  for (int at = 1; thrown == at - 1; ++at) {
    const Part part(at);
    try {
      const auto edge = sv::make_edge(options, part);
      REQUIRE(edge.ok());
      CHECK(part.copies.use_count() == 2);
    } catch (const std::runtime_error&) {
      ++thrown;
    }
    CHECK(part.copies.use_count() == 1);
  }
  CHECK(thrown >= 1);
}
#endif

//! Has a budget, and counts its copies: one that owns a table would allocate for each.
struct counted_window {
  static inline int copies = 0;

  counted_window() = default;
  counted_window(const counted_window&) { ++copies; }
  counted_window& operator=(const counted_window&) = default;
  [[nodiscard]] sv::draft_plan begin(const sv::observation&) const noexcept { return {3}; }
  [[nodiscard]] bool proceed(std::uint32_t, const sv::law&, std::uint64_t) const noexcept { return true; }
  [[nodiscard]] sv::budget_clamp clamp() const noexcept { return {8}; }
  [[nodiscard]] sv::budget_clamp clamp(std::uint32_t) const noexcept { return {8}; }
};

//! Counts what it is asked.
struct silent_sparsifier : sv::top_k {
  static inline int asked = 0;
  [[nodiscard]] sv::read_request request(sv::no_state, std::uint32_t vocab_size) const noexcept {
    ++asked;
    return sv::top_k::request({}, vocab_size);
  }
  [[nodiscard]] sv::result<sv::support> select(const sv::row_summary& row, sv::no_state,
                                               sv::workspace& scratch) const noexcept {
    ++asked;
    return sv::top_k::select(row, {}, scratch);
  }
};

//! Notes whether it saw attention, which it does not ask for.
struct blind_gate {
  static constexpr bool needs_uncertainty = false, needs_attention = false, needs_coin = false;
  static constexpr sv::guarantee strength = sv::guarantee::lossy;
  int* asked = nullptr;
  int* saw = nullptr;
  [[nodiscard]] bool send(const sv::skip_observation& seen) const noexcept {
    *asked += 1;
    *saw += seen.attention.empty() ? 0 : 1;
    return true;
  }
};

}  // namespace

#if defined(__cpp_exceptions)
// The leak checker of the leg with sanitizers sees memory; what is left of the parts is counted here.
TEST_CASE("edge_session: a part that throws while it is copied leaves nothing behind, a session keeps one copy") {
  check_copies<fragile_sparsifier>();
  check_copies<fragile_window>();
  check_copies<fragile_gate>();
}
#endif

TEST_CASE("edge_session: a window with a budget is not copied with each row") {
  specverify_test::basic_pair<sv::always_send, counted_window> p;
  const int made = counted_window::copies;
  p.finish(p.start());
  CHECK(p.edge->state() == sv::edge_state::finished);
  CHECK(counted_window::copies == made);
}

TEST_CASE("edge_session: a sparsifier that was not given is asked nothing") {
  specverify_test::pair_options options;
  options.format = sv::law_format::dense_lattice;
  specverify_test::pair p(options);
  p.edge.emplace(std::move(sv::make_edge(p.edge_options(), std::optional<silent_sparsifier>(), p.window())).value());
  p.finish(p.start());
  CHECK(p.edge->state() == sv::edge_state::finished);
  CHECK(sv::draft_law_request(30, silent_sparsifier{}, {}, {options.format, 40}).close_total);
  CHECK(silent_sparsifier::asked == 0);
}

TEST_CASE("edge_session: a gate sees the attention row only if it asks for it") {
  int asked = 0, saw = 0;
  specverify_test::pair_options options;
  options.attachments.max_skipped = 2;
  specverify_test::basic_pair<blind_gate> p(options, {&asked, &saw});
  p.attention.assign(60, 0.1F);
  p.finish(p.start());
  CHECK(asked > 0);
  CHECK(saw == 0);
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
