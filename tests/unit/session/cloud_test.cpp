// SPDX-License-Identifier: Apache-2.0
#include "pair.hpp"

#include <specverify/session/presets.hpp>

#include <support/secret_of.hpp>

#include <algorithm>
#include <limits>

using namespace specverify;
using namespace specverify_test;

namespace {
bytes to_first_draft(pair& p) { return p.exchange(p.start()); }

//! A window that never drafts.
struct no_drafts {
  static constexpr bool unconditional = true;
  [[nodiscard]] draft_plan begin(const observation&) const noexcept { return {}; }
  [[nodiscard]] bool proceed(std::uint32_t, const law&, std::uint64_t) const noexcept { return true; }
};

//! What the cloud refuses a message with.
errc refusal_of(pair& p, const bytes& message) {
  const status why = p.cloud->receive(message, 1);
  const auto name = name_of(message);
  const status told = pair::reason_of(pair::only(p.run_cloud()), name ? *name : p.named);
  CHECK((told == why || told.code == errc::no_handshake));
  return told.code;
}

//! Sessions whose cloud may get tokens in place of rows.
std::vector<pair_options> sampled_sessions() {
  pair_options plain{.format = law_format::token_only, .budget = 40, .rule = wire_rule::greedy};
  pair_options no_bonus = plain, shared = plain, with_laws = plain, stream = plain;
  no_bonus.bonus = false;
  shared.noise = noise_kind::philox;
  with_laws.format = law_format::sparse_drop_zero;
  stream.mode = session_mode::stream;
  return {plain, no_bonus, shared, with_laws, stream};
}

//! The work that the engine has been asked for.
status supply(pair& p) {
  return p.cloud->supply_rows(exec::seq, row_span_provider<float>(p.cloud_engine.rows(), p.transforms), 1);
}
}  // namespace

TEST_CASE("cloud: options are checked") {
  cloud_options o;
  CHECK(make_cloud(o).error().code != errc::ok);
  o.secret = secret_of(2);
  o.salt = 1;
  CHECK(make_cloud(o).error() == status{errc::vocab_size_missing, part::session, o.at_vocab_size});
  o.vocab_size = 30;
  CHECK(make_cloud(o).ok());
  o.secret = secret_of(0);  // what nobody set is known to everybody
  CHECK(make_cloud(o).error() == status{errc::secret_missing, part::session, o.at_secret});
  o.secret = secret_of(2);
  o.salt = 0;  // nor would a salt that all sessions have
  CHECK(make_cloud(o).error() == status{errc::salt_missing, part::session, o.at_salt});
  o.salt = 1;
  o.max_text_length = 1;
  CHECK(make_cloud(o).error().code == errc::invalid_argument);
  o.max_text_length = 8;
  o.trial_cap = 0;
  CHECK(make_cloud(o).error().code == errc::invalid_argument);
}

TEST_CASE("cloud: a limit that is 0, beyond what messages hold, or against another one is named") {
  const auto refused = [](auto change) {
    cloud_options o{.secret = secret_of(2), .salt = 1, .vocab_size = 30};
    change(o);
    return make_cloud(o).error();
  };
  const auto wrong = [](std::uint32_t where) { return status{errc::invalid_argument, part::session, where}; };
  CHECK(refused([](cloud_options& o) { o.limits.max_draft_length = 0; }) == wrong(cloud_options::at_max_draft_length));
  CHECK(refused([](cloud_options& o) { o.limits.max_draft_length = 4097; }) ==
        wrong(cloud_options::at_max_draft_length));
  CHECK(refused([](cloud_options& o) { o.limits.max_draft_length = 4096; }).ok());
  CHECK(refused([](cloud_options& o) { o.limits.max_law_entries = 0; }) == wrong(cloud_options::at_max_law_entries));
  CHECK(refused([](cloud_options& o) { o.limits.max_law_entries = 1; }).ok());
  // an id takes 5 bits
  CHECK(refused([](cloud_options& o) { o.limits.max_skipped = 65536; }) == wrong(cloud_options::at_max_skipped));
  CHECK(refused([](cloud_options& o) { o.limits = {8, 1, 65536, 0, 1u << 16}; }).ok());
  CHECK(refused([](cloud_options& o) {
          o.limits = {8, 1, 65537, 0, 1u << 16};
        }) == wrong(cloud_options::at_max_skipped));
  CHECK(refused([](cloud_options& o) { o.limits.max_hidden_bytes = (1u << 14) - 7; }) ==
        wrong(cloud_options::at_max_hidden_bytes));
  CHECK(refused([](cloud_options& o) { o.limits.max_hidden_bytes = (1u << 14) - 8; }).ok());
  CHECK(refused([](cloud_options& o) { o.limits.max_message_bytes = 0; }) ==
        wrong(cloud_options::at_max_message_bytes));
  const wire_format plain{law_format::token_only, 30, 0, 0, 1};
  const auto text = static_cast<std::uint32_t>(longest_message(plain, 400));
  CHECK(refused([&](cloud_options& o) { o.text_chunk = 400, o.limits.max_message_bytes = text; }).ok());
  CHECK(refused([&](cloud_options& o) { o.text_chunk = 410, o.limits.max_message_bytes = text; }) ==
        wrong(cloud_options::at_max_message_bytes));
  CHECK(refused([](cloud_options& o) { o.vocab_size = (1u << 24) + 1; }) ==
        status{errc::vocabulary_too_large, part::session, cloud_options::at_vocab_size});
}

TEST_CASE("cloud: a secret, a salt and a vocabulary size are enough to serve edges with default options") {
  const auto greeted = [](const specverify::edge_options& options, const auto& system) {
    auto edge = make_edge(options, system);
    auto cloud = make_cloud({.secret = secret_of(2), .salt = 1, .vocab_size = options.vocab_size});
    REQUIRE((edge.ok() && cloud.ok()));
    REQUIRE(edge->start(std::array<token_id, 1>{0}, 1).ok());
    bytes hello;
    for (session_output out = edge->next(); out.action != session_action::none; out = edge->next())
      if (out.action == session_action::send) hello.assign(out.bytes.begin(), out.bytes.end());
    return cloud->receive(hello, 1);
  };
  for (const std::uint32_t vocab_size : {2u, 30u, 1000u, 32000u, 200000u}) {
    CAPTURE(vocab_size);
    const specverify::edge_options plain{.secret = secret_of(1), .vocab_size = vocab_size};
    CHECK(greeted(plain, preset<>{}).ok());
    const cloud_limits needed = cloud_session::limits_for(format_of(plain)), given{};
    CHECK(needed.max_draft_length == 4);
    CHECK(needed.max_draft_length <= given.max_draft_length);
    CHECK(needed.max_law_entries == 4 * std::min(vocab_size, 16u));
    CHECK(needed.max_law_entries <= given.max_law_entries);
    CHECK(needed.max_message_bytes <= given.max_message_bytes);
    if (vocab_size < 1000) continue;
    CHECK(greeted(plain, qs()).ok());
    CHECK(greeted(plain, k_sqs()).ok());
    CHECK(greeted(plain, c_sqs({.max_support_size = 256})).ok());
    CHECK(greeted(plain, greedy()).ok());
    CHECK(
        greeted(plain, hlm()) ==
        (vocab_size > 4096 ? status{errc::beyond_limit, part::session, cloud_options::at_max_law_entries} : status{}));
  }
}

TEST_CASE("VOC-2 cloud: another vocabulary is refused before the first token") {
  pair_options o;
  o.edge_fingerprint = 5;
  pair p(o);
  const bytes hello = p.start();
  CHECK(p.cloud->receive(hello, 1).code == errc::fingerprint_mismatch);
  CHECK(p.edge->receive(pair::only(p.run_cloud()), 1).code == errc::refused_by_peer);
  (void)p.run_edge();
  REQUIRE(p.edge_failure.has_value());
  CHECK(p.edge_failure->where == static_cast<std::uint32_t>(errc::fingerprint_mismatch));
}

TEST_CASE("NET-8 cloud: a guarantee that is too weak is refused; a point mass is unconditional") {
  pair_options o;
  o.required = guarantee::unconditional;
  pair trusting(o);
  CHECK(refusal_of(trusting, trusting.start()) == errc::guarantee_too_weak);
  o.format = law_format::token_only;
  pair p(o);
  p.finish(p.start());
  CHECK(p.text().size() == 23);
}

TEST_CASE("NET-7 cloud: a hello that needs more than the buffers is refused") {
  pair_options o;
  pair p(o);
  p.options.draft_length = 9;
  p.new_edge();
  CHECK(refusal_of(p, p.start()) == errc::beyond_limit);
  pair_options tight;
  tight.cloud_max_length = 10;  // prompt and budget need 23
  pair q(tight);
  CHECK(refusal_of(q, q.start()) == errc::beyond_limit);
}

TEST_CASE("NET-7 cloud: a refused hello names the limit that it is beyond") {
  const auto limit_of = [](const pair_options& wanted, const pair_options& served = {}) {
    pair p(wanted);
    p.options = served;
    p.new_cloud();
    const status why = p.cloud->receive(p.start(), 1);
    CHECK(why.code == errc::beyond_limit);
    return why.where;
  };
  pair_options o;
  o.draft_length = 9;
  CHECK(limit_of(o) == cloud_options::at_max_draft_length);
  o = {};
  o.format = law_format::dense_lattice;  // lists as many ids as its resolution
  CHECK(limit_of(o) == cloud_options::at_max_law_entries);
  o = {};
  o.attachments.max_skipped = 1;
  CHECK(limit_of(o) == cloud_options::at_max_skipped);
  o = {};
  o.attachments = {4, hidden_format::float16, true, false, 0};
  CHECK(limit_of(o) == cloud_options::at_max_hidden_bytes);
  o = {};
  o.cloud_max_length = 22;  // one less than prompt and budget
  CHECK(limit_of({}, o) == cloud_options::at_max_text_length);
}

namespace {
//! One more of everything than `limits[i]` allows.
struct one_limit {
  std::uint32_t cloud_limits::*field;
  std::uint32_t where;
};
constexpr std::array<one_limit, 5> each_limit{{
    {&cloud_limits::max_draft_length, cloud_options::at_max_draft_length},
    {&cloud_limits::max_law_entries, cloud_options::at_max_law_entries},
    {&cloud_limits::max_skipped, cloud_options::at_max_skipped},
    {&cloud_limits::max_hidden_bytes, cloud_options::at_max_hidden_bytes},
    {&cloud_limits::max_message_bytes, cloud_options::at_max_message_bytes},
}};
//! An edge that needs more of everything than the edge of plain `pair_options`.
pair_options needs_more() {
  pair_options o;
  o.draft_length = 5;
  o.attachments = {4, hidden_format::float16, true, false, 2};
  o.pad_to = 20000;
  return o;
}
}  // namespace

TEST_CASE("NET-7 cloud: a hello beyond any one limit is refused by its name, and a proper one is served after it") {
  pair plain;
  plain.finish(plain.start());
  const cloud_limits needed = cloud_session::limits_for(pair(needs_more()).format());
  CHECK(needed == cloud_limits{5, 40, 2, 40, 20000});
  for (const one_limit& limit : each_limit) {
    CAPTURE(limit.where);
    pair p(needs_more());
    p.options = {};
    p.options.limits = needed;
    p.new_cloud();
    const bytes hello = p.start();
    CHECK(p.cloud->receive(hello, 1).ok());  // the limits are enough
    p.options.limits.value().*limit.field -= 1;
    p.new_cloud();
    const status beyond{errc::beyond_limit, part::session, limit.where};
    CHECK(p.cloud->receive(hello, 1) == beyond);
    const bytes answer = pair::only(p.run_cloud());
    CHECK(p.reason(answer) == beyond);
    CHECK(p.cloud->state() == cloud_state::blank);
    CHECK(p.cloud->length() == 0);
    CHECK(p.cloud_journal.empty());
    p.edge_journal.clear();
    p.new_edge();
    p.finish(p.start());
    CHECK(p.text() == plain.text());
  }
}

TEST_CASE("SEC-1 cloud: a journal under a lower limit is refused by the name of the limit") {
  pair p(needs_more());
  (void)to_first_draft(p);
  const cloud_limits needed = cloud_session::limits_for(p.format());
  const auto restored = [&](const cloud_limits& limits) {
    auto made = make_cloud(
        {.secret = secret_of(2), .salt = 1, .vocab_size = pair::vocab_size, .limits = limits, .max_text_length = 100});
    REQUIRE(made.ok());
    return made->restore(p.cloud_journal).error();
  };
  CHECK(restored(needed).ok());
  for (const one_limit& limit : each_limit) {
    CAPTURE(limit.where);
    cloud_limits lower = needed;
    lower.*limit.field -= 1;
    CHECK(restored(lower) == status{errc::beyond_limit, part::session, limit.where});
  }
}

TEST_CASE("NET-7 cloud: a hello that asks for a truncation without room for it is refused by name") {
  constexpr status beyond{errc::beyond_limit, part::session, cloud_options::at_truncation};
  const auto greeted = [](const pair_options& wanted, const pair_options& served) {
    pair p(wanted);
    p.options = served;
    p.new_cloud();
    return p.cloud->receive(p.start(), 1);
  };
  pair_options nucleus;
  nucleus.truncation.top_p = 0.9;
  pair_options largest = nucleus;
  largest.truncation.top_k = 5;
  CHECK(greeted(nucleus, {}) == beyond);
  CHECK(greeted(nucleus, largest) == beyond);  // top-p keeps up to V tokens
  CHECK(greeted(nucleus, nucleus).ok());
  CHECK(greeted(largest, nucleus).ok());
  for (const wire_rule rule : {wire_rule::greedy, wire_rule::semantic}) {  // the argmax needs no room
    nucleus.rule = rule;
    nucleus.format = law_format::token_only;
    pair_options plain;
    plain.format = law_format::token_only;
    CHECK(greeted(nucleus, plain).ok());
  }
}

TEST_CASE("NET-7 cloud: rows whose truncation the options have no room for are refused by name") {
  pair p;
  const bytes draft = to_first_draft(p);
  p.transforms[0].truncation.top_p = 0.9;
  const bytes answer = p.answer(draft);
  REQUIRE(p.cloud_failure.has_value());
  CHECK(*p.cloud_failure == status{errc::beyond_limit, part::session, cloud_options::at_truncation});
  CHECK(p.edge->receive(answer, 1).code == errc::refused_by_peer);
}

TEST_CASE("cloud: a hello in a format that no session takes is refused by name") {
  pair p;
  const bytes message = changed_hello(p.start(), [](hello_message& hello) {
    hello.format.format = law_format::token_and_count;
    hello.format.support_size = 0;
  });
  CHECK(p.cloud->receive(message, 1) == status{errc::unsupported, part::session, cloud_options::at_format});
}

TEST_CASE("NET-5 cloud: a verdict that is lost with its connection comes with the next hello, and no draft again") {
  for (const bool killed : {false, true}) {
    CAPTURE(killed);
    pair whole;
    bytes question = to_first_draft(whole);
    (void)whole.exchange(question);
    pair p;
    const bytes draft = to_first_draft(p);
    (void)p.answer(draft);
    const std::uint64_t fed = p.cloud->statistics().fed_tokens;
    if (killed) {
      p.new_cloud();
      REQUIRE(p.cloud->restore(p.cloud_journal).ok());
    }
    p.story.clear();
    question = p.exchange(p.reconnect());
    CHECK(kind_of(question) == message_kind::draft);
    CHECK(p.cloud->statistics().fed_tokens == (killed ? 0 : fed));
    CHECK(p.text() == whole.text());
    CHECK(p.last_commit == whole.last_commit);
    CHECK(p.edge->round() == whole.edge->round());
    CHECK(p.edge->last_round().accepted == whole.edge->last_round().accepted);
    CHECK(p.edge->statistics().rounds == 1);
    p.finish(question);
    whole.finish(whole.exchange(whole.reconnect()));
    CHECK(p.text() == whole.text());
  }
}

TEST_CASE("NET-5 cloud: its hello ends with the last verdict: round, accepted length, digest of the drafts") {
  pair_options o;
  o.format = law_format::token_only;
  pair p(o);
  const bytes hello = p.start();
  CHECK(last_verdict(decode_hello(p.answer(hello)).value()).round == 0);
  const bytes draft = p.exchange(p.reconnect());
  std::array<claimed_draft, 3> claims{};
  const wire_place place = place_of(p.cloud->text(), 1);
  const auto read = decode_claims(place, p.format(), draft, claims);
  REQUIRE(read.ok());
  const std::array<token_id, 3> drafted{claims[0].token, claims[1].token, claims[2].token};
  const auto verdict = decode_feedback(place, p.format(), 3, p.answer(draft));
  REQUIRE(verdict.ok());
  const std::vector<bytes> answers = p.answers(p.reconnect());
  REQUIRE(answers.size() == 2);  // and the text
  const verdict_notice last = last_verdict(decode_hello(answers[0]).value());
  CHECK(last.round == 1);
  CHECK(last.accepted == verdict->accepted);
  CHECK(last.source == verdict->source);
  CHECK(last.digest == draft_digest(drafted));
}

TEST_CASE("NET-5 cloud: one that lost everything is told the text, and decides alike") {
  pair p;
  const bytes draft = to_first_draft(p);
  const bytes verdict = p.answer(draft);
  p.new_cloud();
  CHECK(p.cloud->receive(draft, 2).code == errc::no_handshake);
  const bytes hello = p.hear(pair::only(p.run_cloud()));
  CHECK(kind_of(hello) == message_kind::hello);
  const bytes again = p.exchange(hello);
  CHECK(again == draft);
  CHECK(p.answer(again) == verdict);
}

TEST_CASE("NET-5 cloud: an edge that restarts while the engine works is answered behind the verdict, and learns it") {
  pair whole;
  whole.finish(whole.start());
  for (const bool restarts : {false, true}) {
    CAPTURE(restarts);
    pair p;
    const bytes draft = to_first_draft(p);
    CHECK(p.cloud->receive(draft, 1).ok());
    p.hold_rows = true;
    CHECK(p.run_cloud().empty());
    for (int hellos = 0; hellos < 3; ++hellos) {  // the last one counts
      if (restarts) {
        p.new_edge();
        CHECK(p.edge->restore(p.edge_journal, 1).ok());
        CHECK(p.cloud->receive(pair::only(p.run_edge()), 1).ok());
      } else {
        CHECK(p.cloud->receive(p.reconnect(), 1).ok());
      }
      CHECK(p.run_cloud().empty());
      CHECK(p.cloud->state() == cloud_state::evaluating);
    }
    p.hold_rows = false;
    CHECK(supply(p).ok());
    const std::vector<bytes> answers = p.run_cloud();
    const bool answered_behind_the_verdict = answers.size() == 2 && kind_of(answers[0]) == message_kind::hello &&
                                             last_verdict(decode_hello(answers[0]).value()).round == 1;
    CHECK(answered_behind_the_verdict);
    bytes question;
    for (const bytes& answer : answers) question = p.hear(answer);
    CHECK(kind_of(question) == message_kind::draft);
    CHECK(p.edge->statistics().rounds == 1);
    p.finish(question);
    CHECK(p.text() == whole.text());
  }
}

TEST_CASE("VOC-1 cloud: a row of another size than the vocabulary is refused by name") {
  for (const std::uint32_t entries : {pair::vocab_size - 1, pair::vocab_size + 1, 1u}) {
    pair p;
    CHECK(p.cloud->receive(to_first_draft(p), 1).ok());
    REQUIRE(p.cloud->next().action == session_action::evaluate);
    const std::vector<float> row(entries);
    const std::vector<row_view<float>> rows(4, logits_row(std::span<const float>(row)));
    CHECK(p.cloud->supply_rows(exec::seq, row_span_provider<float>(rows, p.transforms), 1) ==
          status{errc::row_size_mismatch, part::session, entries});
    CHECK(p.edge->receive(pair::only(p.run_cloud()), 1).code == errc::refused_by_peer);
    CHECK(p.edge->refusal() == status{errc::row_size_mismatch, part::session, entries});
  }
}

TEST_CASE("cloud: rows that cannot be had are refused by why, not by their size") {
  static constexpr status why{errc::context_full, part::host, 3};
  struct failed_rows {
    [[nodiscard]] row_view<float> operator()(std::uint32_t) const noexcept { return {}; }
    [[nodiscard]] row_transform transform(std::uint32_t) const noexcept { return {}; }
    [[nodiscard]] status failed() const noexcept { return why; }
  };
  pair p;
  CHECK(p.cloud->receive(to_first_draft(p), 1).ok());
  REQUIRE(p.cloud->next().action == session_action::evaluate);
  CHECK(p.cloud->supply_rows(exec::seq, failed_rows{}, 1) == why);
  CHECK(p.edge->receive(pair::only(p.run_cloud()), 1).code == errc::refused_by_peer);
  CHECK(p.edge->refusal() == why);
}

TEST_CASE("cloud: limits for an edge's options, and a transform out of its range is refused") {
  pair p;
  edge_options edge = p.edge_options();
  edge.attachments.max_skipped = 5;
  const cloud_limits limits = cloud_session::limits_for(format_of(edge, top_k{8}, fixed_window{3}));
  CHECK(limits.max_draft_length == 3);
  CHECK(limits.max_law_entries == 24);
  CHECK(limits.max_skipped == 5);
  CHECK(limits.max_hidden_bytes == 0);
  cloud_options o{.secret = secret_of(1), .salt = 1, .vocab_size = pair::vocab_size};
  CHECK(make_cloud(o).ok());
  o.transform.temperature = -1;
  CHECK(make_cloud(o).error() == status{errc::invalid_temperature, part::session, o.at_transform});
  o.transform = {};
  o.transform.truncation.top_p = 1.5;
  CHECK(make_cloud(o).error() == status{errc::invalid_truncation, part::session, o.at_transform});
}

TEST_CASE("NUM-1 cloud: a bad row is told to the edge") {
  pair p;
  CHECK(p.cloud->receive(to_first_draft(p), 1).ok());
  const session_output out = p.cloud->next();
  REQUIRE(out.action == session_action::evaluate);
  CHECK(out.rows == 4);
  std::vector<float> row(pair::vocab_size, std::numeric_limits<float>::quiet_NaN());
  const std::vector<row_view<float>> rows(4, logits_row(std::span<const float>(row)));
  CHECK(p.cloud->supply_rows(exec::seq, row_span_provider<float>(rows, p.transforms), 1).code == errc::row_has_nan);
  CHECK(p.edge->receive(pair::only(p.run_cloud()), 1) ==
        status{errc::refused_by_peer, part::session, static_cast<std::uint32_t>(errc::row_has_nan)});
  CHECK(p.cloud->state() == cloud_state::failed);
}

TEST_CASE("cloud: a stream gives the tokens of drafts without drafts, one message each") {
  pair_options o;
  o.mode = session_mode::stream;
  pair p(o);
  const std::vector<bytes> sent = p.answers(p.exchange(p.start()));  // from the prompt on
  CHECK(sent.size() == 20);
  std::vector<bytes> question;
  for (const bytes& message : sent) {
    CHECK(p.edge->receive(message, 1).ok());
    question = p.run_edge();
  }
  p.finish(pair::only(question));
  CHECK(p.text().size() == 23);
  // Without drafts every token is a bonus draw: a draft session of length 0 writes the same text.
  pair_options none;
  none.draft_length = 1;
  basic_pair<always_send, no_drafts> q(none);
  q.finish(q.start());
  CHECK(q.text() == p.text());
}

TEST_CASE("cloud: rows that come after the edge said stop add nothing to a stream") {
  pair_options o;
  o.mode = session_mode::stream;
  pair whole(o);
  whole.finish(whole.start());
  REQUIRE(whole.text().size() == 23);
  pair p(o);
  p.options.stop_tokens = {whole.text()[3]};  // the edge's alone: the cloud would write on
  p.new_edge();
  const bytes text = p.exchange(p.start());
  p.hold_rows = true;
  CHECK(p.answers(text).empty());
  CHECK(supply(p).ok());
  const bytes stop = p.hear(pair::only(p.run_cloud()));
  REQUIRE(p.edge->state() == edge_state::stopping);
  REQUIRE(kind_of(stop) == message_kind::stop);
  CHECK(p.cloud->receive(stop, 1).ok());
  CHECK(p.cloud->length() == 4);
  CHECK(p.cloud->next().action == session_action::send);
  CHECK(p.cloud->next().action == session_action::finished);
  CHECK(p.cloud->wants_rows());
  CHECK(supply(p).ok());  // the engine was at it when stop came
  CHECK_FALSE(p.cloud->wants_rows());
  CHECK(p.run_cloud().empty());
  CHECK(p.cloud->length() == 4);
  CHECK(p.cloud->state() == cloud_state::finished);
  CHECK(supply(p).code == errc::unexpected_message);
}

TEST_CASE("cloud: stop ends the session for its host, once, with why and where; it is answered as often as it comes") {
  pair p;
  bytes question = p.start();
  while (kind_of(question) != message_kind::stop) question = p.exchange(question);
  CHECK(p.cloud->state() == cloud_state::closing);  // the last verdict may be lost
  CHECK(p.cloud->next().action == session_action::none);
  CHECK(p.cloud->receive(question, 1).ok());
  CHECK(p.cloud->state() == cloud_state::finished);
  CHECK(p.cloud->next().action == session_action::send);
  const session_output end = p.cloud->next();
  CHECK(end.action == session_action::finished);
  CHECK(end.stop == stop_reason::budget);
  CHECK(end.position == 23);
  CHECK(p.cloud->next().action == session_action::none);
  p.cloud_end = {};
  question = p.exchange(p.reconnect());  // the answer was lost
  CHECK(kind_of(question) == message_kind::stop);
  (void)p.exchange(question);
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.cloud->state() == cloud_state::finished);
  CHECK_FALSE(p.cloud_end.has_value());
}

TEST_CASE("cloud: journals that do not fit are refused") {
  pair p;
  (void)to_first_draft(p);
  pair q;
  CHECK(q.cloud->restore({}).error().code == errc::unknown_session);
  bytes damaged = p.cloud_journal;
  damaged[40] ^= std::byte{1};
  CHECK(q.cloud->restore(damaged).error().code == errc::journal_corrupt);
  CHECK(q.cloud->restore(p.cloud_journal).ok());
  CHECK(q.cloud->restore(p.cloud_journal).error().code == errc::unexpected_message);
  CHECK(q.cloud->session_id() == 7);
  CHECK(q.cloud->length() == 3);
}

// What is served after a restart must fit the options of the new process: its buffers are sized by them.
TEST_CASE("SEC-1 cloud: a journal whose session is beyond the options is refused, and named") {
  pair p;  // prompt 3, budget 20, drafts of 3
  (void)to_first_draft(p);
  const auto restored = [&](auto change) {
    cloud_options o;
    o.secret = secret_of(2);
    o.salt = 1;
    o.vocab_size = pair::vocab_size;
    o.limits = cloud_session::limits_for(p.format());
    o.max_text_length = 100;
    change(o);
    auto made = make_cloud(o);
    REQUIRE(made.ok());
    return made->restore(p.cloud_journal).error();
  };
  CHECK(restored([](cloud_options&) {}).ok());
  CHECK(restored([](cloud_options& o) { o.max_text_length = 23; }).ok());
  const auto beyond = [](std::uint32_t where) { return status{errc::beyond_limit, part::session, where}; };
  CHECK(restored([](cloud_options& o) { o.max_text_length = 22; }) == beyond(cloud_options::at_max_text_length));
  CHECK(restored([](cloud_options& o) { o.max_text_length = 5; }) == beyond(cloud_options::at_max_text_length));
  CHECK(restored([](cloud_options& o) { o.limits.max_draft_length = 2; }) ==
        beyond(cloud_options::at_max_draft_length));
  CHECK(restored([](cloud_options& o) { o.limits.max_law_entries -= 1; }) == beyond(cloud_options::at_max_law_entries));
  CHECK(restored([](cloud_options& o) { o.vocab_size = 31; }).code == errc::vocabulary_mismatch);
  CHECK(restored([](cloud_options& o) { o.required = guarantee::unconditional; }).code == errc::guarantee_too_weak);
}

TEST_CASE("SEC-1 cloud: rounds that no session has are refused by name, and nothing changes") {
  for (const std::uint32_t round : {0u, (1u << 31) + 1, 0xFFFFFFFFu}) {
    CAPTURE(round);
    for (const bool known : {false, true}) {
      CAPTURE(known);
      pair p;
      bytes hello = p.start();
      if (known) (void)p.exchange(hello);
      const cloud_state state = p.cloud->state();
      const bytes journal = p.cloud_journal;
      hello = changed_hello(hello, [&](hello_message& said) { said.round = round; });
      CHECK(refusal_of(p, hello) == errc::field_out_of_range);
      CHECK(p.cloud->state() == state);
      CHECK(p.cloud->length() == (known ? 3 : 0));
      CHECK(p.cloud_journal == journal);
    }
  }
}

TEST_CASE(
    "SEC-1 cloud: an edge that claims more text than there may be is refused, and nothing is written behind the text") {
  for (const std::uint32_t claimed : {24u, 101u, 5000u, 0xFFFFFFFFu}) {  // prompt 3, budget 20
    CAPTURE(claimed);
    for (const bool known : {false, true}) {
      pair p;
      bytes hello = p.start();
      if (known) (void)p.exchange(hello);
      const cloud_state state = p.cloud->state();
      hello = changed_hello(hello, [&](hello_message& said) { said.length = claimed; });
      CHECK(refusal_of(p, hello) == errc::base_length_mismatch);
      CHECK(p.cloud->state() == state);
      CHECK(p.cloud->length() == (known ? 3 : 0));
    }
  }
}

TEST_CASE(
    "NET-7 cloud: padding beyond its buffers is refused by the hello; a strength that the format does not bear out "
    "does not count") {
  pair_options o;
  pair p(o);
  const auto first = decode_hello(p.start());
  REQUIRE(first.ok());
  hello_message hello = *first;
  bytes message(200);
  hello.format.pad_to = 4096;
  const auto wide = encode_hello(hello, message);
  REQUIRE(wide.ok());
  CHECK(refusal_of(p, bytes(wide->begin(), wide->end())) == errc::beyond_limit);
  o.required = guarantee::unconditional;
  pair trusting(o);
  hello.format.pad_to = 1;
  hello.strength = guarantee::unconditional;  // with laws: not so
  const auto strong = encode_hello(hello, message);
  REQUIRE(strong.ok());
  CHECK(refusal_of(trusting, bytes(strong->begin(), strong->end())) == errc::guarantee_too_weak);
}

TEST_CASE("NET-7 cloud: a blank cloud that refused the hello of one session takes that of another") {
  pair p;
  const bytes hello = p.start();
  const bytes other = changed_hello(hello, [](hello_message& said) {
    said.session_id = 999;
    said.length = 0;
    said.prefix_hash = prefix_hash({});
  });
  CHECK(refusal_of(p, other) == errc::unknown_session);
  p.finish(hello);
  CHECK(p.text().size() == 23);
}

TEST_CASE("SMP-1 cloud: what the edge asks for can be read, is echoed, and survives a restart") {
  pair_options o;
  o.truncation.top_k = 5;  // room for it; what is asked for is in the hello
  pair p(o);
  const bytes message = changed_hello(p.start(), [](hello_message& hello) {
    hello.temperature = 0.7;
    hello.truncation.top_k = 5;
  });
  const auto echo = decode_hello(p.answer(message));
  REQUIRE(echo.ok());
  CHECK(echo->temperature == 0.7);
  CHECK(echo->truncation.top_k == 5);
  CHECK(p.cloud->transform().temperature == 0.7);
  const std::array<token_id, 3> prompt{4, 5, 6};
  bytes text(64);
  const auto made = encode_text(place_of({}, 1), p.format(), 256, prompt, text);
  REQUIRE(made.ok());
  CHECK(p.answers({made->begin(), made->end()}).empty());
  p.new_cloud();
  REQUIRE(p.cloud->restore(p.cloud_journal).ok());
  CHECK(p.cloud->transform().temperature == 0.7);
  CHECK(p.cloud->transform().truncation.top_k == 5);
}

TEST_CASE("SEC-1 cloud: drafts beyond the budget are not fed to the engine") {
  pair_options o;
  o.format = law_format::token_only;
  o.budget = 2;
  pair p(o);
  (void)to_first_draft(p);
  const std::array<claimed_draft, 3> claims{{{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}};
  const wire_place place = place_of(p.cloud->text(), p.cloud->round());
  bytes message(100);
  const auto made = encode_claims(place, p.format(), claims, message);
  REQUIRE(made.ok());
  message.resize(made->size());
  CHECK(p.cloud->receive(message, 1).ok());
  p.hold_rows = true;
  (void)p.run_cloud();
  // prompt and one draft; its row and the one before are all that two tokens need
  CHECK(p.cloud->statistics().fed_tokens == 4);
  CHECK(supply(p).ok());
  p.hold_rows = false;
  const auto verdict = decode_feedback(place, p.format(), 3, pair::only(p.run_cloud()));
  REQUIRE(verdict.ok());
  CHECK(verdict->accepted + (verdict->next_token != no_token ? 1u : 0u) <= 2);
}

TEST_CASE("cloud: an engine's own tokens give the text that its rows give") {
  for (const pair_options& options : sampled_sessions()) {
    pair rows(options), tokens(options);
    tokens.engine_samples = true;
    rows.finish(rows.start());
    tokens.finish(tokens.start());
    CHECK(tokens.text() == rows.text());
    CHECK(tokens.text().size() == 43);
    const session_statistics one = rows.cloud->statistics(), other = tokens.cloud->statistics();
    CHECK(one.accepted == other.accepted);
    CHECK(one.bonus_tokens == other.bonus_tokens);
    CHECK(one.residual_tokens == other.residual_tokens);
    CHECK(one.fed_tokens == other.fed_tokens);
    CHECK(one.bytes_down == other.bytes_down);
    CHECK(tokens.cloud_journal == rows.cloud_journal);
    CHECK((options.noise == noise_kind::none) == (tokens.cloud->noise() == coupling_noise{noise_kind::none, 0}));
  }
}

TEST_CASE("cloud: tokens that cannot be used are refused by name, and the session waits as before") {
  for (const pair_options& options : sampled_sessions()) {
    pair p(options), untouched(options);
    CHECK(p.cloud->supply_tokens(std::array<token_id, 1>{3}, 1).code == errc::unexpected_message);
    for (pair* each : {&p, &untouched}) {
      each->hold_rows = true;
      CHECK(each->answers(each->exchange(each->start())).empty());
      each->hold_rows = false;
    }
    REQUIRE(p.cloud->wants_rows());
    const std::uint32_t wanted = p.cloud->wanted_rows();
    CHECK(wanted == p.cloud_engine.rows().size());
    const cloud_state before = p.cloud->state();
    const auto refused = [&](std::span<const token_id> ids, status why) {
      CHECK(p.cloud->supply_tokens(ids, 1) == why);
      CHECK_FALSE(p.cloud->has_outputs());
      CHECK(p.cloud->state() == before);
      CHECK(p.cloud->wanted_rows() == wanted);
      CHECK(p.cloud->length() == untouched.cloud->length());
      CHECK(p.cloud->last_round().round == untouched.cloud->last_round().round);
    };
    std::vector<token_id> ids(wanted + 1, 3);
    refused({}, {errc::size_mismatch, part::session, 0});
    refused(ids, {errc::size_mismatch, part::session, wanted + 1});
    ids.pop_back();
    if (wanted > 1) refused(std::span(ids).first(wanted - 1), {errc::size_mismatch, part::session, wanted - 1});
    for (const token_id wrong : {token_id{pair::vocab_size}, no_token, std::numeric_limits<token_id>::max()}) {
      std::vector<token_id> outside = ids;
      outside.back() = wrong;
      refused(outside, {errc::token_out_of_range, part::session, wanted - 1});
      outside.front() = wrong;
      refused(outside, {errc::token_out_of_range, part::session, 0});
    }
    for (pair* each : {&p, &untouched}) {
      CHECK(supply(*each).ok());
      CHECK(each->cloud->supply_tokens(ids, 1).code == errc::busy);
      if (options.mode == session_mode::draft) {
        each->finish(each->hear(pair::only(each->run_cloud())));
      } else {
        for (const bytes& message : each->run_cloud()) (void)each->hear(message);
      }
    }
    CHECK(p.text() == untouched.text());
    CHECK(p.cloud_journal == untouched.cloud_journal);
  }
}

TEST_CASE("cloud: a rule that reads laws takes rows only") {
  for (const wire_rule rule : {wire_rule::token, wire_rule::semantic}) {
    pair_options options;
    options.rule = rule;
    if (rule == wire_rule::semantic) {
      options.format = law_format::token_only;
      options.attachments.hidden = hidden_format::int8;
      options.attachments.hidden_size = 6;
      options.attachments.hidden_with_draft = true;
    }
    pair p(options), untouched(options);
    untouched.finish(untouched.start());
    p.hold_rows = true;
    CHECK(p.answers(p.exchange(p.start())).empty());
    p.hold_rows = false;
    const std::vector<token_id> ids(p.cloud->wanted_rows(), 3);
    CHECK(p.cloud->supply_tokens(ids, 1) == status{errc::rows_required, part::session, 0});
    CHECK(p.cloud->wants_rows());
    CHECK(p.cloud->state() == cloud_state::evaluating);
    CHECK(supply(p).ok());
    p.finish(p.hear(pair::only(p.run_cloud())));
    CHECK(p.text() == untouched.text());
  }
}

TEST_CASE("cloud: tokens that come behind the end of the text are dropped") {
  pair p(sampled_sessions()[0]);
  p.hold_rows = true;
  CHECK(p.answers(p.exchange(p.start())).empty());
  REQUIRE(p.edge->stop(stop_cause::cancelled, p.now).ok());
  CHECK(p.cloud->receive(pair::only(p.run_edge()), 1).ok());
  (void)p.run_cloud();
  REQUIRE(p.cloud->state() == cloud_state::finished);
  CHECK(p.cloud->supply_tokens(std::array<token_id, 1>{3}, 1).ok());
  CHECK_FALSE(p.cloud->has_outputs());
  CHECK_FALSE(p.cloud->wants_rows());
  CHECK(p.cloud->length() == 3);
}
