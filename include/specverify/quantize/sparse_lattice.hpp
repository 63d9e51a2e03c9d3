// SPDX-License-Identifier: Apache-2.0
//! Quantizes a support: returns the integer counts with sum l that are nearest to l times the normalized weights.
//!
//! Paper:      Conformal Sparsification (arXiv 2510.09942), Algorithm 2 with the normalization of the paper's (17).
//! Symbols:    l = resolution, K = kept.size(), q~ = normalized weights of the support, b = counts, D = sum of round(l
//!             q~) minus l.
//! Guarantees: O(K + |D| log K), no allocation, noexcept. The L1 and L2 distances between b / l and q~ are minimal, and
//!             the total variation distance is at most floor(K/2) ceil(K/2) / (K l). Ties go to the smaller id. An
//!             entry of weight 0 never gets a count. Bit-exact.
//! Deviates:   uses only integers, and normalizes the weights; the algorithm as printed in the paper rounds an
//!             unnormalized distribution.
//! See:        docs/algorithms/sparse_lattice.md, kernel/scalar/lattice.hpp,
//!             tests/unit/quantize/sparse_lattice_test.cpp, benchmarks/bench_sparse_lattice.cpp
#ifndef SPECVERIFY_QUANTIZE_SPARSE_LATTICE_HPP
#define SPECVERIFY_QUANTIZE_SPARSE_LATTICE_HPP

#include <specverify/kernel/lattice.hpp>
#include <specverify/quantize/concepts.hpp>

SPECVERIFY_NAMESPACE_BEGIN

struct sparse_lattice {
  //! Returns the bytes of workspace for a support of at most `support_size` entries.
  [[nodiscard]] static constexpr std::size_t workspace_size(std::uint32_t support_size) noexcept {
    return slice_bytes<std::uint32_t>(support_size) + slice_bytes<std::int64_t>(support_size) + workspace_alignment;
  }

  //! Writes the counts to counts[0, K) and returns this subspan. `resolution` must be in [1, 2^16]. `kept.total_weight`
  //! is ignored. On an error the counts are unchanged.
  //! Errors: invalid_resolution, size_mismatch (ids and weights differ in length), empty_support, support_too_large (K
  //!         > 2^24), output_too_small, weight_too_large (above 2^31; `where` = entry), zero_weight (all zero),
  //!         workspace_too_small.
  [[nodiscard]] result<std::span<std::uint32_t>> quantize(const support& kept, std::uint32_t resolution,
                                                          std::span<std::uint32_t> counts,
                                                          workspace& scratch) const noexcept {
    const result<std::uint64_t> normaliser = check_quantize(kept, resolution, counts);
    if (!normaliser) return normaliser.error();
    if (*normaliser == 0) return status{errc::zero_weight, part::quantize, 0};

    const workspace_scope scope(scratch);
    const auto heap = scratch.take<std::uint32_t>(kept.size());
    const auto zeta = scratch.take<std::int64_t>(kept.size());
    if (!heap || !zeta) return status{errc::workspace_too_small, part::quantize, kept.size()};
    const kernel::lattice_entries entries{counts.data(), zeta->data()};
    const kernel::lattice_rounding rounding =
        kernel::round_to_lattice(exec::simd, kept.weights.data(), kept.size(), *normaliser, resolution, entries);
    // zeta = round(l q~) - l q~ is in (-1/2, 1/2] and sums to D, so at least 2 |D| entries have the sign that the
    // repair needs. Therefore no count becomes negative.
    kernel::repair_lattice(exec::simd, entries, kept.size(), rounding.excess, heap->data());
    return counts.first(kept.ids.size());
  }
};

SPECVERIFY_NAMESPACE_END

#endif
