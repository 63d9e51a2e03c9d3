// SPDX-License-Identifier: Apache-2.0
//! Where a side stands: the session, its epoch and round, and how much of the text it has.
#ifndef SPECVERIFY_SESSION_DETAIL_TEXT_PLACE_HPP
#define SPECVERIFY_SESSION_DETAIL_TEXT_PLACE_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/session/prefix_hash.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Rounds count from 1 to this one.
inline constexpr std::uint32_t last_round = std::uint32_t{1} << 31;

//! The round `step` ahead, or the last one. A text goes on in the last round: its positions tell its draws apart.
[[nodiscard]] constexpr std::uint32_t next_round(std::uint32_t round, std::uint32_t step = 1) noexcept {
  return round < last_round && step < last_round - round ? round + step : last_round;
}

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

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
