// SPDX-License-Identifier: Apache-2.0
//! Keeps the tokens with a probability of at least beta, and adapts beta so that the mean dropped mass approaches
//! alpha.
//!
//! After each token, beta increases if the token's row dropped less than alpha, and decreases if it dropped more.
//! Paper:      Conformal Sparsification (arXiv 2510.09942), C-SQS, Algorithm 1, (28), (30).
//! Symbols:    alpha = target, eta = step, beta_1 = first_threshold, d_n = mass that the row of token n dropped.
//!             Linear: beta becomes min(1, beta - eta (d_n - alpha)). Logarithmic: ln beta becomes min(0, ln beta - eta
//!             (d_n - alpha)).
//! Guarantees: while the cap (`max_support_size`) does not bind, the mean of d_1..d_N is at most `dropped_mass_bound`
//!             for every sequence of distributions. The support is never empty. O(top entries); no allocation. Supports
//!             are bit-exact for a given beta. beta is never sent; it is the same in every build, except with x87
//!             doubles.
//! Deviates:   beta is at most 1, because the largest token always stays and beta could otherwise grow forever. While
//!             the cap binds, a linear beta is at least -eta (1 - alpha), because it could otherwise fall without
//!             limit. If beta leaves the range of doubles, it returns to the least threshold (logarithmic) or to -eta
//!             (1 - alpha). The logarithmic update, the least threshold and the default of beta_1 are ours.
//! See:        docs/algorithms/conformal.md, tests/unit/sparsify/conformal_test.cpp, tests/law/conformal_test.cpp
#ifndef SPECVERIFY_SPARSIFY_CONFORMAL_HPP
#define SPECVERIFY_SPARSIFY_CONFORMAL_HPP

#include <specverify/kernel/scalar/exponential.hpp>
#include <specverify/sparsify/threshold.hpp>

#include <cmath>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

enum class conformal_update : std::uint8_t {
  linear,      //!< the paper's update: beta moves by eta (d - alpha)
  logarithmic  //!< moves ln beta instead; adapts to flat rows within tens of tokens instead of 10^4
};

//! The learned state. A session that returns to an earlier state restores all of these fields, so no field counts an
//! update that was taken back.
struct conformal_state {
  double beta = 0;            //!< current threshold beta, at most 1
  double dropped = 0;         //!< sum of d_n
  std::uint32_t updates = 0;  //!< N
  //! updates in which `max_support_size` or a budget may have cut the support; the bound does not cover these updates
  std::uint32_t cap_hits = 0;
  friend SPECVERIFY_INLINE constexpr bool operator==(const conformal_state& a, const conformal_state& b) noexcept {
    return a.beta == b.beta && a.dropped == b.dropped && a.updates == b.updates && a.cap_hits == b.cap_hits;
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

struct conformal;
//! Checks the options. Errors (`where` = index of the field, from 0): invalid_argument.
[[nodiscard]] inline status check(const conformal& sparsifier) noexcept;

struct conformal {
  using state_type = conformal_state;
  double target = 5e-4;  //!< alpha in [0, 1]: target for the dropped mass
  //! eta >= 0; 0: a fixed threshold, without a guarantee. For a logarithmic update set it to about 2, at most 512
  double step = 1e-3;
  double first_threshold = 1e-3;  //!< beta_1, finite; positive for a logarithmic update
  conformal_update update = conformal_update::linear;
  //! least threshold of the logarithmic update; only the cap drops tokens with a higher probability. 0: alpha / V, the
  //! largest value for which the bound holds
  double least_threshold = 0;
  //! maximum number of tokens, of which the largest are kept. Must be set, because a flat row can move a linear beta
  //! below 0, and then about 1 / alpha supports keep every token. Set it to V for no limit
  std::uint32_t max_support_size = 0;
  //! whether the distribution after the last draft also updates beta, if it is known (see `resumed_state`)
  bool update_on_bonus = false;

  [[nodiscard]] constexpr conformal_state initial_state() const noexcept {
    conformal_state state;
    state.beta = first_threshold < 1 ? first_threshold : 1;
    return state;
  }
  [[nodiscard]] constexpr conformal_state widest_state() const noexcept { return {}; }

  //! Returns the state after a token with this support. A support without W (the total weight) leaves the state
  //! unchanged.
  [[nodiscard]] conformal_state advance(const conformal_state& state, const support& kept) const noexcept {
    if (kept.total_weight == 0) return state;
    const double dropped = dropped_mass(kept);
    const bool capped = (kept.cut || kept.size() >= max_support_size) && dropped > 0;
    conformal_state next = state;
    next.dropped += dropped;
    next.updates += 1;
    next.cap_hits += capped ? 1u : 0u;
    const bool logarithmic = update == conformal_update::logarithmic;
    const double move = numeric::product(step, dropped - target);
    next.beta = logarithmic ? state.beta * kernel::exponential(-move) : state.beta - move;
    const double unwound =
        logarithmic ? least(kept.vocab_size) * kernel::exponential(-step * (1 - target)) : -step * (1 - target);
    if (capped && next.beta < unwound) next.beta = unwound;
    // a beta of 0 or -infinity could never change again
    if (logarithmic ? next.beta < 0x1.0p-1022 : !kernel::is_finite(next.beta))
      next.beta = logarithmic ? least(kept.vocab_size) : unwound;
    if (next.beta > 1) next.beta = 1;
    return next;
  }

  [[nodiscard]] constexpr read_request request(const conformal_state& state, std::uint32_t vocab_size) const noexcept {
    return at(state, vocab_size).request({}, vocab_size);
  }
  [[nodiscard]] constexpr std::size_t workspace_size(const conformal_state& state,
                                                     std::uint32_t vocab_size) const noexcept {
    return at(state, vocab_size).workspace_size({}, vocab_size);
  }

  //! Errors: invalid_argument (an option outside its range, or NaN), digest_insufficient (the reading has no W, which
  //!         `advance` needs, or does not list all tokens above beta), reading_expired, workspace_too_small.
  [[nodiscard]] result<support> select(const row_summary& row, const conformal_state& state,
                                       workspace& scratch) const noexcept {
    if (const status why = check(*this); !why.ok()) return why;
    if (!row.expired() && row.support_total() == 0) return status{errc::digest_insufficient, part::sparsify, 0};
    return at(state, row.vocab_size()).select(row, {}, scratch);
  }

  //! Returns beta_min, the least threshold of a logarithmic update.
  [[nodiscard]] constexpr double least(std::uint32_t vocab_size) const noexcept {
    return least_threshold > 0 ? least_threshold : target / static_cast<double>(vocab_size == 0 ? 1 : vocab_size);
  }

 private:
  //! Returns the threshold for one position. A logarithmic beta below the least threshold is stored, but the least
  //! threshold is used.
  [[nodiscard]] constexpr threshold at(const conformal_state& state, std::uint32_t vocab_size) const noexcept {
    const double bottom = update == conformal_update::logarithmic ? least(vocab_size) : state.beta;
    return {state.beta > bottom ? state.beta : bottom, max_support_size, true};
  }
};

inline status check(const conformal& sparsifier) noexcept {
  const auto wrong = [](std::uint32_t field) noexcept { return status{errc::invalid_argument, part::sparsify, field}; };
  const bool logarithmic = sparsifier.update == conformal_update::logarithmic;
  if (!kernel::is_finite(sparsifier.target) || sparsifier.target < 0 || sparsifier.target > 1) return wrong(0);
  // with a larger step, a single flat row could move beta to 0
  if (!kernel::is_finite(sparsifier.step) || sparsifier.step < 0 || (logarithmic && sparsifier.step > 512))
    return wrong(1);
  if (!kernel::is_finite(sparsifier.first_threshold) || (logarithmic && sparsifier.first_threshold <= 0))
    return wrong(2);
  if (sparsifier.update > conformal_update::logarithmic) return wrong(3);
  if (!kernel::is_finite(sparsifier.least_threshold) || sparsifier.least_threshold < 0) return wrong(4);
  return sparsifier.max_support_size > 0 ? status{} : wrong(5);
}

//! Returns an upper bound on the mean dropped mass over the first N = `updates` tokens, for all distributions. Linear:
//! alpha + max(0, beta_1 + eta (1 - alpha)) / (eta N). Logarithmic, if V beta_min <= alpha: alpha + max(0, ln(beta_1 /
//! beta_min) + eta (1 - alpha)) / (eta N). Returns 1 if there is no guarantee (eta = 0, N = 0, or a larger beta_min).
//! Updates counted in `cap_hits` are not covered.
[[nodiscard]] inline double dropped_mass_bound(const conformal& sparsifier, std::uint64_t updates,
                                               std::uint32_t vocab_size) noexcept {
  if (!(sparsifier.step > 0) || updates == 0) return 1;
  double start = sparsifier.initial_state().beta;
  if (sparsifier.update == conformal_update::logarithmic) {
    const double least = sparsifier.least(vocab_size);
    if (!(least > 0) || least * static_cast<double>(vocab_size) > sparsifier.target * (1 + 1e-12)) return 1;
    start = std::log(start / least);
  }
  const double transient = start + sparsifier.step * (1 - sparsifier.target);
  const double bound =
      sparsifier.target + (transient > 0 ? transient / (sparsifier.step * static_cast<double>(updates)) : 0.0);
  return bound < 1 ? bound : 1;
}

//! Returns the mean of the dropped mass over all updates; 0 before the first update.
[[nodiscard]] constexpr double mean_dropped_mass(const conformal_state& state) noexcept {
  return state.updates == 0 ? 0.0 : state.dropped / static_cast<double>(state.updates);
}

//! Returns `base` for a text of N = `horizon` tokens, with eta = c / sqrt(N) and alpha = d / sqrt(N). The sum of the
//! dropped mass then grows like sqrt(N). c > 0; d in [0, sqrt(N)].
[[nodiscard]] inline conformal horizon_schedule(double c, double d, std::uint64_t horizon,
                                                conformal base = {}) noexcept {
  const double root = std::sqrt(static_cast<double>(horizon > 0 ? horizon : 1));
  base.step = c / root;
  base.target = d / root;
  return base;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
