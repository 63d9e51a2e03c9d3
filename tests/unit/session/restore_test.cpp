// SPDX-License-Identifier: Apache-2.0
// Restored sessions: what a journal may say, drafts that are sent again, journals that stay short.
#include <doctest/doctest.h>

#include "forged.hpp"
#include "pair.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sv = specverify;
using namespace specverify_test;
using sv::errc;

namespace {

bool same_text(pair& p) {
  const auto a = p.edge->text(), b = p.cloud->text();
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

using edge_record = sv::edge_snapshot<sv::no_state>;

template <class Snapshot>
using forgery = std::pair<const char*, std::function<void(Snapshot&, std::vector<token_id>&)>>;

errc cloud_takes(const bytes& journal) {
  pair p;
  return p.cloud->restore(journal).error().code;
}
sv::status edge_takes(const bytes& journal) {
  pair p;
  return p.edge->restore(journal, 1).error();
}

//! A pair a few rounds on.
void play(pair& p, int exchanges = 6) {
  bytes question = p.start();
  for (int i = 0; i < exchanges; ++i) question = p.exchange(question);
}

}  // namespace

TEST_CASE("SEC-1 restore: a cloud checks every member of a journal as it checks a hello") {
  using record = sv::cloud_snapshot;
  pair p;
  play(p);
  const bytes& journal = p.cloud_journal;
  CHECK(cloud_takes(forged<record>(journal, [](record&, auto&) {})) == errc::ok);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<forgery<record>> forgeries{
      {"prefix hash", [](record& s, auto&) { s.prefix_hash ^= 1; }},
      {"length", [](record& s, auto&) { s.length -= 1; }},
      {"a token", [](record& s, auto& text) { text[1] = 30, s.prefix_hash = sv::prefix_hash(text); }},
      {"a negative token", [](record& s, auto& text) { text[1] = -1, s.prefix_hash = sv::prefix_hash(text); }},
      {"law format", [](record& s, auto&) { s.terms.format.format = static_cast<sv::law_format>(99); }},
      {"token_and_count", [](record& s, auto&) { s.terms.format.format = sv::law_format::token_and_count; }},
      {"vocab_size", [](record& s, auto&) { s.terms.format.vocab_size = 31; }},
      {"resolution", [](record& s, auto&) { s.terms.format.resolution = 1u << 20; }},
      {"support size", [](record& s, auto&) { s.terms.format.support_size = 4000; }},
      {"draft length", [](record& s, auto&) { s.terms.format.max_draft_length = 5000; }},
      {"pad_to", [](record& s, auto&) { s.terms.format.pad_to = 0; }},
      {"hidden format", [](record& s, auto&) { s.terms.format.attachments.hidden_size = 8; }},
      {"max_skipped", [](record& s, auto&) { s.terms.format.attachments.max_skipped = 9; }},
      {"fingerprint", [](record& s, auto&) { s.terms.fingerprint_high = 1; }},
      {"threshold", [](record& s, auto&) { s.terms.threshold = 0.5; }},
      {"threshold NaN", [nan](record& s, auto&) { s.terms.threshold = nan; }},
      {"temperature", [](record& s, auto&) { s.terms.temperature = -1; }},
      {"temperature NaN", [nan](record& s, auto&) { s.terms.temperature = nan; }},
      {"top_p", [](record& s, auto&) { s.terms.truncation.top_p = 0; }},
      {"min_p", [nan](record& s, auto&) { s.terms.truncation.min_p = nan; }},
      {"order", [](record& s, auto&) { s.terms.truncation.order = static_cast<sv::truncation_order>(3); }},
      {"budget", [](record& s, auto&) { s.terms.token_budget = 1000; }},
      {"budget below the text", [](record& s, auto&) { s.terms.token_budget = 1; }},
      {"rule", [](record& s, auto&) { s.terms.rule = static_cast<sv::wire_rule>(3); }},
      {"noise", [](record& s, auto&) { s.terms.noise = static_cast<sv::noise_kind>(5); }},
      {"noise under the token rule", [](record& s, auto&) { s.terms.noise = sv::noise_kind::sglang; }},
      {"mode", [](record& s, auto&) { s.terms.mode = static_cast<sv::session_mode>(2); }},
      {"prompt length", [](record& s, auto&) { s.prompt_length = 0; }},
      {"prompt beyond the limit", [](record& s, auto&) { s.prompt_length = 101; }},
      {"target length", [](record& s, auto&) { s.target.length = 100; }},
      {"salt", [](record& s, auto&) { s.salt = 0; }},
      {"round", [](record& s, auto&) { s.round = 0; }},
      {"a round beyond all", [](record& s, auto&) { s.round = (1u << 31) + 1; }},
      {"the largest round", [](record& s, auto&) { s.round = 0xFFFFFFFFu; }},
      {"stop", [](record& s, auto&) { s.stop = static_cast<sv::stop_reason>(4); }},
      {"a verdict of a later round", [](record& s, auto&) { s.last.round = s.round + 1; }},
      {"a verdict of the largest round", [](record& s, auto&) { s.last.round = 0xFFFFFFFFu; }},
      {"accepted beyond all drafts", [](record& s, auto&) { s.last.accepted = 4; }},
      {"source of a verdict", [](record& s, auto&) { s.last.source = 200; }},
  };
  for (const auto& [what, change] : forgeries) {
    const std::string forged_member(what);
    CAPTURE(forged_member);
    const errc forgery_is_refused = cloud_takes(forged<record>(journal, change));
    CHECK(forgery_is_refused != errc::ok);
    CHECK(forgery_is_refused != errc::unknown_session);
    if (forged_member.find("round") == 0) CHECK(forgery_is_refused == errc::journal_corrupt);
  }
}

TEST_CASE("SEC-1 restore: a byte that no bool has is none, on both sides") {
  pair p;
  play(p);
  bytes cloud = forged<sv::cloud_snapshot>(p.cloud_journal, [](auto&, auto&) {});
  bytes edge = forged<edge_record>(p.edge_journal, [](auto&, auto&) {});
  for (bytes* journal : {&cloud, &edge}) {
    const std::size_t end = journal->size() - 8;
    (*journal)[end - 1] = std::byte{4};  // the last member: a bool, or two
    const auto payload = std::span<const std::byte>(*journal).subspan(24, end - 24);
    sv::numeric::store_le(journal->data() + end, sv::numeric::fnv1a(payload), 8);
  }
  CHECK(cloud_takes(cloud) == errc::journal_corrupt);
  CHECK(edge_takes(edge).code == errc::journal_corrupt);
}

TEST_CASE("SEC-1 restore: an edge checks every member of a journal") {
  using record = edge_record;
  pair p;
  play(p);
  const bytes& journal = p.edge_journal;
  CHECK(edge_takes(forged<record>(journal, [](record&, auto&) {})).ok());
  const std::vector<forgery<record>> forgeries{
      {"prefix hash", [](record& s, auto&) { s.prefix_hash ^= 1; }},
      {"length", [](record& s, auto&) { s.length -= 1; }},
      {"prompt length", [](record& s, auto&) { s.prompt_length = s.length + 1; }},
      {"base length", [](record& s, auto&) { s.base_length = s.length + 1; }},
      {"base length within the prompt",
       [](record& s, auto& text) {
         s.base_length = s.prompt_length - 1;
         s.prefix_hash = sv::prefix_hash(std::span<const token_id>(text).first(s.base_length));
       }},
      {"a token", [](record& s, auto& text) { text[1] = 30, s.prefix_hash = sv::prefix_hash(text); }},
      {"a round beyond all", [](record& s, auto&) { s.round = (1u << 31) + 1; }},
      {"the largest round", [](record& s, auto&) { s.round = 0xFFFFFFFFu; }},
      {"round", [](record& s, auto&) { s.round = 0; }},
      {"carry round", [](record& s, auto&) { s.carry_round = 1; }},
      {"carry end", [](record& s, auto&) { s.carry_end = 1; }},
      {"a later carry round", [](record& s, auto&) { s.carry_round = s.round + 1, s.carry_end = 9; }},
      {"stop", [](record& s, auto&) { s.stop = static_cast<sv::stop_reason>(4); }},
      {"finished without a stop", [](record& s, auto&) { s.finished = true; }},
      {"a cause without a cancel", [](record& s, auto&) { s.needs_no_more = true; }},
      {"accepted", [](record& s, auto&) { s.seen.accepted = s.seen.drafted + 1; }},
      {"last accepted", [](record& s, auto&) { s.seen.last_accepted = s.seen.last_drafted + 1; }},
  };
  for (const auto& [what, change] : forgeries) {
    const std::string forged_member(what);
    CAPTURE(forged_member);
    CHECK(edge_takes(forged<record>(journal, change)).code == errc::journal_corrupt);
  }
}

TEST_CASE("SEC-1 restore: a session without a prompt, or with one that leaves no room, is refused by name") {
  const sv::status empty{errc::prompt_empty, sv::part::session, sv::edge_options::at_prompt};
  const sv::status too_long{errc::prompt_too_long, sv::part::session, 100};
  const auto recovers = [](std::uint32_t prompt_length) {
    pair p;
    const sv::status why = p.edge->recover(prompt_length, 1);
    CHECK(p.edge->has_outputs() == why.ok());
    CHECK((p.edge->state() == sv::edge_state::idle) == !why.ok());
    return why;
  };
  const sv::status without_a_prompt = recovers(0);
  CHECK(without_a_prompt == empty);
  CHECK(recovers(100) == too_long);
  CHECK(recovers(99).ok());
  pair_options o;
  o.budget = 0;  // until 100 tokens
  pair p(o);
  (void)p.start();
  const auto restores = [&](std::uint32_t prompt_length) {
    p.new_edge();
    return p.edge
        ->restore(forged<edge_record>(p.edge_journal,
                                      [&](edge_record& s, std::vector<token_id>& text) {
                                        text.resize(std::max(prompt_length, 3u), 1);
                                        s.prompt_length = prompt_length;
                                        s.length = s.base_length = static_cast<std::uint32_t>(text.size());
                                        s.prefix_hash = sv::prefix_hash(text);
                                        s.terms.token_budget = 100 - prompt_length;
                                      }),
                  1)
        .error();
  };
  CHECK(restores(3).ok());
  CHECK(restores(0) == empty);
  CHECK(restores(100) == too_long);
}

TEST_CASE("SEC-1 restore: an edge with other options than the journal's is refused by their name") {
  pair p;
  play(p);
  using options = sv::edge_options;
  const auto with = [&](const options& o, const sv::top_k& kept, const sv::fixed_window& window) {
    auto made = sv::make_edge(o, kept, window);
    REQUIRE(made.ok());
    return made->restore(p.edge_journal, 1).error();
  };
  const auto restored = [&](auto change) {
    options o = p.edge_options();
    change(o);
    return with(o, *p.kept(), p.window());
  };
  const auto other = [](std::uint32_t where) { return sv::status{errc::options_disagree, sv::part::session, where}; };
  CHECK(restored([](options&) {}).ok());
  CHECK(restored([](options& o) { o.retry_limit = 3; }).ok());
  CHECK(restored([](options& o) { o.session_id = 8; }) == other(options::at_session_id));
  CHECK(restored([](options& o) { o.secret = secret_of(77); }) == other(options::at_secret));
  CHECK(restored([](options& o) { o.vocab_size = 31; }) == other(options::at_vocab_size));
  CHECK(restored([](options& o) { o.fingerprint.low = 1; }) == other(options::at_fingerprint));
  const options same = p.edge_options();
  CHECK(with(same, {8}, {8, 40}) == other(options::at_max_draft_length));
  CHECK(with(same, {8}, {3, 11}) == other(options::at_resolution));
  CHECK(with(same, {9}, {3, 40}) == other(options::at_support_size));
  CHECK(restored([](options& o) { o.pad_to = 16; }) == other(options::at_format));
  CHECK(restored([](options& o) { o.rule = sv::wire_rule::greedy; }) == other(options::at_rule));
  CHECK(restored([](options& o) { o.transform.temperature = 0.5; }) == other(options::at_transform));
  CHECK(restored([](options& o) { o.transform.truncation.top_k = 3; }) == other(options::at_transform));
  CHECK(restored([](options& o) { o.mode = sv::session_mode::stream; }) == other(options::at_mode));
  CHECK(restored([](options& o) { o.bonus = false; }) == other(options::at_bonus));
  CHECK(restored([](options& o) { o.token_budget = 21; }) == other(options::at_token_budget));
}

TEST_CASE("restore: journals that hold no session of this side have names of their own") {
  pair p;
  play(p);
  CHECK(cloud_takes({}) == errc::unknown_session);
  CHECK(edge_takes({}).code == errc::unknown_session);
  CHECK(cloud_takes({p.cloud_journal.begin(), p.cloud_journal.begin() + 60}) == errc::truncated);
  CHECK(edge_takes({p.edge_journal.begin(), p.edge_journal.begin() + 60}).code == errc::truncated);
  CHECK(cloud_takes(p.edge_journal) == errc::options_disagree);
  CHECK(edge_takes(p.cloud_journal) ==
        sv::status{errc::options_disagree, sv::part::session, sv::edge_options::at_sparsifier});
}

TEST_CASE("restore: a draft that was journaled is sent again, byte for byte, over any connection") {
  pair p;
  bytes draft = p.start();
  for (int i = 0; i < 3; ++i) draft = p.exchange(draft);
  REQUIRE(kind_of(draft) == sv::message_kind::draft);
  for (const float jitter : {0.0F, 3.0F}) {
    pair again;
    again.edge_engine = hash_engine(pair::model(true), jitter);
    REQUIRE(again.edge->restore(p.edge_journal, 1).ok());
    const bytes sent = again.hear(p.answer(pair::only(again.run_edge())));
    const bool same_draft_sent_again = sent == draft;
    CHECK(same_draft_sent_again);
    CHECK(again.edge->statistics().fed_tokens == 0);
    CHECK(again.edge_journal.empty());
  }
  pair_options wide;
  wide.check_bits = 16;
  pair again(wide);
  REQUIRE(again.edge->restore(p.edge_journal, 1).ok());
  const bytes sent = again.hear(p.answer(pair::only(again.run_edge())));
  CHECK(sent.size() == draft.size() + 1);
  CHECK(std::equal(draft.begin(), draft.end() - 1, sent.begin()));
}

TEST_CASE(
    "restore: an edge whose draft differs from the decided one takes the cloud's text, and learns nothing of it") {
  pair p;
  p.edge_engine = hash_engine(pair::model(true), 20.0F);
  (void)p.exchange(p.start());
  const bytes before = p.edge_journal;  // holds the first draft
  // A life that forgot it drafts other tokens, and the cloud decides these.
  auto options = p.edge_options();
  options.journal_drafts = sv::draft_journaling::never;
  p.edge.emplace(std::move(sv::make_edge(options, p.kept(), p.window())).value());
  p.edge_engine = hash_engine(pair::model(true));
  REQUIRE(p.edge->restore(before, 1).ok());
  const bytes other = p.exchange(pair::only(p.run_edge()));
  REQUIRE(kind_of(other) == sv::message_kind::draft);
  (void)p.answer(other);
  REQUIRE(p.cloud->last_round().accepted > 0);
  p.new_edge();  // an older copy of the journal comes back
  REQUIRE(p.edge->restore(before, 1).ok());
  p.story.clear();
  const bytes draft = p.exchange(pair::only(p.run_edge()));
  const bool drafts_differ_and_text_is_the_clouds = p.edge->statistics().rounds == 0 && same_text(p);
  CHECK(drafts_differ_and_text_is_the_clouds);
  CHECK(p.story.find("retracted journal committed") != std::string::npos);
  REQUIRE(kind_of(draft) == sv::message_kind::draft);
  p.finish(draft);
  CHECK_FALSE(p.edge_failure.has_value());
  CHECK_FALSE(p.cloud_failure.has_value());
  CHECK(same_text(p));
}

TEST_CASE("restore: equal sessions write equal bytes") {
  pair p, q;
  play(p);
  play(q);
  CHECK(p.edge_journal == q.edge_journal);
  CHECK(p.cloud_journal == q.cloud_journal);
}

TEST_CASE("restore: a text that both sides have agreed on asks nobody; one that is only complete is compared first") {
  pair p;
  bytes question = p.start();
  while (kind_of(question) != sv::message_kind::stop) question = p.exchange(question);
  const bytes complete = p.edge_journal;
  (void)p.exchange(question);
  REQUIRE(p.edge->state() == sv::edge_state::finished);
  pair agreed;
  REQUIRE(agreed.edge->restore(p.edge_journal, 1).ok());
  CHECK(agreed.run_edge().empty());
  CHECK(agreed.edge->state() == sv::edge_state::finished);

  SUBCASE("the cloud has the same text") {
    p.new_edge();
    REQUIRE(p.edge->restore(complete, 1).ok());
    p.finish(pair::only(p.run_edge()));
    CHECK(p.edge->state() == sv::edge_state::finished);
    CHECK_FALSE(p.cloud_failure.has_value());
  }
  SUBCASE("the cloud has forgotten it, and is told") {
    p.new_edge();
    p.new_cloud();
    REQUIRE(p.edge->restore(complete, 1).ok());
    p.finish(pair::only(p.run_edge()));
    CHECK(same_text(p));
    CHECK(p.cloud->state() == sv::cloud_state::finished);
  }
  SUBCASE("the journal ends with another token than the cloud's text") {
    p.new_edge();
    const bytes other = forged<edge_record>(complete, [](edge_record& s, std::vector<token_id>& text) {
      text.back() = text.back() == 0 ? 1 : 0;
      s.prefix_hash = sv::prefix_hash(text);
    });
    REQUIRE(p.edge->restore(other, 1).ok());
    const bytes hello = pair::only(p.run_edge());
    const sv::status why{errc::prefix_mismatch, sv::part::session, 23};
    CHECK(p.cloud->receive(hello, 1) == why);
    CHECK(p.edge->receive(pair::only(p.run_cloud()), 1).code == errc::refused_by_peer);
    (void)p.run_edge();
    REQUIRE(p.edge_failure.has_value());
    CHECK(p.edge->refusal() == why);
  }
}
