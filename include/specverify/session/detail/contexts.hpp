// SPDX-License-Identifier: Apache-2.0
//! Whose message it is: the contexts of late, and the numbers of transmissions.
#ifndef SPECVERIFY_SESSION_DETAIL_CONTEXTS_HPP
#define SPECVERIFY_SESSION_DETAIL_CONTEXTS_HPP

#include <specverify/codec/message_types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Of what ends the session for the life of the edge that asked: one without an epoch is known by its nonce.
[[nodiscard]] constexpr wire_context end_of(const wire_context& asked) noexcept {
  return {asked.session_id, asked.epoch, 0, 0, asked.epoch == 0 ? asked.prefix_hash : 0, 0};
}

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
                                         const message_header& header) const noexcept;
  //! One whose epoch it ends, or none: of a stop, and of a refusal that ends a session.
  [[nodiscard]] const wire_context* find_end(std::span<const std::byte> message,
                                             const message_header& header) const noexcept;

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

//! Refusals of damage, and answers to stale questions, that a cloud sends between two journal records.
inline constexpr std::uint8_t refusals_per_record = 4;

//! The epoch `step` ahead, or the last one.
[[nodiscard]] constexpr std::uint32_t next_epoch(std::uint32_t epoch, std::uint32_t step = 1) noexcept {
  return epoch < max_wire_epoch && step < max_wire_epoch - epoch ? epoch + step : max_wire_epoch;
}

//! Transmissions are numbered mod 16, retries included, each direction by itself: the same number again is a copy that
//! the network made, a smaller one came late. A new epoch of the edge forgets the numbers, at both ends. Refusals take
//! none: those after which a question is asked again name it by its checksum, the others end the session.
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
  //! Of a message whose context alone says that it is new.
  void note(std::uint8_t number) noexcept {
    last_ = number;
    any_ = true;
  }
  //! Of what says something new. Where it follows the last one, it is known whose numbers count.
  void note_new(std::uint8_t number) noexcept {
    known_ = any_ && ((16u + number - last_) & 15u) == 1;
    note(number);
  }
  //! Of what may have been said before: a copy, or another life that counts from elsewhere.
  void note_again(std::uint8_t number) noexcept {
    note(number);
    known_ = false;
  }
  void doubt() noexcept { known_ = false; }
  [[nodiscard]] bool is_known() const noexcept { return known_; }
  //! What was sent before the message of this number, which is not sent yet, is late from now on.
  void pass(std::uint8_t next) noexcept {
    const auto before = static_cast<std::uint8_t>((next + 15) & 15);
    if (look(before) == arrival::fresh) note(before);
  }
  //! ok: a fresh number. Else duplicate or stale_round.
  [[nodiscard]] errc classify(std::uint8_t number) const noexcept {
    const arrival seen = look(number);
    if (seen == arrival::fresh) return errc::ok;
    return seen == arrival::duplicate ? errc::duplicate : errc::stale_round;
  }
  //! Accepts a fresh number. Errors: those of `classify`.
  [[nodiscard]] errc take(std::uint8_t number) noexcept {
    const errc why = classify(number);
    if (why == errc::ok) note(number);
    return why;
  }

 private:
  std::uint8_t last_ = 0;
  bool any_ = false;
  bool known_ = false;
};

//! A refusal. A code that no peer knows travels as engine_failed.
[[nodiscard]] result<std::span<std::byte>> encode_refusal(const wire_context& context, status reason,
                                                          std::span<std::byte> out) noexcept;

//! Checksum of a message under a context, with the header's visible half compared first.
[[nodiscard]] bool belongs_to(const wire_context& context, std::span<const std::byte> message,
                              const message_header& header) noexcept;

//! The context that a greeting which no decoder takes begins with: its checksum holds, so it is there, whatever the
//! version is.
[[nodiscard]] wire_context named_by(std::span<const std::byte> message, message_kind kind) noexcept;

//! Why a message that belongs to an earlier context is stale.
[[nodiscard]] inline errc why_stale(const wire_context& now, const wire_context& then) noexcept {
  if (then.epoch != now.epoch) return errc::stale_epoch;
  if (then.round != now.round) return errc::stale_round;
  return errc::base_length_mismatch;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#if SPECVERIFY_BODIES
#include <specverify/codec/message.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] SPECVERIFY_BODY bool belongs_to(const wire_context& context, std::span<const std::byte> message,
                                              const message_header& header) noexcept {
  return (context.round & 0xFFu) == header.round_low && (context.base_length & 0xFFFFu) == header.base_length_low &&
         message_checksum(context, message) == header.checksum;
}

[[nodiscard, gnu::cold]] SPECVERIFY_BODY result<std::span<std::byte>> encode_refusal(
    const wire_context& context, status reason, std::span<std::byte> out) noexcept {
  const auto bytes = encode_refuse(context, {reason}, out);
  return bytes ? bytes : encode_refuse(context, {{errc::engine_failed, part::host, 0}}, out);
}

[[nodiscard]] SPECVERIFY_BODY wire_context named_by(std::span<const std::byte> message, message_kind kind) noexcept {
  return load_context(message,
                      message_header_bytes + (kind == message_kind::hello ? sizeof(hello_message::version) : 0));
}

SPECVERIFY_BODY const wire_context* context_memory::find_end(std::span<const std::byte> message,
                                                             const message_header& header) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (belongs_to(end_of(contexts_[i]), message, header)) return &contexts_[i];
  }
  return nullptr;
}

SPECVERIFY_BODY const wire_context* context_memory::find(std::span<const std::byte> message,
                                                         const message_header& header) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (belongs_to(contexts_[i], message, header)) return &contexts_[i];
  }
  return nullptr;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#endif

#endif
