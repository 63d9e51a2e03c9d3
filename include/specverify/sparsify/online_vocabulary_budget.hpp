// SPDX-License-Identifier: Apache-2.0
//! Chooses the number of tokens to send, depending on the drawn token's probability and the drafter's uncertainty.
//!
//! Paper:      CU-HLM (arXiv 2505.11788), Proposition 2 (k(t)* online).
//! Symbols:    x_d = probability of the drawn token; beta^ = clip(a u + b, 0, 1), the rejection probability that the
//!             fit (slope a, intercept b) expects at uncertainty u; s = softplus with sharpness eta; theta =
//!             distortion; N(k) = `tail_profile::distortion`; k(t)* = min{ k : N(k) / ((1 - x_d) s(-1) + x_d s(-beta^))
//!             <= theta }.
//! Guarantees: the size does not decrease with beta^. `select_with_token` is lossy, and theta does not bound the bias,
//!             because the softplus makes the denominator too large; `vocabulary_budget` bounds the bias. `select` uses
//!             beta^ = 1 and no token, so the text is exact if the token is drawn from the result.
//! Deviates:   the paper does not give the sharpness; our default is 2.
//! Cost:       O(V); no allocation.
//! See:        docs/algorithms/online_vocabulary_budget.md, tests/unit/sparsify/online_vocabulary_budget_test.cpp,
//!             tests/law/skip_test.cpp
#ifndef SPECVERIFY_SPARSIFY_ONLINE_VOCABULARY_BUDGET_HPP
#define SPECVERIFY_SPARSIFY_ONLINE_VOCABULARY_BUDGET_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/sparsify/vocabulary_budget.hpp>

#include <cmath>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Returns ln(1 + e^(sharpness z)) / sharpness, a smooth max(0, z). It exceeds max(0, z) by at most ln 2 / sharpness,
//! at z = 0. `sharpness` must be > 0.
[[nodiscard]] inline double softplus(double z, double sharpness) noexcept {
  const double scaled = numeric::product(sharpness, z);
  return ((scaled > 0 ? scaled : 0.0) + std::log1p(std::exp(scaled > 0 ? -scaled : scaled))) / sharpness;
}

struct online_size_options {
  double distortion = 0.1;  //!< theta > 0, as in the head of this file
  double sharpness = 2;     //!< eta > 0, the sharpness of the softplus
};

//! Returns the maximum N(k) for a token: theta ((1 - x_d) s(-1) + x_d s(-beta^)). x_d = `draft_probability`, the
//! token's probability under x. beta^ = `rejection_probability`, an estimate of the probability that the target rejects
//! the token. If a rejection is more probable, the maximum is lower, so more tokens are sent.
[[nodiscard]] inline double online_budget(double draft_probability, double rejection_probability,
                                          online_size_options options = {}) noexcept {
  const double rejected = rejection_probability < 0 ? 0 : (rejection_probability > 1 ? 1 : rejection_probability);
  return options.distortion * (numeric::product(1 - draft_probability, softplus(-1, options.sharpness)) +
                               numeric::product(draft_probability, softplus(-rejected, options.sharpness)));
}

//! Returns k(t)* = min{ k : N(k) / ((1 - x_d) s(-1) + x_d s(-beta^)) <= theta }. For a bound on the bias use
//! `vocabulary_budget`.
[[nodiscard]] inline std::uint32_t online_support_size(const tail_profile& profile, double draft_probability,
                                                       double rejection_probability,
                                                       online_size_options options = {}) noexcept {
  return profile.smallest(online_budget(draft_probability, rejection_probability, options));
}

struct online_vocabulary_budget;
//! Checks the options. Errors (`where` = theta, eta, a, b, from 0): invalid_argument.
[[nodiscard]] constexpr status check(const online_vocabulary_budget& sparsifier) noexcept;

//! A sparsifier with the paper's online size. A session that draws from the row (`edge_options::draw_from_row`) calls
//! `select_with_token`, which may use the token. If you draw from the distribution over the support, call `select`.
struct online_vocabulary_budget {
  using state_type = no_state;
  online_size_options size{};          //!< theta and eta; both positive
  double slope = 0.815;                //!< a of the fit beta ~ a u + b (`linear_fit`)
  double intercept = -0.066;           //!< b
  std::uint32_t max_support_size = 0;  //!< maximum k; 0: no cap

  [[nodiscard]] constexpr no_state initial_state() const noexcept { return {}; }
  [[nodiscard]] constexpr no_state advance(no_state, const support&) const noexcept { return {}; }
  [[nodiscard]] constexpr read_request request(no_state, std::uint32_t vocab_size) const noexcept {
    return vocabulary_budget{}.request({}, vocab_size);
  }
  [[nodiscard]] constexpr std::size_t workspace_size(no_state, std::uint32_t vocab_size) const noexcept {
    return vocabulary_budget{}.workspace_size({}, vocab_size);
  }

  //! Returns the estimated rejection probability beta^ of a drawn token; 1 if nothing was measured. O(1).
  [[nodiscard]] double rejection_probability(const drawn_token& drawn) const noexcept {
    if (drawn.samples == 0) return 1;
    const double value =
        numeric::product(slope, static_cast<double>(drawn.disagreements)) / static_cast<double>(drawn.samples) +
        intercept;
    return value > 0 ? (value < 1 ? value : 1.0) : 0.0;
  }

  //! Selects a support that does not depend on the drawn token. Errors: as for `select_with_token`. O(V).
  [[nodiscard]] result<support> select(const row_summary& row, no_state, workspace& scratch) const noexcept {
    return select_with_token(row, {}, scratch);
  }
  //! Selects a support for the drawn token; x_d is the token's share of the row's integer weights, or 0 if the token is
  //! not among the top entries. O(V). On an error `scratch` is unchanged.
  //! Errors: invalid_argument (an option is not a number, or theta or eta is not positive), digest_insufficient (the
  //!         reading does not list all tokens with a positive weight), reading_expired, workspace_too_small.
  [[nodiscard]] result<support> select_with_token(const row_summary& row, const drawn_token& drawn,
                                                  workspace& scratch) const noexcept {
    if (const status why = check(*this); !why.ok()) return why;
    const std::span<const token_id> ids = row.top_ids();
    const std::size_t place = detail::find_kept(ids, drawn.token);
    double share = 0;
    if (const std::uint64_t total = row.support_total(); place < ids.size() && total > 0)
      share = static_cast<double>(row.top_weights()[place]) / static_cast<double>(total);
    const double budget = online_budget(share, rejection_probability(drawn), size);
    return detail::keep_within(row, budget, 1, max_support_size, scratch);
  }
};

constexpr status check(const online_vocabulary_budget& sparsifier) noexcept {
  const auto wrong = [](std::uint32_t field) noexcept { return status{errc::invalid_argument, part::sparsify, field}; };
  if (numeric::is_nan(sparsifier.size.distortion) || sparsifier.size.distortion <= 0) return wrong(0);
  if (numeric::is_nan(sparsifier.size.sharpness) || sparsifier.size.sharpness <= 0) return wrong(1);
  if (numeric::is_nan(sparsifier.slope)) return wrong(2);
  return !numeric::is_nan(sparsifier.intercept) ? status{} : wrong(3);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
