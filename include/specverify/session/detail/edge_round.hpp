// SPDX-License-Identifier: Apache-2.0
//! The edge's round: open it, ask for rows, take drafts, close the block, commit what stands; and its journal.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_ROUND_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_ROUND_HPP

#include <specverify/session/detail/round_sizes.hpp>
#include <specverify/session/edge_session.hpp>

#include <algorithm>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

SPECVERIFY_BODY status edge_session::begin_round() noexcept {
  draft_plan plan = drafter_.plan(link_.seen);
  state_.enter<edge_event::draft>();
  hidden_.begin_round();
  kept_.clear();
  open_round_ = {};
  open_round_.round = place_.round;
  open_round_.began = now_;
  // Where the cloud adds one token to a draft that stands whole, more drafts than what is left but one are wasted. A
  // function of the position alone.
  const std::uint32_t left = text_limit() - place_.length - (options_.bonus ? 1u : 0u);
  plan.max_draft_length = std::min(plan.max_draft_length, left);
  drafts_.begin(plan);
  states_.begin_round();
  return want_next_row();
}

//! Asks the engine for the row of the last one of the first `end` tokens.
SPECVERIFY_BODY status edge_session::want_row(std::uint32_t end) noexcept {
  feed(end - 1, end, 1);
  row_wanted_ = true;
  return {};
}

//! The row of the next draft, or the end of the block.
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

SPECVERIFY_BODY status edge_session::close_block() noexcept {
  drafts_.complete = true;
  if (const status why = keep_draft(); !why.ok()) return fail(why);
  return send_draft();
}

//! Encodes the draft once: to be sent, and for the journal if it keeps drafts and there is room for this one.
SPECVERIFY_BODY status edge_session::keep_draft() noexcept {
  question_.prepared = 0;
  if (kept_.room() == 0) return {};
  const auto message = drafts_.encode(context(), format(), attachments(), message_);
  if (!message) return message.error();
  question_.prepared = message->size();
  detail::kept_draft made;
  made.round = place_.round;
  made.length = place_.length;
  made.drafts = drafts_.size;
  made.resolution = drafts_.resolution;
  made.beyond = states_.beyond_known ? 1u : 0u;
  made.clamped = open_round_.clamped;
  made.body = static_cast<std::uint32_t>(question_.prepared - message_header_bytes);
  made.support_sum = open_round_.support_sum;
  if (!kept_.begin(made)) return {};
  const detail::draft_record::parts kept = kept_.split();
  for (std::uint32_t i = 0; i < made.drafts; ++i)
    numeric::store_le(kept.tokens.data() + 4 * std::size_t{i}, static_cast<std::uint32_t>(drafts_.token(i)), 4);
  std::copy_n(message->begin() + message_header_bytes, made.body, kept.body.begin());
  std::copy_n(hidden_.first(made.drafts).begin(), kept.hidden.size(), kept.hidden.begin());
  states_.store(kept);
  return {};
}

//! The draft is in the journal before it is sent: what the cloud may decide is never forgotten.
[[gnu::noinline]] SPECVERIFY_BODY status edge_session::send_draft() noexcept {
  if (kept_.any()) record(place_.length, {}, kept_.bytes());
  if (link_.names_again) {
    link_.names_again = false;
    question_.prepared = 0;
    begin_anew();
    return ask(question::resume);
  }
  state_.enter<edge_event::send_draft, edge_state::drafting>();
  if (const status why = ask(question::draft); !why.ok()) return why;
  if (link_.lost) plan_ahead();
  return {};
}

//! The token stands without the cloud, which learns about it with the next draft. The round stays open: its first draft
//! moves on by one.
SPECVERIFY_BODY status edge_session::commit_alone(token_id token) noexcept {
  const std::uint32_t position = place_.length;
  replace_shown(position, token);
  place_.length += 1;
  link_.seen.position = place_.length;
  link_.note();
  note_end(text_limit());
  statistics_.skipped += 1;
  statistics_.emitted += 1;
  write_journal(position);  // before the host learns about it
  emit_text(session_action::committed, position, place_.length,
            {.stop = place_.stop, .authority = token_authority::edge});
  return place_.is_over() ? finish(true) : begin_round();
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
  roll_back(length);
  ahead_.carry_on(false);
  drafts_.clear();
  kept_.clear();
}

//! The verdict becomes text.
SPECVERIFY_BODY status edge_session::commit() noexcept {
  const std::uint32_t base = place_.length, drafted = drafts_.size, void_from = base + verdict_.accepted;
  const bool adds = verdict_.next_token != no_token;
  link_is_back();
  const bool shown = ahead_.shown_end > base + drafted;
  const bool stands = shown && verdict_.accepted == drafted && (!adds || text_[void_from] == verdict_.next_token);
  if (adds) text_[void_from] = verdict_.next_token;
  open_round_.skipped = place_.pending();
  agree(verdict_.accepted + (adds ? 1u : 0u));
  place_.stop = static_cast<stop_reason>(verdict_.stop);
  if (!place_.is_over()) note_end(text_limit());
  ahead_.carry_on(stands && !place_.is_over());
  place_.round = detail::next_round(place_.round);
  kept_.clear();
  count_round(place_.length - base);
  question_.close();

  write_journal(base);  // before the host hears of the commit and before the next message is sent
  if (verdict_.accepted < drafted || (shown && !stands))
    outputs_.push({.action = session_action::retracted, .position = void_from});
  const auto source = static_cast<token_source>(verdict_.source);
  emit_text(session_action::committed, base, place_.length,
            {.source = source, .stop = place_.stop, .accepted = verdict_.accepted});
  roll_back(void_from);
  drafts_.clear();
  return place_.is_over() ? finish(true) : begin_round();
}

//! The terms of this edge's hello.
SPECVERIFY_BODY session_terms edge_session::terms(std::uint32_t prompt_length) const noexcept {
  session_terms made = detail::terms_of(options_, format());
  made.strength = std::min(drafter_.facts.strength, detail::strength_of(made.format, made.rule));
  made.token_budget = text_limit(prompt_length) - prompt_length;
  return made;
}

//! Not before the prompt is known: without a journal an edge recovers, with one of half a prompt it could not.
SPECVERIFY_BODY void edge_session::write_journal(std::uint32_t first_position) noexcept {
  if (!place_.has_prompt()) return;
  edge_snapshot_head now;
  now.session_id = options_.session_id;
  now.prefix_hash = place_.hash;
  now.seen = link_.seen;
  now.channel = link_.channel;
  now.draft_key = source_.key;
  now.terms = terms(place_.prompt_length);
  now.epoch = place_.epoch;
  now.round = place_.round;
  now.prompt_length = place_.prompt_length;
  now.length = place_.length;
  now.base_length = place_.agreed;
  now.carry_round = ahead_.carry_round;
  now.carry_end = ahead_.carry_end;
  now.stop = place_.stop;
  now.finished = state_ == edge_state::finished;
  now.needs_no_more = place_.is_cancelled() && question_.cause == stop_cause::finished;
  record(first_position, states_.snapshot(now), kept_.bytes());
}

//! Counts the decided round, for the host and for the policies.
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
