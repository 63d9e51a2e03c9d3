// SPDX-License-Identifier: Apache-2.0
//! What both state machines are made of: the queue of outputs, the memory of contexts, the numbers of transmissions.
#ifndef SPECVERIFY_SESSION_DETAIL_PORT_HPP
#define SPECVERIFY_SESSION_DETAIL_PORT_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/output.hpp>
#include <specverify/session/statistics.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Outputs in order. One input makes at most 8.
class output_queue {
 public:
  void push(const session_output& output) noexcept {
    SPECVERIFY_ASSERT(count_ < capacity, "too many outputs for one input");
    if (count_ < capacity) outputs_[(first_ + count_++) % capacity] = output;
  }
  [[nodiscard]] session_output pop() noexcept {
    if (count_ == 0) return {};
    const session_output output = outputs_[first_];
    first_ = (first_ + 1) % capacity;
    --count_;
    return output;
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

 private:
  static constexpr std::size_t capacity = 16;
  std::array<session_output, capacity> outputs_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

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
struct transmission_window {
  std::uint8_t last = 0;
  bool any = false;

  [[nodiscard]] arrival look(std::uint8_t number) const noexcept {
    if (!any) return arrival::fresh;
    const unsigned ahead = (16u + number - last) & 15u;
    if (ahead == 0) return arrival::duplicate;
    return ahead <= 8 ? arrival::fresh : arrival::late;
  }
  void accept(std::uint8_t number) noexcept {
    last = number;
    any = true;
  }
  //! Accepts a fresh number; says why not of another.
  [[nodiscard]] bool take(std::uint8_t number, errc& why) noexcept {
    const arrival seen = look(number);
    if (seen != arrival::fresh) {
      why = seen == arrival::duplicate ? errc::duplicate : errc::stale_round;
      return false;
    }
    accept(number);
    return true;
  }
};

//! A policy that may keep a token; always_send costs nothing.
template <class Skip>
inline constexpr bool gates = Skip::strength != guarantee::unconditional;

//! What drafts in this format under this rule can be worth. Laws need an honest drafter; a judge, and tokens that the
//! edge commits alone, are lossy.
[[nodiscard]] constexpr guarantee strength_of(const draft_format& format, wire_rule rule) noexcept {
  if (rule == wire_rule::semantic || format.attachments.max_skipped > 0) return guarantee::lossy;
  return format.format == law_format::token_only ? guarantee::unconditional : guarantee::honest_drafter;
}

[[nodiscard]] inline bool same_context(const wire_context& a, const wire_context& b) noexcept {
  return a.session_id == b.session_id && a.epoch == b.epoch && a.round == b.round && a.base_length == b.base_length &&
         a.prefix_hash == b.prefix_hash;
}

//! Checksum of a message under a context, with the header's visible half compared first.
[[nodiscard]] inline bool belongs_to(const wire_context& context, std::span<const std::byte> message,
                                     const message_header& header) noexcept {
  return (context.round & 0xFFu) == header.round_low && (context.base_length & 0xFFFFu) == header.base_length_low &&
         message_checksum(context, message) == header.checksum;
}

//! Counts a message that is not used, by its errc.
inline void count_fault(session_statistics& statistics, errc code) noexcept {
  switch (code) {
    case errc::duplicate:
      statistics.duplicates += 1;
      break;
    case errc::truncated:
      statistics.truncated += 1;
      break;
    case errc::stale_epoch:
    case errc::stale_round:
    case errc::base_length_mismatch:
    case errc::prefix_mismatch:
    case errc::unexpected_message:
    case errc::unknown_session:
      statistics.stale += 1;
      break;
    default:
      statistics.corrupt += 1;
      break;
  }
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
[[nodiscard]] inline status session_of(std::span<const std::byte> message, std::uint64_t& session_id) noexcept {
  message_header header;
  if (const status why = peek_header(message, header); !why.ok()) return why;
  if (header.kind == message_kind::hello) {
    hello_message hello;
    if (const status why = decode_hello(message, hello); !why.ok()) return why;
    session_id = hello.context.session_id;
    return {};
  }
  if (header.kind == message_kind::resume) {
    resume_message resume;
    if (const status why = decode_resume(message, resume); !why.ok()) return why;
    session_id = resume.context.session_id;
    return {};
  }
  return {errc::unexpected_message, part::session, 0};
}

SPECVERIFY_NAMESPACE_END

#endif
