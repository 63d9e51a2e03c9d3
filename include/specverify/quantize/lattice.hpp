// SPDX-License-Identifier: Apache-2.0
//! Quantizes a whole row: returns the integer counts with sum l that are nearest to l times the row's probabilities.
//!
//! Paper:      Quantize-Sample-and-Verify, arXiv 2507.00605, lattice quantizer LQ.
//! Symbols:    l = resolution, K = kept.size(), w = integer weights of the row, W = their sum, b = counts, b' = round(l
//!             w / W), D = sum b' - l.
//! Guarantees: O(K + |D| log K), where K = 2 l is enough; no allocation; noexcept. The counts equal the counts of the
//!             dense rule over the whole vocabulary. Ties go to the smaller id. An id with weight 0 never gets a count.
//!             Bit-exact.
//! Deviates:   does not read the row, because the 2 l largest entries and W suffice (proof in
//!             docs/algorithms/lattice.md).
//! See:        docs/algorithms/lattice.md, kernel/scalar/lattice.hpp, tests/unit/quantize/lattice_test.cpp,
//!             benchmarks/bench_lattice.cpp
#ifndef SPECVERIFY_QUANTIZE_LATTICE_HPP
#define SPECVERIFY_QUANTIZE_LATTICE_HPP

#include <specverify/kernel/lattice.hpp>
#include <specverify/quantize/concepts.hpp>
#include <specverify/row/digest.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

struct lattice {
  //! Returns the bytes of workspace for a support of at most `support_size` entries.
  [[nodiscard]] static constexpr std::size_t workspace_size(std::uint32_t support_size) noexcept {
    return slice_bytes<std::uint32_t>(support_size) * 3 + slice_bytes<std::int64_t>(support_size) * 2 +
           workspace_alignment;
  }

  //! Writes b to counts[0, K) and returns this subspan; every token outside `kept` has count 0. `resolution` must be in
  //! [1, 2^16]. `kept` must contain the K largest entries of the row (as `top_k` selects them) and the exact W of the
  //! whole row. On an error the counts are unchanged.
  //! Errors: invalid_resolution, size_mismatch (ids and weights differ in length, or W is less than the sum of the
  //!         weights), empty_support, support_too_large, output_too_small, weight_too_large, zero_weight (W = 0),
  //!         workspace_too_small, digest_insufficient (K is too small to decide; `where` = entries that suffice).
  [[nodiscard]] result<std::span<std::uint32_t>> quantize(const support& kept, std::uint32_t resolution,
                                                          std::span<std::uint32_t> counts,
                                                          workspace& scratch) const noexcept {
    return quantize_within(kept, {kept.total_weight, kept.total_weight}, resolution, counts, scratch);
  }

  //! Quantizes with bounds on W. Returns an empty span if it cannot prove that every W between the bounds gives the
  //! same counts. For the proof, both bounds must give the same b', and the same counts b after the sum is repaired.
  //! This suffices because b' is monotone in W, and the repair orders the entries by b' - l w / W, whose differences
  //! are linear in 1 / W. `kept.total_weight` is ignored. Errors: as for `quantize`.
  [[nodiscard]] result<std::span<std::uint32_t>> quantize_within(const support& kept, weight_bounds total,
                                                                 std::uint32_t resolution,
                                                                 std::span<std::uint32_t> counts,
                                                                 workspace& scratch) const noexcept {
    const result<std::uint64_t> listed = check_quantize(kept, resolution, counts);
    if (!listed) return listed.error();
    if (total.most == 0) return status{errc::zero_weight, part::quantize, 0};
    if (*listed > total.most) return status{errc::size_mismatch, part::quantize, 1};
    if (total.most > std::uint64_t{max_vocab_size} << 31)
      return status{errc::weight_too_large, part::quantize, kept.size()};

    const workspace_scope scope(scratch);
    const auto least = take_point(kept.size(), scratch), most = take_point(kept.size(), scratch);
    const auto heap = scratch.take<std::uint32_t>(kept.size());
    if (!least || !most || !heap) return status{errc::workspace_too_small, part::quantize, kept.size()};
    const kernel::lattice_rounding rounding =
        round(kept, total.least > *listed ? total.least : *listed, resolution, *least);
    const bool whole = total.exact() && *listed == total.most;
    if (!whole && !is_sufficient(kept, rounding)) {
      if (!total.exact()) return counts.first(0);
      return status{errc::digest_insufficient, part::quantize, lattice_support_size(kept.vocab_size, resolution)};
    }
    if (!total.exact()) {
      const kernel::lattice_rounding other = round(kept, total.most, resolution, *most);
      if (!same(least->counts, most->counts, kept.size())) return counts.first(0);
      kernel::repair_lattice(exec::simd, *most, kept.size(), other.excess, heap->data());
    }
    kernel::repair_lattice(exec::simd, *least, kept.size(), rounding.excess, heap->data());
    if (!total.exact() && !same(least->counts, most->counts, kept.size())) return counts.first(0);
    for (std::uint32_t i = 0; i < kept.size(); ++i) counts[i] = least->counts[i];
    return counts.first(kept.ids.size());
  }

 private:
  [[nodiscard]] static result<kernel::lattice_entries> take_point(std::uint32_t size, workspace& scratch) noexcept {
    const auto counts = scratch.take<std::uint32_t>(size);
    const auto zeta = scratch.take<std::int64_t>(size);
    if (!counts || !zeta) return status{errc::workspace_too_small, part::quantize, size};
    return kernel::lattice_entries{counts->data(), zeta->data()};
  }
  [[nodiscard]] static kernel::lattice_rounding round(const support& kept, std::uint64_t total,
                                                      std::uint32_t resolution, kernel::lattice_entries into) noexcept {
    return kernel::round_to_lattice(exec::simd, kept.weights.data(), kept.size(), total, resolution, into);
  }
  [[nodiscard]] static bool same(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t size) noexcept {
    std::uint32_t differing = 0;
    for (std::uint32_t i = 0; i < size; ++i) differing |= a[i] ^ b[i];
    return differing == 0;
  }
  //! Returns whether enough entries are listed. At least one listed entry must round to 0, because then every entry
  //! that rounds to 1 or more is listed. If counts are missing, there must be as many listed entries that round to 0 as
  //! there are entries that may gain one.
  [[nodiscard]] static constexpr bool is_sufficient(const support& kept, kernel::lattice_rounding rounding) noexcept {
    const std::int64_t zeros = static_cast<std::int64_t>(kept.size()) - static_cast<std::int64_t>(rounding.positive);
    return zeros >= (rounding.excess < 0 ? -rounding.excess : std::int64_t{1});
  }
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
