// SPDX-License-Identifier: Apache-2.0
//! Verifies greedy drafts window by window with the library's greedy rule and semantic rule, by a decision head or by a
//! scorer that needs no hidden state.
#ifndef SPECVERIFY_APPS_LAB_WISV_ROUNDS_HPP
#define SPECVERIFY_APPS_LAB_WISV_ROUNDS_HPP

#include <specverify/codec/draft_attachments.hpp>
#include <specverify/decision_head/mlp.hpp>
#include <specverify/policy/protocol.hpp>
#include <specverify/verify/greedy.hpp>
#include <specverify/verify/semantic.hpp>

#include "wisv_heads.hpp"

#include <functional>

namespace lab {

//! A mismatch as a scorer sees it that needs no hidden state.
struct scored_mismatch {
  token_id drafted = 0, expected = 0;  //!< the draft, and the target's choice
  std::span<const float> target{};     //!< the target's logits at the draft
  double drafter_probability = 0;      //!< probability of the draft in the drafter's distribution, temperature 1
  double uniform = 0;                  //!< uniform number in [0, 1) of this position
  std::uint32_t agreed = 0;            //!< drafts after this one, up to the next mismatch or the end of the window
  bool differs_next = false;           //!< whether a mismatch follows them
  bool text_ends = false;              //!< whether the window ends with the text
};

struct semantic_settings {
  std::uint32_t draft_length = 32;
  const specverify::head_weights* head = nullptr;  //!< null, without a scorer either: greedy_rule
  //! returns a score in [0, 1]; the mismatch is accepted if the score is below the threshold. Needs no head.
  std::function<double(const scored_mismatch&)> score = {};
  bool reads_claims = false;  //!< whether the scorer reads drafter_probability
  std::uint64_t seed = 1;     //!< key of the scorers' uniform numbers
  double threshold = 0;
  bool split = false;  //!< the device sends its part of the head as int8 with a scale, not a half-precision state
  specverify::hidden_protocol protocol = specverify::hidden_protocol::selective;
  //! channel that the head sees in a round; not used without a head
  std::function<specverify::channel_state(std::uint32_t round)> channel = {};
  std::size_t max_length = 250;  //!< maximum tokens of prompt and continuation
};

struct semantic_round {
  std::uint32_t drafted = 0, accepted = 0, emitted = 0;
  std::uint32_t mismatches = 0;  //!< M of the whole window; with FH the scored mismatches
  std::uint32_t scored = 0, accepted_mismatches = 0;
  std::uint32_t uploaded = 0;   //!< number of hidden vectors that were sent
  std::uint32_t exchanges = 0;  //!< requests for hidden vectors

  friend bool operator==(const semantic_round&, const semantic_round&) = default;
};

struct semantic_text {
  std::vector<token_id> continuation;  //!< without <|end|>
  std::vector<semantic_round> rounds;

  [[nodiscard]] std::uint64_t sum(std::uint32_t semantic_round::*field) const {
    std::uint64_t total = 0;
    for (const semantic_round& r : rounds) total += r.*field;
    return total;
  }
};

namespace detail {

template <language_model Target>
struct window_rows {
  const Target& target;
  static const specverify::row_transform& transform(std::uint32_t) {
    static const specverify::row_transform none{};
    return none;
  }
  [[nodiscard]] specverify::row_view<float> operator()(std::uint32_t i) const { return row_of(target, i); }
};

//! A window of greedy drafts with the predicting states as they are sent: in half precision, or for a split head the
//! device's parts as int8.
struct drafted_window {
  std::vector<specverify::claimed_draft> drafts;
  std::vector<float> states;
  std::vector<double>
      probabilities;  //!< of the drafts, in the drafter's distributions; empty unless a scorer reads them
};

//! Returns the probability of `token` at temperature 1.
[[nodiscard]] inline double probability_of(std::span<const float> logits, token_id token) {
  const auto own = static_cast<double>(logits[static_cast<std::size_t>(token)]);
  double sum = 0;
  for (const float other : logits) sum += std::exp(static_cast<double>(other) - own);
  return 1 / sum;
}

inline void travel(std::span<const float> state, std::vector<float>& received,
                   specverify::hidden_format format = specverify::hidden_format::float16) {
  std::vector<std::byte> bytes(specverify::hidden_bytes(format, state.size()));
  received.resize(received.size() + state.size());
  demand(specverify::encode_hidden(state, format, bytes), "encode_hidden");
  demand(specverify::decode_hidden(bytes, format, std::span(received).last(state.size())), "decode_hidden");
}

//! Returns W_1D h^D, as the device computes it.
[[nodiscard]] inline std::vector<float> part_of(const specverify::head_weights& head, std::span<const float> state) {
  std::vector<float> part(head.shape.width);
  demand(specverify::device_part(head, state, part), "device_part");
  return part;
}

//! Returns a channel as the cloud gets it from the edge's report.
[[nodiscard]] inline specverify::channel_vector reported(const specverify::channel_state& link) {
  const specverify::channel_report report{static_cast<float>(link.uplink_rate), static_cast<float>(link.downlink_rate),
                                          static_cast<float>(link.uplink_loss), static_cast<float>(link.downlink_loss),
                                          static_cast<float>(link.round_trip)};
  std::array<std::byte, specverify::channel_report_bytes> bytes{};
  demand(specverify::encode_channel_report(report, bytes), "encode_channel_report");
  const auto received = demand(specverify::decode_channel_report(bytes), "decode_channel_report");
  return demand(specverify::channel_features(received), "channel_features");
}

template <language_model Drafter>
void draft_window(Drafter& drafter, std::span<const token_id> committed, const semantic_settings& settings,
                  token_id end, drafted_window& window) {
  window = {};
  drafter.feed(committed.subspan(drafter.size()), 1);
  const std::size_t most = std::min<std::size_t>(settings.draft_length, settings.max_length - committed.size());
  while (true) {
    const token_id next = argmax_of(drafter.logits(0));
    window.drafts.push_back({next});
    if (settings.head != nullptr && settings.split) {
      travel(part_of(*settings.head, drafter.hidden(0)), window.states, specverify::hidden_format::int8);
    } else if (settings.head != nullptr) {
      travel(drafter.hidden(0), window.states);
    }
    if (settings.reads_claims) window.probabilities.push_back(probability_of(drafter.logits(0), next));
    if (next == end || window.drafts.size() >= most) return;
    drafter.feed(std::span(&next, 1), 1);
  }
}

//! Returns the verdict of SH, lazy or a scorer: marks the mismatches first, then scores those that `score_of(position,
//! comparison)` is asked for.
template <class Rows, class Score>
[[nodiscard]] specverify::verdict decide_in_two_steps(const drafted_window& window, const Rows& rows,
                                                      const specverify::verify_request& request, Score score_of,
                                                      const semantic_settings& settings, semantic_round& round) {
  const std::span<const specverify::claimed_draft> drafts(window.drafts);
  std::vector<token_id> best(drafts.size() + 1);
  std::vector<std::uint64_t> marks(specverify::position_words(static_cast<std::uint32_t>(drafts.size())));
  const specverify::greedy_comparison compared{best, marks};
  demand(specverify::compare_greedily(specverify::exec::simd, drafts, rows, request, compared), "compare_greedily");
  round.mismatches = specverify::position_count(marks);
  std::vector<double> scores;
  const auto ask = [&](std::uint32_t position) {
    scores.push_back(score_of(position, compared));
    round.uploaded += 1;
  };
  if (settings.protocol == specverify::hidden_protocol::selective) {
    for (std::uint32_t at = specverify::next_position(marks, 0); at < drafts.size();
         at = specverify::next_position(marks, at + 1))
      ask(at);
    round.exchanges = round.uploaded > 0 ? 1 : 0;
  }
  while (true) {
    const specverify::verdict said = demand(
        specverify::decide_semantically(drafts, compared, scores, settings.threshold, request), "decide_semantically");
    if (said.outcome != specverify::verdict_outcome::needs) return said;
    ask(said.accepted);
    round.exchanges += 1;
  }
}

//! Returns the mismatch at `position` as a scorer sees it. `length` is the length of the text before the window.
[[nodiscard]] inline scored_mismatch mismatch_at(const drafted_window& window, std::span<const float> target,
                                                 const specverify::greedy_comparison& compared, std::uint32_t position,
                                                 std::size_t length, const specverify::verify_request& request,
                                                 std::uint64_t seed) {
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  const auto drafts = static_cast<std::uint32_t>(window.drafts.size());
  const std::uint32_t next = std::min(drafts, specverify::next_position(compared.mismatches, position + 1));
  scored_mismatch made;
  made.drafted = window.drafts[position].token, made.expected = compared.best[position];
  made.target = target;
  if (!window.probabilities.empty()) made.drafter_probability = window.probabilities[position];
  made.uniform = specverify::decision_uniform(
      source({static_cast<std::uint32_t>(length) + position, 0, 0, specverify::purpose::acceptance, 0}));
  made.agreed = next - position - 1;
  made.differs_next = next < drafts;
  made.text_ends = specverify::is_stop(request.stop_tokens, window.drafts.back().token);
  return made;
}

//! Returns the verdict on a window whose rows the target has computed.
template <language_model Target>
[[nodiscard]] specverify::verdict verify_window(const Target& target, const drafted_window& window,
                                                const specverify::verify_request& request, std::uint32_t number,
                                                std::size_t length, const semantic_settings& settings,
                                                semantic_round& round) {
  const window_rows<Target> rows{target};
  const std::span<const specverify::claimed_draft> drafts(window.drafts);
  const specverify::uniforms<> random{{}, static_cast<std::uint32_t>(length), number};
  specverify::workspace none;
  if (settings.score) {
    const auto score = [&](std::uint32_t position, const specverify::greedy_comparison& compared) {
      return settings.score(
          mismatch_at(window, target.logits(position), compared, position, length, request, settings.seed));
    };
    specverify::verdict said = decide_in_two_steps(window, rows, request, score, settings, round);
    round.uploaded = round.exchanges = 0;
    return said;
  }
  if (settings.head == nullptr)
    return demand(specverify::greedy_rule{}.verify(specverify::exec::simd, drafts, rows, random, request, none),
                  "verdict");
  std::vector<float> target_states;
  for (std::uint32_t i = 0; i < drafts.size(); ++i)
    target_states.insert(target_states.end(), target.hidden(i).begin(), target.hidden(i).end());
  const auto sent = settings.split ? specverify::drafter_input::device_part : specverify::drafter_input::hidden_state;
  specverify::head_scorer scorer{*settings.head, sent, window.states, target_states, {}};
  scorer.channel = specverify::standardise(reported(settings.channel(number)), settings.head->channel);
  if (settings.protocol != specverify::hidden_protocol::full) {
    const auto score = [&](std::uint32_t position, const specverify::greedy_comparison&) {
      return demand(scorer.score(position), "head_scorer");
    };
    return decide_in_two_steps(window, rows, request, score, settings, round);
  }
  const specverify::verdict said =
      demand(specverify::semantic_rule<specverify::head_scorer>{scorer, settings.threshold}.verify(
                 specverify::exec::simd, drafts, rows, random, request, none),
             "verdict");
  round.mismatches = said.counters.mismatches;
  round.uploaded = static_cast<std::uint32_t>(drafts.size());
  return said;
}

}  // namespace detail

//! Writes one text, which ends at the token `end` or at max_length. Clears the models' caches first.
template <language_model Drafter, language_model Target>
[[nodiscard]] semantic_text write_semantically(Drafter& drafter, Target& target, std::span<const token_id> prompt,
                                               token_id end, const semantic_settings& settings) {
  const token_id stop[] = {end};
  drafter.rollback(0);
  target.rollback(0);
  std::vector<token_id> committed(prompt.begin(), prompt.end());
  semantic_text made;
  detail::drafted_window window;
  std::vector<token_id> fed;
  while (committed.size() < settings.max_length) {
    detail::draft_window(drafter, committed, settings, end, window);
    const auto length = static_cast<std::uint32_t>(window.drafts.size());
    fed.assign(committed.begin() + target.size(), committed.end());
    for (const specverify::claimed_draft& d : window.drafts) fed.push_back(d.token);
    target.feed(fed, length + 1);
    specverify::verify_request request;
    const auto number = static_cast<std::uint32_t>(made.rounds.size());
    request.stop_tokens = stop;
    request.remaining_budget = static_cast<std::uint32_t>(settings.max_length - committed.size());
    semantic_round& round = made.rounds.emplace_back();
    const specverify::verdict said =
        detail::verify_window(target, window, request, number, committed.size(), settings, round);
    round.drafted = length;
    round.accepted = said.accepted;
    round.emitted = said.commit_length;
    round.scored = said.counters.mismatches;
    round.accepted_mismatches = said.counters.accepted_mismatches;
    const auto known = static_cast<std::uint32_t>(committed.size()) + said.accepted;  // length kept by both caches
    for (std::uint32_t i = 0; i < said.accepted; ++i) committed.push_back(window.drafts[i].token);
    if (said.next_token != specverify::no_token) committed.push_back(said.next_token);
    drafter.rollback(known);
    target.rollback(known);
    if (said.stop != specverify::stop_reason::none || committed.back() == end) break;
  }
  if (committed.size() > prompt.size() && committed.back() == end) committed.pop_back();
  made.continuation.assign(committed.begin() + static_cast<std::ptrdiff_t>(prompt.size()), committed.end());
  return made;
}

}  // namespace lab

#endif
