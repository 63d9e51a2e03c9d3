// SPDX-License-Identifier: Apache-2.0
//! Truncations of all sorts, by number: one list for the tests of kernels, on the simulator and on a GPU.
#ifndef SPECVERIFY_TESTS_SUPPORT_TRUNCATIONS_HPP
#define SPECVERIFY_TESTS_SUPPORT_TRUNCATIONS_HPP

#include <specverify/row/transform.hpp>

#include <cstdint>

namespace hard_rows {

inline specverify::row_truncation truncation_of(std::uint32_t number, std::uint32_t size) {
  const std::uint32_t counts[]{0, 50, 1, 7, size, size - 1, 2048, 2049, 3 * size, 300};
  const double shares[]{1.0, 0.9, 0.5, 0.999, 1e-6, 0.9999999, 0.25};
  const double floors[]{0.0, 0.0, 0.05, 1.0, 1e-9, 0.3};
  specverify::row_truncation made;
  made.top_k = counts[number % 10];
  made.top_p = shares[number / 2 % 7];
  made.min_p = floors[number / 3 % 6];
  made.order = static_cast<specverify::truncation_order>(number % 3);
  return made;
}

}  // namespace hard_rows

#endif
