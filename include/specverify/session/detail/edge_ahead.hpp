// SPDX-License-Identifier: Apache-2.0
//! What the edge does while the link is lost: wait, stop, or write ahead. And what the host measures of the link.
//!
//! A token written ahead stands at a position beyond the open round's drafts and has the counter of that position in
//! that round, which nothing else uses. Its law is the drafter's given the text shown so far. When the round is decided
//! and that text stands (every draft accepted, and the cloud's own token is the one that was shown there), the
//! positions behind it are drafted with the same counters: given the same text the same tokens come out, now with their
//! laws, and are verified like any others. Else they are retracted, and the next round draws with counters of its own.
//! Whether they stand depends on tokens before them alone, so the text's law is that of the acceptance rule.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_AHEAD_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_AHEAD_HPP

#include <specverify/session/edge_session.hpp>

SPECVERIFY_NAMESPACE_BEGIN

SPECVERIFY_BODY status edge_session::disconnect(session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  journal_.clear();
  if (state_ == edge_state::idle || state_ == edge_state::finished || state_ == edge_state::failed) return {};
  return lose_link(now);
}

[[gnu::cold]] SPECVERIFY_BODY status edge_session::lose_link(session_time now) noexcept {
  link_.lost = true;
  if (options_.on_link_loss == link_loss::stop) return fail({errc::link_lost, part::session, question_.attempts});
  plan_ahead(now);
  return {};
}

SPECVERIFY_BODY void edge_session::link_is_back() noexcept {
  link_.lost = false;
  ahead_.deadline.reset();
}

//! Sets a time for the next token ahead, if there may be one: a deadline, so that the host looks at its transport
//! between two of them.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::plan_ahead(session_time now) noexcept {
  const std::uint32_t position = ahead();
  const bool may = options_.on_link_loss == link_loss::continue_local && options_.mode == session_mode::draft &&
                   drafts_.is_complete() && question_.is_open();
  const bool ended = position > place_.prompt_length && is_stop(stop_tokens_, text_[position - 1]);
  if (may && !ended && position < text_limit() && position - block_end() < options_.max_ahead) ahead_.deadline = now;
}

//! A token ahead was drawn.
SPECVERIFY_BODY status edge_session::show_ahead(token_id token, session_time now) noexcept {
  const std::uint32_t position = ahead();
  text_[position] = token;
  ahead_.shown_end = position + 1;
  statistics_.written_ahead += 1;
  outputs_.push(of_text(session_action::tentative, position, position + 1));
  if (link_.lost) plan_ahead(now);
  return {};
}

//! A token that may have been shown already. It is the same one unless the round's plan made another law of the same
//! text.
SPECVERIFY_BODY void edge_session::replace_shown(std::uint32_t position, token_id token) noexcept {
  if (position < ahead_.shown_end && text_[position] != token) {
    ahead_.shown_end = 0;
    emit_action(session_action::retracted, position);
  }
  text_[position] = token;
}

SPECVERIFY_BODY void edge_session::record_link(float uplink_rate, float downlink_rate, float round_trip,
                                               float draft_time) noexcept {
  link_.measure(uplink_rate, downlink_rate, round_trip);
  link_.measured.draft_time = draft_time;
  if (state_ == edge_state::idle) link_.note();
}

SPECVERIFY_BODY void edge_session::record_channel(const channel_report& channel, std::uint32_t uplink_state) noexcept {
  link_.measure(channel, uplink_state);
  if (state_ == edge_state::idle) link_.note();
}

SPECVERIFY_NAMESPACE_END

#endif
