// SPDX-License-Identifier: Apache-2.0
//! Draws a token to replace a rejected draft, for each row of a batch, with Thrust. The token has the residual
//! distribution norm((scale * p - q)+), for the target's distribution p, the draft's distribution q, and `scale` in (0,
//! 1] (residual_options).
//!
//! Use it after `read_rows`, on the same batch. To verify whole rounds of drafts, use `verify_batch`
//! (device/verify.hpp).
//! Guarantees: tokens equal the results of exec::seq, for any flags of nvcc. A proposal reads one lane of the row. If a
//!             decision depends on the normalizer Z, the row is read once more. The exact rule reads the row twice,
//!             serially. Truncated rows always use this rule, on the kept ids. Temporary memory:
//!             docs/algorithms/device.md.
//! Cost:       O(V / 256) per row, or O(V) if Z or the exact rule decides.
//! See:        docs/algorithms/device.md, tests/device/thrust_verify_test.cpp
#ifndef SPECVERIFY_DEVICE_RESIDUAL_HPP
#define SPECVERIFY_DEVICE_RESIDUAL_HPP

#include <specverify/device/detail/tests.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

template <class Scalar, class Key>
struct residual_question {
  device_batch<Scalar> batch;
  const law* laws;
  device_stream<Key> random;
  residual_options options;
  device_token* out;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool operator()(std::size_t r, double sum) const noexcept {
    tested_row<Scalar> row(batch, r, sum);
    device_token drawn;
    drawn.why = row.row.digest.of_whole_row();
    if (drawn.why.ok() && laws[r].resolution == 0) drawn.why = {errc::invalid_resolution, part::row, 0};
    if (drawn.why.ok())
      drawn = row.draw({laws + r, no_token, 1.0 / static_cast<double>(laws[r].resolution)},
                       row_stream<Key>{random, static_cast<std::uint32_t>(r)}, options);
    out[r] = drawn;
    return row.needs_sum;
  }
};

}  // namespace thrust_detail

//! Draws one token per row after subtracting `laws[r]` from row r, on digests from `read_rows`. The distributions and
//! their arrays must be in device memory and are not checked.
//! Errors of the call: as for `read_rows`; null_span (`laws`, keys, positions, rounds or tokens); invalid_argument (a
//! scale outside (0, 1]); engine_failed.
//! Errors of a row: the digest's error, invalid_resolution (0), residual_unavailable (p has no mass).
template <class Policy, class Scalar, class Key>
[[nodiscard]] status residual(const exec::thrust_on<Policy>& how, const device_batch<Scalar>& batch, const law* laws,
                              const device_stream<Key>& random, device_token* tokens,
                              const residual_options& options = {}) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (laws == nullptr || tokens == nullptr || !random.has_all()) return device_detail::refusal(errc::null_span);
  if (!numeric::is_finite(options.scale) || !(options.scale > 0.0 && options.scale <= 1.0))
    return device_detail::refusal(errc::invalid_argument);
  return thrust_detail::guarded([&] {
    thrust_detail::ask_rows(how.policy, batch,
                            thrust_detail::residual_question<Scalar, Key>{batch, laws, random, options, tokens});
    return status{};
  });
}

SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
