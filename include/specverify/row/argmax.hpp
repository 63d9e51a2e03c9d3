// SPDX-License-Identifier: Apache-2.0
//! Finds the token with the largest logit (after bias and mask) or probability. The smaller id wins a tie.
//!
//! Guarantees: O(V): reads the row once, without a softmax or a workspace; no allocation; noexcept; bit-exact.
//!             Temperature and truncation have no effect, because the largest logit stays the largest.
//! See:        docs/algorithms/argmax.md, kernel/scalar/argmax.hpp, tests/unit/row/argmax_test.cpp,
//!             benchmarks/bench_argmax.cpp
#ifndef SPECVERIFY_ROW_ARGMAX_HPP
#define SPECVERIFY_ROW_ARGMAX_HPP

#include <specverify/core/execution.hpp>
#include <specverify/row/detail/open.hpp>

SPECVERIFY_TYPES_BEGIN

struct argmax_result {
  token_id token = no_token;
  bool near_tie = false;  //!< margin <= 2^-20 times the larger magnitude of the two largest values
  double margin = 0;      //!< largest minus second largest value; +infinity if the second is -infinity
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Errors: as for `read_row`, except errors of the request or the workspace. Returns row_not_normalised only for an
//!         infinite probability, because the row is not summed.
template <execution_policy Policy, class Scalar>
[[nodiscard]] result<argmax_result> argmax(Policy policy, row_view<Scalar> row,
                                           const row_transform& transform) noexcept {
  if (const status why = detail::check_arguments(row, transform); !why.ok()) return why;
  const detail::kept_subnormals order;
  const kernel::row_source<Scalar> source = detail::open(row, transform);
  const auto found = kernel::find_maximum(policy, source);
  if (const status why = detail::check_values(source, found); !why.ok()) return why;
  const kernel::value_margin to_second =
      kernel::margin_of(static_cast<double>(found.maximum), static_cast<double>(found.second));
  return argmax_result{static_cast<token_id>(found.argmax), to_second.near_tie, to_second.margin};
}

SPECVERIFY_NAMESPACE_END

#endif
