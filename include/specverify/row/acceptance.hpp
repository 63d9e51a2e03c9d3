// SPDX-License-Identifier: Apache-2.0
//! Tests whether speculative verification accepts a drafted token, without a division.
//!
//! Paper:      token-level verification (speculative sampling): accept with probability min(1, p / q).
//! Symbols:    q = count / resolution, the token's probability under the drafter; p = e_x / Z, the probability of the
//!             token x under the target, with e_x and Z as in row/digest.hpp; U = a uniform random number.
//! Test:       accepts iff p > 0 and U q < p. In double, U q < p is: count * Z <= resolution * e_x or U * count * Z <
//!             resolution * e_x. Usually the digest's bounds on Z decide. Otherwise the row is read again for closer
//!             bounds, and then for Z in double.
//! Guarantees: no allocation; noexcept. O(1), or O(V) if the result's `exact` is set. Near-tie: backends may disagree
//!             only if the two sides of the second comparison differ by at most 2^-20 of the larger side; the result's
//!             `near_tie` is then set.
//! See:        docs/algorithms/acceptance.md, tests/unit/row/acceptance_test.cpp
#ifndef SPECVERIFY_ROW_ACCEPTANCE_HPP
#define SPECVERIFY_ROW_ACCEPTANCE_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/views.hpp>

#if __cplusplus >= 202002L
#include <specverify/row/detail/normaliser.hpp>
#endif

SPECVERIFY_TYPES_BEGIN

//! A drafted token, and its probability under the drafter, count / resolution.
struct drafted_token {
  token_id token = no_token;
  std::uint32_t count = 0;  //!< 0: the token is accepted if p(token) > 0
  std::uint32_t resolution = 0;
};

struct acceptance {
  bool accepted = false;
  bool near_tie = false;  //!< relative difference of the test's sides at most 2^-20, so backends may disagree
  bool exact = false;     //!< the digest's bounds did not decide, so Z was computed more precisely
};

inline constexpr double near_tie_margin = 0x1.0p-20;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Result of the test for all Z between two bounds. The result is `open` if it depends on Z.
enum class bound_decision : std::uint8_t { open, accepted, rejected };
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bound_decision decide(double drawn, double full, double have,
                                                                    double lower, double upper) noexcept {
  if (drawn * upper < have || full * upper <= have) return bound_decision::accepted;
  return drawn * lower >= have ? bound_decision::rejected : bound_decision::open;
}

//! Decides the test for a Z that was summed in double (`total`).
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE acceptance decide_exactly(double drawn, double full, double have,
                                                                        double total) noexcept {
  const double distance = numeric::product(drawn, total) - have;
  const bool near_tie = (distance < 0.0 ? -distance : distance) <= near_tie_margin * have;
  return acceptance{drawn * total < have || full * total <= have, near_tie, true};
}

#if __cplusplus >= 202002L
//! Implements `row_reading::accept`; returns the same errors.
template <class Policy, class Scalar>
[[nodiscard]] SPECVERIFY_INLINE result<acceptance> accept(const opened_row<Policy, Scalar>& row, drafted_token drafted,
                                                          double uniform) noexcept {
  if (!row.has(drafted.token)) return row_error(errc::token_out_of_range);
  if (drafted.resolution == 0 || drafted.count > drafted.resolution) return row_error(errc::invalid_resolution);
  if (!kernel::is_finite(uniform) || !(uniform >= 0.0 && uniform < 1.0)) return row_error(errc::invalid_argument);
  const row_digest& digest = row.digest;
  if (digest.claimed_size != 0 && above_claim(row, drafted.token))
    return row_error(errc::blocks_disagree, static_cast<std::uint32_t>(drafted.token));
  const double weight = weight_of(row.source, digest, row.base, drafted.token);
  if (!(weight > 0.0) || drafted.count == 0) return acceptance{weight > 0.0, false, false};
  const double have = static_cast<double>(drafted.resolution) * weight;
  const double full = static_cast<double>(drafted.count);
  const double drawn = uniform * full;
  const double known = digest.normaliser;
  if (!(known > 0.0)) [[likely]] {
    bound_decision decision = decide(drawn, full, have, digest.lower, digest.upper);
    if (decision != bound_decision::open) [[likely]]
      return acceptance{decision == bound_decision::accepted, false, false};
    const normaliser_bounds close = close_bounds(row);
    decision = decide(drawn, full, have, close.lower, close.upper);
    if (decision != bound_decision::open) return acceptance{decision == bound_decision::accepted, false, true};
  }
  const double total = exact_normaliser(row);
  if (outside_claim(digest, total)) return row_error(errc::blocks_disagree);
  acceptance decided = decide_exactly(drawn, full, have, total);
  decided.exact = !(known > 0.0);
  return decided;
}
#endif  // C++20

}  // namespace detail

SPECVERIFY_NAMESPACE_END

#endif
