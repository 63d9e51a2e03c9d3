// SPDX-License-Identifier: Apache-2.0
//! Whose message it is: the contexts of late, and the numbers of transmissions.
#ifndef SPECVERIFY_SESSION_DETAIL_CONTEXTS_HPP
#define SPECVERIFY_SESSION_DETAIL_CONTEXTS_HPP

#include <specverify/codec/message.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The contexts of the messages of late: tells a message that is late from one that is damaged.
class context_memory {
 public:
  void remember(const wire_context& context) noexcept {
    const wire_context plain = without_number(context);
    for (std::size_t i = 0; i < count_; ++i) {
      if (contexts_[i] == plain) return;
    }
    contexts_[next_] = plain;
    next_ = (next_ + 1) % capacity;
    if (count_ < capacity) ++count_;
  }
  //! The context under which the message's checksum holds, or none.
  [[nodiscard]] const wire_context* find(std::span<const std::byte> message,
                                         const message_header& header) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      const wire_context& context = contexts_[i];
      if ((context.round & 0xFFu) != header.round_low || (context.base_length & 0xFFFFu) != header.base_length_low)
        continue;
      if (message_checksum(context, message) == header.checksum) return &context;
    }
    return nullptr;
  }

 private:
  [[nodiscard]] static wire_context without_number(wire_context context) noexcept {
    context.transmission = 0;
    return context;
  }
  static constexpr std::size_t capacity = 16;
  std::array<wire_context, capacity> contexts_{};
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

enum class arrival : std::uint8_t { fresh, duplicate, late };

//! Transmissions are numbered mod 16, retries included, each direction by itself: the same number again is a copy that
//! the network made, a smaller one came late. A restarted sender begins a new epoch, which forgets the numbers.
class transmission_window {
 public:
  transmission_window() noexcept = default;
  //! As a journal kept it.
  transmission_window(std::uint8_t last, bool any) noexcept : last_(last), any_(any) {}

  [[nodiscard]] std::uint8_t last() const noexcept { return last_; }
  [[nodiscard]] bool any() const noexcept { return any_; }
  [[nodiscard]] arrival look(std::uint8_t number) const noexcept {
    if (!any_) return arrival::fresh;
    const unsigned ahead = (16u + number - last_) & 15u;
    if (ahead == 0) return arrival::duplicate;
    return ahead <= 8 ? arrival::fresh : arrival::late;
  }
  //! Accepts a fresh number; says why not of another.
  [[nodiscard]] bool take(std::uint8_t number, errc& why) noexcept {
    const arrival seen = look(number);
    if (seen != arrival::fresh) {
      why = seen == arrival::duplicate ? errc::duplicate : errc::stale_round;
      return false;
    }
    last_ = number;
    any_ = true;
    return true;
  }

 private:
  std::uint8_t last_ = 0;
  bool any_ = false;
};

//! Checksum of a message under a context, with the header's visible half compared first.
[[nodiscard]] inline bool belongs_to(const wire_context& context, std::span<const std::byte> message,
                                     const message_header& header) noexcept {
  return (context.round & 0xFFu) == header.round_low && (context.base_length & 0xFFFFu) == header.base_length_low &&
         message_checksum(context, message) == header.checksum;
}

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

//! Why a message that belongs to an earlier context is stale.
[[nodiscard]] inline errc why_stale(const wire_context& now, const wire_context& then) noexcept {
  if (then.epoch != now.epoch) return errc::stale_epoch;
  if (then.round != now.round) return errc::stale_round;
  return errc::base_length_mismatch;
}

}  // namespace detail

//! The session that a hello or resume message belongs to, for a host that serves several sessions over new connections.
//! Errors: those of decode_hello and decode_resume; unexpected_message for every other kind.
[[nodiscard]] inline result<std::uint64_t> session_of(std::span<const std::byte> message) noexcept {
  const result<message_header> header = peek_header(message);
  if (!header) return header.error();
  if (header->kind != message_kind::hello && header->kind != message_kind::resume)
    return status{errc::unexpected_message, part::session, 0};
  const result<wire_context> context = detail::greeting_context(message, header->kind);
  if (!context) return context.error();
  return context->session_id;
}

SPECVERIFY_NAMESPACE_END

#endif
