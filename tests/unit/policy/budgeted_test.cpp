// SPDX-License-Identifier: Apache-2.0
#include <specverify/policy/budgeted.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/min_p.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace specverify;

namespace {

//! A flat row of `vocab_size` tokens, read for everything.
struct flat_row {
  explicit flat_row(std::uint32_t vocab_size)
      : values(vocab_size, 1.0f), memory(digest_workspace_size(vocab_size, {}, everything())) {}
  [[nodiscard]] read_request everything() const {
    return {.top_entries = static_cast<std::uint32_t>(values.size()), .integer_total = true};
  }
  template <class Sparsifier>
  [[nodiscard]] support kept_by(const Sparsifier& sparsifier) {
    workspace space{std::span<std::byte>(memory)};
    const auto row = read_row(exec::seq, logits_row(std::span<const float>(values)), {}, everything(), space);
    REQUIRE(row.ok());
    more.resize(sparsifier.workspace_size(sparsifier.widest_state(), row->vocab_size()));
    workspace scratch{std::span<std::byte>(more)};
    const auto kept = sparsifier.select(*row, sparsifier.initial_state(), scratch);
    REQUIRE(kept.ok());
    return *kept;
  }
  std::vector<float> values;
  std::vector<std::byte> memory, more{};
};

constexpr std::uint32_t vocab_size = 1000;
constexpr bit_budget_window window{8, 100, 16, vocab_size, 400, 0, position_accounting::threshold};

}  // namespace

TEST_CASE("budgeted: a sparsifier under a budget is a sparsifier") {
  static_assert(sparsifier<budgeted<top_k, bit_budget_window>>);
  static_assert(sparsifier<budgeted<conformal, bit_budget_window>>);
  conformal sparsifier;
  sparsifier.max_support_size = vocab_size;
  const budgeted<conformal, bit_budget_window> under{sparsifier, window};
  CHECK(under.initial_state() == sparsifier.initial_state());
  CHECK(under.widest_state() == sparsifier.widest_state());
  CHECK(under.request(sparsifier.initial_state(), 50).minimum_probability ==
        sparsifier.request(sparsifier.initial_state(), 50).minimum_probability);
  CHECK(under.workspace_size(sparsifier.widest_state(), 50) ==
        sparsifier.workspace_size(sparsifier.widest_state(), 50));
}

TEST_CASE("budgeted: a sparsifier that chooses its number is asked again with the cap, and says that it was cut") {
  flat_row row(vocab_size);
  const std::uint32_t most = window.clamp(vocab_size).support_size;
  REQUIRE(most > 1);
  REQUIRE(most < vocab_size);
  const support cut = row.kept_by(budgeted<min_p, bit_budget_window>{{}, window});
  CHECK(cut.size() == most);
  CHECK(cut.cut);
  CHECK(check(cut).ok());
  min_p narrow;
  narrow.max_support_size = most;
  const support whole = row.kept_by(budgeted<min_p, bit_budget_window>{narrow, window});
  CHECK(whole.size() == most);
  CHECK_FALSE(whole.cut);
  bit_budget_window rich = window;
  rich.budget = 1u << 20;
  CHECK_FALSE(row.kept_by(budgeted<min_p, bit_budget_window>{{}, rich}).cut);
}

TEST_CASE("budgeted: a sparsifier that keeps K tokens is cut where the plan's K is less than was asked for") {
  flat_row row(vocab_size);
  bit_budget_window poor = window;
  poor.support_size = 200;
  const budget_clamp most = poor.clamp();
  REQUIRE(most.clamped);
  const support at_most = row.kept_by(budgeted<top_k, bit_budget_window>{{most.support_size, true}, poor});
  CHECK(at_most.size() == most.support_size);
  CHECK(at_most.cut);
  CHECK_FALSE(row.kept_by(budgeted<top_k, bit_budget_window>{{most.support_size - 1, true}, poor}).cut);
  flat_row few(most.support_size);  // the row has no more tokens: nothing was cut
  CHECK_FALSE(few.kept_by(budgeted<top_k, bit_budget_window>{{most.support_size, true}, poor}).cut);
}

TEST_CASE("budgeted: a conformal threshold learns that a budget cut, as it does of its own cap") {
  flat_row row(vocab_size);
  conformal sparsifier;
  sparsifier.max_support_size = vocab_size;
  sparsifier.first_threshold = 1e-5;
  const budgeted<conformal, bit_budget_window> under{sparsifier, window};
  const support kept = row.kept_by(under);
  REQUIRE(kept.cut);
  conformal capped = sparsifier;
  capped.max_support_size = kept.size();
  const conformal_state next = under.advance(sparsifier.initial_state(), kept);
  CHECK(next == capped.advance(sparsifier.initial_state(), kept));
  CHECK(next.cap_hits == 1);
}
