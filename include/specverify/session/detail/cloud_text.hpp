// SPDX-License-Identifier: Apache-2.0
//! Implements the member functions of a cloud that send and receive text that one side does not have, and that end the
//! session after both sides have compared the whole text.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_TEXT_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_TEXT_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>

#include <algorithm>
#include <utility>

SPECVERIFY_NAMESPACE_BEGIN

//! Sends the next chunk of text that the edge does not have. After the last chunk both sides have the same text. If a
//! stream ended with a stop token that only this side lists, reports the end to the edge.
[[gnu::cold]] SPECVERIFY_BODY void cloud_session::push_text() noexcept {
  const bool ends = pieces_.at == pieces_.end;
  const status why = ends ? tell_end() : post(encode_piece(terms_.format, terms_.text_chunk));
  if (!why.ok() || pieces_.at != pieces_.end) return;
  pieces_.close();
  if (!ends) in_step();
}

SPECVERIFY_BODY status cloud_session::tell_end() noexcept {
  return post(encode_stop({stop_cause::stop_token, place_.length, place_.hash}, message_));
}

//! Takes text that this side does not have. Each chunk is journaled together with the target length before the next
//! chunk is taken.
SPECVERIFY_BODY status cloud_session::on_text(std::span<const std::byte> message) noexcept {
  const auto read = decode_text(place_.wire(), terms_.format, terms_.text_chunk, message, received_);
  if (!read) return on_unusable(read.error());
  state_.take(message_kind::text);
  const std::span<const token_id> tokens = *read;
  const auto count = static_cast<std::uint32_t>(tokens.size());
  const std::uint32_t from = place_.length, target = target_.length;
  if (count == 0 || count > target - from) return fail({errc::base_length_mismatch, part::session, from + count});
  if (from + count == target && prefix_hash(tokens, place_.hash) != target_.hash)
    return fail({errc::prefix_mismatch, part::session, target});
  std::copy(tokens.begin(), tokens.end(), text_.begin() + from);
  agree(count);
  if (place_.length > place_.prompt_length) target_.handed_over = true;
  if (is_whole()) note_end(text_limit());
  write_journal(from);
  const std::uint32_t prompt_end = std::clamp(place_.prompt_length, from, place_.length);
  emit_text(session_action::committed, from, prompt_end);
  emit_text(session_action::committed, prompt_end, place_.length,
            {.stop = place_.stop, .authority = token_authority::edge});  // this cloud has not verified the tokens
  if (!is_whole()) return {};
  in_step();
  return knows_end_alone() ? tell_end() : status{};
}

//! Handles the edge's `stop`, which contains the length and hash of the edge's whole text. The response repeats both.
//! After a stream, this side may have more text. If the edge's host ended the text, the session ends in any state, and
//! rows that arrive later are dropped.
SPECVERIFY_BODY status cloud_session::on_stop(std::span<const std::byte> message) noexcept {
  const result<stop_message> read = decode_stop(message);
  if (!read) return fail(read.error());
  state_.take(message_kind::stop);
  const std::uint32_t length = read->length, mine = place_.length;
  const bool cancels = read->cause == stop_cause::cancelled || read->cause == stop_cause::finished;
  const bool is_complete = length == mine || (length < mine && detail::streams(terms_));
  const bool can_end = is_whole() && !round_is_open();
  if (!cancels && (!is_complete || !can_end)) return fail({errc::base_length_mismatch, part::session, length});
  if (length <= mine && read->prefix_hash != hash_at(length))
    return fail({errc::prefix_mismatch, part::session, length});
  pieces_.close();
  drafts_.open(0, 0);
  if (cancels && !place_.is_over()) {
    place_.stop = stop_reason::cancelled;
    write_journal(mine);
  }
  state_.enter<cloud_event::agree>();
  if (const status why = post(encode_stop(*read, message_)); !why.ok()) return why;
  if (!std::exchange(stopped_, true)) emit_end();
  return {};
}

SPECVERIFY_NAMESPACE_END

#endif
