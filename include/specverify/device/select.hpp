// SPDX-License-Identifier: Apache-2.0
//! Selects the largest entries of each row of a batch. It uses Thrust, and `top_k` does the same on the CPU. The result
//! contains ids and integer weights.
//!
//! Use it after `read_rows`, on the same batch.
//! Guarantees: the entries are the first K in the order weight descending, then id ascending, and equal the results of
//!             exec::seq bit for bit. They are written with ids ascending. From a truncated row, only kept ids are
//!             selected. At most two reads per row. Temporary memory: docs/algorithms/device.md.
//! Limits:     K can be as large as the vocabulary; cuda/select.cuh is limited to max_device_selected.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/device.md, docs/decisions/0009-lane-tops.md, tests/device/thrust_select_test.cpp
#ifndef SPECVERIFY_DEVICE_SELECT_HPP
#define SPECVERIFY_DEVICE_SELECT_HPP

#include <specverify/device/digest.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN

//! Selects the `k` largest entries of each row, k >= 1, from the digests of `read_rows`. If a row has fewer entries
//! with a positive weight, it selects all of them.
//! Errors of the call: as for `read_rows`; invalid_argument (k); null_span; output_too_small (pitch below `where` = k);
//! engine_failed.
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
