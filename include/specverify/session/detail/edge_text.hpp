// SPDX-License-Identifier: Apache-2.0
//! Implements the member functions of an edge for text that one side does not have, for streaming, and for the end of a
//! session.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_TEXT_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_TEXT_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/edge_session.hpp>

#include <algorithm>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Sends the next chunk of text that the cloud does not have. After the last chunk both sides have the same text.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::push_text() noexcept {
  if (pieces_.at == pieces_.end) {
    pieces_.close();
    static_cast<void>(in_step());
    return;
  }
  const auto piece = encode_piece(format(), options_.text_chunk);
  if (!piece) return static_cast<void>(fail(piece.error()));
  send(piece->size());
  if (pieces_.at != pieces_.end || !is_stream() || place_.is_over()) return;
  // A streaming cloud sends text immediately after the last chunk, so this side must already be in step. Without
  // streaming, only `stop` can arrive before this side sends a draft.
  pieces_.close();
  static_cast<void>(in_step());
}

//! Prepares to receive text. The text overwrites the drafts and the tokens shown after them, so these tokens are kept
//! elsewhere until the text is complete. An incomplete draft was never sent, so the text contains no verdict on it.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::begin_fetch(const hello_message& theirs) noexcept {
  if (drafts_.open) discard_draft();
  fetched_ = {theirs.length, theirs.round, theirs.prefix_hash, last_verdict(theirs), place_.agreed, place_.hash};
  for (std::uint32_t at = block_end(); at < ahead_.shown_end; ++at) shown_ahead_[at - block_end()] = text_[at];
  state_.enter<edge_event::fetch_text, edge_state::handshaking>();
  await_answer();
}

//! Restores the tokens that the incoming text overwrites.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::drop_fetch() noexcept {
  drafts_.copy_to(text_.data() + place_.length);
  for (std::uint32_t at = block_end(); at < ahead_.shown_end; ++at) text_[at] = shown_ahead_[at - block_end()];
}

[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_text(std::span<const std::byte> message) noexcept {
  if (state_ == edge_state::streaming) return on_stream(message);
  const auto read = decode_text({fetched_.so_far, fetched_.round}, format(), options_.text_chunk, message, received_);
  if (!read) return on_unusable(read.error());
  state_.take(message_kind::text);
  const auto count = static_cast<std::uint32_t>(read->size());
  if (count == 0 || count > fetched_.length - fetched_.at)
    return fail({errc::base_length_mismatch, part::session, fetched_.at + count});
  for (const token_id token : *read) {
    const std::uint32_t at = fetched_.at++;
    // the cloud's text must contain the skipped tokens; otherwise the texts differ
    if (at < place_.length && text_[at] != token) return fail({errc::prefix_mismatch, part::session, at});
    text_[at] = token;
    fetched_.so_far = extend_prefix_hash(fetched_.so_far, token);
  }
  if (fetched_.at < fetched_.length) {
    await_answer();
    return {};
  }
  deadline_.reset();
  return take_fetched();
}

//! Returns whether the fetched text contains the verdict on the open draft.
[[gnu::cold]] SPECVERIFY_BODY bool edge_session::is_verdict() const noexcept {
  const verdict_notice& last = fetched_.last;
  if (!drafts_.complete || last.round == 0 || last.round != place_.round || last.accepted > drafts_.size) return false;
  if (last.digest != drafts_.digest() || last.source >= feedback_source_count || last.stop >= feedback_stop_count)
    return false;
  const std::uint32_t added = last.source != 0 ? 1u : 0u;
  if (last.accepted + added == 0 || fetched_.length != place_.length + last.accepted + added) return false;
  for (std::uint32_t i = 0; i < last.accepted; ++i) {
    if (text_[place_.length + i] != drafts_.token(i)) return false;
  }
  return true;
}

//! Called when the fetched text is complete. If the text contains the verdict on the open draft, commits this verdict.
//! Otherwise journals the text and reports it to the host.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::take_fetched() noexcept {
  if (fetched_.so_far != fetched_.hash) return fail({errc::prefix_mismatch, part::session, fetched_.length});
  const std::uint32_t shown = place_.length, agreed = place_.agreed, end = fetched_.length;
  if (end >= shown && is_verdict()) {
    const verdict_notice& last = fetched_.last;
    verdict_ = {last.accepted, last.source != 0 ? text_[end - 1] : no_token, last.source, last.stop};
    drop_fetch();
    if (open_round_.draft_bytes == 0) {  // sent before a restart, probably with this code of ids
      const auto body = code_ids(kept_.head.body);
      if (!body) return fail(body.error());
      open_round_.draft_bytes = detail::steady_bytes(*body, format());
    }
    learn();
    return commit(fetched_.round);
  }
  discard_draft();
  place_.round = fetched_.round;
  if (end < shown) {  // the cloud has only some of the skipped tokens
    place_.stand_at(shown, end, steps_.extend(text().first(end), agreed, place_.hash));
    write_journal(shown);
    return in_step();
  }
  agree(end - shown);
  tell_text(shown, agreed, fetched_.last.stop == static_cast<std::uint8_t>(stop_reason::stop_token));
  return in_step();
}

//! Journals the cloud's text starting at `journaled`, and reports it to the host starting at `shown`. `ends` is true if
//! the cloud has reported that a stop token ends the text.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::tell_text(std::uint32_t shown, std::uint32_t journaled,
                                                           bool ends) noexcept {
  in_vain_ = 0;
  link_.seen.round = place_.round;
  link_.seen.position = place_.length;
  note_end(text_limit());
  if (ends) place_.stop = stop_reason::stop_token;
  write_journal(journaled);
  const std::uint32_t from = std::max(shown, place_.prompt_length);
  const std::uint32_t end = std::max(from, place_.length);
  statistics_.emitted += end - from;
  if (is_stream()) statistics_.rounds += end - from;  // one round per token
  emit_text(session_action::committed, from, end, {.source = token_source::bonus, .stop = place_.stop});
}

[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_stream(std::span<const std::byte> message) noexcept {
  const auto read = decode_text(place_.wire(), format(), options_.text_chunk, message, received_);
  if (!read) return on_unusable(read.error());
  state_.take(message_kind::text);
  const auto count = static_cast<std::uint32_t>(read->size());
  const std::uint32_t from = place_.length;
  if (count == 0 || count > text_limit() - from) return fail({errc::base_length_mismatch, part::session, from + count});
  std::copy(read->begin(), read->end(), text_.begin() + from);
  agree(count);
  place_.round = detail::next_round(place_.round, count);
  tell_text(from, from, false);
  if (place_.is_over()) return finish();
  await_answer();
  return {};
}

//! Called when the text is complete. Sends `stop`, so that the cloud can compare both texts.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::finish() noexcept {
  pieces_.close();
  ahead_.deadline.reset();
  state_.enter<edge_event::complete>();
  const stop_cause own = place_.stop == stop_reason::stop_token ? stop_cause::stop_token : stop_cause::budget;
  return post(encode_stop({place_.is_cancelled() ? cause_ : own, place_.agreed, place_.hash}, message_));
}

//! Called when the text ends with a stop token that only the cloud lists.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::end() noexcept {
  discard_draft();
  place_.stop = stop_reason::stop_token;
  write_journal(place_.length);
  return finish();
}

//! Ends the text at the host's request. First journals the end. The edge reports the end to the cloud immediately if
//! the handshake is done, otherwise after the next handshake.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::stop(stop_cause cause, session_time now) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (cause != stop_cause::cancelled && cause != stop_cause::finished)
    return {errc::invalid_argument, part::session, static_cast<std::uint32_t>(cause)};
  if (state_ == edge_state::idle) return {errc::unexpected_message, part::session, 0};
  if (state_ == edge_state::finished || state_ == edge_state::failed) return {errc::session_closed, part::session, 0};
  begin_input(now);
  if (place_.is_over()) return {};
  const bool tells = is_connected() && state_ != edge_state::handshaking;
  if (tells) leave_connection();
  discard_draft();
  ahead_.stop();
  row_wanted_ = row_stale_ = false;
  cause_ = cause;
  place_.stop = stop_reason::cancelled;
  write_journal(place_.length);
  return tells ? finish() : status{};
}

//! Handles a stop message: the response to this side's `stop`, or the report that the text ended with a stop token that
//! only the cloud lists.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_stop(std::span<const std::byte> message) noexcept {
  const result<stop_message> read = decode_stop(message);
  if (!read) return fail(read.error());
  state_.take(message_kind::stop);
  const bool same = read->length == place_.agreed && read->prefix_hash == place_.hash;
  const bool answers = state_ == edge_state::stopping;
  // the cloud sent the message before it received this side's stop
  if (answers && place_.is_cancelled() && read->cause == stop_cause::stop_token) return drop(errc::unexpected_message);
  if (!same) return fail({errc::prefix_mismatch, part::session, read->length});
  if (!answers) {
    if (read->cause != stop_cause::stop_token || place_.pending() > 0)
      return fail({errc::unexpected_message, part::session, static_cast<std::uint32_t>(message_kind::stop)});
    return end();
  }
  deadline_.reset();
  state_.enter<edge_event::agree, edge_state::stopping>();
  write_journal(place_.length);
  emit_end();
  return {};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
