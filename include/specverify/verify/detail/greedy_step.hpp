// SPDX-License-Identifier: Apache-2.0
//! Code shared by the rules that compare each draft with one token of the target: a loop over the rows, the argmax of a
//! row, and the log-probability of a committed token.
#ifndef SPECVERIFY_VERIFY_DETAIL_GREEDY_STEP_HPP
#define SPECVERIFY_VERIFY_DETAIL_GREEDY_STEP_HPP

#include <specverify/row/argmax.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/verify/detail/round.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns the argmax of a row. On an error, the round also stores the error.
template <class Policy, class Rows>
[[nodiscard]] result<argmax_result> read_argmax(Policy policy, const given_row<Rows>& given, round& round) noexcept {
  const result<argmax_result> found = argmax(policy, given.row, given.transform);
  if (found) round.row_read(given.index);
  if (!found) round.fail_row(found.error(), given.index);
  return found;
}

//! Stores ln p of the token that is committed on a row, if the request asks for log-probabilities. Returns false on an
//! error.
template <class Policy, class Rows>
[[nodiscard]] bool keep_log_probability(Policy policy, const given_row<Rows>& given, token_id token, round& round,
                                        workspace& scratch) noexcept {
  if (!round.wants_log_probabilities()) return true;
  const workspace_scope scope(scratch);
  read_request wanted;
  wanted.exact_normaliser = true;
  const auto row = read_row(policy, given.row, given.transform, wanted, scratch);
  ++round.counters().exact_normalisers;
  return round.keep_log_probability(given.index, row.ok() ? row->log_probability(token) : result<double>(row.error()));
}

//! Returns whether the token is in the target's vocabulary.
[[nodiscard]] constexpr bool in_vocabulary(token_id token, std::uint32_t vocab_size) noexcept {
  return token >= 0 && static_cast<std::uint32_t>(token) < vocab_size;
}

//! The token that a rule picks from a row.
struct picked_token {
  token_id token = no_token;
  bool near_tie = false;
};

//! Accepts drafts as long as each equals the token that `pick(given row, round)` returns. The first picked token that
//! differs from its draft ends the round. If `pick` returns an error, it must have stored the error in the round.
template <class Policy, class Draft, class Rows, class Pick>
[[nodiscard]] result<verdict> verify_picks(Policy policy, std::span<const Draft> drafts, const Rows& rows,
                                           const verify_request& request, const Pick& pick,
                                           workspace& scratch) noexcept {
  round round(drafts, rows, request);
  const workspace_scope scope(scratch);
  if (round.failed() || !round.take_log_probabilities(scratch)) return round.done();
  for (std::uint32_t index = 0; index < round.rows(); ++index) {
    const bool bonus = index == round.length();
    const auto given = ask_row(rows, index);
    const result<picked_token> best = pick(given, round);
    if (!best) break;
    if (best->near_tie) ++round.counters().near_ties;
    if (!keep_log_probability(policy, given, best->token, round, scratch)) break;
    if (bonus) {
      round.finish(best->token, token_source::bonus);
      break;
    }
    if (round.forced(index)) {
      ++round.counters().forced_rejects;
      round.finish(best->token, token_source::forced);
      break;
    }
    const token_id token = token_of(drafts[index]);
    ++round.counters().evaluated;
    if (!in_vocabulary(token, given.row.valid_size())) ++round.counters().invalid_tokens;
    if (token != best->token) {
      round.finish(best->token, token_source::residual);
      break;
    }
    if (round.accept(token)) break;
  }
  return round.done();
}

//! Returns whether the mask allows the token and the token has no bias of -infinity. `token` must not be negative.
//! O(log bias_ids).
[[nodiscard]] inline bool allowed(const row_transform& transform, token_id token) noexcept {
  const auto word = static_cast<std::size_t>(token) / 64;
  if (!transform.mask_words.empty() &&
      (word >= transform.mask_words.size() || (transform.mask_words[word] >> (token % 64) & 1u) == 0))
    return false;
  std::size_t low = 0, high = transform.bias_ids.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (transform.bias_ids[middle] < token) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == transform.bias_ids.size() || transform.bias_ids[low] != token) return true;
  return low < transform.bias_values.size() && std::bit_cast<std::uint32_t>(transform.bias_values[low]) != 0xFF800000u;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
