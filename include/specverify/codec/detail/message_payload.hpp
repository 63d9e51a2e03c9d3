// SPDX-License-Identifier: Apache-2.0
//! text, request and supply: ids, positions, and what was asked of them. Used by codec/message.hpp, where they are
//! documented.
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
//! Laws, and hidden states where they were agreed on.
[[nodiscard]] constexpr bool may_ask(const wire_format& format, unsigned what) noexcept {
  return what == 0 || (what == 1 && format.attachments.hidden != hidden_format::none);
}
//! At least one of the positions, none beyond the draft.
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
//! The byte behind `what` and the bitmap, which stand at byte 8 and on.
[[nodiscard]] constexpr std::size_t bitmap_end(std::uint32_t draft_length) noexcept {
  return message_header_bytes + 1 + static_cast<std::size_t>(bits_to_bytes(draft_length));
}
//! Checks `what` and the bitmap, for which there are `room` words.
[[nodiscard]] inline status check_bitmap(const wire_format& format, std::span<const std::byte> message,
                                         std::uint32_t draft_length, std::size_t room) noexcept {
  if (message.size() < bitmap_end(draft_length)) return codec_error(errc::truncated, message.size());
  if (room < bitmap_words(draft_length)) return codec_error(errc::output_too_small, bitmap_words(draft_length));
  if (!may_ask(format, std::to_integer<unsigned>(message[8])))
    return codec_error(errc::field_out_of_range, request_message::at_what);
  const std::byte* const bitmap = message.data() + message_header_bytes + 1;
  const auto bytes = static_cast<std::size_t>(bits_to_bytes(draft_length));
  bool any = false;
  for (std::size_t i = 0; i < bytes; ++i) any = any || bitmap[i] != std::byte{0};
  if (!any) return codec_error(errc::field_out_of_range, request_message::at_positions);
  if (draft_length % 8 != 0 && std::to_integer<unsigned>(bitmap[bytes - 1]) >> (draft_length % 8) != 0)
    return codec_error(errc::field_out_of_range, draft_length);
  return {};
}
//! The payload of hidden states: a vector for each bit of the bitmap.
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
    words[i / 8] |= std::to_integer<std::uint64_t>(message[message_header_bytes + 1 + i]) << (8 * (i % 8));
}

}  // namespace detail

inline result<std::span<std::byte>> encode_text(const wire_context& context, const wire_format& format,
                                                const text_message& value, std::span<std::byte> out) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  const std::size_t count = value.tokens.size();
  if (count > detail::max_message_bytes) return detail::codec_error(errc::message_too_large, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (value.tokens[i] < 0 || static_cast<std::uint32_t>(value.tokens[i]) >= format.vocab_size)
      return detail::codec_error(errc::token_out_of_range, i);
  }
  const unsigned width = token_bits(format.vocab_size);
  const std::uint64_t bytes = detail::text_prefix_bytes + detail::bits_to_bytes(std::uint64_t{count} * width);
  if (const status why = detail::begin_message(context, bytes, format.pad_to, out); !why.ok()) return why;
  numeric::store_le(out.data() + 8, value.position, 4);
  numeric::store_le(out.data() + 12, count, 4);
  detail::bit_writer bits(out.data() + detail::text_prefix_bytes);
  for (const token_id token : value.tokens) bits.put(static_cast<std::uint32_t>(token), width);
  bits.finish();
  return detail::end_message(message_kind::text, context, bytes, format.pad_to, out);
}
inline result<text_message> decode_text(const wire_context& context, const wire_format& format,
                                        std::span<const std::byte> message, std::span<token_id> storage) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (const status why = detail::open_message(message_kind::text, context, message); !why.ok()) return why;
  if (message.size() < detail::text_prefix_bytes) return detail::codec_error(errc::truncated, message.size());
  const std::uint64_t count = numeric::load_le(message.data() + 12, 4);
  const unsigned width = token_bits(format.vocab_size);
  const std::uint64_t bytes = detail::text_prefix_bytes + detail::bits_to_bytes(count * width);
  if (const status why = detail::close_message(bytes, format.pad_to, message); !why.ok()) return why;
  if (count > storage.size()) return detail::codec_error(errc::output_too_small, count);
  // Twice: nothing is written before every id is known to be good.
  for (const bool write : {false, true}) {
    detail::bit_reader bits(message.data() + detail::text_prefix_bytes);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t token = bits.take(width);
      if (token >= format.vocab_size) return detail::codec_error(errc::token_out_of_range, i);
      if (write) storage[i] = static_cast<token_id>(token);
    }
    if (!bits.rest_is_zero()) return detail::codec_error(errc::padding_not_zero, bytes - 1);
  }
  return text_message{static_cast<std::uint32_t>(numeric::load_le(message.data() + 8, 4)),
                      storage.first(static_cast<std::size_t>(count))};
}

inline result<std::span<std::byte>> encode_request(const wire_context& context, const wire_format& format,
                                                   std::uint32_t draft_length, const request_message& value,
                                                   std::span<std::byte> out) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (draft_length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, draft_length);
  if (const status why = detail::check_positions(format, value.what, value.positions, draft_length); !why.ok())
    return why;
  const std::uint64_t bytes = message_header_bytes + 1 + detail::bits_to_bytes(draft_length);
  if (const status why = detail::begin_message(context, bytes, format.pad_to, out); !why.ok()) return why;
  numeric::store_le(out.data() + 8, value.what, 1);
  detail::store_bitmap(out.data() + 9, value.positions, draft_length);
  return detail::end_message(message_kind::request, context, bytes, format.pad_to, out);
}
inline result<request_message> decode_request(const wire_context& context, const wire_format& format,
                                              std::uint32_t draft_length, std::span<const std::byte> message,
                                              std::span<std::uint64_t> words) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (draft_length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, draft_length);
  if (const status why = detail::open_message(message_kind::request, context, message); !why.ok()) return why;
  if (const status why = detail::check_bitmap(format, message, draft_length, words.size()); !why.ok()) return why;
  const std::size_t at = detail::bitmap_end(draft_length);
  if (const status why = detail::close_message(at, format.pad_to, message); !why.ok()) return why;
  detail::copy_bitmap(message, draft_length, words);
  return request_message{std::to_integer<std::uint8_t>(message[8]), words.first(detail::bitmap_words(draft_length))};
}

inline result<std::span<std::byte>> encode_supply(const wire_context& context, const wire_format& format,
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
  const std::size_t head = message_header_bytes + 5 + static_cast<std::size_t>(detail::bits_to_bytes(draft_length));
  if (const status why = detail::begin_message(context, std::uint64_t{head} + value.payload.size(), format.pad_to, out);
      !why.ok())
    return why;
  numeric::store_le(out.data() + 8, value.what, 1);
  detail::store_bitmap(out.data() + 9, value.positions, draft_length);
  numeric::store_le(out.data() + head - 4, value.payload.size(), 4);
  for (std::size_t i = 0; i < value.payload.size(); ++i) out[head + i] = value.payload[i];
  return detail::end_message(message_kind::supply, context, std::uint64_t{head} + value.payload.size(), format.pad_to,
                             out);
}
inline result<supply_message> decode_supply(const wire_context& context, const wire_format& format,
                                            std::uint32_t draft_length, std::span<const std::byte> message,
                                            std::span<std::uint64_t> words) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (draft_length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, draft_length);
  if (const status why = detail::open_message(message_kind::supply, context, message); !why.ok()) return why;
  if (const status why = detail::check_bitmap(format, message, draft_length, words.size()); !why.ok()) return why;
  const std::size_t at = detail::bitmap_end(draft_length);
  if (message.size() < at + 4) return detail::codec_error(errc::truncated, message.size());
  const std::uint64_t length = numeric::load_le(message.data() + at, 4);
  if (const status why = detail::close_message(at + 4 + length, format.pad_to, message); !why.ok()) return why;
  const auto payload = message.subspan(at + 4, static_cast<std::size_t>(length));
  const auto bitmap =
      message.subspan(message_header_bytes + 1, static_cast<std::size_t>(detail::bits_to_bytes(draft_length)));
  const auto what = std::to_integer<std::uint8_t>(message[8]);
  if (const status why = detail::check_payload(format, what, bitmap, payload); !why.ok()) return why;
  detail::copy_bitmap(message, draft_length, words);
  return supply_message{what, words.first(detail::bitmap_words(draft_length)), payload};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
