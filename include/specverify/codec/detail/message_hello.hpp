// SPDX-License-Identifier: Apache-2.0
//! hello, and the epochs that it shares with resume. Used by codec/message.hpp, where it is documented.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_HELLO_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_HELLO_HPP

#include <specverify/codec/detail/member_bytes.hpp>
#include <specverify/codec/detail/message_fields.hpp>

#include <optional>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::size_t hello_bytes = 139;  // without fields
inline constexpr std::size_t longest_hello = hello_bytes + stop_tokens_field_bytes;
inline constexpr std::size_t field_head = 3;  // type u8, length u16

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

//! What hello may hold, for both ends, if each term is in its range; `where` = byte of the field.
[[nodiscard]] inline status check_hello(const hello_message& value) noexcept {
  const status why = check(value.format);
  return why.ok() ? check_fields(value.fields) : why;
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
  if (const status why = detail::check_version(value.version); !why.ok()) return why;
  if (const status why = detail::check_epoch(value.context, 10); !why.ok()) return why;
  if (const status why = detail::checked(value, value.prompt_length).why(); !why.ok()) return why;
  if (const status why = detail::check_hello(value); !why.ok()) return why;
  const std::uint64_t bytes = detail::hello_bytes + value.fields.size();
  if (const status why = detail::begin_message(value.context, bytes, 1, out); !why.ok()) return why;
  numeric::store_le(out.data() + 8, value.version, 2);
  detail::store_context(out, 10, value.context);
  detail::member_writer field(out.data() + detail::terms_at);
  detail::terms_fields(field, static_cast<const session_terms&>(value), value.prompt_length);
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
  detail::member_reader field(message.data() + detail::terms_at);
  detail::terms_fields(field, static_cast<session_terms&>(read), read.prompt_length);
  if (!field.good()) return field.why();
  if (const status why = detail::check_epoch(read.context, 10); !why.ok()) return why;
  read.fields = message.subspan(detail::hello_bytes);
  if (const status why = detail::check_hello(read); !why.ok()) return why;
  if (const status why = detail::check_known(read.fields); !why.ok()) return why;
  return read;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
