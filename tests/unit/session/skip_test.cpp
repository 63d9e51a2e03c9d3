// SPDX-License-Identifier: Apache-2.0
// Rounds without a bonus token, and tokens that the edge commits alone.
#include "pair.hpp"

#include <specverify/host/drive.hpp>

using namespace specverify;
using namespace specverify_test;

namespace {

pair_options hybrid(std::uint32_t max_skipped) {
  pair_options o;
  o.draft_length = 1;
  o.bonus = false;
  o.attachments.max_skipped = max_skipped;
  return o;
}

//! UI's gate, which also counts for the test what it was shown.
struct watched_gate : uncertainty_and_importance_gate {
  std::uint32_t* limit_passed = nullptr;  // tokens with more than 16 of 20 disagreements
  [[nodiscard]] bool send(const skip_observation& seen) const noexcept {
    *limit_passed += seen.disagreements > 16 ? 1u : 0u;
    return uncertainty_and_importance_gate::send(seen);
  }
};

//! Keeps every token.
struct never_send {
  static constexpr bool needs_uncertainty = false, needs_attention = false, needs_coin = false;
  static constexpr guarantee strength = guarantee::lossy;
  [[nodiscard]] bool send(const skip_observation&) const noexcept { return false; }
};

//! Keeps tokens while the test wants it.
struct switched {
  const bool* keep = nullptr;

  static constexpr bool needs_uncertainty = false, needs_attention = false, needs_coin = false;
  static constexpr guarantee strength = guarantee::lossy;
  [[nodiscard]] bool send(const skip_observation&) const noexcept { return !*keep; }
};

}  // namespace

TEST_CASE("session: without a bonus token a round of one draft commits one token") {
  pair p(hybrid(0));
  p.finish(p.start());
  const session_statistics& s = p.edge->statistics();
  CHECK(s.emitted == 20);
  CHECK(s.rounds == 20);
  CHECK(s.bonus_tokens == 0);
  CHECK(s.accepted + s.residual_tokens == 20);
  CHECK(s.accepted > 0);
  CHECK(s.residual_tokens > 0);
  CHECK(p.cloud->statistics().fed_tokens <= 23);  // the draft itself is never fed: its row decides nothing
  CHECK(std::vector<token_id>(p.cloud->text().begin(), p.cloud->text().end()) == p.text());
}

TEST_CASE("session: a skip policy wants room for what it keeps") {
  pair p(hybrid(0));
  CHECK(make_edge(p.edge_options(), random_skip{}).error().code == errc::invalid_argument);
}

TEST_CASE("session: a kept token is journaled, then told to the host as the edge's own, and no message is sent") {
  basic_pair<random_skip> p(hybrid(4), {0.3});
  bytes question = p.start();
  p.story.clear();
  question = p.exchange(question);
  CHECK(kind_of(question) == message_kind::draft);
  CHECK(p.story.find("evaluate journal committed evaluate") != std::string::npos);
  CHECK(p.alone > 0);
  CHECK(p.alone == p.edge->statistics().skipped);
  const std::uint32_t before = p.edge->length();
  CHECK(p.cloud->length() + p.alone == before);
  p.exchange(question);
  CHECK(p.cloud->length() == before + 1);
}

TEST_CASE("session: the cloud has the tokens that the edge kept, once it has answered the next draft") {
  for (const std::uint32_t room : {1u, 2u, 5u, 30u}) {
    for (const bool bonus : {false, true}) {
      pair_options o = hybrid(room);
      o.bonus = bonus;
      o.draft_length = bonus ? 3 : 1;
      o.budget = 60;
      basic_pair<random_skip> p(o, {0.4});
      bytes question = p.exchange(p.start());
      bool kept = false;
      while (p.edge->state() != edge_state::finished && !question.empty()) {
        const bytes answer = p.answer(question);
        const std::vector<token_id> said(p.cloud->text().begin(), p.cloud->text().end());
        question = p.hear(answer);
        kept = kept || p.edge->length() > said.size();
        const std::vector<token_id> text = p.text();
        const bool both_sides_hold_the_same_text =
            said.size() <= text.size() && std::equal(said.begin(), said.end(), text.begin());
        CHECK(both_sides_hold_the_same_text);
        if (!both_sides_hold_the_same_text) return;
      }
      CHECK(kept);
      const session_statistics& s = p.edge->statistics();
      CHECK(s.accepted + s.residual_tokens + s.bonus_tokens + s.skipped == s.emitted);
      CHECK(s.emitted == 60);
      CHECK(p.alone == s.skipped);
      CHECK(p.cloud->statistics().skipped <= s.skipped);  // what is kept after the last draft never travels
    }
  }
}

TEST_CASE("session: with the room for kept tokens full the next one is uploaded, whatever the policy says") {
  pair_options o = hybrid(3);
  basic_pair<never_send> p(o);
  p.finish(p.start());
  const session_statistics& s = p.edge->statistics();
  CHECK(s.emitted == 20);
  CHECK(s.skipped == 15);
  CHECK(s.rounds == 5);
}

TEST_CASE("session: a kept stop token ends the text") {
  basic_pair<never_send> free(hybrid(30));
  free.finish(free.start());
  CHECK(free.edge->statistics().skipped == 20);
  CHECK(free.cloud->length() == 3);
  pair_options o = hybrid(30);
  const std::vector<token_id> text = free.text();
  o.stop_tokens = {text[7]};
  basic_pair<never_send> p(o);
  p.finish(p.start());
  const auto first = static_cast<std::size_t>(std::find(text.begin() + 3, text.end(), text[7]) - text.begin());
  CHECK(p.text() == std::vector<token_id>(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(first) + 1));
}

TEST_CASE(
    "NET-5 session: with kept tokens a restart of the edge at every point gives the same text, with a journal and "
    "without") {
  basic_pair<random_skip> whole(hybrid(4), {0.5});
  whole.finish(whole.start());
  for (const bool journal : {true, false}) {
    for (std::size_t stop_after = 2; stop_after < 14; ++stop_after) {
      basic_pair<random_skip> p(hybrid(4), {0.5});
      bytes question = p.start();
      for (std::size_t i = 0; i < stop_after && p.edge->state() != edge_state::finished; ++i)
        question = p.exchange(question);
      const std::uint32_t told = p.edge->length();
      p.new_edge();
      p.now = 1000;
      if (journal) {
        CHECK(p.edge->restore(p.edge_journal, p.now).ok());
        CHECK(p.edge->length() == told);
      } else {
        CHECK(p.edge->recover(3, p.now).ok());
      }
      const std::vector<bytes> sent = p.run_edge();
      if (p.edge->state() != edge_state::finished) p.finish(pair::only(sent));
      CHECK(p.text() == whole.text());
    }
  }
}

TEST_CASE(
    "NET-5 session: an edge that ended the text alone, then lost its journal and drafts the end, is answered, and then "
    "stays at its end") {
  bool keep = true;
  pair_options options = hybrid(30);
  options.budget = 10;
  basic_pair<switched> p(options, {&keep});
  bytes question = p.start();
  for (int i = 0; i < 5 && kind_of(question) != message_kind::stop; ++i) question = p.exchange(question);
  CHECK(p.edge->statistics().skipped == 10);
  REQUIRE(kind_of(question) == message_kind::stop);
  CHECK(p.cloud->receive(question, p.now).ok());
  CHECK(p.cloud->state() == cloud_state::finished);  // it has heard of no token
  int ends = 0;
  (void)take_outputs(*p.cloud, [&](const session_output& out) {
    if (out.action != session_action::finished) return;
    ++ends;
    CHECK(out.stop == stop_reason::none);
  });
  CHECK(ends == 1);
  keep = false;
  p.new_edge();
  p.now = 1000;
  CHECK(p.edge->recover(3, p.now).ok());
  p.finish(pair::only(p.run_edge()));
  CHECK(p.edge->statistics().emitted == 10);
  CHECK(p.cloud->length() == 13);
  CHECK(p.cloud->state() == cloud_state::finished);
}

TEST_CASE("NET-5 session: a cloud that lost everything learns the text again, the kept tokens with the draft") {
  basic_pair<random_skip> whole(hybrid(4), {0.5});
  whole.finish(whole.start());
  for (const bool journal : {true, false}) {
    for (std::size_t stop_after = 2; stop_after < 14; ++stop_after) {
      basic_pair<random_skip> p(hybrid(4), {0.5});
      bytes question = p.start();
      for (std::size_t i = 0; i < stop_after && p.edge->state() != edge_state::finished; ++i)
        question = p.exchange(question);
      if (p.edge->state() == edge_state::finished) break;
      p.new_cloud();
      if (journal) CHECK(p.cloud->restore(p.cloud_journal).ok());
      for (int i = 0; i < 200 && p.edge->state() != edge_state::finished; ++i) {
        (void)p.cloud->receive(question, p.now);
        question = p.hear(pair::only(p.run_cloud()));
      }
      CHECK(p.text() == whole.text());
    }
  }
}

TEST_CASE(
    "NET-8 session: a cloud that wants more refuses tokens that nobody verifies; one without room for them says "
    "unsupported") {
  const auto refusal_of = [](basic_pair<random_skip>& p) {
    (void)p.cloud->receive(p.start(), 1);
    CHECK(p.edge->receive(pair::only(p.run_cloud()), 1).code == errc::refused_by_peer);
    (void)p.run_edge();
    return p.edge_failure.has_value() ? static_cast<errc>(p.edge_failure->where) : errc::ok;
  };
  pair_options o = hybrid(4);
  for (const guarantee wanted : {guarantee::honest_drafter, guarantee::unconditional}) {
    o.required = wanted;
    basic_pair<random_skip> p(o);
    CHECK(refusal_of(p) == errc::guarantee_too_weak);
  }
  o.required = guarantee::lossy;
  basic_pair<random_skip> p(o);
  p.options.attachments.max_skipped = 5;
  p.new_edge();
  CHECK(refusal_of(p) == errc::beyond_limit);
}

TEST_CASE("session: a policy that needs an attention row says that it is missing") {
  pair_options o = hybrid(4);
  basic_pair<uncertainty_and_importance_gate> p(o);
  (void)p.exchange(p.start());
  REQUIRE(p.edge_failure.has_value());
  CHECK(p.edge_failure->code == errc::attention_missing);
  CHECK(std::string(message(p.edge_failure->code)).find("attention") != std::string::npos);
  basic_pair<uncertainty_and_importance_gate> q(o);
  q.attention.assign(16, 1.0F / 16);
  q.finish(q.start());
  CHECK(q.edge->statistics().skipped > 0);
}

TEST_CASE("OBS-4 session: tokens that are uncertain but unimportant are counted, not those that are sent or certain") {
  for (const bool important : {false, true}) {
    std::uint32_t uncertain = 0;
    watched_gate gate;
    gate.limit_passed = &uncertain;
    basic_pair<watched_gate> p(hybrid(100), gate);
    p.attention =
        important ? std::vector<float>{0.26F, 0.25F, 0.25F, 0.24F} : std::vector<float>{0.97F, 0.01F, 0.01F, 0.01F};
    p.finish(p.start());
    const session_statistics& s = p.edge->statistics();
    REQUIRE(uncertain > 0);
    REQUIRE(s.skipped > 0);
    CHECK(s.skipped_uncertain == (important ? 0 : uncertain));
    if (!important) CHECK(s.skipped_uncertain < s.skipped);
  }
}

TEST_CASE("session: with no room for text behind them, kept tokens of a stranger end the session by name") {
  pair_options o = hybrid(30);
  const std::vector<token_id> many(20, 1);
  basic_pair<random_skip> q(o, {1.0});
  (void)q.exchange(q.start());
  const wire_place open = place_of(std::array<token_id, 3>{4, 5, 6}, 1);
  bytes forged(4096);
  draft_attachments attachments;
  attachments.skipped = many;
  const auto made = encode_draft(open, q.format(), std::span<const draft>(), attachments, forged);
  REQUIRE(made.ok());
  forged.resize(made->size());
  CHECK(q.cloud->receive(forged, 1).code == errc::base_length_mismatch);
  (void)q.run_cloud();
  REQUIRE(q.cloud_failure.has_value());
}
