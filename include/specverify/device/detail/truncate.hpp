// SPDX-License-Identifier: Apache-2.0
//! Truncates rows with Thrust, and stores the kept ids, their exponentials and Z with the digest of a row.
//!
//! The order of entries is integer weight descending, then id ascending. The kept ids are the shortest of three
//! prefixes: the first top_k, the entries with at least the weight for min_p, and the smallest prefix with the share
//! top_p of the mass. To find the last kept key, the function sorts keys, scans the weights and does three binary
//! searches per row.
#ifndef SPECVERIFY_DEVICE_DETAIL_TRUNCATE_HPP
#define SPECVERIFY_DEVICE_DETAIL_TRUNCATE_HPP

#include <specverify/device/detail/compact.hpp>
#include <specverify/device/detail/keys.hpp>
#include <specverify/row/detail/share.hpp>

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE const row_truncation& truncation_of(const device_transform& transform,
                                                                                  std::size_t row) noexcept {
  return transform.truncations == nullptr ? transform.truncation : transform.truncations[row];
}

//! Returns the entries of a row that a truncation may need in order: top_k if all rows have one top_k, otherwise all.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE std::uint32_t ordered_of(const device_batch<Scalar>& batch) noexcept {
  const device_transform& transform = batch.transform;
  const bool counted = transform.truncations == nullptr && detail::is_counted(transform.truncation, batch.rows.size);
  return counted ? transform.truncation.top_k : batch.rows.size;
}
//! Returns whether the truncation of some row may need W.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE bool needs_totals(const device_batch<Scalar>& batch) noexcept {
  const device_transform& transform = batch.transform;
  return transform.truncations != nullptr || detail::is_share_of_total(transform.truncation, batch.rows.size);
}

struct weight_of_entry {
  const std::uint64_t* keys;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t operator()(std::size_t i) const noexcept {
    return weight_of_key(keys[i]);
  }
};

//! Largest entries of a chunk's rows in order, and the running sums of all weights.
struct ordered_entries {
  const std::uint64_t* keys;
  const std::uint64_t* masses;
  std::uint32_t count;  // per row

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t key(std::size_t r, std::uint32_t i) const noexcept {
    return keys[r * count + i] & no_entry;
  }
  //! Returns the mass of the first `size` entries of a row.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t mass(std::size_t r, std::uint32_t size) const noexcept {
    const std::size_t first = r * count;
    const std::uint64_t before = first == 0 ? 0 : masses[first - 1];
    return size == 0 ? 0 : masses[first + size - 1] - before;
  }
  //! Returns the number of entries that a truncation keeps of a row with the total weight `total`.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t kept(std::size_t r, const row_truncation& cut,
                                                                   std::uint32_t row_size,
                                                                   std::uint64_t total) const noexcept {
    const std::uint32_t most = detail::is_counted(cut, row_size) && cut.top_k < count ? cut.top_k : count;
    const std::uint32_t largest = first_where(most, [&](std::uint32_t i) { return key(r, i) == no_entry; });
    const std::uint64_t floor = detail::least_of_largest(cut.min_p);
    std::uint32_t size = first_where(largest, [&](std::uint32_t i) { return weight_of_key(key(r, i)) < floor; });
    if (!(cut.top_p < 1.0)) return size;
    const std::uint64_t whole = detail::is_share_of_largest(cut, row_size) ? mass(r, largest) : total;
    const std::uint64_t target = detail::least_of_share(cut.top_p, whole, detail::roundings_of(cut, row_size));
    const std::uint32_t reached = first_where(size, [&](std::uint32_t i) { return mass(r, i + 1) >= target; });
    return reached < size ? reached + 1 : size;
  }
};

//! Truncates a row: the digest gets the number of kept ids and the mass, and `last` the last kept key.
template <class Scalar>
struct cut_row {
  device_batch<Scalar> batch;
  std::size_t first_row;
  ordered_entries entries;
  const std::uint64_t* totals;  // null: no truncation needs W
  std::uint64_t* last;          // indexed by row; 0: the row is not truncated
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    const std::size_t row = first_row + r;
    device_digest& digest = batch.digests.rows[row];
    const row_truncation cut = truncation_of(batch.transform, row);
    last[row] = 0;
    if (!cut.valid() && digest.why.code != errc::invalid_temperature)
      digest.why = {errc::invalid_truncation, part::row, 0};
    if (!digest.why.ok() || digest.one_hot || !cut.active()) return;
    const std::uint64_t total = digest.total_weight != 0 || totals == nullptr ? digest.total_weight : totals[row];
    digest.truncated = true;
    digest.kept = entries.kept(r, cut, batch.rows.size, total);
    digest.total_weight = entries.mass(r, digest.kept);
    last[row] = entries.key(r, digest.kept - 1);  // the largest weight is always kept
  }
};

//! Ids of a row up to the last key.
template <class Scalar>
struct kept_of_row {
  kernel::row_source<Scalar> row;
  kernel::integer_weight weight;
  kernel::exact_weight exact;
  std::uint64_t last;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t size() const noexcept { return last == 0 ? 0 : row.size; }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE token_id id(std::uint32_t at) const noexcept {
    return static_cast<token_id>(at);
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t value(std::uint32_t at) const noexcept {
    return weight(static_cast<double>(row.value(at)));
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool passes(std::uint32_t at, std::uint32_t found) const noexcept {
    return key_of(found, at) <= last;
  }
};
template <class Scalar>
struct kept_entries {
  device_batch<Scalar> batch;
  const std::uint64_t* last;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE kept_of_row<Scalar> of(std::size_t r) const noexcept {
    const device_digest& digest = batch.digests.rows[r];
    if (last[r] == 0) return {{}, {}, {}, 0};
    return {open_row(batch.rows, batch.transform, r),
            thrust_detail::weight_of(digest),
            {static_cast<double>(digest.maximum), 1.0 / digest.temperature, false},
            last[r]};
  }
};

//! Writes the ids and e_v of the kept entries of all rows, at most kept_capacity entries per row.
struct law_writer {
  device_digests out;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::size_t room() const noexcept { return out.kept_capacity; }
  template <class Row>
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t place, const Row& row, std::uint32_t at,
                                                  std::uint32_t) const noexcept {
    out.kept_ids[place] = row.id(at);
    out.kept_weights[place] = row.exact(static_cast<double>(row.row.value(at)));
  }
};

//! Stores the sum of the kept ids.
struct close_truncated {
  device_digests out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    device_digest& digest = out.rows[r];
    if (!digest.truncated) return;
    const bool fits = digest.kept <= out.kept_capacity;
    const double sum = fits ? sum_of_terms(out.kept_weights + r * out.kept_capacity, digest.kept) : 0.0;
    if (!fits) digest.why = {errc::support_too_large, part::row, digest.kept};
    digest.reference = digest.maximum;
    digest.coarse_total = digest.lower = digest.upper = digest.normaliser = sum;
  }
};

//! Finds the last key that each row keeps, one chunk of rows after another.
template <class Policy, class Scalar>
void cut_rows(const Policy& policy, const device_batch<Scalar>& batch, const std::uint64_t* totals,
              std::uint64_t* last) {
  const std::size_t rows = batch.rows.count;
  const auto shape = selection::of(batch.digests.blocks, batch.rows.size, rows, ordered_of(batch));
  const entry_room<Policy> room(policy, shape);
  const temporary<std::uint64_t, Policy> masses(policy, shape.rows * shape.entries);
  const ordered_entries entries{room.entries.data(), masses.data(), shape.entries};
  const auto weights =
      thrust_ns::make_transform_iterator(thrust_ns::counting_iterator<std::size_t>(0), weight_of_entry{entries.keys});
  for (std::size_t first = 0; first < rows; first += shape.rows) {
    const std::size_t left = rows - first, count = left < shape.rows ? left : shape.rows;
    sort_entries(policy, batch, first, count, shape, room);
    thrust_ns::inclusive_scan(policy, weights, weights + static_cast<std::ptrdiff_t>(count * shape.entries),
                              masses.data(), plus{});
    for_each_index(policy, count, cut_row<Scalar>{batch, first, entries, totals, last});
  }
}

//! Truncates the rows of a batch, which must have digests.
template <class Policy, class Scalar>
void truncate_rows(const Policy& policy, const device_batch<Scalar>& batch) {
  const std::size_t rows = batch.rows.count;
  const bool with_totals = needs_totals(batch);
  const temporary<std::uint64_t, Policy> totals(policy, with_totals ? rows : 0), last(policy, rows);
  if (with_totals) sum_weights(policy, batch, totals.data());
  cut_rows(policy, batch, with_totals ? totals.data() : nullptr, last.data());
  place_entries(policy, rows, batch.rows.size, kept_entries<Scalar>{batch, last.data()}, law_writer{batch.digests});
  for_each_index(policy, rows, close_truncated{batch.digests});
}

}  // namespace thrust_detail
SPECVERIFY_DEVICE_END

#endif
