// SPDX-License-Identifier: Apache-2.0
// Without timers (retry_timeout = 0) nothing is asked twice: what a new connection or another life of a side asks is
// answered, whatever the sides remember of the one before.
#include <specverify/host/drive.hpp>

#include <session/without_timers.hpp>

#include <algorithm>
#include <deque>
#include <utility>

using namespace specverify;
using namespace specverify_test;

TEST_CASE("NET-5 edge: a new connection begins a new epoch, so that a cloud with older numbers is heard") {
  for (int lost = 1; lost <= 8; ++lost) {
    CAPTURE(lost);
    pair p(without_timers());
    bytes question = to_first_draft(p);
    const bytes journal = p.cloud_journal;
    for (int i = 0; i < lost; ++i) question = p.exchange(question);
    const std::uint32_t epoch = p.edge->epoch();
    p.new_cloud();  // its last records were lost with the power
    REQUIRE(p.cloud->restore(journal).ok());
    REQUIRE(p.edge->reconnect(p.now).ok());
    CHECK(p.edge->epoch() == epoch + 1);
    (void)go_on(p);
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 edge: a connection that is lost while a block is drafted begins a new epoch, too") {
  pair p(without_timers());
  bytes question = to_first_draft(p);
  const bytes journal = p.cloud_journal;
  question = p.exchange(question);
  REQUIRE(p.cloud->receive(question, p.now).ok());
  REQUIRE(p.edge->receive(pair::only(p.run_cloud()), p.now).ok());
  const session_work work = take_outputs(*p.edge, [&](const session_output& out) {
    if (out.action == session_action::rollback) CHECK(p.edge_engine.cut(out.position));
  });
  REQUIRE(p.edge->state() == edge_state::drafting);
  p.new_cloud();
  REQUIRE(p.cloud->restore(journal).ok());
  const std::uint32_t epoch = p.edge->epoch();
  REQUIRE(p.edge->reconnect(p.now).ok());
  CHECK(p.edge_engine.feed(work.asked.position, work.asked.tokens, work.asked.rows));
  REQUIRE(p.edge->supply_row(exec::seq, p.edge_engine.rows()[0], {}, p.now).ok());
  (void)go_on(p);
  CHECK(p.edge->epoch() == epoch + 1);
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.text() == whole_text());
}

TEST_CASE("NET-5 cloud: another life of the edge in the same epoch is answered, whatever its numbers are") {
  for (int rounds = 0; rounds <= 6; ++rounds) {
    for (const bool recovers : {false, true}) {
      CAPTURE(rounds);
      CAPTURE(recovers);
      pair p(without_timers());
      bytes question = to_first_draft(p);
      const bytes journal = p.edge_journal;
      const auto begin = [&] {
        p.new_edge();
        return recovers ? p.edge->recover(3, 5)
                        : (p.edge->restore(journal, 5) ? status{} : status{errc::journal_corrupt});
      };
      REQUIRE(begin().ok());
      question = pair::only(p.run_edge());
      for (int i = 0; i < rounds; ++i) question = p.exchange(question);
      REQUIRE(begin().ok());  // from the same journal, or at the same time
      (void)go_on(p);
      CHECK(p.edge->state() == edge_state::finished);
      CHECK(p.text() == whole_text());
    }
  }
}

TEST_CASE("NET-5 edge: lives without a journal have no nonce in common, however often one connects anew") {
  pair p(without_timers());
  (void)to_first_draft(p);
  for (const session_time now : {5u, 6u, 7u}) {
    CAPTURE(now);
    const std::uint32_t epoch = p.cloud->epoch();
    p.new_edge();
    REQUIRE(p.edge->recover(3, now).ok());
    bytes question = pair::only(p.run_edge());
    for (int connections = 0; connections < 3; ++connections) {
      CHECK(p.cloud->receive(question, now).ok());
      (void)p.run_cloud();  // lost
      REQUIRE(p.edge->reconnect(now).ok());
      question = pair::only(p.run_edge());
    }
    CHECK(p.cloud->epoch() == epoch + 3 * 1024);
  }
  (void)go_on(p);
}

TEST_CASE("NET-5 edge: what earlier lives were told does not end one that recovers") {
  pair_options o = without_timers();
  o.edge_chunk = o.cloud_chunk = 2;
  pair p(o);
  std::vector<bytes> told{p.answer(p.start())};  // where the cloud stood before it had the prompt
  bytes question = p.hear(told.back());
  while (p.edge->round() < 4) {
    told.push_back(p.answer(question));
    question = p.hear(told.back());
  }
  for (std::size_t i = 0; i < told.size(); ++i) {
    CAPTURE(i);
    p.new_edge();
    REQUIRE(p.edge->recover(3, 5 + i).ok());
    const bytes asked = pair::only(p.run_edge());
    (void)p.edge->receive(told[i], p.now);  // late
    (void)go_on(p, {asked});
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 edge: a refusal ends the life that it was meant for, and no other one") {
  const status why{errc::row_has_nan, part::host, 12};
  for (const bool recovers : {false, true}) {
    CAPTURE(recovers);
    pair p(without_timers());
    REQUIRE(p.cloud->receive(to_first_draft(p), p.now).ok());
    p.hold_rows = true;
    (void)p.run_cloud();
    REQUIRE(p.cloud->engine_failed(why) == why);
    p.hold_rows = false;
    const bytes late = pair::only(p.run_cloud());
    const bytes journal = p.cloud_journal;
    p.new_cloud();  // both sides have other lives
    REQUIRE(p.cloud->restore(journal).ok());
    p.new_edge();
    if (recovers) {
      REQUIRE(p.edge->recover(3, 5).ok());
    } else {
      REQUIRE(p.edge->restore(p.edge_journal, 5).ok());
    }
    const bytes asked = pair::only(p.run_edge());
    CHECK_FALSE(p.edge->receive(late, 5).ok());
    CHECK(p.edge->state() == edge_state::resuming);
    (void)go_on(p, {asked});
    CHECK_FALSE(p.edge->receive(late, 5).ok());
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 edge: a refusal that names no epoch, and ends a session, is of no life") {
  pair p(without_timers());
  const bytes draft = to_first_draft(p);
  for (const std::uint64_t named : {0u, 7u}) {
    wire_context context{};
    context.session_id = named;
    bytes refusal(16);
    REQUIRE(encode_refuse(context, {{errc::row_has_nan, part::session, 12}}, refusal).ok());
    CHECK(p.edge->receive(refusal, 5).code == errc::stale_epoch);
    CHECK(p.edge->state() == edge_state::waiting);
  }
  (void)go_on(p, {draft});
  CHECK(p.edge->state() == edge_state::finished);
}

TEST_CASE("NET-5 session: an edge that fails before it knows an epoch tells the cloud; its next life goes on") {
  const status why{errc::engine_failed, part::host, 3};
  pair p(without_timers());
  (void)p.exchange(to_first_draft(p));
  p.new_edge();
  REQUIRE(p.edge->recover(3, 5).ok());
  const bytes asked = pair::only(p.run_edge());
  CHECK(p.edge->engine_failed(why) == why);
  const bytes told = pair::only(p.run_edge());
  CHECK(p.cloud->receive(told, 5).code == errc::checksum_mismatch);  // has not heard of that life
  CHECK(p.cloud->receive(asked, 5).ok());
  (void)p.run_cloud();
  CHECK(p.cloud->receive(told, 5).code == errc::refused_by_peer);
  CHECK(p.run_cloud().empty());
  CHECK(p.cloud->refusal() == why);
  p.new_edge();
  REQUIRE(p.edge->recover(3, 6).ok());
  const bytes again = pair::only(p.run_edge());
  CHECK(p.cloud->receive(again, 6).ok());
  CHECK(p.cloud->refusal().ok());
  CHECK(p.cloud->state() == cloud_state::ready);
  CHECK_FALSE(p.cloud->receive(told, 6).ok());
  CHECK(p.cloud->state() == cloud_state::ready);
  REQUIRE(p.edge->receive(pair::only(p.run_cloud()), 6).ok());
  (void)go_on(p);
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.text() == whole_text());
}

TEST_CASE("NET-5 session: a living edge in an epoch that is over hears where the cloud stands, whatever it asks") {
  for (int exchanges = 0; exchanges < 30; ++exchanges) {
    CAPTURE(exchanges);
    pair_options o = without_timers();
    o.edge_chunk = o.cloud_chunk = 2;
    pair p(o);
    bytes question = p.start();
    for (int i = 0; i < exchanges && p.edge->state() != edge_state::finished; ++i) question = p.exchange(question);
    if (p.edge->state() == edge_state::finished) break;
    if (p.cloud->state() == cloud_state::blank) continue;
    bytes other(36);  // a life that has the prompt, and that nobody hears of again
    REQUIRE(encode_resume({{7, 9, 1, 3, prefix_hash(p.edge->text().first(3)), 0}}, other).ok());
    REQUIRE(p.cloud->receive(other, p.now).ok());
    (void)p.run_cloud();
    CHECK(p.cloud->receive(question, p.now).code == errc::stale_epoch);
    const bytes place = pair::only(p.run_cloud());
    CHECK(kind_of(place) == message_kind::resume);
    std::size_t more = 0;
    for (int i = 0; i < 100; ++i) (void)p.cloud->receive(question, p.now), more += p.run_cloud().size();
    if (kind_of(question) != message_kind::hello) CHECK(more == 3);  // a flood is not answered
    CHECK(p.edge->receive(place, p.now).ok());
    CHECK(p.edge->epoch() == 10);
    (void)go_on(p);
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 session: a draft of a round that the cloud knows as text alone is answered with the text") {
  pair p(without_timers());
  bytes question = to_first_draft(p);
  for (int i = 0; i < 3; ++i) question = p.exchange(question);
  const bytes journal = p.edge_journal;  // with the draft of the open round
  question = p.exchange(question);
  p.new_cloud();
  REQUIRE(p.edge->reconnect(p.now).ok());
  question = pair::only(p.run_edge());
  CHECK(p.cloud->receive(question, p.now).code == errc::unknown_session);
  question = p.hear(pair::only(p.run_cloud()));
  question = p.exchange(p.exchange(question));  // has the text now, and no verdict
  REQUIRE(kind_of(question) == message_kind::draft);
  const std::vector<token_id> text = p.text();
  p.new_edge();
  REQUIRE(p.edge->restore(journal, p.now).ok());
  REQUIRE(p.edge->round() + 1 == p.cloud->round());
  (void)go_on(p);
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(std::equal(text.begin(), text.end(), p.text().begin()));
}

TEST_CASE("NET-5 stream: after a resume the edge asks until it has all pieces of the text") {
  for (const std::uint32_t chunk : {1u, 3u, 8u}) {
    for (std::size_t heard = 2; heard < 20; heard += 5) {
      CAPTURE(chunk);
      CAPTURE(heard);
      pair_options o = without_timers();
      o.mode = session_mode::stream;
      o.edge_chunk = o.cloud_chunk = chunk;
      pair p(o);
      bytes question = p.start();
      std::size_t answers = 0;
      for (int i = 0; i < 30 && !question.empty() && answers < heard; ++i) {
        REQUIRE(p.cloud->receive(question, p.now).ok());
        question.clear();
        for (const bytes& answer : p.run_cloud()) {  // the whole stream, of which the rest is lost
          if (answers++ >= heard) continue;
          REQUIRE(p.edge->receive(answer, p.now).ok());
          for (bytes& asked : p.run_edge()) question = std::move(asked);
        }
      }
      REQUIRE(p.edge->reconnect(p.now).ok());
      (void)go_on(p);
      CHECK(p.edge->state() == edge_state::finished);
      CHECK(p.text() == whole_text(o));
      CHECK(p.edge->round() == p.cloud->round());
    }
  }
}

TEST_CASE("NET-5 stream: a cloud that is being filled commits nothing of its own") {
  pair_options o = without_timers();
  o.mode = session_mode::stream;
  pair p(o);
  bytes question = p.exchange(p.start());
  const bytes journal = p.cloud_journal;
  REQUIRE(p.cloud->receive(question, p.now).ok());
  for (const bytes& answer : p.run_cloud()) {
    if (p.edge->length() < 9) CHECK(p.edge->receive(answer, p.now).ok());
    (void)p.run_edge();
  }
  REQUIRE(p.edge->length() == 9);
  p.new_cloud();
  REQUIRE(p.cloud->restore(journal).ok());
  p.hold_rows = true;
  REQUIRE(p.cloud->receive(question, p.now).ok());  // a copy: the stream begins, and the engine works
  (void)p.run_cloud();
  REQUIRE(p.cloud->wants_rows());
  REQUIRE(p.edge->reconnect(p.now).ok());
  REQUIRE(p.cloud->receive(pair::only(p.run_edge()), p.now).ok());
  const bytes place = pair::only(p.run_cloud());
  REQUIRE(p.cloud->state() == cloud_state::filling);
  CHECK(p.cloud->wants_rows());
  const row_span_provider<float> rows(p.cloud_engine.rows(), p.transforms);
  CHECK(p.cloud->supply_rows(exec::seq, rows, p.now).ok());
  CHECK_FALSE(p.cloud->wants_rows());
  CHECK(p.cloud->state() == cloud_state::filling);
  CHECK_FALSE(p.cloud->has_outputs());
  p.hold_rows = false;
  REQUIRE(p.edge->receive(place, p.now).ok());
  (void)go_on(p);
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.text() == whole_text(o));
}
