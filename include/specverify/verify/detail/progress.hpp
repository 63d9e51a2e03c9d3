// SPDX-License-Identifier: Apache-2.0
//! Builds a verdict step by step, on the CPU and the GPU: limits the number of drafts and rows of a round, accepts a
//! draft, and ends the round.
#ifndef SPECVERIFY_VERIFY_DETAIL_PROGRESS_HPP
#define SPECVERIFY_VERIFY_DETAIL_PROGRESS_HPP

#include <specverify/verify/verdict.hpp>

#include <cstddef>
#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns the maximum number of drafts that a round can test.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr std::uint32_t length_of_round(
    std::uint32_t drafted, const round_limits& limits) noexcept {
  return drafted < limits.remaining_budget ? drafted : limits.remaining_budget;
}
//! Returns the maximum number of rows that a round can need. `length` is the result of `length_of_round`. If every
//! draft is accepted, the bonus token needs one more row, unless the budget is used up or the limits allow no bonus
//! token. Without drafts, a token always follows.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr std::uint32_t rows_of_round(
    std::uint32_t length, const round_limits& limits) noexcept {
  return length < limits.remaining_budget && (limits.bonus || length == 0) ? length + 1 : length;
}

[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool ends_text(const round_limits& limits,
                                                                       token_id token) noexcept {
  for (std::size_t i = 0; i < limits.stop_count; ++i) {
    if (limits.stop_tokens[i] == token) return true;
  }
  return false;
}

//! Accepts a draft. Returns true if this draft ends the round.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool accept_draft(verdict& made, const round_limits& limits,
                                                                          token_id token) noexcept {
  ++made.accepted;
  ++made.counters.accepted;
  made.commit_length = made.accepted;
  if (ends_text(limits, token)) {
    made.stop = stop_reason::stop_token;
    return true;
  }
  if (made.commit_length >= limits.remaining_budget) {
    made.stop = stop_reason::budget;
    return true;
  }
  return false;
}

//! Ends the round with `token`, which follows the accepted drafts.
SPECVERIFY_HD SPECVERIFY_INLINE constexpr void finish_round(verdict& made, const round_limits& limits, token_id token,
                                                            token_source source) noexcept {
  made.next_token = token;
  made.source = source;
  made.commit_length = made.accepted + 1;
  if (ends_text(limits, token)) {
    made.stop = stop_reason::stop_token;
  } else if (made.commit_length >= limits.remaining_budget) {
    made.stop = stop_reason::budget;
  }
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
