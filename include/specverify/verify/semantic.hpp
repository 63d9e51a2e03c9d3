// SPDX-License-Identifier: Apache-2.0
//! Verifies semantically: accepts a draft that differs from the target's argmax if a scorer finds that the meaning is
//! kept.
//!
//! Paper:      WISV (arXiv 2604.17701), equation (27) and the flow of a round.
//! Symbols:    mismatch = draft that differs from the target's argmax; rho = score of a mismatch, which is rejected if
//!             rho >= tau; tau = threshold.
//! Guarantees: lossy. If tau <= 0, the verdict equals that of greedy_rule, except that the mismatches are counted. If
//!             tau > 1, every draft that mask and bias allow is accepted. A draft that mask or bias forbids, or that is
//!             outside the target's vocabulary, is rejected without a score. The rule reads each row once, without a
//!             softmax, or twice if log-probabilities are requested. It reads no uniforms. No allocation. Bit-exact
//!             except for the scores.
//! Deviates:   after the first stop token, forced reject or draft that is always rejected, no draft is compared,
//!             because the comparison could not change the verdict.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/semantic.md, tests/unit/verify/semantic_test.cpp, benchmarks/bench_semantic.cpp
#ifndef SPECVERIFY_VERIFY_SEMANTIC_HPP
#define SPECVERIFY_VERIFY_SEMANTIC_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/verify/concepts.hpp>
#include <specverify/verify/detail/greedy_step.hpp>
#include <specverify/verify/detail/round.hpp>
#include <specverify/verify/verdict.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Scores mismatches: `score` must return the probability, in [0, 1], that draft `draft_index` changes the meaning. A
//! rule calls `score` only for mismatches, in ascending order.
template <class Scorer>
concept mismatch_scorer = requires(const Scorer& scorer, std::uint32_t draft_index) {
  { scorer.score(draft_index) } noexcept -> std::same_as<result<double>>;
};

//! Returns the number of 64-bit words for a set of draft positions: position i is bit i % 64 of word i / 64.
[[nodiscard]] constexpr std::size_t position_words(std::uint32_t draft_length) noexcept {
  return draft_length / 64 + std::size_t{1};
}

//! Returns the number of positions in a set.
[[nodiscard]] constexpr std::uint32_t position_count(std::span<const std::uint64_t> positions) noexcept {
  std::uint32_t count = 0;
  for (const std::uint64_t word : positions) count += static_cast<std::uint32_t>(std::popcount(word));
  return count;
}

[[nodiscard]] constexpr bool has_position(std::span<const std::uint64_t> positions, std::uint32_t index) noexcept {
  return index / 64 < positions.size() && (positions[index / 64] >> (index % 64) & 1u) != 0;
}

//! Returns the smallest position of a set that is at least `from`, or 64 times the number of words if there is none.
[[nodiscard]] constexpr std::uint32_t next_position(std::span<const std::uint64_t> positions,
                                                    std::uint32_t from) noexcept {
  const auto end = static_cast<std::uint32_t>(64 * positions.size());
  for (std::uint32_t index = from; index < end; index = (index / 64 + 1) * 64) {
    const std::uint64_t rest = positions[index / 64] >> (index % 64);
    if (rest != 0) return index + static_cast<std::uint32_t>(std::countr_zero(rest));
  }
  return end;
}

namespace detail {

struct no_rows {};

//! Returns whether `rho` is in [0, 1]. Tests the bits, because -ffast-math removes comparisons with NaN.
[[nodiscard]] constexpr bool is_score(double rho) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(rho);
  return bits <= 0x3FF0000000000000u || bits == 0x8000000000000000u;
}

}  // namespace detail

//! Output arrays of `compare_greedily`, which the caller owns. After an error the contents are unspecified.
struct greedy_comparison {
  std::span<token_id> best{};             //!< argmax of each row read; no_token for the other rows; drafts + 1 entries
  std::span<std::uint64_t> mismatches{};  //!< position_words(drafts) words; bit i marks draft i if it needs a score
  //! position_words(drafts) words, or empty; bit i marks row i if its argmax can differ on another backend
  std::span<std::uint64_t> near_ties{};
};

//! Step 1 of a verification in two steps, for scores that arrive later. Writes to `out.best` the argmax of each row
//! that can affect the verdict, and marks the mismatches that need a score. A draft that differs from `best` and is not
//! marked is always rejected. Stop tokens, budget, forced rejects and row states of the request apply as usual. O(V)
//! per row.
//! Errors: the errors of `argmax` (`where` = row); output_too_small; too_few_rows; size_mismatch (too few
//!         `forced_rejects`); unsupported (the request asks for log-probabilities; use semantic_rule).
template <execution_policy Policy, token_draft Draft, row_provider Rows>
[[nodiscard]] status compare_greedily(Policy policy, std::span<const Draft> drafts, const Rows& rows,
                                      const verify_request& request, const greedy_comparison& out) noexcept {
  detail::round round(drafts, rows, request);
  if (round.wants_log_probabilities()) return {errc::unsupported, part::verify, 0};
  if (round.failed()) return round.why();
  if (out.best.size() < round.rows()) return {errc::output_too_small, part::verify, round.rows()};
  if (out.mismatches.size() * 64 < round.length()) return {errc::output_too_small, part::verify, round.length()};
  if (!out.near_ties.empty() && out.near_ties.size() * 64 < round.rows())
    return {errc::output_too_small, part::verify, round.rows()};
  for (token_id& id : out.best) id = no_token;
  for (std::uint64_t& word : out.mismatches) word = 0;
  for (std::uint64_t& word : out.near_ties) word = 0;
  for (std::uint32_t index = 0; index < round.rows(); ++index) {
    const auto given = detail::ask_row(rows, index);
    const auto found = detail::read_argmax(policy, given, round);
    if (!found) return round.why();
    out.best[index] = found->token;
    const std::uint64_t bit = std::uint64_t{1} << (index % 64);
    if (found->near_tie && !out.near_ties.empty()) out.near_ties[index / 64] |= bit;
    if (index == round.length() || round.forced(index)) break;
    const token_id token = detail::token_of(drafts[index]);
    if (token != found->token) {
      if (!detail::in_vocabulary(token, given.row.valid_size()) || !detail::allowed(given.transform, token)) break;
      out.mismatches[index / 64] |= bit;
    }
    if (is_stop(request.stop_tokens, token)) break;
  }
  return {};
}

namespace detail {

//! Checks the arguments of step 2, except the scores.
[[nodiscard]] inline status check_comparison(const round& round, const greedy_comparison& compared,
                                             double threshold) noexcept {
  if (round.failed()) return round.why();
  if (round.wants_log_probabilities()) return {errc::unsupported, part::verify, 0};
  if (numeric::is_nan(threshold)) return {errc::invalid_argument, part::verify, 0};
  if (compared.best.size() < round.rows()) return {errc::output_too_small, part::verify, round.rows()};
  if (compared.mismatches.size() * 64 < round.length()) return {errc::output_too_small, part::verify, round.length()};
  return {};
}

//! Accepts the draft if `stands` is true; otherwise ends the round with the target's token `best`. Returns true if the
//! round ends.
[[nodiscard]] inline bool settle_draft(round& round, token_id token, token_id best, bool stands) noexcept {
  if (!stands) round.finish(best, token_source::residual);
  return !stands || round.accept(token);
}

}  // namespace detail

//! Step 2: returns the verdict for the output of step 1 and the scores of the marked drafts, in ascending order of
//! drafts. If a needed score is missing, the outcome is `needs`, and `accepted` is the index of the draft without a
//! score. Then request this score only, which uploads least, or also the scores of all later marked drafts, which saves
//! round trips. `request` must be the request of step 1; the row states are not written again. `vocab_size` affects
//! only the counter of invalid tokens. O(drafts).
//! Errors: invalid_argument (the threshold is NaN; a score is outside [0, 1], `where` = index of the score),
//!         output_too_small (`best` or `mismatches` is too short), size_mismatch (too few `forced_rejects`), not_read
//!         (`best` has no id for a row that is needed, `where` = row), unsupported (log-probabilities).
template <token_draft Draft>
[[nodiscard]] result<verdict> decide_semantically(std::span<const Draft> drafts, const greedy_comparison& compared,
                                                  std::span<const double> scores, double threshold,
                                                  const verify_request& request,
                                                  std::uint32_t vocab_size = max_vocab_size) noexcept {
  verify_request kept = request;
  kept.row_states = {};
  detail::round round(drafts, detail::no_rows{}, kept);
  if (const status why = detail::check_comparison(round, compared, threshold); !why.ok()) return why;
  for (std::uint32_t index = 0; index < round.rows(); ++index) {
    const token_id best = compared.best[index];
    if (best < 0) return status{errc::not_read, part::verify, index};
    if (index == round.length()) {
      if (has_position(compared.near_ties, index)) ++round.counters().near_ties;
      round.finish(best, token_source::bonus);
      break;
    }
    const token_id token = detail::token_of(drafts[index]);
    const bool forced = round.forced(index);
    bool stands = token == best;
    if (!forced && !stands && has_position(compared.mismatches, index)) {
      const std::uint32_t ordinal = round.counters().mismatches;
      if (ordinal == scores.size()) {
        round.need();
        break;
      }
      if (!detail::is_score(scores[ordinal])) return status{errc::invalid_argument, part::verify, ordinal};
      stands = round.weigh(scores[ordinal], threshold);
    }
    if (has_position(compared.near_ties, index)) ++round.counters().near_ties;
    if (forced) {
      ++round.counters().forced_rejects;
      round.finish(best, token_source::forced);
      break;
    }
    ++round.counters().evaluated;
    if (!detail::in_vocabulary(token, vocab_size)) ++round.counters().invalid_tokens;
    if (detail::settle_draft(round, token, best, stands)) break;
  }
  return round.done();
}

//! Does both steps row by row, with a scorer that can return a score immediately. The verdict is the same. After a
//! rejection, the rule requests no more rows or scores.
template <mismatch_scorer Scorer>
struct semantic_rule {
  Scorer scorer{};
  double threshold = 0.5;  //!< tau, not NaN; <= 0: as greedy_rule; > 1: accepts all scored drafts

  static constexpr guarantee strength = guarantee::lossy;

  //! Verifies like `greedy_rule::verify`.
  //! Errors: the errors of `greedy_rule::verify` and of the scorer; invalid_argument (the threshold is NaN, or a score
  //!         is outside [0, 1]; `where` = draft).
  template <execution_policy Policy, token_draft Draft, row_provider Rows, uniform_source Source>
  [[nodiscard]] result<verdict> verify(Policy policy, std::span<const Draft> drafts, const Rows& rows,
                                       const uniforms<Source>&, const verify_request& request,
                                       workspace& scratch) const noexcept {
    detail::round round(drafts, rows, request);
    if (!round.failed() && numeric::is_nan(threshold)) round.fail(errc::invalid_argument, 0);
    const workspace_scope scope(scratch);
    if (round.failed() || !round.take_log_probabilities(scratch)) return round.done();
    for (std::uint32_t index = 0; index < round.rows(); ++index) {
      if (!step(policy, drafts, rows, index, round, scratch)) break;
    }
    return round.done();
  }

 private:
  // Decides on row `index`. Returns true if the next row is needed.
  template <class Policy, class Draft, class Rows>
  [[nodiscard]] bool step(Policy policy, std::span<const Draft> drafts, const Rows& rows, std::uint32_t index,
                          detail::round& round, workspace& scratch) const noexcept {
    const auto given = detail::ask_row(rows, index);
    const auto best = detail::read_argmax(policy, given, round);
    if (!best) return false;
    const bool bonus = index == round.length();
    const bool forced = !bonus && round.forced(index);
    const token_id token = bonus ? no_token : detail::token_of(drafts[index]);
    const bool known = detail::in_vocabulary(token, given.row.valid_size());
    bool stands = token == best->token && !forced;
    if (!bonus && !forced && !stands && known && detail::allowed(given.transform, token)) {
      const result<double> rho = scorer.score(index);
      if (!rho || !detail::is_score(*rho)) {
        round.fail(rho ? errc::invalid_argument : rho.error().code, index);
        return false;
      }
      stands = round.weigh(*rho, threshold);
    }
    const token_id committed = stands ? token : best->token;
    if (!detail::keep_log_probability(policy, given, committed, round, scratch)) return false;
    if (best->near_tie) ++round.counters().near_ties;
    if (!bonus && !forced) {
      ++round.counters().evaluated;
      if (!known) ++round.counters().invalid_tokens;
      if (stands) return !round.accept(token);
    }
    if (forced) ++round.counters().forced_rejects;
    round.finish(committed, bonus ? token_source::bonus : forced ? token_source::forced : token_source::residual);
    return false;
  }
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
