// SPDX-License-Identifier: Apache-2.0
//! The edge's round: open it, ask for rows, take drafts, close the block, commit what stands; and its journal.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_ROUND_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_ROUND_HPP

#include <specverify/session/edge_session.hpp>

#include <algorithm>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Tokens that the text may have, prompt included.
SPECVERIFY_BODY std::uint32_t edge_session::text_limit(std::uint32_t prompt) const noexcept {
  const std::uint32_t budget = options_.token_budget;
  if (budget == 0 || budget > options_.max_text_length - std::min(prompt, options_.max_text_length))
    return options_.max_text_length;
  return prompt + budget;
}

SPECVERIFY_BODY void edge_session::note_end() noexcept {
  if (place_.length > place_.prompt_length && is_stop(stop_tokens_, text_[place_.length - 1])) {
    place_.stop = stop_reason::stop_token;
  } else if (place_.length >= text_limit()) {
    place_.stop = stop_reason::budget;
  }
}

SPECVERIFY_BODY void edge_session::open_round(const draft_plan& plan, session_time now) noexcept {
  state_.enter<edge_event::draft>();
  hidden_.begin_round();
  kept_.clear();
  open_round_ = {};
  open_round_.round = place_.round;
  open_round_.began = now;
  // Where the cloud adds one token to a draft that stands whole, more drafts than what is left but one are wasted. A
  // function of the position alone.
  const std::uint32_t left = text_limit() - place_.length - (options_.bonus ? 1u : 0u);
  drafts_.begin(std::min(plan.max_draft_length, left), plan.resolution);
}

//! Asks the engine for the row of the last one of the first `end` tokens.
SPECVERIFY_BODY status edge_session::want_row(std::uint32_t end) noexcept {
  feed(end - 1, end, 1);
  row_wanted_ = true;
  return {};
}

//! The row of the next draft, or the end of the block.
SPECVERIFY_BODY status edge_session::want_next_row(session_time now) noexcept {
  const std::uint32_t end = block_end();
  const bool stops = drafts_.size() > 0 && is_stop(stop_tokens_, text_[end - 1]);
  return drafts_.size() < drafts_.planned() && !stops ? want_row(end) : close_block(now);
}

//! A token was drafted.
SPECVERIFY_BODY status edge_session::take_draft(token_id token, std::span<const float> hidden,
                                                session_time now) noexcept {
  const std::uint32_t position = block_end();
  if (const status why = keep_hidden(hidden); !why.ok()) return fail(why);
  replace_shown(position, token);
  drafts_.add(token);
  outputs_.push(of_text(session_action::tentative, position, position + 1));
  return want_next_row(now);
}

SPECVERIFY_BODY status edge_session::keep_hidden(std::span<const float> hidden) noexcept {
  const attachment_format& carried = format().attachments;
  if (carried.hidden == hidden_format::none) return {};
  if (hidden.empty()) return {errc::hidden_state_missing, part::session, block_end()};
  if (hidden.size() != carried.hidden_size)
    return {errc::size_mismatch, part::session, static_cast<std::uint32_t>(hidden.size())};
  return hidden_.keep(drafts_.size(), hidden, carried.hidden);
}

SPECVERIFY_BODY status edge_session::close_block(session_time now) noexcept {
  drafts_.complete();
  if (const status why = keep_draft(); !why.ok()) return fail(why);
  return send_draft(now);
}

//! Encodes the draft once: to be sent, and for the journal if it keeps drafts and there is room for this one.
SPECVERIFY_BODY status edge_session::keep_draft() noexcept {
  question_.prepared = 0;
  if (!kept_.keeps()) return {};
  const auto message = drafts_.encode(context(), format(), attachments(), message_);
  if (!message) return message.error();
  question_.prepared = message->size();
  detail::kept_draft made;
  made.round = place_.round;
  made.length = place_.length;
  made.drafts = drafts_.size();
  made.resolution = drafts_.resolution();
  made.beyond = states_.beyond_known() ? 1u : 0u;
  made.clamped = open_round_.clamped;
  made.body = static_cast<std::uint32_t>(question_.prepared - message_header_bytes);
  made.support_sum = open_round_.support_sum;
  if (!kept_.begin(made)) return {};
  for (std::uint32_t i = 0; i < made.drafts; ++i) kept_.set_token(i, drafts_.token(i));
  std::copy_n(message->begin() + message_header_bytes, made.body, kept_.body().begin());
  const std::span<std::byte> hidden = kept_.hidden();
  if (!hidden.empty()) std::copy_n(hidden_.first(made.drafts).begin(), hidden.size(), hidden.begin());
  states_.store(kept_);
  return {};
}

//! The draft is in the journal before it is sent: what the cloud may decide is never forgotten.
[[gnu::noinline]] SPECVERIFY_BODY status edge_session::send_draft(session_time now) noexcept {
  if (kept_.any()) record_draft(kept_.bytes());
  if (link_.names_again) {
    link_.names_again = false;
    question_.prepared = 0;
    begin_anew();
    return ask(question::resume, now);
  }
  state_.enter<edge_event::send_draft, edge_state::drafting>();
  if (const status why = ask(question::draft, now); !why.ok()) return why;
  if (link_.lost) plan_ahead(now);
  return {};
}

//! The token stands without the cloud, which learns about it with the next draft. The round stays open: its first draft
//! moves on by one.
SPECVERIFY_BODY status edge_session::commit_alone(token_id token, session_time now) noexcept {
  const std::uint32_t position = place_.length;
  replace_shown(position, token);
  place_.length += 1;
  link_.seen.position = place_.length;
  link_.note();
  note_end();
  statistics_.skipped += 1;
  statistics_.emitted += 1;
  write_journal(position);  // before the host learns about it
  session_output out = of_text(session_action::committed, position, place_.length);
  out.authority = token_authority::edge;
  out.stop = place_.stop;
  outputs_.push(out);
  return place_.is_over() ? finish(true, now) : begin_round(now);
}

//! What travels with the drafts of the open round.
SPECVERIFY_BODY draft_attachments edge_session::attachments() const noexcept {
  const attachment_format& carried = format().attachments;
  draft_attachments made;
  made.skipped = text().subspan(place_.agreed);
  if (carried.resolution_with_draft) made.resolution = drafts_.resolution();
  if (carried.channel_report) made.channel = link_.channel;
  if (carried.hidden_with_draft) made.hidden = hidden_.first(drafts_.size());
  made.probabilities = drafts_.probabilities();
  return made;
}

//! Forgets the drafts of the open round.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::discard_draft() noexcept {
  const std::uint32_t length = place_.length;
  if (drafts_.size() > 0 || ahead_.shown_end > length) emit_action(session_action::retracted, length);
  roll_back(length);
  ahead_.carry_on(false);
  drafts_.clear();
  kept_.clear();
}

//! The verdict becomes text.
SPECVERIFY_BODY status edge_session::commit(session_time now) noexcept {
  const std::uint32_t base = place_.length, drafted = drafts_.size(), void_from = base + verdict_.accepted;
  const bool adds = verdict_.next_token != no_token;
  link_is_back();
  const bool shown = ahead_.shown_end > base + drafted;
  const bool stands = shown && verdict_.accepted == drafted && (!adds || text_[void_from] == verdict_.next_token);
  if (adds) text_[void_from] = verdict_.next_token;
  open_round_.skipped = place_.pending();
  agree(verdict_.accepted + (adds ? 1u : 0u));
  place_.stop = static_cast<stop_reason>(verdict_.stop);
  if (!place_.is_over()) note_end();
  ahead_.carry_on(stands && !place_.is_over());
  place_.round = detail::next_round(place_.round);
  kept_.clear();
  count_round(place_.length - base, now);
  question_.close();

  write_journal(base);  // before the host hears of the commit and before the next message is sent
  if (verdict_.accepted < drafted || (shown && !stands)) emit_action(session_action::retracted, void_from);
  session_output out = of_text(session_action::committed, base, place_.length);
  out.accepted = verdict_.accepted;
  out.source = static_cast<token_source>(verdict_.source);
  out.stop = place_.stop;
  outputs_.push(out);
  roll_back(void_from);
  drafts_.clear();
  return place_.is_over() ? finish(true, now) : begin_round(now);
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
SPECVERIFY_BODY void edge_session::count_round(std::uint32_t emitted, session_time now) noexcept {
  const auto source = static_cast<token_source>(verdict_.source);
  const bool rejected = source == token_source::residual || source == token_source::residual_fallback;
  open_round_.resolution = detail::has_lattice(options_.format) ? drafts_.resolution() : 0;
  open_round_.drafted = drafts_.size();
  open_round_.accepted = verdict_.accepted;
  open_round_.emitted = emitted;
  open_round_.answered = now;
  record_round(link_.seen, open_round_.drafted, open_round_.accepted, open_round_.emitted, open_round_.draft_bytes,
               open_round_.resolution);
  link_.note();
  count_drafts(statistics_, drafts_.size(), verdict_.accepted + (rejected ? 1u : 0u), verdict_.accepted);
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
