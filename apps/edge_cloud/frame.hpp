// SPDX-License-Identifier: Apache-2.0
//! Framing on a TCP stream: three bytes of length, least significant first, then the message.
//! The three bytes are part of what a message costs: every bit count of this example includes them.
#ifndef EDGE_CLOUD_FRAME_HPP
#define EDGE_CLOUD_FRAME_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace edge_cloud {

using frame = std::vector<std::byte>;
using frame_prefix = std::array<std::byte, 3>;

inline constexpr std::size_t max_frame_bytes = 4u << 20;  //!< a peer that announces more is disconnected

[[nodiscard]] constexpr frame_prefix encode_prefix(std::size_t message_bytes) noexcept {
  return {static_cast<std::byte>(message_bytes & 0xFFu), static_cast<std::byte>((message_bytes >> 8) & 0xFFu),
          static_cast<std::byte>((message_bytes >> 16) & 0xFFu)};
}

[[nodiscard]] constexpr std::size_t decode_prefix(const frame_prefix& prefix) noexcept {
  return std::to_integer<std::size_t>(prefix[0]) | (std::to_integer<std::size_t>(prefix[1]) << 8) |
         (std::to_integer<std::size_t>(prefix[2]) << 16);
}

//! Bytes that a message of this size occupies on the wire.
[[nodiscard]] constexpr std::uint64_t framed_bytes(std::size_t message_bytes) noexcept {
  return message_bytes + frame_prefix{}.size();
}

}  // namespace edge_cloud

#endif
