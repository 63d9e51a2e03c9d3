// SPDX-License-Identifier: Apache-2.0
//! Converts a row's distribution to fp16 values, stored as integer counts.
//!
//! The counts are exact, because every fp16 value in [0, 1] is a multiple of 2^-24.
//! Paper:      HLM (arXiv 2505.11788): the drafter uploads the whole distribution in half precision.
//! Symbols:    p(v) = e_v / Z as in row/digest.hpp; count(v) = 2^24 * fp16(p(v)), rounded to nearest, ties to even;
//!             resolution = sum of all counts.
//! Guarantees: ids ascend, counts are positive; O(V); no allocation; noexcept. Counts are near-tie, because p(v) is a
//!             double before it is rounded. Draws and messages use only the counts, so they are law-exact.
//! See:        docs/algorithms/fp16_row.md, tests/unit/row/fp16_row_test.cpp
#ifndef SPECVERIFY_ROW_FP16_ROW_HPP
#define SPECVERIFY_ROW_FP16_ROW_HPP

#include <specverify/kernel/scalar/half_count.hpp>
#include <specverify/row/detail/proposal.hpp>

SPECVERIFY_TYPES_BEGIN

struct fp16_row {
  std::uint32_t size = 0;        //!< ids with a positive count
  std::uint32_t resolution = 0;  //!< sum of the counts, near 2^24
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the count of the fp16 value in [0, 1] with these bits, or 0xFFFFFFFF for other values (negative, above 1,
//! NaN).
[[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t count_of_half(float16_bits value) noexcept {
  const std::uint32_t bits = value.bits;
  if (bits > 0x3C00u) return 0xFFFFFFFFu;
  const std::uint32_t exponent = bits >> 10;
  const std::uint32_t mantissa = bits & 1023u;
  return exponent == 0 ? mantissa : (mantissa | 1024u) << (exponent - 1);
}

//! Returns the fp16 for a count from `half_count` or `count_of_half`; rounds any other count down to an fp16.
[[nodiscard]] SPECVERIFY_HD constexpr float16_bits half_of_count(std::uint32_t count) noexcept {
  if (count >= (std::uint32_t{1} << 24)) return {0x3C00u};
  std::uint32_t shift = 0;
  while ((count >> shift) >= 2048u) ++shift;
  const std::uint32_t mantissa = count >> shift;
  return {static_cast<std::uint16_t>(mantissa < 1024u ? mantissa : ((shift + 1) << 10) | (mantissa & 1023u))};
}

namespace detail {

//! Implements `row_reading::fp16_counts`; returns the same errors.
template <class Policy, class Scalar>
[[nodiscard]] inline result<fp16_row> count_fp16(const opened_row<Policy, Scalar>& row, std::span<token_id> ids,
                                                 std::span<std::uint32_t> counts) noexcept {
  if (ids.size() != counts.size()) return row_error(errc::size_mismatch);
  std::uint32_t size = 0, resolution = 0;
  const auto add = [&](token_id id, double probability) noexcept {
    const std::uint32_t count = half_count(probability);
    if (count == 0) return;
    if (size < ids.size()) {
      ids[size] = id;
      counts[size] = count;
    }
    resolution += count;
    ++size;
  };
  if (row.digest.one_hot) {
    add(row.digest.argmax, 1.0);
  } else {
    const double inverse_total = 1.0 / exact_normaliser(row);
    (void)inverse(row.policy, row.source, row.digest, row.base, 1.0e300, [&](token_id id, double weight) noexcept {
      add(id, weight * inverse_total);
      return weight;
    });
  }
  if (size > ids.size()) return row_error(errc::support_too_large, size);
  if (size == 0) return row_error(errc::empty_support);
  return fp16_row{size, resolution};
}

}  // namespace detail

SPECVERIFY_NAMESPACE_END

#endif
