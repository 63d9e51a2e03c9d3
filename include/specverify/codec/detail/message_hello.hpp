// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes hello messages. Used by codec/message.hpp, which documents the functions.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_HELLO_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_HELLO_HPP

#include <specverify/codec/detail/member_bytes.hpp>
#include <specverify/codec/detail/message_fields.hpp>

#include <array>
#include <optional>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::size_t field_head = 3;  // type u8, length u16

}  // namespace detail

//! Builds the fields of a hello. Each field may be added once, and types must ascend.
class hello_fields {
 public:
  static constexpr std::size_t most_bytes = 15 + 11 + 4 + 13 + 20;
  //! Returns the size in bytes of a field of a known type, including its head. Returns 0 for other types, which may
  //! have any length.
  [[nodiscard]] static constexpr std::size_t bytes_of(unsigned type) noexcept {
    constexpr std::size_t known[] = {0, 15, 11, 4}, required[] = {13, 20};
    if (type < 4) return known[type];
    return type >= first_required_field && type - first_required_field < 2 ? required[type - first_required_field] : 0;
  }

  void add(const verdict_notice& last) noexcept {
    detail::field_writer value = begin(hello_field::last_verdict);
    value.put(last.round, 4);
    value.put(last.accepted, 2);
    value.put(last.source, 1);
    value.put(last.stop, 1);
    value.put(last.digest, 4);
  }
  void add_stop_tokens(std::uint64_t hash) noexcept { begin(hello_field::stop_tokens).put(hash, 8); }
  void add_check(std::uint8_t bits) noexcept { begin(hello_field::check).put(bits, 1); }
  void add(const coupling_noise& noise) noexcept {
    detail::field_writer value = begin(hello_field::noise);
    value.put(1, 1);
    value.put(static_cast<std::uint64_t>(noise.kind), 1);
    value.put(noise.key, 8);
  }
  void add(const prior_fingerprint& table, id_code code) noexcept {
    detail::field_writer value = begin(hello_field::prior);
    value.put(table.low, 8);
    value.put(table.high, 8);
    value.put(static_cast<std::uint64_t>(code), 1);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), used_}; }

 private:
  [[nodiscard]] detail::field_writer begin(hello_field type) noexcept {
    const std::size_t at = used_, bytes = bytes_of(static_cast<unsigned>(type));
    detail::field_writer head(bytes_, at);
    head.put(static_cast<std::uint64_t>(type), 1);
    head.put(bytes - detail::field_head, 2);
    used_ += bytes;
    return detail::field_writer(bytes_, at + detail::field_head);
  }
  std::array<std::byte, most_bytes> bytes_{};
  std::size_t used_ = 0;
};

namespace detail {

inline constexpr std::size_t hello_bytes = 139;  // size of a hello without fields
inline constexpr std::size_t longest_hello = hello_bytes + hello_fields::most_bytes;
inline constexpr std::size_t hello_head_at = message_header_bytes + 2;  // offset of the bytes after the version

[[nodiscard]] inline status check_version(std::uint16_t version) noexcept {
  if (version == wire_version) return {};
  return codec_error(errc::unknown_version, std::uint64_t{version} << 16 | wire_version);
}
//! Returns the size in bytes of the field that begins at `head`.
[[nodiscard]] inline std::size_t field_bytes(const std::byte* head) noexcept {
  return field_head + static_cast<std::size_t>(numeric::load_le(head + 1, 2));
}

//! Checks that the fields of a hello fill the given bytes exactly, and that their types ascend; `where` = byte of the
//! field.
[[nodiscard]] inline status check_fields(std::span<const std::byte> fields) noexcept {
  unsigned least = 0;
  for (std::size_t at = 0; at < fields.size();) {
    const std::size_t left = fields.size() - at;
    const unsigned type = std::to_integer<unsigned>(fields[at]);
    if (left < field_head || field_bytes(fields.data() + at) > left || type < least)
      return codec_error(errc::field_out_of_range, hello_bytes + at);
    const std::size_t bytes = field_bytes(fields.data() + at);
    if (const std::size_t known = hello_fields::bytes_of(type); known != 0 && bytes != known)
      return codec_error(errc::field_out_of_range, hello_bytes + at);
    least = type + 1;
    at += bytes;
  }
  return {};
}
//! Returns unknown_field if there is a field of an unknown type that the reader must reject. `where` = type.
[[nodiscard]] inline status check_known(std::span<const std::byte> fields) noexcept {
  for (std::size_t at = 0; at < fields.size(); at += field_bytes(fields.data() + at)) {
    const unsigned type = std::to_integer<unsigned>(fields[at]);
    if (type >= first_required_field && hello_fields::bytes_of(type) == 0)
      return codec_error(errc::unknown_field, type);
  }
  return {};
}

//! Returns the value of a field, or nullptr if it is absent. The fields must have passed check_fields.
[[nodiscard]] inline const std::byte* find_field(std::span<const std::byte> fields, hello_field type) noexcept {
  for (std::size_t at = 0; at < fields.size(); at += field_bytes(fields.data() + at)) {
    if (fields[at] == static_cast<std::byte>(type)) return fields.data() + at + field_head;
  }
  return nullptr;
}

//! Checks that the field `noise` contains the noise kind of the terms, that the kind is valid, and that the rule is the
//! greedy rule.
[[nodiscard]] inline status check_noise(const hello_message& value) noexcept {
  const std::byte* const field = find_field(value.fields, hello_field::noise);
  const bool is_stated =
      field != nullptr && field[0] == std::byte{1} && field[1] == static_cast<std::byte>(value.noise);
  const bool is_known = is_noise(value.noise) && value.rule == wire_rule::greedy;
  if (field == nullptr ? value.noise == noise_kind::none : is_stated && is_known) return {};
  const auto at = field == nullptr ? 0 : static_cast<std::size_t>(field - value.fields.data()) - field_head;
  return codec_error(errc::field_out_of_range, hello_bytes + at);
}

//! Checks that the field `prior` is present exactly if the format codes ids by a table, that the field contains this
//! code, and that the terms have shared noise if the code needs it, because a decoder could not compute the weights.
[[nodiscard]] inline status check_prior(const hello_message& value) noexcept {
  const std::byte* const field = find_field(value.fields, hello_field::prior);
  const id_code code = value.format.ids;
  const bool is_stated = field != nullptr && code != id_code::plain && field[16] == static_cast<std::byte>(code);
  const bool is_known = code != id_code::noise || value.noise != noise_kind::none;
  if (field == nullptr ? code == id_code::plain : is_stated && is_known) return {};
  const auto at = field == nullptr ? 0 : static_cast<std::size_t>(field - value.fields.data()) - field_head;
  return codec_error(errc::field_out_of_range, hello_bytes + at);
}

//! Checks a hello whose terms are in range, for encoder and decoder; `where` = byte of the field.
[[nodiscard]] inline status check_hello(const hello_message& value) noexcept {
  if (const status why = check(value.format); !why.ok()) return why;
  if (const status why = check_fields(value.fields); !why.ok()) return why;
  const std::byte* const check = find_field(value.fields, hello_field::check);
  const unsigned bits = check == nullptr ? wire_format{}.check_bits : std::to_integer<unsigned>(*check);
  if (bits != value.format.check_bits) return codec_error(errc::field_out_of_range, hello_bytes);
  if (const status why = check_prior(value); !why.ok()) return why;
  return check_noise(value);
}
[[nodiscard]] inline hello_head head_of(const hello_message& value) noexcept {
  return {{value.session_id, value.nonce}, value.round, value.length, value.prefix_hash};
}

}  // namespace detail

inline std::optional<std::uint64_t> stop_tokens_hash(const hello_message& value) noexcept {
  const std::byte* const found = detail::find_field(value.fields, hello_field::stop_tokens);
  if (found == nullptr) return std::nullopt;
  return numeric::load_le(found, 8);
}
inline coupling_noise noise_of(const hello_message& value) noexcept {
  const std::byte* const found = detail::find_field(value.fields, hello_field::noise);
  if (found == nullptr) return {noise_kind::none, 0};
  return {value.noise, numeric::load_le(found + 2, 8)};
}
inline std::optional<prior_fingerprint> prior_of(const hello_message& value) noexcept {
  const std::byte* const found = detail::find_field(value.fields, hello_field::prior);
  if (found == nullptr) return std::nullopt;
  return prior_fingerprint{numeric::load_le(found + 8, 8), numeric::load_le(found, 8)};
}
inline std::uint32_t draft_digest(std::span<const token_id> drafts) noexcept {
  return static_cast<std::uint32_t>(prefix_hash(drafts) & 0xffffffffu);
}
inline verdict_notice last_verdict(const hello_message& value) noexcept {
  const std::byte* const found = detail::find_field(value.fields, hello_field::last_verdict);
  if (found == nullptr) return {};
  detail::field_reader fields({found, 12}, 0);
  verdict_notice read;
  read.round = fields.u32();
  read.accepted = fields.u16();
  read.source = fields.u8();
  read.stop = fields.u8();
  read.digest = fields.u32();
  return read;
}

inline result<std::span<std::byte>> encode_hello(const hello_message& value, std::span<std::byte> out) noexcept {
  if (const status why = detail::check_version(value.version); !why.ok()) return why;
  if (const status why = detail::checked(value, value.prompt_length).why(); !why.ok()) return why;
  if (const status why = detail::check_hello(value); !why.ok()) return why;
  const std::uint64_t bytes = detail::hello_bytes + value.fields.size();
  if (const status why = detail::has_room(bytes, out); !why.ok()) return why;
  numeric::store_le(out.data() + message_header_bytes, value.version, 2);
  detail::store_head(out, detail::hello_head_at, detail::head_of(value));
  detail::member_writer field(out.data() + detail::terms_at);
  detail::terms_fields(field, static_cast<const session_terms&>(value), value.prompt_length);
  for (std::size_t i = 0; i < value.fields.size(); ++i) out[detail::hello_bytes + i] = value.fields[i];
  return detail::end_headed(message_kind::hello, detail::head_of(value), bytes, out);
}
inline result<hello_name> name_of(std::span<const std::byte> message) noexcept {
  const result<message_kind> kind = kind_of(message);
  const bool is_resume = kind.error().code == errc::unknown_version;
  if (!kind && !is_resume) return kind.error();
  if (kind && *kind != message_kind::hello) return detail::codec_error(errc::unexpected_message, 0);
  const std::size_t at = is_resume ? message_header_bytes : detail::hello_head_at;
  if (message.size() < at + detail::hello_head_bytes) return detail::codec_error(errc::truncated, message.size());
  const detail::hello_head head = detail::load_head(message, at);
  if (const status why = detail::check_headed(head, message); !why.ok()) return why;
  return head.name;
}
inline result<hello_message> decode_hello(std::span<const std::byte> message) noexcept {
  if (const status why = detail::is_kind(message_kind::hello, message); !why.ok()) return why;
  if (const result<hello_name> name = name_of(message); !name) return name.error();
  hello_message read;
  read.version = static_cast<std::uint16_t>(numeric::load_le(message.data() + message_header_bytes, 2));
  if (const status why = detail::check_version(read.version); !why.ok()) return why;
  if (const status why = detail::check_beside_kind(message); !why.ok()) return why;
  if (message.size() < detail::hello_bytes) return detail::codec_error(errc::truncated, message.size());
  const detail::hello_head head = detail::load_head(message, detail::hello_head_at);
  read.session_id = head.name.session_id;
  read.nonce = head.name.nonce;
  read.round = head.round;
  read.length = head.length;
  read.prefix_hash = head.prefix_hash;
  detail::member_reader field(message.data() + detail::terms_at);
  detail::terms_fields(field, static_cast<session_terms&>(read), read.prompt_length);
  if (!field.good()) return field.why();
  read.fields = message.subspan(detail::hello_bytes);
  if (const status why = detail::check_fields(read.fields); !why.ok()) return why;
  if (const std::byte* const bits = detail::find_field(read.fields, hello_field::check); bits != nullptr)
    read.format.check_bits = std::to_integer<std::uint8_t>(*bits);
  if (const std::byte* const noise = detail::find_field(read.fields, hello_field::noise); noise != nullptr)
    read.noise = static_cast<noise_kind>(noise[1]);
  if (const std::byte* const prior = detail::find_field(read.fields, hello_field::prior); prior != nullptr)
    read.format.ids = prior[16] == static_cast<std::byte>(id_code::noise) ? id_code::noise : id_code::prior;
  if (const status why = detail::check_hello(read); !why.ok()) return why;
  if (const status why = detail::check_known(read.fields); !why.ok()) return why;
  return read;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
