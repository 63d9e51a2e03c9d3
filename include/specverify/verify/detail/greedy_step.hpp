// SPDX-License-Identifier: Apache-2.0
//! Steps shared by the rules that compare drafts with an argmax: read a row, compare a draft, keep a log-probability.
#ifndef SPECVERIFY_VERIFY_DETAIL_GREEDY_STEP_HPP
#define SPECVERIFY_VERIFY_DETAIL_GREEDY_STEP_HPP

#include <specverify/row/argmax.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/verify/detail/round.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Reads the argmax of a row. If that fails, the round keeps the error, too.
template <class Policy, class Rows>
[[nodiscard]] result<argmax_result> read_argmax(Policy policy, const given_row<Rows>& given, round& round) noexcept {
  const result<argmax_result> found = argmax(policy, given.row, given.transform);
  if (found) round.row_read(given.index);
  if (!found) round.fail_row(found.error(), given.index);
  return found;
}

//! Keeps ln p of the token committed on a row, if the request asks for it. Returns false on an error.
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

//! Returns whether mask and bias leave the token some probability. O(log bias_ids).
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
