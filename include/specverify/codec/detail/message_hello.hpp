// SPDX-License-Identifier: Apache-2.0
//! hello, and the epochs that it shares with resume. Used by codec/message.hpp, where it is documented.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_HELLO_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_HELLO_HPP

#include <specverify/codec/detail/message_fields.hpp>

#include <bit>
#include <optional>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::size_t hello_bytes = 139;  // without fields
inline constexpr std::size_t longest_hello = hello_bytes + stop_tokens_field_bytes;
inline constexpr std::size_t field_head = 3;  // type u8, length u16

inline constexpr std::uint64_t bits_of_one = std::uint64_t{0x3ff} << 52;       // 1.0
inline constexpr std::uint64_t bits_of_infinity = std::uint64_t{0x7ff} << 52;  // larger patterns: NaN, or a sign

[[nodiscard]] inline status check_version(std::uint16_t version) noexcept {
  if (version == wire_version) return {};
  return codec_error(errc::unknown_version, std::uint64_t{version} << 16 | wire_version);
}
//! The epoch of a context that travels in full, from byte `at` on.
[[nodiscard]] inline status check_epoch(const wire_context& context, std::size_t at) noexcept {
  return context.epoch <= max_wire_epoch ? status{} : codec_error(errc::field_out_of_range, at + 8);
}

//! The bytes of the field whose head stands at `head`.
[[nodiscard]] inline std::size_t field_bytes(const std::byte* head) noexcept {
  return field_head + static_cast<std::size_t>(numeric::load_le(head + 1, 2));
}

//! Whether hello's fields fill their bytes, types ascending; `where` = byte of the field.
[[nodiscard]] inline status check_fields(std::span<const std::byte> fields) noexcept {
  unsigned least = 0;
  for (std::size_t at = 0; at < fields.size();) {
    const std::size_t left = fields.size() - at;
    const unsigned type = std::to_integer<unsigned>(fields[at]);
    if (left < field_head || field_bytes(fields.data() + at) > left || type < least)
      return codec_error(errc::field_out_of_range, hello_bytes + at);
    const std::size_t bytes = field_bytes(fields.data() + at);
    if (type == static_cast<unsigned>(hello_field::stop_tokens) && bytes != stop_tokens_field_bytes)
      return codec_error(errc::field_out_of_range, hello_bytes + at);
    least = type + 1;
    at += bytes;
  }
  return {};
}
//! A field that must be known, and is not; `where` = its type. This version knows none of these.
[[nodiscard]] inline status check_known(std::span<const std::byte> fields) noexcept {
  for (std::size_t at = 0; at < fields.size(); at += field_bytes(fields.data() + at)) {
    const unsigned type = std::to_integer<unsigned>(fields[at]);
    if (type >= first_required_field) return codec_error(errc::unknown_field, type);
  }
  return {};
}

//! What hello may hold, for both ends; `where` = byte of the field.
[[nodiscard]] inline status check_hello(const hello_message& value) noexcept {
  if (const status why = check_version(value.version); !why.ok()) return why;
  if (const status why = check_epoch(value.context, 10); !why.ok()) return why;
  if (value.strength > guarantee::unconditional) return codec_error(errc::field_out_of_range, 54);
  if (value.rule > wire_rule::semantic) return codec_error(errc::field_out_of_range, 55);
  if (value.mode > 1) return codec_error(errc::field_out_of_range, 56);
  if (const status why = check(value.format); !why.ok()) return why;
  if (std::bit_cast<std::uint64_t>(value.temperature) > std::bit_cast<std::uint64_t>(max_temperature))
    return codec_error(errc::invalid_temperature, 86);
  const std::uint64_t top_p = std::bit_cast<std::uint64_t>(value.truncation.top_p);
  if (top_p == 0 || top_p > bits_of_one) return codec_error(errc::invalid_truncation, 98);
  if (std::bit_cast<std::uint64_t>(value.truncation.min_p) > bits_of_one)
    return codec_error(errc::invalid_truncation, 106);
  if (value.truncation.order > truncation_order::top_p_then_top_k) return codec_error(errc::invalid_truncation, 114);
  const std::uint64_t threshold = std::bit_cast<std::uint64_t>(value.threshold);
  if (threshold >= bits_of_infinity || (threshold != 0 && value.rule != wire_rule::semantic))
    return codec_error(errc::field_out_of_range, 116);
  if (value.text_chunk == 0) return codec_error(errc::field_out_of_range, 135);
  return check_fields(value.fields);
}

}  // namespace detail

inline std::optional<std::uint64_t> stop_tokens_hash(const hello_message& value) noexcept {
  const std::span<const std::byte> fields = value.fields;
  for (std::size_t at = 0; at < fields.size(); at += detail::field_bytes(fields.data() + at)) {
    if (fields[at] == static_cast<std::byte>(hello_field::stop_tokens))
      return numeric::load_le(fields.data() + at + detail::field_head, 8);
  }
  return std::nullopt;
}

inline result<std::span<std::byte>> encode_hello(const hello_message& value, std::span<std::byte> out) noexcept {
  if (const status why = detail::check_hello(value); !why.ok()) return why;
  const std::uint64_t bytes = detail::hello_bytes + value.fields.size();
  if (const status why = detail::begin_message(value.context, bytes, 1, out); !why.ok()) return why;
  numeric::store_le(out.data() + 8, value.version, 2);
  detail::store_context(out, 10, value.context);
  detail::field_writer fields(out, 38);
  fields.put(value.fingerprint_low, 8);
  fields.put(value.fingerprint_high, 8);
  fields.put(static_cast<std::uint64_t>(value.strength), 1);
  fields.put(static_cast<std::uint64_t>(value.rule), 1);
  fields.put(value.mode, 1);
  fields.put(static_cast<std::uint64_t>(value.format.format), 1);
  fields.put(value.format.vocab_size, 4);
  fields.put(value.format.resolution, 4);
  fields.put(value.format.support_size, 4);
  fields.put(value.format.max_draft_length, 4);
  fields.put(value.format.pad_to, 4);
  fields.put(value.prompt_length, 4);
  fields.put(value.token_budget, 4);
  fields.put(std::bit_cast<std::uint64_t>(value.temperature), 8);
  fields.put(value.truncation.top_k, 4);
  fields.put(std::bit_cast<std::uint64_t>(value.truncation.top_p), 8);
  fields.put(std::bit_cast<std::uint64_t>(value.truncation.min_p), 8);
  fields.put(static_cast<std::uint64_t>(value.truncation.order), 1);
  fields.put(value.bonus ? 1 : 0, 1);
  fields.put(std::bit_cast<std::uint64_t>(value.threshold), 8);
  const attachment_format& attachments = value.format.attachments;
  fields.put(attachments.hidden_size, 4);
  fields.put(static_cast<std::uint64_t>(attachments.hidden), 1);
  fields.put(attachments.hidden_with_draft ? 1 : 0, 1);
  fields.put((attachments.channel_report ? 1u : 0u) + (attachments.resolution_with_draft ? 2u : 0u) +
                 (attachments.drafted_probability ? 4u : 0u),
             1);
  fields.put(attachments.max_skipped, 4);
  fields.put(value.text_chunk, 4);
  for (std::size_t i = 0; i < value.fields.size(); ++i) out[detail::hello_bytes + i] = value.fields[i];
  return detail::end_message(message_kind::hello, value.context, bytes, 1, out);
}
inline result<hello_message> decode_hello(std::span<const std::byte> message) noexcept {
  if (const status why = detail::open_message(message_kind::hello, {}, message); !why.ok()) return why;
  hello_message read;
  read.version = static_cast<std::uint16_t>(numeric::load_le(message.data() + 8, 2));
  if (const status why = detail::check_version(read.version); !why.ok()) return why;
  if (message.size() < detail::hello_bytes) return detail::codec_error(errc::truncated, message.size());
  read.context = detail::load_context(message, 10);
  read.context.transmission = static_cast<std::uint8_t>(std::to_integer<unsigned>(message[0]) >> 4);
  detail::field_reader fields(message, 38);
  read.fingerprint_low = fields.u64();
  read.fingerprint_high = fields.u64();
  read.strength = static_cast<guarantee>(fields.u8());
  read.rule = static_cast<wire_rule>(fields.u8());
  read.mode = fields.u8();
  read.format.format = static_cast<law_format>(fields.u8());
  read.format.vocab_size = fields.u32();
  read.format.resolution = fields.u32();
  read.format.support_size = fields.u32();
  read.format.max_draft_length = fields.u32();
  read.format.pad_to = fields.u32();
  read.prompt_length = fields.u32();
  read.token_budget = fields.u32();
  read.temperature = std::bit_cast<double>(fields.u64());
  read.truncation.top_k = fields.u32();
  read.truncation.top_p = std::bit_cast<double>(fields.u64());
  read.truncation.min_p = std::bit_cast<double>(fields.u64());
  read.truncation.order = static_cast<truncation_order>(fields.u8());
  const std::uint8_t bonus = fields.u8();
  read.threshold = std::bit_cast<double>(fields.u64());
  read.format.attachments.hidden_size = fields.u32();
  read.format.attachments.hidden = static_cast<hidden_format>(fields.u8());
  const std::uint8_t with_draft = fields.u8(), report = fields.u8();
  read.format.attachments.max_skipped = fields.u32();
  read.text_chunk = fields.u32();
  read.fields = message.subspan(detail::hello_bytes);
  if (bonus > 1) return detail::codec_error(errc::field_out_of_range, 115);
  if (with_draft > 1) return detail::codec_error(errc::field_out_of_range, 129);
  if (report > 7) return detail::codec_error(errc::field_out_of_range, 130);
  read.bonus = bonus != 0;
  read.format.attachments.hidden_with_draft = with_draft != 0;
  read.format.attachments.channel_report = (report & 1) != 0;
  read.format.attachments.resolution_with_draft = (report & 2) != 0;
  read.format.attachments.drafted_probability = (report & 4) != 0;
  if (const status why = detail::check_hello(read); !why.ok()) return why;
  if (const status why = detail::check_known(read.fields); !why.ok()) return why;
  return read;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
