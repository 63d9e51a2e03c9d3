// SPDX-License-Identifier: Apache-2.0
//! Finds the greedy token of each row of a batch, and the margin to the runner-up, with Thrust.
//!
//! Use it if you decode greedily. No earlier `read_rows` (device/digest.hpp) is needed, because argmax uses no digest.
//! Guarantees: one read per row. Token, margin and near_tie equal the results of `argmax` (row/argmax.hpp) bit for bit.
//!             Temporary memory: docs/algorithms/device.md.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/device.md, tests/device/thrust_rows_test.cpp
#ifndef SPECVERIFY_DEVICE_ARGMAX_HPP
#define SPECVERIFY_DEVICE_ARGMAX_HPP

#include <specverify/device/detail/whole_row.hpp>
#include <specverify/kernel/scalar/argmax.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! The two largest integers of a row, each for a value and an id (`order_key`).
struct two_keys {
  std::uint64_t first = 0, second = 0;
};
struct first_two {
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE two_keys operator()(two_keys a, two_keys b) const noexcept {
    const bool swapped = b.first > a.first;
    const two_keys& best = swapped ? b : a;
    const two_keys& other = swapped ? a : b;
    return {best.first, larger{}(best.second, other.first)};
  }
};

template <class Scalar>
struct two_keys_of_lane {
  device_rows<Scalar> rows;
  device_transform transform;
  std::uint32_t blocks;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE two_keys operator()(std::size_t i) const noexcept {
    const auto at = lane_place::of(i, blocks);
    const auto row = open_row(rows, transform, at.row);
    two_keys best;
    for (std::uint32_t id = at.first(); id < at.end(row.size); id += kernel::lane_count)
      best = first_two{}(best, {order_key(row.value(id), id), 0});
    return best;
  }
};

template <class Scalar>
struct write_argmax {
  device_rows<Scalar> rows;
  device_transform transform;
  const two_keys* keys;
  device_argmax* out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    const auto row = open_row(rows, transform, r);
    const two_keys best = keys[r];
    const float first = row.value(id_of_key(best.first));
    device_argmax found;
    found.why = why_of(first, id_of_key(best.first));
    if (found.why.ok()) {
      const float second = best.second == 0 ? kernel::negative_infinity<float>() : row.value(id_of_key(best.second));
      const auto to_second = kernel::margin_of(static_cast<double>(first), static_cast<double>(second));
      found.token = static_cast<token_id>(id_of_key(best.first));
      found.near_tie = to_second.near_tie;
      found.margin = to_second.margin;
    }
    out[r] = found;
  }
};

//! Computes the two largest integers of each row.
template <class Policy, class Scalar>
SPECVERIFY_INLINE void reduce_two(const Policy& policy, const device_rows<Scalar>& rows,
                                  const device_transform& transform, two_keys* out) {
  const std::uint32_t blocks = device_detail::blocks_of(rows);
  reduce_groups(policy, rows.count, std::size_t{blocks} * kernel::lane_count,
                two_keys_of_lane<Scalar>{rows, transform, blocks}, out, first_two{});
}

}  // namespace thrust_detail

//! Writes the greedy token of each row to `tokens`, indexed by row. Temperature and truncation have no effect.
//! Errors of the call: errors of `make_device_batch` for rows and transform; null_span (tokens); engine_failed. A row's
//! error is in its `why`.
template <class Policy, class Scalar>
[[nodiscard]] status argmax(const exec::thrust_on<Policy>& how, const device_rows<Scalar>& rows,
                            const device_transform& transform, device_argmax* tokens) noexcept {
  if (const status why = device_detail::check(rows, transform); !why.ok()) return why;
  if (tokens == nullptr) return device_detail::refusal(errc::null_span);
  return thrust_detail::guarded([&] {
    const thrust_detail::temporary<thrust_detail::two_keys, Policy> keys(how.policy, rows.count);
    thrust_detail::reduce_two(how.policy, rows, transform, keys.data());
    thrust_detail::for_each_index(how.policy, rows.count,
                                  thrust_detail::write_argmax<Scalar>{rows, transform, keys.data(), tokens});
    return status{};
  });
}

SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
