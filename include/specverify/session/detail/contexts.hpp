// SPDX-License-Identifier: Apache-2.0
//! Where a side stands in a session, and whose message it is that arrived: the contexts of late, the numbers of
//! transmissions, and hashes of prefixes of the text at every 1024th token, so that a short message cannot make a side
//! hash the whole.
#ifndef SPECVERIFY_SESSION_DETAIL_CONTEXTS_HPP
#define SPECVERIFY_SESSION_DETAIL_CONTEXTS_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/codec/prefix_hash.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/verify/verdict.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The epoch `step` ahead, or the last one.
[[nodiscard]] constexpr std::uint32_t next_epoch(std::uint32_t epoch, std::uint32_t step = 1) noexcept {
  return epoch < max_wire_epoch && step < max_wire_epoch - epoch ? epoch + step : max_wire_epoch;
}

//! Rounds count from 1 to this one.
inline constexpr std::uint32_t last_round = std::uint32_t{1} << 31;

//! The round `step` ahead, or the last one. A text goes on in the last round: its positions tell its draws apart.
[[nodiscard]] constexpr std::uint32_t next_round(std::uint32_t round, std::uint32_t step = 1) noexcept {
  return round < last_round && step < last_round - round ? round + step : last_round;
}

[[nodiscard]] inline bool all_tokens_below(std::uint32_t vocab_size, std::span<const token_id> text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [vocab_size](token_id token) { return static_cast<std::uint32_t>(token) < vocab_size; });
}

//! Of a life that has begun.
[[nodiscard]] constexpr bool is_epoch(std::uint32_t epoch) noexcept { return epoch != 0 && epoch <= max_wire_epoch; }

//! Of a session. A text of which a part was lost can have more rounds than tokens.
[[nodiscard]] constexpr bool is_round(std::uint32_t round) noexcept { return round != 0 && round <= last_round; }

//! Of `length` tokens both sides have the first `agreed`, and `hash` is of these; the edge committed the rest alone
//! (the cloud agrees on all that it has).
struct text_place {
  std::uint64_t session_id = 0;
  std::uint32_t epoch = 0;
  std::uint32_t round = 0;
  std::uint32_t prompt_length = 0;
  std::uint32_t length = 0;
  std::uint32_t agreed = 0;
  std::uint64_t hash = prefix_hash_seed;
  stop_reason stop = stop_reason::none;

  [[nodiscard]] std::uint32_t pending() const noexcept { return length - agreed; }
  [[nodiscard]] bool has_prompt() const noexcept { return length >= prompt_length; }
  [[nodiscard]] bool is_over() const noexcept { return stop != stop_reason::none; }
  [[nodiscard]] bool is_cancelled() const noexcept { return stop == stop_reason::cancelled; }

  //! The context of the open round, and of another round or prefix of this epoch.
  [[nodiscard]] wire_context context(std::uint8_t transmission = 0) const noexcept {
    return context_at(round, agreed, hash, transmission);
  }
  [[nodiscard]] wire_context context_at(std::uint32_t of_round, std::uint32_t of_length, std::uint64_t of_hash,
                                        std::uint8_t transmission = 0) const noexcept {
    return {session_id, epoch, of_round, of_length, of_hash, transmission};
  }
  //! The context of what ends a session: session and epoch, whatever the text is.
  [[nodiscard]] wire_context end_context(std::uint8_t transmission = 0) const noexcept {
    return {session_id, epoch, 0, 0, 0, transmission};
  }

  //! Goes back to, or on from, a text whose first `both` tokens hash to `their_hash`.
  void stand_at(std::uint32_t tokens, std::uint32_t both, std::uint64_t their_hash) noexcept {
    length = tokens;
    agreed = both;
    hash = their_hash;
  }
};

class prefix_steps {
 public:
  //! `longest`: tokens of the longest text.
  explicit prefix_steps(std::size_t longest) : hashes_(longest / step + 1) { hashes_[0] = prefix_hash_seed; }

  //! Hash of `text`, whose first `known` tokens hash to `hash` and were extended before.
  [[nodiscard]] std::uint64_t extend(std::span<const token_id> text, std::size_t known, std::uint64_t hash) noexcept {
    while (known < text.size()) {
      hash = extend_prefix_hash(hash, text[known++]);
      if (known % step == 0) hashes_[known / step] = hash;
    }
    return hash;
  }
  //! Hash of `prefix`, a prefix of the extended text. Hashes at most step - 1 tokens.
  [[nodiscard]] std::uint64_t at(std::span<const token_id> prefix) const noexcept {
    const std::size_t whole = prefix.size() / step;
    return prefix_hash(prefix.subspan(whole * step), hashes_[whole]);
  }

 private:
  static constexpr std::size_t step = 1024;
  untouched_memory<std::uint64_t> hashes_;  // entry i: hash of the first i * step tokens
};

//! A message as it arrived, with its header, which says whom it may belong to.
struct incoming : message_header {
  std::span<const std::byte> bytes{};
};

//! Checksum of a message under a context, with the header's visible half compared first.
[[nodiscard]] bool belongs_to(const wire_context& context, const incoming& message) noexcept;

//! The context that a greeting which no decoder takes begins with: its checksum holds, so it is there, whatever the
//! version is.
[[nodiscard]] wire_context named_by(const incoming& message) noexcept;

//! A refusal. A code that no peer knows travels as engine_failed.
[[nodiscard]] result<std::span<std::byte>> encode_refusal(const wire_context& context, status reason,
                                                          std::span<std::byte> out) noexcept;

//! Of what ends the session for the life of the edge that asked: one without an epoch is known by its nonce.
[[nodiscard]] constexpr wire_context end_of(const wire_context& asked) noexcept {
  return {asked.session_id, asked.epoch, 0, 0, asked.epoch == 0 ? asked.prefix_hash : 0, 0};
}

//! The contexts of the messages of late: tells a message that is late from one that is damaged.
class context_memory {
 public:
  void remember(wire_context context) noexcept {
    context.transmission = 0;
    const auto known = contexts_.begin() + static_cast<std::ptrdiff_t>(count_);
    if (std::find(contexts_.begin(), known, context) != known) return;
    contexts_[next_] = context;
    next_ = (next_ + 1) % contexts_.size();
    if (count_ < contexts_.size()) ++count_;
  }
  //! The context under which the message's checksum holds, or none.
  [[nodiscard]] const wire_context* find(const incoming& message) const noexcept;
  //! One whose epoch it ends, or none: of a stop, and of a refusal that ends a session.
  [[nodiscard]] const wire_context* find_end(const incoming& message) const noexcept;

 private:
  std::array<wire_context, 16> contexts_{};
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

//! Refusals of damage, and answers to stale questions, that a cloud sends between two journal records.
inline constexpr std::uint8_t refusals_per_record = 4;

//! Transmissions are numbered mod 16, retries included, each direction by itself: the same number again is a copy that
//! the network made, a smaller one came late. A new epoch of the edge forgets the numbers, at both ends. Refusals take
//! none: those after which a question is asked again name it by its checksum, the others end the session.
struct transmission_window {
  std::uint8_t last = 0;
  bool any = false;
  bool known = false;  //!< whose numbers count

  //! ok: a fresh number. Else duplicate or stale_round.
  [[nodiscard]] errc classify(std::uint8_t number) const noexcept {
    const unsigned ahead = (16u + number - last) & 15u;
    if (!any || (ahead != 0 && ahead <= 8)) return errc::ok;
    return ahead == 0 ? errc::duplicate : errc::stale_round;
  }
  //! Of a message whose context alone says that it is new.
  void note(std::uint8_t number) noexcept {
    last = number;
    any = true;
  }
  //! Of what says something new. Where it follows the last one, it is known whose numbers count.
  void note_new(std::uint8_t number) noexcept {
    known = any && ((16u + number - last) & 15u) == 1;
    note(number);
  }
  //! Of what may have been said before: a copy, or another life that counts from elsewhere.
  void note_again(std::uint8_t number) noexcept {
    note(number);
    known = false;
  }
  //! What was sent before the message of this number, which is not sent yet, is late from now on.
  void pass(std::uint8_t next) noexcept { static_cast<void>(take(static_cast<std::uint8_t>((next + 15) & 15))); }
  //! Accepts a fresh number. Errors: those of `classify`.
  [[nodiscard]] errc take(std::uint8_t number) noexcept {
    const errc why = classify(number);
    if (why == errc::ok) note(number);
    return why;
  }
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#if SPECVERIFY_BODIES
#include <specverify/codec/message.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] SPECVERIFY_BODY bool belongs_to(const wire_context& context, const incoming& message) noexcept {
  return (context.round & 0xFFu) == message.round_low && (context.base_length & 0xFFFFu) == message.base_length_low &&
         message_checksum(context, message.bytes) == message.checksum;
}

[[nodiscard, gnu::cold]] SPECVERIFY_BODY result<std::span<std::byte>> encode_refusal(
    const wire_context& context, status reason, std::span<std::byte> out) noexcept {
  const auto bytes = encode_refuse(context, {reason}, out);
  return bytes ? bytes : encode_refuse(context, {{errc::engine_failed, part::host, 0}}, out);
}

[[nodiscard]] SPECVERIFY_BODY wire_context named_by(const incoming& message) noexcept {
  const std::size_t version = message.kind == message_kind::hello ? sizeof(hello_message::version) : 0;
  return load_context(message.bytes, message_header_bytes + version);
}

SPECVERIFY_BODY const wire_context* context_memory::find_end(const incoming& message) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (belongs_to(end_of(contexts_[i]), message)) return &contexts_[i];
  }
  return nullptr;
}

SPECVERIFY_BODY const wire_context* context_memory::find(const incoming& message) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (belongs_to(contexts_[i], message)) return &contexts_[i];
  }
  return nullptr;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#endif

#endif
