// SPDX-License-Identifier: Apache-2.0
// An edge and a cloud whose outputs are collected one by one, with engines of their own and messages handed over by the
// test. A test of one message after the other holds the edge's last message, its question; pieces of text that the edge
// pushes before it are handed over at once.
#ifndef SPECVERIFY_TESTS_UNIT_SESSION_PAIR_HPP
#define SPECVERIFY_TESTS_UNIT_SESSION_PAIR_HPP

#include <doctest/doctest.h>

#include <specverify/codec/message.hpp>
#include <specverify/policy/skip.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <session/hash_model.hpp>
#include <support/secret_of.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace specverify_test {

namespace sv = specverify;
using bytes = std::vector<std::byte>;

struct pair_options {
  sv::law_format format = sv::law_format::sparse_drop_zero;
  sv::session_mode mode = sv::session_mode::draft;
  std::uint64_t salt = 1;
  std::uint32_t draft_length = 3;
  std::uint32_t budget = 20;
  std::vector<token_id> stop_tokens{};
  std::optional<std::vector<token_id>> cloud_stop_tokens{};  // none: the same
  std::uint64_t edge_fingerprint = 0;
  sv::guarantee required = sv::guarantee::lossy;
  sv::session_time timeout = 100;
  std::uint32_t retry_limit = 64;
  sv::link_loss on_link_loss = sv::link_loss::wait;
  std::uint32_t cloud_max_length = 100;
  sv::wire_rule rule = sv::wire_rule::token;
  sv::noise_kind noise = sv::noise_kind::none, cloud_noise = sv::noise_kind::none;
  const sv::prior_table* prior = nullptr;        // of the edge
  sv::id_code ids = sv::id_code::prior;          // of the edge
  std::vector<const sv::prior_table*> priors{};  // of the cloud
  bool bonus = true;
  double threshold = 0.5;
  sv::attachment_format attachments{};
  bool lazy = false;
  sv::row_truncation truncation{};  // that both sides have room for, and the edge asks for
  std::uint32_t pad_to = 1;
  std::uint32_t edge_chunk = 256, cloud_chunk = 256;  // ids of a text message
  std::uint8_t check_bits = 8;
  std::optional<sv::cloud_limits> limits{};  // of the cloud; none: the smallest for the edge's format
};

template <class Skip, class Window = sv::fixed_window>
struct basic_pair {
  static constexpr std::uint32_t vocab_size = 30;

  explicit basic_pair(const pair_options& with = {}, const Skip& gate = {})
      : options(with), skip(gate), edge_engine(model(true)), cloud_engine(model(false)) {
    new_edge();
    new_cloud();
  }
  static hash_model model(bool drafter) {
    hash_model m;
    m.vocab_size = vocab_size;
    m.seed = 99;
    if (drafter) m.agreement = 0.7F, m.own = 3;
    return m;
  }
  [[nodiscard]] sv::wire_format format() const { return sv::format_of(edge_options(), kept(), window()); }
  //! Eight tokens, where the laws list a support.
  [[nodiscard]] std::optional<sv::top_k> kept() const {
    return sv::has_support(options.format) ? std::optional(sv::top_k{8}) : std::nullopt;
  }
  [[nodiscard]] Window window() const {
    if constexpr (std::is_same_v<Window, sv::fixed_window>) return {options.draft_length, 40};
    return Window{};
  }
  [[nodiscard]] sv::edge_options edge_options() const {
    sv::edge_options o;
    o.session_id = 7;
    o.secret = secret_of(1);
    o.vocab_size = vocab_size;
    o.format = options.format;
    o.attachments = options.attachments;
    o.pad_to = options.pad_to;
    o.mode = options.mode;
    o.rule = options.rule;
    o.noise = options.noise;
    o.prior = options.prior;
    o.ids = options.ids;
    o.bonus = options.bonus;
    o.threshold = options.threshold;
    o.fingerprint.low = options.edge_fingerprint;
    o.max_text_length = 100;
    o.token_budget = options.budget;
    o.stop_tokens = options.stop_tokens;
    o.retry_timeout = options.timeout;
    o.retry_limit = options.retry_limit;
    o.on_link_loss = options.on_link_loss;
    o.text_chunk = options.edge_chunk;
    o.check_bits = options.check_bits;
    o.transform.truncation = options.truncation;
    return o;
  }
  void new_edge() {
    edge.emplace(std::move(sv::make_edge(edge_options(), kept(), window(), skip)).value());
    edge_engine.clear();
  }
  void new_cloud() {
    sv::cloud_options o;
    o.secret = secret_of(2);
    o.salt = options.salt;
    o.vocab_size = vocab_size;
    o.limits = options.limits.has_value() ? *options.limits : sv::cloud_session::limits_for(format());
    o.required = options.required;
    o.max_text_length = options.cloud_max_length;
    o.lazy = options.lazy;
    o.priors = options.priors;
    o.text_chunk = options.cloud_chunk;
    o.check_bits = options.check_bits;
    o.stop_tokens = options.cloud_stop_tokens.has_value() ? *options.cloud_stop_tokens : options.stop_tokens;
    o.transform.truncation = options.truncation;
    o.noise = options.cloud_noise;
    cloud.emplace(std::move(sv::make_cloud(o)).value());
    cloud_engine.clear();
  }

  //! Takes the edge's outputs and does the engine's work. Messages are returned, the rest is noted.
  std::vector<bytes> run_edge() {
    std::vector<bytes> sent;
    for (sv::session_output out = edge->next(); out.action != sv::session_action::none; out = edge->next()) {
      story += std::string(story.empty() ? "" : " ") + sv::name(out.action);
      if (out.action == sv::session_action::send) sent.emplace_back(out.bytes.begin(), out.bytes.end());
      if (const auto name = sv::name_of(out.bytes); out.action == sv::session_action::send && name.ok()) named = *name;
      if (out.action == sv::session_action::journal)
        edge_journal.insert(edge_journal.end(), out.bytes.begin(), out.bytes.end());
      if (out.action == sv::session_action::rollback) CHECK(edge_engine.cut(out.position));
      if (out.action == sv::session_action::failed) edge_failure = out.reason;
      if (out.action == sv::session_action::finished) edge_end = out.stop;
      if (out.action == sv::session_action::committed) {
        last_commit.assign(out.tokens.begin(), out.tokens.end());
        if (out.authority == sv::token_authority::edge) alone += out.tokens.size();
      }
      if (out.action == sv::session_action::evaluate) {
        CHECK(edge_engine.feed(out.position, out.tokens, out.rows));
        const std::array<float, 6> first = hidden_of<6>(edge_engine.knows());
        std::vector<float> hidden(first.begin(), first.end());
        hidden.resize(std::max(hidden.size(), std::size_t{options.attachments.hidden_size}));
        (void)edge->supply_row(sv::exec::seq, edge_engine.rows()[0], edge_row,
                               {std::span<const float>(hidden).first(options.attachments.hidden_size), attention}, now);
      }
    }
    return sent;
  }
  std::vector<bytes> run_cloud() {
    std::vector<bytes> sent;
    for (sv::session_output out = cloud->next(); out.action != sv::session_action::none; out = cloud->next()) {
      if (out.action == sv::session_action::send) sent.emplace_back(out.bytes.begin(), out.bytes.end());
      if (out.action == sv::session_action::journal)
        cloud_journal.insert(cloud_journal.end(), out.bytes.begin(), out.bytes.end());
      if (out.action == sv::session_action::rollback) CHECK(cloud_engine.cut(out.position));
      if (out.action == sv::session_action::failed) cloud_failure = out.reason;
      if (out.action == sv::session_action::finished) cloud_end = out.stop;
      if (out.action == sv::session_action::score) {
        scored.emplace_back(out.bytes.begin(), out.bytes.end());
        scored_positions.push_back(out.positions.front());
        if (hold_scores) return sent;
        const std::size_t each = out.bytes.size() / out.rows;
        std::vector<double> scores;
        for (std::uint32_t i = 0; scores.size() < out.rows; ++i) {
          if ((out.positions[i / 64] >> (i % 64) & 1u) == 0) continue;
          scores.push_back(
              score_of(out.bytes.subspan(each * scores.size(), each), cloud_engine.knows(out.position + i - 1)));
        }
        (void)cloud->supply_scores(scores, now);
      }
      if (out.action == sv::session_action::evaluate) {
        CHECK(cloud_engine.feed(out.position, out.tokens, out.rows));
        if (hold_rows) return sent;
        if (engine_samples) {
          CHECK(cloud->supply_tokens(samples(out), now).ok());
          continue;
        }
        (void)cloud->supply_rows(sv::exec::seq, sv::row_span_provider<float>(cloud_engine.rows(), transforms), now);
      }
    }
    return sent;
  }
  //! What an engine samples in place of the rows of an `evaluate`: the largest logit, or over shared noise the first
  //! arrival of an exponential race with the rates e^z.
  [[nodiscard]] std::vector<token_id> samples(const sv::session_output& asked) const {
    const sv::coupling_noise noise = cloud->noise();
    std::vector<token_id> made;
    for (std::uint32_t i = 0; i < asked.rows; ++i) {
      const float* const row = cloud_engine.logits().data() + std::size_t{i} * vocab_size;
      const auto position = static_cast<std::uint32_t>(asked.position + asked.tokens.size()) - asked.rows + i + 1;
      const auto score = [&](token_id id) {
        const double logit = static_cast<double>(row[id]);
        return noise.kind == sv::noise_kind::none ? logit : logit - std::log(noise.time(position, id));
      };
      token_id best = 0;
      for (token_id id = 1; id < static_cast<token_id>(vocab_size); ++id) best = score(id) > score(best) ? id : best;
      made.push_back(best);
    }
    return made;
  }
  //! The hello of a new session.
  bytes start(std::vector<token_id> prompt = {4, 5, 6}) {
    CHECK(edge->start(prompt, now).ok());
    return only(run_edge());
  }
  //! The hello of a new connection.
  bytes reconnect() {
    CHECK(edge->reconnect(now).ok());
    return only(run_edge());
  }
  static bytes only(const std::vector<bytes>& sent) {
    CHECK(sent.size() == 1);
    return sent.empty() ? bytes{} : sent.front();
  }
  //! One question, and all that the cloud answers; returns the next question. From hello on that is the first draft.
  bytes exchange(const bytes& question) {
    bytes next;
    for (const bytes& answer : answers(question)) {
      const bytes said = hear(answer);
      if (!said.empty()) next = said;
    }
    return next;
  }
  std::vector<bytes> answers(const bytes& question) {
    CHECK(cloud->receive(question, now).ok());
    return run_cloud();
  }
  //! The only one of them.
  bytes answer(const bytes& question) { return only(answers(question)); }
  //! The last message that the edge then sends. Pieces of text before it are handed over.
  bytes hear(const bytes& message) {
    CHECK(edge->receive(message, now).ok());
    return last_of(run_edge());
  }
  bytes last_of(const std::vector<bytes>& sent) {
    for (std::size_t i = 0; i + 1 < sent.size(); ++i) {
      CHECK(cloud->receive(sent[i], now).ok());
      CHECK(run_cloud().empty());
    }
    return sent.empty() ? bytes{} : sent.back();
  }
  //! The reason of a refusal of either side.
  [[nodiscard]] sv::status reason(const bytes& refusal) const { return reason_of(refusal, named); }
  [[nodiscard]] static sv::status reason_of(const bytes& refusal, const sv::hello_name& answered) {
    const auto read = sv::decode_refuse(answered, refusal);
    CHECK(read.ok());
    return read ? read->reason : sv::status{};
  }
  //! From a question to the end.
  void finish(bytes question) {
    for (int i = 0; i < 200 && edge->state() != sv::edge_state::finished && !question.empty(); ++i)
      question = exchange(question);
    CHECK(edge->state() == sv::edge_state::finished);
  }
  [[nodiscard]] std::vector<token_id> text() const { return {edge->text().begin(), edge->text().end()}; }

  pair_options options;
  Skip skip;
  hash_engine edge_engine, cloud_engine;
  std::optional<sv::edge_session> edge;
  std::optional<sv::cloud_session> cloud;
  sv::hello_name named{};  // the edge's last hello
  bytes edge_journal, cloud_journal;
  std::string story;
  std::vector<token_id> last_commit;
  std::optional<sv::status> edge_failure, cloud_failure;
  std::optional<sv::stop_reason> edge_end, cloud_end;  // as `finished` says
  sv::row_transform edge_row{};
  std::array<sv::row_transform, 1> transforms{};
  sv::session_time now = 1;
  bool hold_rows = false, hold_scores = false;
  bool engine_samples = false;  // the cloud's engine gives tokens in place of rows
  std::size_t alone = 0;        // tokens of which the edge's host was told that the edge alone committed them
  std::vector<bytes> scored;
  std::vector<std::uint64_t> scored_positions;
  std::vector<float> attention;
};

using pair = basic_pair<sv::always_send>;

//! A hello with other fields.
template <class Change>
bytes changed_hello(const bytes& hello, Change change) {
  sv::hello_message said = sv::decode_hello(hello).value();
  change(said);
  bytes message(hello.size() + 40);
  const auto made = sv::encode_hello(said, message);
  REQUIRE(made.ok());
  message.resize(made->size());
  return message;
}

//! What the check of a steady message is taken over, if both sides have this text.
inline sv::wire_place place_of(std::span<const token_id> text, std::uint32_t round) {
  return {sv::prefix_hash(text), round};
}

inline sv::message_kind kind_of(const bytes& message) {
  const auto kind = sv::kind_of(std::span<const std::byte>(message));
  CHECK(kind.ok());
  return kind ? *kind : sv::message_kind::stop;
}

}  // namespace specverify_test

#endif
