// SPDX-License-Identifier: Apache-2.0
//! Token-level verification: the committed tokens have exactly the target's law, whatever the drafts' laws are.
//!
//! Paper:      Leviathan et al. (arXiv 2211.17192), Chen et al. (2302.01318); as used by arXiv 2507.00605 (Q-S),
//!             2510.09942 (SQS), 2505.11788 (HLM).
//! Symbols:    x_i = drafts[i], q^_i = count / resolution, p_i = rows(i) under its transform, U_i = the acceptance
//!             uniform, accept iff U_i * count * Z < resolution * e^(z - reference); y ~ norm((p - q^)+) after a
//!             rejection, y ~ p_{L+1} after none.
//! Guarantees: lossless when every draft was drawn from the law it carries; unconditional for `claimed_draft` without a
//!             count (a point mass: accept with probability p(x), else p without x). Rows after the first rejection are
//!             not asked for; one read per row, O(V) each, plus O(1) draws; no allocation. Near-tie: decisions equal
//!             exact arithmetic outside a margin of 2^-20.
//! Deviates:   a count without its law cannot be resampled here: a rejection gives `deferred`. Stop tokens and the
//!             budget end a round early.
//! See:        docs/algorithms/token.md, docs/guarantees.md, tests/unit/verify/token_test.cpp,
//!             tests/law/token_test.cpp, benchmarks/bench_token.cpp
#ifndef SPECVERIFY_VERIFY_TOKEN_HPP
#define SPECVERIFY_VERIFY_TOKEN_HPP

#include <specverify/row/acceptance.hpp>
#include <specverify/row/digest.hpp>
#include <specverify/row/log_probability.hpp>
#include <specverify/row/residual.hpp>
#include <specverify/row/sample.hpp>
#include <specverify/verify/concepts.hpp>
#include <specverify/verify/detail/round.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! Bytes of scratch for a rule over rows of `vocab_size` entries under `transform` (the largest over the round's rows)
//! and `draft_length` drafts.
[[nodiscard]] constexpr std::size_t verify_workspace_size(std::uint32_t vocab_size, const row_transform& transform,
                                                          std::uint32_t draft_length) noexcept {
  read_request wanted;
  wanted.exact_normaliser = true;
  return digest_workspace_size(vocab_size, transform, wanted) + slice_bytes<double>(std::size_t{draft_length} + 1) +
         workspace_alignment;
}

namespace detail {

//! The law that a draft is tested against; for a claim without a count the point mass on its token.
class tested_law {
 public:
  explicit tested_law(const draft& drafted) noexcept
      : law_(drafted.source_law()), count_(law_.count(drafted.token())) {}
  explicit tested_law(const received_draft& drafted) noexcept
      : law_(drafted.source_law()), count_(law_.count(drafted.token())) {}
  explicit tested_law(const claimed_draft& drafted) noexcept
      : id_(drafted.token), known_(drafted.count == 0), count_(drafted.count == 0 ? 1 : drafted.count) {
    law_ = {&id_, &unit_, 1, 0, known_ ? 1 : drafted.resolution, max_vocab_size};
  }
  explicit tested_law(const mismatched_draft& drafted) noexcept
      : law_(drafted.claimed_law),
        count_(drafted.resolution > 0 ? drafted.count : law_.count(drafted.token)),
        own_resolution_(drafted.resolution) {}
  tested_law(const tested_law&) = delete;
  tested_law& operator=(const tested_law&) = delete;

  [[nodiscard]] const law& whole() const noexcept { return law_; }
  [[nodiscard]] bool known() const noexcept { return known_; }
  //! The tested probability is count() / resolution().
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t resolution() const noexcept {
    return own_resolution_ > 0 ? own_resolution_ : law_.resolution;
  }
  [[nodiscard]] bool valid() const noexcept { return count_ <= resolution() && law_.resolution > 0; }

 private:
  law law_{};
  token_id id_ = no_token;
  std::uint32_t unit_ = 1;
  bool known_ = true;
  std::uint32_t count_ = 0;
  std::uint32_t own_resolution_ = 0;
};

}  // namespace detail

struct lossy_token_rule;

struct token_rule {
  //! proposals of a draw before its exact pass, >= 1; changes the tokens, never their law
  std::uint32_t trial_cap = 32;

  static constexpr guarantee strength = guarantee::unconditional;

  //! Verifies `drafts` against rows 0..L and says what to commit. An id of -1 ends the drafts; another id that the
  //! target does not have is rejected and counted. Counters of the uniforms: {base_position + i, round, lane,
  //! acceptance | residual_draw | bonus_draw}. Errors (`where` = row): those of `digest` for the rows read;
  //! too_few_rows, output_too_small, size_mismatch, workspace_too_small, invalid_resolution (a claim whose count is
  //! above its resolution; `where` = its index).
  template <execution_policy Policy, lossless_draft Draft, row_provider Rows, uniform_source Source>
  [[nodiscard]] verdict verify(Policy policy, std::span<const Draft> drafts, const Rows& rows, const Source& source,
                               const verify_request& request, workspace& scratch) const noexcept {
    return decide(policy, drafts, rows, source, request, scratch);
  }

 private:
  friend struct lossy_token_rule;

  template <class Policy, class Draft, class Rows, class Source>
  [[nodiscard]] verdict decide(Policy policy, std::span<const Draft> drafts, const Rows& rows, const Source& source,
                               const verify_request& request, workspace& scratch) const noexcept {
    detail::round round(drafts, rows, request);
    if (round.failed()) return round.done({});
    const std::size_t mark = scratch.mark();
    std::span<double> log_probabilities;
    if (!round.take_log_probabilities(scratch, log_probabilities)) return round.done({});
    std::uint32_t index = 0;
    while (index < round.length() &&
           test_one(policy, drafts[index], index, rows, source, round, log_probabilities, scratch))
      ++index;
    if (index == round.length() && index < round.rows())
      draw_bonus(policy, index, rows, source, round, log_probabilities, scratch);
    const verdict result = round.done(log_probabilities);
    scratch.rewind(mark);
    return result;
  }

  // Tests draft `index`; true when the next one is due.
  template <class Policy, class Draft, class Rows, class Source>
  [[nodiscard]] bool test_one(Policy policy, const Draft& drafted, std::uint32_t index, const Rows& rows,
                              const Source& source, detail::round& round, std::span<double> log_probabilities,
                              workspace& scratch) const noexcept {
    const auto row = rows(index);
    const row_transform& transform = rows.transform(index);
    const std::size_t mark = scratch.mark();
    row_digest summary;
    const detail::tested_law tested(drafted);
    if (!tested.valid()) return round.fail(errc::invalid_resolution, index), false;
    if (!read(policy, row, transform, index, round, scratch, summary)) return false;
    const token_id token = detail::token_of(drafted);
    const bool forced = round.forced(index);
    const bool in_vocabulary = token >= 0 && static_cast<std::uint32_t>(token) < row.valid_size();
    acceptance decision;
    if (!in_vocabulary) ++round.counters().invalid_tokens;
    if (forced) {
      ++round.counters().forced_rejects;
    } else {
      ++round.counters().evaluated;
      if (in_vocabulary) {
        const double uniform = decision_uniform(source(round.counter(index, purpose::acceptance)));
        const status tested_status = accept_token(policy, row, transform, summary, scratch, token, tested.count(),
                                                  tested.resolution(), uniform, decision);
        if (!tested_status.ok()) return round.fail_row(tested_status, index), false;
        if (decision.near_tie) ++round.counters().near_ties;
      }
    }
    if (decision.accepted) {
      if (!record(policy, row, transform, summary, token, index, round, log_probabilities, scratch)) return false;
      leave_row(summary, round, scratch, mark);
      return !round.accept(token);
    }
    if (forced) {
      sampled_token drawn;
      const status why = sample(policy, row, transform, summary, scratch, source,
                                round.counter(index, purpose::residual_draw), {trial_cap}, drawn);
      if (!why.ok()) return round.fail_row(why, index), false;
      if (record(policy, row, transform, summary, drawn.token, index, round, log_probabilities, scratch))
        round.finish(drawn.token, token_source::forced);
    } else if (!tested.known()) {
      round.defer();
    } else {
      residual_token drawn;
      const status why = residual(policy, row, transform, summary, scratch, tested.whole(), 1.0, source,
                                  round.counter(index, purpose::residual_draw), {trial_cap}, drawn);
      if (!why.ok()) return round.fail_row(why, index), false;
      round.counters().residual_trials += drawn.trials;
      if (drawn.fallback) ++round.counters().residual_fallbacks;
      if (record(policy, row, transform, summary, drawn.token, index, round, log_probabilities, scratch)) {
        round.finish(drawn.token, drawn.fallback ? token_source::residual_fallback : token_source::residual);
      }
    }
    leave_row(summary, round, scratch, mark);
    return false;
  }

  template <class Policy, class Rows, class Source>
  void draw_bonus(Policy policy, std::uint32_t index, const Rows& rows, const Source& source, detail::round& round,
                  std::span<double> log_probabilities, workspace& scratch) const noexcept {
    const auto row = rows(index);
    const row_transform& transform = rows.transform(index);
    const std::size_t mark = scratch.mark();
    row_digest summary;
    if (!read(policy, row, transform, index, round, scratch, summary)) return;
    sampled_token drawn;
    const status why = sample(policy, row, transform, summary, scratch, source,
                              round.counter(index, purpose::bonus_draw), {trial_cap}, drawn);
    if (!why.ok()) return round.fail_row(why, index);
    if (record(policy, row, transform, summary, drawn.token, index, round, log_probabilities, scratch))
      round.finish(drawn.token, token_source::bonus);
    leave_row(summary, round, scratch, mark);
  }

  // Digests a row; false on an error, which the round then holds.
  template <class Policy, class Scalar>
  [[nodiscard]] static bool read(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                 std::uint32_t index, detail::round& round, workspace& scratch,
                                 row_digest& summary) noexcept {
    read_request wanted;
    wanted.exact_normaliser = round.wants_log_probabilities();
    const status why = digest(policy, row, transform, wanted, scratch, summary);
    if (!why.ok()) return round.fail_row(why, index), false;
    round.row_read(index);
    return true;
  }

  // Counts the row's exact normaliser, asked for or computed to decide, and gives the digest's space back.
  static void leave_row(const row_digest& summary, detail::round& round, workspace& scratch,
                        std::size_t mark) noexcept {
    const bool computed =
        summary.mark.count > 0 && !summary.truncated && scratch.at<reading_mark>(summary.mark)[0].normaliser > 0.0;
    if (round.ok() && (round.wants_log_probabilities() || computed)) ++round.counters().exact_normalisers;
    scratch.rewind(mark);
  }

  template <class Policy, class Scalar>
  [[nodiscard]] static bool record(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                   const row_digest& summary, token_id token, std::uint32_t index, detail::round& round,
                                   std::span<double> log_probabilities, workspace& scratch) noexcept {
    if (!round.wants_log_probabilities()) return true;
    const status why = log_probability(policy, row, transform, summary, scratch, token, log_probabilities[index]);
    if (!why.ok()) round.fail_row(why, index);
    return why.ok();
  }
};

SPECVERIFY_NAMESPACE_END

#endif
