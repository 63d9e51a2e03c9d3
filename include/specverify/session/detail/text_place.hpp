// SPDX-License-Identifier: Apache-2.0
//! Stores the position of one side in a session, and hashes of its text: one for the prefix at every 1024th token.
//! Without these hashes, a short message could make a side hash the whole text.
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

//! The largest round number. Rounds are numbered from 1.
inline constexpr std::uint32_t last_round = std::uint32_t{1} << 31;

//! Returns the round `step` rounds later, but at most the last round. A text can continue in the last round, because
//! random numbers also depend on the position.
[[nodiscard]] constexpr std::uint32_t next_round(std::uint32_t round, std::uint32_t step = 1) noexcept {
  return round < last_round && step < last_round - round ? round + step : last_round;
}

[[nodiscard]] inline bool all_tokens_below(std::uint32_t vocab_size, std::span<const token_id> text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [vocab_size](token_id token) { return static_cast<std::uint32_t>(token) < vocab_size; });
}

//! Returns whether a session may have this round. A round may exceed the length of the text, for example if text was
//! lost.
[[nodiscard]] constexpr bool is_round(std::uint32_t round) noexcept { return round != 0 && round <= last_round; }

//! A position in a session. Both sides have the first `agreed` of `length` tokens, and `hash` is the hash of these
//! tokens. The edge committed the later tokens on its own. In a cloud, `agreed` always equals `length`.
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
  //! Returns the position and round for the check of a message in the open round.
  [[nodiscard]] wire_place wire() const noexcept { return {hash, round}; }

  //! Moves to a text with `tokens` tokens, whose first `both` tokens hash to `their_hash`. The new text may be shorter
  //! or longer.
  void stand_at(std::uint32_t tokens, std::uint32_t both, std::uint64_t their_hash) noexcept {
    length = tokens;
    agreed = both;
    hash = their_hash;
  }
};

//! The rest of a text that a side sends because the other side has less text. Each output `send` has one chunk.
struct text_pieces {
  std::uint32_t at = 0;
  std::uint32_t end = 0;
  std::uint64_t hash = 0;  //!< hash of the text before `at`
  bool open = false;

  void begin(std::uint32_t from, std::uint64_t before, std::uint32_t to) noexcept { *this = {from, to, before, true}; }
  void close() noexcept { open = false; }
};

class prefix_steps {
 public:
  //! `longest`: maximum number of tokens of a text.
  explicit prefix_steps(std::size_t longest) : hashes_(longest / step + 1) { hashes_[0] = prefix_hash_seed; }

  //! Returns the hash of `text`. The first `known` tokens must hash to `hash`, and must be a prefix of the text of an
  //! earlier call.
  [[nodiscard]] std::uint64_t extend(std::span<const token_id> text, std::size_t known, std::uint64_t hash) noexcept {
    while (known < text.size()) {
      hash = extend_prefix_hash(hash, text[known++]);
      if (known % step == 0) hashes_[known / step] = hash;
    }
    return hash;
  }
  //! Returns the hash of `prefix`, which must be a prefix of a text passed to `extend`. Hashes at most step - 1 tokens.
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
