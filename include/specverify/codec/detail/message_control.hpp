// SPDX-License-Identifier: Apache-2.0
//! resume, feedback, refuse and stop. Used by codec/message.hpp, where they are documented.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_CONTROL_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_CONTROL_HPP

#include <specverify/codec/bit_cost.hpp>
#include <specverify/codec/detail/message_hello.hpp>
#include <specverify/core/numeric.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::size_t resume_bytes = message_header_bytes + context_bytes;
inline constexpr std::size_t refuse_bytes = message_header_bytes + 8;
inline constexpr std::size_t stop_bytes = message_header_bytes + 13;
inline constexpr std::size_t text_prefix_bytes = message_header_bytes + 8;

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
[[nodiscard]] inline std::uint64_t feedback_bytes(const wire_format& format, std::uint32_t draft_length,
                                                  bool token) noexcept {
  return message_header_bytes +
         bits_to_bytes(ceil_log2(std::uint64_t{draft_length} + 1) + 5 + (token ? token_bits(format.vocab_size) : 0));
}

}  // namespace detail

inline std::size_t text_bytes(const wire_format& format, std::size_t count) noexcept {
  const std::uint32_t bits = token_bits(format.vocab_size);
  const saturating ids = saturating(count / 8) * bits + detail::bits_to_bytes(count % 8 * bits);
  return static_cast<std::size_t>(detail::padded((ids + detail::text_prefix_bytes).value, format.pad_to));
}
inline std::size_t supply_bytes(const wire_format& format, std::uint32_t draft_length, std::size_t payload) noexcept {
  const saturating bytes = saturating(message_header_bytes + 5 + detail::bits_to_bytes(draft_length)) + payload;
  return static_cast<std::size_t>(detail::padded(bytes.value, format.pad_to));
}
inline std::size_t max_supply_bytes(const wire_format& format, std::uint32_t draft_length) noexcept {
  const saturating vectors = saturating(draft_length) * hidden_bytes(format.attachments);
  return supply_bytes(format, draft_length, static_cast<std::size_t>(vectors.value));
}
inline std::size_t max_control_bytes(const wire_format& format) noexcept {
  const std::uint64_t bitmap = message_header_bytes + 1 + detail::bits_to_bytes(format.max_draft_length);
  const std::uint64_t feedback = detail::feedback_bytes(format, format.max_draft_length, true);
  const auto largest = static_cast<std::size_t>(detail::padded(bitmap > feedback ? bitmap : feedback, format.pad_to));
  return largest > detail::longest_hello ? largest : detail::longest_hello;
}

inline result<std::span<std::byte>> encode_resume(const resume_message& value, std::span<std::byte> out) noexcept {
  if (const status why = detail::check_epoch(value.context, message_header_bytes); !why.ok()) return why;
  if (const status why = detail::begin_message(value.context, detail::resume_bytes, 1, out); !why.ok()) return why;
  detail::store_context(out, message_header_bytes, value.context);
  return detail::end_message(message_kind::resume, value.context, detail::resume_bytes, 1, out);
}
inline result<resume_message> decode_resume(std::span<const std::byte> message) noexcept {
  if (const status why = detail::open_message(message_kind::resume, {}, message); !why.ok()) return why;
  if (const status why = detail::close_message(detail::resume_bytes, 1, message); !why.ok()) return why;
  resume_message read{detail::load_context(message, message_header_bytes)};
  if (const status why = detail::check_epoch(read.context, message_header_bytes); !why.ok()) return why;
  read.context.transmission = static_cast<std::uint8_t>(std::to_integer<unsigned>(message[0]) >> 4);
  return read;
}

inline result<std::span<std::byte>> encode_feedback(const wire_context& context, const wire_format& format,
                                                    std::uint32_t draft_length, const feedback_message& value,
                                                    std::span<std::byte> out) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (draft_length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, draft_length);
  if (const status why = detail::check_feedback(value, format, draft_length); !why.ok()) return why;
  const std::uint64_t bytes = detail::feedback_bytes(format, draft_length, value.source != 0);
  if (const status why = detail::begin_message(context, bytes, format.pad_to, out); !why.ok()) return why;
  detail::bit_writer bits(out.data() + message_header_bytes);
  bits.put(value.accepted, ceil_log2(std::uint64_t{draft_length} + 1));
  bits.put(value.source, 3);
  bits.put(value.stop, 2);
  if (value.source != 0) bits.put(static_cast<std::uint32_t>(value.next_token), token_bits(format.vocab_size));
  bits.finish();
  return detail::end_message(message_kind::feedback, context, bytes, format.pad_to, out);
}
inline result<feedback_message> decode_feedback(const wire_context& context, const wire_format& format,
                                                std::uint32_t draft_length,
                                                std::span<const std::byte> message) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (draft_length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, draft_length);
  if (const status why = detail::open_message(message_kind::feedback, context, message); !why.ok()) return why;
  if (message.size() < detail::feedback_bytes(format, draft_length, false))
    return detail::codec_error(errc::truncated, message.size());
  detail::bit_reader bits(message.data() + message_header_bytes);
  feedback_message read;
  read.accepted = bits.take(ceil_log2(std::uint64_t{draft_length} + 1));
  read.source = static_cast<std::uint8_t>(bits.take(3));
  read.stop = static_cast<std::uint8_t>(bits.take(2));
  const std::uint64_t bytes = detail::feedback_bytes(format, draft_length, read.source != 0);
  if (const status why = detail::close_message(bytes, format.pad_to, message); !why.ok()) return why;
  if (read.source != 0) read.next_token = static_cast<token_id>(bits.take(token_bits(format.vocab_size)));
  if (!bits.rest_is_zero()) return detail::codec_error(errc::padding_not_zero, bytes - 1);
  if (const status why = detail::check_feedback(read, format, draft_length); !why.ok()) return why;
  return read;
}

inline result<std::span<std::byte>> encode_refuse(const wire_context& context, const refuse_message& value,
                                                  std::span<std::byte> out) noexcept {
  if (value.reason.ok() || !detail::is_known(value.reason.code))
    return detail::codec_error(errc::field_out_of_range, 8);
  if (value.reason.reporter > part::host) return detail::codec_error(errc::field_out_of_range, 10);
  if (const status why = detail::begin_message(context, detail::refuse_bytes, 1, out); !why.ok()) return why;
  numeric::store_le(out.data() + 8, static_cast<std::uint64_t>(value.reason.code), 2);
  numeric::store_le(out.data() + 10, static_cast<std::uint64_t>(value.reason.reporter), 2);
  numeric::store_le(out.data() + 12, value.reason.where, 4);
  return detail::end_message(message_kind::refuse, context, detail::refuse_bytes, 1, out);
}
inline result<refuse_message> decode_refuse(const wire_context& context, std::span<const std::byte> message) noexcept {
  if (const status why = detail::open_message(message_kind::refuse, context, message); !why.ok()) return why;
  if (const status why = detail::close_message(detail::refuse_bytes, 1, message); !why.ok()) return why;
  const auto code = static_cast<errc>(numeric::load_le(message.data() + 8, 2));
  const auto reporter = static_cast<part>(numeric::load_le(message.data() + 10, 2));
  if (code == errc::ok || !detail::is_known(code)) return detail::codec_error(errc::field_out_of_range, 8);
  if (reporter > part::host) return detail::codec_error(errc::field_out_of_range, 10);
  return refuse_message{{code, reporter, static_cast<std::uint32_t>(numeric::load_le(message.data() + 12, 4))}};
}

inline result<std::span<std::byte>> encode_stop(const wire_context& context, const stop_message& value,
                                                std::span<std::byte> out) noexcept {
  if (static_cast<unsigned>(value.cause) >= stop_cause_count) return detail::codec_error(errc::field_out_of_range, 8);
  if (const status why = detail::begin_message(context, detail::stop_bytes, 1, out); !why.ok()) return why;
  detail::field_writer fields(out, 8);
  fields.put(static_cast<std::uint64_t>(value.cause), 1);
  fields.put(value.length, 4);
  fields.put(value.prefix_hash, 8);
  return detail::end_message(message_kind::stop, context, detail::stop_bytes, 1, out);
}
inline result<stop_message> decode_stop(const wire_context& context, std::span<const std::byte> message) noexcept {
  if (const status why = detail::open_message(message_kind::stop, context, message); !why.ok()) return why;
  if (const status why = detail::close_message(detail::stop_bytes, 1, message); !why.ok()) return why;
  detail::field_reader fields(message, 8);
  const std::uint8_t cause = fields.u8();
  if (cause >= stop_cause_count) return detail::codec_error(errc::field_out_of_range, 8);
  stop_message read{static_cast<stop_cause>(cause)};
  read.length = fields.u32();
  read.prefix_hash = fields.u64();
  return read;
}

namespace detail {

//! The context that a hello or a resume message carries.
[[nodiscard]] inline result<wire_context> greeting_context(std::span<const std::byte> message,
                                                           message_kind kind) noexcept {
  if (kind == message_kind::hello) {
    const result<hello_message> hello = decode_hello(message);
    if (!hello) return hello.error();
    return hello->context;
  }
  const result<resume_message> resume = decode_resume(message);
  if (!resume) return resume.error();
  return resume->context;
}

}  // namespace detail

inline result<std::uint64_t> session_of(std::span<const std::byte> message) noexcept {
  const result<message_header> header = peek_header(message);
  if (!header) return header.error();
  if (header->kind != message_kind::hello && header->kind != message_kind::resume)
    return status{errc::unexpected_message, part::session, 0};
  const result<wire_context> context = detail::greeting_context(message, header->kind);
  if (!context) return context.error();
  return context->session_id;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
