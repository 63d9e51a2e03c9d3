// SPDX-License-Identifier: Apache-2.0
//! Rows that are hard to search for the largest entries: one list for tests and benchmarks.
#ifndef SPECVERIFY_TESTS_SUPPORT_HARD_ROWS_HPP
#define SPECVERIFY_TESTS_SUPPORT_HARD_ROWS_HPP

#include <specverify/row/transform.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace hard_rows {

inline constexpr std::uint32_t kinds = 15;

//! Returns the logit of an id; `kind` must be below `kinds`, and `normal` is the caller's normal number. No product is
//! rounded before a sum, because every build must have the same rows.
inline float value_of(std::uint32_t kind, std::uint32_t id, std::uint32_t size, float normal) {
  const float none = -std::numeric_limits<float>::infinity();
  const float place = static_cast<float>(id) / static_cast<float>(size);
  switch (kind) {
    case 0:
      return 3.0f;  // all equal
    case 1:
      return id % 3 == 0 ? 1.5f : 1.0f;  // two values
    case 2:
      return 20.0f * place;  // sorted up
    case 3:
      return -20.0f * place;  // sorted down
    case 4:
      return std::floor(3.0f * normal);  // integers
    case 5:
      return 4.0f * std::floor(normal);  // multiples of 4
    case 6:
      return id % (size / 100 + 1) == 0 ? normal : none;  // about 100 finite values
    case 7:
      return id % 1024 < 16 ? -100.0f : normal;  // the sampled ids are useless
    case 8:
      return id % 1024 < 16 ? 15.0f : normal;  // or misleading
    case 9:
      return id % 1024 < 16 ? none : 4.0f * normal;  // or all forbidden
    case 10:
      return id == size / 2 ? 1e4f : normal;  // one far above
    case 11:
      return id == 0 ? 0.0f : -21.5f + 0.25f * normal;  // integer weights of 0, 1 and 2
    case 12:
      return 256.0f * normal;  // wide
    case 13:
      return 1.0f + 0x1.0p-23f * static_cast<float>(id % 8);  // neighbouring floats
    default:
      return id < size / 2 ? 2.0f : 2.0f + 0x1.0p-20f * normal;  // a plateau, then neighbours
  }
}

//! Truncations of all sorts, by number.
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
