// SPDX-License-Identifier: Apache-2.0
//! The cloud's text: what the edge lacks, the stream, and what the cloud takes from an edge that has more.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_TEXT_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_TEXT_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>

#include <algorithm>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Text that the edge lacks, under the context of its question.
SPECVERIFY_BODY status cloud_session::send_text(const wire_context& asked, std::uint32_t from) noexcept {
  wire_context numbered = asked;
  numbered.transmission = next_number_;
  const std::uint32_t count = std::min(terms_.text_chunk(), place_.length - from);
  const auto bytes = encode_text(numbered, terms_.format(), {from, text().subspan(from, count)}, message_);
  if (!bytes) return fail(bytes.error());
  post(bytes->size(), place_.length);
  stream_on();
  return {};
}

//! The next token of a stream.
SPECVERIFY_BODY void cloud_session::stream_on() noexcept {
  if (state_ != cloud_state::streaming || rows_wanted_) return;
  drafts_.open(0, 0);
  want_rows();
}

SPECVERIFY_BODY status cloud_session::on_text(std::span<const std::byte> message,
                                              const message_header& header) noexcept {
  const wire_context expected = awaited();
  if (state_ != cloud_state::filling || !detail::belongs_to(expected, message, header))
    return on_repeated_text(message, header);
  heard_.note_new(header.flags);  // this piece has not come before
  const result<text_message> read = decode_text(expected, terms_.format(), message, received_);
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
[[gnu::cold]] SPECVERIFY_BODY bool cloud_session::finds_text(std::span<const std::byte> message,
                                                             const message_header& header,
                                                             wire_context& found) const noexcept {
  const std::uint32_t newest = std::max(place_.round, target_.round), back = (newest - header.round_low) & 0xFFu;
  if (back > newest || header.base_length_low >= place_.length) return false;
  if (unrecorded_ == detail::refusals_per_record) return false;
  const std::uint32_t round = newest - back;
  const std::uint32_t length = place_.length - ((place_.length - header.base_length_low) & 0xFFFFu);
  found = place_.context_at(round, length, hash_at(length));
  return detail::belongs_to(found, message, header);
}

//! Text that we took already, so that the answer was lost; or late, or damaged.
SPECVERIFY_BODY status cloud_session::on_repeated_text(std::span<const std::byte> message,
                                                       const message_header& header) noexcept {
  const wire_context* then = contexts_.find(message, header);
  wire_context earlier;  // a restarted cloud knows the text, and so the context of every piece
  if (then == nullptr && finds_text(message, header, earlier)) then = &earlier;
  if (then == nullptr) return on_damage(errc::checksum_mismatch, header.checksum);
  if (then->epoch != place_.epoch) return on_late(*then, header);
  if (const errc why = take_again(header.flags); why != errc::ok) return drop(why);
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
  session_output out = of_text(session_action::committed, from, prompt_end);
  if (!out.tokens.empty()) outputs_.push(out);
  out = of_text(session_action::committed, prompt_end, place_.length);
  out.authority = token_authority::edge;  // nobody here verified it
  out.stop = place_.stop;
  if (!out.tokens.empty()) outputs_.push(out);
  send(bytes->size());
  stream_on();
  return {};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
