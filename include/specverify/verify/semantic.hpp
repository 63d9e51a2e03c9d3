// SPDX-License-Identifier: Apache-2.0
//! Semantic verification: a draft that is not the target's argmax may stand when a judge says that it does not change
//!                        the meaning.
//!
//! Paper:      arXiv 2604.17701 (WISV), equation (27) and the flow of a round.
//! Symbols:    x_i = drafts[i], C = {i : x_i != argmax p_i} = mismatches, rho_i = score of the judge, tau = threshold;
//!             x_i in C is rejected iff rho_i >= tau; T = first rejected index, y = argmax p_{T+1}.
//! Guarantees: lossy. tau <= 0 is greedy_rule: the same verdict, bit for bit; tau > 1 accepts every draft that the
//!             target could emit. Positions outside C never reach the judge, nor does a draft that the target does not
//!             have or that mask or bias forbid: it is rejected. One read per row, no softmax, no uniforms, no
//!             allocation. Bit-exact but for the scores.
//! Deviates:   nothing after the first drafted stop token, forced reject or impossible draft is compared: it cannot
//!             matter.
//! See:        docs/algorithms/semantic.md, tests/unit/verify/semantic_test.cpp, examples/docs/semantic.cpp,
//!             benchmarks/bench_semantic.cpp
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

SPECVERIFY_NAMESPACE_BEGIN

//! Says how likely it is that draft `draft_index` changes the meaning: rho in [0, 1]. Asked for mismatches only, in
//! ascending order.
template <class Judge>
concept mismatch_judge = requires(const Judge& judge, std::uint32_t draft_index, double& rho) {
  { judge.score(draft_index, rho) } noexcept -> std::same_as<status>;
};

//! 64-bit words of a set of draft positions: bit i % 64 of word i / 64.
[[nodiscard]] constexpr std::size_t position_words(std::uint32_t draft_length) noexcept {
  return draft_length / 64 + std::size_t{1};
}

//! Members of a set of positions.
[[nodiscard]] constexpr std::uint32_t position_count(std::span<const std::uint64_t> positions) noexcept {
  std::uint32_t count = 0;
  for (const std::uint64_t word : positions) count += static_cast<std::uint32_t>(std::popcount(word));
  return count;
}

[[nodiscard]] constexpr bool has_position(std::span<const std::uint64_t> positions, std::uint32_t index) noexcept {
  return index / 64 < positions.size() && (positions[index / 64] >> (index % 64) & 1u) != 0;
}

//! The smallest member that is >= `from`; 64 * words when there is none.
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

[[nodiscard]] constexpr bool is_score(double rho) noexcept {  // in [0, 1], by its bits: a NaN test that fast-math keeps
  const auto bits = std::bit_cast<std::uint64_t>(rho);
  return bits <= 0x3FF0000000000000u || bits == 0x8000000000000000u;
}

}  // namespace detail

//! Step 1, without scores: reads the argmax of each row that can matter into `best` (no_token where none was read) and
//! marks the mismatches that a judge decides. A draft that differs from `best` without a mark is rejected in any case.
//! `best` takes one id more than there are drafts, `mismatches` and `near_ties` (optional; rows whose argmax another
//! backend may see differently) take position_words(drafts) words. Stop tokens, budget, forced rejects and row states
//! of the request count. Scratch is not used. Errors (`where` = row): those of `argmax`; output_too_small,
//! too_few_rows, size_mismatch; unsupported (log-probabilities are asked for: only semantic_rule can tell them). On
//! error the spans' contents are unspecified. O(V) per row.
template <execution_policy Policy, token_draft Draft, row_provider Rows>
[[nodiscard]] status compare_greedily(Policy policy, std::span<const Draft> drafts, const Rows& rows,
                                      const verify_request& request, workspace&, std::span<token_id> best,
                                      std::span<std::uint64_t> mismatches,
                                      std::span<std::uint64_t> near_ties = {}) noexcept {
  detail::round round(drafts, rows, request);
  if (round.wants_log_probabilities()) return {errc::unsupported, part::verify, 0};
  if (round.failed()) return round.done({}).state;
  if (best.size() < round.rows()) return {errc::output_too_small, part::verify, round.rows()};
  if (mismatches.size() * 64 < round.length()) return {errc::output_too_small, part::verify, round.length()};
  if (!near_ties.empty() && near_ties.size() * 64 < round.rows())
    return {errc::output_too_small, part::verify, round.rows()};
  for (token_id& id : best) id = no_token;
  for (std::uint64_t& word : mismatches) word = 0;
  for (std::uint64_t& word : near_ties) word = 0;
  for (std::uint32_t index = 0; index < round.rows(); ++index) {
    const auto row = rows(index);
    const row_transform& transform = rows.transform(index);
    argmax_result found;
    if (!detail::read_argmax(policy, row, transform, index, round, found)) return round.done({}).state;
    best[index] = found.token;
    if (found.near_tie && !near_ties.empty()) near_ties[index / 64] |= std::uint64_t{1} << (index % 64);
    if (index == round.length() || round.forced(index)) break;
    const token_id token = detail::token_of(drafts[index]);
    if (token != found.token) {
      if (!detail::in_vocabulary(token, row.valid_size()) || !detail::allowed(transform, token)) break;
      mismatches[index / 64] |= std::uint64_t{1} << (index % 64);
    }
    if (is_stop(request.stop_tokens, token)) break;
  }
  return {};
}

//! Step 2: the verdict from what step 1 wrote and one score per mark, ascending. Without a score where one is needed
//! the outcome is `needs`, `accepted` is the first such index and the marks from there on are what to ask for (a lazy
//! host asks for the first alone). Scores after a rejection may be missing. `request` is that of step 1; its row states
//! stay as step 1 left them. `vocab_size` only tells the counters which ids the target does not have.
//! Errors: invalid_argument (a threshold that is NaN; a score outside [0, 1], `where` = its index), output_too_small
//!         (`best` or `mismatches` is shorter than the drafts), not_read (`best` holds no id where one is needed,
//!         `where` = row), unsupported (log-probabilities). O(drafts).
template <token_draft Draft>
[[nodiscard]] verdict decide_semantically(std::span<const Draft> drafts, std::span<const token_id> best,
                                          std::span<const std::uint64_t> mismatches, std::span<const double> scores,
                                          double threshold, const verify_request& request,
                                          std::span<const std::uint64_t> near_ties = {},
                                          std::uint32_t vocab_size = max_vocab_size) noexcept {
  verify_request kept = request;
  kept.row_states = {};
  detail::round round(drafts, detail::no_rows{}, kept);
  if (round.failed()) return round.done({});
  if (round.wants_log_probabilities()) return round.fail(errc::unsupported, 0), round.done({});
  if (numeric::is_nan(threshold)) return round.fail(errc::invalid_argument, 0), round.done({});
  if (best.size() < round.rows()) return round.fail(errc::output_too_small, round.rows()), round.done({});
  if (mismatches.size() * 64 < round.length())
    return round.fail(errc::output_too_small, round.length()), round.done({});
  for (std::uint32_t index = 0; index < round.rows(); ++index) {
    if (best[index] < 0) return round.fail(errc::not_read, index), round.done({});
    if (index == round.length()) {
      if (has_position(near_ties, index)) ++round.counters().near_ties;
      round.finish(best[index], token_source::bonus);
      break;
    }
    const token_id token = detail::token_of(drafts[index]);
    const bool forced = round.forced(index);
    bool stands = token == best[index];
    if (!forced && !stands && has_position(mismatches, index)) {
      const std::uint32_t ordinal = round.counters().mismatches;
      if (ordinal == scores.size()) {
        round.need();
        break;
      }
      if (!detail::is_score(scores[ordinal])) return round.fail(errc::invalid_argument, ordinal), round.done({});
      stands = round.judge(scores[ordinal], threshold);
    }
    if (has_position(near_ties, index)) ++round.counters().near_ties;
    if (forced) {
      ++round.counters().forced_rejects;
      round.finish(best[index], token_source::forced);
      break;
    }
    ++round.counters().evaluated;
    if (!detail::in_vocabulary(token, vocab_size)) ++round.counters().invalid_tokens;
    if (!stands) {
      round.finish(best[index], token_source::residual);
      break;
    }
    if (round.accept(token)) break;
  }
  return round.done({});
}

//! Both steps at once, row by row: rows after a rejection are not asked for and their drafts not judged. Its verdict is
//! that of the two steps.
template <mismatch_judge Judge>
struct semantic_rule {
  Judge judge{};
  double threshold = 0.5;  //!< tau; <= 0: greedy_rule; > 1: accepts all. Not NaN

  static constexpr guarantee strength = guarantee::lossy;

  //! As `greedy_rule::verify`. Errors as there; invalid_argument (a threshold that is NaN; a score outside [0, 1],
  //! `where` = draft), those of the judge.
  template <execution_policy Policy, token_draft Draft, row_provider Rows, uniform_source Source>
  [[nodiscard]] verdict verify(Policy policy, std::span<const Draft> drafts, const Rows& rows, const Source&,
                               const verify_request& request, workspace& scratch) const noexcept {
    detail::round round(drafts, rows, request);
    if (!round.failed() && numeric::is_nan(threshold)) round.fail(errc::invalid_argument, 0);
    if (round.failed()) return round.done({});
    const std::size_t mark = scratch.mark();
    std::span<double> log_probabilities;
    if (!round.take_log_probabilities(scratch, log_probabilities)) return round.done({});
    for (std::uint32_t index = 0; index < round.rows(); ++index) {
      if (!step(policy, drafts, rows, index, round, log_probabilities, scratch)) break;
    }
    const verdict result = round.done(log_probabilities);
    scratch.rewind(mark);
    return result;
  }

 private:
  // Row `index`; true when the next one is due.
  template <class Policy, class Draft, class Rows>
  [[nodiscard]] bool step(Policy policy, std::span<const Draft> drafts, const Rows& rows, std::uint32_t index,
                          detail::round& round, std::span<double> log_probabilities,
                          workspace& scratch) const noexcept {
    const auto row = rows(index);
    const row_transform& transform = rows.transform(index);
    argmax_result best;
    if (!detail::read_argmax(policy, row, transform, index, round, best)) return false;
    const bool bonus = index == round.length();
    const bool forced = !bonus && round.forced(index);
    const token_id token = bonus ? no_token : detail::token_of(drafts[index]);
    const bool known = detail::in_vocabulary(token, row.valid_size());
    bool stands = token == best.token && !forced;
    if (!bonus && !forced && !stands && known && detail::allowed(transform, token)) {
      double rho = 1.0;
      const status asked = judge.score(index, rho);
      if (!asked.ok()) return round.fail(asked.code, index), false;
      if (!detail::is_score(rho)) return round.fail(errc::invalid_argument, index), false;
      stands = round.judge(rho, threshold);
    }
    const token_id committed = stands ? token : best.token;
    if (!detail::keep_log_probability(policy, row, transform, committed, index, round, log_probabilities, scratch))
      return false;
    if (best.near_tie) ++round.counters().near_ties;
    if (bonus) return round.finish(committed, token_source::bonus), false;
    if (forced) {
      ++round.counters().forced_rejects;
      return round.finish(committed, token_source::forced), false;
    }
    ++round.counters().evaluated;
    if (!known) ++round.counters().invalid_tokens;
    if (!stands) return round.finish(committed, token_source::residual), false;
    return !round.accept(token);
  }
};

SPECVERIFY_NAMESPACE_END

#endif
