// SPDX-License-Identifier: Apache-2.0
//! The accept test of speculative verification: uniform * count / resolution < p(token), without a division.
//!
//! Paper:      token-level verification (speculative sampling), accept with probability min(1, p / q).
//! Symbols:    q(x) = count / resolution, p(x) = e_x / Z (row/digest.hpp), U = uniform.
//! Test:       p > 0 and (count * Z <= resolution * e_x or U * count * Z < resolution * e_x), in double. The bracket of
//!             Z decides first; the exact Z is computed only when it does not, and then kept in the digest's cache.
//! Guarantees: no allocation; noexcept; near-tie: decisions closer than a relative 2^-20 raise near_tie. O(1), or O(V)
//!             when `exact`.
//! See:        docs/algorithms/acceptance.md, tests/unit/row/acceptance_test.cpp
#ifndef SPECVERIFY_ROW_ACCEPTANCE_HPP
#define SPECVERIFY_ROW_ACCEPTANCE_HPP

#include <specverify/row/detail/normaliser.hpp>

SPECVERIFY_TYPES_BEGIN

struct acceptance {
  bool accepted = false;
  bool near_tie = false;  //!< both sides of the test agree to 2^-20: another backend may decide otherwise
  bool exact = false;     //!< the bracket did not decide, the exact normaliser was used
};

inline constexpr double near_tie_margin = 0x1.0p-20;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Tests a token that was drawn from a law in which it has `count` of `resolution`. `uniform` is in [0, 1). A count of
//! 0 accepts iff p > 0.
//! Errors: token_out_of_range, invalid_resolution (0, or below count), invalid_argument (uniform outside [0, 1), an
//!         empty digest), null_span, size_mismatch (another row). On error `out` stays as it was.
template <execution_policy Policy, class Scalar>
[[nodiscard]] status accept_token(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  const row_digest& from, const workspace& space, token_id token, std::uint32_t count,
                                  std::uint32_t resolution, double uniform, acceptance& out) noexcept {
  const status checked = detail::check_row(row, from);
  if (!checked.ok()) return checked;
  if (token < 0 || static_cast<std::uint32_t>(token) >= from.valid_size)
    return detail::row_error(errc::token_out_of_range);
  if (resolution == 0 || count > resolution) return detail::row_error(errc::invalid_resolution);
  if (!kernel::is_finite(uniform) || !(uniform >= 0.0 && uniform < 1.0))
    return detail::row_error(errc::invalid_argument);
  const kernel::row_source<Scalar> source = detail::open(row, transform);
  const double weight = detail::weight_of(source, from, space, token);
  if (!(weight > 0.0) || count == 0) {
    out = {weight > 0.0, false, false};
    return {};
  }
  const double have = static_cast<double>(resolution) * weight;
  const double full = static_cast<double>(count);
  const double drawn = uniform * full;
  const double known = from.normaliser;
  if (!(known > 0.0)) {
    if (drawn * from.upper < have || full * from.upper <= have) {
      out = {true, false, false};
      return {};
    }
    if (drawn * from.lower >= have) {
      out = {false, false, false};
      return {};
    }
  }
  const double total = detail::exact_normaliser(policy, source, from, space);
  const double distance = drawn * total - have;
  const bool near_tie = (distance < 0.0 ? -distance : distance) <= near_tie_margin * have;
  out = {drawn * total < have || full * total <= have, near_tie, !(known > 0.0)};
  return {};
}

SPECVERIFY_NAMESPACE_END

#endif
