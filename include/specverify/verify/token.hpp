// SPDX-License-Identifier: Apache-2.0
//! Verifies token by token: accepts or replaces drafts so that the committed tokens have exactly the target's
//! distribution.
//!
//! Each draft must carry the distribution from which it was drawn, which can be any distribution.
//! Paper:      Leviathan et al. (arXiv 2211.17192), Chen et al. (2302.01318); as used by arXiv 2507.00605 (Q-S),
//!             2510.09942 (SQS), 2505.11788 (HLM).
//! Symbols:    L = number of drafts; x = a draft; q^ = distribution that x carries; p = target's distribution at x; U =
//!             uniform random number. x is accepted if U q^(x) < p(x) (row/acceptance.hpp). A rejected x is replaced by
//!             a token drawn from norm((p - q^)+). If all drafts are accepted, one more token is drawn from the
//!             target's distribution after them.
//! Guarantees: lossless if every draft was drawn from the distribution that it carries. Unconditional for a
//!             `claimed_draft` without a count, which is treated as a point mass. The rule reads each row once, O(V),
//!             and rarely a second time: if a decision needs a more precise normalizer, or `trial_cap` proposals did
//!             not give a token. It requests no row after the first rejection. No allocation. Decisions equal exact
//!             arithmetic unless the two sides of a comparison differ by at most 2^-20 of the larger side.
//! Deviates:   if a draft has a count but no distribution, the rule cannot draw from the residual, so after a rejection
//!             the verdict is `deferred`. Stop tokens and the budget can end a round early.
//! See:        docs/algorithms/token.md, docs/guarantees.md, tests/unit/verify/token_test.cpp,
//!             tests/law/token_test.cpp, benchmarks/bench_token.cpp
#ifndef SPECVERIFY_VERIFY_TOKEN_HPP
#define SPECVERIFY_VERIFY_TOKEN_HPP

#include <specverify/row/reading.hpp>
#include <specverify/verify/concepts.hpp>
#include <specverify/verify/detail/round.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the bytes of workspace that suffice for every rule, for rows of `vocab_size` entries and `draft_length`
//! drafts. If the transforms of a round differ, pass the transform that needs the most workspace.
[[nodiscard]] constexpr std::size_t verify_workspace_size(std::uint32_t vocab_size, const row_transform& transform,
                                                          std::uint32_t draft_length) noexcept {
  read_request wanted = race_request(vocab_size);
  wanted.exact_normaliser = true;
  return digest_workspace_size(vocab_size, transform, wanted) + slice_bytes<double>(std::size_t{draft_length} + 1) +
         workspace_alignment;
}

namespace detail {

//! The distribution against which a draft is tested. For a claim without a count, it is the point mass on the token.
//! For a claim with a count, only the token's count is known.
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
  //! maximum number of proposals per draw, after which one pass over the row draws the token; the value can change the
  //! tokens, but not the distribution of the tokens
  std::uint32_t trial_cap = 32;

  static constexpr guarantee strength = guarantee::unconditional;

  //! Verifies `drafts` against rows 0..L and returns the tokens to commit. An id of -1 ends the drafts. Any other id
  //! outside the target's vocabulary is rejected and counted. The uniforms of row i are random.after(i).
  //! Errors: the errors of `read_row`, and of `accept`, `residual` and `sample` of a reading (`where` = row);
  //!         too_few_rows (`where` = number of rows); output_too_small; size_mismatch (too few `forced_rejects`);
  //!         workspace_too_small; invalid_resolution (the count of a claim exceeds the resolution; `where` = index of
  //!         the claim).
  template <execution_policy Policy, lossless_draft Draft, row_provider Rows, uniform_source Source>
  [[nodiscard]] result<verdict> verify(Policy policy, std::span<const Draft> drafts, const Rows& rows,
                                       const uniforms<Source>& random, const verify_request& request,
                                       workspace& scratch) const noexcept {
    return decide(policy, drafts, rows, random, request, scratch);
  }

 private:
  friend struct lossy_token_rule;

  template <class Policy, class Draft, class Rows, class Source>
  [[nodiscard]] result<verdict> decide(Policy policy, std::span<const Draft> drafts, const Rows& rows,
                                       const uniforms<Source>& random, const verify_request& request,
                                       workspace& scratch) const noexcept {
    detail::round round(drafts, rows, request);
    const workspace_scope scope(scratch);
    if (round.failed() || !round.take_log_probabilities(scratch)) return round.done();
    std::uint32_t index = 0;
    for (; index < round.length(); ++index) {
      const detail::tested_law tested(drafts[index]);
      if (!tested.valid()) {
        round.fail(errc::invalid_resolution, index);
        break;
      }
      const workspace_scope row_scope(scratch);
      const auto row = read(policy, rows, index, round, scratch);
      if (!row || !test_one(*row, tested, detail::token_of(drafts[index]), index, random.after(index), round)) break;
    }
    if (index == round.length() && index < round.rows()) {
      const auto row = read(policy, rows, index, round, scratch);
      if (row) draw(*row, index, random.after(index).at(purpose::bonus_draw), token_source::bonus, round);
    }
    return round.done();
  }

  // Tests draft `index`. Returns true if the round continues.
  template <class Reading, class Source>
  [[nodiscard]] bool test_one(const Reading& row, const detail::tested_law& tested, token_id token, std::uint32_t index,
                              const uniforms<Source>& random, detail::round& round) const noexcept {
    const bool forced = round.forced(index);
    const bool in_vocabulary = token >= 0 && static_cast<std::uint32_t>(token) < row.vocab_size();
    if (!in_vocabulary) ++round.counters().invalid_tokens;
    if (forced) [[unlikely]] {
      ++round.counters().forced_rejects;
      draw(row, index, random.at(purpose::residual_draw), token_source::forced, round);
      return false;
    }
    ++round.counters().evaluated;
    if (in_vocabulary) [[likely]] {
      const result<acceptance> decision =
          row.accept({token, tested.count(), tested.resolution()}, random.at(purpose::acceptance));
      if (!decision) {
        round.fail_row(decision.error(), index);
        return false;
      }
      if (decision->near_tie) ++round.counters().near_ties;
      if (decision->accepted) return record(row, token, index, round) && !round.accept(token);
    }
    if (!tested.known()) {
      round.defer();
      count_normaliser(row, round);
    } else {
      replace(row, tested.whole(), index, random.at(purpose::residual_draw), round);
    }
    return false;
  }

  // Draws the token that replaces a rejected draft.
  template <class Reading, class Source>
  void replace(const Reading& row, const law& tested, std::uint32_t index, const uniform_stream<Source>& stream,
               detail::round& round) const noexcept {
    const result<residual_token> drawn = row.residual(tested, stream, {.trial_cap = trial_cap});
    if (!drawn) return round.fail_row(drawn.error(), index);
    round.counters().residual_trials += drawn->trials;
    if (drawn->fallback) ++round.counters().residual_fallbacks;
    if (record(row, drawn->token, index, round))
      round.finish(drawn->token, drawn->fallback ? token_source::residual_fallback : token_source::residual);
  }

  // Ends the round with a token drawn from the target's distribution.
  template <class Reading, class Source>
  void draw(const Reading& row, std::uint32_t index, const uniform_stream<Source>& stream, token_source origin,
            detail::round& round) const noexcept {
    const result<sampled_token> drawn = row.sample(stream, {.trial_cap = trial_cap});
    if (!drawn) return round.fail_row(drawn.error(), index);
    if (record(row, drawn->token, index, round)) round.finish(drawn->token, origin);
  }

  // Reads a row. On an error, the round also stores the error.
  template <class Policy, class Rows>
  [[nodiscard]] static auto read(Policy policy, const Rows& rows, std::uint32_t index, detail::round& round,
                                 workspace& scratch) noexcept {
    read_request wanted;
    wanted.exact_normaliser = round.wants_log_probabilities();
    const auto given = detail::ask_row(rows, index);
    auto row = read_row(policy, given.row, given.transform, wanted, scratch);
    if (row.ok()) {
      round.row_read(index);
    } else {
      round.fail_row(row.error(), index);
    }
    return row;
  }

  // Counts the row if the exact normalizer was requested or was needed for a decision.
  static void count_normaliser(const row_summary& row, detail::round& round) noexcept {
    if (round.wants_log_probabilities() || row.used_exact_normaliser()) ++round.counters().exact_normalisers;
  }

  // Stores ln p of a token that is committed on this row, if it is requested, and counts the normalizer. Returns false
  // on an error.
  template <class Reading>
  [[nodiscard]] static bool record(const Reading& row, token_id token, std::uint32_t index,
                                   detail::round& round) noexcept {
    if (round.wants_log_probabilities() && !round.keep_log_probability(index, row.log_probability(token))) return false;
    count_normaliser(row, round);
    return true;
  }
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
