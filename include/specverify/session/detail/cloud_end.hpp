// SPDX-License-Identifier: Apache-2.0
//! How a session ends at the cloud: what it says to an edge that has its text, and to one that cannot know the end.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_END_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_END_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>

#include <utility>

SPECVERIFY_NAMESPACE_BEGIN

//! The edge has its text, and says which. The answer is the same text, or where this side stands. A stream may have
//! gone on behind the edge's end. Whatever its number is, it is answered: else its edge would wait. But a late one may
//! be of a life that is forgotten, and ends no text that can go on. If the edge's host has ended the text, the session
//! ends here in any state, with any number.
SPECVERIFY_BODY status cloud_session::on_stop(std::span<const std::byte> message,
                                              const message_header& header) noexcept {
  const wire_context asked = place_.end_context(next_number_);
  if (!detail::belongs_to(asked, message, header)) {
    const wire_context* then = contexts_.find_end(message, header);
    return then != nullptr ? on_late(*then, header) : on_damage(errc::checksum_mismatch, header.checksum);
  }
  const result<stop_message> read = decode_stop(asked, message);
  if (!read) return fail(read.error());
  const errc number = stopped_ ? take_again(header.flags) : heard_.classify(header.flags);
  if (stopped_ && number != errc::ok) return drop(number);
  const bool is_late = number != errc::ok;
  if (is_late) detail::count_fault(statistics_, number);
  if (!stopped_) heard_.note_new(header.flags);
  const bool cancels = read->cause == stop_cause::cancelled || read->cause == stop_cause::finished;
  if (round_is_open() && !cancels) return drop(errc::unexpected_message);
  contexts_.remember(asked);
  state_.take(message_kind::stop);
  const std::uint32_t length = read->length;
  const bool lacks_text = length > place_.length || state_ == cloud_state::filling;
  if (lacks_text && !cancels) return greet(message_kind::resume);
  if (length <= place_.length && read->prefix_hash != hash_at(length))
    return is_late ? drop(errc::prefix_mismatch) : fail({errc::prefix_mismatch, part::session, length});
  if (length < place_.length && !terms_.streams() && !cancels) return greet(message_kind::resume);
  const bool ends = cancels || !is_late || place_.is_over() || stopped_;
  if (cancels) cancel();
  if (ends) state_.enter<cloud_event::stop>();
  const auto bytes = encode_stop(asked, *read, message_);
  if (!bytes) return fail(bytes.error());
  post(bytes->size(), place_.length);
  if (ends && !std::exchange(stopped_, true)) emit_end();
  return {};
}

//! Gives up what is open. An engine at work on it is heard out, and its rows are not used.
[[gnu::cold]] SPECVERIFY_BODY void cloud_session::cancel() noexcept {
  drafts_.open(0, 0);
  owed_ = message_kind::stop;
  if (!place_.is_over()) place_.stop = stop_reason::cancelled;
}

[[gnu::cold]] SPECVERIFY_BODY result<std::span<std::byte>> cloud_session::encode_end() noexcept {
  return encode_stop(place_.end_context(next_number_), {stop_cause::stop_token, place_.length, place_.hash}, message_);
}

//! Answers an edge that has the whole text and lists no stop tokens: the text ends here with one of this side's.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::tell_end() noexcept {
  const auto bytes = encode_end();
  if (!bytes) return fail(bytes.error());
  post(bytes->size(), place_.length);
  return {};
}

SPECVERIFY_NAMESPACE_END

#endif
