// SPDX-License-Identifier: Apache-2.0
//! What the edge does with text of the cloud (what it lacks after a restart, a stream, other drafts' text), and how a
//! session ends here: by its own list of stop tokens or its budget, because the cloud says so, or by a refusal.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_TEXT_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_TEXT_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/edge_session.hpp>

#include <algorithm>
#include <iterator>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Text that the edge lacks (after a restart without a journal), or the stream.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_text(const detail::incoming& message) noexcept {
  const bool answers = question_.what == question::resume && detail::belongs_to(question_.context, message);
  const wire_context under = answers ? question_.context : context();
  const result<text_message> read = decode_text(under, format(), message.bytes, received_);
  if (!read) return fail(read.error());
  const text_message& value = *read;
  if (place_.is_over()) return finish(true);  // of a stream that went on behind the end
  const std::uint32_t length = place_.length, count = static_cast<std::uint32_t>(value.tokens.size());
  const bool fetches = state_ == edge_state::fetching_text;
  if (place_.epoch == 0 || (!fetches && !place_.has_prompt())) return drop(errc::unexpected_message);
  if (value.position != length || count == 0 || place_.pending() > 0) return drop(errc::base_length_mismatch);
  if (count > text_limit() - length) return fail({errc::base_length_mismatch, part::session, length + count});
  state_.take(message_kind::text);
  return take_text(value.tokens);
}

//! Text in place of a verdict: the cloud decided the round on other drafts, of an earlier life. Its text counts.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_other_drafts() noexcept {
  state_.take(message_kind::text);
  link_is_back();
  discard_draft();
  state_.enter<edge_event::other_draft, edge_state::waiting>();
  return ask(question::resume);
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
  note_end(text_limit());
  write_journal(peer_.fetch_start);
  const std::uint32_t shown = std::max(peer_.fetch_start, place_.prompt_length);
  const std::uint32_t end = std::max(shown, place_.length);
  statistics_.emitted += end - shown;
  emit_text(session_action::committed, shown, end, {.source = token_source::bonus, .stop = place_.stop});
}

[[gnu::cold]] SPECVERIFY_BODY status edge_session::take_text(std::span<const token_id> tokens) noexcept {
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
    if (place_.length < peer_.target_length) return ask(question::resume);
    const std::uint32_t target = peer_.target_length;
    if (hash_at(target) != peer_.target_hash) return fail({errc::prefix_mismatch, part::session, target});
    // a stream has gone on since it was aimed at
    place_.round = detail::next_round(peer_.round, place_.length - target);
  } else if (streams) {
    place_.round = detail::next_round(place_.round, count);
    statistics_.rounds += count;
  }
  tell_text();
  if (!goes_on || place_.is_over()) return in_step();
  state_.enter<edge_event::more_text>();
  return ask(question::resume);
}

//! The text is complete. With `tell` the cloud compares it with its own first; else it has, and the journal says so.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::finish(bool tell) noexcept {
  ahead_.deadline.reset();
  if (tell) {
    state_.enter<edge_event::complete>();
    return ask(question::stop);
  }
  state_.enter<edge_event::agree>();
  question_.close();
  write_journal(place_.length);
  emit_end();
  return {};
}

//! The host ends the text: the journal has the end before the cloud is told. If the cloud has not heard of this epoch,
//! the answer to the open greeting comes before `stop`.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::stop(stop_cause cause, session_time now) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (cause != stop_cause::cancelled && cause != stop_cause::finished)
    return {errc::invalid_argument, part::session, static_cast<std::uint32_t>(cause)};
  if (state_ == edge_state::idle) return {errc::unexpected_message, part::session, 0};
  if (state_ == edge_state::finished || state_ == edge_state::failed) return {errc::session_closed, part::session, 0};
  begin_input(now);
  if (place_.is_over()) return {};
  forget_fetch();
  discard_draft();
  ahead_.stop();
  row_wanted_ = false;
  question_.cause = cause;
  place_.stop = stop_reason::cancelled;
  write_journal(place_.length);
  if (link_.names_again) {
    link_.names_again = false;
    begin_anew();
    return ask(question::resume);
  }
  const bool is_greeting = question_.what == question::hello || question_.what == question::resume;
  return is_greeting && state_ != edge_state::fetching_text ? status{} : finish(true);
}

//! The cloud has compared the text with its own. In answer to another question: the text ends here with a stop token
//! that only the cloud lists.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_stop(const detail::incoming& message) noexcept {
  const result<stop_message> read = decode_stop(place_.end_context(), message.bytes);
  if (!read) return fail(read.error());
  const bool same = read->length == place_.agreed && read->prefix_hash == place_.hash;
  if (question_.what == question::stop) {
    if (!same) return fail({errc::prefix_mismatch, part::session, read->length});
    state_.take(message_kind::stop);
    link_is_back();
    return finish(false);
  }
  if (!same || !place_.has_prompt() || state_ == edge_state::fetching_text || read->cause != stop_cause::stop_token)
    return drop(errc::unexpected_message);
  state_.take(message_kind::stop);
  link_is_back();
  discard_draft();
  if (!place_.is_over()) place_.stop = stop_reason::stop_token;
  return finish(true);
}

//! The last token of a stream, with the reason that the edge cannot know. A stream has no other verdicts.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_last(const detail::incoming& message) noexcept {
  if (place_.is_over()) return finish(true);
  if (state_ != edge_state::streaming && state_ != edge_state::resuming) return drop(errc::unexpected_message);
  if (place_.epoch == 0 || !place_.has_prompt() || place_.pending() > 0) return drop(errc::unexpected_message);
  question_.context = context();
  if (const status why = take_verdict(message); !why.ok()) return why;
  if (static_cast<stop_reason>(verdict_.stop) != stop_reason::stop_token)
    return fail({errc::field_out_of_range, part::session, feedback_message::at_stop});
  return commit();
}

//! One that ends the session counts where it names the present epoch, or is the host's own, which knows no epochs; the
//! others name the open question.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_refusal(const detail::incoming& message) noexcept {
  wire_context session{};
  session.session_id = options_.session_id;
  const wire_context contexts[] = {own_end(), session, {}};  // of this life, of the session, of nobody
  const wire_context* const named = std::find_if(std::begin(contexts), std::end(contexts), [&](const wire_context& of) {
    return detail::belongs_to(of, message);
  });
  if (named == std::end(contexts))
    return contexts_.find_end(message) != nullptr ? drop(errc::stale_epoch) : on_damage(errc::checksum_mismatch);
  const result<refuse_message> refusal = decode_refuse(*named, message.bytes);
  if (!refusal) return on_damage(errc::checksum_mismatch);
  const status& reason = refusal->reason;
  if (state_ == edge_state::finished) return drop(errc::session_closed);
  const bool is_host = named == contexts + 1 && reason.reporter == part::host;
  if (detail::ends_session(reason.code) && named != std::begin(contexts) && !is_host) return drop(errc::stale_epoch);
  state_.take(message_kind::refuse);
  if (reason.code == errc::unknown_session) return on_unknown(reason);
  if (!detail::ends_session(reason.code)) {
    const bool open = question_.is_open() && reason.where == question_.checksum;
    if (open) heard_.pass(message.flags);
    if (!open || !question_.may_hurry(options_.retry_timeout, options_.retry_limit))
      return drop(errc::unexpected_message);
    return hurry();
  }
  if (place_.is_cancelled()) return finish(false);  // the session is over there, which is what the host wanted
  refusal_ = reason;
  if (reason.code == errc::unverified_text) return fail({reason.code, part::session, reason.where});
  return fail({errc::refused_by_peer, part::session, static_cast<std::uint32_t>(reason.code)});
}

//! The cloud does not know the session, or has not all of its text and this side forgot the rest.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_unknown(status reason) noexcept {
  if (!question_.is_open() || reason.where != question_.checksum) return drop(errc::unknown_session);
  if (place_.is_over()) return finish(false);  // nobody has another text
  heard_ = {};
  forget_fetch();
  peer_.greetings += 1;
  if (place_.length == 0 || peer_.greetings > 64) {
    refusal_ = reason;
    return fail({errc::unknown_session, part::session, 0});
  }
  state_.enter<edge_event::unknown>();
  return ask(question::hello);
}

//! A cloud that goes on with a session that has failed here is told why. Refusals are never answered.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::after_failure(const detail::incoming& message) noexcept {
  const result<std::uint64_t> greeted = session_of(message.bytes);
  const bool ours = (greeted && *greeted == options_.session_id) || detail::belongs_to(context(), message) ||
                    contexts_.find(message) != nullptr;
  if (ours && message.kind != message_kind::refuse) tell_failure();
  return drop(errc::session_closed);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
