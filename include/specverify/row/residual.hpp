// SPDX-License-Identifier: Apache-2.0
//! Draws the token that replaces a rejected draft, from the residual: the normalized positive part of scale * p - q.
//!
//! p is the distribution of the row, and q is the distribution that the rejection subtracts. As in row/sample.hpp,
//! trials propose an id and accept it in proportion to its residual. After `trial_cap` rejected proposals, the exact
//! rule draws the least id at which the serial sum of the residuals in double exceeds a uniform share of their total.
//! Paper:      token-level verification; with scale < 1, block verification.
//! Symbols:    p(v) = e_v / Z as in row/digest.hpp; q(v) = count(v) / resolution; R = sum of the residuals (scale * e_v
//!             - q(v) Z)+.
//! Guarantees: never returns an id with p = 0, nor (unless `fallback`) an id with scale * p <= q. The distribution is
//!             exact for every trial_cap. No residual vector, no allocation; noexcept; near-tie.
//! Fallback:   if R / Z is below 1e-12 or not finite (for scale 1: p = q up to rounding), the exact rule draws the
//!             token from p and sets `fallback`.
//! See:        docs/algorithms/residual.md, tests/unit/row/residual_test.cpp, benchmarks/bench_residual.cpp
#ifndef SPECVERIFY_ROW_RESIDUAL_HPP
#define SPECVERIFY_ROW_RESIDUAL_HPP

#include <specverify/kernel/scalar/log_sum_exp.hpp>
#include <specverify/row/acceptance.hpp>

#if __cplusplus >= 202002L
#include <specverify/row/detail/exact_draw.hpp>
#endif

SPECVERIFY_TYPES_BEGIN

struct residual_options {
  std::uint32_t trial_cap = 32;  //!< envelope trials before the exact rule; 0: only the exact rule
  double scale = 1;              //!< (0, 1]: draws from scale * p - q
};

struct residual_token {
  token_id token = no_token;
  std::uint32_t trials = 0;  //!< envelope trials made
  bool fallback = false;     //!< the token is drawn from p, because the residual had no mass
  bool exact = false;        //!< the exact rule drew the token
};

inline constexpr double residual_mass_floor = 1e-12;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Decides the test need < slack * (have - taken * Z) of a proposal, for every Z between the bounds.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bound_decision decide_rest(double need, double slack, double have,
                                                                         double taken, double lower,
                                                                         double upper) noexcept {
  // Rejects if have <= taken * lower, because the right side is then not positive.
  if (need >= slack * kernel::left_of(have, taken, lower)) return bound_decision::rejected;
  return need < slack * kernel::left_of(have, taken, upper) ? bound_decision::accepted : bound_decision::open;
}

}  // namespace detail

#if __cplusplus >= 202002L
//! Concept of a distribution that a residual can subtract: the count of an id (0 for unknown ids) and the sum of all
//! counts.
template <class Law>
concept subtracted_law = requires(const Law& subtracted, token_id id) {
  { subtracted.count(id) } noexcept -> std::convertible_to<std::uint32_t>;
  { subtracted.resolution } -> std::convertible_to<std::uint32_t>;
};

namespace detail {

//! The exact rule: draws the token from (scale * p - q)+, or from p if the residual mass is too small for a double.
template <class Policy, class Scalar, class Law>
[[nodiscard]] inline result<residual_token> draw_exact_residual(const opened_row<Policy, Scalar>& row,
                                                                const Law& subtracted, double scale, double uniform,
                                                                std::uint32_t trials) noexcept {
  const double total = exact_normaliser(row);
  const remaining_weight<Law> left(subtracted, scale, total);
  if (!row.digest.truncated) {
    block_walk<Policy, Scalar, remaining_weight<Law>> blocks(row, left);
    const double mass = blocks.mass(), slack = blocks.slack(mass, total);
    const bool enough = kernel::is_finite(mass) && mass > residual_mass_floor * total + slack;
    const token_id token = enough ? blocks.find(uniform * mass, slack) : no_token;
    if (token != no_token) return residual_token{token, trials, false, true};
  }
  const double mass = inverse_total(row.policy, row.source, row.digest, row.base, left);
  const bool fallback = !(kernel::is_finite(mass) && mass >= residual_mass_floor * total);
  const token_id token = fallback ? exact_token(row, uniform)
                                  : inverse(row.policy, row.source, row.digest, row.base, uniform * mass, left);
  if (token == no_token) return row_error(errc::residual_unavailable);
  return residual_token{token, trials, fallback, true};
}

//! Decides whether a proposal is accepted. `have`: scale * e_v of the proposed id. `taken`: q of this id.
template <class Policy, class Scalar>
[[nodiscard]] SPECVERIFY_INLINE result<bool> accept_proposal(const opened_row<Policy, Scalar>& row, double need,
                                                             double slack, double have, double taken) noexcept {
  if (!(taken > 0.0)) return need < slack * have;
  const row_digest& digest = row.digest;
  bound_decision decision = decide_rest(need, slack, have, taken, digest.lower, digest.upper);
  if (decision == bound_decision::open) {
    const normaliser_bounds close = close_bounds(row);
    decision = decide_rest(need, slack, have, taken, close.lower, close.upper);
  }
  if (decision != bound_decision::open) return decision == bound_decision::accepted;
  const double total = exact_normaliser(row);
  if (outside_claim(digest, total)) return row_error(errc::blocks_disagree);
  return need < slack * kernel::left_of(have, taken, total);
}

//! Implements `row_reading::residual`; returns the same errors.
template <class Policy, class Scalar, class Law, class Source>
[[nodiscard]] inline result<residual_token> draw_residual(const opened_row<Policy, Scalar>& row, const Law& subtracted,
                                                          const uniform_stream<Source>& stream,
                                                          residual_options options) noexcept {
  const double scale = options.scale;
  if (!kernel::is_finite(scale) || !(scale > 0.0 && scale <= 1.0)) return row_error(errc::invalid_argument);
  if (subtracted.resolution == 0) return row_error(errc::invalid_resolution);
  const double unit = 1.0 / static_cast<double>(subtracted.resolution);
  const row_digest& digest = row.digest;
  if (digest.one_hot) [[unlikely]] {
    const double mass = scale - static_cast<double>(subtracted.count(digest.argmax)) * unit;
    return residual_token{digest.argmax, 0, !(mass >= residual_mass_floor), false};
  }
  std::uint32_t trial = 0;
  if (!digest.truncated) [[likely]] {
    const kernel::exact_weight exact = exact_of(digest);
    for (; trial < options.trial_cap; ++trial) {
      const random_block block = stream.block(trial);
      const proposal tried = propose(row.policy, row.source, digest, row.base, decision_uniform(block, 0));
      if (!tried.why.ok()) return tried.why;
      if (tried.token == no_token) continue;
      const double have = scale * exact(row.value(tried.token));
      const double taken = static_cast<double>(subtracted.count(tried.token)) * unit;
      const double need = decision_uniform(block, 1) * tried.envelope;
      const result<bool> accepted = accept_proposal(row, need, envelope_slack * tried.correction, have, taken);
      if (!accepted) return accepted.error();
      if (*accepted) return residual_token{tried.token, trial + 1, false, false};
    }
  }
  return draw_exact_residual(row, subtracted, scale, stream.uniform(trial), trial);
}

}  // namespace detail
#endif  // C++20

SPECVERIFY_NAMESPACE_END

#endif
