// SPDX-License-Identifier: Apache-2.0
//! The largest entries of each row of a batch with Thrust, with their integer weights: what `top_k` keeps on the host.
//!
//! Use it after `read_rows`, on the same batch.
//! Symbols:    w_v = integer weights (row/integer_weights.hpp), K = how many are wanted.
//! Guarantees: ids and weights of the total order (w descending, id ascending), as exec::seq gathers them, bit for bit;
//!             ids come ascending; of a truncated row those that it keeps. Sorts of 64-bit keys; at most two reads
//!             of a row. Temporary memory: 8 bytes for each lane, for each of 64 (K + 1) ids and for each entry, and
//!             what a sort takes, of at most 256 rows and about 2^22 ids at a time.
//! Deviates:   no limit on K but the vocabulary.
//! See:        docs/algorithms/device.md, docs/decisions/0009-lane-tops.md, tests/device/thrust_select_test.cpp
#ifndef SPECVERIFY_DEVICE_SELECT_HPP
#define SPECVERIFY_DEVICE_SELECT_HPP

#include <specverify/device/digest.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN

//! The `k` largest entries of each row, at least 1; rows with fewer of positive weight give all of those. From the
//! digests that `read_rows` made before. Errors, of the arguments alone: those of `read_rows`; invalid_argument (k);
//! null_span; output_too_small (pitch below k; `where` = k); engine_failed.
template <class Policy, class Scalar>
[[nodiscard]] status select(const exec::thrust_on<Policy>& how, const device_batch<Scalar>& batch, std::uint32_t k,
                            const device_supports& supports) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (k == 0) return device_detail::refusal(errc::invalid_argument);
  if (supports.rows == nullptr || supports.ids == nullptr || supports.weights == nullptr)
    return device_detail::refusal(errc::null_span);
  if (supports.pitch < k) return device_detail::refusal(errc::output_too_small, k);
  return thrust_detail::guarded([&] {
    const auto shape = thrust_detail::selection::of(batch.digests.blocks, batch.rows.size, batch.rows.count, k);
    const thrust_detail::selection_room<Policy> room(how.policy, shape);
    for (std::size_t first = 0; first < batch.rows.count; first += shape.rows) {
      const std::size_t left = batch.rows.count - first;
      thrust_detail::select_rows(how.policy, batch, first, left < shape.rows ? left : shape.rows, first, shape, room,
                                 supports);
    }
    return status{};
  });
}

SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
