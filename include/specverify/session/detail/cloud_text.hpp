// SPDX-License-Identifier: Apache-2.0
//! What the cloud does with text: takes what it lacks, sends what the edge lacks, writes a stream, and compares the
//! whole when the session ends.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_TEXT_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_TEXT_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>

#include <algorithm>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Text that the edge lacks, under the context of its question.
SPECVERIFY_BODY status cloud_session::send_text(const wire_context& asked, std::uint32_t from) noexcept {
  wire_context numbered = asked;
  numbered.transmission = next_number_;
  const std::uint32_t count = std::min(terms_.text_chunk, place_.length - from);
  const status why = post(encode_text(numbered, terms_.format, {from, text().subspan(from, count)}, message_));
  if (why.ok()) stream_on();
  return why;
}

SPECVERIFY_BODY status cloud_session::on_text(const detail::incoming& message) noexcept {
  const wire_context expected = awaited();
  if (state_ != cloud_state::filling || !detail::belongs_to(expected, message)) return on_repeated_text(message);
  heard_.note_new(message.flags);  // this piece has not come before
  const result<text_message> read = decode_text(expected, terms_.format, message.bytes, received_);
  if (!read) return fail(read.error());
  const text_message& value = *read;
  const auto count = static_cast<std::uint32_t>(value.tokens.size());
  const std::uint32_t length = place_.length, target = target_.length;
  if (value.position != length || count == 0 || count > target - length)
    return fail({errc::base_length_mismatch, part::session, value.position});
  if (length + count == target && prefix_hash(value.tokens, place_.hash) != target_.hash)
    return fail({errc::prefix_mismatch, part::session, target});
  state_.take(message_kind::text);
  contexts_.remember(expected);
  return take_text(value.tokens);
}

//! Whether a message belongs to one of the last rounds and to some part of the text: its context then. The header says
//! which, and rubbish that fits it by chance, or on purpose, is looked up a few times between two records.
[[gnu::cold]] SPECVERIFY_BODY bool cloud_session::finds_text(const detail::incoming& message,
                                                             wire_context& found) const noexcept {
  const std::uint32_t newest = std::max(place_.round, target_.round), back = (newest - message.round_low) & 0xFFu;
  if (back > newest || message.base_length_low >= place_.length) return false;
  if (unrecorded_ == detail::refusals_per_record) return false;
  const std::uint32_t round = newest - back;
  const std::uint32_t length = place_.length - ((place_.length - message.base_length_low) & 0xFFFFu);
  found = place_.context_at(round, length, hash_at(length));
  return detail::belongs_to(found, message);
}

//! Text that we took already, so that the answer was lost; or late, or damaged.
SPECVERIFY_BODY status cloud_session::on_repeated_text(const detail::incoming& message) noexcept {
  const wire_context* then = contexts_.find(message);
  wire_context earlier;  // a restarted cloud knows the text, and so the context of every piece
  if (then == nullptr && finds_text(message, earlier)) then = &earlier;
  if (then == nullptr) return on_damage(errc::checksum_mismatch, message.checksum);
  if (then->epoch != place_.epoch) return on_late(*then, message);
  if (const errc why = take_again(message.flags); why != errc::ok) return drop(why);
  if (round_is_open()) return drop(errc::unexpected_message);
  statistics_.repeated_answers += 1;
  return greet(message_kind::resume);
}

SPECVERIFY_BODY status cloud_session::take_text(std::span<const token_id> tokens) noexcept {
  const std::uint32_t from = place_.length;
  std::copy(tokens.begin(), tokens.end(), text_.begin() + from);
  agree(static_cast<std::uint32_t>(tokens.size()));
  if (place_.length == target_.length) {
    place_.round = std::max(place_.round, target_.round);  // rounds never go back
    settle();
  }
  wire_context mine = context();
  if (state_ == cloud_state::filling) mine.round = target_.round;
  const auto bytes = knows_end_alone() ? encode_end() : encode_resume({mine}, message_);
  if (!bytes) return fail(bytes.error());
  count_transmission();
  if (place_.length > place_.prompt_length) target_.handed_over = true;
  write_journal(from);
  const std::uint32_t prompt_end = std::clamp(place_.prompt_length, from, place_.length);
  emit_text(session_action::committed, from, prompt_end);
  emit_text(session_action::committed, prompt_end, place_.length,
            {.stop = place_.stop, .authority = token_authority::edge});  // nobody here verified it
  send(bytes->size());
  stream_on();
  return {};
}

//! The edge has its text, and says which. The answer is the same text, or where this side stands. A stream may have
//! gone on behind the edge's end. Whatever its number is, it is answered: else its edge would wait. But a late one may
//! be of a life that is forgotten, and ends no text that can go on. If the edge's host has ended the text, the session
//! ends here in any state, with any number.
SPECVERIFY_BODY status cloud_session::on_stop(const detail::incoming& message) noexcept {
  const wire_context asked = place_.end_context(next_number_);
  if (!detail::belongs_to(asked, message)) {
    const wire_context* then = contexts_.find_end(message);
    return then != nullptr ? on_late(*then, message) : on_damage(errc::checksum_mismatch, message.checksum);
  }
  const result<stop_message> read = decode_stop(asked, message.bytes);
  if (!read) return fail(read.error());
  const errc number = stopped_ ? take_again(message.flags) : heard_.classify(message.flags);
  if (stopped_ && number != errc::ok) return drop(number);
  const bool is_late = number != errc::ok;
  if (is_late) detail::count_fault(statistics_, number);
  if (!stopped_) heard_.note_new(message.flags);
  const bool cancels = read->cause == stop_cause::cancelled || read->cause == stop_cause::finished;
  if (round_is_open() && !cancels) return drop(errc::unexpected_message);
  contexts_.remember(asked);
  state_.take(message_kind::stop);
  const std::uint32_t length = read->length;
  const bool lacks_text = length > place_.length || state_ == cloud_state::filling;
  if (lacks_text && !cancels) return greet(message_kind::resume);
  if (length <= place_.length && read->prefix_hash != hash_at(length))
    return is_late ? drop(errc::prefix_mismatch) : fail({errc::prefix_mismatch, part::session, length});
  if (length < place_.length && !detail::streams(terms_) && !cancels) return greet(message_kind::resume);
  const bool ends = cancels || !is_late || place_.is_over() || stopped_;
  if (cancels) {  // gives up what is open: an engine at work on it is heard out, and its rows are not used
    drafts_.open(0, 0);
    owed_ = message_kind::stop;
    if (!place_.is_over()) place_.stop = stop_reason::cancelled;
  }
  if (ends) state_.enter<cloud_event::stop>();
  if (const status why = post(encode_stop(asked, *read, message_)); !why.ok()) return why;
  if (ends && !std::exchange(stopped_, true)) emit_end();
  return {};
}

//! For an edge that has the whole text and lists no stop tokens: the text ends here with one of this side's.
[[gnu::cold]] SPECVERIFY_BODY result<std::span<std::byte>> cloud_session::encode_end() noexcept {
  return encode_stop(place_.end_context(next_number_), {stop_cause::stop_token, place_.length, place_.hash}, message_);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
