// SPDX-License-Identifier: Apache-2.0
//! What an engine would say about the blocks of a row: maxima in float, sums by std::exp.
#ifndef SPECVERIFY_TESTS_OUTPUTS_CLAIMED_ROW_HPP
#define SPECVERIFY_TESTS_OUTPUTS_CLAIMED_ROW_HPP

#include <specverify/row/blocks.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "row_case.hpp"

namespace row_outputs {

//! A number as a float holds it; those of float and of 16 bits only.
template <class Scalar>
float float_of(Scalar value) {
  if constexpr (std::is_same_v<Scalar, float>) {
    return value;
  } else if constexpr (std::is_same_v<Scalar, bfloat16_bits>) {
    const std::uint32_t bits = std::uint32_t{value.bits} << 16;
    float made;
    std::memcpy(&made, &bits, sizeof(made));
    return made;
  } else {
    const std::uint32_t exponent = (value.bits >> 10) & 31u, mantissa = value.bits & 1023u;
    const float sign = (value.bits & 0x8000u) != 0 ? -1.0f : 1.0f;
    if (exponent == 31) return sign * std::numeric_limits<float>::infinity();
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
    return sign * std::ldexp(static_cast<float>(mantissa + 1024u), static_cast<int>(exponent) - 25);
  }
}

//! Logits after bias and mask.
template <class Scalar>
std::vector<float> transformed(const std::vector<Scalar>& row, std::uint32_t stride, const row_transform& transform) {
  std::vector<float> made(row.size() / stride);
  for (std::size_t v = 0; v < made.size(); ++v) made[v] = float_of(row[v * stride]);
  for (std::size_t i = 0; i < transform.bias_ids.size(); ++i)
    made[static_cast<std::size_t>(transform.bias_ids[i])] += transform.bias_values[i];
  for (std::size_t v = 0; v < made.size() && !transform.mask_words.empty(); ++v) {
    if ((transform.mask_words[v / 64] >> (v % 64) & 1u) == 0) made[v] = -std::numeric_limits<float>::infinity();
  }
  return made;
}

struct claims {
  std::vector<float> maxima, sums;
  row_blocks view;

  claims(const std::vector<float>& logits, double temperature, std::uint32_t block_size) {
    for (std::size_t first = 0; first < logits.size(); first += block_size) {
      const std::size_t end = std::min<std::size_t>(logits.size(), first + block_size);
      float maximum = -std::numeric_limits<float>::infinity();
      for (std::size_t v = first; v < end; ++v) maximum = std::max(maximum, logits[v]);  // a NaN is passed over
      double sum = 0;
      for (std::size_t v = first; v < end && std::isfinite(maximum); ++v) {
        const double below = static_cast<double>(logits[v]) - static_cast<double>(maximum);
        if (below <= 0 && temperature > 0) sum += std::exp(below / temperature);
      }
      maxima.push_back(maximum);
      sums.push_back(sum > 0 ? static_cast<float>(sum) : 1.0f);
    }
    view = {block_size, maxima, sums, 0x1.0p-10};
  }
  claims(const claims&) = delete;
  claims& operator=(const claims&) = delete;
};

}  // namespace row_outputs

#endif
