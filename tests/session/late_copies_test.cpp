// SPDX-License-Identifier: Apache-2.0
// Without timers (retry_timeout = 0), over a transport that delivers every message at least once: copies of old
// messages come late, so that a number mod 16 says nothing. Nobody waits for ever, and no copy ends a session.
#include <session/without_timers.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

using namespace specverify;
using namespace specverify_test;

namespace {

//! What an edge of this pair says at its end, with a number.
bytes stop_of(const pair& p, std::uint32_t length, std::uint8_t number) {
  const wire_context end{p.cloud->session_id(), p.cloud->epoch(), 0, 0, 0, number};
  bytes out(64);
  const auto made =
      encode_stop(end, {stop_cause::budget, length, prefix_hash(p.cloud->text().first(length))}, std::span(out));
  REQUIRE(made);
  out.resize(made->size());
  return out;
}

[[nodiscard]] std::uint8_t number_of(const bytes& message) { return peek_header(message)->flags; }

//! Hands over what is under way, and at one moment a copy. What both sides say is noted.
class conversation {
 public:
  explicit conversation(pair& p) : p_(p) {}
  void say(std::vector<bytes> sent) {
    for (bytes& message : sent) {
      said_up.push_back(message);
      up_.push_back(std::move(message));
    }
  }
  void answer(std::vector<bytes> sent) {
    for (bytes& message : sent) {
      said_down.push_back(message);
      down_.push_back(std::move(message));
    }
  }
  void hear_up(const bytes& message) {
    (void)p_.cloud->receive(message, p_.now);
    answer(p_.run_cloud());
  }
  void hear_down(const bytes& message) {
    (void)p_.edge->receive(message, p_.now);
    say(p_.run_edge());
  }
  //! One message. False: none is under way.
  bool step() {
    if (!down_.empty()) {
      const bytes message = std::move(down_.front());
      down_.pop_front();
      return hear_down(message), true;
    }
    if (up_.empty()) return false;
    const bytes message = std::move(up_.front());
    up_.pop_front();
    return hear_up(message), true;
  }
  void lose() {
    up_.clear();
    down_.clear();
  }

  std::vector<bytes> said_up{}, said_down{};

 private:
  pair& p_;
  std::deque<bytes> up_{}, down_{};
};

struct copied_message {
  std::size_t number = 0;
  bool down = false;
};

//! The next life of the edge, from a journal; `lost`: nobody else has the text.
void live_again(pair& p, conversation& talk, const bytes& journal, bool lost) {
  talk.lose();
  if (lost) p.new_cloud();
  p.new_edge();
  REQUIRE(p.edge->restore(journal, p.now));
  talk.say(p.run_edge());
}

//! One life of `rounds` messages, another one, and a copy in it, before its message `moment`. Both are lives from the
//! same journal, and so in the same epoch; or the cloud has lost the session, and is filled. False: there was nothing
//! to copy.
bool lives_with_a_copy(const pair_options& o, const std::vector<token_id>& whole, bool lost, int rounds, int moment,
                       copied_message copied) {
  pair p(o);
  conversation talk(p);
  talk.say({p.start()});
  while (p.edge->state() != edge_state::waiting && talk.step()) continue;
  const bytes journal = p.edge_journal;
  if (!lost) live_again(p, talk, journal, false);
  for (int i = 0; i < rounds; ++i) (void)talk.step();
  live_again(p, talk, lost ? p.edge_journal : journal, lost);
  for (int i = 0; i < moment; ++i) (void)talk.step();
  const std::vector<bytes>& said = copied.down ? talk.said_down : talk.said_up;
  if (copied.number >= said.size()) return false;
  const bytes copy = said[copied.number];
  if (copied.down) {
    talk.hear_down(copy);
  } else {
    talk.hear_up(copy);
  }
  for (int i = 0; i < 400 && talk.step(); ++i) continue;
  CAPTURE(lost);
  CAPTURE(rounds);
  CAPTURE(moment);
  CAPTURE(copied.number);
  CAPTURE(copied.down);
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.cloud->state() == cloud_state::finished);
  CHECK(p.text() == whole);
  return true;
}

}  // namespace

TEST_CASE("NET-5 session: a copy of any message, at any moment of another life of the edge, makes nobody wait") {
  pair_options o = without_timers();
  o.edge_chunk = 5;
  o.budget = 30;
  const std::vector<token_id> whole = whole_text(o);
  std::size_t copies = 0;
  for (const bool down : {false, true}) {
    for (int rounds = 3; rounds <= 27; rounds += 6) {
      for (int moment = 0; moment <= 24; ++moment) {
        copied_message copied{0, down};
        while (lives_with_a_copy(o, whole, false, rounds, moment, copied)) ++copied.number;
        copies += copied.number;
      }
    }
  }
  CHECK(copies > 1000);
}

TEST_CASE("NET-5 session: while a cloud is filled, a copy of any message makes nobody wait") {
  pair_options o = without_timers();
  o.edge_chunk = 2;
  o.budget = 30;
  const std::vector<token_id> whole = whole_text(o);
  std::size_t copies = 0;
  for (const bool down : {false, true}) {
    for (int moment = 0; moment <= 40; ++moment) {
      copied_message copied{0, down};
      while (lives_with_a_copy(o, whole, true, 16, moment, copied)) ++copied.number;
      copies += copied.number;
    }
  }
  CHECK(copies > 1000);
}

TEST_CASE("NET-5 cloud: the stop of a text that is whole is answered, whatever its number is") {
  for (std::uint8_t number = 0; number < 16; ++number) {
    CAPTURE(number);
    pair p(without_timers());
    bytes question = to_first_draft(p);
    while (p.edge->state() != edge_state::stopping) question = p.exchange(question);
    CHECK(p.cloud->receive(stop_of(p, p.cloud->length(), number), p.now).ok());
    const bytes answer = pair::only(p.run_cloud());
    CHECK(p.edge->receive(answer, p.now).ok());
    CHECK(p.edge->state() == edge_state::finished);
    if (number != number_of(question)) continue;
    CHECK(p.cloud->receive(stop_of(p, p.cloud->length(), number), p.now).code == errc::duplicate);
    CHECK(p.run_cloud().empty());
  }
}

TEST_CASE("NET-5 cloud: a late stop is answered, and does not end a text that can go on") {
  for (std::uint8_t behind = 0; behind < 8; ++behind) {
    CAPTURE(behind);
    pair p(without_timers());
    const bytes first = to_first_draft(p);
    const auto number = static_cast<std::uint8_t>((16u + number_of(first) - behind) & 15u);
    const bytes question = p.exchange(first);
    CHECK(p.cloud->receive(stop_of(p, p.cloud->length(), number), p.now).ok());
    const bytes answer = pair::only(p.run_cloud());
    REQUIRE_FALSE(answer.empty());
    CHECK(kind_of(answer) == message_kind::stop);
    CHECK(p.cloud->state() == cloud_state::ready);
    CHECK_FALSE(p.edge->receive(answer, p.now).ok());
    (void)go_on(p, {question});
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 cloud: a late stop does not end a session whose draft is being verified") {
  for (std::uint8_t number = 0; number < 16; ++number) {
    CAPTURE(number);
    pair p(without_timers());
    bytes question = p.exchange(to_first_draft(p));
    p.hold_rows = true;
    CHECK(p.cloud->receive(question, p.now).ok());
    CHECK(p.run_cloud().empty());
    p.hold_rows = false;
    CHECK(p.cloud->receive(stop_of(p, p.cloud->length(), number), p.now).code == errc::unexpected_message);
    CHECK(p.run_cloud().empty());
    CHECK(p.cloud->supply_rows(exec::seq, row_span_provider<float>(p.cloud_engine.rows(), p.transforms), p.now).ok());
    const bytes verdict = pair::only(p.run_cloud());
    (void)go_on(p, {p.hear(verdict)});
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 cloud: a resume that asks for text has it, whatever its number is") {
  for (std::uint8_t number = 0; number < 16; ++number) {
    CAPTURE(number);
    pair p(without_timers());
    (void)p.exchange(p.exchange(to_first_draft(p)));
    const wire_context asked{p.cloud->session_id(),
                             p.cloud->epoch(),
                             p.cloud->round(),
                             p.cloud->prompt_length(),
                             prefix_hash(p.cloud->text().first(p.cloud->prompt_length())),
                             number};
    bytes resume(64);
    const auto made = encode_resume({asked}, std::span(resume));
    REQUIRE(made);
    resume.resize(made->size());
    (void)p.cloud->receive(resume, p.now);
    CHECK(kind_of(pair::only(p.run_cloud())) == message_kind::text);
  }
}

TEST_CASE("NET-5 cloud: a late draft of an earlier life does not make the next life's question late") {
  for (int rounds = 0; rounds <= 6; ++rounds) {
    CAPTURE(rounds);
    pair p(without_timers());
    bytes question = to_first_draft(p);
    for (int i = 0; i < rounds; ++i) question = p.exchange(question);
    const bytes journal = p.edge_journal;
    (void)p.exchange(question);
    REQUIRE(p.edge->reconnect(p.now).ok());
    const bytes late = p.exchange(pair::only(p.run_edge()));
    CHECK(kind_of(late) == message_kind::draft);
    const std::uint32_t epoch = p.edge->epoch();
    p.new_edge();
    REQUIRE(p.edge->restore(journal, p.now));
    CHECK(p.edge->epoch() == epoch);
    (void)p.cloud->receive(pair::only(p.run_edge()), p.now);  // a greeting whose number came before
    question = p.hear(pair::only(p.run_cloud()));
    CHECK(p.cloud->receive(late, p.now).ok());
    for (const bytes& verdict : p.run_cloud()) (void)p.edge->receive(verdict, p.now);
    (void)go_on(p, {question});
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.text() == whole_text());
  }
}

TEST_CASE("NET-5 edge: the hello of a newer epoch, which another life said, is heard in place of the verdict") {
  pair p(without_timers());
  const bytes first = p.start();
  bytes question = p.exchange(first);
  while (p.edge->state() != edge_state::waiting) question = p.exchange(question);
  p.hold_rows = true;
  CHECK(p.cloud->receive(question, p.now).ok());
  CHECK(p.run_cloud().empty());
  p.hold_rows = false;
  auto hello = decode_hello(first);
  REQUIRE(hello);
  hello->context.epoch += 1;
  bytes other(first.size());
  REQUIRE(encode_hello(*hello, other));
  CHECK(p.cloud->receive(other, p.now).ok());
  CHECK(p.run_cloud().empty());
  CHECK(p.cloud->supply_rows(exec::seq, row_span_provider<float>(p.cloud_engine.rows(), p.transforms), p.now).ok());
  const bytes answer = pair::only(p.run_cloud());
  CHECK(kind_of(answer) == message_kind::hello);
  (void)go_on(p, {p.hear(answer)});
  CHECK(p.edge->epoch() == hello->context.epoch + 1);
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.text() == whole_text());
}

TEST_CASE("NET-5 edge: a hello in place of the verdict is heard while hidden states were supplied") {
  pair_options o = without_timers();
  o.rule = wire_rule::semantic;
  o.format = law_format::token_only;
  o.draft_length = 6;
  o.attachments.hidden = hidden_format::int8;
  o.attachments.hidden_size = 6;
  pair p(o);
  const bytes hello = p.start();
  bytes question = hello;
  while (kind_of(question) != message_kind::supply) question = p.exchange(question);
  p.hold_scores = true;
  CHECK(p.cloud->receive(question, p.now).ok());
  CHECK(p.run_cloud().empty());
  REQUIRE(p.cloud->wants_scores());
  CHECK(p.cloud->receive(hello, p.now).code == errc::stale_round);  // a copy, while the scorer works
  std::vector<double> scores(1, 0.9);
  while (p.cloud->supply_scores(scores, p.now).code == errc::size_mismatch) scores.push_back(0.9);
  p.hold_scores = false;
  const bytes answer = pair::only(p.run_cloud());
  CHECK(kind_of(answer) == message_kind::hello);
  (void)go_on(p, {p.hear(answer)});
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(std::ranges::equal(p.edge->text(), p.cloud->text()));
}
