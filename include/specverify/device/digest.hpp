// SPDX-License-Identifier: Apache-2.0
//! Computes the digests of a batch of rows with Thrust: argmax, lane and block sums, and bounds on Z. On request, also
//! Z, W and the kept ids of truncated rows.
//!
//! Call it first, on the engine's logits, because most functions of device/ need the digests.
//! Symbols:    Z, W as in row/digest.hpp.
//! Guarantees: every field and array equals the result of exec::seq bit for bit (Z under nvcc: with -fmad=false). One
//!             read per row. If the row's maximum is more than 60 temperatures above the sampled reference, a second
//!             read follows. A truncation takes four or five more reads. Temporary memory is needed only for a
//!             truncation, Z or W (docs/algorithms/device.md).
//! Cost:       O(V) per row.
//! See:        docs/algorithms/device.md, tests/device/thrust_rows_test.cpp
#ifndef SPECVERIFY_DEVICE_DIGEST_HPP
#define SPECVERIFY_DEVICE_DIGEST_HPP

#include <specverify/device/detail/truncate.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! Writes the digests of all rows, and the kept ids of rows that may be truncated.
template <class Policy, class Scalar>
void write_digests(const Policy& policy, const device_batch<Scalar>& batch, const device_request& request) {
  write_whole_digests(policy, batch, request);
  if (batch.transform.may_truncate()) truncate_rows(policy, batch);
}

}  // namespace thrust_detail

//! Reads the rows of a batch into the digests.
//! Errors of the call: errors of `make_device_batch` for rows and transform; null_span and size_mismatch (the digests
//! do not belong to these rows); engine_failed.
//! Errors of a row, in its digest: for example invalid_truncation, or support_too_large (the row keeps more than
//! kept_capacity ids).
template <class Policy, class Scalar>
[[nodiscard]] status read_rows(const exec::thrust_on<Policy>& how, const device_batch<Scalar>& batch,
                               const device_request& request = {}) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  return thrust_detail::guarded([&] {
    thrust_detail::write_digests(how.policy, batch, request);
    return status{};
  });
}

SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
