// SPDX-License-Identifier: Apache-2.0
#include <specverify/sparsify/concepts.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/min_p.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>
#include <specverify/sparsify/threshold.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/sparsify/top_n_sigma.hpp>
#include <specverify/sparsify/top_p.hpp>
#include <specverify/sparsify/vocabulary_budget.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

struct without_state {
  specverify::result<specverify::support> select(const specverify::row_summary&) const noexcept {
    return specverify::support{};
  }
};

// A rule whose state learns, as an adaptive threshold does.
struct learning {
  struct state_type {
    double level = 0.5;
  };
  state_type initial_state() const noexcept { return {}; }
  specverify::read_request request(const state_type& state, std::uint32_t) const noexcept {
    specverify::read_request wanted;
    wanted.minimum_probability = state.level;
    return wanted;
  }
  std::size_t workspace_size(const state_type&, std::uint32_t) const noexcept { return 0; }
  specverify::result<specverify::support> select(const specverify::row_summary&, const state_type&,
                                                 specverify::workspace&) const noexcept {
    return specverify::support{};
  }
  state_type advance(const state_type& state, const specverify::support& kept) const noexcept {
    return {state.level * retained_mass(kept)};
  }
};

}  // namespace

namespace {
struct fixed_size : specverify::top_k {
  static constexpr std::uint32_t support_size = 16;
};
}  // namespace

TEST_CASE("sized_sparsifier, capped_sparsifier: by the type of the member") {
  CHECK(specverify::sized_sparsifier<specverify::top_k>);
  CHECK_FALSE(specverify::capped_sparsifier<specverify::top_k>);
  CHECK(specverify::capped_sparsifier<specverify::conformal>);
  CHECK_FALSE(specverify::sized_sparsifier<specverify::conformal>);
  CHECK_FALSE(specverify::sized_sparsifier<fixed_size>);  // a session cannot set it
}

TEST_CASE("sparsifiers are values with a small state") {
  static_assert(specverify::sparsifier<specverify::top_k>);
  static_assert(specverify::sparsifier<specverify::threshold>);
  static_assert(specverify::sparsifier<specverify::top_p>);
  static_assert(specverify::sparsifier<specverify::min_p>);
  static_assert(specverify::sparsifier<specverify::conformal>);
  static_assert(specverify::sparsifier<specverify::top_n_sigma>);
  static_assert(specverify::sparsifier<specverify::vocabulary_budget>);
  static_assert(specverify::token_sparsifier<specverify::online_vocabulary_budget>);
  static_assert(specverify::sparsifier<learning>);
  static_assert(!specverify::sparsifier<without_state>);
  static_assert(!specverify::sparsifier<int>);
  static_assert(std::is_trivially_copyable_v<specverify::top_k> && std::is_empty_v<specverify::no_state>);
  static_assert(specverify::no_state{} == specverify::no_state{});
  CHECK(specverify::top_k{4}.advance({}, {}) == specverify::no_state{});
}
