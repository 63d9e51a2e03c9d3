// SPDX-License-Identifier: Apache-2.0
//! Framing on a TCP stream: three bytes of length, least significant first, then the message. The three bytes are a
//! part of the cost of a message, so every bit count of this example includes them.
#ifndef EDGE_CLOUD_FRAME_HPP
#define EDGE_CLOUD_FRAME_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
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

//! Bytes of a datagram's check on a link that loses frames.
inline constexpr std::uint8_t delivery_check_bytes = 2;

//! Returns the bytes of a message of this size on the wire.
[[nodiscard]] constexpr std::uint64_t framed_bytes(std::size_t message_bytes) noexcept {
  return message_bytes + frame_prefix{}.size();
}

//! Splits a stream into frames, without a socket. The host fills `space` and calls `filled`, which may return a frame.
//! Memory grows with the received data and not with the announced length, by at most 64 KiB more.
class frame_reader {
 public:
  static constexpr std::size_t step_bytes = std::size_t{1} << 16;

  //! Sets the limit for the next frames, at most max_frame_bytes.
  void accept_up_to(std::size_t bytes) noexcept { most_ = std::min(bytes, max_frame_bytes); }

  //! Returns the memory for the next bytes of the stream. It is empty after a peer has announced too much.
  [[nodiscard]] std::span<std::byte> space() noexcept {
    if (too_long_) return {};
    if (!length_) return prefix_;
    return std::span(message_).subspan(received_);
  }
  //! Must be called when `space` is full. Returns a frame if that was the end of one.
  [[nodiscard]] std::optional<frame> filled() {
    if (too_long_) return std::nullopt;
    if (length_) {
      received_ = message_.size();
    } else {
      length_ = decode_prefix(prefix_);
      too_long_ = *length_ > most_;
      if (too_long_) return std::nullopt;
    }
    if (received_ < *length_) {
      message_.resize(received_ + std::min(step_bytes, *length_ - received_));
      return std::nullopt;
    }
    length_.reset();
    received_ = 0;
    return std::exchange(message_, {});
  }
  //! Returns whether a frame above the limit was announced. The rest of the stream cannot be parsed then.
  [[nodiscard]] bool too_long() const noexcept { return too_long_; }
  //! Returns the last three bytes at the position of a length. They are also the first bytes of a stream without
  //! frames.
  [[nodiscard]] const frame_prefix& last_prefix() const noexcept { return prefix_; }
  //! Returns the bytes of memory for the message in progress.
  [[nodiscard]] std::size_t memory() const noexcept { return message_.capacity(); }

 private:
  frame_prefix prefix_{};
  std::optional<std::size_t> length_;  // of the message, after the prefix is read
  frame message_;
  std::size_t received_ = 0;
  std::size_t most_ = max_frame_bytes;
  bool too_long_ = false;
};

}  // namespace edge_cloud

#endif
