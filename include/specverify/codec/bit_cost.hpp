// SPDX-License-Identifier: Apache-2.0
//! Computes the cost in bits of a distribution, of a token id and of a round's feedback.
//!
//! Costs follow the papers' formulas, or the library's own encoding without the overhead of its range coder.
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605): dense lattice, downlink; Conformal Sparsification (arXiv
//!             2510.09942) eq. (5): K-SQS, C-SQS.
//! Symbols:    V = vocab_size, l = resolution, K = support_size, K+ = number of counts above zero (the parameter
//!             `positive`); L = draft_length.
//! Guarantees: O(1); no allocation, noexcept. Real-valued results have a relative error below 1e-11. Results that are
//!             rounded up are exact.
//! Deviates:   2507.00605 prints the binomial as a fraction, and gives the accepted count only L values instead of L +
//!             1. This header corrects both (E1 and E3 in docs/errata.md).
//! See:        docs/algorithms/bit_cost.md, tests/unit/codec/bit_cost_test.cpp (T12)
#ifndef SPECVERIFY_CODEC_BIT_COST_HPP
#define SPECVERIFY_CODEC_BIT_COST_HPP

#include <specverify/config.hpp>
#include <specverify/core/numeric.hpp>
#include <specverify/cpp20.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN

//! Returns ceil(log2 n) for n >= 1, and 0 for n = 0.
[[nodiscard]] constexpr std::uint32_t ceil_log2(std::uint64_t n) noexcept {
  return n <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(n - 1));
}

//! Returns the size in bits of a token id, ceil(log2 V).
[[nodiscard]] constexpr std::uint32_t token_bits(std::uint32_t vocab_size) noexcept { return ceil_log2(vocab_size); }

//! Returns log2 C(n, k), and 0 for k >= n.
[[nodiscard, gnu::noinline]] inline double log2_binomial(std::uint64_t n, std::uint64_t k) noexcept {
  if (k >= n) return 0;
  if (k > n - k) k = n - k;
  constexpr double log2_e = 1.4426950408889634;
  const double m = static_cast<double>(n), j = static_cast<double>(k);
  if (k <= 32) {
    double sum = 0;
    for (std::uint64_t i = 0; i < k; ++i) sum += std::log2((m - static_cast<double>(i)) / static_cast<double>(i + 1));
    return sum;
  }
  // Stirling's formula, arranged so that no two large terms cancel.
  const auto correction = [](double x) noexcept {
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / (x * x)) / (x * x)) / x;
  };
  const double natural = numeric::product(j, std::log(m / j)) - numeric::product(m - j + 0.5, std::log1p(-j / m)) -
                         numeric::product(0.5, std::log(6.283185307179586 * j)) + correction(m) - correction(j) -
                         correction(m - j);
  return natural * log2_e;
}

//! Returns ceil(log2 C(n, k)), at most 2^64 - 1.
[[nodiscard]] inline std::uint64_t ceil_log2_binomial(std::uint64_t n, std::uint64_t k) noexcept {
  if (k >= n || k == 0) return 0;
  if (k > n - k) k = n - k;
  if (k == 1) return ceil_log2(n);
  const double real = log2_binomial(n, k);
  if (real < 36 && n < (std::uint64_t{1} << 26)) {
    std::uint64_t exact = 1;
    for (std::uint64_t i = 0; i < k; ++i) exact = exact * (n - i) / (i + 1);
    return ceil_log2(exact);
  }
  return real < 0x1p64 ? static_cast<std::uint64_t>(std::ceil(real)) : ~std::uint64_t{0};
}

namespace detail {
//! Returns log2 n for n >= 1, and 0 for n = 0.
[[nodiscard]] inline double log2_of(std::uint32_t n) noexcept { return n <= 1 ? 0 : std::log2(static_cast<double>(n)); }
}  // namespace detail

//! QS: returns the bits of a distribution over the whole vocabulary, ceil(log2 C(l+V-1, V-1)).
[[nodiscard]] inline std::uint64_t dense_law_bits(std::uint32_t vocab_size, std::uint32_t resolution) noexcept {
  return ceil_log2_binomial(std::uint64_t{resolution} + vocab_size - 1, resolution);
}
//! QS: returns the bits of a draft: distribution and token id.
[[nodiscard]] inline std::uint64_t dense_token_bits(std::uint32_t vocab_size, std::uint32_t resolution) noexcept {
  return dense_law_bits(vocab_size, resolution) + token_bits(vocab_size);
}
//! QS: returns the largest resolution, at most 2^24, for which a distribution costs at most `bits`. Returns 0 if even l
//! = 1 costs more or if V is below 2.
[[nodiscard]] inline std::uint32_t resolution_for_bits(std::uint64_t bits, std::uint32_t vocab_size) noexcept {
  if (vocab_size <= 1) return 0;
  std::uint32_t low = 0, high = std::uint32_t{1} << 24;
  while (low < high) {
    const std::uint32_t middle = low + (high - low + 1) / 2;
    if (dense_law_bits(vocab_size, middle) <= bits) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

//! K-SQS: returns log2 C(V,K) + log2 C(l+K-1,K-1). The bits of the drafted token are not included, because the paper's
//! formula omits them.
[[nodiscard]] inline double top_k_law_bits(std::uint32_t vocab_size, std::uint32_t support_size,
                                           std::uint32_t resolution) noexcept {
  return log2_binomial(vocab_size, support_size) +
         log2_binomial(std::uint64_t{resolution} + support_size - 1, resolution);
}
//! C-SQS: returns the bits of K-SQS with the bits of the subset rounded up to a whole number, plus ceil(log2 V) bits
//! that announce K.
[[nodiscard]] inline double threshold_law_bits(std::uint32_t vocab_size, std::uint32_t support_size,
                                               std::uint32_t resolution) noexcept {
  return static_cast<double>(ceil_log2_binomial(vocab_size, support_size) + token_bits(vocab_size)) +
         log2_binomial(std::uint64_t{resolution} + support_size - 1, resolution);
}
//! The library's encoding of sparse supports (sparse_drop_zero): returns log2 C(V,K+) + log2 C(l-1,K+-1) + log2 l,
//! because zero counts are dropped. The last term is for K+, which takes fewer bits if V or support_size is below l.
[[nodiscard]] inline double drop_zero_law_bits(std::uint32_t vocab_size, std::uint32_t positive,
                                               std::uint32_t resolution) noexcept {
  return log2_binomial(vocab_size, positive) +
         log2_binomial(std::uint64_t{resolution} - 1, std::uint64_t{positive} - 1) + detail::log2_of(resolution);
}
//! CU-HLM in the library's encoding (top_k_tail): returns log2 V + log2 C(V,K) + log2 C(l+K,K). The terms are the bits
//! of K, of the subset, and of the K + 1 counts, one of which is the tail's. K takes fewer bits if support_size limits
//! it. If K = V, there is no tail. The drafted token costs log2(K+1) more, and another log2(V-K) if it is in the tail.
[[nodiscard]] inline double top_k_tail_law_bits(std::uint32_t vocab_size, std::uint32_t support_size,
                                                std::uint32_t resolution) noexcept {
  const std::uint64_t bars = support_size < vocab_size ? support_size : std::uint64_t{vocab_size} - 1;
  return detail::log2_of(vocab_size) + log2_binomial(vocab_size, support_size) + log2_binomial(resolution + bars, bars);
}

//! Returns the size in bits of the drafted token's index in a support, ceil(log2 K).
[[nodiscard]] constexpr std::uint32_t index_bits(std::uint32_t support_size) noexcept {
  return ceil_log2(support_size);
}
//! Returns the size in bits of a round's feedback: the accepted count (L + 1 values) and the next token.
[[nodiscard]] constexpr std::uint32_t downlink_bits(std::uint32_t draft_length, std::uint32_t vocab_size) noexcept {
  return ceil_log2(std::uint64_t{draft_length} + 1) + token_bits(vocab_size);
}
//! HLM: returns the bits of a distribution that is sent as V values of `value_bits` bits.
[[nodiscard]] constexpr std::uint64_t full_law_bits(std::uint32_t vocab_size, std::uint32_t value_bits) noexcept {
  return std::uint64_t{vocab_size} * value_bits;
}

SPECVERIFY_NAMESPACE_END

#endif
