// SPDX-License-Identifier: Apache-2.0
//! Reads whole rows without a digest to compute their maxima and the terms of exact sums.
#ifndef SPECVERIFY_DEVICE_DETAIL_WHOLE_ROW_HPP
#define SPECVERIFY_DEVICE_DETAIL_WHOLE_ROW_HPP

#include <specverify/device/detail/rows.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! Finds the first entry of a lane by value and id.
template <class Scalar>
struct top_of_lane {
  device_rows<Scalar> rows;
  device_transform transform;
  std::uint32_t blocks;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t operator()(std::size_t i) const noexcept {
    const auto at = lane_place::of(i, blocks);
    const auto row = open_row(rows, transform, at.row);
    std::uint64_t best = 0;
    for (std::uint32_t id = at.first(); id < at.end(row.size); id += kernel::lane_count)
      best = larger{}(best, order_key(row.value(id), id));
    return best;
  }
};

//! Returns the reason why a row has no distribution, from the first value of the row's order, or ok if it has one.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE status why_of(float first, std::uint32_t id) noexcept {
  if (kernel::is_nan(first)) return {errc::row_has_nan, part::row, id};
  if (kernel::is_positive_infinity(first)) return {errc::row_has_positive_infinity, part::row, id};
  return kernel::is_finite(first) ? status{} : status{errc::row_is_empty, part::row, 0};
}

//! Maximum of a row, or the reason why there is no distribution.
struct row_top {
  status why{};
  std::uint32_t id = 0;
  float maximum = 0;
};

//! Rows with known maxima.
template <class Scalar>
struct topped_rows {
  device_rows<Scalar> rows;
  device_transform transform;
  const std::uint64_t* tops;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE kernel::row_source<Scalar> open(std::size_t r) const noexcept {
    return open_row(rows, transform, r);
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double temperature(std::size_t r) const noexcept {
    return temperature_of(transform, r);
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE row_top top(std::size_t r) const noexcept {
    row_top found;
    found.why = transform_of(r);
    if (!found.why.ok()) return found;
    found.id = id_of_key(tops[r]);
    found.maximum = open(r).value(found.id);
    found.why = why_of(found.maximum, found.id);
    return found;
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE kernel::exact_weight exact(std::size_t r,
                                                                           const row_top& top) const noexcept {
    return {static_cast<double>(top.maximum), 1.0 / temperature(r), false};
  }

 private:
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE status transform_of(std::size_t r) const noexcept {
    if (!is_usable_temperature(temperature(r))) return {errc::invalid_temperature, part::row, 0};
    if (transform.truncations == nullptr) return {};
    const row_truncation& cut = transform.truncations[r];
    if (!cut.valid()) return {errc::invalid_truncation, part::row, 0};
    return cut.active() ? status{errc::unsupported, part::row, 0} : status{};
  }
};

//! Computes one term of a row's exact sum under the row's maximum.
template <class Scalar>
struct term_of_row {
  topped_rows<Scalar> all;
  double* terms;
  std::uint32_t count;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const std::size_t r = i / count;
    const row_top top = all.top(r);
    if (!top.why.ok() || is_greedy(all.temperature(r))) return;
    terms[i] = exact_term(all.open(r), static_cast<std::uint32_t>(i % count) * kernel::exact_size, all.exact(r, top));
  }
};

template <class Policy, class Scalar>
[[nodiscard]] SPECVERIFY_INLINE topped_rows<Scalar> find_tops(const Policy& policy, const device_rows<Scalar>& rows,
                                                              const device_transform& transform, std::uint64_t* tops) {
  const std::uint32_t blocks = device_detail::blocks_of(rows);
  reduce_groups(policy, rows.count, std::size_t{blocks} * kernel::lane_count,
                top_of_lane<Scalar>{rows, transform, blocks}, tops, larger{});
  return {rows, transform, tops};
}

//! Checks the arguments at the beginning of every function of a whole row.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE status check_whole_rows(const device_rows<Scalar>& rows,
                                                        const device_transform& transform) noexcept {
  if (const status why = device_detail::check(rows, transform); !why.ok()) return why;
  return transform.truncations == nullptr && transform.truncation.active() ? refusal(errc::unsupported) : status{};
}

}  // namespace thrust_detail
SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
