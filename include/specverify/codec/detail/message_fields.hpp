// SPDX-License-Identifier: Apache-2.0
//! What every message is made of: little-endian fields, packed bits, the CRC-32C and the header. Used by
//! codec/message.hpp.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_FIELDS_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_FIELDS_HPP

#include <specverify/codec/detail/bytes.hpp>
#include <specverify/codec/detail/crc32c.hpp>
#include <specverify/codec/message_types.hpp>
#include <specverify/core/numeric.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Fields one after another. The caller has checked that the bytes are there.
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

//! Numbers of up to 32 bits side by side, the low bit first; the last byte is filled with zeros.
class bit_writer {
 public:
  explicit bit_writer(std::byte* at) noexcept : at_(at) {}
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
  [[nodiscard]] std::uint32_t take(unsigned bits) noexcept {
    for (; count_ < bits; count_ += 8) held_ |= std::to_integer<std::uint64_t>(*at_++) << count_;
    const auto value = static_cast<std::uint32_t>(held_ & ((std::uint64_t{1} << bits) - 1));
    held_ >>= bits;
    count_ -= bits;
    return value;
  }
  //! Whether the bits that fill the last byte are zeros.
  [[nodiscard]] bool rest_is_zero() const noexcept { return held_ == 0; }

 private:
  const std::byte* at_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
};

[[nodiscard]] constexpr std::uint64_t padded(std::uint64_t bytes, std::uint32_t pad_to) noexcept {
  return saturating(bytes).rounded_up(pad_to).value;
}

inline constexpr std::size_t context_bytes = 28;
[[gnu::noinline]] inline void store_context(std::span<std::byte> bytes, std::size_t at,
                                            const wire_context& context) noexcept {
  field_writer fields(bytes, at);
  fields.put(context.session_id, 8);
  fields.put(context.epoch, 4);
  fields.put(context.round, 4);
  fields.put(context.base_length, 4);
  fields.put(context.prefix_hash, 8);
}
[[nodiscard]] inline wire_context load_context(std::span<const std::byte> bytes, std::size_t at) noexcept {
  field_reader fields(bytes, at);
  wire_context context;
  context.session_id = fields.u64();
  context.epoch = fields.u32();
  context.round = fields.u32();
  context.base_length = fields.u32();
  context.prefix_hash = fields.u64();
  return context;
}

[[nodiscard, gnu::noinline]] inline std::uint32_t checksum_of(const wire_context& context,
                                                              std::span<const std::byte> message) noexcept {
  std::byte unsent[context_bytes + 4];
  store_context(unsent, 0, context);
  numeric::store_le(unsent + context_bytes, message.size(), 4);
  std::uint32_t state = crc_update(~std::uint32_t{0}, unsent);
  state = crc_update(state, message.first(4));
  return ~crc_update(state, message.subspan(message_header_bytes));
}

}  // namespace detail

inline result<message_header> peek_header(std::span<const std::byte> message) noexcept {
  if (message.size() < message_header_bytes) return detail::codec_error(errc::truncated, message.size());
  detail::field_reader fields(message, 0);
  const std::uint8_t first = fields.u8();
  const unsigned kind = first & 15u;
  if (kind < static_cast<unsigned>(message_kind::hello) || kind > static_cast<unsigned>(message_kind::stop))
    return detail::codec_error(errc::unknown_message, 0);
  message_header header;
  header.kind = static_cast<message_kind>(kind);
  header.flags = static_cast<std::uint8_t>(first >> 4);
  header.round_low = fields.u8();
  header.base_length_low = fields.u16();
  header.checksum = fields.u32();
  return header;
}

inline std::uint32_t message_checksum(const wire_context& context, std::span<const std::byte> message) noexcept {
  return detail::checksum_of(context, message);
}

inline status check_message(const wire_context& context, std::span<const std::byte> message) noexcept {
  const result<message_header> header = peek_header(message);
  if (!header) return header.error();
  wire_context agreed = context;
  if (header->kind == message_kind::hello || header->kind == message_kind::resume) {
    const std::size_t at = header->kind == message_kind::hello ? message_header_bytes + 2 : message_header_bytes;
    if (message.size() < at + detail::context_bytes) return detail::codec_error(errc::truncated, message.size());
    agreed = detail::load_context(message, at);
  }
  if (message_checksum(agreed, message) != header->checksum) return detail::codec_error(errc::checksum_mismatch, 4);
  // The short copies of round and length are the context's; only a forger writes others under a good checksum.
  if (header->round_low != static_cast<std::uint8_t>(agreed.round & 255u))
    return detail::codec_error(errc::not_canonical, 1);
  if (header->base_length_low != static_cast<std::uint16_t>(agreed.base_length & 0xffffu))
    return detail::codec_error(errc::not_canonical, 2);
  return {};
}

namespace detail {

//! Where an encoder starts: the length is known, the bytes after it are padding.
[[nodiscard]] inline status begin_message(const wire_context& context, std::uint64_t bytes, std::uint32_t pad_to,
                                          std::span<std::byte> out) noexcept {
  if (context.transmission > 15) return codec_error(errc::field_out_of_range, 0);
  const std::uint64_t total = padded(bytes, pad_to);
  if (total > max_message_bytes) return codec_error(errc::message_too_large, total);
  if (out.size() < total) return codec_error(errc::output_too_small, total);
  return {};
}
//! Where it ends: padding, header, checksum. Returns the whole message.
inline std::span<std::byte> end_message(message_kind kind, const wire_context& context, std::uint64_t bytes,
                                        std::uint32_t pad_to, std::span<std::byte> out) noexcept {
  const auto total = static_cast<std::size_t>(padded(bytes, pad_to));
  for (auto at = static_cast<std::size_t>(bytes); at < total; ++at) out[at] = std::byte{0};
  numeric::store_le(out.data(),
                    static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(context.transmission) << 4, 1);
  numeric::store_le(out.data() + 1, context.round, 1);
  numeric::store_le(out.data() + 2, context.base_length, 2);
  numeric::store_le(out.data() + 4, message_checksum(context, out.first(total)), 4);
  return out.first(total);
}

//! check_message, and the kind that was expected.
[[nodiscard]] inline status open_message(message_kind kind, const wire_context& context,
                                         std::span<const std::byte> message) noexcept {
  const result<message_header> header = peek_header(message);
  if (!header) return header.error();
  if (header->kind != kind) return codec_error(errc::unexpected_message, 0);
  return check_message(context, message);
}
//! The end of a message whose own bytes are known: its length is that, padded, and the padding is zero.
[[nodiscard]] inline status close_message(std::uint64_t bytes, std::uint32_t pad_to,
                                          std::span<const std::byte> message) noexcept {
  const std::uint64_t total = padded(bytes, pad_to);
  if (message.size() < total) return codec_error(errc::truncated, message.size());
  if (message.size() > total) return codec_error(errc::trailing_bytes, total);
  for (auto at = static_cast<std::size_t>(bytes); at < message.size(); ++at) {
    if (message[at] != std::byte{0}) return codec_error(errc::padding_not_zero, at);
  }
  return {};
}

}  // namespace detail

SPECVERIFY_NAMESPACE_END

#endif
