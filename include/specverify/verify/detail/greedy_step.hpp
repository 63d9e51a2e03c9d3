// SPDX-License-Identifier: Apache-2.0
//! What the rules that compare drafts with an argmax share: one row read, one draft compared, one log-probability kept.
#ifndef SPECVERIFY_VERIFY_DETAIL_GREEDY_STEP_HPP
#define SPECVERIFY_VERIFY_DETAIL_GREEDY_STEP_HPP

#include <specverify/row/argmax.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/verify/detail/round.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! A row that a provider gave, asked for once, with a copy of its transform: providers may return a temporary.
template <class Rows>
struct given_row {
  decltype(std::declval<const Rows&>()(0)) row;
  row_transform transform;
  std::uint32_t index;
};
template <class Rows>
[[nodiscard]] given_row<Rows> ask_row(const Rows& rows, std::uint32_t index) noexcept {
  return {rows(index), rows.transform(index), index};
}

//! Reads the argmax of a row; false on an error, which the round then holds.
template <class Policy, class Rows>
[[nodiscard]] bool read_argmax(Policy policy, const given_row<Rows>& given, round& verdict_of,
                               argmax_result& best) noexcept {
  const std::uint32_t index = given.index;
  const result<argmax_result> found = argmax(policy, given.row, given.transform);
  if (!found) {
    verdict_of.fail_row(found.error(), index);
    return false;
  }
  best = *found;
  verdict_of.row_read(index);
  return true;
}

//! Keeps ln p of the token committed on a row, where that was asked for; false on an error.
template <class Policy, class Rows>
[[nodiscard]] bool keep_log_probability(Policy policy, const given_row<Rows>& given, token_id token, round& verdict_of,
                                        workspace& scratch) noexcept {
  if (!verdict_of.wants_log_probabilities()) return true;
  const workspace_scope scope(scratch);
  read_request wanted;
  wanted.exact_normaliser = true;
  const auto row = read_row(policy, given.row, given.transform, wanted, scratch);
  ++verdict_of.counters().exact_normalisers;
  return verdict_of.keep_log_probability(given.index,
                                         row.ok() ? row->log_probability(token) : result<double>(row.error()));
}

//! Whether the target has the token at all.
[[nodiscard]] constexpr bool in_vocabulary(token_id token, std::uint32_t vocab_size) noexcept {
  return token >= 0 && static_cast<std::uint32_t>(token) < vocab_size;
}

//! Whether mask and bias leave the token some probability. O(log bias_ids).
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

#endif
