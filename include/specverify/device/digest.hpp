// SPDX-License-Identifier: Apache-2.0
//! Computes the digests of a batch of rows with Thrust: argmax, lane and block sums, bounds on Z, Z and W on request,
//! and the kept ids of truncated rows.
//!
//! Use it first, on the engine's logits, because the other functions of device/ need the digests.
//! Symbols:    as in row/digest.hpp.
//! Method:     one thread per lane of 1024 ids, so that 16 neighbours read 64 contiguous bytes at a time; then one
//!             thread per block, then one per row. If the maximum of a row is more than 60 T above the sampled
//!             reference, the row is read twice. A truncation takes four more reads, and one more for W if it keeps a
//!             share of W. It sorts 64-bit keys, then writes the ids up to the last kept key, in order. One thread per
//!             row sums the kept ids.
//! Guarantees: every field and every array equals the result of exec::seq bit for bit (Z under nvcc: with -fmad=false).
//!             No temporary memory, with three exceptions. exact_normaliser takes 32 bytes per 1024 ids. integer_total
//!             takes 8 bytes per row plus the memory of a reduction. A truncation takes 8 bytes per lane and 16 per id
//!             (per id of 64 (K + 1) if all rows have one top_k K), for at most 256 rows and about 2^22 ids at a time;
//!             and also 4 bytes per 32 ids, 16 per row, and the memory of a sort and scans.
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

//! Reads the rows of a batch into the digests. Errors of the call: the errors of `make_device_batch` that concern rows
//! and transform; null_span and size_mismatch (the digests do not belong to these rows); engine_failed. A row's error
//! is in the row's digest, for example invalid_truncation, or support_too_large if the row keeps more than
//! kept_capacity ids.
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
