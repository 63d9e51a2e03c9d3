// SPDX-License-Identifier: Apache-2.0
//! Draws the drafts of an edge from rows until the window ends the draft. With link_loss::continue_local, the edge also
//! writes ahead: it shows tokens after its open draft while the link is lost.
//!
//! A token written ahead has the random numbers of its position in the open round, which no other draw uses. If the
//! verdict confirms the shown text, the edge drafts the later positions with the same numbers. It then draws the same
//! tokens, and the cloud verifies them. Otherwise the tokens are retracted, and the next round uses new numbers.
//! Whether a token is kept depends only on earlier tokens, so the text keeps the distribution of the acceptance rule.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_DRAFT_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_DRAFT_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/edge_session.hpp>

SPECVERIFY_NAMESPACE_BEGIN

SPECVERIFY_BODY result<std::size_t> detail::edge_drafts::encode(const wire_format& format,
                                                                const draft_attachments& attachments,
                                                                std::span<std::byte> out) const noexcept {
  wire_format plain = format;
  plain.pad_to = 1;
  plain.check_bits = 0;
  plain.ids = id_code::plain;
  const auto bytes =
      carries_claims(format.format)
          ? encode_claims({}, plain, std::span<const claimed_draft>(tokens_).first(size), attachments, out)
          : encode_draft({}, plain, with_laws_.drafts(), attachments, out);
  if (!bytes) return bytes.error();
  return bytes->size();
}

SPECVERIFY_BODY result<std::size_t> detail::edge_drafts::code_ids(const wire_format& format, const prior_text& known,
                                                                  std::uint32_t skipped,
                                                                  std::span<std::byte> body) const noexcept {
  return encode_prior_ids(format, std::span<const claimed_draft>(tokens_).first(size), known, skipped,
                          attachment_bits(format, skipped, size), body);
}

SPECVERIFY_BODY result<std::size_t> detail::edge_drafts::bytes(const wire_format& format) const noexcept {
  draft_attachments plain;
  plain.resolution = resolution;
  return draft_bytes(format, with_laws_.drafts(), plain);
}

SPECVERIFY_BODY uniform_stream<> edge_session::draws_at(std::uint32_t position) const noexcept {
  const std::uint32_t round = position < ahead_.carry_end ? ahead_.carry_round : place_.round;
  return uniforms<>{source_, position, round}.at(purpose::draft_draw);
}

//! Asks the skip policy whether the edge commits the token on its own. Only the first token of a draft can be committed
//! in this way. The decision is a function of (prefix, round, key), so a restarted edge makes the same decision.
SPECVERIFY_BODY result<detail::drawn_draft> edge_session::ask_gate(detail::any_row& row, token_id token,
                                                                   std::span<const float> attention) noexcept {
  detail::drawn_draft drawn{token};
  if (!drafter_.facts.gates || drafts_.size != 0) return drawn;
  const auto seen = drafter_.observe(row, token, attention, uniforms<>{source_, place_.length, place_.round});
  if (!seen) return seen.error();
  drawn.seen = *seen;
  const auto answer = drafter_.parts->ask(*seen);
  if (!answer) return answer.error();
  const bool full = place_.pending() >= format().attachments.max_skipped;  // the skipped tokens must be sent first
  drawn.keep = !full && answer->keep;
  statistics_.skipped_uncertain += drawn.keep && answer->uncertain ? 1u : 0u;
  return drawn;
}

//! Returns whether the window accepts a draft at the position. Only the distribution at this position may influence the
//! decision.
SPECVERIFY_BODY bool edge_session::takes(std::uint32_t position, const law& next) noexcept {
  const detail::parts_facts& facts = drafter_.facts;
  if (facts.unconditional) return true;
  window_progress so_far{drafts_.size, drafts_.charged};
  if (!facts.charges && drafts_.size > 0) {
    if (const auto bytes = drafts_.bytes(format())) so_far.bits = 8 * std::uint64_t{*bytes};
  }
  const bool taken = drafter_.parts->takes(so_far, position, next);
  if (taken) drafts_.charged = so_far.bits;
  if (!taken) states_.beyond_known = facts.counts_beyond;
  return taken;
}

//! Draws the next token of the draft. Returns no_token if the window ends before this position; the window may look
//! only at the distribution there. If `keep` is set, the edge commits the token on its own and does not send it as a
//! draft.
SPECVERIFY_BODY result<detail::drawn_draft> edge_session::draw_draft(detail::any_row& row,
                                                                     const row_extras& extras) noexcept {
  const std::uint32_t drafted = drafts_.size;
  std::byte* const state = states_.next(drafted);
  if (detail::carries_claims(options_.format)) {
    const bool races = options_.noise != noise_kind::none;
    if (races || drafter_.facts.gates) {
      if (const status why = drafter_.read(row, state); !why.ok()) return why;
    }
    const result<token_id> best = races ? row.race(noise_, block_end()) : row.most_probable();
    if (!best) return best.error();
    return drafter_.facts.gates ? ask_gate(row, *best, extras.attention) : detail::drawn_draft{*best};
  }
  if (const status why = drafter_.read(row, state); !why.ok()) return why;
  const auto drawn = options_.draw_from_row ? draw_from_row(row, extras, state) : draw_from_law(row, extras, state);
  if (!drawn || drawn->token == no_token || drawn->keep) return drawn;
  open_round_.clamped += drafter_.is_clamped() ? 1u : 0u;
  open_round_.support_sum += drafter_.support_size();
  if (drafter_.facts.needs_probabilities) states_.set_probability(drafted, drafter_.probability(drawn->token));
  return drawn;
}

//! Draws the token from the row itself and returns the token's probability in the row. The distribution that is sent is
//! used only after a rejection.
SPECVERIFY_BODY result<detail::drawn_draft> edge_session::draw_from_row(detail::any_row& row, const row_extras& extras,
                                                                        std::byte* state) noexcept {
  const std::uint32_t position = block_end();
  const result<token_id> token = row.sample(draws_at(position));
  if (!token) return token.error();
  const auto drawn = ask_gate(row, *token, extras.attention);
  if (!drawn) return drawn;
  if (drawn->keep) {
    const status why = drafter_.pass(row.summary(), state);
    return why.ok() ? drawn : why;
  }
  const skip_observation& seen = drawn->seen;
  const auto made = drafter_.claim_law(row.summary(), state, {*token, seen.disagreements, seen.samples});
  if (!made) return made.error();
  if (!takes(position, made->claimed)) return detail::drawn_draft{};
  const status why = drafts_.push(detail::claim{*token, made->claimed}, made->count, made->resolution);
  return why.ok() ? drawn : why;
}

SPECVERIFY_BODY result<detail::drawn_draft> edge_session::draw_from_law(detail::any_row& row, const row_extras& extras,
                                                                        std::byte* state) noexcept {
  const std::uint32_t position = block_end();
  const result<law> made = drafter_.draft(row, state);
  if (!made) return made.error();
  if (!takes(position, *made)) return detail::drawn_draft{};
  const draft token = draw(*made, draws_at(position));
  const auto drawn = ask_gate(row, token.token(), extras.attention);
  if (!drawn || drawn->keep) return drawn;
  const status why = drafts_.push(token);
  return why.ok() ? drawn : why;
}

//! Takes a row with `size` entries.
SPECVERIFY_BODY status edge_session::take_row(detail::any_row& row, std::uint32_t size, const row_extras& extras,
                                              session_time now) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (!row_wanted_) return {errc::unexpected_message, part::session, 0};
  begin_input(now);
  row_wanted_ = false;
  if (row_stale_) return drop_row();
  if (size > options_.vocab_size) return fail({errc::row_size_mismatch, part::session, size});
  if (ahead_.writing) return write_ahead(row);
  const result<detail::drawn_draft> drawn = draw_draft(row, extras);
  if (!drawn) return fail(drawn.error());
  if (drawn->token == no_token) return close_block();
  if (!drawn->keep) return take_draft(drawn->token, extras.hidden);
  states_.commit_first();
  return commit_alone(drawn->token);
}

//! Drops an obsolete row. The engine is then idle, so waiting work can begin.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::drop_row() noexcept {
  row_stale_ = false;
  roll_back(stale_from_);
  return drafts_.open ? want_next_row() : status{};
}

[[gnu::cold]] SPECVERIFY_BODY status edge_session::write_ahead(detail::any_row& row) noexcept {
  ahead_.writing = false;
  const std::uint32_t position = ahead();
  const bool first = position == block_end();
  if (first) {
    ahead_.round = place_.round;
    states_.begin_ahead(drafts_.size);
  }
  const result<token_id> token = draw_ahead(row, position);
  if (!token) return fail(token.error());
  // the distribution at a bonus position must not change the learned state, because the next round resumes from the
  // state at index min(T + 1, L)
  if (!first || !options_.bonus) states_.keep_ahead();
  text_[position] = *token;
  ahead_.shown_end = position + 1;
  statistics_.written_ahead += 1;
  emit_text(session_action::tentative, position, position + 1);
  plan_ahead();
  return {};
}

[[gnu::cold]] SPECVERIFY_BODY result<token_id> edge_session::draw_ahead(detail::any_row& row,
                                                                        std::uint32_t position) noexcept {
  std::byte* const state = states_.next_ahead();
  const bool claims = detail::carries_claims(options_.format), races = options_.noise != noise_kind::none;
  if (claims && !races) return row.most_probable();
  if (const status why = drafter_.read(row, state); !why.ok()) return why;
  if (races) return row.race(noise_, position);
  const uniform_stream<> draws = uniforms<>{source_, position, ahead_.round}.at(purpose::draft_draw);
  if (options_.draw_from_row) {
    const result<token_id> drawn = row.sample(draws);
    if (!drawn) return drawn;
    const status why = drafter_.pass(row.summary(), state);
    return why.ok() ? drawn : why;
  }
  const result<law> made = drafter_.draft(row, state);
  if (!made) return made.error();
  return draw(*made, draws).token();
}

SPECVERIFY_BODY void edge_session::link_is_back() noexcept {
  link_.lost = false;
  ahead_.deadline.reset();
}

//! Schedules the next token to write ahead, if one is allowed. The schedule is a deadline, so the host can check the
//! transport between two tokens. With shared noise, the edge first waits for a hello, because only the cloud's hello
//! contains the kind and key of the noise.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::plan_ahead() noexcept {
  const std::uint32_t position = ahead();
  const bool may = link_.lost && options_.on_link_loss == link_loss::continue_local && !is_stream() &&
                   drafts_.complete && (options_.noise == noise_kind::none || noise_.kind != noise_kind::none);
  if (may && !stops_at(position) && position < text_limit() && position - block_end() < options_.max_ahead)
    ahead_.deadline = now_;
}

//! Sets the token at `position`. If a different token was shown there, retracts the shown tokens starting there. This
//! happens only if the round's plan gives a different distribution for the same text.
SPECVERIFY_BODY void edge_session::replace_shown(std::uint32_t position, token_id token) noexcept {
  if (position < ahead_.shown_end && text_[position] != token) {
    ahead_.shown_end = 0;
    outputs_.push({.action = session_action::retracted, .position = position});
  }
  text_[position] = token;
}

SPECVERIFY_BODY void edge_session::record_link(float uplink_rate, float downlink_rate, float round_trip,
                                               float draft_time) noexcept {
  observation& measured = link_.measured;
  measured.uplink_rate = uplink_rate;
  measured.downlink_rate = downlink_rate;
  measured.round_trip = round_trip;
  measured.draft_time = draft_time;
  if (state_ == edge_state::idle) link_.note();
}

SPECVERIFY_BODY void edge_session::record_channel(const channel_report& channel, std::uint32_t uplink_state) noexcept {
  link_.measured_channel = channel;
  link_.measured.uplink_state = uplink_state;
  record_link(channel.uplink_rate, channel.downlink_rate, channel.round_trip, link_.measured.draft_time);
}

SPECVERIFY_NAMESPACE_END

#endif
