// SPDX-License-Identifier: Apache-2.0
//! The concept of a quantizer: weights of a support and a resolution in, integer counts that sum to the resolution out.
//!
//! `sparse_lattice` normalises over the support's own weight, `lattice` over the whole row.
//! Whatever a quantizer returns is the law that is sampled *and* verified, so any quantizer keeps the target's law
//! exact.
//! See: docs/algorithms/quantizer.md, tests/unit/quantize/concepts_test.cpp
#ifndef SPECVERIFY_QUANTIZE_CONCEPTS_HPP
#define SPECVERIFY_QUANTIZE_CONCEPTS_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/distribution/support.hpp>

#include <concepts>
#include <span>

SPECVERIFY_TYPES_BEGIN

//! The largest resolution of a lattice. Up to here the integer rule is exact in 64 bits for every vocabulary.
inline constexpr std::uint32_t max_lattice_resolution = std::uint32_t{1} << 16;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! `quantize` writes one count per entry of the support into the first `size()` counts and gives that part; they sum to
//! the resolution. On error nothing is written. `workspace_size(n)` bytes of scratch serve every support of at most n
//! entries; the cursor is where it was afterwards.
template <class Quantizer>
concept quantizer = std::copyable<Quantizer> &&
    requires(const Quantizer& quantizer, const support& kept, std::uint32_t number, std::span<std::uint32_t> counts,
             workspace& scratch) {
  { quantizer.quantize(kept, number, counts, scratch) } noexcept -> std::same_as<result<std::span<std::uint32_t>>>;
  { Quantizer::workspace_size(number) } noexcept -> std::same_as<std::size_t>;
};

SPECVERIFY_NAMESPACE_END

#endif
