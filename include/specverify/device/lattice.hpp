// SPDX-License-Identifier: Apache-2.0
//! Quantizes the distribution of each row of a batch to the nearest lattice point, with Thrust. A drafter sends this
//! lattice point.
//!
//! Use it after `read_rows`: on the same batch for dense distributions (quantize/lattice.hpp), or on the result of
//! `select` for distributions over a support (quantize/sparse_lattice.hpp).
//! Guarantees: counts equal the results of `lattice` and `sparse_lattice` bit for bit, but only positive counts are
//!             listed, with ids ascending. For a dense distribution, a row is read at most three times, because only
//!             the min(V, 2 l) largest entries can have a positive count at resolution l. For a distribution over a
//!             support, no row is read. Temporary memory: docs/algorithms/device.md.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/device.md, docs/algorithms/lattice.md, tests/device/thrust_select_test.cpp
#ifndef SPECVERIFY_DEVICE_LATTICE_HPP
#define SPECVERIFY_DEVICE_LATTICE_HPP

#include <specverify/device/digest.hpp>
#include <specverify/kernel/scalar/lattice.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! Workspace for the lattice points of several rows: `size` entries per row.
struct lattice_work {
  std::uint32_t* counts;
  std::int64_t* remainders;
  std::uint32_t* heap;
  std::size_t size;

  //! Rounds the weights of one list to counts that sum to `resolution`, and writes the entries with a positive count.
  //! Returns the number of these entries.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t quantize(std::size_t list, const token_id* ids,
                                                                       const std::uint32_t* weights,
                                                                       std::uint32_t count, std::uint64_t total,
                                                                       std::uint32_t resolution, token_id* out_ids,
                                                                       std::uint32_t* out_counts) const noexcept {
    const kernel::lattice_entries entries{counts + list * size, remainders + list * size};
    const exec::seq_policy how{};
    const auto rounded = kernel::round_to_lattice(how, weights, count, total, resolution, entries);
    kernel::repair_lattice(how, entries, count, rounded.excess, heap + list * size);
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (entries.counts[i] == 0) continue;
      out_ids[kept] = ids[i];
      out_counts[kept++] = entries.counts[i];
    }
    return kept;
  }
};

template <class Policy>
struct lattice_room {
  temporary<std::uint32_t, Policy> counts, heap;
  temporary<std::int64_t, Policy> remainders;
  std::size_t size;
  SPECVERIFY_INLINE lattice_room(const Policy& policy, std::size_t rows, std::size_t entries)
      : counts(policy, rows * entries),
        heap(policy, rows * entries),
        remainders(policy, rows * entries),
        size(entries) {}
  [[nodiscard]] SPECVERIFY_INLINE lattice_work work() const {
    return {counts.data(), remainders.data(), heap.data(), size};
  }
};

//! Writes a row's distribution, which it computes from the row's largest entries. Row r of the chunk begins at r *
//! kept.pitch in `kept`.
template <class Scalar>
struct write_law {
  device_batch<Scalar> batch;
  std::size_t first_row;
  const std::uint64_t* totals;
  device_supports kept;
  std::uint32_t resolution;
  lattice_work work;
  device_laws out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    const std::size_t row = first_row + r;
    const device_digest& digest = batch.digests.rows[row];
    device_law law;
    law.why = digest.of_whole_row();
    if (law.why.ok()) {
      const std::uint64_t known = digest.one_hot ? kernel::weight_one : digest.total_weight;
      law.resolution = resolution;
      law.size = work.quantize(r, kept.ids + r * kept.pitch, kept.weights + r * kept.pitch, kept.rows[row].size,
                               known != 0 ? known : totals[row], resolution, out.ids + row * out.pitch,
                               out.counts + row * out.pitch);
    }
    out.rows[row] = law;
  }
};

//! Writes the distribution of a support.
struct write_sparse_law {
  device_supports kept;
  std::uint32_t resolution;
  lattice_work work;
  device_laws out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    const device_support& support = kept.rows[r];
    const std::uint32_t* const weights = kept.weights + r * kept.pitch;
    device_law law;
    law.why = support.why;
    if (law.why.ok() && support.size == 0) law.why = {errc::empty_support, part::quantize, 0};
    if (law.why.ok() && support.size > work.size)
      law.why = {errc::support_too_large, part::quantize, static_cast<std::uint32_t>(work.size)};
    if (law.why.ok() && support.size > out.pitch) law.why = {errc::output_too_small, part::quantize, support.size};
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; law.why.ok() && i < support.size; ++i) total += weights[i];
    if (law.why.ok() && total == 0) law.why = {errc::zero_weight, part::quantize, 0};
    if (law.why.ok()) {
      law.resolution = resolution;
      law.size = work.quantize(r, kept.ids + r * kept.pitch, weights, support.size, total, resolution,
                               out.ids + r * out.pitch, out.counts + r * out.pitch);
    }
    out.rows[r] = law;
  }
};

[[nodiscard]] SPECVERIFY_INLINE status check_laws(std::uint32_t resolution, const device_laws& laws) noexcept {
  if (resolution == 0 || resolution > max_lattice_resolution)
    return {errc::invalid_resolution, part::quantize, resolution};
  const bool complete = laws.rows != nullptr && laws.ids != nullptr && laws.counts != nullptr;
  return complete ? status{} : status{errc::null_span, part::quantize, 0};
}

template <class Policy, class Scalar>
void quantize_rows(const Policy& policy, const device_batch<Scalar>& batch, std::uint32_t resolution,
                   const device_laws& laws) {
  const std::size_t rows = batch.rows.count;
  const std::uint32_t entries = lattice_support_size(batch.rows.size, resolution);
  const auto shape = selection::of(batch.digests.blocks, batch.rows.size, rows, entries);
  const temporary<std::uint64_t, Policy> totals(policy, rows);
  const temporary<device_support, Policy> supports(policy, rows);
  const temporary<token_id, Policy> ids(policy, shape.rows * entries);
  const temporary<std::uint32_t, Policy> weights(policy, shape.rows * entries);
  const selection_room<Policy> room(policy, shape);
  const lattice_room<Policy> points(policy, shape.rows, entries);
  sum_weights(policy, batch, totals.data());
  const device_supports kept{supports.data(), ids.data(), weights.data(), entries};
  for (std::size_t first = 0; first < rows; first += shape.rows) {
    const std::size_t left = rows - first, count = left < shape.rows ? left : shape.rows;
    select_rows(policy, batch, first, count, 0, shape, room, kept);
    for_each_index(policy, count,
                   write_law<Scalar>{batch, first, totals.data(), kept, resolution, points.work(), laws});
  }
}

}  // namespace thrust_detail

//! Writes the lattice point nearest to each whole row's distribution, from the digests of `read_rows`. Only ids with a
//! positive count are listed.
//! Errors of the call: as for `read_rows`; under part::quantize invalid_resolution (`where` = the resolution, which is
//! 0 or above max_lattice_resolution), null_span, output_too_small (pitch below `where` = min(V, l)); engine_failed.
template <class Policy, class Scalar>
[[nodiscard]] status quantize(const exec::thrust_on<Policy>& how, const device_batch<Scalar>& batch,
                              std::uint32_t resolution, const device_laws& laws) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (const status why = thrust_detail::check_laws(resolution, laws); !why.ok()) return why;
  const std::uint32_t listed = resolution < batch.rows.size ? resolution : batch.rows.size;
  if (laws.pitch < listed) return {errc::output_too_small, part::quantize, listed};
  return thrust_detail::guarded([&] {
    thrust_detail::quantize_rows(how.policy, batch, resolution, laws);
    return status{};
  });
}

//! Writes the distribution of each of `rows` supports, normalized over the support's total weight. Only ids with a
//! positive count are listed. Weights must be at most 2^31.
//! Errors of the call, under part::quantize: invalid_resolution, null_span, size_mismatch (no rows); engine_failed.
//! Errors of a row: the support's error, support_too_large (more entries than the pitch of the supports),
//! output_too_small (more than the pitch of the distributions), empty_support, zero_weight.
template <class Policy>
[[nodiscard]] status quantize(const exec::thrust_on<Policy>& how, std::uint32_t rows, const device_supports& kept,
                              std::uint32_t resolution, const device_laws& laws) noexcept {
  if (const status why = thrust_detail::check_laws(resolution, laws); !why.ok()) return why;
  if (kept.rows == nullptr || kept.ids == nullptr || kept.weights == nullptr)
    return {errc::null_span, part::quantize, 0};
  if (rows == 0) return {errc::size_mismatch, part::quantize, 0};
  return thrust_detail::guarded([&] {
    const thrust_detail::lattice_room<Policy> points(how.policy, rows, kept.pitch);
    thrust_detail::for_each_index(how.policy, rows,
                                  thrust_detail::write_sparse_law{kept, resolution, points.work(), laws});
    return status{};
  });
}

SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
