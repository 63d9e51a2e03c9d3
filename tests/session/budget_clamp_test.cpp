// SPDX-License-Identifier: Apache-2.0
// A bit budget in a session: no position of C-SQS or K-SQS may cost more than a round has, for any support of the rule.
// Distributions that were cut are counted, and meanwhile the threshold must not wind up.
#include <specverify/policy/window.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/sparsify/conformal.hpp>

#include <session/hand_to_hand.hpp>
#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace sv = specverify;
using namespace specverify_test;

namespace {

constexpr std::uint32_t gpt_vocab = 50257, max_length = 20;

//! Records the size of each drafted distribution.
struct watched_window : sv::bit_budget_window {
  std::vector<std::uint32_t>* sizes = nullptr;

  [[nodiscard]] std::uint64_t charge(const sv::law& next) const noexcept {
    sizes->push_back(next.size);
    return bit_budget_window::charge(next);
  }
};

struct story {
  sv::session_statistics statistics{};
  std::vector<std::uint32_t> sizes{};  // ids of each distribution that a round drafted
  std::vector<sv::round_record> rounds{};
  std::vector<sv::conformal_state> states{};  // threshold state after each round
};

template <class Sparsifier>
story write_text(const Sparsifier& sparsifier, const watched_window& plan,
                 sv::law_format law = sv::law_format::sparse_paper) {
  story made;
  watched_window window = plan;
  window.sizes = &made.sizes;
  hash_model target, drafter;
  target.vocab_size = drafter.vocab_size = window.vocab_size;
  drafter.agreement = 0.9F;
  drafter.own = 4;
  sv::edge_options asked;
  asked.secret = secret_of(1);
  asked.vocab_size = window.vocab_size;
  asked.format = law;
  asked.max_text_length = max_length;
  sv::cloud_options serves;
  serves.secret = secret_of(2);
  serves.salt = 1;
  serves.vocab_size = window.vocab_size;
  serves.limits = sv::cloud_session::limits_for(sv::format_of(asked, sparsifier, window));
  serves.max_text_length = max_length;
  auto edge_made = sv::make_edge(asked, sparsifier, window);
  auto cloud_made = sv::make_cloud(serves);
  REQUIRE(edge_made.ok());
  REQUIRE(cloud_made.ok());
  sv::edge_session edge = std::move(edge_made).value();
  sv::cloud_session cloud = std::move(cloud_made).value();
  hash_engine edge_engine(drafter), cloud_engine(target);
  hand_to_hand between;
  REQUIRE(edge.start(std::vector<sv::token_id>{4, 5, 6}, 1).ok());
  while (!between.finished) {
    between.serve(sv::exec::simd, edge, edge_engine, [&](const sv::session_output& out) {
      if (out.action != sv::session_action::committed) return;
      made.rounds.push_back(edge.last_round());
      std::vector<sv::token_id> text(max_length);
      const auto read = sv::read_journal<sv::edge_snapshot<typename Sparsifier::state_type>>(between.journal, text);
      REQUIRE(read.ok());
      const auto& last = *read->last;
      if constexpr (requires { last.sparsifier.beta; }) made.states.push_back(last.sparsifier);
    });
    between.exchange(sv::exec::simd, cloud, cloud_engine, edge);
  }
  CHECK(edge.length() == max_length);
  made.statistics = edge.statistics();
  return made;
}

//! Distributions are drafted and rounds decided in order. Checks each round's bits by the formula of the paper.
void check_bits(const story& told, std::uint64_t budget, std::uint32_t resolution) {
  std::size_t next = 0;
  std::uint64_t clamped = 0;
  for (const sv::round_record& round : told.rounds) {
    double bits = 0;
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < round.drafted; ++i) {
      kept += told.sizes.at(next);
      bits += sv::threshold_law_bits(gpt_vocab, told.sizes.at(next++), resolution);
    }
    CHECK(round.support_sum == kept);
    CHECK(bits <= static_cast<double>(budget));
    CHECK(8 * round.draft_bytes <= budget + 300);  // header, and each token's index among its ids
    clamped += round.clamped;
  }
  CHECK(next == told.sizes.size());
  CHECK(told.statistics.budget_clamp == clamped);
}

sv::conformal threshold_of(double first, double step) {
  sv::conformal sparsifier;
  sparsifier.max_support_size = gpt_vocab;
  sparsifier.first_threshold = first;
  sparsifier.step = step;
  return sparsifier;
}

}  // namespace

TEST_CASE(
    "E9 C-SQS at V = 50257, l = 100, B = 5000: a support that no round could send is cut to the 582 tokens that fit") {
  const watched_window window{{8, 100, 0, gpt_vocab, 5000, 0, sv::position_accounting::threshold}};
  const story told = write_text(threshold_of(2e-5, 0), window);  // thousands of tokens are above it
  check_bits(told, 5000, 100);
  for (const std::uint32_t size : told.sizes) CHECK(size == 582);
  CHECK(told.statistics.budget_clamp == told.statistics.drafted);
  for (const sv::round_record& round : told.rounds) CHECK(round.drafted <= 1);  // there is room for no more, but L >= 1
  for (const sv::conformal_state& state : told.states) CHECK(state.cap_hits == state.updates);
}

TEST_CASE("E9 a support that fits is left alone, be it small or nearly the vocabulary") {
  const watched_window window{{8, 100, 0, gpt_vocab, 5000, 0, sv::position_accounting::threshold}};
  for (const double first : {2.2e-4, -1.0}) {
    const story told = write_text(threshold_of(first, 0), window);
    check_bits(told, 5000, 100);
    CHECK(told.statistics.budget_clamp == 0);
    CHECK(told.statistics.drafted > told.statistics.rounds);
    for (const std::uint32_t size : told.sizes) CHECK((first < 0 ? size > 49770 : size < 582));
    for (const sv::conformal_state& state : told.states) CHECK(state.cap_hits == 0);
  }
}

TEST_CASE("E9 while the budget cuts, the threshold stays above -eta (1 - alpha)") {
  // even all V tokens cost too much
  const watched_window window{{8, 100, 0, gpt_vocab, 1000, 0, sv::position_accounting::threshold}};
  const sv::conformal sparsifier = threshold_of(2e-5, 0.1);
  const story told = write_text(sparsifier, window);
  check_bits(told, 1000, 100);
  CHECK(told.statistics.budget_clamp == told.statistics.drafted);
  CHECK(told.states.size() > 3);
  const double bottom = -sparsifier.step * (1 - sparsifier.target);
  for (const sv::conformal_state& state : told.states) {
    CHECK(state.beta >= bottom);
    CHECK(state.cap_hits == state.updates);
  }
  CHECK(told.states.back().beta == bottom);
}

TEST_CASE("E9 K-SQS under a budget: K as clamped") {
  const watched_window window{{8, 100, 1024, gpt_vocab, 5000, 0, sv::position_accounting::top_k}};
  const story cut = write_text(sv::top_k{1024}, window);
  for (const std::uint32_t size : cut.sizes) CHECK(size == 585);
  CHECK(cut.statistics.budget_clamp == cut.statistics.drafted);
  for (const sv::round_record& round : cut.rounds) CHECK(round.drafted <= 1);
  const watched_window fits{{8, 100, 32, gpt_vocab, 5000, 0, sv::position_accounting::top_k}};
  const story told = write_text(sv::top_k{32}, fits);
  for (const std::uint32_t size : told.sizes) CHECK(size == 32);
  CHECK(told.statistics.budget_clamp == 0);
  CHECK(told.statistics.drafted > told.statistics.rounds);
}

TEST_CASE("E9 K-SQS under a budget that all V fit and K does not: all V are sent where the window allows it") {
  const watched_window window{{8, 100, 1024, gpt_vocab, 5000, 0, sv::position_accounting::top_k, true}};
  const story told = write_text(sv::top_k{1024}, window);
  for (const std::uint32_t size : told.sizes) CHECK(size > 49770);
  CHECK(told.statistics.budget_clamp == 0);
  CHECK(told.statistics.drafted > told.statistics.rounds);
}

TEST_CASE("E9 the code that travels: laws of l counts or fewer fit 5000 bits, and 600 bits cut them") {
  for (const std::uint64_t budget : {5000u, 600u}) {
    const watched_window window{{8, 100, 0, gpt_vocab, budget, 80, sv::position_accounting::drop_zero}};
    const story told = write_text(threshold_of(2e-5, 0), window, sv::law_format::sparse_drop_zero);
    for (const sv::round_record& round : told.rounds) CHECK(8 * round.draft_bytes <= budget);
    CHECK(told.statistics.budget_clamp == (budget == 600 ? told.statistics.drafted : 0));
  }
}
