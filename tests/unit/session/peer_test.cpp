// SPDX-License-Identifier: Apache-2.0
// What the other side may say, and who stands between: damage, floods, numbers that are lost, epochs and clocks far
// ahead, texts that differ. A session goes on, or ends with a name; it never waits for ever, and never in silence.
#include "pair.hpp"

#include <specverify/host/drive.hpp>

#include <session/both_ways.hpp>
#include <support/forge.hpp>

#include <algorithm>
#include <cstdlib>

using namespace specverify;
using namespace specverify_test;

namespace {

bytes to_first_draft(pair& p) { return p.exchange(p.exchange(p.start())); }

const bytes junk(40, std::byte{0x52});  // a draft's first byte, and nothing that fits

//! A resume of session 7.
bytes resume_of(std::uint32_t epoch, std::uint32_t round, std::uint32_t length, std::uint64_t hash,
                std::uint8_t number = 0) {
  bytes message(36);
  wire_context context{7, 1, round, length, hash, number};
  REQUIRE(encode_resume({context}, message).ok());
  specverify::numeric::store_le(message.data() + 16, epoch, 4);  // also one that no encoder writes
  context.epoch = epoch;
  specverify::numeric::store_le(message.data() + 4, message_checksum(context, message), 4);
  return message;
}

//! The reason of a refusal: in an epoch, or of a message that it names.
status refusal_in(const bytes& message, std::uint32_t epoch = 1) {
  wire_context session{}, ended{};
  session.session_id = ended.session_id = 7;
  ended.epoch = epoch;
  for (const wire_context& context : {wire_context{}, session, ended}) {
    if (const auto refusal = decode_refuse(context, message)) return refusal->reason;
  }
  return {};
}

std::vector<token_id> whole_text(const pair_options& o = {}) {
  pair p(o);
  (void)p.edge->start(std::vector<token_id>{4, 5, 6}, p.now);
  wire{p}.run();
  REQUIRE(p.edge->state() == edge_state::finished);
  return p.text();
}

}  // namespace

TEST_CASE("NET-4 edge: damage does not end a healthy session, and is answered once a deadline") {
  pair p;
  const bytes draft = to_first_draft(p);
  const bytes verdict = p.answer(draft);
  std::size_t sent = 0;
  for (int i = 0; i < 200; ++i) {
    CHECK(p.edge->receive(junk, 2).code == errc::checksum_mismatch);
    sent += p.run_edge().size();
  }
  CHECK(sent == 1);
  CHECK(p.edge->statistics().corrupt == 200);
  REQUIRE(p.edge->deadline().has_value());
  CHECK(p.edge->tick(*p.edge->deadline()).ok());
  CHECK(p.run_edge().size() == 1);
  for (int i = 0; i < 200; ++i) (void)p.edge->receive(junk, 300), sent += p.run_edge().size();
  CHECK(sent == 2);
  p.finish(p.hear(verdict));
  CHECK(p.text() == whole_text());
}

TEST_CASE("NET-4 edge: refusals of damage do not end a healthy session either") {
  pair p;
  const bytes draft = to_first_draft(p);
  const bytes verdict = p.answer(draft);
  std::size_t sent = 0;
  bytes last = draft;
  for (int i = 0; i < 100; ++i) {
    for (const std::uint32_t named : {0u, peek_header(last)->checksum}) {
      bytes message(16);
      wire_context session{};
      session.session_id = 7;
      session.transmission = peek_header(verdict)->flags;  // sent before it
      REQUIRE(encode_refuse(session, {{errc::checksum_mismatch, part::session, named}}, message).ok());
      (void)p.edge->receive(message, 2);
      for (const bytes& again : p.run_edge()) last = again, ++sent;
      if (named == 0) CHECK(sent == (i == 0 ? 0 : 1));  // names no question
    }
  }
  CHECK(sent == 1);
  p.finish(p.hear(verdict));
  CHECK(p.text() == whole_text());
}

TEST_CASE("NET-4 edge: without deadlines damage is answered as often as a question may be asked, and ends nothing") {
  pair_options o;
  o.timeout = 0;
  pair p(o);
  const bytes draft = to_first_draft(p);
  std::size_t sent = 0;
  for (int i = 0; i < 500; ++i) (void)p.edge->receive(junk, 2), sent += p.run_edge().size();
  CHECK(sent == 64);
  CHECK(p.edge->state() != edge_state::failed);
  CHECK_FALSE(p.edge->deadline().has_value());
}

TEST_CASE("NET-4 cloud: damage is refused four times between two records, and none of it is journaled") {
  pair p;
  const bytes draft = to_first_draft(p);
  const std::size_t journaled = p.cloud_journal.size();
  std::size_t sent = 0;
  for (int i = 0; i < 100; ++i) (void)p.cloud->receive(junk, 2), sent += p.run_cloud().size();
  CHECK(sent == 4);
  CHECK(p.cloud->statistics().corrupt == 100);
  CHECK(p.cloud_journal.size() == journaled);
  const bytes verdict = p.answer(draft);  // a record
  CHECK(p.cloud_journal.size() > journaled);
  for (int i = 0; i < 100; ++i) (void)p.cloud->receive(junk, 2), sent += p.run_cloud().size();
  CHECK(sent == 8);
  p.finish(p.hear(verdict));
  CHECK(p.text() == whole_text());
}

TEST_CASE("NET-4 session: a refusal is not answered, however it looks") {
  pair p;
  (void)to_first_draft(p);
  std::size_t sent = 0;
  for (const bool known : {false, true}) {
    for (const errc code : {errc::checksum_mismatch, errc::truncated, errc::unknown_session}) {
      bytes message(16);
      wire_context context{};
      if (known) context.session_id = 7, context.epoch = p.cloud->epoch();
      REQUIRE(encode_refuse(context, {{code, part::session, 0}}, message).ok());
      (void)p.cloud->receive(message, 1);
      sent += p.run_cloud().size();
      message[9] ^= std::byte{1};
      (void)p.cloud->receive(message, 1);
      sent += p.run_cloud().size();
    }
  }
  CHECK(sent == 0);
  CHECK(p.cloud->state() == cloud_state::ready);
}

TEST_CASE("NET-5 cloud: numbers stay right over a restart after refusals that no record knows of") {
  for (int refusals = 0; refusals <= 6; ++refusals) {
    CAPTURE(refusals);
    pair_options o;
    o.timeout = 100;
    pair p(o);
    bytes question = to_first_draft(p);
    std::vector<bytes> heard;
    bytes damaged = question;
    damaged[9] ^= std::byte{1};
    for (int i = 0; i < refusals; ++i) {
      (void)p.cloud->receive(damaged, 2);
      for (const bytes& refusal : p.run_cloud()) heard.push_back(refusal);
    }
    for (const bytes& refusal : heard) (void)p.edge->receive(refusal, 2);
    const std::vector<bytes> again = p.run_edge();  // asked again at the first of them
    if (!again.empty()) question = again.back();
    p.new_cloud();
    REQUIRE(p.cloud->restore(p.cloud_journal).ok());
    REQUIRE(p.edge->deadline().has_value());
    CHECK(p.edge->tick(*p.edge->deadline()).ok());  // in the same epoch, so that the answer is taken by its number
    question = pair::only(p.run_edge());
    const std::uint64_t stale = p.edge->statistics().stale + p.edge->statistics().duplicates;
    question = p.hear(p.answer(question));
    CHECK(kind_of(question) == message_kind::draft);
    CHECK(p.edge->statistics().stale + p.edge->statistics().duplicates == stale);
    p.finish(question);
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 session: 8 to 15 answers lost in a row cost no more questions than they are") {
  for (int lost = 7; lost <= 16; ++lost) {
    CAPTURE(lost);
    pair p;
    bytes question = to_first_draft(p);
    for (int i = 0; i < lost; ++i) {
      (void)p.answer(question);
      p.now += 100;
      REQUIRE(p.edge->tick(p.now).ok());
      question = pair::only(p.run_edge());
    }
    int more = 0;
    while (p.edge->statistics().rounds == 0 && more < 20) {
      (void)p.edge->receive(p.answer(question), p.now);
      std::vector<bytes> sent = p.run_edge();
      if (sent.empty()) {
        p.now += 100;
        REQUIRE(p.edge->tick(p.now).ok());
        sent = p.run_edge();
      }
      question = pair::only(sent);
      ++more;
    }
    CHECK(more <= 2);  // where we stand, and the draft
    p.finish(question);
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 session: hellos and recoveries of which 8 to 15 are lost are heard all the same") {
  for (int lost = 7; lost <= 16; ++lost) {
    for (const bool recovers : {false, true}) {
      CAPTURE(lost);
      CAPTURE(recovers);
      pair p;
      bytes question = recovers ? to_first_draft(p) : p.start();
      if (recovers) {
        p.new_edge();
        p.now = 1000;
        REQUIRE(p.edge->recover(3, p.now).ok());
        question = pair::only(p.run_edge());
      }
      (void)p.answer(question);  // heard, and the answer is lost; of the next ones not even the question arrives
      for (int i = 0; i < lost; ++i) {
        p.now += 100;
        REQUIRE(p.edge->tick(p.now).ok());
        question = pair::only(p.run_edge());
      }
      int more = 0;
      for (; more < 20 && p.edge->state() != edge_state::waiting; ++more) {
        (void)p.cloud->receive(question, p.now);
        for (const bytes& message : p.run_cloud()) (void)p.edge->receive(message, p.now);
        std::vector<bytes> sent = p.run_edge();
        if (sent.empty()) {
          p.now += 100;
          REQUIRE(p.edge->tick(p.now).ok());
          sent = p.run_edge();
        }
        question = pair::only(sent);
      }
      CHECK(more <= 3);
      p.finish(question);
      CHECK(p.text() == whole_text());
    }
  }
}

TEST_CASE("NET-5 stream: an edge without a journal reconnects while it fetches, or loses answers, and gets the text") {
  pair_options o;
  o.mode = session_mode::stream;
  o.edge_chunk = o.cloud_chunk = 4;
  const std::vector<token_id> text = whole_text(o);
  for (int fetched = 0; fetched < 8; ++fetched) {
    for (const int lost : {0, 1, 7, 8, 9, 12, 16}) {
      CAPTURE(fetched);
      CAPTURE(lost);
      pair p(o);
      const bytes prompt = p.exchange(p.start());
      REQUIRE(p.cloud->receive(prompt, p.now).ok());
      (void)p.run_cloud();  // the whole stream, to an edge that dies
      p.new_edge();
      p.now = 1000;
      std::size_t announced = 3;
      REQUIRE(p.edge->recover(3, p.now).ok());
      wire all{p};
      int answers = 0;
      all.copies = [&](bytes&, bool upward) {
        if (upward) return 1;
        ++answers;
        return answers > fetched && answers <= fetched + lost ? 0 : 1;
      };
      all.take(p.run_edge(), all.up);
      for (int i = 0; i < fetched; ++i) {  // some of the text
        if (all.up.empty()) break;
        (void)p.cloud->receive(all.up.front(), p.now);
        all.up.pop_front();
        all.take(p.run_cloud(), all.down);
        while (!all.down.empty()) (void)p.edge->receive(all.down.front(), p.now), all.down.pop_front();
        all.take(p.run_edge(), all.up);
      }
      if (!all.over()) {
        all.up.clear();
        (void)p.edge->reconnect(p.now);
      }
      all.run(40);
      CHECK(p.edge->state() == edge_state::finished);
      CHECK(p.text() == text);
      announced += p.last_commit.size();
      CHECK(announced == text.size());  // at once, and with nothing left out
      CHECK(p.edge->round() == p.cloud->round());
    }
  }
}

TEST_CASE("NET-5 stream: a gap of any length in the stream is filled after one deadline") {
  pair_options o;
  o.mode = session_mode::stream;
  const std::vector<token_id> text = whole_text(o);
  for (int first = 1; first < 20; ++first) {
    for (const int lost : {1, 7, 8, 9, 12, 16, 17}) {
      CAPTURE(first);
      CAPTURE(lost);
      pair p(o);
      wire all{p};
      int answers = 0;
      all.copies = [&](bytes&, bool upward) {
        if (upward) return 1;
        ++answers;  // hello, resume and 20 tokens
        return answers > first && answers <= std::min(first + lost, 21) ? 0 : 1;
      };
      (void)p.edge->start(std::vector<token_id>{4, 5, 6}, p.now);
      all.run();
      CHECK(p.edge->state() == edge_state::finished);
      CHECK(p.text() == text);
      CHECK(all.ticks <= 2);
    }
  }
}

TEST_CASE("NET-5 cloud: a text that is not whole is not given to an edge that has forgotten it") {
  pair_options o;
  o.edge_chunk = o.cloud_chunk = 4;
  pair p(o);
  bytes question = to_first_draft(p);
  for (int i = 0; i < 4; ++i) question = p.exchange(question);
  REQUIRE(p.edge->length() > 8);
  p.new_cloud();  // forgets, and is told the first pieces
  REQUIRE(p.cloud->receive(question, p.now).code == errc::unknown_session);
  question = p.hear(pair::only(p.run_cloud()));
  question = p.exchange(question);
  question = p.exchange(question);
  question = p.exchange(question);
  REQUIRE(kind_of(question) == message_kind::text);
  REQUIRE(p.cloud->length() >= 8);
  p.new_edge();  // forgets too
  p.now = 1000;
  REQUIRE(p.edge->recover(3, p.now).ok());
  CHECK(p.cloud->receive(pair::only(p.run_edge()), p.now).code == errc::unknown_session);
  CHECK(p.edge->receive(pair::only(p.run_cloud()), p.now).code == errc::unknown_session);
  CHECK(p.edge->state() == edge_state::failed);
}

TEST_CASE("SEC-1 cloud: text that it has not verified is refused under `unconditional`, and nothing changes") {
  pair_options o;
  o.format = law_format::token_only;
  o.required = guarantee::unconditional;
  SUBCASE("to a cloud that knows the session: by resume and by hello, with and without its prompt") {
    for (int exchanges = 1; exchanges < 6; ++exchanges) {
      for (const bool says_hello : {false, true}) {
        CAPTURE(exchanges);
        CAPTURE(says_hello);
        pair p(o);
        const bytes hello = p.start();
        bytes question = hello;
        for (int i = 0; i < exchanges; ++i) question = p.exchange(question);
        std::vector<token_id> text = p.text();
        const bytes journal = p.cloud_journal;
        const cloud_state state = p.cloud->state();
        text.resize(23, 1);
        bytes more = resume_of(1, 9, 23, prefix_hash(text), 15);
        if (says_hello) {
          hello_message read = *decode_hello(hello);
          read.context = {7, 1, 9, 23, prefix_hash(text), 15};
          more.resize(hello.size());
          REQUIRE(encode_hello(read, more).ok());
        }
        const errc handed_over = p.cloud->receive(more, 1).code;
        CHECK(handed_over == errc::unverified_text);
        const bytes refusal = pair::only(p.run_cloud());
        CHECK(refusal_in(refusal) == status{errc::unverified_text, part::session, std::max(p.cloud->length(), 3u)});
        CHECK(p.cloud->state() == state);
        const bool journal_is_as_it_was = p.cloud_journal == journal;
        CHECK(journal_is_as_it_was);
        p.finish(question);
        CHECK(p.text() == whole_text(o));
      }
    }
  }
  SUBCASE("a cloud that lost its journal ends an honest edge by this name; the prompt alone it takes") {
    pair p(o);
    bytes question = to_first_draft(p);
    for (int i = 0; i < 3; ++i) question = p.exchange(question);
    const std::vector<token_id> told = p.text();
    p.new_cloud();
    CHECK(p.cloud->receive(question, 1).code == errc::unknown_session);
    question = p.hear(pair::only(p.run_cloud()));
    CHECK(p.cloud->receive(question, 1).code == errc::unverified_text);
    CHECK(p.cloud->state() == cloud_state::blank);
    const status why{errc::unverified_text, part::session, 3};
    CHECK(p.edge->receive(pair::only(p.run_cloud()), 1) == why);
    CHECK(p.run_edge().empty());  // the cloud knows
    CHECK(p.edge_failure == why);
    CHECK(p.edge->refusal() == why);
    CHECK(p.text() == told);
  }
  SUBCASE("a cloud whose journal lacks a verdict that it sent does, too") {
    pair p(o);
    bytes question = to_first_draft(p);
    const bytes before = p.cloud_journal;
    question = p.exchange(question);
    p.new_cloud();
    REQUIRE(p.cloud->restore(before).ok());
    wire all{p};
    all.up.push_back(question);
    all.run();
    CHECK(p.edge_failure == status{errc::unverified_text, part::session, 3});
    CHECK(p.cloud->length() == 3);
  }
}

TEST_CASE("SEC-1 cloud: text that the edge hands over under a weaker guarantee is announced and journaled as such") {
  pair_options o;
  o.format = law_format::token_only;
  o.edge_chunk = 4;  // a piece holds the prompt's end and more
  pair p(o);
  bytes question = to_first_draft(p);
  for (int i = 0; i < 3; ++i) question = p.exchange(question);
  const std::uint32_t length = p.edge->length();
  REQUIRE(length > 5);
  const auto restores = [&](guarantee required) {
    pair_options with = o;
    with.required = required;
    return pair(with).cloud->restore(p.cloud_journal).error();
  };
  CHECK(restores(guarantee::unconditional).ok());  // it verified all tokens
  p.new_cloud();
  p.cloud_journal.clear();
  CHECK(p.cloud->receive(question, 1).code == errc::unknown_session);
  bytes next = p.hear(pair::only(p.run_cloud()));
  std::uint32_t alone = 0, verified = 0, end = 0;
  while (p.cloud->length() < length) {
    REQUIRE(p.cloud->receive(next, 1).ok());
    bytes answer;
    (void)take_outputs(*p.cloud, [&](const session_output& out) {
      if (out.action == session_action::send) answer.assign(out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::journal)
        p.cloud_journal.insert(p.cloud_journal.end(), out.bytes.begin(), out.bytes.end());
      if (out.action != session_action::committed) return;
      CHECK(out.position == end);
      end += static_cast<std::uint32_t>(out.tokens.size());
      (out.authority == token_authority::edge ? alone : verified) += static_cast<std::uint32_t>(out.tokens.size());
    });
    next = p.hear(answer);
  }
  CHECK(end == length);
  CHECK(verified == 3);  // the prompt
  const std::uint32_t told_as_the_edges = alone;
  CHECK(told_as_the_edges == length - 3);
  CHECK(restores(guarantee::lossy).ok());
  CHECK(restores(guarantee::unconditional) == status{errc::unverified_text, part::session, 3});
  p.finish(next);
}

TEST_CASE("SEC-1 session: the last round does not end, and its journals are taken back by their own sides") {
  constexpr std::uint32_t last = 1u << 31;
  pair p;
  bytes question = to_first_draft(p);
  REQUIRE(p.edge->reconnect(p.now).ok());
  (void)p.run_edge();
  REQUIRE(p.edge->receive(resume_of(p.edge->epoch(), last, 3, prefix_hash(p.cloud->text())), p.now).ok());
  question = pair::only(p.run_edge());
  REQUIRE(p.edge->round() == last);
  p.new_cloud();  // it forgets, and takes the edge's round
  REQUIRE(p.cloud->receive(question, p.now).code == errc::unknown_session);
  question = p.hear(pair::only(p.run_cloud()));
  for (int i = 0; i < 6; ++i) question = p.exchange(question);
  CHECK(p.edge->round() == last);
  CHECK(p.cloud->round() == last);
  CHECK(p.edge->length() > 4);
  pair again;
  const errc edge_takes_its_journal = again.edge->restore(p.edge_journal, 1).error().code;
  CHECK(edge_takes_its_journal == errc::ok);
  const errc cloud_takes_its_journal = again.cloud->restore(p.cloud_journal).error().code;
  CHECK(cloud_takes_its_journal == errc::ok);
  p.finish(question);
  CHECK(p.text().size() == 23);
  const bool texts_agree = p.text() == cloud_text(p);
  CHECK(texts_agree);
}

TEST_CASE("SEC-1 session: rounds never go back") {
  pair p;
  bytes question = to_first_draft(p);
  for (int i = 0; i < 3; ++i) question = p.exchange(question);
  const std::uint32_t round = p.cloud->round();
  REQUIRE(round > 2);
  std::vector<token_id> longer = cloud_text(p);
  longer.push_back(1);
  const auto length = static_cast<std::uint32_t>(longer.size());
  SUBCASE("a cloud takes more text in an earlier round, and stays in its own") {
    REQUIRE(p.cloud->receive(resume_of(2, 1, length, prefix_hash(longer)), 1).ok());
    (void)p.run_cloud();
    const wire_context behind{7, 2, 1, p.cloud->length(), prefix_hash(p.cloud->text()), 1};
    bytes piece(64);
    const auto written = encode_text(behind, p.format(), {p.cloud->length(), std::span(longer).last(1)}, piece);
    REQUIRE(written.ok());
    piece.resize(written->size());
    REQUIRE(p.cloud->receive(piece, 1).ok());
    (void)p.run_cloud();
    CHECK(p.cloud->length() == length);
    CHECK(p.cloud->round() == round);
    const errc cloud_takes_its_journal = pair().cloud->restore(p.cloud_journal).error().code;
    CHECK(cloud_takes_its_journal == errc::ok);
  }
  SUBCASE("an edge takes none") {
    REQUIRE(p.edge->reconnect(1).ok());
    (void)p.run_edge();
    const errc more_text_in_an_earlier_round =
        p.edge->receive(resume_of(p.edge->epoch(), 1, length, prefix_hash(longer)), 1).code;
    CHECK(more_text_in_an_earlier_round == errc::stale_round);
    CHECK(p.edge->state() == edge_state::failed);
  }
}

TEST_CASE("SEC-1 cloud: less than the prompt, from a known device while the cloud has none, is refused and not kept") {
  for (const bool by_hello : {false, true}) {
    CAPTURE(by_hello);
    pair p;
    const bytes hello = p.start({1, 2, 3, 4, 5, 6, 7});
    const bytes question = p.exchange(hello);
    REQUIRE(kind_of(question) == message_kind::text);
    const bytes journal = p.cloud_journal;
    bytes less = resume_of(1, 1, 1, 5, 1);
    if (by_hello) {  // of a prompt of one token
      hello_message read = *decode_hello(hello);
      read.prompt_length = read.context.base_length = 1;
      read.context.transmission = 1;
      less.resize(hello.size());
      REQUIRE(encode_hello(read, less).ok());
    }
    CHECK_FALSE(p.cloud->receive(less, 1).ok());
    (void)p.run_cloud();
    CHECK(p.cloud->state() == cloud_state::filling);
    const bool journal_is_as_it_was = p.cloud_journal == journal;
    CHECK(journal_is_as_it_was);
    pair again;
    const errc own_journal = again.cloud->restore(p.cloud_journal).error().code;
    CHECK(own_journal == errc::ok);
    p.finish(p.exchange(question));
    CHECK(p.text().size() == 27);
  }
}

TEST_CASE("NET-5 session: an answer to a piece of text that crosses a recovery leads to no other text") {
  for (const bool tells_failure : {false, true}) {
    CAPTURE(tells_failure);
    pair_options o;
    o.edge_chunk = o.cloud_chunk = 4;
    pair p(o);
    bytes question = to_first_draft(p);
    for (int i = 0; i < 4; ++i) question = p.exchange(question);
    const std::vector<token_id> told = p.text();
    REQUIRE(told.size() > 8);
    p.new_cloud();  // forgets, and is told the first piece
    REQUIRE(p.cloud->receive(question, p.now).code == errc::unknown_session);
    const bytes piece = p.exchange(p.exchange(p.hear(pair::only(p.run_cloud()))));
    REQUIRE(kind_of(piece) == message_kind::text);
    const bytes answer = p.answer(piece);  // on its way
    REQUIRE(p.cloud->length() == 8);
    if (tells_failure) {
      CHECK_FALSE(p.edge->engine_failed({errc::engine_failed, part::host, 0}).ok());
      CHECK_FALSE(p.cloud->receive(pair::only(p.run_edge()), p.now).ok());
      (void)p.run_cloud();
      p.edge_failure = p.cloud_failure = {};
    }
    p.new_edge();  // forgets too
    p.now = 1000;
    REQUIRE(p.edge->recover(3, p.now).ok());
    wire all{p};
    all.down.push_back(answer);
    all.run();
    const bool other_text_is_told = p.edge->state() == edge_state::finished && p.text() != told;
    CHECK_FALSE(other_text_is_told);
    CHECK(p.edge->state() == edge_state::failed);
    CHECK(p.edge_failure == status{errc::unknown_session, part::session, 0});
  }
}

TEST_CASE("NET-5 cloud: an edge that comes back with less of its text is in step, and stays so over a restart") {
  pair_options o;
  o.edge_chunk = o.cloud_chunk = 4;
  pair p(o);
  bytes question = to_first_draft(p);
  const bytes early = p.edge_journal;
  for (int i = 0; i < 4; ++i) question = p.exchange(question);
  p.new_cloud();
  REQUIRE(p.cloud->receive(question, p.now).code == errc::unknown_session);
  question = p.exchange(p.exchange(p.hear(pair::only(p.run_cloud()))));
  REQUIRE(p.cloud->length() == 4);
  p.new_edge();
  REQUIRE(p.edge->restore(early, ++p.now).ok());
  question = p.exchange(pair::only(p.run_edge()));
  REQUIRE(p.cloud->state() == cloud_state::ready);
  const bytes journal = p.cloud_journal;
  p.new_cloud();
  REQUIRE(p.cloud->restore(journal).ok());
  const bool restored_in_step = p.cloud->state() == cloud_state::ready;
  CHECK(restored_in_step);
}

TEST_CASE("NET-5 edge: a text that was fetched in part is not what a cloud that forgets it then is told") {
  pair_options o;
  o.edge_chunk = o.cloud_chunk = 4;
  pair p(o);
  bytes question = to_first_draft(p);
  for (int i = 0; i < 4; ++i) question = p.exchange(question);
  p.new_edge();
  p.now = 1000;
  REQUIRE(p.edge->recover(3, p.now).ok());
  question = p.exchange(p.exchange(pair::only(p.run_edge())));
  REQUIRE(p.edge->state() == edge_state::fetching_text);
  REQUIRE(p.edge->length() == 4);
  p.new_cloud();
  REQUIRE(p.cloud->receive(question, p.now).code == errc::unknown_session);
  CHECK(p.edge->receive(pair::only(p.run_cloud()), p.now).code == errc::unknown_session);
  CHECK(p.edge->state() == edge_state::failed);
}

TEST_CASE("SEC-1 cloud: an epoch beyond the bound is refused by name and changes nothing") {
  for (const std::uint32_t epoch : {1u << 24, 0xFFFFFFFFu}) {
    pair p;
    const bytes draft = to_first_draft(p);
    const bytes forged = resume_of(epoch, 1, 3, prefix_hash(p.cloud->text()));
    CHECK(p.cloud->receive(forged, 1).code == errc::field_out_of_range);
    CHECK(refusal_in(pair::only(p.run_cloud()), epoch).code == errc::field_out_of_range);
    CHECK(p.cloud->epoch() == 1);
    p.finish(p.exchange(draft));
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("SEC-1 session: neither the last epoch nor the largest clock locks the true device out") {
  for (const bool by_clock : {false, true}) {
    for (const bool restored : {false, true}) {
      CAPTURE(by_clock);
      CAPTURE(restored);
      pair p;
      (void)p.exchange(to_first_draft(p));
      const std::uint32_t last = (1u << 24) - 1;
      const bytes forged = by_clock
                               ? resume_of(0, 0, 0, ~std::uint64_t{0}, 9)
                               : resume_of(last, p.cloud->round(), p.cloud->length(), prefix_hash(p.cloud->text()), 9);
      CHECK(p.cloud->receive(forged, 1).ok());
      (void)p.run_cloud();
      p.new_edge();
      p.now = 1000;
      if (restored) {
        REQUIRE(p.edge->restore(p.edge_journal, p.now).ok());
      } else {
        REQUIRE(p.edge->recover(3, p.now).ok());
      }
      wire all{p};
      all.run(20);
      CHECK(p.edge->state() == edge_state::finished);
      CHECK(p.text() == whole_text());
      CHECK(p.edge->epoch() <= last);
    }
  }
}

TEST_CASE("SEC-1 cloud: a resume in the last epoch to a cloud without a session does not lock hellos out") {
  pair p;
  const bytes hello = p.start();
  CHECK(p.cloud->receive(resume_of((1u << 24) - 1, 1, 3, 5), 1).code == errc::unknown_session);
  (void)p.run_cloud();
  wire all{p};
  all.up.push_back(hello);
  all.run(20);
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.text() == whole_text());
}

TEST_CASE("NET-5 session: a journal of many epochs ago goes on where the cloud stands") {
  for (const session_time timeout : {session_time{100}, session_time{0}}) {
    pair_options o;
    o.timeout = timeout;
    pair p(o);
    bytes question = to_first_draft(p);
    const bytes old_journal = p.edge_journal;
    for (int life = 0; life < 20; ++life) {
      p.new_edge();
      REQUIRE(p.edge->restore(p.edge_journal, ++p.now).ok());
      question = p.exchange(pair::only(p.run_edge()));
    }
    REQUIRE(p.cloud->epoch() == 21);
    p.new_edge();
    REQUIRE(p.edge->restore(old_journal, ++p.now).ok());
    const std::size_t journaled = p.cloud_journal.size();
    const bytes stale = pair::only(p.run_edge());
    CHECK(p.cloud->receive(stale, p.now).code == errc::stale_epoch);
    const bytes place = pair::only(p.run_cloud());
    CHECK(p.cloud_journal.size() == journaled);
    p.finish(p.hear(place));
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-7 session: the length of text messages is the edge's, and a cloud that takes fewer ids says so") {
  pair_options o;
  o.edge_chunk = 4;
  o.limits = cloud_session::limits_for(pair(o).format());
  o.cloud_chunk = 300;
  o.limits->max_message_bytes = 4096;
  pair p(o);
  bytes question = to_first_draft(p);
  for (int i = 0; i < 4; ++i) question = p.exchange(question);
  p.new_edge();
  p.now = 1000;
  REQUIRE(p.edge->recover(3, p.now).ok());
  p.finish(pair::only(p.run_edge()));
  CHECK(p.text() == whole_text());
  p.new_cloud();
  REQUIRE(p.cloud->restore(p.cloud_journal).ok());  // knows it from its journal
  p.new_edge();
  p.now = 2000;
  REQUIRE(p.edge->recover(3, p.now).ok());
  p.finish(pair::only(p.run_edge()));
  CHECK(p.text() == whole_text());
  o.edge_chunk = 301;
  pair q(o);
  const status beyond{errc::beyond_limit, part::session, cloud_options::at_text_chunk};
  CHECK(q.cloud->receive(q.start(), 1) == beyond);
  CHECK(refusal_in(pair::only(q.run_cloud())) == beyond);
}

TEST_CASE("session: a side that fails tells the other by name, once; neither waits for it without a deadline") {
  pair_options o;
  o.timeout = 0;
  pair p(o);
  (void)p.exchange(to_first_draft(p));
  const status why{errc::row_has_nan, part::host, 12};
  p.new_edge();
  REQUIRE(p.edge->restore(p.edge_journal, 1).ok());
  const bytes draft = p.exchange(pair::only(p.run_edge()));
  CHECK(p.edge->engine_failed(why) == why);
  const bytes told = pair::only(p.run_edge());
  CHECK(refusal_in(told, p.edge->epoch()) == why);
  CHECK(p.cloud->receive(told, 1) == status{errc::refused_by_peer, part::session, 20});
  CHECK(p.run_cloud().empty());
  REQUIRE(p.cloud_failure.has_value());
  CHECK(p.cloud->refusal() == why);
  CHECK(p.cloud->state() == cloud_state::failed);
  CHECK(p.cloud->receive(draft, 1).code == errc::session_closed);  // late: told why
  CHECK(refusal_in(pair::only(p.run_cloud()), p.edge->epoch()) == why);
  p.new_edge();  // another life goes on
  REQUIRE(p.edge->restore(p.edge_journal, 1).ok());
  p.finish(pair::only(p.run_edge()));
  CHECK(p.text() == whole_text());
  CHECK(p.cloud->refusal().ok());
}

TEST_CASE("session: a cloud that has failed answers with its reason, as often as it is asked, and journals nothing") {
  for (const bool greets : {false, true}) {
    pair p;
    const bytes draft = to_first_draft(p);
    CHECK(p.cloud->receive(draft, 1).ok());
    p.hold_rows = true;
    (void)p.run_cloud();
    const status why{errc::row_has_nan, part::host, 12};
    CHECK(p.cloud->engine_failed(why) == why);
    CHECK(refusal_in(pair::only(p.run_cloud())) == why);  // lost
    const std::size_t journaled = p.cloud_journal.size();
    if (greets) {
      CHECK(p.edge->reconnect(2).ok());
    } else {
      CHECK(p.edge->tick(500).ok());
    }
    CHECK(p.cloud->receive(pair::only(p.run_edge()), 2).code == errc::session_closed);
    CHECK(p.edge->receive(pair::only(p.run_cloud()), 2).code == errc::refused_by_peer);
    CHECK(p.edge->refusal() == why);
    CHECK(p.run_edge().empty());  // the cloud knows
    CHECK(p.cloud_journal.size() == journaled);
  }
}

TEST_CASE("session: an edge that has failed tells a cloud that goes on") {
  pair_options o;
  o.mode = session_mode::stream;
  pair p(o);
  const bytes prompt = p.exchange(p.start());
  p.hold_rows = true;
  CHECK(p.cloud->receive(prompt, 1).ok());
  const bytes resume = pair::only(p.run_cloud());
  CHECK(p.edge->receive(resume, 1).ok());
  (void)p.run_edge();
  const status why{errc::engine_failed, part::host, 3};
  CHECK(p.edge->engine_failed(why) == why);
  (void)p.run_edge();  // lost
  CHECK(p.cloud->supply_rows(exec::seq, row_span_provider<float>(p.cloud_engine.rows(), p.transforms), 1).ok());
  const bytes token = pair::only(p.run_cloud());
  CHECK(p.edge->receive(token, 1).code == errc::session_closed);
  const bytes told = pair::only(p.run_edge());
  CHECK(p.cloud->receive(told, 1).code == errc::refused_by_peer);
  CHECK(p.cloud->refusal() == why);
  (void)p.run_cloud();
  CHECK(p.edge->receive(told, 1).code == errc::session_closed);  // a refusal is not answered
  CHECK(p.run_edge().empty());
}

TEST_CASE("session: a greeting of another session, or in another format, is refused by name") {
  pair p;
  (void)to_first_draft(p);
  bytes message = resume_of(1, 1, 3, 5);
  wire_context other{8, 1, 1, 3, 5, 0};
  REQUIRE(encode_resume({other}, message).ok());
  CHECK(p.cloud->receive(message, 1).code == errc::unexpected_message);
  wire_context theirs{};
  theirs.session_id = 8;
  theirs.epoch = 1;
  const auto refusal = decode_refuse(theirs, pair::only(p.run_cloud()));
  REQUIRE(refusal.ok());
  CHECK(refusal->reason.code == errc::unexpected_message);
  pair q;
  q.options.draft_length = 2;
  q.new_edge();
  CHECK(p.cloud->receive(q.start(), 1).code == errc::unexpected_message);
  CHECK(refusal_in(pair::only(p.run_cloud())).code == errc::unexpected_message);
  CHECK(p.cloud->state() == cloud_state::ready);
}

TEST_CASE("session: a host refuses without the epoch; a cloud that does is late") {
  for (const part reporter : {part::host, part::session}) {
    pair p;
    (void)to_first_draft(p);
    std::array<std::byte, 64> space{};
    wire_context of_session{};
    of_session.session_id = 7;
    const status why{errc::beyond_limit, reporter, 4};
    const auto refusal = encode_refuse(of_session, {why}, space);
    REQUIRE(refusal.ok());
    const bool is_host = reporter == part::host;
    CHECK(p.edge->receive(*refusal, 1).code == (is_host ? errc::refused_by_peer : errc::stale_epoch));
    CHECK((p.edge->state() == edge_state::failed) == is_host);
    CHECK((p.edge->refusal() == why) == is_host);
  }
}

namespace {

//! A bit of one message is changed under a checksum that is right again. The contexts of all messages are known.
struct forger {
  pair& p;
  std::size_t message = 0, byte = 0;
  unsigned bit = 0;
  std::size_t seen = 0;
  bool done = false;
  std::vector<wire_context> contexts{};

  void note() {
    const auto add = [&](std::uint32_t epoch, std::uint32_t round, std::span<const token_id> text) {
      contexts.push_back({7, epoch, round, static_cast<std::uint32_t>(text.size()), prefix_hash(text), 0});
      contexts.push_back({7, epoch, 0, 0, 0, 0});
    };
    add(p.edge->epoch(), p.edge->round(), p.edge->text().first(p.edge->agreed_length()));
    add(p.cloud->epoch(), p.cloud->round(), p.cloud->text());
    const std::uint32_t length = p.cloud->length();
    for (std::uint32_t left = 1; left < std::min(length, p.cloud->round()); ++left)  // in a stream a token is a round
      add(p.cloud->epoch(), p.cloud->round() - left, p.cloud->text().first(length - left));
  }
  void change(bytes& sent) {
    note();
    if (seen++ == message) done = specverify_test::forge(sent, contexts, 8 * byte + bit);
  }
};

}  // namespace

TEST_CASE("SEC-1 session: one changed message under a good checksum never ends in silence with texts that differ") {
  const std::size_t apart = std::getenv("SPECVERIFY_LONG") != nullptr ? 1 : 3;  // bits that are changed
  int runs = 0, silent = 0, unnamed = 0, other_text = 0, named = 0;
  for (const session_mode mode : {session_mode::draft, session_mode::stream}) {
    pair_options o;
    o.mode = mode;
    o.budget = 9;
    o.format = law_format::token_only;
    o.retry_limit = 16;
    const std::vector<token_id> text = whole_text(o);
    for (std::size_t message = 0; message < 40; ++message) {
      bool any = false;
      for (std::size_t byte = 0; byte < 160; ++byte) {
        for (unsigned bit = 0; bit < 8; ++bit) {
          if ((8 * byte + bit + message) % apart != 0) continue;
          pair p(o);
          forger f{p, message, byte, bit};
          wire all{p};
          all.copies = [&](bytes& sent, bool) {
            f.change(sent);
            return 1;
          };
          (void)p.edge->start(std::vector<token_id>{4, 5, 6}, p.now);
          all.run(60);
          if (!f.done) continue;
          any = true;
          ++runs;
          const bool failed = p.edge_failure.has_value() || p.cloud_failure.has_value();
          const bool same = p.text() == cloud_text(p);
          unnamed += !all.over() && !failed ? 1 : 0;
          silent += p.edge->state() == edge_state::finished && !failed && !same ? 1 : 0;
          other_text += p.edge->state() == edge_state::finished && same && p.text() != text ? 1 : 0;
          named += failed ? 1 : 0;
        }
      }
      if (!any) break;
    }
  }
  MESSAGE(runs << " changed runs: " << named << " end with a name, " << other_text << " with another text at both, "
               << silent << " with texts that differ, " << unnamed << " not at all");
  CHECK(runs > 1000);
  CHECK(silent == 0);
  CHECK(unnamed == 0);
}

TEST_CASE("session: the end is agreed on; a cloud that has forgotten the text has no other one") {
  pair p;
  bytes question = p.start();
  while (kind_of(question) != message_kind::stop) question = p.exchange(question);
  CHECK(p.edge->state() != edge_state::finished);  // not before the cloud says so
  CHECK(p.text().size() == 23);
  pair q;
  question = q.start();
  while (kind_of(question) != message_kind::stop) question = q.exchange(question);
  q.new_cloud();
  CHECK(q.cloud->receive(question, 1).code == errc::unknown_session);
  (void)q.hear(pair::only(q.run_cloud()));
  CHECK(q.edge->state() == edge_state::finished);
  CHECK(q.edge_failure == std::nullopt);
  // a lost answer: asked again, answered again, and the cloud's host hears of the end once
  (void)p.answer(question);
  p.now = 1000;
  REQUIRE(p.edge->tick(p.now).ok());
  question = pair::only(p.run_edge());
  CHECK(kind_of(question) == message_kind::stop);
  CHECK(p.cloud->receive(question, p.now).ok());
  int ends = 0;
  bytes answer;
  (void)take_outputs(*p.cloud, [&](const session_output& out) {
    ends += out.action == session_action::finished ? 1 : 0;
    if (out.action == session_action::send) answer.assign(out.bytes.begin(), out.bytes.end());
  });
  CHECK(ends == 0);
  (void)p.hear(answer);
  CHECK(p.edge->state() == edge_state::finished);
}

namespace {

//! A hello of another version, or with a field that must be known, under a checksum that is right again.
bytes changed_hello(bytes hello, std::uint16_t version, const std::vector<unsigned>& fields = {}) {
  const auto read = decode_hello(hello);
  REQUIRE(read.ok());
  const wire_context context = read->context;
  specverify::numeric::store_le(hello.data() + 8, version, 2);
  for (const unsigned byte : fields) hello.push_back(static_cast<std::byte>(byte));
  specverify::numeric::store_le(hello.data() + 4, message_checksum(context, hello), 4);
  return hello;
}

}  // namespace

TEST_CASE("session: a hello of another version, or with a field that must be known, is refused by name at both sides") {
  const auto other_version = [](std::uint32_t version) {
    return status{errc::unknown_version, part::codec, version << 16 | wire_version};
  };
  const status unknown_field{errc::unknown_field, part::codec, 200};
  for (const int kind : {0, 1, 2}) {
    CAPTURE(kind);
    const status why = kind == 0 ? other_version(1) : kind == 1 ? other_version(wire_version + 1u) : unknown_field;
    const auto changed = [kind](const bytes& hello) {
      if (kind == 2) return changed_hello(hello, wire_version, {200, 0, 0});
      return changed_hello(hello, static_cast<std::uint16_t>(kind == 0 ? 1 : wire_version + 1));
    };
    pair p;
    const bytes hello = p.start();
    CHECK(p.cloud->receive(changed(hello), 1) == why);
    bytes told = pair::only(p.run_cloud());
    CHECK(refusal_in(told) == why);
    CHECK(p.cloud->refusal() == why);
    CHECK(p.cloud->state() == cloud_state::blank);
    CHECK(p.edge->receive(told, 1).code == errc::refused_by_peer);
    CHECK(p.edge->refusal() == why);

    pair q;
    const bytes answer = q.answer(q.start());
    CHECK(q.edge->receive(changed(answer), 1) == why);
    told = pair::only(q.run_edge());
    CHECK(q.edge->state() == edge_state::failed);
    CHECK(refusal_in(told) == why);
    CHECK(q.cloud->receive(told, 1).code == errc::refused_by_peer);
    CHECK(q.cloud->refusal() == why);
  }
}

TEST_CASE("session: a hello that cannot be read and is no answer changes nothing at the edge") {
  pair p;
  const bytes hello = p.start();
  const bytes answer = changed_hello(p.answer(hello), 1);
  bytes damaged = answer;
  damaged[40] ^= std::byte{1};
  CHECK(p.edge->receive(damaged, 1).code == errc::checksum_mismatch);  // asked again at once
  const bytes draft = p.exchange(p.exchange(pair::only(p.run_edge())));
  CHECK(p.edge->receive(answer, 1).code == errc::unexpected_message);
  CHECK(p.edge->state() == edge_state::waiting);
  p.finish(p.exchange(draft));
  CHECK(p.text() == whole_text());
}

TEST_CASE("session: an engine that fails and does not say why is engine_failed, at both sides") {
  const status why{errc::engine_failed, part::host, 0};
  pair p;
  const bytes draft = to_first_draft(p);
  CHECK(p.edge->engine_failed({}) == why);
  CHECK(refusal_in(pair::only(p.run_edge())) == why);
  CHECK(p.edge_failure == why);
  pair q;
  REQUIRE(q.cloud->receive(to_first_draft(q), 1).ok());
  q.hold_rows = true;
  (void)q.run_cloud();
  CHECK(q.cloud->engine_failed({}) == why);
  CHECK(refusal_in(pair::only(q.run_cloud())) == why);
  CHECK(q.cloud->refusal() == why);
}

TEST_CASE("session: a deadline beyond the end of time is that end") {
  pair_options o;
  o.timeout = ~session_time{0} - 5;
  pair p(o);
  p.now = 1000;
  (void)p.start();
  REQUIRE(p.edge->deadline().has_value());
  CHECK(*p.edge->deadline() == ~session_time{0});
  CHECK(p.edge->tick(2000).ok());
  CHECK(p.run_edge().empty());
}

TEST_CASE("SEC-1 edge: a round that no session has is not taken from a cloud, so that the journal is one") {
  for (const bool fetches : {false, true}) {
    CAPTURE(fetches);
    pair p;
    bytes question = to_first_draft(p);
    const bytes journal = p.edge_journal;
    for (int i = 0; i < 3; ++i) question = p.exchange(question);
    p.new_edge();
    REQUIRE(p.edge->restore(fetches ? journal : p.edge_journal, p.now).ok());
    bytes place = p.answer(pair::only(p.run_edge()));
    REQUIRE(kind_of(place) == message_kind::resume);
    wire_context said = decode_resume(place)->context;
    said.round = 0xFFFFFFFFu;
    REQUIRE(encode_resume({said}, place).ok());
    CHECK(p.edge->receive(place, p.now) == status{errc::field_out_of_range, part::session, 0xFFFFFFFFu});
    (void)p.run_edge();
    p.new_edge();
    CHECK(p.edge->restore(p.edge_journal, p.now).ok());
  }
}
