// SPDX-License-Identifier: Apache-2.0
//! The edge's round: ask for rows, draw, close the block, commit what stands.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_ROUND_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_ROUND_HPP

#include <specverify/session/edge.hpp>

#include <algorithm>

SPECVERIFY_NAMESPACE_BEGIN

//! Tokens that the text may have, prompt included.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
std::uint32_t basic_edge_session<Sparsifier, Window, Skip>::text_limit() const noexcept {
  const std::uint32_t budget = options_.token_budget;
  if (budget == 0 || budget > options_.max_length - std::min(prompt_length_, options_.max_length))
    return options_.max_length;
  return prompt_length_ + budget;
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::note_end() noexcept {
  if (length_ > prompt_length_ && is_stop(stop_tokens_, text_[length_ - 1])) {
    stop_ = stop_reason::stop_token;
  } else if (length_ >= text_limit()) {
    stop_ = stop_reason::budget;
  }
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::record_link(float uplink_rate, float downlink_rate, float round_trip,
                                                               float draft_time) noexcept {
  measured_.uplink_rate = uplink_rate;
  measured_.downlink_rate = downlink_rate;
  measured_.round_trip = round_trip;
  measured_.draft_time = draft_time;
  if (state_ == edge_state::idle) note_link();
}

//! Between two rounds: what was measured of the link becomes part of what the policy sees, and of the journal.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::note_link() noexcept {
  seen_.uplink_rate = measured_.uplink_rate;
  seen_.downlink_rate = measured_.downlink_rate;
  seen_.round_trip = measured_.round_trip;
  seen_.draft_time = measured_.draft_time;
  seen_.uplink_state = measured_.uplink_state;
  channel_ = measured_channel_;
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::begin_round(session_time now) noexcept {
  state_ = edge_state::drafting;
  block_.clear();
  foreign_.clear();
  drafted_ = 0;
  block_complete_ = false;
  std::fill(supplied_.begin(), supplied_.end(), std::uint64_t{0});
  states_[0] = sparsifier_state_;
  beyond_known_ = false;
  charged_ = 0;
  open_round_ = {};
  open_round_.round = round_;
  open_round_.began = now;
  const draft_plan plan = window_.begin(seen_);
  // Where the cloud adds one token to a draft that stands whole, more drafts than what is left but one are wasted. A
  // function of the position alone.
  planned_ = std::min(
      {plan.max_draft_length, options_.format.max_draft_length, text_limit() - length_ - (options_.bonus ? 1u : 0u)});
  resolution_ = options_.format.resolution;
  if (options_.format.attachments.resolution_with_draft)
    resolution_ = std::clamp<std::uint32_t>(plan.resolution, 1, resolution_);
  drafter_.set_resolution(resolution_);
  drafter_.begin_round(window_, plan);
  return planned_ == 0 ? close_block(now) : want_row(length_);
}

//! Keeps the first `length` positions of the engine's cache.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::roll_back(std::uint32_t length) noexcept {
  if (cached_ <= length) return;
  cached_ = length;
  statistics_.rollbacks += 1;
  session_output out;
  out.action = session_action::rollback;
  out.position = length;
  outputs_.push(out);
}

//! What was shown from `position` on is void.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::retract(std::uint32_t position) noexcept {
  session_output out;
  out.action = session_action::retracted;
  out.position = position;
  outputs_.push(out);
}

//! Asks the engine for the row of the last one of the first `end` tokens.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::want_row(std::uint32_t end) noexcept {
  roll_back(end - 1);
  session_output out;
  out.action = session_action::evaluate;
  out.position = cached_;
  out.tokens = std::span<const token_id>(text_).subspan(cached_, end - cached_);
  out.rows = 1;
  statistics_.fed_tokens += out.tokens.size();
  outputs_.push(out);
  cached_ = end;
  row_wanted_ = true;
  return {};
}

//! Draws the next token of the block; no_token where the window ends before it, decided from its law alone. The first
//! one of a block may be the edge's own (`keep`): then nothing travels of it.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
template <class Policy, class Scalar>
status basic_edge_session<Sparsifier, Window, Skip>::draw_draft(Policy policy, row_view<Scalar> row,
                                                                const row_transform& transform,
                                                                const row_extras& extras, std::uint32_t position,
                                                                token_id& token, bool& keep) noexcept {
  skip_observation seen;
  const auto gate = [&]() noexcept -> status {
    if constexpr (detail::gates<Skip>) {
      if (drafted_ == 0) return keeps(policy, row, transform, extras, token, seen, keep);
    }
    return {};
  };
  state_type& state = states_[drafted_ + 1] = states_[drafted_];
  const random_counter counter{position, round_of(position), 0, purpose::draft_draw, 0};
  if (detail::carries_claims(options_.format.format)) {
    argmax_result best;
    if (const status why = argmax(policy, row, transform, best); !why.ok()) return why;
    if (static_cast<std::uint32_t>(best.token) >= options_.format.vocab_size)
      return {errc::vocabulary_mismatch, part::session, 0};
    token = best.token;
    return gate();
  }
  law proposed;
  if (options_.draw_from_row) {
    if (const status why = drafter_.draw_foreign(policy, row, transform, window_, state, source_, counter, token);
        !why.ok())
      return why;
    if (const status why = gate(); !why.ok() || keep) return why;
    if (const status why = drafter_.claim_beside({token, seen.disagreements, seen.samples}, proposed); !why.ok())
      return why;
  } else if (const status why = drafter_.propose(policy, row, transform, window_, state, proposed); !why.ok()) {
    return why;
  }
  if constexpr (!requires { requires Window::unconditional; }) {
    window_progress so_far{drafted_, charged_};
    if constexpr (!charging_window<Window>) {
      std::size_t bytes = 0;
      if (drafted_ > 0 && block_bytes(bytes).ok()) so_far.bits = 8 * std::uint64_t{bytes};
    }
    if (!takes_position(window_, so_far, position, proposed)) {
      token = no_token;
      if constexpr (requires { drafter_.rule().update_on_bonus; }) beyond_known_ = drafter_.rule().update_on_bonus;
      return {};
    }
    charged_ = so_far.bits;
  }
  if (options_.draw_from_row) {
    if (const status why = foreign_.push({token, proposed}); !why.ok()) return why;
  } else {
    const draft drawn = draw(proposed, source_, counter);
    token = drawn.token();
    if (const status why = gate(); !why.ok() || keep) return why;
    if (const status why = block_.push(drawn); !why.ok()) return why;
  }
  open_round_.clamped += drafter_.is_clamped() ? 1u : 0u;
  open_round_.support_sum += drafter_.support_size();
  if constexpr (observes_probabilities) probabilities_[drafted_] = drafter_.probability(token);
  return {};
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
template <execution_policy Policy, class Scalar>
status basic_edge_session<Sparsifier, Window, Skip>::supply_row(Policy policy, row_view<Scalar> row,
                                                                const row_transform& transform,
                                                                const row_extras& extras, session_time now) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (!row_wanted_) return {errc::unexpected_message, part::session, 0};
  record_used_ = 0;
  row_wanted_ = false;
  if (ahead_row_) return write_ahead(policy, row, transform, now);
  const std::uint32_t position = length_ + drafted_;
  token_id token = no_token;
  bool keep = false;
  if (const status why = draw_draft(policy, row, transform, extras, position, token, keep); !why.ok()) return fail(why);
  if (token == no_token) return close_block(now);
  if (keep) return commit_alone(token, now);
  if (const status why = keep_hidden(extras.hidden); !why.ok()) return fail(why);
  claims_[drafted_] = {token, 0, 0};
  replace_shown(position, token);
  ++drafted_;
  session_output out;
  out.action = session_action::tentative;
  out.position = position;
  out.tokens = std::span<const token_id>(text_).subspan(position, 1);
  outputs_.push(out);
  return drafted_ < planned_ && !is_stop(stop_tokens_, token) ? want_row(length_ + drafted_) : close_block(now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::close_block(session_time now) noexcept {
  block_complete_ = true;
  if (announce_) {
    announce_ = false;
    state_ = edge_state::resuming;
    return ask(question::resume, now);
  }
  state_ = edge_state::waiting;
  if (const status why = ask(question::draft, now); !why.ok()) return why;
  if (lost_) plan_ahead(now);
  return {};
}

//! Forgets the drafts of the open round.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::discard_draft() noexcept {
  if (drafted_ > 0 || shown_end_ > length_) retract(length_);
  roll_back(length_);
  carry_on(false);
  block_.clear();
  foreign_.clear();
  drafted_ = 0;
  block_complete_ = false;
}

//! Takes `count` tokens that stand in text_ behind the committed ones: the cloud has the text up to here.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::append_text(std::uint32_t count) noexcept {
  length_ += count;
  hash_ = prefix_hash(text().subspan(base_), hash_);
  base_ = length_;
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::on_feedback(std::span<const std::byte> message,
                                                                 session_time now) noexcept {
  feedback_message verdict;
  if (const status why = decode_feedback(question_context_, options_.format, drafted_, message, verdict); !why.ok())
    return fail(why);
  const std::uint32_t base = length_;
  const std::uint32_t pending_before = pending();
  const std::uint32_t emitted = verdict.accepted + (verdict.next_token != no_token ? 1u : 0u);
  if (verdict.accepted > drafted_ || emitted == 0 || emitted > text_limit() - base)
    return fail({errc::field_out_of_range, part::session, verdict.accepted});
  const auto source = static_cast<token_source>(verdict.source);
  link_is_back();
  const std::uint32_t void_from = base + verdict.accepted;
  const bool shown = shown_end_ > base + drafted_;
  const bool stands = shown && verdict.accepted == drafted_ &&
                      (verdict.next_token == no_token || text_[void_from] == verdict.next_token);
  if (verdict.next_token != no_token) text_[void_from] = verdict.next_token;
  append_text(emitted);
  stop_ = static_cast<stop_reason>(verdict.stop);
  if (stop_ == stop_reason::none) note_end();
  sparsifier_state_ =
      states_[resumed_state(verdict.accepted, drafted_, beyond_known_ && source == token_source::bonus)];
  if constexpr (observes_probabilities) {
    for (std::uint32_t i = 0; i < verdict.accepted; ++i) record_accepted(seen_, probabilities_[i]);
  }
  carry_on(stands && stop_ == stop_reason::none);
  round_ += 1;
  open_round_.resolution = detail::has_lattice(options_.format.format) ? resolution_ : 0;
  record_round(seen_, drafted_, verdict.accepted, emitted, open_round_.draft_bytes, open_round_.resolution);
  note_link();
  const bool rejected = source == token_source::residual || source == token_source::residual_fallback;
  count_drafts(statistics_, drafted_, verdict.accepted + (rejected ? 1u : 0u), verdict.accepted);
  statistics_.emitted += emitted;
  statistics_.draft_bytes += open_round_.draft_bytes;
  statistics_.supply_bytes += open_round_.supply_bytes;
  statistics_.residual_tokens += rejected ? 1u : 0u;
  statistics_.bonus_tokens += source == token_source::bonus ? 1u : 0u;
  statistics_.budget_clamp += open_round_.clamped;
  statistics_.residual_fallbacks += source == token_source::residual_fallback ? 1u : 0u;
  open_round_.drafted = drafted_;
  open_round_.skipped = pending_before;
  open_round_.accepted = verdict.accepted;
  open_round_.emitted = emitted;
  open_round_.feedback_bytes = message.size();
  open_round_.answered = now;
  last_round_ = open_round_;
  question_ = question::none;
  deadline_.reset();

  write_journal(base);  // before the host hears of the commit and before the next message is sent
  if (verdict.accepted < drafted_ || (shown && !stands)) retract(void_from);
  session_output out;
  out.action = session_action::committed;
  out.position = base;
  out.tokens = text().subspan(base);
  out.accepted = verdict.accepted;
  out.source = source;
  out.stop = stop_;
  outputs_.push(out);
  roll_back(void_from);
  block_complete_ = false;
  drafted_ = 0;
  return stop_ != stop_reason::none ? finish(true) : begin_round(now);
}

SPECVERIFY_NAMESPACE_END

#endif
