// SPDX-License-Identifier: Apache-2.0
//! Defines the concept of a quantizer, which turns the weights of a support into integer counts with a given sum.
//!
//! For example, `sparse_lattice` divides by the weight of the support, and `lattice` by the weight of the whole row.
//! The output is exact with any quantizer, because tokens are drawn from the quantized distribution and verified
//! against it.
//! Cost: O(K), K = size of the support; no allocation.
//! See:  docs/algorithms/quantizer.md, tests/unit/quantize/concepts_test.cpp
#ifndef SPECVERIFY_QUANTIZE_CONCEPTS_HPP
#define SPECVERIFY_QUANTIZE_CONCEPTS_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/distribution/support.hpp>
#include <specverify/kernel/scalar/lattice.hpp>

#include <concepts>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! `quantize` must write one count per entry of the support to the front of `counts` and return the written part. The
//! counts must sum to the resolution. On an error it must write nothing. `workspace_size(n)` must return enough bytes
//! for every support of at most n entries. `quantize` must release the workspace that it takes.
template <class Quantizer>
concept quantizer = std::copyable<Quantizer> &&
    requires(const Quantizer& quantizer, const support& kept, std::uint32_t number, std::span<std::uint32_t> counts,
             workspace& scratch) {
  { quantizer.quantize(kept, number, counts, scratch) } noexcept -> std::same_as<result<std::span<std::uint32_t>>>;
  { Quantizer::workspace_size(number) } noexcept -> std::same_as<std::size_t>;
};

//! Checks the arguments of `quantize`, and returns the sum of the support's weights.
//! Errors: invalid_resolution (0, or above max_lattice_resolution), size_mismatch (ids and weights differ in length),
//!         empty_support, support_too_large (K > 2^24), output_too_small, weight_too_large (above 2^31; `where` =
//!         entry).
[[nodiscard]] inline result<std::uint64_t> check_quantize(const support& kept, std::uint32_t resolution,
                                                          std::span<const std::uint32_t> counts) noexcept {
  if (resolution == 0 || resolution > max_lattice_resolution)
    return status{errc::invalid_resolution, part::quantize, resolution};
  if (kept.ids.size() != kept.weights.size()) return status{errc::size_mismatch, part::quantize, 0};
  if (kept.weights.empty()) return status{errc::empty_support, part::quantize, 0};
  if (kept.weights.size() > max_vocab_size) return status{errc::support_too_large, part::quantize, max_vocab_size};
  if (counts.size() < kept.weights.size()) return status{errc::output_too_small, part::quantize, kept.size()};
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < kept.size(); ++i) {
    if (kept.weights[i] > (std::uint32_t{1} << 31)) return status{errc::weight_too_large, part::quantize, i};
    sum += kept.weights[i];
  }
  return sum;
}

SPECVERIFY_NAMESPACE_END

#endif
