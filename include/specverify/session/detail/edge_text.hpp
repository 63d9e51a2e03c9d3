// SPDX-License-Identifier: Apache-2.0
//! What the edge does with text of the cloud: what it lacks after a restart, a stream, and other drafts' text.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_TEXT_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_TEXT_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/edge_session.hpp>

#include <algorithm>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Text that the edge lacks (after a restart without a journal), or the stream.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_text(std::span<const std::byte> message,
                                                           const message_header& header, session_time now) noexcept {
  const bool answers = question_.what == question::resume && detail::belongs_to(question_.context, message, header);
  const wire_context under = answers ? question_.context : context();
  const result<text_message> read = decode_text(under, format_of(options_), message, received_);
  if (!read) return fail(read.error());
  const text_message& value = *read;
  if (place_.is_over()) return finish(true, now);  // of a stream that went on behind the end
  const std::uint32_t length = place_.length, count = static_cast<std::uint32_t>(value.tokens.size());
  const bool fetches = state_ == edge_state::fetching_text;
  if (place_.epoch == 0 || (!fetches && !place_.has_prompt())) return drop(errc::unexpected_message);
  if (value.position != length || count == 0 || place_.pending() > 0) return drop(errc::base_length_mismatch);
  if (count > text_limit() - length) return fail({errc::base_length_mismatch, part::session, length + count});
  state_.take(message_kind::text);
  return take_text(value.tokens, now);
}

//! Text in place of a verdict: the cloud decided the round on other drafts, of an earlier life. Its text counts.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_other_drafts(session_time now) noexcept {
  state_.take(message_kind::text);
  link_is_back();
  discard_draft();
  state_.enter<edge_event::other_draft, edge_state::waiting>();
  return ask(question::resume, now);
}

//! Puts text behind what both sides have. What the edge has there itself is the same.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::append_text(std::span<const token_id> tokens) noexcept {
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    const std::uint32_t at = place_.length + i;
    if (at < peer_.fetch_own && text_[at] != tokens[i]) return fail({errc::prefix_mismatch, part::session, at});
    text_[at] = tokens[i];
  }
  agree(static_cast<std::uint32_t>(tokens.size()));
  question_.progress();
  peer_.progress();
  return {};
}

//! What was fetched is whole: to the journal, and to the host.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::tell_text() noexcept {
  link_.seen.round = place_.round;
  link_.seen.position = place_.length;
  note_end();
  write_journal(peer_.fetch_start);
  const std::uint32_t shown = std::max(peer_.fetch_start, place_.prompt_length);
  session_output out = of_text(session_action::committed, shown, std::max(shown, place_.length));
  out.source = token_source::bonus;
  out.stop = place_.stop;
  statistics_.emitted += out.tokens.size();
  if (!out.tokens.empty()) outputs_.push(out);
}

[[gnu::cold]] SPECVERIFY_BODY status edge_session::take_text(std::span<const token_id> tokens,
                                                             session_time now) noexcept {
  const auto count = static_cast<std::uint32_t>(tokens.size());
  const bool fetches = state_ == edge_state::fetching_text, streams = options_.mode == session_mode::stream;
  // Of what answers a resume, a whole piece: there may be more. Without timers nobody would ask for what a stream has
  // written meanwhile, out of reach, or for its end.
  const bool unasked = options_.retry_timeout == 0;
  const bool may_be_more = fetches ? streams && unasked : !streams || unasked || count >= options_.text_chunk;
  const bool goes_on = question_.is_open() && may_be_more;
  link_is_back();
  if (!fetches) {
    discard_draft();
    peer_.fetch_start = place_.length;
    peer_.fetch_own = place_.length;
  }
  if (const status why = append_text(tokens); !why.ok()) return why;
  if (fetches) {
    if (place_.length < peer_.target_length) return ask(question::resume, now);
    const std::uint32_t target = peer_.target_length;
    if (hash_at(target) != peer_.target_hash) return fail({errc::prefix_mismatch, part::session, target});
    // a stream has gone on since it was aimed at
    place_.round = detail::next_round(peer_.round, place_.length - target);
  } else if (streams) {
    place_.round = detail::next_round(place_.round, count);
    statistics_.rounds += count;
  }
  tell_text();
  if (!goes_on || place_.is_over()) return in_step(now);
  state_.enter<edge_event::more_text>();
  return ask(question::resume, now);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
