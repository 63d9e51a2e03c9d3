// SPDX-License-Identifier: Apache-2.0
// The threshold that a session journals after every round must equal that of a replay over the committed text. Accepted
// and resampled positions move it. Bonus tokens do not, unless the rule counts the distribution at which a window
// closed.
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/sparsify/conformal.hpp>

#include <session/hand_to_hand.hpp>
#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace sv = specverify;
using namespace specverify_test;

namespace {

constexpr std::uint32_t vocab_size = 30, resolution = 60, draft_length = 4, max_length = 150;

//! Closes a window at every fifth position of the text. This depends only on the position, so distributions stay exact.
struct stopping_window {
  [[nodiscard]] sv::draft_plan begin(const sv::observation&) const noexcept { return {draft_length, resolution}; }
  [[nodiscard]] sv::plan_range range() const noexcept { return {draft_length, resolution, resolution}; }
  [[nodiscard]] bool proceed(std::uint32_t position, const sv::law&, std::uint64_t) const noexcept {
    return position % 5 != 0;
  }
};

struct replayed {
  double beta = 0;
  double dropped = 0;
  std::uint32_t updates = 0;
};

//! Updates the state for one more position of the text, by the definitions in long double.
void learn(const sv::conformal& sparsifier, const std::vector<float>& logits, replayed& state) {
  long double sum = 0, kept = 0, largest = 0;
  for (const float z : logits) sum += std::exp(static_cast<long double>(z));
  for (const float z : logits) {
    const long double q = std::exp(static_cast<long double>(z)) / sum;
    largest = std::max(largest, q);
    if (q >= static_cast<long double>(state.beta)) kept += q;
  }
  if (kept == 0) kept = largest;
  state.dropped += static_cast<double>(1 - kept);
  state.beta = std::min(1.0, state.beta - sparsifier.step * (static_cast<double>(1 - kept) - sparsifier.target));
  ++state.updates;
}

void check_text(const sv::conformal& sparsifier, std::uint64_t seed) {
  hash_model target, drafter;
  target.vocab_size = drafter.vocab_size = vocab_size;
  target.seed = drafter.seed = seed;
  drafter.agreement = 0.7F;
  drafter.own = seed + 3;
  sv::edge_options edge_wanted;
  edge_wanted.session_id = seed;
  edge_wanted.secret = secret_of(1);
  edge_wanted.vocab_size = vocab_size;
  edge_wanted.max_text_length = max_length;
  sv::cloud_options cloud_wanted;
  cloud_wanted.secret = secret_of(2);
  cloud_wanted.salt = 1;
  cloud_wanted.vocab_size = vocab_size;
  cloud_wanted.limits = sv::cloud_session::limits_for(sv::format_of(edge_wanted, sparsifier, stopping_window{}));
  cloud_wanted.max_text_length = max_length;
  auto edge_made = sv::make_edge(edge_wanted, sparsifier, stopping_window{});
  auto cloud_made = sv::make_cloud(cloud_wanted);
  REQUIRE(edge_made.ok());
  REQUIRE(cloud_made.ok());
  sv::edge_session edge = std::move(edge_made).value();
  sv::cloud_session cloud = std::move(cloud_made).value();
  hash_engine edge_engine(drafter), cloud_engine(target), oracle(drafter);
  hand_to_hand between;
  replayed expected{sparsifier.first_threshold};
  std::vector<float> row(vocab_size);
  std::uint32_t bonuses = 0, rejections = 0, beyond = 0;
  const std::vector<sv::token_id> prompt{4, 5, 6};
  REQUIRE(oracle.feed(0, prompt, 1));
  REQUIRE(edge.start(prompt, 1).ok());
  while (!between.finished) {
    between.serve(sv::exec::seq, edge, edge_engine, [&](const sv::session_output& out) {
      if (out.action == sv::session_action::committed) {
        const bool bonus = out.source == sv::token_source::bonus;
        const std::uint32_t last = out.position + static_cast<std::uint32_t>(out.tokens.size()) - 1;
        const bool closed = bonus && out.accepted < draft_length && last % 5 == 0;
        bonuses += bonus ? 1u : 0u;
        beyond += closed ? 1u : 0u;
        rejections += out.source == sv::token_source::residual ? 1u : 0u;
        for (std::uint32_t position = out.position; position <= last; ++position) {
          drafter.row(oracle.knows(), row);
          if (position < last || !bonus || (closed && sparsifier.update_on_bonus)) learn(sparsifier, row, expected);
          REQUIRE(oracle.feed(position, out.tokens.subspan(position - out.position, 1), 1));
        }
        std::vector<sv::token_id> text(max_length);
        const auto read = sv::read_journal<sv::edge_snapshot<sv::conformal_state>>(between.journal, text);
        REQUIRE(read.ok());
        const auto& last_snapshot = *read->last;
        INFO("seed ", seed, ", length ", read->text.size());
        CHECK(last_snapshot.sparsifier.updates == expected.updates);
        CHECK(last_snapshot.sparsifier.beta == doctest::Approx(expected.beta).epsilon(1e-5));
        CHECK(last_snapshot.sparsifier.dropped == doctest::Approx(expected.dropped).epsilon(1e-5));
      }
    });
    between.exchange(sv::exec::seq, cloud, cloud_engine, edge);
  }
  CHECK(edge.length() == max_length);
  CHECK(bonuses > 0);
  CHECK(beyond > 0);
  CHECK(rejections > 0);
  CHECK(expected.dropped / expected.updates <= sv::dropped_mass_bound(sparsifier, expected.updates, vocab_size));
}

}  // namespace

TEST_CASE("T22 a session resumes the threshold after accepted and resampled positions alone") {
  sv::conformal sparsifier;
  sparsifier.max_support_size = vocab_size;
  sparsifier.target = 0.05;
  sparsifier.step = 0.02;
  sparsifier.first_threshold = 0.1;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) check_text(sparsifier, seed);
}

TEST_CASE("T22 with update_on_bonus the law before which a window was closed counts too") {
  sv::conformal sparsifier;
  sparsifier.max_support_size = vocab_size;
  sparsifier.target = 0.05;
  sparsifier.step = 0.02;
  sparsifier.first_threshold = 0.1;
  sparsifier.update_on_bonus = true;
  for (std::uint64_t seed = 7; seed <= 12; ++seed) check_text(sparsifier, seed);
}

TEST_CASE("a session whose threshold sinks to nothing has room for the whole vocabulary") {
  sv::conformal sparsifier;
  sparsifier.max_support_size = vocab_size;
  sparsifier.target = 0;
  sparsifier.step = 1;
  sparsifier.first_threshold = 0.2;
  check_text(sparsifier, 13);
}
