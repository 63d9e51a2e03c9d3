// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes the parts that all messages share: little-endian fields, packed bits, the header of hello and
//! refuse, and the check at the end of other messages. Used by codec/message.hpp.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_FIELDS_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_FIELDS_HPP

#include <specverify/codec/detail/bytes.hpp>
#include <specverify/codec/detail/crc32c.hpp>
#include <specverify/codec/message_types.hpp>
#include <specverify/codec/prefix_hash.hpp>
#include <specverify/core/numeric.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Reads consecutive fields. The caller must have checked that the bytes exist.
class field_reader {
 public:
  explicit field_reader(std::span<const std::byte> bytes, std::size_t at) noexcept : at_(bytes.data() + at) {}
  [[nodiscard]] std::uint64_t take(unsigned bytes) noexcept {
    const std::uint64_t value = numeric::load_le(at_, bytes);
    at_ += bytes;
    return value;
  }
  [[nodiscard]] std::uint8_t u8() noexcept { return static_cast<std::uint8_t>(take(1)); }
  [[nodiscard]] std::uint16_t u16() noexcept { return static_cast<std::uint16_t>(take(2)); }
  [[nodiscard]] std::uint32_t u32() noexcept { return static_cast<std::uint32_t>(take(4)); }
  [[nodiscard]] std::uint64_t u64() noexcept { return take(8); }

 private:
  const std::byte* at_;
};
class field_writer {
 public:
  explicit field_writer(std::span<std::byte> bytes, std::size_t at) noexcept : at_(bytes.data() + at) {}
  void put(std::uint64_t value, unsigned bytes) noexcept {
    numeric::store_le(at_, value, bytes);
    at_ += bytes;
  }

 private:
  std::byte* at_;
};

inline constexpr unsigned kind_bits = 4;
//! A message kind of version 2. An edge of that version may begin a connection with a resume instead of a hello.
inline constexpr unsigned resume_of_version_2 = 6;

//! Packs numbers of up to 32 bits, low bit first, and fills the last byte with zeros.
class bit_writer {
 public:
  explicit bit_writer(std::byte* at) noexcept : at_(at) {}
  //! Begins a steady message with the kind.
  bit_writer(message_kind kind, std::span<std::byte> message) noexcept : at_(message.data()) {
    put(static_cast<std::uint64_t>(kind), kind_bits);
  }
  void put(std::uint64_t value, unsigned bits) noexcept {
    held_ |= value << count_;
    count_ += bits;
    for (; count_ >= 8; count_ -= 8, held_ >>= 8) *at_++ = static_cast<std::byte>(held_ & 0xffu);
  }
  void finish() noexcept {
    if (count_ > 0) *at_ = static_cast<std::byte>(held_ & 0xffu);
  }

 private:
  std::byte* at_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
};
class bit_reader {
 public:
  explicit bit_reader(const std::byte* at) noexcept : at_(at) {}
  //! Begins after the kind of a steady message.
  explicit bit_reader(std::span<const std::byte> message) noexcept : at_(message.data()) {
    static_cast<void>(take(kind_bits));
  }
  [[nodiscard]] std::uint32_t take(unsigned bits) noexcept {
    for (; count_ < bits; count_ += 8) held_ |= std::to_integer<std::uint64_t>(*at_++) << count_;
    const auto value = static_cast<std::uint32_t>(held_ & ((std::uint64_t{1} << bits) - 1));
    held_ >>= bits;
    count_ -= bits;
    return value;
  }
  //! Returns whether the bits that fill the last byte are zeros.
  [[nodiscard]] bool rest_is_zero() const noexcept { return held_ == 0; }

 private:
  const std::byte* at_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
};

[[nodiscard]] constexpr std::uint64_t padded(std::uint64_t bytes, std::uint32_t pad_to) noexcept {
  return saturating(bytes).rounded_up(pad_to).value;
}

//! Values that a hello contains in full. Its checksum covers them. The checksum of a refusal covers the name of the
//! answered hello instead.
struct hello_head {
  hello_name name{};
  std::uint32_t round = 0;
  std::uint32_t length = 0;
  std::uint64_t prefix_hash = 0;
};
inline constexpr std::size_t hello_head_bytes = 28;
[[gnu::noinline]] inline void store_head(std::span<std::byte> bytes, std::size_t at, const hello_head& head) noexcept {
  field_writer fields(bytes, at);
  fields.put(head.name.session_id, 8);
  fields.put(head.name.nonce, 4);
  fields.put(head.round, 4);
  fields.put(head.length, 4);
  fields.put(head.prefix_hash, 8);
}
[[nodiscard]] inline hello_head load_head(std::span<const std::byte> bytes, std::size_t at) noexcept {
  field_reader fields(bytes, at);
  hello_head head;
  head.name.session_id = fields.u64();
  head.name.nonce = fields.u32();
  head.round = fields.u32();
  head.length = fields.u32();
  head.prefix_hash = fields.u64();
  return head;
}

//! Returns the CRC-32C of, in this order: the head, the message's length, bytes 0 to 3, and all bytes starting at byte
//! 8.
[[nodiscard, gnu::noinline]] inline std::uint32_t checksum_of(const hello_head& head,
                                                              std::span<const std::byte> message) noexcept {
  std::byte unsent[hello_head_bytes + 4];
  store_head(unsent, 0, head);
  numeric::store_le(unsent + hello_head_bytes, message.size(), 4);
  std::uint32_t state = crc_update(~std::uint32_t{0}, unsent);
  state = crc_update(state, message.first(4));
  return ~crc_update(state, message.subspan(message_header_bytes));
}

//! Returns a hash whose low `bits` are the check of a steady message.
[[nodiscard]] constexpr std::uint64_t check_of(const wire_place& place, message_kind kind) noexcept {
  const std::uint64_t of_round = extend_prefix_hash(place.prefix_hash, static_cast<token_id>(place.round));
  return extend_prefix_hash(of_round, static_cast<token_id>(kind));
}
[[nodiscard]] constexpr std::size_t check_bytes(const wire_format& format) noexcept { return format.check_bits / 8u; }
//! Returns the size in bytes of a steady message whose own bytes, before zero padding and check, are `bytes`.
[[nodiscard]] constexpr std::uint64_t steady_bytes(std::uint64_t bytes, const wire_format& format) noexcept {
  return padded(bytes + check_bytes(format), format.pad_to);
}

}  // namespace detail

inline result<message_kind> kind_of(std::span<const std::byte> message) noexcept {
  if (message.empty()) return detail::codec_error(errc::truncated, 0);
  const unsigned kind = std::to_integer<unsigned>(message[0]) & 15u;
  if (kind == detail::resume_of_version_2) return detail::codec_error(errc::unknown_version, 2u << 16 | wire_version);
  if (kind < static_cast<unsigned>(message_kind::hello) || kind > static_cast<unsigned>(message_kind::stop))
    return detail::codec_error(errc::unknown_message, 0);
  return static_cast<message_kind>(kind);
}

namespace detail {

//! Checks that a message of this many bytes is allowed and fits in `out`.
[[nodiscard]] inline status has_room(std::uint64_t total, std::span<std::byte> out) noexcept {
  if (total > max_message_bytes) return codec_error(errc::message_too_large, total);
  return out.size() < total ? codec_error(errc::output_too_small, total) : status{};
}
[[nodiscard]] inline status is_kind(message_kind kind, std::span<const std::byte> message) noexcept {
  const result<message_kind> found = kind_of(message);
  if (!found) return found.error();
  return *found == kind ? status{} : codec_error(errc::unexpected_message, 0);
}

// hello and refuse

//! Writes the header and checksum. The bytes after them must already be written.
inline std::span<std::byte> end_headed(message_kind kind, const hello_head& head, std::uint64_t bytes,
                                       std::span<std::byte> out) noexcept {
  const std::span<std::byte> whole = out.first(static_cast<std::size_t>(bytes));
  numeric::store_le(whole.data(), static_cast<std::uint64_t>(kind), 1);
  numeric::store_le(whole.data() + 1, head.round, 1);
  numeric::store_le(whole.data() + 2, head.length, 2);
  numeric::store_le(whole.data() + 4, checksum_of(head, whole), 4);
  return whole;
}
//! Checks the header and the checksum of a message against `head`. The message must be at least as long as a header.
//! The bits next to the kind are not checked, because version 2 stores a number there.
[[nodiscard]] inline status check_headed(const hello_head& head, std::span<const std::byte> message) noexcept {
  if (numeric::load_le(message.data() + 4, 4) != checksum_of(head, message))
    return codec_error(errc::checksum_mismatch, 4);
  // The rest of the header repeats parts of `head`. If these bytes differ but the checksum matches, the message is
  // forged.
  if (numeric::load_le(message.data() + 1, 1) != (head.round & 0xffu)) return codec_error(errc::not_canonical, 1);
  return numeric::load_le(message.data() + 2, 2) != (head.length & 0xffffu) ? codec_error(errc::not_canonical, 2)
                                                                            : status{};
}

[[nodiscard]] inline status check_beside_kind(std::span<const std::byte> message) noexcept {
  return std::to_integer<unsigned>(message[0]) >> kind_bits != 0 ? codec_error(errc::not_canonical, 0) : status{};
}

// Steady messages

//! Ends a message whose first `bytes` bytes, including the kind, are already written: adds padding and check.
inline std::span<std::byte> seal(message_kind kind, const wire_place& place, const wire_format& format,
                                 std::uint64_t bytes, std::span<std::byte> out) noexcept {
  const auto total = static_cast<std::size_t>(steady_bytes(bytes, format));
  const std::size_t check = check_bytes(format);
  for (auto at = static_cast<std::size_t>(bytes); at < total - check; ++at) out[at] = std::byte{0};
  numeric::store_le(out.data() + (total - check), check_of(place, kind), static_cast<unsigned>(check));
  return out.first(total);
}

//! Verifies the message's kind and its check. Errors: those of `is_kind`, truncated, checksum_mismatch (`where` = byte
//! of the check).
[[nodiscard]] inline status open_steady(message_kind kind, const wire_place& place, const wire_format& format,
                                        std::span<const std::byte> message) noexcept {
  if (const status why = is_kind(kind, message); !why.ok()) return why;
  const std::size_t check = check_bytes(format);
  if (message.size() < 1 + check) return codec_error(errc::truncated, message.size());
  const std::size_t at = message.size() - check;
  const std::uint64_t mask = (std::uint64_t{1} << format.check_bits) - 1;
  const std::uint64_t theirs = numeric::load_le(message.data() + at, static_cast<unsigned>(check));
  return theirs == (check_of(place, kind) & mask) ? status{} : codec_error(errc::checksum_mismatch, at);
}
//! Returns whether the message has all `bytes` bytes before padding and check.
[[nodiscard]] inline bool has_bytes(std::uint64_t bytes, const wire_format& format,
                                    std::span<const std::byte> message) noexcept {
  return message.size() >= bytes + check_bytes(format);
}
//! Checks the end of a message with `bytes` own bytes: padding and check must follow them, and the padding must be
//! zero.
[[nodiscard]] inline status close_steady(std::uint64_t bytes, const wire_format& format,
                                         std::span<const std::byte> message) noexcept {
  const std::uint64_t total = steady_bytes(bytes, format);
  if (message.size() < total) return codec_error(errc::truncated, message.size());
  if (message.size() > total) return codec_error(errc::trailing_bytes, total);
  for (auto at = static_cast<std::size_t>(bytes); at < message.size() - check_bytes(format); ++at) {
    if (message[at] != std::byte{0}) return codec_error(errc::padding_not_zero, at);
  }
  return {};
}

}  // namespace detail

SPECVERIFY_NAMESPACE_END

#endif
