// SPDX-License-Identifier: Apache-2.0
// A host that wants no more text: `edge.stop` at any time, in every state of the cloud, over links that lose messages.
#include <session/both_ways.hpp>

#include <specverify/host/host.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <thread>

using namespace specverify;
using namespace specverify_test;

namespace {

constexpr stop_cause cancelled = stop_cause::cancelled;
const std::vector<token_id> prompt{4, 5, 6};

//! Returns options whose sessions pass through every state: the prompt takes several chunks, mismatches are scored,
//! vectors are requested.
pair_options with_every_state(bool semantic) {
  pair_options o;
  if (!semantic) return o;
  o.rule = wire_rule::semantic;
  o.format = law_format::token_only;
  o.attachments = {.hidden_size = 6, .hidden = hidden_format::float16};
  return o;
}

//! Checks that both sides are over, and the cloud's session can be forgotten.
void check_cancelled(const pair& p) {
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.edge_end == stop_reason::cancelled);
  CHECK(p.cloud->state() == cloud_state::finished);
  const bool whole = p.cloud->length() == p.cloud->prompt_length() + p.options.budget;  // the edge lacks the end
  CHECK(p.cloud_end == (whole ? stop_reason::budget : stop_reason::cancelled));
  CHECK_FALSE(p.cloud_failure.has_value());
}

//! The cloud gets the first chunk of the prompt, and the others are lost. Returns the edge's hello.
bytes fill_a_part(pair& p) {
  const bytes hello = p.start();
  REQUIRE(p.edge->receive(p.answers(hello).front(), p.now).ok());
  REQUIRE(p.cloud->receive(p.run_edge().front(), p.now).ok());
  (void)p.run_cloud();
  return hello;
}

}  // namespace

TEST_CASE("stop: a host ends a text at any moment, and the cloud is free") {
  for (const session_mode mode : {session_mode::draft, session_mode::stream}) {
    for (int moment = 0; moment < 24; ++moment) {
      CAPTURE(static_cast<int>(mode));
      CAPTURE(moment);
      pair_options o;
      o.mode = mode;
      o.edge_chunk = 2;
      o.timeout = moment % 2 == 0 ? 100 : 0;
      pair p(o);
      REQUIRE(p.edge->start(prompt, p.now).ok());
      bool ended = false;  // before the text was complete
      wire link{p};
      link.before = [&](int step) {
        if (step != moment || p.edge->length() == 3 + o.budget) return;
        ended = true;
        REQUIRE(p.edge->stop(cancelled, p.now).ok());
      };
      link.run();
      CHECK(p.edge->state() == edge_state::finished);
      if (ended) check_cancelled(p);
      CHECK(p.edge->statistics().timeouts == 0);
    }
  }
}

TEST_CASE("stop: no lost message keeps the cloud waiting") {
  for (const bool semantic : {false, true}) {
    for (int moment = 0; moment < 12; ++moment) {
      for (int which = 0; which < 6; ++which) {
        CAPTURE(semantic);
        CAPTURE(moment);
        CAPTURE(which);
        pair p(with_every_state(semantic));
        REQUIRE(p.edge->start(prompt, p.now).ok());
        int after = 0;
        bool ended = false;
        wire link{p, [&](const bytes&, bool) { return ended && after++ == which ? 0 : 1; }};
        link.before = [&](int step) {
          if (step != moment || p.edge->length() == 23) return;
          ended = true;
          REQUIRE(p.edge->stop(cancelled, p.now).ok());
        };
        link.run();
        CHECK(p.edge->state() == edge_state::finished);
        if (!ended) continue;
        CHECK(p.edge_end == stop_reason::cancelled);
        CHECK(p.cloud->state() == cloud_state::finished);
      }
    }
  }
}

TEST_CASE("stop: a cloud takes it in every state") {
  std::vector<bool> met(11);
  for (const bool semantic : {false, true}) {
    for (int moment = 0; moment < 10; ++moment) {
      for (const bool holds : {false, true}) {
        CAPTURE(semantic);
        CAPTURE(moment);
        CAPTURE(holds);
        pair_options o = with_every_state(semantic);
        o.edge_chunk = 2;
        o.timeout = 0;
        pair p(o);
        REQUIRE(p.edge->start(prompt, p.now).ok());
        bool ended = false;
        const auto end = [&] {
          met[static_cast<std::size_t>(p.cloud->state())] = true;
          REQUIRE(p.edge->stop(cancelled, p.now).ok());
          ended = true;
        };
        wire link{p};
        link.before = [&](int step) {
          p.hold_rows = holds && !semantic && step >= moment;
          p.hold_scores = holds && semantic && step >= moment;
          if (step == moment + 1 && !ended) end();
        };
        link.run();
        if (!ended) {
          end();
          link.run();
        }
        check_cancelled(p);
      }
    }
  }
  for (const cloud_state state : {cloud_state::filling, cloud_state::ready, cloud_state::evaluating,
                                  cloud_state::scoring, cloud_state::requesting})
    CHECK_MESSAGE(met[static_cast<std::size_t>(state)], "a cloud in state ", static_cast<int>(state));
}

TEST_CASE("stop: rows and scores that come behind it are of no use") {
  pair p;
  p.hold_rows = true;
  bytes question = p.exchange(p.start());
  REQUIRE(p.cloud->receive(question, p.now).ok());
  (void)p.run_cloud();
  REQUIRE(p.cloud->state() == cloud_state::evaluating);
  REQUIRE(p.edge->stop(cancelled, p.now).ok());
  wire{p}.run();
  check_cancelled(p);
  CHECK(p.cloud->supply_rows(exec::seq, row_span_provider<float>(p.cloud_engine.rows(), p.transforms), p.now).ok());
  CHECK_FALSE(p.cloud->has_outputs());
  CHECK(p.cloud->length() == 3);

  pair scored(with_every_state(true));
  scored.hold_scores = true;
  REQUIRE(scored.edge->start(prompt, scored.now).ok());
  wire{scored}.run(0);
  REQUIRE(scored.cloud->state() == cloud_state::scoring);
  const std::uint32_t had = scored.cloud->length();
  REQUIRE(scored.edge->stop(cancelled, scored.now).ok());
  wire{scored}.run();
  check_cancelled(scored);
  CHECK(scored.cloud->supply_scores(std::array{0.5}, scored.now).ok());
  CHECK_FALSE(scored.cloud->has_outputs());
  CHECK(scored.cloud->length() == had);
}

TEST_CASE("stop: a session that was cancelled stays over after a restart of either side") {
  for (const bool told : {false, true}) {
    CAPTURE(told);
    pair p;
    (void)p.exchange(p.start());
    REQUIRE(p.edge->stop(cancelled, p.now).ok());
    const bytes stop = pair::only(p.run_edge());
    const bytes edge_journal = p.edge_journal;
    if (told) (void)p.answer(stop);
    p.new_edge();
    p.edge_end.reset();
    REQUIRE(p.edge->restore(edge_journal, p.now).ok());
    const bytes cloud_journal = p.cloud_journal;
    p.new_cloud();
    REQUIRE(p.cloud->restore(cloud_journal).ok());
    CHECK((p.cloud->state() == cloud_state::finished) == told);
    wire{p}.run();
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.edge_end == stop_reason::cancelled);
    CHECK(p.cloud->state() == cloud_state::finished);
  }
}

TEST_CASE("stop: a cloud that is filled is restored as over") {
  pair_options o;
  o.edge_chunk = 2;
  pair p(o);
  fill_a_part(p);
  REQUIRE(p.cloud->state() == cloud_state::filling);
  REQUIRE(p.edge->stop(cancelled, p.now).ok());
  wire{p}.run();
  check_cancelled(p);
  const bytes journal = p.cloud_journal;
  p.new_cloud();
  REQUIRE(p.cloud->restore(journal).ok());
  CHECK(p.cloud->state() == cloud_state::finished);
}

TEST_CASE("stop: an edge that forgot it is refused by name") {
  pair p;
  (void)p.exchange(p.start());
  REQUIRE(p.edge->stop(cancelled, p.now).ok());
  wire{p}.run();
  p.new_edge();
  p.now += 1000;
  REQUIRE(p.edge->recover(3, p.now).ok());
  wire{p}.run();
  CHECK(p.edge->state() == edge_state::failed);
  CHECK(p.edge->refusal().code == errc::session_closed);
}

TEST_CASE("stop: an edge that forgot it fills no cloud") {
  pair_options o;
  o.edge_chunk = 2;
  pair p(o);
  fill_a_part(p);
  const bytes before = p.edge_journal;
  REQUIRE(p.edge->stop(cancelled, p.now).ok());
  wire{p}.run();
  const std::uint32_t had = p.cloud->length();
  p.new_edge();
  REQUIRE(p.edge->restore(before, p.now).ok());
  wire{p}.run();
  CHECK(p.edge->refusal().code == errc::session_closed);
  CHECK(p.cloud->length() == had);
}

TEST_CASE("stop: a cancelled cloud says so to any claim") {
  pair_options o;
  std::uint32_t claimed = 0;
  bool has_prompt = true;
  SUBCASE("of less than the prompt, which it lacks") { o.edge_chunk = 2, has_prompt = false; }
  SUBCASE("of more text than there may be") { claimed = 90; }
  SUBCASE("of text that it has not verified") {
    o.format = law_format::token_only, o.required = guarantee::unconditional, claimed = 9;
  }
  pair p(o);
  bytes hello;
  if (has_prompt) {
    hello = p.start();
    (void)p.exchange(hello);
  } else {
    hello = fill_a_part(p);
  }
  REQUIRE(p.edge->stop(cancelled, p.now).ok());
  wire{p}.run();
  REQUIRE(p.cloud->state() == cloud_state::finished);
  auto other = decode_hello(hello).value();
  other.length = claimed;
  other.prefix_hash = prefix_hash(std::vector<token_id>(claimed, 1));
  REQUIRE(encode_hello(other, hello).ok());
  CHECK(p.cloud->receive(hello, p.now).code == errc::session_closed);
}

TEST_CASE("stop: the answer to hello comes first") {
  pair p;
  (void)p.exchange(p.start());
  const bytes journal = p.edge_journal;
  p.new_edge();
  REQUIRE(p.edge->restore(journal, p.now).ok());
  CHECK(p.run_edge().size() == 1);  // and it is lost
  REQUIRE(p.edge->stop(cancelled, p.now).ok());
  CHECK(p.run_edge().empty());
  wire{p}.run();
  check_cancelled(p);
  CHECK(p.edge->statistics().handshakes == 2);
}

TEST_CASE("stop: what may not be said, and when there is nothing to end") {
  pair p;
  CHECK(p.edge->stop(cancelled, p.now).code == errc::unexpected_message);
  bytes question = p.start();
  for (const stop_cause cause : {stop_cause::stop_token, stop_cause::budget, stop_cause::failed})
    CHECK(p.edge->stop(cause, p.now).code == errc::invalid_argument);
  CHECK_FALSE(p.edge->has_outputs());
  p.finish(question);
  CHECK(p.edge->stop(cancelled, p.now).code == errc::session_closed);
  CHECK(p.edge_end == stop_reason::budget);
}

TEST_CASE("stop: the cause is told as the host gave it") {
  pair p;
  (void)p.exchange(p.start());
  REQUIRE(p.edge->stop(stop_cause::finished, p.now).ok());
  const bytes message = pair::only(p.run_edge());
  const auto said = decode_stop(message);
  REQUIRE(said.ok());
  CHECK(said->cause == stop_cause::finished);
  CHECK(said->length == 3);
}

TEST_CASE("stop: a text that the host shows is taken back as far as it was only drafted") {
  pair p;
  (void)p.exchange(p.start());
  p.story.clear();
  REQUIRE(p.edge->stop(cancelled, p.now).ok());
  (void)p.run_edge();
  CHECK(p.story == "retracted rollback journal send");
}

TEST_CASE("stop: drafts that were taken back are not shown again after a restart") {
  pair p;
  (void)p.exchange(p.start());
  REQUIRE(p.edge->stop(cancelled, p.now).ok());
  const bytes stop = pair::only(p.run_edge());
  SUBCASE("before the cloud has answered") {}
  SUBCASE("and after it has") { (void)p.exchange(stop); }
  const bytes journal = p.edge_journal;
  p.new_edge();
  p.story.clear();
  REQUIRE(p.edge->restore(journal, p.now).ok());
  (void)p.run_edge();
  const bool shows_drafts = p.story.find("tentative") != std::string::npos;
  CHECK_FALSE(shows_drafts);
}

TEST_CASE("stop: a restored edge tells the cause that the host gave") {
  for (const stop_cause cause : {cancelled, stop_cause::finished}) {
    CAPTURE(static_cast<int>(cause));
    pair p;
    (void)p.exchange(p.start());
    REQUIRE(p.edge->stop(cause, p.now).ok());
    (void)p.run_edge();
    for (int lives = 0; lives < 2; ++lives) {
      const bytes journal = p.edge_journal;
      p.new_edge();
      REQUIRE(p.edge->restore(journal, p.now).ok());
      const bytes hello = pair::only(p.run_edge());
      const bytes message = p.exchange(hello);
      const auto said = decode_stop(message);
      REQUIRE(said.ok());
      CHECK(said->cause == cause);
    }
  }
}
