// SPDX-License-Identifier: Apache-2.0
//! Verifies drafts against tokens that the engine itself picked, so no rows are needed. O(tokens).
#ifndef SPECVERIFY_VERIFY_DETAIL_GIVEN_TOKENS_HPP
#define SPECVERIFY_VERIFY_DETAIL_GIVEN_TOKENS_HPP

#include <specverify/core/execution.hpp>
#include <specverify/core/workspace.hpp>
#include <specverify/verify/detail/greedy_step.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The tokens that an engine picked, as a row provider. Its rows have a size but no entries.
struct given_tokens {
  std::span<const token_id> picks;
  std::uint32_t vocab_size;

  [[nodiscard]] row_view<float> operator()(std::uint32_t) const noexcept {
    return {row_kind::logits, nullptr, vocab_size};
  }
  [[nodiscard]] row_transform transform(std::uint32_t) const noexcept { return {}; }
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(picks.size()); }
};

//! Verifies like `coupled_rule` or `greedy_rule`, but takes the target's token of each position from `given`. The
//! request must not ask for log-probabilities. Errors: too_few_rows, output_too_small (`row_states`), size_mismatch
//! (`forced_rejects`).
template <class Draft>
[[nodiscard]] result<verdict> verify_given_tokens(std::span<const Draft> drafts, const given_tokens& given,
                                                  const verify_request& request) noexcept {
  workspace unused{std::span<std::byte>{}};
  return verify_picks(
      exec::seq, drafts, given, request,
      [&](const auto& asked, round& round) noexcept -> result<picked_token> {
        round.row_read(asked.index);
        return picked_token{given.picks[asked.index]};
      },
      unused);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
