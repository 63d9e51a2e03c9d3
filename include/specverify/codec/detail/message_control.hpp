// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes feedback, refuse and stop messages, and computes the sizes of text, supply and control messages.
//! Used by codec/message.hpp, which documents the functions.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_CONTROL_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_CONTROL_HPP

#include <specverify/codec/bit_cost.hpp>
#include <specverify/codec/detail/message_hello.hpp>
#include <specverify/core/numeric.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::size_t refuse_bytes = message_header_bytes + 8;
inline constexpr std::size_t stop_bytes = 13;

[[nodiscard]] constexpr bool is_known(errc code) noexcept {
  switch (code) {
#define SPECVERIFY_ERRC(identifier, number, text) case errc::identifier:
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC
    return true;
  }
  return false;
}

[[nodiscard]] inline status check_feedback(const feedback_message& value, const wire_format& format,
                                           std::uint32_t draft_length) noexcept {
  if (value.accepted > draft_length) return codec_error(errc::field_out_of_range, value.at_accepted);
  if (value.source >= feedback_source_count) return codec_error(errc::field_out_of_range, value.at_source);
  if (value.stop >= feedback_stop_count) return codec_error(errc::field_out_of_range, value.at_stop);
  if (value.source == 0)
    return value.next_token == no_token ? status{} : codec_error(errc::field_out_of_range, value.at_next_token);
  if (value.next_token < 0 || static_cast<std::uint32_t>(value.next_token) >= format.vocab_size)
    return codec_error(errc::token_out_of_range, value.at_next_token);
  return {};
}
//! Returns the size of a feedback message in bytes, without padding and check.
[[nodiscard]] inline std::uint64_t feedback_bytes(const wire_format& format, std::uint32_t draft_length,
                                                  bool token) noexcept {
  return bits_to_bytes(kind_bits + ceil_log2(std::uint64_t{draft_length} + 1) + 5 +
                       (token ? token_bits(format.vocab_size) : 0));
}
//! Returns how many bits encode the number of ids in a text message of at most `most` ids.
[[nodiscard]] constexpr unsigned count_width(std::uint32_t most) noexcept { return ceil_log2(std::uint64_t{most} + 1); }

}  // namespace detail

inline std::size_t text_bytes(const wire_format& format, std::uint32_t most, std::size_t count) noexcept {
  const std::uint32_t bits = token_bits(format.vocab_size), head = detail::kind_bits + detail::count_width(most);
  const saturating ids = saturating(count / 8) * bits + detail::bits_to_bytes(head + count % 8 * bits);
  return static_cast<std::size_t>((ids + detail::check_bytes(format)).rounded_up(format.pad_to).value);
}
inline std::size_t supply_bytes(const wire_format& format, std::uint32_t draft_length, std::size_t payload) noexcept {
  const saturating bytes = saturating(5 + detail::bits_to_bytes(draft_length) + detail::check_bytes(format)) + payload;
  return static_cast<std::size_t>(detail::padded(bytes.value, format.pad_to));
}
inline std::size_t max_supply_bytes(const wire_format& format, std::uint32_t draft_length) noexcept {
  const saturating vectors = saturating(draft_length) * hidden_bytes(format.attachments);
  return supply_bytes(format, draft_length, static_cast<std::size_t>(vectors.value));
}
inline std::size_t max_control_bytes(const wire_format& format) noexcept {
  const std::uint64_t bitmap = 1 + detail::bits_to_bytes(format.max_draft_length);
  const std::uint64_t feedback = detail::feedback_bytes(format, format.max_draft_length, true);
  const auto largest = static_cast<std::size_t>(detail::steady_bytes(bitmap > feedback ? bitmap : feedback, format));
  return largest > detail::longest_hello ? largest : detail::longest_hello;
}

inline result<std::span<std::byte>> encode_feedback(const wire_place& place, const wire_format& format,
                                                    std::uint32_t draft_length, const feedback_message& value,
                                                    std::span<std::byte> out) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (draft_length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, draft_length);
  if (const status why = detail::check_feedback(value, format, draft_length); !why.ok()) return why;
  const std::uint64_t bytes = detail::feedback_bytes(format, draft_length, value.source != 0);
  if (const status why = detail::has_room(detail::steady_bytes(bytes, format), out); !why.ok()) return why;
  detail::bit_writer bits(message_kind::feedback, out);
  bits.put(value.accepted, ceil_log2(std::uint64_t{draft_length} + 1));
  bits.put(value.source, 3);
  bits.put(value.stop, 2);
  if (value.source != 0) bits.put(static_cast<std::uint32_t>(value.next_token), token_bits(format.vocab_size));
  bits.finish();
  return detail::seal(message_kind::feedback, place, format, bytes, out);
}
inline result<feedback_message> decode_feedback(const wire_place& place, const wire_format& format,
                                                std::uint32_t draft_length,
                                                std::span<const std::byte> message) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (draft_length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, draft_length);
  if (const status why = detail::open_steady(message_kind::feedback, place, format, message); !why.ok()) return why;
  if (!detail::has_bytes(detail::feedback_bytes(format, draft_length, false), format, message))
    return detail::codec_error(errc::truncated, message.size());
  detail::bit_reader bits(message);
  feedback_message read;
  read.accepted = bits.take(ceil_log2(std::uint64_t{draft_length} + 1));
  read.source = static_cast<std::uint8_t>(bits.take(3));
  read.stop = static_cast<std::uint8_t>(bits.take(2));
  const std::uint64_t bytes = detail::feedback_bytes(format, draft_length, read.source != 0);
  if (const status why = detail::close_steady(bytes, format, message); !why.ok()) return why;
  if (read.source != 0) read.next_token = static_cast<token_id>(bits.take(token_bits(format.vocab_size)));
  if (!bits.rest_is_zero()) return detail::codec_error(errc::padding_not_zero, bytes - 1);
  if (const status why = detail::check_feedback(read, format, draft_length); !why.ok()) return why;
  return read;
}

inline result<std::span<std::byte>> encode_refuse(const hello_name& answered, status reason,
                                                  std::span<std::byte> out) noexcept {
  if (reason.ok() || !detail::is_known(reason.code)) return detail::codec_error(errc::field_out_of_range, 8);
  if (reason.reporter > part::host) return detail::codec_error(errc::field_out_of_range, 10);
  if (const status why = detail::has_room(detail::refuse_bytes, out); !why.ok()) return why;
  numeric::store_le(out.data() + 8, static_cast<std::uint64_t>(reason.code), 2);
  numeric::store_le(out.data() + 10, static_cast<std::uint64_t>(reason.reporter), 2);
  numeric::store_le(out.data() + 12, reason.where, 4);
  return detail::end_headed(message_kind::refuse, {answered}, detail::refuse_bytes, out);
}
inline result<refuse_message> decode_refuse(const hello_name& answered, std::span<const std::byte> message) noexcept {
  if (const status why = detail::is_kind(message_kind::refuse, message); !why.ok()) return why;
  if (message.size() < detail::refuse_bytes) return detail::codec_error(errc::truncated, message.size());
  if (message.size() > detail::refuse_bytes) return detail::codec_error(errc::trailing_bytes, detail::refuse_bytes);
  if (const status why = detail::check_headed({answered}, message); !why.ok()) return why;
  if (const status why = detail::check_beside_kind(message); !why.ok()) return why;
  const auto code = static_cast<errc>(numeric::load_le(message.data() + 8, 2));
  const auto reporter = static_cast<part>(numeric::load_le(message.data() + 10, 2));
  if (code == errc::ok || !detail::is_known(code)) return detail::codec_error(errc::field_out_of_range, 8);
  if (reporter > part::host) return detail::codec_error(errc::field_out_of_range, 10);
  return refuse_message{{code, reporter, static_cast<std::uint32_t>(numeric::load_le(message.data() + 12, 4))}};
}

inline result<std::span<std::byte>> encode_stop(const stop_message& value, std::span<std::byte> out) noexcept {
  if (static_cast<unsigned>(value.cause) >= stop_cause_count) return detail::codec_error(errc::field_out_of_range, 0);
  if (const status why = detail::has_room(detail::stop_bytes, out); !why.ok()) return why;
  detail::field_writer fields(out, 0);
  fields.put(static_cast<std::uint64_t>(message_kind::stop) | static_cast<std::uint64_t>(value.cause) << 4, 1);
  fields.put(value.length, 4);
  fields.put(value.prefix_hash, 8);
  return out.first(detail::stop_bytes);
}
inline result<stop_message> decode_stop(std::span<const std::byte> message) noexcept {
  if (const status why = detail::is_kind(message_kind::stop, message); !why.ok()) return why;
  if (message.size() < detail::stop_bytes) return detail::codec_error(errc::truncated, message.size());
  if (message.size() > detail::stop_bytes) return detail::codec_error(errc::trailing_bytes, detail::stop_bytes);
  detail::field_reader fields(message, 0);
  const unsigned cause = fields.u8() >> detail::kind_bits;
  if (cause >= stop_cause_count) return detail::codec_error(errc::field_out_of_range, 0);
  stop_message read{static_cast<stop_cause>(cause)};
  read.length = fields.u32();
  read.prefix_hash = fields.u64();
  return read;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
