// SPDX-License-Identifier: Apache-2.0
//! Frames messages on a TCP stream: three bytes with the length, least significant first, then the message. Every count
//! of sent bits in this program includes the three bytes, because they are part of the cost of a message.
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

//! Bytes that delivery adds to each datagram on a link that loses frames.
inline constexpr std::uint8_t delivery_check_bytes = 2;

//! Returns the bytes of a message of this size on the wire.
[[nodiscard]] constexpr std::uint64_t framed_bytes(std::size_t message_bytes) noexcept {
  return message_bytes + frame_prefix{}.size();
}

//! Splits a stream into frames, without a socket. The host fills `space` and calls `filled`, which may return a frame.
//! The memory grows in steps of 64 KiB with the received data, because a peer could announce a length and send nothing.
class frame_reader {
 public:
  static constexpr std::size_t step_bytes = std::size_t{1} << 16;

  //! Sets the maximum size of the next frames, which is at most max_frame_bytes.
  void accept_up_to(std::size_t bytes) noexcept { most_ = std::min(bytes, max_frame_bytes); }

  //! Returns the memory for the next bytes of the stream, or an empty span after a peer has announced too much.
  [[nodiscard]] std::span<std::byte> space() noexcept {
    if (too_long_) return {};
    if (!length_) return prefix_;
    return std::span(message_).subspan(received_);
  }
  //! Must be called when `space` is full. Returns a frame if the bytes in `space` complete it.
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
  //! Returns the last three bytes that were read as a length. If the stream has no frames, they are its first bytes.
  [[nodiscard]] const frame_prefix& last_prefix() const noexcept { return prefix_; }
  //! Returns the bytes of memory for the message in progress.
  [[nodiscard]] std::size_t memory() const noexcept { return message_.capacity(); }

 private:
  frame_prefix prefix_{};
  std::optional<std::size_t> length_;  // length of the message, once the prefix is complete
  frame message_;
  std::size_t received_ = 0;
  std::size_t most_ = max_frame_bytes;
  bool too_long_ = false;
};

}  // namespace edge_cloud

#endif
