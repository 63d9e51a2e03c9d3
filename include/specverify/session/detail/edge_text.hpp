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
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_text(std::span<const std::byte> message,
                                                           const message_header& header, session_time now) noexcept {
  const bool answers = question_.what == question::resume && detail::belongs_to(question_.context, message, header);
  const wire_context under = answers ? question_.context : context();
  const result<text_message> read = decode_text(under, format(), message, received_);
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

//! The text is complete. With `tell` the cloud compares it with its own first; else it has, and the journal says so.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::finish(bool tell, session_time now) noexcept {
  ahead_.deadline.reset();
  if (tell) {
    state_.enter<edge_event::complete>();
    return ask(question::stop, now);
  }
  state_.enter<edge_event::agree>();
  question_.close();
  write_journal(place_.length);
  emit_end();
  return {};
}

[[gnu::cold]] SPECVERIFY_BODY stop_cause edge_session::cause() const noexcept {
  if (place_.is_cancelled()) return question_.cause;
  return place_.stop == stop_reason::stop_token ? stop_cause::stop_token : stop_cause::budget;
}

//! The host ends the text: the journal has the end before the cloud is told. If the cloud has not heard of this epoch,
//! the answer to the open greeting comes before `stop`.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::stop(stop_cause cause, session_time now) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (cause != stop_cause::cancelled && cause != stop_cause::finished)
    return {errc::invalid_argument, part::session, static_cast<std::uint32_t>(cause)};
  if (state_ == edge_state::idle) return {errc::unexpected_message, part::session, 0};
  if (state_ == edge_state::finished || state_ == edge_state::failed) return {errc::session_closed, part::session, 0};
  journal_.clear();
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
    return ask(question::resume, now);
  }
  const bool is_greeting = question_.what == question::hello || question_.what == question::resume;
  return is_greeting && state_ != edge_state::fetching_text ? status{} : finish(true, now);
}

//! The cloud has compared the text with its own. In answer to another question: the text ends here with a stop token
//! that only the cloud lists.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_stop(std::span<const std::byte> message,
                                                           session_time now) noexcept {
  const result<stop_message> read = decode_stop(place_.end_context(), message);
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
  return finish(true, now);
}

//! The last token of a stream, with the reason that the edge cannot know. A stream has no other verdicts.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_last(std::span<const std::byte> message,
                                                           session_time now) noexcept {
  if (place_.is_over()) return finish(true, now);
  if (state_ != edge_state::streaming && state_ != edge_state::resuming) return drop(errc::unexpected_message);
  if (place_.epoch == 0 || !place_.has_prompt() || place_.pending() > 0) return drop(errc::unexpected_message);
  question_.context = context();
  if (const status why = take_verdict(message); !why.ok()) return why;
  if (static_cast<stop_reason>(verdict_.stop) != stop_reason::stop_token)
    return fail({errc::field_out_of_range, part::session, feedback_message::at_stop});
  return commit(now);
}

//! One that ends the session counts where it names the present epoch, or is the host's own, which knows no epochs; the
//! others name the open question.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_refusal(std::span<const std::byte> message,
                                                              const message_header& header, session_time now) noexcept {
  wire_context session{};
  session.session_id = options_.session_id;
  const wire_context contexts[] = {own_end(), session, {}};  // of this life, of the session, of nobody
  const wire_context* const named = std::find_if(std::begin(contexts), std::end(contexts), [&](const wire_context& of) {
    return detail::belongs_to(of, message, header);
  });
  if (named == std::end(contexts))
    return contexts_.find_end(message, header) != nullptr ? drop(errc::stale_epoch)
                                                          : on_damage(errc::checksum_mismatch, now);
  const result<refuse_message> refusal = decode_refuse(*named, message);
  if (!refusal) return on_damage(errc::checksum_mismatch, now);
  const status& reason = refusal->reason;
  if (state_ == edge_state::finished) return drop(errc::session_closed);
  const bool is_host = named == contexts + 1 && reason.reporter == part::host;
  if (detail::ends_session(reason.code) && named != std::begin(contexts) && !is_host) return drop(errc::stale_epoch);
  state_.take(message_kind::refuse);
  if (reason.code == errc::unknown_session) return on_unknown(reason, now);
  if (!detail::ends_session(reason.code)) {
    const bool open = question_.is_open() && reason.where == question_.checksum;
    if (open) heard_.pass(header.flags);
    if (!open || !question_.may_hurry(options_.retry_timeout, options_.retry_limit))
      return drop(errc::unexpected_message);
    return hurry(now);
  }
  if (place_.is_cancelled()) return finish(false);  // the session is over there, which is what the host wanted
  refusal_ = reason;
  if (reason.code == errc::unverified_text) return fail({reason.code, part::session, reason.where});
  return fail({errc::refused_by_peer, part::session, static_cast<std::uint32_t>(reason.code)});
}

//! The cloud does not know the session, or has not all of its text and this side forgot the rest.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_unknown(status reason, session_time now) noexcept {
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
  return ask(question::hello, now);
}

//! A cloud that goes on with a session that has failed here is told why. Refusals are never answered.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::after_failure(std::span<const std::byte> message,
                                                                 const message_header& header) noexcept {
  const result<std::uint64_t> greeted = session_of(message);
  const bool ours = (greeted && *greeted == options_.session_id) || detail::belongs_to(context(), message, header) ||
                    contexts_.find(message, header) != nullptr;
  if (ours && header.kind != message_kind::refuse) tell_failure();
  return drop(errc::session_closed);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
