// SPDX-License-Identifier: Apache-2.0
// Messages and rows that cross: what arrives while the engine works, and what was meant for an earlier life.
#include <specverify/host/drive.hpp>

#include <session/without_timers.hpp>

#include <algorithm>
#include <deque>
#include <utility>

using namespace specverify;
using namespace specverify_test;

namespace {

//! The rows that the engine has made; what the cloud sends then.
std::vector<bytes> finish_rows(pair& p, const hash_engine& engine) {
  p.hold_rows = false;
  CHECK(p.cloud->wants_rows());
  CHECK(p.cloud->supply_rows(exec::seq, row_span_provider<float>(engine.rows(), p.transforms), p.now).ok());
  return p.run_cloud();
}
std::vector<bytes> finish_rows(pair& p) { return finish_rows(p, p.cloud_engine); }

void finish(pair& p, const std::vector<bytes>& answers) {
  std::deque<bytes> asked;
  for (const bytes& answer : answers) {
    (void)p.edge->receive(answer, p.now);
    for (bytes& question : p.run_edge()) asked.push_back(std::move(question));
  }
  (void)go_on(p, std::move(asked));
  CHECK(p.edge->state() == edge_state::finished);
}

}  // namespace

TEST_CASE("NET-5 stream: rows of an earlier evaluate are not taken for those of the next one") {
  for (std::uint64_t salt = 1; salt <= 6; ++salt) {
    CAPTURE(salt);
    pair_options o = without_timers();
    o.mode = session_mode::stream;
    o.salt = salt;
    pair p(o);
    const bytes question = p.exchange(p.start());
    const bytes journal = p.cloud_journal;
    REQUIRE(p.cloud->receive(question, p.now).ok());
    for (const bytes& answer : p.run_cloud()) {
      if (p.edge->length() < 9) CHECK(p.edge->receive(answer, p.now).ok());
      (void)p.run_edge();
    }
    p.new_cloud();
    REQUIRE(p.cloud->restore(journal).ok());
    p.hold_rows = true;
    REQUIRE(p.cloud->receive(question, p.now).ok());
    (void)p.run_cloud();
    hash_engine first(pair::model(false));  // works on the first token behind the prompt
    CHECK(first.feed(0, std::vector<token_id>{4, 5, 6}, 1));
    REQUIRE(p.edge->reconnect(p.now).ok());
    REQUIRE(p.cloud->receive(pair::only(p.run_edge()), p.now).ok());
    REQUIRE(p.edge->receive(pair::only(p.run_cloud()), p.now).ok());
    REQUIRE(p.cloud->receive(pair::only(p.run_edge()), p.now).ok());  // what the edge has more
    REQUIRE(p.cloud->state() == cloud_state::streaming);
    std::vector<bytes> sent = p.run_cloud();
    for (bytes& more : finish_rows(p, first)) sent.push_back(std::move(more));
    finish(p, sent);
    CHECK(p.text() == whole_text(o));
  }
}

TEST_CASE("NET-5 cloud: rows for an edge that gave up are not taken for its next life's draft") {
  const status why{errc::engine_failed, part::host, 3};
  for (const bool late : {false, true}) {  // the rows come before the next draft, or after it
    CAPTURE(late);
    pair p(without_timers());
    bytes question = to_first_draft(p);
    const bytes journal = p.edge_journal;
    p.hold_rows = true;
    REQUIRE(p.cloud->receive(question, p.now).ok());
    (void)p.run_cloud();
    CHECK(p.edge->engine_failed(why) == why);
    CHECK(p.cloud->receive(pair::only(p.run_edge()), p.now).code == errc::refused_by_peer);
    (void)p.run_cloud();
    p.new_edge();
    REQUIRE(p.edge->restore(journal, p.now).ok());
    question = pair::only(p.run_edge());
    std::vector<bytes> sent;
    if (!late) sent = finish_rows(p);
    CHECK(sent.empty());
    p.hold_rows = true;
    question = p.exchange(question);
    REQUIRE(kind_of(question) == message_kind::draft);
    CHECK(p.cloud->receive(question, p.now).ok());
    const bool asked = p.cloud->has_outputs();
    CHECK(asked != late);  // one evaluate at a time
    (void)p.run_cloud();
    sent = finish_rows(p);
    finish(p, sent);
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 session: a copy of a greeting while the engine works does not cost the verdict") {
  for (const bool connects : {false, true}) {  // a copy of a hello, of a resume
    CAPTURE(connects);
    pair p(without_timers());
    bytes copy = p.start();
    bytes question = p.exchange(p.exchange(copy));
    if (connects) {
      REQUIRE(p.edge->reconnect(p.now).ok());
      copy = pair::only(p.run_edge());
      question = p.exchange(copy);
    }
    REQUIRE(kind_of(question) == message_kind::draft);
    p.hold_rows = true;
    REQUIRE(p.cloud->receive(question, p.now).ok());
    (void)p.run_cloud();
    CHECK_FALSE(p.cloud->receive(copy, p.now).ok());
    CHECK(p.run_cloud().empty());
    finish(p, finish_rows(p));
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 session: a life that starts from nothing in the same epoch is greeted when the engine is done") {
  pair p(without_timers());
  const bytes draft = to_first_draft(p);
  p.hold_rows = true;
  REQUIRE(p.cloud->receive(draft, p.now).ok());
  (void)p.run_cloud();
  p.new_edge();
  (void)p.cloud->receive(p.start(), p.now);
  CHECK(p.run_cloud().empty());
  finish(p, finish_rows(p));
  CHECK(p.text() == whole_text());
}

TEST_CASE("NET-5 session: the greetings of two connections cross while the engine works") {
  pair p(without_timers());
  const bytes question = to_first_draft(p);
  p.hold_rows = true;
  REQUIRE(p.cloud->receive(question, p.now).ok());
  (void)p.run_cloud();
  REQUIRE(p.edge->reconnect(p.now).ok());
  const bytes first = pair::only(p.run_edge());
  REQUIRE(p.edge->reconnect(p.now).ok());
  const bytes second = pair::only(p.run_edge());
  REQUIRE(p.cloud->receive(second, p.now).ok());
  CHECK(p.run_cloud().empty());  // owed
  CHECK(p.cloud->receive(first, p.now).code == errc::stale_epoch);
  REQUIRE(p.edge->receive(pair::only(p.run_cloud()), p.now).ok());
  const bytes draft = pair::only(p.run_edge());
  CHECK(kind_of(draft) == message_kind::draft);
  (void)p.cloud->receive(draft, p.now);
  CHECK(p.run_cloud().empty());
  finish(p, finish_rows(p));
  CHECK(p.text() == whole_text());
}

TEST_CASE("NET-5 edge: a cloud that went back, over a transport that does not break, is heard in a new epoch") {
  for (int lost = 1; lost <= 7; ++lost) {
    CAPTURE(lost);
    pair p(without_timers());
    bytes question = to_first_draft(p);
    const bytes journal = p.cloud_journal;
    for (int i = 0; i < lost; ++i) question = p.exchange(question);
    p.new_cloud();
    REQUIRE(p.cloud->restore(journal).ok());
    CHECK(go_on(p, {question}) < 60);
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.text() == whole_text());
  }
}

namespace {

//! A life of the edge that nobody hears of again.
bytes of_another_life(std::uint32_t epoch, std::uint32_t length = 0) {
  bytes message(36);
  REQUIRE(encode_resume({{7, epoch, length == 0 ? 0u : 1u, length, length == 0 ? 0u : 1u, 0}}, message).ok());
  return message;
}

}  // namespace

TEST_CASE("NET-5 cloud: a piece of text of an old epoch is known where a resume had it filled") {
  pair_options o = without_timers();
  o.edge_chunk = o.cloud_chunk = 2;
  pair p(o);
  bytes question = p.start();
  while (kind_of(question) != message_kind::draft) question = p.exchange(question);
  const bytes journal = p.cloud_journal;
  for (int i = 0; i < 3; ++i) question = p.exchange(question);
  p.new_cloud();
  REQUIRE(p.cloud->restore(journal).ok());
  REQUIRE(p.edge->reconnect(p.now).ok());
  question = p.exchange(pair::only(p.run_edge()));
  REQUIRE(kind_of(question) == message_kind::text);
  bytes with_prompt(36);  // of a life that has the prompt, and that nobody hears of again
  REQUIRE(encode_resume({{7, 9, 1, 3, prefix_hash(p.edge->text().first(3)), 0}}, with_prompt).ok());
  REQUIRE(p.cloud->receive(with_prompt, p.now).ok());
  (void)p.run_cloud();
  CHECK(p.cloud->receive(question, p.now).code == errc::stale_epoch);
  CHECK(p.edge->receive(pair::only(p.run_cloud()), p.now).ok());
  CHECK(p.edge->epoch() == 10);
  (void)go_on(p);
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.text() == whole_text(o));
}

TEST_CASE("NET-5 cloud: a stop of an old epoch hears that the cloud has failed") {
  const status why{errc::engine_failed, part::host, 1};
  pair p(without_timers());
  bytes question = p.start();
  while (kind_of(question) != message_kind::stop) question = p.exchange(question);
  REQUIRE(p.cloud->receive(of_another_life(9), p.now).ok());
  (void)p.run_cloud();
  CHECK(p.cloud->engine_failed(why) == why);
  (void)p.run_cloud();
  CHECK(p.cloud->receive(question, p.now).code == errc::session_closed);
  CHECK(p.edge->receive(pair::only(p.run_cloud()), p.now).code == errc::refused_by_peer);
  CHECK(p.edge->refusal() == why);
}

TEST_CASE("NET-5 edge: a refusal to a life without an epoch ends no later one") {
  const status why{errc::engine_failed, part::host, 12};
  for (const bool later : {false, true}) {  // in an epoch of its own by then
    CAPTURE(later);
    pair p(without_timers());
    REQUIRE(p.cloud->receive(to_first_draft(p), p.now).ok());
    p.hold_rows = true;
    (void)p.run_cloud();
    p.hold_rows = false;
    REQUIRE(p.cloud->engine_failed(why) == why);
    (void)p.run_cloud();
    p.new_edge();
    REQUIRE(p.edge->recover(3, 5).ok());
    (void)p.cloud->receive(pair::only(p.run_edge()), 5);
    const bytes told = pair::only(p.run_cloud());
    CHECK(p.edge->receive(told, 5).code == errc::refused_by_peer);  // it is for this one
    CHECK(p.edge->refusal() == why);
    (void)p.run_edge();
    const bytes journal = p.cloud_journal;
    p.new_cloud();
    REQUIRE(p.cloud->restore(journal).ok());
    p.new_edge();
    REQUIRE(p.edge->recover(3, 6).ok());
    bytes asked = pair::only(p.run_edge());
    for (int i = 0; later && i < 3; ++i) asked = p.exchange(asked);
    CHECK_FALSE(p.edge->receive(told, 6).ok());
    CHECK(p.edge->state() != edge_state::failed);
    (void)go_on(p, {asked});
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 cloud: a greeting that is refused changes nothing") {
  for (const bool finished : {false, true}) {
    CAPTURE(finished);
    pair p(without_timers());
    bytes question = to_first_draft(p);
    while (finished && !question.empty()) question = p.exchange(question);
    const std::uint32_t epoch = p.cloud->epoch();
    const cloud_state state = p.cloud->state();
    CHECK(p.cloud->receive(of_another_life(900, 5000), p.now).code == errc::base_length_mismatch);
    CHECK(kind_of(pair::only(p.run_cloud())) == message_kind::refuse);
    CHECK(p.cloud->epoch() == epoch);
    CHECK(p.cloud->state() == state);
    CHECK(p.cloud->refusal().ok());
    if (!finished) (void)go_on(p, {question});
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.edge->epoch() == epoch);
  }
  const status why{errc::engine_failed, part::host, 1};
  pair p(without_timers());
  (void)to_first_draft(p);
  CHECK(p.edge->engine_failed(why) == why);
  CHECK(p.cloud->receive(pair::only(p.run_edge()), p.now).code == errc::refused_by_peer);
  (void)p.run_cloud();
  CHECK(p.cloud->receive(of_another_life(900, 5000), p.now).code == errc::base_length_mismatch);
  (void)p.run_cloud();
  CHECK(p.cloud->state() == cloud_state::failed);
  CHECK(p.cloud->refusal() == why);
}

TEST_CASE("NET-5 cloud: a copy of a greeting, however old, makes no draft a late one") {
  for (int rounds = 1; rounds <= 16; ++rounds) {
    CAPTURE(rounds);
    pair_options o = without_timers();
    o.budget = 120;
    pair p(o);
    const bytes hello = p.start();
    bytes question = p.exchange(p.exchange(hello));
    for (int i = 1; i < rounds; ++i) question = p.exchange(question);
    REQUIRE(kind_of(question) == message_kind::draft);
    (void)p.cloud->receive(hello, p.now);
    for (const bytes& answer : p.run_cloud()) (void)p.edge->receive(answer, p.now);
    (void)go_on(p, {question});
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.text() == whole_text(o));
  }
}
