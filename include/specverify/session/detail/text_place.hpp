// SPDX-License-Identifier: Apache-2.0
//! The text of one side, with hashes of prefixes at every 1024th token. Without them, a short message could make a side
//! hash the whole text.
#ifndef SPECVERIFY_SESSION_DETAIL_TEXT_PLACE_HPP
#define SPECVERIFY_SESSION_DETAIL_TEXT_PLACE_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/codec/prefix_hash.hpp>
#include <specverify/core/detail/memory.hpp>
#include <specverify/verify/verdict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The largest round; rounds count from 1.
inline constexpr std::uint32_t last_round = std::uint32_t{1} << 31;

//! The round `step` ahead, or the last one. A text can continue in the last round, because draws also depend on
//! positions.
[[nodiscard]] constexpr std::uint32_t next_round(std::uint32_t round, std::uint32_t step = 1) noexcept {
  return round < last_round && step < last_round - round ? round + step : last_round;
}

[[nodiscard]] inline bool all_tokens_below(std::uint32_t vocab_size, std::span<const token_id> text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [vocab_size](token_id token) { return static_cast<std::uint32_t>(token) < vocab_size; });
}

//! Returns whether a session may have this round. The round can exceed the length, for example if text was lost.
[[nodiscard]] constexpr bool is_round(std::uint32_t round) noexcept { return round != 0 && round <= last_round; }

//! Both sides have the first `agreed` of `length` tokens; `hash` covers these. The edge committed the later tokens on
//! its own. At a cloud, `agreed` is always `length`.
struct text_place {
  std::uint64_t session_id = 0;
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
  //! Position and round for the check of a message in the open round.
  [[nodiscard]] wire_place wire() const noexcept { return {hash, round}; }

  //! Moves to a text whose first `both` tokens hash to `their_hash`; it may be shorter or longer.
  void stand_at(std::uint32_t tokens, std::uint32_t both, std::uint64_t their_hash) noexcept {
    length = tokens;
    agreed = both;
    hash = their_hash;
  }
};

//! The text that a side sends because the other side has less text. It is encoded in chunks, one per call of `next`.
struct text_pieces {
  std::uint32_t at = 0;
  std::uint32_t end = 0;
  std::uint64_t hash = 0;  //!< of the text before `at`
  bool open = false;

  void begin(std::uint32_t from, std::uint64_t before, std::uint32_t to) noexcept { *this = {from, to, before, true}; }
  void close() noexcept { open = false; }
};

class prefix_steps {
 public:
  //! `longest`: tokens of the longest text.
  explicit prefix_steps(std::size_t longest) : hashes_(longest / step + 1) { hashes_[0] = prefix_hash_seed; }

  //! Hash of `text`. Its first `known` tokens must hash to `hash`, and must have been extended before.
  [[nodiscard]] std::uint64_t extend(std::span<const token_id> text, std::size_t known, std::uint64_t hash) noexcept {
    while (known < text.size()) {
      hash = extend_prefix_hash(hash, text[known++]);
      if (known % step == 0) hashes_[known / step] = hash;
    }
    return hash;
  }
  //! Hash of `prefix`, which must be a prefix of the extended text. Hashes at most step - 1 tokens.
  [[nodiscard]] std::uint64_t at(std::span<const token_id> prefix) const noexcept {
    const std::size_t whole = prefix.size() / step;
    return prefix_hash(prefix.subspan(whole * step), hashes_[whole]);
  }

 private:
  static constexpr std::size_t step = 1024;
  untouched_memory<std::uint64_t> hashes_;  // entry i: hash of the first i * step tokens
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
