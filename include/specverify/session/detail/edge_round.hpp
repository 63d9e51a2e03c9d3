// SPDX-License-Identifier: Apache-2.0
//! Implements the member functions of an edge for a round: begin the round, request rows, collect drafts, send the
//! draft message, commit the verdict, write the journal.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_ROUND_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_ROUND_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/detail/round_sizes.hpp>
#include <specverify/session/edge_session.hpp>

#include <algorithm>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

SPECVERIFY_BODY status edge_session::begin_round() noexcept {
  draft_plan plan = drafter_.plan(link_.seen);
  hidden_.begin_round();
  kept_.clear();
  open_round_ = {};
  open_round_.round = place_.round;
  open_round_.began = now_;
  // If the cloud adds a bonus token, the text has room for one draft less. The limit depends only on the position.
  const std::uint32_t left = text_limit() - place_.length - (options_.bonus ? 1u : 0u);
  plan.max_draft_length = std::min(plan.max_draft_length, left);
  drafts_.begin(plan);
  states_.begin_round();
  return want_next_row();
}

//! Requests the row of token `end - 1` from the engine. Rows are not numbered, so an engine that still works on an
//! obsolete row must deliver the obsolete row first.
SPECVERIFY_BODY status edge_session::want_row(std::uint32_t end) noexcept {
  if (row_wanted_) return {};
  feed(end - 1, end, 1);
  row_wanted_ = true;
  return {};
}

//! Requests the row for the next draft, or closes the draft if no further token may follow.
SPECVERIFY_BODY status edge_session::want_next_row() noexcept {
  const std::uint32_t end = block_end();
  const bool stops = drafts_.size > 0 && stops_at(end);
  return drafts_.size < drafts_.planned && !stops ? want_row(end) : close_block();
}

SPECVERIFY_BODY status edge_session::take_draft(token_id token, std::span<const float> hidden) noexcept {
  const std::uint32_t position = block_end();
  if (const attachment_format& carried = format().attachments; carried.hidden != hidden_format::none) {
    if (hidden.empty()) return fail({errc::hidden_state_missing, part::session, position});
    if (hidden.size() != carried.hidden_size)
      return fail({errc::size_mismatch, part::session, static_cast<std::uint32_t>(hidden.size())});
    if (const status why = hidden_.keep(drafts_.size, hidden, carried.hidden); !why.ok()) return fail(why);
  }
  replace_shown(position, token);
  drafts_.add(token);
  emit_text(session_action::tentative, position, position + 1);
  return want_next_row();
}

//! Closes and sends the draft. If drafts are journaled and the record has room, the journal receives the draft first,
//! so a restarted edge sends the same draft again. Without a connection, the draft is sent after the next handshake.
SPECVERIFY_BODY status edge_session::close_block() noexcept {
  drafts_.close();
  body_ = 0;
  if (kept_.room() != 0) {
    if (const status why = encode_draft_body(); !why.ok()) return fail(why);
    keep_draft();
    if (kept_.any()) record(place_.length, {}, kept_.bytes());
  }
  if (state_ == edge_state::drafting) return send_draft();
  body_ = 0;  // a hello overwrites the encoded draft
  plan_ahead();
  return {};
}

//! Encodes the draft into `message_`, with plain ids, without padding and check.
SPECVERIFY_BODY status edge_session::encode_draft_body() noexcept {
  const auto bytes = drafts_.encode(format(), attachments(), message_);
  if (!bytes) return bytes.error();
  body_ = *bytes;
  return {};
}

//! Codes the ids at the end of `message_` with the table of weights, if this connection uses one. `body` is the size of
//! the draft with plain ids, in bytes. Returns the bytes of the coded draft.
SPECVERIFY_BODY result<std::size_t> edge_session::code_ids(std::size_t body) noexcept {
  if (format().ids == id_code::plain) return body;
  return drafts_.code_ids(format(), {options_.prior, text_, place_.agreed, noise_}, place_.pending(), message_);
}

//! Stores the draft for the journal if the record has room.
SPECVERIFY_BODY void edge_session::keep_draft() noexcept {
  detail::kept_draft made;
  made.round = place_.round;
  made.length = place_.length;
  made.drafts = drafts_.size;
  made.resolution = drafts_.resolution;
  made.beyond = states_.beyond_known ? 1u : 0u;
  made.clamped = open_round_.clamped;
  made.body = static_cast<std::uint32_t>(body_);
  made.support_sum = open_round_.support_sum;
  if (!kept_.begin(made)) return;
  const detail::draft_record::parts kept = kept_.split();
  for (std::uint32_t i = 0; i < made.drafts; ++i)
    numeric::store_le(kept.tokens.data() + 4 * std::size_t{i}, static_cast<std::uint32_t>(drafts_.token(i)), 4);
  std::copy_n(message_.begin(), made.body, kept.body.begin());
  std::copy_n(hidden_.first(made.drafts).begin(), kept.hidden.size(), kept.hidden.begin());
  states_.store(kept);
}

//! Sends the draft message whose body was just encoded or is in the record, with a check for the present position. The
//! body in the record has plain ids, because the cloud may not have the table on the next connection.
SPECVERIFY_BODY status edge_session::send_draft() noexcept {
  state_.enter<edge_event::send_draft>();
  if (body_ == 0 && kept_.any()) {
    const std::span<const std::byte> kept = kept_.split().body;
    std::copy(kept.begin(), kept.end(), message_.begin());
    body_ = kept.size();
  } else if (body_ == 0) {
    if (const status why = encode_draft_body(); !why.ok()) return fail(why);
  }
  const auto body = code_ids(std::exchange(body_, 0));
  if (!body) return fail(body.error());
  const auto message = detail::seal(message_kind::draft, place_.wire(), format(), *body, message_);
  open_round_.draft_bytes = message.size();
  if (open_round_.sent == 0) open_round_.sent = now_;
  return post(message);
}

//! Handles the cloud's request for hidden states, which the cloud needs before it can decide.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_request(std::span<const std::byte> message) noexcept {
  const result<request_message> request = decode_request(place_.wire(), format(), drafts_.size, message, hidden_.asked);
  if (!request) return on_unusable(request.error());
  state_.take(message_kind::request);
  if (request->what != 1 || hidden_.empty()) return fail({errc::unsupported, part::session, request->what});
  hidden_.note_request(request->positions.size());
  const auto supply = encode_supply(place_.wire(), format(), drafts_.size, hidden_.supply(drafts_.size), message_);
  if (supply && hidden_.fresh) open_round_.supply_bytes += supply->size();
  return post(supply);
}

SPECVERIFY_BODY status edge_session::on_feedback(std::span<const std::byte> message) noexcept {
  const result<feedback_message> read = decode_feedback(place_.wire(), format(), drafts_.size, message);
  if (!read) return on_unusable(read.error());
  state_.take(message_kind::feedback);
  const std::uint32_t emitted = read->accepted + (read->next_token != no_token ? 1u : 0u);
  if (emitted == 0 || emitted > text_limit() - place_.length)
    return fail({errc::field_out_of_range, part::session, read->accepted});
  verdict_ = *read;
  open_round_.feedback_bytes = message.size();
  learn();
  return commit(detail::next_round(place_.round));
}

//! Reports the result of the drafts to the sparsifier and the window.
SPECVERIFY_BODY void edge_session::learn() noexcept {
  const bool bonus = static_cast<token_source>(verdict_.source) == token_source::bonus;
  states_.commit(verdict_.accepted, drafts_.size, bonus);
  for (const float probability : states_.probabilities(verdict_.accepted)) record_accepted(link_.seen, probability);
}

//! Commits the token without the cloud. The cloud receives the token with the next draft message. The round stays open,
//! but its first draft moves to the next position.
SPECVERIFY_BODY status edge_session::commit_alone(token_id token) noexcept {
  const std::uint32_t position = place_.length;
  replace_shown(position, token);
  place_.length += 1;
  link_.seen.position = place_.length;
  link_.note();
  note_end(text_limit());
  statistics_.skipped += 1;
  statistics_.emitted += 1;
  write_journal(position);  // before the host gets the token
  emit_text(session_action::committed, position, place_.length,
            {.stop = place_.stop, .authority = token_authority::edge});
  if (!place_.is_over()) return begin_round();
  discard_draft();
  return state_ == edge_state::drafting ? finish() : status{};
}

SPECVERIFY_BODY draft_attachments edge_session::attachments() const noexcept {
  const attachment_format& carried = format().attachments;
  draft_attachments made;
  made.skipped = text().subspan(place_.agreed);
  if (carried.resolution_with_draft) made.resolution = drafts_.resolution;
  if (carried.channel_report) made.channel = link_.channel;
  if (carried.hidden_with_draft) made.hidden = hidden_.first(drafts_.size);
  made.probabilities = drafts_.probabilities();
  return made;
}

[[gnu::cold]] SPECVERIFY_BODY void edge_session::discard_draft() noexcept {
  const std::uint32_t length = place_.length;
  if (drafts_.size > 0 || ahead_.shown_end > length)
    outputs_.push({.action = session_action::retracted, .position = length});
  if (row_wanted_) {  // the row is obsolete when it arrives; then the cache is truncated
    stale_from_ = row_stale_ ? std::min(stale_from_, length) : length;
    row_stale_ = true;
  } else {
    roll_back(length);
  }
  ahead_.carry_on(false);
  drafts_.clear();
  kept_.clear();
}

//! Commits the tokens of a verdict.
SPECVERIFY_BODY status edge_session::commit(std::uint32_t next_round) noexcept {
  const std::uint32_t base = place_.length, drafted = drafts_.size, void_from = base + verdict_.accepted;
  const bool adds = verdict_.next_token != no_token;
  in_vain_ = 0;
  deadline_.reset();
  const bool shown = ahead_.shown_end > base + drafted;
  const bool stands = shown && verdict_.accepted == drafted && (!adds || text_[void_from] == verdict_.next_token);
  if (adds) text_[void_from] = verdict_.next_token;
  open_round_.skipped = place_.pending();
  agree(verdict_.accepted + (adds ? 1u : 0u));
  place_.stop = static_cast<stop_reason>(verdict_.stop);
  if (!place_.is_over()) note_end(text_limit());
  ahead_.carry_on(stands && !place_.is_over());
  place_.round = next_round;
  kept_.clear();
  count_round(place_.length - base);
  write_journal(base);  // before the host gets the tokens and before the next message is sent
  if (verdict_.accepted < drafted || (shown && !stands))
    outputs_.push({.action = session_action::retracted, .position = void_from});
  const auto source = static_cast<token_source>(verdict_.source);
  emit_text(session_action::committed, base, place_.length,
            {.source = source, .stop = place_.stop, .accepted = verdict_.accepted});
  roll_back(void_from);
  drafts_.clear();
  return in_step();
}

//! Returns the terms of this edge's hello.
SPECVERIFY_BODY session_terms edge_session::terms(std::uint32_t prompt_length) const noexcept {
  session_terms made = detail::terms_of(options_, format());
  made.strength = std::min(drafter_.facts.strength, detail::strength_of(made.format, made.rule));
  made.token_budget = text_limit(prompt_length) - prompt_length;
  return made;
}

//! Writes a journal record, but only if the whole prompt is present: an edge can recover without a journal, but not
//! with a journal that holds only a part of the prompt.
SPECVERIFY_BODY void edge_session::write_journal(std::uint32_t first_position) noexcept {
  if (!place_.has_prompt()) return;
  edge_snapshot_head now;
  now.session_id = options_.session_id;
  now.prefix_hash = place_.hash;
  now.seen = link_.seen;
  now.channel = link_.channel;
  now.draft_key = source_.key;
  now.terms = terms(place_.prompt_length);
  now.round = place_.round;
  now.prompt_length = place_.prompt_length;
  now.length = place_.length;
  now.base_length = place_.agreed;
  now.carry_round = ahead_.carry_round;
  now.carry_end = ahead_.carry_end;
  now.stop = place_.stop;
  now.finished = state_ == edge_state::finished;
  now.needs_no_more = place_.is_cancelled() && cause_ == stop_cause::finished;
  record(first_position, states_.snapshot(now));  // no draft is open
}

//! Counts the decided round for the host, the window and the skip policy.
SPECVERIFY_BODY void edge_session::count_round(std::uint32_t emitted) noexcept {
  const auto source = static_cast<token_source>(verdict_.source);
  const bool rejected = source == token_source::residual || source == token_source::residual_fallback;
  open_round_.resolution = detail::has_lattice(options_.format) ? drafts_.resolution : 0;
  open_round_.drafted = drafts_.size;
  open_round_.accepted = verdict_.accepted;
  open_round_.emitted = emitted;
  open_round_.answered = now_;
  record_round(link_.seen, open_round_.drafted, open_round_.accepted, open_round_.emitted, open_round_.draft_bytes,
               open_round_.resolution);
  link_.note();
  count_drafts(statistics_, drafts_.size, verdict_.accepted + (rejected ? 1u : 0u), verdict_.accepted);
  statistics_.emitted += emitted;
  statistics_.draft_bytes += open_round_.draft_bytes;
  statistics_.supply_bytes += open_round_.supply_bytes;
  statistics_.residual_tokens += rejected ? 1u : 0u;
  statistics_.bonus_tokens += source == token_source::bonus ? 1u : 0u;
  statistics_.budget_clamp += open_round_.clamped;
  statistics_.residual_fallbacks += source == token_source::residual_fallback ? 1u : 0u;
  last_round_ = open_round_;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
