// SPDX-License-Identifier: Apache-2.0
//! Tests whether to accept one drafted token per row of a batch, with Thrust.
//!
//! Use it after `read_rows`, on the same batch. To verify whole rounds of drafts, use `verify_batch`
//! (device/verify.hpp).
//! Symbols:    as in row/acceptance.hpp.
//! Guarantees: the results equal the results of exec::seq, for any flags of nvcc. A test reads one logit. However,
//!             about one row in twenty is read completely, because the digest's bounds on the normalizer Z do not
//!             decide. Temporary memory: docs/algorithms/device.md.
//! Cost:       O(V / 256) per row, or O(V) if Z decides.
//! See:        docs/algorithms/device.md, tests/device/thrust_verify_test.cpp
#ifndef SPECVERIFY_DEVICE_ACCEPT_HPP
#define SPECVERIFY_DEVICE_ACCEPT_HPP

#include <specverify/device/detail/tests.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

template <class Scalar, class Key>
struct accept_question {
  device_batch<Scalar> batch;
  const drafted_token* drafted;
  device_stream<Key> random;
  device_acceptance* out;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool operator()(std::size_t r, double sum) const noexcept {
    tested_row<Scalar> row(batch, r, sum);
    const drafted_token& one = drafted[r];
    device_acceptance found;
    found.why = row.row.digest.of_whole_row();
    if (found.why.ok() && !row.row.has(one.token)) found.why = {errc::token_out_of_range, part::row, 0};
    if (found.why.ok() && (one.resolution == 0 || one.count > one.resolution))
      found.why = {errc::invalid_resolution, part::row, 0};
    if (found.why.ok()) {
      const row_stream<Key> numbers{random, static_cast<std::uint32_t>(r)};
      const acceptance tested = row.test(one, decision_uniform(numbers.block(0)));
      found.accepted = tested.accepted;
      found.near_tie = tested.near_tie;
      found.exact = tested.exact;
    }
    out[r] = found;
    return row.needs_sum;
  }
};

}  // namespace thrust_detail

//! Does one accept test per row, on digests from `read_rows`.
//! Errors of the call: as for `read_rows`; null_span (drafted, keys, positions, rounds or out); engine_failed.
//! Errors of a row: the digest's error, token_out_of_range, invalid_resolution (0, or below count).
template <class Policy, class Scalar, class Key>
[[nodiscard]] status accept(const exec::thrust_on<Policy>& how, const device_batch<Scalar>& batch,
                            const drafted_token* drafted, const device_stream<Key>& random,
                            device_acceptance* out) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (drafted == nullptr || out == nullptr || !random.has_all()) return device_detail::refusal(errc::null_span);
  return thrust_detail::guarded([&] {
    thrust_detail::ask_rows(how.policy, batch,
                            thrust_detail::accept_question<Scalar, Key>{batch, drafted, random, out});
    return status{};
  });
}

SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
