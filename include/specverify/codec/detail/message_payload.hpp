// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes text, request and supply messages: ids, positions and the requested data. Used by
//! codec/message.hpp, which documents the functions.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_PAYLOAD_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_PAYLOAD_HPP

#include <specverify/codec/detail/message_attachments.hpp>
#include <specverify/codec/detail/message_control.hpp>
#include <specverify/core/numeric.hpp>

#include <bit>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] constexpr std::size_t bitmap_words(std::uint32_t draft_length) noexcept {
  return (std::size_t{draft_length} + 63) / 64;
}
//! Returns whether a request may ask for this kind of data: distributions, or hidden states if both sides agreed in the
//! hello on them.
[[nodiscard]] constexpr bool may_ask(const wire_format& format, unsigned what) noexcept {
  return what == 0 || (what == 1 && format.attachments.hidden != hidden_format::none);
}
//! Checks `what`, the size of the bitmap, and that the bitmap names at least one position, but none after the drafts.
[[nodiscard]] inline status check_positions(const wire_format& format, std::uint8_t what,
                                            std::span<const std::uint64_t> words, std::uint32_t draft_length) noexcept {
  if (!may_ask(format, what)) return codec_error(errc::field_out_of_range, request_message::at_what);
  if (words.size() != bitmap_words(draft_length)) return codec_error(errc::size_mismatch, words.size());
  std::uint64_t any = 0;
  for (const std::uint64_t word : words) any |= word;
  if (any == 0) return codec_error(errc::field_out_of_range, request_message::at_positions);
  if (draft_length % 64 != 0 && words.back() >> (draft_length % 64) != 0)
    return codec_error(errc::field_out_of_range, draft_length);
  return {};
}
inline void store_bitmap(std::byte* at, std::span<const std::uint64_t> words, std::uint32_t draft_length) noexcept {
  for (std::size_t i = 0; i < bits_to_bytes(draft_length); ++i)
    at[i] = static_cast<std::byte>((words[i / 8] >> (8 * (i % 8))) & 0xffu);
}
//! Returns the first byte after the bitmap, which begins at byte 1.
[[nodiscard]] constexpr std::size_t bitmap_end(std::uint32_t draft_length) noexcept {
  return 1 + static_cast<std::size_t>(bits_to_bytes(draft_length));
}
//! Returns `what`, which is stored next to the kind.
[[nodiscard]] inline unsigned what_of(std::span<const std::byte> message) noexcept {
  return std::to_integer<unsigned>(message[0]) >> kind_bits;
}
inline void store_what(std::span<std::byte> out, message_kind kind, std::uint8_t what) noexcept {
  numeric::store_le(out.data(), static_cast<unsigned>(kind) | unsigned{what} << kind_bits, 1);
}
//! Checks `what` and the bitmap; `room` is the number of words that the caller has.
[[nodiscard]] inline status check_bitmap(const wire_format& format, std::span<const std::byte> message,
                                         std::uint32_t draft_length, std::size_t room) noexcept {
  if (!has_bytes(bitmap_end(draft_length), format, message)) return codec_error(errc::truncated, message.size());
  if (room < bitmap_words(draft_length)) return codec_error(errc::output_too_small, bitmap_words(draft_length));
  if (!may_ask(format, what_of(message))) return codec_error(errc::field_out_of_range, request_message::at_what);
  const std::byte* const bitmap = message.data() + 1;
  const auto bytes = static_cast<std::size_t>(bits_to_bytes(draft_length));
  bool any = false;
  for (std::size_t i = 0; i < bytes; ++i) any = any || bitmap[i] != std::byte{0};
  if (!any) return codec_error(errc::field_out_of_range, request_message::at_positions);
  if (draft_length % 8 != 0 && std::to_integer<unsigned>(bitmap[bytes - 1]) >> (draft_length % 8) != 0)
    return codec_error(errc::field_out_of_range, draft_length);
  return {};
}
//! Checks a payload of hidden states, which must have one vector for each bit of the bitmap.
[[nodiscard]] inline status check_payload(const wire_format& format, unsigned what, std::span<const std::byte> bitmap,
                                          std::span<const std::byte> payload) noexcept {
  if (what != 1) return {};
  std::uint64_t asked = 0;
  for (const std::byte byte : bitmap) asked += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(byte)));
  return check_vectors(format.attachments, asked, payload);
}
inline void copy_bitmap(std::span<const std::byte> message, std::uint32_t draft_length,
                        std::span<std::uint64_t> words) noexcept {
  for (std::size_t word = 0; word < bitmap_words(draft_length); ++word) words[word] = 0;
  for (std::size_t i = 0; i < bits_to_bytes(draft_length); ++i)
    words[i / 8] |= std::to_integer<std::uint64_t>(message[1 + i]) << (8 * (i % 8));
}

}  // namespace detail

inline result<std::span<std::byte>> encode_text(const wire_place& place, const wire_format& format, std::uint32_t most,
                                                std::span<const token_id> tokens, std::span<std::byte> out) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  const std::size_t count = tokens.size();
  if (count > most) return detail::codec_error(errc::message_too_large, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (tokens[i] < 0 || static_cast<std::uint32_t>(tokens[i]) >= format.vocab_size)
      return detail::codec_error(errc::token_out_of_range, i);
  }
  const unsigned width = token_bits(format.vocab_size);
  const std::uint64_t bytes =
      detail::bits_to_bytes(detail::kind_bits + detail::count_width(most) + std::uint64_t{count} * width);
  if (const status why = detail::has_room(detail::steady_bytes(bytes, format), out); !why.ok()) return why;
  detail::bit_writer bits(message_kind::text, out);
  bits.put(count, detail::count_width(most));
  for (const token_id token : tokens) bits.put(static_cast<std::uint32_t>(token), width);
  bits.finish();
  return detail::seal(message_kind::text, place, format, bytes, out);
}
inline result<std::span<const token_id>> decode_text(const wire_place& place, const wire_format& format,
                                                     std::uint32_t most, std::span<const std::byte> message,
                                                     std::span<token_id> storage) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (const status why = detail::open_steady(message_kind::text, place, format, message); !why.ok()) return why;
  const unsigned width = token_bits(format.vocab_size), head = detail::kind_bits + detail::count_width(most);
  if (!detail::has_bytes(detail::bits_to_bytes(head), format, message))
    return detail::codec_error(errc::truncated, message.size());
  const std::uint64_t count = detail::bit_reader(message).take(detail::count_width(most));
  if (count > most) return detail::codec_error(errc::message_too_large, count);
  const std::uint64_t bytes = detail::bits_to_bytes(head + count * width);
  if (const status why = detail::close_steady(bytes, format, message); !why.ok()) return why;
  if (count > storage.size()) return detail::codec_error(errc::output_too_small, count);
  // Two passes, because nothing may be written before every id is checked.
  for (const bool write : {false, true}) {
    detail::bit_reader bits(message);
    static_cast<void>(bits.take(detail::count_width(most)));
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t token = bits.take(width);
      if (token >= format.vocab_size) return detail::codec_error(errc::token_out_of_range, i);
      if (write) storage[i] = static_cast<token_id>(token);
    }
    if (!bits.rest_is_zero()) return detail::codec_error(errc::padding_not_zero, bytes - 1);
  }
  return std::span<const token_id>(storage.first(static_cast<std::size_t>(count)));
}

inline result<std::span<std::byte>> encode_request(const wire_place& place, const wire_format& format,
                                                   std::uint32_t draft_length, const request_message& value,
                                                   std::span<std::byte> out) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (draft_length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, draft_length);
  if (const status why = detail::check_positions(format, value.what, value.positions, draft_length); !why.ok())
    return why;
  const std::size_t bytes = detail::bitmap_end(draft_length);
  if (const status why = detail::has_room(detail::steady_bytes(bytes, format), out); !why.ok()) return why;
  detail::store_what(out, message_kind::request, value.what);
  detail::store_bitmap(out.data() + 1, value.positions, draft_length);
  return detail::seal(message_kind::request, place, format, bytes, out);
}
inline result<request_message> decode_request(const wire_place& place, const wire_format& format,
                                              std::uint32_t draft_length, std::span<const std::byte> message,
                                              std::span<std::uint64_t> words) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (draft_length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, draft_length);
  if (const status why = detail::open_steady(message_kind::request, place, format, message); !why.ok()) return why;
  if (const status why = detail::check_bitmap(format, message, draft_length, words.size()); !why.ok()) return why;
  const std::size_t at = detail::bitmap_end(draft_length);
  if (const status why = detail::close_steady(at, format, message); !why.ok()) return why;
  detail::copy_bitmap(message, draft_length, words);
  return request_message{static_cast<std::uint8_t>(detail::what_of(message)),
                         words.first(detail::bitmap_words(draft_length))};
}

inline result<std::span<std::byte>> encode_supply(const wire_place& place, const wire_format& format,
                                                  std::uint32_t draft_length, const supply_message& value,
                                                  std::span<std::byte> out) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (draft_length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, draft_length);
  if (const status why = detail::check_positions(format, value.what, value.positions, draft_length); !why.ok())
    return why;
  if (value.payload.size() > detail::max_message_bytes)
    return detail::codec_error(errc::message_too_large, value.payload.size());
  if (value.what == 1) {
    std::uint64_t asked = 0;
    for (const std::uint64_t word : value.positions) asked += static_cast<unsigned>(std::popcount(word));
    if (const status why = detail::check_vectors(format.attachments, asked, value.payload); !why.ok()) return why;
  }
  const std::size_t head = detail::bitmap_end(draft_length) + 4;
  const std::uint64_t bytes = std::uint64_t{head} + value.payload.size();
  if (const status why = detail::has_room(detail::steady_bytes(bytes, format), out); !why.ok()) return why;
  detail::store_what(out, message_kind::supply, value.what);
  detail::store_bitmap(out.data() + 1, value.positions, draft_length);
  numeric::store_le(out.data() + head - 4, value.payload.size(), 4);
  for (std::size_t i = 0; i < value.payload.size(); ++i) out[head + i] = value.payload[i];
  return detail::seal(message_kind::supply, place, format, bytes, out);
}
inline result<supply_message> decode_supply(const wire_place& place, const wire_format& format,
                                            std::uint32_t draft_length, std::span<const std::byte> message,
                                            std::span<std::uint64_t> words) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (draft_length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, draft_length);
  if (const status why = detail::open_steady(message_kind::supply, place, format, message); !why.ok()) return why;
  if (const status why = detail::check_bitmap(format, message, draft_length, words.size()); !why.ok()) return why;
  const std::size_t at = detail::bitmap_end(draft_length);
  if (!detail::has_bytes(at + 4, format, message)) return detail::codec_error(errc::truncated, message.size());
  const std::uint64_t length = numeric::load_le(message.data() + at, 4);
  if (const status why = detail::close_steady(at + 4 + length, format, message); !why.ok()) return why;
  const auto payload = message.subspan(at + 4, static_cast<std::size_t>(length));
  const auto bitmap = message.subspan(1, static_cast<std::size_t>(detail::bits_to_bytes(draft_length)));
  const auto what = static_cast<std::uint8_t>(detail::what_of(message));
  if (const status why = detail::check_payload(format, what, bitmap, payload); !why.ok()) return why;
  detail::copy_bitmap(message, draft_length, words);
  return supply_message{what, words.first(detail::bitmap_words(draft_length)), payload};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
