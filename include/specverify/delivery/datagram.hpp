// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes the datagrams of `delivery`. Data datagrams carry messages. Control datagrams begin and end an
//! incarnation (one run of the connection).
//!
//! Guarantees: the check detects datagrams of another incarnation, and very old ones, unless check_bytes is 0. Although
//!             a datagram contains only the low three bits of a number, the check covers the full numbers, both nonces,
//!             the direction and the message. O(bytes), no allocation.
//! See:        docs/algorithms/delivery.md, tests/unit/delivery/datagram_test.cpp
#ifndef SPECVERIFY_DELIVERY_DATAGRAM_HPP
#define SPECVERIFY_DELIVERY_DATAGRAM_HPP

#include <specverify/codec/detail/crc32c.hpp>
#include <specverify/core/numeric.hpp>
#include <specverify/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_TYPES_BEGIN

enum class datagram_kind : std::uint8_t { data, connect, accept, reset };

//! One incarnation of a connection: the values on which both sides have agreed.
struct incarnation {
  std::uint32_t client_nonce = 0;
  std::uint32_t server_nonce = 0;
  std::uint8_t check_bytes = 4;  //!< 0, 2 or 4
  bool without_timers = false;   //!< the transport loses nothing, so there are no retries
};

//! Connect, accept or reset.
struct control_datagram {
  datagram_kind kind = datagram_kind::connect;
  incarnation what{};       //!< connect: without the server's nonce; check_bytes is the client's minimum
  std::uint32_t named = 0;  //!< reset: CRC-32C of the unreadable datagram
};

//! A data datagram with full numbers.
struct data_datagram {
  std::uint32_t number = 0;        //!< number of the message; without a message, the number of the next message
  std::uint32_t acknowledged = 0;  //!< all messages with smaller numbers have arrived
  bool ask = false;                //!< the receiver must repeat messages that are not acknowledged
  std::span<const std::byte> message{};
};

inline constexpr std::uint32_t delivery_window = 4;      //!< maximum messages in flight
inline constexpr std::size_t max_datagram_overhead = 5;  //!< maximum bytes in addition to a message
inline constexpr std::size_t control_datagram_bytes = 13;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

[[nodiscard]] inline std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  return ~detail::crc_update(~std::uint32_t{0}, bytes);
}

//! Writes a control datagram to the front of `out`, and returns its bytes.
[[nodiscard]] inline std::span<const std::byte> write_control(
    const control_datagram& given, std::span<std::byte, control_datagram_bytes> out) noexcept {
  const bool accepts = given.kind == datagram_kind::accept, resets = given.kind == datagram_kind::reset;
  const std::size_t size = accepts ? 9 : 5;
  out[0] = static_cast<std::byte>(0x80u | (given.what.without_timers ? 0x10u : 0u) |
                                  (given.what.check_bytes / 2u) << 2 | static_cast<unsigned>(given.kind));
  numeric::store_le(out.data() + 1, resets ? given.named : given.what.client_nonce, 4);
  if (accepts) numeric::store_le(out.data() + 5, given.what.server_nonce, 4);
  numeric::store_le(out.data() + size, crc32c(out.first(size)), 4);
  return out.first(size + 4);
}

//! Reads a control datagram. Errors: truncated, checksum_mismatch, not_canonical (no correct peer sends these bytes).
[[nodiscard]] inline result<control_datagram> read_control(std::span<const std::byte> datagram) noexcept {
  const auto wrong = [](errc code) { return status{code, part::host, 0}; };
  if (datagram.size() < 9) return wrong(errc::truncated);
  const std::size_t size = datagram.size() - 4;
  if (numeric::load_le(datagram.data() + size, 4) != crc32c(datagram.first(size)))
    return wrong(errc::checksum_mismatch);
  const auto first = std::to_integer<unsigned>(datagram[0]);
  control_datagram made;
  made.kind = static_cast<datagram_kind>(first & 3u);
  made.what.check_bytes = static_cast<std::uint8_t>(2u * ((first >> 2) & 3u));
  made.what.without_timers = (first & 0x10u) != 0;
  const bool accepts = made.kind == datagram_kind::accept, resets = made.kind == datagram_kind::reset;
  if ((first & 0x60u) != 0 || made.kind == datagram_kind::data || made.what.check_bytes > 4 ||
      size != (accepts ? 9u : 5u))
    return wrong(errc::not_canonical);
  const auto word = static_cast<std::uint32_t>(numeric::load_le(datagram.data() + 1, 4));
  (resets ? made.named : made.what.client_nonce) = word;
  if (accepts) made.what.server_nonce = static_cast<std::uint32_t>(numeric::load_le(datagram.data() + 5, 4));
  return made;
}

//! Returns the check of a data datagram; only its low check_bytes bytes are sent.
[[nodiscard]] inline std::uint32_t data_check(const incarnation& of, bool from_client,
                                              const data_datagram& given) noexcept {
  std::byte unsent[18];
  numeric::store_le(unsent, of.client_nonce, 4);
  numeric::store_le(unsent + 4, of.server_nonce, 4);
  numeric::store_le(unsent + 8, given.number, 4);
  numeric::store_le(unsent + 12, given.acknowledged, 4);
  unsent[16] = static_cast<std::byte>(from_client ? 1 : 0);
  unsent[17] = static_cast<std::byte>(given.ask ? 1 : 0);
  return ~detail::crc_update(detail::crc_update(~std::uint32_t{0}, unsent), given.message);
}

//! Writes the head of a data datagram to `out`, which must have 1 + check_bytes bytes. The message follows the head.
inline void write_data_head(const incarnation& of, bool from_client, const data_datagram& given,
                            std::span<std::byte> out) noexcept {
  out[0] = static_cast<std::byte>((given.ask ? 0x40u : 0u) | (given.acknowledged & 7u) << 3 | (given.number & 7u));
  numeric::store_le(out.data() + 1, data_check(of, from_client, given), of.check_bytes);
}

//! Reads a data datagram of this incarnation. The low bits of a number mean the number nearest to `expected` (4 below
//! to 3 above) or `acknowledged` (3 below to 4 above). Errors: truncated; checksum_mismatch (another incarnation,
//! numbers too far away, or damage).
[[nodiscard]] inline result<data_datagram> read_data(const incarnation& of, bool from_client, std::uint32_t expected,
                                                     std::uint32_t acknowledged,
                                                     std::span<const std::byte> datagram) noexcept {
  const std::size_t head = std::size_t{1} + of.check_bytes;
  if (datagram.size() < head) return status{errc::truncated, part::host, 0};
  const auto nearest = [](std::uint32_t low, std::uint32_t from) { return from + ((low - from) & 7u); };
  const auto first = std::to_integer<std::uint32_t>(datagram[0]);
  data_datagram made;
  made.number = nearest(first & 7u, expected > 4 ? expected - 4 : 0);
  made.acknowledged = nearest((first >> 3) & 7u, acknowledged > 3 ? acknowledged - 3 : 0);
  made.ask = (first & 0x40u) != 0;
  made.message = datagram.subspan(head);
  const std::uint64_t all = (std::uint64_t{1} << 8 * of.check_bytes) - 1;
  if ((data_check(of, from_client, made) & all) != numeric::load_le(datagram.data() + 1, of.check_bytes))
    return status{errc::checksum_mismatch, part::host, 0};
  return made;
}

SPECVERIFY_NAMESPACE_END

#endif
