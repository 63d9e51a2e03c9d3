// SPDX-License-Identifier: Apache-2.0
//! Computes the integer weights of all ids and their total W for each row of a batch, with Thrust.
//!
//! Use it if you need all weights of a row. For the largest weights only, use `select`. No earlier `read_rows` is
//! needed.
//! Guarantees: three reads and one write per row. Weights and W equal the results of exec::seq bit for bit. Temporary
//!             memory: docs/algorithms/device.md.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/device.md, tests/device/thrust_rows_test.cpp
#ifndef SPECVERIFY_DEVICE_INTEGER_WEIGHTS_HPP
#define SPECVERIFY_DEVICE_INTEGER_WEIGHTS_HPP

#include <specverify/device/detail/whole_row.hpp>
#include <specverify/kernel/scalar/integer_weights.hpp>

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! Returns the weight of one id. The row must not have an error.
template <class Scalar>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t weight_in(const topped_rows<Scalar>& all, std::size_t r,
                                                                      const row_top& top, std::uint32_t id) noexcept {
  const double temperature = all.temperature(r);
  if (is_greedy(temperature)) return id == top.id ? kernel::weight_one : 0;
  const kernel::integer_weight weight{static_cast<double>(top.maximum), kernel::weight_scale(temperature), false};
  return weight(static_cast<double>(all.open(r).value(id)));
}

template <class Scalar>
struct write_weight {
  topped_rows<Scalar> all;
  device_weights out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const std::size_t r = i / all.rows.size;
    const row_top top = all.top(r);
    const auto id = static_cast<std::uint32_t>(i % all.rows.size);
    if (top.why.ok()) out.values[r * out.pitch + id] = weight_in(all, r, top, id);
  }
};

//! Sums the weights of a lane.
template <class Scalar>
struct weights_of_lane {
  topped_rows<Scalar> all;
  std::uint32_t blocks;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t operator()(std::size_t i) const noexcept {
    const auto at = lane_place::of(i, blocks);
    const row_top top = all.top(at.row);
    std::uint64_t sum = 0;
    for (std::uint32_t id = at.first(); top.why.ok() && id < at.end(all.rows.size); id += kernel::lane_count)
      sum += weight_in(all, at.row, top, id);
    return sum;
  }
};

template <class Scalar>
struct write_total {
  topped_rows<Scalar> all;
  const std::uint64_t* totals;
  device_total* out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    device_total found;
    found.why = all.top(r).why;
    if (found.why.ok()) found.total_weight = totals[r];
    out[r] = found;
  }
};

}  // namespace thrust_detail

//! Writes the integer weights and the total W of all rows. Errors: as for `softmax` (device/softmax.hpp).
template <class Policy, class Scalar>
[[nodiscard]] status integer_weights(const exec::thrust_on<Policy>& how, const device_rows<Scalar>& rows,
                                     const device_transform& transform, const device_weights& out) noexcept {
  if (const status why = thrust_detail::check_whole_rows(rows, transform); !why.ok()) return why;
  if (out.rows == nullptr || out.values == nullptr) return device_detail::refusal(errc::null_span);
  if (out.pitch < rows.size) return device_detail::refusal(errc::output_too_small, rows.size);
  return thrust_detail::guarded([&] {
    const std::uint32_t blocks = device_detail::blocks_of(rows);
    const thrust_detail::temporary<std::uint64_t, Policy> tops(how.policy, rows.count), totals(how.policy, rows.count);
    const auto all = thrust_detail::find_tops(how.policy, rows, transform, tops.data());
    thrust_detail::for_each_index(how.policy, std::size_t{rows.count} * rows.size,
                                  thrust_detail::write_weight<Scalar>{all, out});
    thrust_detail::reduce_groups(how.policy, rows.count, std::size_t{blocks} * kernel::lane_count,
                                 thrust_detail::weights_of_lane<Scalar>{all, blocks}, totals.data(),
                                 thrust_detail::plus{});
    thrust_detail::for_each_index(how.policy, rows.count,
                                  thrust_detail::write_total<Scalar>{all, totals.data(), out.rows});
    return status{};
  });
}

SPECVERIFY_DEVICE_END

#endif
