// SPDX-License-Identifier: Apache-2.0
//! Where a side stands: the session, its epoch and round, and how much of the text it has.
#ifndef SPECVERIFY_SESSION_DETAIL_TEXT_PLACE_HPP
#define SPECVERIFY_SESSION_DETAIL_TEXT_PLACE_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/session/prefix_hash.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstdint>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Rounds count from 1 to this one.
inline constexpr std::uint32_t last_round = std::uint32_t{1} << 31;

//! The round `step` ahead, or the last one. A text goes on in the last round: its positions tell its draws apart.
[[nodiscard]] constexpr std::uint32_t next_round(std::uint32_t round, std::uint32_t step = 1) noexcept {
  return round < last_round && step < last_round - round ? round + step : last_round;
}

//! Of `length()` tokens both sides have the first `agreed()`, and `hash()` is of these; the edge committed the rest
//! alone (the cloud agrees on all that it has).
class text_place {
 public:
  text_place() noexcept = default;
  explicit text_place(std::uint64_t session_id, std::uint32_t epoch = 0, std::uint32_t round = 0,
                      std::uint32_t prompt_length = 0) noexcept
      : session_id_(session_id), epoch_(epoch), round_(round), prompt_length_(prompt_length) {}

  [[nodiscard]] std::uint64_t session_id() const noexcept { return session_id_; }
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] std::uint32_t round() const noexcept { return round_; }
  [[nodiscard]] std::uint32_t prompt_length() const noexcept { return prompt_length_; }
  [[nodiscard]] std::uint32_t length() const noexcept { return length_; }
  [[nodiscard]] std::uint32_t agreed() const noexcept { return agreed_; }
  [[nodiscard]] std::uint32_t pending() const noexcept { return length_ - agreed_; }
  [[nodiscard]] bool has_prompt() const noexcept { return length_ >= prompt_length_; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] stop_reason stop() const noexcept { return stop_; }
  [[nodiscard]] bool is_over() const noexcept { return stop_ != stop_reason::none; }
  [[nodiscard]] bool is_cancelled() const noexcept { return stop_ == stop_reason::cancelled; }

  //! The context of the open round, and of another round or prefix of this epoch.
  [[nodiscard]] wire_context context(std::uint8_t transmission = 0) const noexcept {
    return context_at(round_, agreed_, hash_, transmission);
  }
  [[nodiscard]] wire_context context_at(std::uint32_t round, std::uint32_t length, std::uint64_t hash,
                                        std::uint8_t transmission = 0) const noexcept {
    return {session_id_, epoch_, round, length, hash, transmission};
  }

  //! The context of what ends a session: session and epoch, whatever the text is.
  [[nodiscard]] wire_context end_context(std::uint8_t transmission = 0) const noexcept {
    return {session_id_, epoch_, 0, 0, 0, transmission};
  }

  //! A session is named, and nothing is known about it.
  void meet(std::uint64_t session_id, std::uint32_t epoch) noexcept {
    session_id_ = session_id;
    epoch_ = epoch;
  }
  void begin_epoch(std::uint32_t epoch) noexcept { epoch_ = epoch; }
  void begin_round(std::uint32_t round) noexcept { round_ = round; }
  void end(stop_reason why) noexcept { stop_ = why; }
  //! Both sides have all of a text of `length` tokens with this hash, also those that were committed alone.
  void agree(std::uint32_t length, std::uint64_t hash) noexcept { stand_at(length, length, hash); }
  //! One more token that the other side does not have yet.
  void commit_alone() noexcept { length_ += 1; }
  //! Goes back to, or on from, a text whose first `agreed` tokens hash to `hash`.
  void stand_at(std::uint32_t length, std::uint32_t agreed, std::uint64_t hash) noexcept {
    length_ = length;
    agreed_ = agreed;
    hash_ = hash;
  }

 private:
  std::uint64_t session_id_ = 0;
  std::uint64_t hash_ = prefix_hash_seed;
  std::uint32_t epoch_ = 0;
  std::uint32_t round_ = 0;
  std::uint32_t prompt_length_ = 0;
  std::uint32_t length_ = 0;
  std::uint32_t agreed_ = 0;
  stop_reason stop_ = stop_reason::none;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
