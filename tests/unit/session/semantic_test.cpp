// SPDX-License-Identifier: Apache-2.0
// Semantic verdicts: hidden states with each draft, on request, one by one.
#include "pair.hpp"

#include <specverify/policy/protocol.hpp>

#include <algorithm>
#include <bit>

using namespace specverify;
using namespace specverify_test;

namespace {

enum class upload : std::uint8_t { with_draft, on_request, one_by_one };

pair_options semantic(upload how, double threshold = 0.5) {
  pair_options o;
  o.rule = wire_rule::semantic;
  o.format = law_format::token_only;
  o.draft_length = 6;
  o.budget = 60;
  o.threshold = threshold;
  o.attachments.hidden = hidden_format::int8;
  o.attachments.hidden_size = 6;
  o.attachments.hidden_with_draft = how == upload::with_draft;
  o.attachments.channel_report = true;
  o.lazy = how == upload::one_by_one;
  return o;
}

bytes to_request(pair& p) {
  bytes question = p.exchange(p.start());
  for (;;) {
    const bytes answer = p.answer(question);
    if (kind_of(answer) == message_kind::request) return answer;
    question = p.hear(answer);
  }
}

}  // namespace

TEST_CASE(
    "session: with the same scores, hidden states with each draft, on request and one by one give the same text, "
    "rounds and accepted lengths") {
  for (const double threshold : {0.0, 0.2, 0.5, 0.9, 2.0}) {
    pair with_draft(semantic(upload::with_draft, threshold)), on_request(semantic(upload::on_request, threshold)),
        lazy(semantic(upload::one_by_one, threshold));
    for (pair* p : {&with_draft, &on_request, &lazy}) p->finish(p->start());
    const session_statistics& a = with_draft.edge->statistics();
    for (pair* p : {&on_request, &lazy}) {
      const session_statistics& b = p->edge->statistics();
      CHECK(p->text() == with_draft.text());
      CHECK(a.rounds == b.rounds);
      CHECK(a.accepted == b.accepted);
      for (std::uint32_t i = 0; i < 6; ++i) {
        CHECK(a.accepted_at[i] == b.accepted_at[i]);
        CHECK(a.evaluated_at[i] == b.evaluated_at[i]);
      }
      CHECK(p->cloud->statistics().mismatches == with_draft.cloud->statistics().mismatches);
      CHECK(p->cloud->statistics().accepted_mismatches == with_draft.cloud->statistics().accepted_mismatches);
      CHECK(b.supply_bytes > 0);
    }
    CHECK(a.supply_bytes == 0);
    CHECK(lazy.edge->statistics().supply_bytes <= 2 * on_request.edge->statistics().supply_bytes);
    std::size_t vectors_lazy = 0, vectors_at_once = 0;
    for (const bytes& seen : lazy.scored) vectors_lazy += seen.size();
    for (const bytes& seen : on_request.scored) vectors_at_once += seen.size();
    CHECK(vectors_lazy <= vectors_at_once);
    if (threshold == 0.2) CHECK(vectors_lazy < vectors_at_once);
    CHECK(with_draft.cloud->statistics().mismatches > 0);
  }
}

TEST_CASE(
    "E31 session: on request every mismatch of a round is asked for at once; one by one the first that is not scored") {
  for (const upload how : {upload::on_request, upload::one_by_one}) {
    pair p(semantic(how));
    p.hold_scores = true;
    std::uint32_t asked_behind_a_rejection = 0, asked_again = 0, scored_before = 0;
    for (bytes question = p.start(); p.edge->state() != edge_state::finished && !question.empty();) {
      REQUIRE(p.cloud->receive(question, 1).ok());
      std::vector<bytes> sent = p.run_cloud();
      while (p.cloud->state() == cloud_state::scoring) {
        // What the cloud's engine was fed says what was drafted; a draft is a mismatch where it is not the row's
        // argmax.
        std::uint64_t mismatches = 0;
        const std::uint32_t base = p.cloud->draft_position();
        std::vector<float> row(pair::vocab_size);
        for (std::uint32_t i = 0; p.cloud_engine.knows(base + i) != 0; ++i) {
          const std::uint64_t before = p.cloud_engine.knows(base + i - 1);
          pair::model(false).row(before, row);
          const auto best = static_cast<std::uint64_t>(std::max_element(row.begin(), row.end()) - row.begin());
          if (p.cloud_engine.knows(base + i) != mix(before ^ (best + 0x51ED))) mismatches |= std::uint64_t{1} << i;
        }
        const std::uint64_t asked = p.scored_positions.back();
        for (std::uint32_t i = 0; how == upload::one_by_one && i < scored_before; ++i) mismatches &= mismatches - 1;
        REQUIRE(mismatches != 0);
        CHECK(asked == (how == upload::on_request ? mismatches : mismatches & (~mismatches + 1)));
        asked_again += scored_before > 0 ? 1u : 0u;
        asked_behind_a_rejection += (asked & (asked - 1)) != 0 ? 1u : 0u;
        // On request all are rejected, so that all but the first were asked for in vain; one by one every second one
        // stands.
        std::vector<double> scores(static_cast<std::size_t>(std::popcount(asked)),
                                   how == upload::on_request || scored_before % 2 == 1 ? 0.9 : 0.1);
        scored_before = how == upload::one_by_one && scores[0] < 0.5 ? scored_before + 1 : 0;
        REQUIRE(p.cloud->supply_scores(scores, 1).ok());
        sent = p.run_cloud();
      }
      if (kind_of(pair::only(sent)) == message_kind::feedback) scored_before = 0;
      question = p.hear(sent.front());
    }
    CHECK(p.edge->state() == edge_state::finished);
    CHECK((how == upload::on_request ? asked_behind_a_rejection : asked_again) > 0);
    CHECK((how == upload::on_request ? asked_again : asked_behind_a_rejection) == 0);
  }
}

TEST_CASE(
    "OBS-3 session: the cloud says of each round its drafts, its mismatches and how many were scored, which a "
    "protocol's history wants") {
  for (const upload how : {upload::with_draft, upload::on_request, upload::one_by_one}) {
    pair p(semantic(how, 0.5));
    CHECK(p.cloud->last_round().round == 0);
    mismatch_history history, expected;
    session_statistics before;
    std::uint32_t rounds = 0, behind = 0;
    for (bytes question = p.start(); p.edge->state() != edge_state::finished && !question.empty();) {
      p.scored_positions.clear();
      bytes answer = p.answer(question);
      while (kind_of(answer) == message_kind::request) answer = p.answer(p.hear(answer));
      question = p.hear(answer);
      if (kind_of(answer) != message_kind::feedback) continue;
      const decided_round& round = p.cloud->last_round();
      const session_statistics& now = p.cloud->statistics();
      std::uint64_t asked = 0;
      for (const std::uint64_t positions : p.scored_positions) asked |= positions;
      // one by one: those that were scored; else all
      const auto named = static_cast<std::uint32_t>(std::popcount(asked));
      CHECK(round.round == ++rounds);
      CHECK(round.drafted == p.edge->last_round().drafted);
      CHECK(round.accepted == p.edge->last_round().accepted);
      CHECK(round.scored == now.mismatches - before.mismatches);
      CHECK(round.accepted_score == doctest::Approx(spent_score(now) - spent_score(before)).epsilon(1e-8));
      CHECK((how == upload::one_by_one ? round.scored : round.mismatches) == named);
      CHECK(round.scored <= round.mismatches);
      behind += round.mismatches - round.scored;
      history.record(round.drafted, round.mismatches, round.scored);
      expected.record(round.drafted, how == upload::one_by_one ? round.mismatches : named,
                      static_cast<std::uint32_t>(now.mismatches - before.mismatches));
      before = now;
    }
    CHECK(rounds == p.cloud->statistics().rounds);
    CHECK(behind > 0);
    CHECK(history.of(6).mismatches == expected.of(6).mismatches);
    CHECK(history.of(6).evaluated == expected.of(6).evaluated);
  }
  pair_options o;
  o.rule = wire_rule::greedy;
  pair greedy(o);
  greedy.finish(greedy.start());
  CHECK(greedy.cloud->last_round().round > 0);
  CHECK(greedy.cloud->last_round().mismatches == 0);
}

TEST_CASE("COR-11 session: the cloud adds up the scores of the mismatches that stood") {
  pair p(semantic(upload::one_by_one));
  p.hold_scores = true;
  constexpr std::array<double, 4> pattern{0.125, 0.25, 0.75, 0.375};  // 0.75 is rejected
  double sum = 0, largest = 0;
  std::uint32_t given = 0;
  for (bytes question = p.start(); p.edge->state() != edge_state::finished && !question.empty();) {
    REQUIRE(p.cloud->receive(question, 1).ok());
    std::vector<bytes> sent = p.run_cloud();
    while (p.cloud->state() == cloud_state::scoring) {
      const double score = pattern[given++ % pattern.size()];
      if (score < 0.5) sum += score, largest = std::max(largest, score);
      REQUIRE(p.cloud->supply_scores(std::array<double, 1>{score}, 1).ok());
      sent = p.run_cloud();
    }
    question = p.hear(pair::only(sent));
    CHECK(spent_score(p.cloud->statistics()) <= sum);  // of decided rounds
  }
  CHECK(given > 8);
  CHECK(spent_score(p.cloud->statistics()) == sum);
  CHECK(largest_spent_score(p.cloud->statistics()) == largest);
  CHECK(p.cloud->statistics().mismatches == given);
  CHECK(spent_score(p.edge->statistics()) == 0);
}

TEST_CASE("T24 session: threshold 0 is the greedy session, above 1 every draft stands") {
  pair_options o = semantic(upload::on_request, 0.0);
  pair strict(o);
  strict.finish(strict.start());
  o.rule = wire_rule::greedy;
  o.attachments = {};
  pair greedy(o);
  greedy.finish(greedy.start());
  CHECK(strict.text() == greedy.text());
  CHECK(strict.edge->statistics().rounds == greedy.edge->statistics().rounds);
  pair loose(semantic(upload::with_draft, 1.5));
  loose.finish(loose.start());
  CHECK(loose.edge->statistics().accepted == loose.edge->statistics().drafted);
  CHECK(loose.text() != greedy.text());
}

TEST_CASE(
    "session: a scorer sees the vectors of the named drafts as the edge's engine gave them, and the reported channel") {
  pair p(semantic(upload::with_draft));
  p.edge->record_channel({1e6F, 2e6F, 0.01F, 0.0F, 0.05F}, 1);
  p.hold_scores = true;
  bytes question = p.exchange(p.start());
  while (p.scored.empty()) {
    CHECK(p.cloud->receive(question, 1).ok());
    const std::vector<bytes> sent = p.run_cloud();
    if (!sent.empty()) question = p.hear(sent.front());
  }
  CHECK(p.cloud->state() == cloud_state::scoring);
  CHECK(p.cloud->reported_channel().uplink_rate > 0.99e6F);
  CHECK(p.cloud->reported_channel().uplink_rate < 1.01e6F);
  CHECK(p.cloud->draft_position() == p.cloud->length());
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < 6; ++i) {
    if ((p.scored_positions[0] >> i & 1u) == 0) continue;
    // The edge's engine was fed up to the draft before i when it gave this row.
    const std::array<float, 6> given = hidden_of<6>(p.edge_engine.knows(p.cloud->draft_position() + i - 1));
    std::array<std::byte, 10> coded{};
    REQUIRE(encode_hidden(given, hidden_format::int8, coded).ok());
    REQUIRE(p.scored[0].size() >= at + 10);
    CHECK(std::equal(coded.begin(), coded.end(), p.scored[0].begin() + static_cast<std::ptrdiff_t>(at)));
    at += 10;
  }
  CHECK(at == p.scored[0].size());
  const std::vector<double> wrong(at / 10 + 1, 0.5), right(at / 10, 0.0);
  CHECK(p.cloud->supply_scores(wrong, 1).code == errc::size_mismatch);
  CHECK(p.cloud->supply_scores(right, 1).ok());
  CHECK(kind_of(pair::only(p.run_cloud())) == message_kind::feedback);
  CHECK(p.cloud->supply_scores(right, 1).code == errc::unexpected_message);
}

TEST_CASE("session: a score outside [0, 1] ends the session by name, on both sides") {
  pair p(semantic(upload::with_draft));
  p.hold_scores = true;
  bytes question = p.exchange(p.start());
  std::vector<bytes> sent;
  while (p.scored.empty()) {
    CHECK(p.cloud->receive(question, 1).ok());
    sent = p.run_cloud();
    if (!sent.empty()) question = p.hear(sent.front());
  }
  const std::vector<double> bad(p.scored[0].size() / 10, 1.25);
  CHECK(p.cloud->supply_scores(bad, 1).code == errc::invalid_argument);
  CHECK(p.edge->receive(pair::only(p.run_cloud()), 1).code == errc::refused_by_peer);
}

TEST_CASE("session: an engine that gives no hidden state is named") {
  const auto to_first_row = [](pair& p) {
    CHECK(p.edge->receive(p.answer(p.start()), 1).ok());
    CHECK(p.edge->next().action == session_action::send);
    CHECK(p.edge->next().action == session_action::evaluate);
    CHECK(p.edge_engine.feed(0, p.edge->text(), 1));
  };
  pair p(semantic(upload::on_request));
  to_first_row(p);
  CHECK(p.edge->supply_row(exec::seq, p.edge_engine.rows()[0], {}, 1).code == errc::hidden_state_missing);
  pair q(semantic(upload::on_request));
  to_first_row(q);
  const std::array<float, 5> narrow{};
  CHECK(q.edge->supply_row(exec::seq, q.edge_engine.rows()[0], {}, {narrow, {}}, 1).code == errc::size_mismatch);
}

TEST_CASE("NET-5 session: a connection is lost with a request, a supply, or the verdict; the text is the same") {
  pair whole(semantic(upload::on_request));
  whole.finish(whole.start());
  for (int lost = 0; lost < 3; ++lost) {
    CAPTURE(lost);
    pair p(semantic(upload::on_request));
    const bytes request = to_request(p);
    if (lost > 0) {
      const bytes supply = p.hear(request);
      CHECK(kind_of(supply) == message_kind::supply);
      if (lost == 2) CHECK(kind_of(p.answer(supply)) == message_kind::feedback);
    }
    const std::uint64_t rounds = p.edge->statistics().rounds;
    const bytes draft = p.exchange(p.reconnect());
    CHECK(kind_of(draft) == message_kind::draft);
    CHECK(p.edge->statistics().rounds == rounds + (lost == 2 ? 1 : 0));  // the verdict came with hello
    p.finish(draft);
    CHECK(p.text() == whole.text());
    CHECK(p.edge->statistics().rounds == whole.edge->statistics().rounds);
  }
}

TEST_CASE("NET-5 session: a cloud restarted between request and supply is sent the draft again") {
  pair whole(semantic(upload::on_request));
  whole.finish(whole.start());
  for (const bool journal : {true, false}) {
    CAPTURE(journal);
    pair p(semantic(upload::on_request));
    const bytes supply = p.hear(to_request(p));
    p.new_cloud();
    if (journal) CHECK(p.cloud->restore(p.cloud_journal).ok());
    CHECK(p.cloud->receive(supply, 1).code == errc::no_handshake);
    const bytes hello = p.hear(pair::only(p.run_cloud()));
    CHECK(kind_of(hello) == message_kind::hello);
    p.finish(hello);
    CHECK(p.text() == whole.text());
  }
}

TEST_CASE(
    "NET-5 session: an edge restarted between request and supply, and while the host scores, drafts the round again") {
  for (const upload how : {upload::on_request, upload::one_by_one}) {
    pair whole(semantic(how, 0.9));
    whole.finish(whole.start());
    for (const bool scoring : {false, true}) {
      pair p(semantic(how, 0.9));
      const bytes request = to_request(p);
      p.hold_scores = scoring;
      if (scoring) {
        CHECK(p.cloud->receive(p.hear(request), 1).ok());
        CHECK(p.run_cloud().empty());
        CHECK(p.cloud->state() == cloud_state::scoring);
      }
      p.new_edge();
      CHECK(p.edge->restore(p.edge_journal, 10).ok());
      CHECK(p.cloud->receive(pair::only(p.run_edge()), 10).ok());
      if (scoring) {
        CHECK(p.run_cloud().empty());  // the host still works
        p.hold_scores = false;
        const bytes& vectors = p.scored.back();
        std::vector<double> scores;
        for (std::uint32_t i = 0; scores.size() < vectors.size() / 10; ++i) {
          if ((p.scored_positions.back() >> i & 1u) == 0) continue;
          scores.push_back(score_of(std::span(vectors).subspan(10 * scores.size(), 10),
                                    p.cloud_engine.knows(p.cloud->draft_position() + i - 1)));
        }
        CHECK(p.cloud->supply_scores(scores, 10).ok());
      }
      bytes question;
      for (const bytes& answer : p.run_cloud()) question = p.hear(answer);
      p.finish(question);
      CHECK(p.text() == whole.text());
      CHECK(std::vector<token_id>(p.cloud->text().begin(), p.cloud->text().end()) == p.text());
    }
  }
}

TEST_CASE("NET-8 session: a scorer is lossy, and hello says so") {
  pair_options o = semantic(upload::with_draft);
  o.required = guarantee::honest_drafter;
  pair p(o);
  CHECK(p.cloud->receive(p.start(), 1).code == errc::guarantee_too_weak);
  CHECK(p.edge->receive(pair::only(p.run_cloud()), 1).code == errc::refused_by_peer);
  pair r(semantic(upload::with_draft));
  r.options.attachments.hidden_size = 4000;
  r.new_edge();
  const bytes hello = r.start();
  CHECK(r.cloud->receive(hello, 1) == status{errc::beyond_limit, part::session, cloud_options::at_max_hidden_bytes});
}
