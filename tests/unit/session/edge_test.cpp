// SPDX-License-Identifier: Apache-2.0
#include "pair.hpp"

#include <specverify/policy/model_window.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>
#include <specverify/sparsify/threshold.hpp>

#include <support/secret_of.hpp>

#include <limits>
#include <tuple>
#include <utility>

using namespace specverify;
using namespace specverify_test;

namespace {
struct link_window {
  static constexpr bool unconditional = true;
  [[nodiscard]] draft_plan begin(const observation& seen) const noexcept {
    return {seen.uplink_rate > 0 ? 1u : 3u, 40, 8};
  }
  [[nodiscard]] plan_range range() const noexcept { return {3, 40, 40}; }
  [[nodiscard]] bool proceed(std::uint32_t, const law&, std::uint64_t) const noexcept { return true; }
};

//! top_k, which also counts how its rows were read.
struct watching_top_k : top_k {
  std::uint32_t* with_sums = nullptr;
  std::uint32_t* without = nullptr;
  [[nodiscard]] result<support> select(const row_summary& row, no_state state, workspace& scratch) const noexcept {
    ++*(row.has_coarse_sums() ? with_sums : without);
    return top_k::select(row, state, scratch);
  }
};

//! How the rows of the first drafts are read.
struct rows_read {
  std::uint32_t with_sums = 0, without = 0;

  template <class Skip>
  rows_read(const pair_options& wanted, bool draw_from_row, const Skip& skip) {
    basic_pair<Skip> other(wanted);
    edge_options options = other.edge_options();
    options.draw_from_row = draw_from_row;
    const watching_top_k kept{{draw_from_row ? 7u : 8u}, &with_sums, &without};  // of 8 entries, one its token
    auto edge = make_edge(options, kept, other.window(), skip);
    REQUIRE(edge.ok());
    REQUIRE(edge->start(std::vector<token_id>{4, 5}, 1).ok());
    std::vector<bytes> questions;
    for (std::uint32_t rows = 0; rows < 3;) {
      const session_output out = edge->next();
      if (out.action == session_action::send) questions.emplace_back(out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::none) {
        if (questions.empty()) return;
        REQUIRE(edge->receive(other.answer(questions.back()), 1).ok());
        questions.clear();
      }
      if (out.action != session_action::evaluate) continue;
      std::vector<float> row(pair::vocab_size, 0.25f);
      row[++rows] = 3.0f;
      REQUIRE(edge->supply_row(exec::simd, logits_row(std::span<const float>(row)), {}, 1).ok());
    }
  }
};
}  // namespace

TEST_CASE("edge: options are checked") {
  specverify::edge_options o;
  CHECK(make_edge(o).error() == status{errc::vocab_size_missing, part::session, o.at_vocab_size});
  o.vocab_size = 30;
  CHECK(make_edge(o).error() == status{errc::secret_missing, part::session, o.at_secret});
  o.secret = secret_of(1);
  CHECK(make_edge(o).ok());
  o.format = law_format::token_and_count;
  CHECK(make_edge(o).error() == status{errc::unsupported, part::session, o.at_format});
  o.format = law_format::sparse_drop_zero;
  o.draw_from_row = true;
  CHECK(make_edge(o).error() == status{errc::unsupported, part::session, o.at_draw_from_row});
  o.format = law_format::top_k_tail;
  CHECK(make_edge(o, top_k{4}).ok());
  CHECK(format_of(o, top_k{4}).attachments.drafted_probability);
  o.draw_from_row = false;
  o.attachments.drafted_probability = o.attachments.resolution_with_draft = true;  // a session says both itself
  CHECK(make_edge(o, top_k{4}).ok());
  CHECK(format_of(o, top_k{4}).attachments == attachment_format{});
  o.attachments = {};
  CHECK(make_edge(o, fixed_window{0}).error() == status{errc::invalid_argument, part::codec, 4});
  CHECK(make_edge(o, fixed_window{4097}).error() == status{errc::invalid_argument, part::codec, 4});
  CHECK(make_edge(o, fixed_window{4, 0}).error() == status{errc::invalid_resolution, part::codec, 2});
  CHECK(make_edge(o, fixed_window{4, 65537}).error() == status{errc::invalid_resolution, part::codec, 2});
  o.format = law_format::sparse_drop_zero;
  o.max_text_length = 1;
  CHECK(make_edge(o).error().code == errc::invalid_argument);
  o.max_text_length = 10;
  o.text_chunk = 0;
  CHECK(make_edge(o).error().code == errc::invalid_argument);
  o.text_chunk = 1;
  o.retry_limit = 0;
  CHECK(make_edge(o).error().code == errc::invalid_argument);
}

TEST_CASE("NUM-1 edge: options of the rule, the window and the skip policy are checked before the first row") {
  specverify::edge_options o;
  o.secret = secret_of(1);
  o.vocab_size = 30;
  CHECK(make_edge(o, top_k{0}).error() == status{errc::invalid_argument, part::sparsify, 0});
  const conformal whole{.max_support_size = 30};
  // no silent "no cap"
  CHECK(make_edge(o, conformal{}, bit_budget_window{8}).error() == status{errc::invalid_argument, part::sparsify, 5});
  CHECK(make_edge(o, whole, bit_budget_window{8}).ok());
  CHECK(make_edge(o, whole, bit_budget_window{.budget = 80, .overhead = 80}).error() ==
        status{errc::invalid_argument, part::policy, 5});
  CHECK(make_edge(o, bit_budget_window{8}, conformal{.target = 2}).error() ==
        status{errc::invalid_argument, part::sparsify, 0});
  o.attachments.max_skipped = 4;
  CHECK(make_edge(o, uncertainty_and_importance_gate{.importance = {.k = 0}}).error() ==
        status{errc::invalid_argument, part::policy, 1});
  CHECK(make_edge(o, uncertainty_and_importance_gate{.perturbation = {0, 2.0}}).error() ==
        status{errc::invalid_argument, part::policy, 5});
  CHECK(make_edge(o, uncertainty_and_importance_gate{}).ok());
  CHECK(make_edge(o, random_skip{2.0}).error() == status{errc::invalid_probability, part::policy, 0});
  CHECK(make_edge(o, link_window{}).ok());  // a policy without a check of its own
}

namespace {
edge_options host_options() {
  edge_options o;
  o.secret = secret_of(1);
  o.vocab_size = 100;
  o.check_bits = 8;  // as format_of has it; hello names another one
  return o;
}

//! Drafts of the first round of a session with rows that say nothing, and the format that hello announced.
template <class Session>
std::pair<std::uint32_t, wire_format> first_round(result<Session> made) {
  REQUIRE(made.ok());
  Session edge = std::move(made).value();
  auto cloud = make_cloud({.secret = secret_of(2), .salt = 1, .vocab_size = 100, .limits = {.max_draft_length = 64}});
  REQUIRE(cloud.ok());
  std::pair<std::uint32_t, wire_format> seen{};
  const std::vector<float> row(100, 0.0F);
  bytes message;
  REQUIRE(edge.start(std::array<token_id, 1>{1}, 1).ok());
  for (int questions = 0; questions < 2; ++questions) {
    for (session_output out = edge.next(); out.action != session_action::none; out = edge.next()) {
      if (out.action == session_action::tentative) seen.first += 1;
      if (out.action == session_action::send) message.assign(out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::evaluate)
        CHECK(edge.supply_row(exec::seq, logits_row(std::span<const float>(row)), {}, 1).ok());
    }
    if (const auto hello = decode_hello(message)) seen.second = hello->format;
    if (questions == 1) break;
    CHECK(cloud->receive(message, 1).ok());
    for (session_output out = cloud->next(); out.action != session_action::none; out = cloud->next()) {
      if (out.action == session_action::send) message.assign(out.bytes.begin(), out.bytes.end());
    }
    CHECK(edge.receive(message, 1).ok());
  }
  return seen;
}
}  // namespace

TEST_CASE("edge: hello announces L and l of the window and K of the sparsifier") {
  edge_options o = host_options();
  auto [drafts, announced] = first_round(make_edge(o));
  CHECK(drafts == 4);
  CHECK(announced.max_draft_length == 4);
  CHECK(announced.resolution == 100);
  CHECK(announced.support_size == 16);
  CHECK(announced == format_of(o));
  std::tie(drafts, announced) = first_round(make_edge(o, fixed_window{12, 240}, top_k{64}));
  CHECK(drafts == 12);
  CHECK(announced.max_draft_length == 12);
  CHECK(announced.resolution == 240);
  CHECK(announced.support_size == 64);
  CHECK(announced == format_of(o, top_k{64}, fixed_window{12, 240}));
  o.format = law_format::dense_lattice;
  std::tie(drafts, announced) = first_round(make_edge(o, model_window{}));
  CHECK(announced.max_draft_length == 12);
  CHECK(announced.resolution == 720);
  CHECK(announced.support_size == 0);
  CHECK(announced.attachments.resolution_with_draft);  // each draft says a smaller one
  o.format = law_format::token_only;                   // no lattice: there is no l to say
  std::tie(drafts, announced) = first_round(make_edge(o, model_window{}));
  CHECK(announced.resolution == 0);
  CHECK_FALSE(announced.attachments.resolution_with_draft);
}

namespace {
//! It says nothing of what it may plan, and plans more.
struct silent_window {
  [[nodiscard]] draft_plan begin(const observation&) const noexcept { return {20, 500, 90}; }
  [[nodiscard]] bool proceed(std::uint32_t, const law&, std::uint64_t) const noexcept { return true; }
};
}  // namespace

TEST_CASE(
    "edge: a window without a range plans at most 8 drafts, at l = 100, and K at most what the sparsifier keeps") {
  edge_options o = host_options();
  const auto [drafts, announced] = first_round(make_edge(o, silent_window{}, top_k{8}));
  CHECK(drafts == 8);
  CHECK(announced.max_draft_length == 8);
  CHECK(announced.resolution == 100);
  CHECK(announced.support_size == 8);
  o.format = law_format::sparse_paper;  // it may plan another K
  CHECK(format_of(o, silent_window{}, top_k{8}).support_size == 0);
}

TEST_CASE("edge: the K that a format carries") {
  edge_options o = host_options();
  const auto carried = [&o](const auto&... parts) {
    CHECK(make_edge(o, parts...).ok());
    return format_of(o, parts...).support_size;
  };
  bit_budget_window budget{.budget = 400};
  CHECK(carried(top_k{99}) == 99);
  CHECK(carried(top_k{100}) == 0);  // of V = 100
  CHECK(carried(top_k{1000}) == 0);
  CHECK(carried(conformal{.max_support_size = 32}) == 32);
  CHECK(carried(top_k{16}, budget) == 16);
  o.format = law_format::sparse_paper;  // exactly K ids, where their number is known
  CHECK(carried(top_k{31}) == 31);
  CHECK(carried(top_k{1000}) == 100);
  CHECK(carried(threshold{0.01, 32}) == 0);
  budget.budget = 100;
  budget.accounting = position_accounting::top_k;
  const std::uint32_t cut = clamp_support(budget.accounting, 100, 64, 100, 100).support_size;
  CHECK(cut < 64);
  CHECK(carried(top_k{64}, budget) == cut);
  budget.vocab_size = 5, budget.support_size = 1;  // a session counts with its own
  CHECK(carried(top_k{64}, budget) == cut);
  budget.allow_dense = true;  // all V where they cost less
  CHECK(carried(top_k{64}, budget) == 0);
  o.format = law_format::top_k_tail;
  CHECK(carried(top_k{31}) == 31);
  o.draw_from_row = true;  // the token is an entry of its own
  CHECK(carried(top_k{31}) == 32);
  CHECK(carried(online_vocabulary_budget{.max_support_size = 32}) == 33);
  o = host_options();
  o.format = law_format::fp16_row;
  CHECK(carried() == 0);
}

namespace {
//! top_k by another name, which may keep fewer tokens than K.
struct own_top_k {
  using state_type = no_state;
  std::uint32_t support_size = 16, max_support_size = 64;
  [[nodiscard]] no_state initial_state() const noexcept { return {}; }
  [[nodiscard]] no_state advance(no_state, const support&) const noexcept { return {}; }
  [[nodiscard]] read_request request(no_state, std::uint32_t vocab_size) const noexcept {
    return top_k{support_size}.request({}, vocab_size);
  }
  [[nodiscard]] std::size_t workspace_size(no_state, std::uint32_t vocab_size) const noexcept {
    return top_k{support_size}.workspace_size({}, vocab_size);
  }
  [[nodiscard]] result<support> select(const row_summary& row, no_state, workspace& scratch) const noexcept {
    return top_k{support_size}.select(row, {}, scratch);
  }
};
//! Plans another K than the sparsifier's.
struct narrow_window : fixed_window {
  [[nodiscard]] draft_plan begin(const observation&) const noexcept { return {4, 100, 8}; }
};
}  // namespace

TEST_CASE("edge: sparse_paper names K where every law has exactly K ids, else each law says its own") {
  edge_options o = host_options();
  CHECK(format_of(o, own_top_k{}).support_size == 16);  // not its cap
  o.format = law_format::sparse_paper;
  CHECK(format_of(o, own_top_k{}).support_size == 0);
  CHECK(format_of(o, top_k{16}, narrow_window{}).support_size == 0);
  CHECK(first_round(make_edge(o, own_top_k{})).first == 4);
  CHECK(first_round(make_edge(o, top_k{16}, narrow_window{})).first == 4);
}

TEST_CASE("edge: V and K of a window are the session's") {
  edge_options o = host_options();
  model_window modelled;
  modelled.model.vocab_size = 50272;
  CHECK(make_edge(o, top_k{16}, modelled).ok());
  bit_budget_window budget{.support_size = 0, .vocab_size = 0};  // alone it is refused
  CHECK_FALSE(check(budget).ok());
  CHECK(make_edge(o, top_k{16}, budget).ok());
}

TEST_CASE("edge: a sparsifier without a cap is refused by name") {
  const edge_options o = host_options();
  CHECK(make_edge(o, threshold{0.01, 0}).error() == status{errc::invalid_argument, part::sparsify, 1});
  CHECK(make_edge(o, conformal{}).error() == status{errc::invalid_argument, part::sparsify, 5});
}

TEST_CASE("edge: a sparsifier is refused where no law lists a support, and none is needed there") {
  edge_options o = host_options();
  for (const law_format whole : {law_format::dense_lattice, law_format::fp16_row, law_format::token_only}) {
    o.format = whole;
    CHECK(make_edge(o).ok());
    CHECK(make_edge(o, fixed_window{6}).ok());
    CHECK(make_edge(o, top_k{16}).error() == status{errc::options_disagree, part::session, o.at_sparsifier});
    CHECK(make_edge(o, std::optional<conformal>()).ok());  // not asked for a support, so it needs no cap
  }
}

TEST_CASE("VOC-1 edge: a row longer than the vocabulary is refused by name, a shorter one drafts fewer tokens") {
  for (const law_format format : {law_format::sparse_drop_zero, law_format::token_only}) {
    for (const std::uint32_t entries : {pair::vocab_size - 1, pair::vocab_size, pair::vocab_size + 1}) {
      pair_options o;
      o.format = format;
      pair p(o);
      REQUIRE(p.edge->receive(p.answer(p.start()), 1).ok());
      session_output wanted = p.edge->next();
      while (wanted.action != session_action::evaluate && wanted.action != session_action::none)
        wanted = p.edge->next();
      REQUIRE(wanted.action == session_action::evaluate);
      const std::vector<float> row(entries);
      const status supplied = p.edge->supply_row(exec::seq, logits_row(std::span<const float>(row)), {}, 1);
      if (entries > pair::vocab_size) CHECK(supplied == status{errc::row_size_mismatch, part::session, entries});
      if (entries <= pair::vocab_size) CHECK(supplied.ok());
    }
  }
}

TEST_CASE("edge: a row is read with sums only where it is drawn from, or measured beyond its law") {
  for (const law_format format : {law_format::sparse_drop_zero, law_format::sparse_paper, law_format::top_k_tail}) {
    pair_options o;
    o.format = format;
    CHECK(rows_read(o, false, always_send{}).without == 3);
    if (format == law_format::top_k_tail) CHECK(rows_read(o, true, always_send{}).with_sums == 3);
    o.attachments.max_skipped = 4;
    CHECK(rows_read(o, false, uncertainty_gate{-1.0}).with_sums == 3);
  }
}

TEST_CASE("edge: a transform out of its range is refused") {
  edge_options o = host_options();
  o.transform.temperature = std::numeric_limits<double>::quiet_NaN();
  CHECK(make_edge(o).error() == status{errc::invalid_temperature, part::session, o.at_transform});
  o.transform.temperature = -0.0;  // which hello does not carry
  CHECK(make_edge(o).error() == status{errc::invalid_temperature, part::session, o.at_transform});
  o.transform = {};
  o.transform.truncation.min_p = -0.5;
  CHECK(make_edge(o).error() == status{errc::invalid_truncation, part::session, o.at_transform});
}

TEST_CASE("edge: a threshold of the semantic rule is finite and not negative") {
  edge_options o = host_options();
  o.format = law_format::token_only;
  for (const double bad : {-0.1, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    o.threshold = bad;
    o.rule = wire_rule::semantic;
    CHECK(make_edge(o).error() == status{errc::invalid_argument, part::session, o.at_threshold});
    o.rule = wire_rule::greedy;  // nobody reads it
    CHECK(make_edge(o).ok());
  }
}

TEST_CASE("edge: a prompt must be there, fit and hold tokens") {
  pair p;
  CHECK(p.edge->start({}, 0) == status{errc::prompt_empty, part::session, p.edge_options().at_prompt});
  const std::vector<token_id> bad{1, 30};
  CHECK(p.edge->start(bad, 0) == status{errc::token_out_of_range, part::session, 1});
  CHECK(p.edge->start(std::vector<token_id>(100, 1), 0) == status{errc::prompt_too_long, part::session, 100});
  (void)p.start();
  CHECK(p.edge->start(std::vector<token_id>{1}, 0).code == errc::unexpected_message);
}

TEST_CASE("NET-7 edge: a row whose truncation the options have no room for is refused by name") {
  for (const bool served : {false, true}) {
    pair_options o;
    if (served) o.truncation.top_k = 20;
    pair p(o);
    p.edge_row.truncation.top_k = 20;
    const bytes question = p.exchange(p.start());
    CHECK((kind_of(question) == message_kind::refuse) != served);
    REQUIRE(p.edge_failure.has_value() != served);
    if (!served)
      CHECK(*p.edge_failure == status{errc::beyond_limit, part::session, specverify::edge_options::at_truncation});
    if (served) CHECK(kind_of(question) == message_kind::draft);
  }
}

TEST_CASE("edge: the order of outputs of a round; the journal stands before the commit and before the next message") {
  pair p;
  bytes question = p.start();
  CHECK(p.story == "journal send");
  p.story.clear();
  question = p.exchange(question);
  CHECK(p.story == "send evaluate tentative evaluate tentative evaluate tentative journal send");  // the prompt first
  CHECK(kind_of(question) == message_kind::draft);
  bool partly = false, whole = false;
  while (kind_of(question) == message_kind::draft) {
    p.story.clear();
    question = p.exchange(question);
    const round_record& round = p.edge->last_round();
    const bool all = round.accepted == round.drafted;
    (all ? whole : partly) = true;
    if (!all) CHECK(p.story.rfind("journal retracted committed", 0) == 0);
    if (all) CHECK(p.story.rfind("journal committed", 0) == 0);
    CHECK(p.last_commit.size() == round.emitted);
  }
  CHECK(partly);
  CHECK(whole);
  CHECK(p.story.find("finished") == std::string::npos);
  p.story.clear();
  (void)p.exchange(question);
  CHECK(p.story == "journal finished");  // the end is agreed, and a restart knows it
}

TEST_CASE("COR-7 edge: both ends hold the same text, statistics add up") {
  pair p;
  p.finish(p.start());
  CHECK(p.text().size() == 23);
  CHECK(std::vector<token_id>(p.cloud->text().begin(), p.cloud->text().end()) == p.text());
  const session_statistics& s = p.edge->statistics();
  CHECK(s.emitted == 20);
  CHECK(s.rounds == p.cloud->statistics().rounds);
  CHECK(s.accepted == p.cloud->statistics().accepted);
  CHECK(s.evaluated == p.cloud->statistics().evaluated);
  CHECK(s.drafted == p.cloud->statistics().drafted);
  CHECK(s.bytes_up == p.cloud->statistics().bytes_up);
  CHECK(s.bytes_down == p.cloud->statistics().bytes_down);
  CHECK(s.accepted + s.residual_tokens + s.bonus_tokens == s.emitted);
  CHECK(s.handshakes == 1);
  CHECK(p.cloud->statistics().handshakes == 1);
  CHECK(s.stale + s.corrupt + s.timeouts + s.refusals == 0);
  CHECK(p.cloud->statistics().stale + p.cloud->statistics().corrupt + p.cloud->statistics().refusals == 0);
  CHECK_FALSE(p.edge->deadline().has_value());
}

TEST_CASE("COR-13 edge: a stop token ends the text at once, wherever it comes from") {
  pair free;
  free.finish(free.start());
  const std::vector<token_id> text = free.text();
  for (std::size_t at = 3; at < text.size(); ++at) {
    pair_options o;
    o.stop_tokens = {text[at]};
    pair p(o);
    p.finish(p.start());
    std::size_t first = 3;
    while (text[first] != text[at]) ++first;
    // The draft ends at a drawn stop token, so rounds may fall differently; what counts is that nothing follows the
    // first stop token.
    const std::vector<token_id> stopped = p.text();
    CHECK((stopped.back() == text[at] || stopped.size() == 23));
    for (std::size_t i = 3; i + 1 < stopped.size(); ++i) CHECK(stopped[i] != text[at]);
  }
}

TEST_CASE("NET-5 edge: without an answer until the deadline it shakes hands again, with another nonce; patience ends") {
  for (const std::uint32_t limit : {3u, 64u}) {
    CAPTURE(limit);
    pair_options o;
    o.retry_limit = limit;
    pair p(o);
    bytes hello = p.start();
    CHECK(p.edge->tick(50).ok());
    CHECK(p.run_edge().empty());
    for (std::uint32_t said = 1; said < limit; ++said) {
      REQUIRE(p.edge->deadline().has_value());
      CHECK(*p.edge->deadline() == 100 * said + 1);
      CHECK(p.edge->tick(100 * said + 1).ok());
      const bytes again = pair::only(p.run_edge());
      const hello_message before = decode_hello(hello).value(), now = decode_hello(again).value();
      const bool has_another_nonce = now.nonce != before.nonce;
      CHECK(has_another_nonce);
      CHECK(changed_hello(again, [&](hello_message& made) { made.nonce = before.nonce; }) == hello);
      hello = again;
    }
    const bool goes_on_until_the_limit = p.edge->state() == edge_state::handshaking;
    CHECK(goes_on_until_the_limit);
    const status why{errc::peer_timeout, part::session, limit};
    const status ends_at_the_limit = p.edge->tick(100 * limit + 1);
    CHECK(ends_at_the_limit == why);
    CHECK(p.reason(pair::only(p.run_edge())) == why);
    CHECK(p.edge->state() == edge_state::failed);
    CHECK(p.edge_failure == why);
    CHECK_FALSE(p.edge->deadline().has_value());
    CHECK(p.edge->statistics().handshakes == limit);
    CHECK(p.edge->statistics().timeouts == limit);
  }
}

TEST_CASE("NET-5 edge: only handshakes without progress count, and without a timeout nothing is given up") {
  pair_options o;
  o.retry_limit = 3;
  pair p(o);
  bytes question = p.start();
  while (p.edge->state() != edge_state::finished) {
    for (int i = 0; i < 2; ++i) question = p.reconnect();
    for (int i = 0; i < 2 && p.edge->state() != edge_state::finished; ++i) question = p.exchange(question);
  }
  CHECK(p.edge->statistics().handshakes > 15);
  CHECK(p.text().size() == 23);
  o.timeout = 0;
  pair q(o);
  (void)q.start();
  CHECK_FALSE(q.edge->deadline().has_value());
  CHECK(q.edge->tick(~session_time{0}).ok());
  CHECK(q.run_edge().empty());
}

TEST_CASE("NET-4 edge: each message that is not used is counted once, by its cause") {
  pair p;
  const bytes hello = p.start();
  const bytes greeting = p.answer(hello);
  const auto counts = [&] {
    const session_statistics& s = p.edge->statistics();
    return std::array<std::uint64_t, 2>{s.stale, s.corrupt};
  };
  const bytes draft = p.hear(greeting);
  const bytes feedback = p.answer(draft);
  bytes damaged = feedback;
  damaged.back() ^= std::byte{1};
  CHECK(p.edge->receive(damaged, 2).code == errc::checksum_mismatch);
  const bytes again = pair::only(p.run_edge());  // hands are shaken again at once
  CHECK(kind_of(again) == message_kind::hello);
  CHECK(counts() == std::array<std::uint64_t, 2>{0, 1});
  CHECK(p.edge->receive(feedback, 2).code == errc::unexpected_message);  // before the answer
  CHECK(p.edge->receive(greeting, 2).code == errc::unexpected_message);  // of an earlier hello
  CHECK(p.run_edge().empty());
  CHECK(counts() == std::array<std::uint64_t, 2>{2, 1});
  CHECK(p.edge->receive(std::span(greeting).first(5), 2).code == errc::truncated);
  CHECK(p.run_edge().empty());
  CHECK(counts() == std::array<std::uint64_t, 2>{2, 2});
  p.finish(again);
  CHECK(p.edge->receive(feedback, 3).code == errc::session_closed);
  CHECK(counts() == std::array<std::uint64_t, 2>{3, 2});
  CHECK(p.edge->statistics().handshakes == 2);
}

TEST_CASE("NET-4 edge: an input while outputs wait changes nothing") {
  pair p;
  CHECK(p.edge->start(std::vector<token_id>{1, 2}, 1).ok());
  CHECK(p.edge->tick(1000).code == errc::busy);
  CHECK(p.edge->receive({}, 1000).code == errc::busy);
  CHECK(p.edge->reconnect(1000).code == errc::busy);
  CHECK(p.edge->disconnect(1000).code == errc::busy);
  CHECK(p.edge->statistics().messages_down == 0);
  CHECK(kind_of(pair::only(p.run_edge())) == message_kind::hello);
}

TEST_CASE("NET-5 edge: restore at every point gives the same text, and refuses what is not its journal") {
  pair whole;
  whole.finish(whole.start());
  for (std::size_t stop_after = 1; stop_after < 12; ++stop_after) {
    pair p;
    bytes question = p.start();
    for (std::size_t i = 0; i < stop_after && p.edge->state() != edge_state::finished; ++i)
      question = p.exchange(question);
    p.new_edge();
    const auto found = p.edge->restore(p.edge_journal, p.now);
    REQUIRE(found.ok());
    CHECK_FALSE(found->torn);
    const std::vector<bytes> sent = p.run_edge();
    if (p.edge->state() != edge_state::finished) p.finish(pair::only(sent));
    CHECK(p.text() == whole.text());
  }
  pair p;
  (void)p.start();
  pair q;
  CHECK(q.edge->restore({}, 1).error().code == errc::unknown_session);
  bytes damaged = p.edge_journal;
  damaged[30] ^= std::byte{4};
  CHECK(q.edge->restore(damaged, 1).error().code == errc::journal_corrupt);
  CHECK(q.edge->restore(p.edge_journal, 1).ok());
  CHECK(q.edge->state() == edge_state::handshaking);
}

TEST_CASE("NET-5 edge: without a journal the cloud sends the text; without both there is no session") {
  pair whole;
  whole.finish(whole.start());
  pair p;
  bytes question = p.start();
  for (int i = 0; i < 5; ++i) question = p.exchange(question);
  p.new_edge();
  p.now = 1000;
  CHECK(p.edge->recover(3, p.now).ok());
  p.finish(pair::only(p.run_edge()));
  CHECK(p.text() == whole.text());

  pair lost;
  CHECK(lost.edge->recover(3, 1).ok());
  const bytes resume = pair::only(lost.run_edge());
  CHECK(lost.cloud->receive(resume, 1).code == errc::unknown_session);
  CHECK(lost.edge->receive(pair::only(lost.run_cloud()), 1).code == errc::unknown_session);
  (void)lost.run_edge();
  CHECK(lost.edge->state() == edge_state::failed);
}

TEST_CASE("NET-5 edge: a new connection names the session first and loses nothing, wherever the old one ends") {
  pair whole;
  whole.finish(whole.start());
  for (int exchanges = 0; exchanges < 12; ++exchanges) {
    CAPTURE(exchanges);
    for (const bool told : {false, true}) {
      pair p;
      bytes question = p.start();
      for (int i = 0; i < exchanges && kind_of(question) != message_kind::stop; ++i) question = p.exchange(question);
      if (told) {
        CHECK(p.edge->disconnect(5).ok());
        CHECK(p.run_edge().empty());
        CHECK(p.edge->state() == edge_state::offline);
        CHECK_FALSE(p.edge->deadline().has_value());
        CHECK(p.edge->receive(question, 5).code == errc::unexpected_message);
      }
      question = p.reconnect();
      CHECK(kind_of(question) == message_kind::hello);
      CHECK(name_of(question)->session_id == 7);
      p.finish(question);
      CHECK(p.text() == whole.text());
      CHECK(p.edge->statistics().rounds == whole.edge->statistics().rounds);
    }
  }
}

TEST_CASE("NET-5 edge: a connection that is lost while a block is drafted ends no block, and it is sent after it") {
  pair whole;
  whole.finish(whole.start());
  pair p;
  REQUIRE(p.edge->receive(p.answer(p.start()), 1).ok());
  session_output out = p.edge->next();
  const bytes prompt(out.bytes.begin(), out.bytes.end());
  REQUIRE(p.cloud->receive(prompt, 1).ok());
  (void)p.run_cloud();
  while (out.action != session_action::evaluate) out = p.edge->next();
  CHECK(p.edge->disconnect(2).ok());
  CHECK(p.edge->wants_rows());
  REQUIRE(p.edge_engine.feed(out.position, out.tokens, out.rows));
  CHECK(p.edge->supply_row(exec::seq, p.edge_engine.rows()[0], {}, 2).ok());
  CHECK(p.run_edge().empty());
  CHECK(p.edge->state() == edge_state::offline);
  CHECK_FALSE(p.edge->wants_rows());
  const bytes draft = p.exchange(p.reconnect());
  CHECK(kind_of(draft) == message_kind::draft);
  CHECK(p.edge->statistics().fed_tokens == 5);  // the prompt and two drafts, each once
  p.finish(draft);
  CHECK(p.text() == whole.text());
}

TEST_CASE("NUM-1 edge: a bad row ends the session with its cause") {
  pair p;
  CHECK(p.edge->receive(p.answer(p.start()), 1).ok());
  CHECK(p.edge->next().action == session_action::send);
  const session_output out = p.edge->next();
  REQUIRE(out.action == session_action::evaluate);
  std::vector<float> row(pair::vocab_size, 0.0F);
  row[4] = std::numeric_limits<float>::quiet_NaN();
  CHECK(p.edge->supply_row(exec::seq, logits_row(std::span<const float>(row)), {}, 1).code == errc::row_has_nan);
  (void)p.run_edge();
  REQUIRE(p.edge_failure.has_value());
  CHECK(p.edge_failure->code == errc::row_has_nan);
  CHECK(p.edge->supply_row(exec::seq, logits_row(std::span<const float>(row)), {}, 1).code == errc::unexpected_message);
}

TEST_CASE("DET-4 edge: a simd policy and a scalar one write the same text") {
  pair p;
  p.finish(p.start());
  pair q;
  bytes question = q.start();
  while (q.edge->state() != edge_state::finished && !question.empty()) {
    CHECK(q.cloud->receive(question, 1).ok());
    std::vector<bytes> sent;
    for (session_output out = q.cloud->next(); out.action != session_action::none; out = q.cloud->next()) {
      if (out.action == session_action::send) sent.emplace_back(out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::rollback) CHECK(q.cloud_engine.cut(out.position));
      if (out.action == session_action::evaluate) {
        CHECK(q.cloud_engine.feed(out.position, out.tokens, out.rows));
        CHECK(q.cloud->supply_rows(exec::simd, row_span_provider<float>(q.cloud_engine.rows(), q.transforms), 1).ok());
      }
    }
    question = q.hear(pair::only(sent));
  }
  CHECK(q.text() == p.text());
}

TEST_CASE("NET-6 edge: a link measured while a round is open changes the next round, not the same one drafted again") {
  pair p;
  bytes journal;
  std::vector<bytes> sent;
  std::uint32_t drafted = 0;
  hash_engine engine(pair::model(true));
  const auto run = [&](edge_session& edge) {
    drafted = 0;
    for (session_output out = edge.next(); out.action != session_action::none; out = edge.next()) {
      if (out.action == session_action::send) sent.emplace_back(out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::journal) journal.insert(journal.end(), out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::tentative) drafted += static_cast<std::uint32_t>(out.tokens.size());
      if (out.action == session_action::rollback) CHECK(engine.cut(out.position));
      if (out.action != session_action::evaluate) continue;
      CHECK(engine.feed(out.position, out.tokens, out.rows));
      CHECK(edge.supply_row(exec::seq, engine.rows()[0], {}, 1).ok());
    }
  };
  const auto ask = [&](edge_session& edge) {
    for (const bytes& question : std::exchange(sent, {})) {
      for (const bytes& answer : p.answers(question)) {
        CHECK(edge.receive(answer, 1).ok());
        run(edge);
      }
    }
  };
  specverify::edge_options wanted = p.edge_options();
  wanted.journal_drafts = specverify::draft_journaling::never;  // else nothing is drafted again
  auto first = make_edge(wanted, top_k{8}, link_window{});
  REQUIRE(first.ok());
  edge_session& edge = first.value();
  CHECK(edge.start(std::array<token_id, 3>{4, 5, 6}, 1).ok());
  run(edge);
  ask(edge);
  CHECK(drafted == 3);
  sent.clear();  // the prompt and the first draft are lost
  edge.record_link(1e6F, 1e6F, 0.05F, 0.01F);
  auto second = make_edge(wanted, top_k{8}, link_window{});
  REQUIRE(second.ok());
  engine.clear();
  CHECK(second.value().restore(journal, 10000).ok());
  run(second.value());
  ask(second.value());
  CHECK(drafted == 3);

  ask(edge = std::move(second.value()));
  edge.record_link(1e6F, 1e6F, 0.05F, 0.01F);
  CHECK(drafted == 3);
  ask(edge);
  CHECK(drafted == 1);
}

namespace {
//! Another resolution every round, and a note of what the last one was.
struct alternating_window {
  static constexpr bool unconditional = true;
  static constexpr bool needs_probabilities = true;
  std::vector<observation>* seen = nullptr;
  bool announced = true;
  [[nodiscard]] draft_plan begin(const observation& now) const noexcept {
    seen->push_back(now);
    return {3, now.round % 2 == 0 ? 40u : 12u, 8};
  }
  [[nodiscard]] plan_range range() const noexcept { return {3, announced ? 12u : 40u, 40}; }
  [[nodiscard]] bool proceed(std::uint32_t, const law&, std::uint64_t) const noexcept { return true; }
};
}  // namespace

TEST_CASE(
    "E4 edge: a window changes the resolution from round to round where each draft says it; a restart changes "
    "nothing") {
  for (const law_format format :
       {law_format::sparse_drop_zero, law_format::sparse_paper, law_format::dense_lattice, law_format::top_k_tail}) {
    for (const bool announced : {true, false}) {
      std::vector<token_id> first_text;
      for (int restarts = 0; restarts < 2; ++restarts) {
        pair_options o;
        o.format = format;
        o.limits.emplace();
        pair p(o);
        std::vector<observation> seen;
        hash_engine engine(pair::model(true));
        bytes journal;
        std::vector<bytes> questions;
        const specverify::edge_options wanted = p.edge_options();
        std::optional<edge_session> edge;
        edge.emplace(std::move(make_edge(wanted, p.kept(), alternating_window{&seen, announced})).value());
        const auto run = [&] {
          for (session_output out = edge->next(); out.action != session_action::none; out = edge->next()) {
            if (out.action == session_action::send) questions.emplace_back(out.bytes.begin(), out.bytes.end());
            if (out.action == session_action::journal)
              journal.insert(journal.end(), out.bytes.begin(), out.bytes.end());
            if (out.action == session_action::rollback) CHECK(engine.cut(out.position));
            if (out.action != session_action::evaluate) continue;
            CHECK(engine.feed(out.position, out.tokens, out.rows));
            CHECK(edge->supply_row(exec::seq, engine.rows()[0], {}, 1).ok());
          }
        };
        const auto ask = [&] {
          for (const bytes& question : std::exchange(questions, {})) {
            for (const bytes& answer : p.answers(question)) {
              REQUIRE(edge->receive(answer, 1).ok());
              const round_record& decided = edge->last_round();
              if (decided.round > 0) CHECK(decided.resolution == (announced && decided.round % 2 == 1 ? 12u : 40u));
              run();
            }
          }
        };
        CHECK(edge->start(std::array<token_id, 3>{4, 5, 6}, 1).ok());
        run();
        for (int i = 0; i < 100 && edge->state() != edge_state::finished; ++i) {
          if (restarts == 1 && i > 0 && edge->state() == edge_state::waiting) {
            if (i == 1) ask();  // else the prompt is lost
            edge.emplace(std::move(make_edge(wanted, p.kept(), alternating_window{&seen, announced})).value());
            engine.clear();
            questions.clear();
            CHECK(edge->restore(journal, 2).ok());
            run();
            ask();
          }
          ask();
        }
        const std::vector<token_id> text(edge->text().begin(), edge->text().end());
        CHECK(text.size() == 23);
        if (restarts == 0) first_text = text;
        CHECK(text == first_text);
        bool low = false, high = false, probable = false;
        for (const observation& one : seen) {
          low = low || one.last_resolution == 12;
          high = high || one.last_resolution == 40;
          probable = probable || one.accepted_probability.back() > 0;
          for (const float probability : one.accepted_probability) CHECK((probability >= 0 && probability <= 1));
        }
        CHECK(low == announced);
        CHECK(high);
        CHECK(probable);
      }
    }
  }
}

namespace {
//! The words of a refusal, as a host prints them.
std::string words(status why) {
  std::array<char, status_text_size> text{};
  return std::string(to_string(why, text).value());
}
}  // namespace

TEST_CASE("session: why a hello was refused is a status at both sides") {
  pair_options o;
  o.edge_fingerprint = 5;
  pair p(o);
  CHECK(p.edge->refusal().ok());
  CHECK(p.cloud->refusal().ok());
  const bytes hello = p.start();
  const status why = p.cloud->receive(hello, 1);
  CHECK(why == status{errc::fingerprint_mismatch, part::session, 0});
  CHECK(p.cloud->refusal() == why);
  CHECK(p.edge->receive(pair::only(p.run_cloud()), 1).code == errc::refused_by_peer);
  CHECK(p.edge->refusal() == why);
  CHECK(words(p.edge->refusal()) ==
        "fingerprint_mismatch in session at 0: the two sides have different vocabularies; load matching models");
  p.options.edge_fingerprint = 0;  // the cloud takes another hello, and forgets the refusal
  p.new_edge();
  p.finish(p.start());
  CHECK(p.cloud->refusal().ok());
  CHECK(p.edge->refusal().ok());
}

TEST_CASE("session: why the cloud's engine failed is a status at both sides") {
  pair p;
  CHECK(p.cloud->receive(p.exchange(p.exchange(p.start())), 1).ok());
  p.hold_rows = true;
  CHECK(p.run_cloud().empty());
  const status why{errc::row_has_nan, part::host, 12345};
  CHECK(p.cloud->engine_failed(why) == why);
  CHECK(p.cloud->refusal() == why);
  CHECK(p.edge->receive(pair::only(p.run_cloud()), 1) ==
        status{errc::refused_by_peer, part::session, static_cast<std::uint32_t>(errc::row_has_nan)});
  CHECK(p.edge->refusal() == why);
  CHECK(words(p.edge->refusal()) == "row_has_nan in host at 12345: a row holds a NaN");
}

TEST_CASE("session: a refusal with a code that nobody knows is no cause") {
  pair p;
  const bytes hello = p.start();
  std::array<std::byte, 64> memory{};
  const auto written = encode_refuse(p.named, {errc::row_has_nan, part::host, 1}, memory);
  REQUIRE(written.ok());
  memory[8] = std::byte{0xFF};
  memory[9] = std::byte{0x7F};
  const std::span<std::byte> hostile =
      specverify::detail::end_headed(message_kind::refuse, {p.named}, written->size(), memory);
  CHECK(p.edge->receive(hostile, 1).code == errc::unexpected_message);
  CHECK(p.edge->refusal().ok());
  CHECK(p.edge->state() == edge_state::handshaking);
  CHECK(p.edge->statistics().stale == 1);
  p.finish(hello);
  CHECK(p.text().size() == 23);
  CHECK(p.edge->refusal().ok());
}

TEST_CASE("session: a damaged hello is refused by no_handshake, which is no cause, and said again at the deadline") {
  pair p;
  bytes hello = p.start();
  hello[20] ^= std::byte{1};
  CHECK_FALSE(p.cloud->receive(hello, 1).ok());
  CHECK(p.cloud->statistics().refusals == 1);
  CHECK(p.cloud->refusal().ok());
  const bytes refusal = pair::only(p.run_cloud());
  CHECK(pair::reason_of(refusal, {}).code == errc::no_handshake);
  CHECK(p.edge->receive(refusal, 1).code == errc::unexpected_message);
  CHECK(p.run_edge().empty());
  CHECK(p.edge->refusal().ok());
  CHECK(p.edge->tick(*p.edge->deadline()).ok());
  p.finish(pair::only(p.run_edge()));
  CHECK(p.text().size() == 23);
}
