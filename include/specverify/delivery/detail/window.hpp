// SPDX-License-Identifier: Apache-2.0
//! Stores the messages that the peer has not acknowledged yet.
#ifndef SPECVERIFY_DELIVERY_DETAIL_WINDOW_HPP
#define SPECVERIFY_DELIVERY_DETAIL_WINDOW_HPP

#include <specverify/core/detail/memory.hpp>
#include <specverify/delivery/datagram.hpp>

#include <algorithm>
#include <array>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Messages are numbered from 0. Messages below `acknowledged()` have arrived; messages below `end()` were pushed.
class send_window {
 public:
  //! A message, in memory that has room for a head before it.
  struct entry {
    std::uint32_t number = 0;
    std::span<std::byte> message{};
    bool again = false;  //!< has been sent before
  };

  explicit send_window(std::uint32_t largest)
      : each_(std::size_t{largest} + max_datagram_overhead), space_(each_ * delivery_window) {}

  [[nodiscard]] std::uint32_t end() const noexcept { return end_; }
  [[nodiscard]] std::uint32_t acknowledged() const noexcept { return acknowledged_; }
  //! Messages with a number below `sent()` were sent.
  [[nodiscard]] std::uint32_t sent() const noexcept { return sent_; }
  [[nodiscard]] bool is_empty() const noexcept { return end_ == acknowledged_; }
  [[nodiscard]] bool is_full() const noexcept { return end_ - acknowledged_ == delivery_window; }
  //! Returns whether a message must be sent.
  [[nodiscard]] bool is_due() const noexcept { return next_ != end_; }

  void clear() noexcept { end_ = acknowledged_ = next_ = sent_ = 0; }
  void push(std::span<const std::byte> message) noexcept {
    const entry made = at(end_++, message.size());
    std::copy(message.begin(), message.end(), made.message.begin());
  }
  //! Records that all messages below `numbers` have arrived. Returns false if this is not new or is impossible.
  bool acknowledge(std::uint32_t numbers) noexcept {
    if (numbers - acknowledged_ - 1 >= end_ - acknowledged_) return false;
    acknowledged_ = numbers;
    if (next_ < acknowledged_) next_ = acknowledged_;
    return true;
  }
  //! Repeats all messages in flight.
  void repeat() noexcept { next_ = acknowledged_; }
  //! Returns the next message to send.
  [[nodiscard]] entry take() noexcept {
    const entry next = at(next_, sizes_[next_ % delivery_window]);
    if (sent_ < ++next_) sent_ = next_;
    return next;
  }

 private:
  [[nodiscard]] entry at(std::uint32_t number, std::size_t size) noexcept {
    const std::uint32_t place = number % delivery_window;
    sizes_[place] = size;
    return {number, {space_.data() + each_ * place + max_datagram_overhead, size}, number < sent_};
  }

  std::size_t each_;
  untouched_memory<std::byte> space_;
  std::array<std::size_t, delivery_window> sizes_{};
  std::uint32_t end_ = 0;
  std::uint32_t acknowledged_ = 0;
  std::uint32_t next_ = 0;  // number of the next message to send
  std::uint32_t sent_ = 0;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
