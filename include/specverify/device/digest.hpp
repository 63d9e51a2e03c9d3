// SPDX-License-Identifier: Apache-2.0
//! Digests of a batch of rows with Thrust: argmax, lane and block sums, bounds of Z; where asked for, Z and W; of
//! truncated rows what they keep.
//!
//! Use it first, on logits as the engine left them; the other functions of device/ go on from the digests.
//! Symbols:    as in row/digest.hpp.
//! Shape:      a thread a lane of 1024 ids, so that 16 neighbours read 64 contiguous bytes at a time; then a thread a
//!             block, then a thread a row. A row whose maximum stands more than 60 T above its sampled reference is
//!             read twice. A truncation takes four reads more, and one for W where it cuts a share of that: a sort of
//!             64-bit keys, then the ids up to the last key in their order. A thread a row sums what is kept.
//! Guarantees: every field and every array is that of exec::seq bit for bit (Z under nvcc: with -fmad=false). No
//!             temporary memory; with exact_normaliser 32 bytes for 1024 ids, with integer_total 8 a row and what a
//!             reduction takes. With a truncation 8 bytes for each lane and 16 for each id (for each of 64 (K + 1),
//!             where all rows have one top_k K), of at most 256 rows and about 2^22 ids at a time; 4 bytes for 32 ids,
//!             16 a row, and what a sort and scans take.
//! See:        docs/algorithms/device.md, tests/device/thrust_rows_test.cpp
#ifndef SPECVERIFY_DEVICE_DIGEST_HPP
#define SPECVERIFY_DEVICE_DIGEST_HPP

#include <specverify/device/detail/truncate.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! Digests of all rows; where rows may be truncated, what they keep.
template <class Policy, class Scalar>
void write_digests(const Policy& policy, const device_batch<Scalar>& batch, const device_request& request) {
  write_whole_digests(policy, batch, request);
  if (batch.transform.may_truncate()) truncate_rows(policy, batch);
}

}  // namespace thrust_detail

//! Reads the rows of a batch into their digests. Errors, of the arguments alone: size_mismatch and those of
//! `make_device_batch`; engine_failed. Rows in error say so in their digest, those of an invalid truncation and those
//! that keep more than kept_capacity among them.
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
