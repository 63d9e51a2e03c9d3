// SPDX-License-Identifier: Apache-2.0
//! Scalar reference: finds the lattice point that is nearest to a vector of integer weights.
//!
//! Paper:      arXiv 2507.00605 and 2510.09942, Algorithm "LQ" (a quantizer of Reznik's type).
//! Symbols:    w_i = integer weights, W = total weight by which they are divided, l = resolution, K = number of
//!             weights, b'_i = floor(l w_i / W + 1/2), D = sum b' - l, zeta_i = (b'_i W - l w_i) / W.
//! Guarantees: constexpr, compiles as C++17, no allocation, O(K + |D| log K). Exact in 64 bits for w <= 2^31, l <= 2^16
//!             and K <= 2^24, because then 2 l w + W <= 2^48 + 2^55. Bit-exact, because a quotient that is estimated in
//!             double is off by at most one, and the remainder corrects it.
//! See:        docs/algorithms/sparse_lattice.md, docs/algorithms/lattice.md, cuda/lattice.cuh, tests/unit/quantize/
#ifndef SPECVERIFY_KERNEL_SCALAR_LATTICE_HPP
#define SPECVERIFY_KERNEL_SCALAR_LATTICE_HPP

#include <specverify/core/execution.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! The largest resolution of a lattice. Up to this resolution, the integer algorithm is exact in 64 bits for every
//! vocabulary.
inline constexpr std::uint32_t max_lattice_resolution = std::uint32_t{1} << 16;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns how many of a row's largest entries (weight descending, id ascending) always suffice to find the nearest
//! lattice point: min(V, 2 l).
[[nodiscard]] SPECVERIFY_HD constexpr std::uint32_t lattice_support_size(std::uint32_t vocab_size,
                                                                         std::uint32_t resolution) noexcept {
  return resolution < vocab_size / 2 + vocab_size % 2 ? 2 * resolution : vocab_size;
}

namespace kernel {

//! Result of rounding one weight: b' and zeta W.
struct lattice_entry {
  std::uint32_t count = 0;
  std::int64_t remainder = 0;
};

//! Returns 1 / (2 W) in double, to estimate quotients.
[[nodiscard]] SPECVERIFY_HD constexpr double lattice_inverse(std::uint64_t normaliser) noexcept {
  return 1.0 / static_cast<double>(static_cast<std::int64_t>(2 * normaliser));
}

//! Rounds one weight. `inverse`: from lattice_inverse.
[[nodiscard]] SPECVERIFY_HD constexpr lattice_entry round_entry(std::uint32_t weight, std::uint64_t normaliser,
                                                                double inverse, std::uint32_t resolution) noexcept {
  const std::uint64_t divisor = 2 * normaliser, scaled = std::uint64_t{resolution} * weight;
  const auto numerator = static_cast<std::int64_t>(2 * scaled + normaliser);
  auto rounded = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<double>(numerator) * inverse));
  const std::int64_t rest = numerator - static_cast<std::int64_t>(rounded * divisor);
  rounded +=
      static_cast<std::uint64_t>(rest >= static_cast<std::int64_t>(divisor)) - static_cast<std::uint64_t>(rest < 0);
  return {static_cast<std::uint32_t>(rounded),
          static_cast<std::int64_t>(rounded * normaliser) - static_cast<std::int64_t>(scaled)};
}

//! Result of rounding, before the repair.
struct lattice_rounding {
  std::int64_t excess = 0;     //!< D = sum b' - l
  std::uint32_t positive = 0;  //!< number of b' that are at least 1
};

//! Output of the rounding: counts = b', remainders = zeta W.
struct lattice_entries {
  std::uint32_t* counts = nullptr;
  std::int64_t* remainders = nullptr;
};

//! Rounds all weights. `resolution` and `normaliser` must be >= 1.
[[nodiscard]] SPECVERIFY_HD constexpr lattice_rounding round_to_lattice(exec::seq_policy, const std::uint32_t* weights,
                                                                        std::uint32_t size, std::uint64_t normaliser,
                                                                        std::uint32_t resolution,
                                                                        lattice_entries out) noexcept {
  lattice_rounding found;
  const double inverse = lattice_inverse(normaliser);
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const lattice_entry entry = round_entry(weights[i], normaliser, inverse, resolution);
    out.counts[i] = entry.count;
    out.remainders[i] = entry.remainder;
    sum += entry.count;
    found.positive += entry.count > 0 ? 1u : 0u;
  }
  found.excess = static_cast<std::int64_t>(sum) - static_cast<std::int64_t>(resolution);
  return found;
}

//! Compares entries in ascending order of (zeta, index).
[[nodiscard]] SPECVERIFY_HD constexpr bool lattice_before(const std::int64_t* remainders, std::uint32_t a,
                                                          std::uint32_t b) noexcept {
  return remainders[a] != remainders[b] ? remainders[a] < remainders[b] : a < b;
}

//! Restores the heap below `root`. The top of the heap is the first entry in the order, or with `Largest` the last
//! entry.
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

//! With `Largest`, subtracts one from the last `moves` entries in ascending order of (zeta, index). Without it, adds
//! one to the first `moves` entries.
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

//! Gives the same result as `step_counts`, but makes one pass per move, which is cheaper for few moves. Overwrites the
//! remainders that it uses.
template <bool Largest>
SPECVERIFY_HD constexpr void select_counts(std::int64_t* remainders, std::uint32_t size, std::int64_t moves,
                                           std::uint32_t* counts) noexcept {
  constexpr std::int64_t used = Largest ? INT64_MIN : INT64_MAX;
  for (; moves > 0; --moves) {
    std::uint32_t best = 0;
    std::int64_t value = remainders[0];
    for (std::uint32_t i = 1; i < size; ++i) {
      if (Largest ? remainders[i] < value : remainders[i] >= value) continue;
      value = remainders[i];
      best = i;
    }
    counts[best] += Largest ? ~std::uint32_t{0} : 1u;
    remainders[best] = used;
  }
}

inline constexpr std::int64_t selected_moves = 4;  // up to this many moves are selected one by one

//! Makes the counts sum to the resolution: subtracts one from the last `excess` entries in ascending order of (zeta,
//! index), or adds one to the first `-excess` entries. |excess| must be <= size. A heap is faster than a sort, because
//! the mean of |excess| grows only like the square root of the size.
SPECVERIFY_HD constexpr void repair_lattice(exec::seq_policy, lattice_entries entries, std::uint32_t size,
                                            std::int64_t excess, std::uint32_t* heap) noexcept {
  if (excess > selected_moves) {
    step_counts<true>(entries.remainders, size, excess, entries.counts, heap);
  } else if (excess > 0) {
    select_counts<true>(entries.remainders, size, excess, entries.counts);
  } else if (excess < -selected_moves) {
    step_counts<false>(entries.remainders, size, -excess, entries.counts, heap);
  } else if (excess < 0) {
    select_counts<false>(entries.remainders, size, -excess, entries.counts);
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
