// SPDX-License-Identifier: Apache-2.0
//! Nearest lattice point of a weight vector in integers: the scalar reference behind quantize/lattice.hpp and
//! quantize/sparse_lattice.hpp.
//!
//! Paper:      arXiv 2507.00605 and 2510.09942, Algorithm "LQ" (Reznik type quantizer).
//! Symbols:    w_i = weights, W = normaliser, l = resolution, b'_i = floor(l w_i / W + 1/2), D = sum b' - l, zeta_i W =
//!             b'_i W - l w_i.
//! Guarantees: constexpr, C++17 clean, no allocation, O(K + |D| log K); exact in 64 bits for w <= 2^31, l <= 2^16, K <=
//!             2^24: 2 l w + W <= 2^48 + 2^55, b' W <= l w + W / 2 <= 2^47 + 2^54 and |zeta W| <= W / 2. Bit-exact.
//! See:        docs/algorithms/sparse_lattice.md, docs/algorithms/lattice.md, tests/unit/quantize/
#ifndef SPECVERIFY_KERNEL_SCALAR_LATTICE_HPP
#define SPECVERIFY_KERNEL_SCALAR_LATTICE_HPP

#include <specverify/config.hpp>

#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! What rounding found, before the repair.
struct lattice_rounding {
  std::int64_t excess = 0;     //!< D = sum b' - l
  std::uint32_t positive = 0;  //!< how many b' are at least 1
};

//! counts = b', remainders = zeta W. `resolution` >= 1, `normaliser` >= 1.
[[nodiscard]] SPECVERIFY_HD constexpr lattice_rounding round_to_lattice(const std::uint32_t* weights,
                                                                        std::uint32_t size, std::uint64_t normaliser,
                                                                        std::uint32_t resolution, std::uint32_t* counts,
                                                                        std::int64_t* remainders) noexcept {
  lattice_rounding found;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint64_t scaled = std::uint64_t{resolution} * weights[i];
    // most weights of a long row round to none: no division for them
    const std::uint64_t rounded = 2 * scaled < normaliser ? 0 : (2 * scaled + normaliser) / (2 * normaliser);
    counts[i] = static_cast<std::uint32_t>(rounded);
    remainders[i] = static_cast<std::int64_t>(rounded * normaliser) - static_cast<std::int64_t>(scaled);
    sum += rounded;
    found.positive += rounded > 0 ? 1u : 0u;
  }
  found.excess = static_cast<std::int64_t>(sum) - static_cast<std::int64_t>(resolution);
  return found;
}

//! Ascending order of (zeta, index).
[[nodiscard]] SPECVERIFY_HD constexpr bool lattice_before(const std::int64_t* remainders, std::uint32_t a,
                                                          std::uint32_t b) noexcept {
  return remainders[a] != remainders[b] ? remainders[a] < remainders[b] : a < b;
}

//! Restores the heap below `root`: the first (or, with `Largest`, the last) entry of the order on top.
template <bool Largest>
SPECVERIFY_HD constexpr void sift_down(const std::int64_t* remainders, std::uint32_t* heap, std::uint32_t root,
                                       std::uint32_t size) noexcept {
  const std::uint32_t moved = heap[root];
  for (std::uint32_t child = 2 * root + 1; child < size; child = 2 * root + 1) {
    if (child + 1 < size && lattice_before(remainders, heap[child], heap[child + 1]) == Largest) ++child;
    if (lattice_before(remainders, moved, heap[child]) != Largest) break;
    heap[root] = heap[child];
    root = child;
  }
  heap[root] = moved;
}

//! The `moves` last entries of the order lose one; without `Largest` the first ones gain one.
template <bool Largest>
SPECVERIFY_HD constexpr void step_counts(const std::int64_t* remainders, std::uint32_t size, std::int64_t moves,
                                         std::uint32_t* counts, std::uint32_t* heap) noexcept {
  for (std::uint32_t i = 0; i < size; ++i) heap[i] = i;
  for (std::uint32_t root = size / 2; root > 0; --root) sift_down<Largest>(remainders, heap, root - 1, size);
  for (std::uint32_t left = size; moves > 0; --moves) {
    counts[heap[0]] += Largest ? ~std::uint32_t{0} : 1u;
    heap[0] = heap[--left];
    sift_down<Largest>(remainders, heap, 0, left);
  }
}

//! Brings the sum of the counts to the resolution: the `excess` last entries of the order lose one, or the `-excess`
//! first ones gain one. Needs |excess| <= size. The mean of |excess| grows like the root of the size, so a heap beats a
//! sort and a selection.
SPECVERIFY_HD constexpr void repair_lattice(const std::int64_t* remainders, std::uint32_t size, std::int64_t excess,
                                            std::uint32_t* counts, std::uint32_t* heap) noexcept {
  if (excess > 0) step_counts<true>(remainders, size, excess, counts, heap);
  if (excess < 0) step_counts<false>(remainders, size, -excess, counts, heap);
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
