// SPDX-License-Identifier: Apache-2.0
//! Compresses a distribution: keeps the probabilities of a support and spreads the remaining mass evenly over all other
//! tokens.
//!
//! Paper:      CU-HLM (arXiv 2505.11788), (14), (15).
//! Symbols:    x = drafter's distribution; x^ = the resulting distribution; V = vocabulary size; k = kept.size(); x_d =
//!             probability of the drawn token under x; r = resolution of the lattice; D = sum of the rounded counts
//!             minus r.
//! Guarantees: tokens that are drawn from x^ and verified against x^ are lossless. `exact`: the total variation
//!             distance from the paper's x^ is at most V / 2^32. `lattice`: x^ is the nearest lattice point to the k
//!             probabilities and the mass of the tail, which is one more entry and comes last in ties. Listed counts
//!             are multiplied by V - k, so all counts sum to r (V - k). O(k + |D| log k), no allocation, bit-exact.
//! Deviates:   probabilities are integer counts instead of fp32 or 8-bit values. Only `compressed_draft` follows the
//!             paper's lossy order, in which the token is drawn from x.
//! See:        docs/algorithms/compressed_law.md, tests/unit/sparsify/compressed_law_test.cpp,
//!             tests/law/mismatched_test.cpp
#ifndef SPECVERIFY_SPARSIFY_COMPRESSED_LAW_HPP
#define SPECVERIFY_SPARSIFY_COMPRESSED_LAW_HPP

#include <specverify/distribution/draft.hpp>
#include <specverify/distribution/make_law.hpp>
#include <specverify/kernel/lattice.hpp>
#include <specverify/sparsify/detail/top_entries.hpp>

SPECVERIFY_TYPES_BEGIN

enum class value_format : std::uint8_t {
  exact,   //!< counts with 32 bits
  lattice  //!< counts of a lattice with resolution r; for b bits per value set r = 2^b - 1
};

struct compressed_law_options {
  value_format format = value_format::exact;
  std::uint32_t resolution = 255;  //!< r of the lattice, in [1, 2^16]; r (V - k) <= 2^32 - 1
  bool draft_entry = true;         //!< `compressed_draft`: send a token outside the k largest as a separate entry
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the bytes of workspace that `compressed_law` and `compressed_draft` take for a support of at most
//! `support_size` tokens.
[[nodiscard]] constexpr std::size_t compressed_law_workspace_size(std::uint32_t support_size) noexcept {
  const std::size_t entries = std::size_t{support_size} + 2;
  return 5 * slice_bytes<std::uint32_t>(entries) + slice_bytes<std::int64_t>(entries) + workspace_alignment;
}

namespace detail {

//! Sets counts[i] = round(w_i R / W) and returns the tail's count, floor(R T / (W others)). W = `total`, T =
//! `tail_weight`. R = 2^32 - 1 - number of weights, so the sum of all counts cannot overflow.
inline std::uint32_t exact_counts(std::span<const std::uint32_t> weights, std::uint64_t total,
                                  std::uint64_t tail_weight, std::uint32_t others,
                                  std::span<std::uint32_t> counts) noexcept {
  const std::uint64_t scale = 0xFFFFFFFFu - weights.size();
  for (std::size_t i = 0; i < weights.size(); ++i)
    counts[i] = static_cast<std::uint32_t>((weights[i] * scale + total / 2) / total);
  if (others == 0) return 0;
  const double each = static_cast<double>(scale) * (static_cast<double>(tail_weight) / static_cast<double>(total)) /
                      static_cast<double>(others);
  return static_cast<std::uint32_t>(each);
}

//! Sums of the weights of the listed entries and of all other entries, and the number of other entries.
struct lattice_tail {
  std::uint64_t listed = 0;  // sum of the listed weights
  std::uint64_t weight = 0;  // sum of all other weights
  std::uint32_t others = 0;  // number of other entries
};

//! Writes the counts of the nearest lattice point. If there are other entries, their tail is one more entry, which
//! comes last. Returns false if the workspace is too small. Because resolution * others < 2^32 and no weight is above
//! 2^31, resolution * tail_weight < 2^63, so the product cannot overflow.
[[nodiscard]] inline bool lattice_counts(std::span<const std::uint32_t> weights, const lattice_tail& tail,
                                         std::uint32_t resolution, std::span<std::uint32_t> counts,
                                         workspace& scratch) noexcept {
  const auto [listed, tail_weight, others] = tail;
  const auto heap = scratch.take<std::uint32_t>(counts.size());
  const auto remainders = scratch.take<std::int64_t>(counts.size());
  if (!heap || !remainders) return false;
  std::int64_t* const zeta = remainders->data();
  auto size = static_cast<std::uint32_t>(weights.size());
  const std::uint64_t normaliser = others > 0 ? listed + tail_weight : listed;
  const kernel::lattice_entries entries{counts.data(), zeta};
  kernel::lattice_rounding rounding =
      kernel::round_to_lattice(exec::simd, weights.data(), size, normaliser, resolution, entries);
  counts[size] = 0;
  if (others > 0) {
    const std::uint64_t scaled = resolution * tail_weight, rest = scaled % normaliser;
    const bool up = 2 * rest >= normaliser;
    counts[size] = static_cast<std::uint32_t>(scaled / normaliser) + (up ? 1u : 0u);
    zeta[size] = up ? static_cast<std::int64_t>(normaliser - rest) : -static_cast<std::int64_t>(rest);
    rounding.excess += counts[size];
    ++size;
  }
  kernel::repair_lattice(exec::simd, entries, size, rounding.excess, heap->data());
  return true;
}

//! Checks a support for an x^ that lists `size` entries.
[[nodiscard]] inline status check_compressed(const support& kept, std::uint32_t size,
                                             const compressed_law_options& options) noexcept {
  if (kept.total_weight == 0) return status{errc::digest_insufficient, part::sparsify, 0};
  if (kept.ids.size() != kept.weights.size()) return status{errc::size_mismatch, part::sparsify, 0};
  if (size == 0) return status{errc::empty_support, part::sparsify, 0};
  if (size > kept.vocab_size || kept.vocab_size > max_vocab_size)
    return status{errc::token_out_of_range, part::sparsify, size};
  const std::uint64_t others = kept.vocab_size - size;
  const bool countable =
      options.resolution != 0 && options.resolution <= (1u << 16) && options.resolution * others <= 0xFFFFFFFFu;
  if (options.format == value_format::lattice && !countable)
    return status{errc::invalid_resolution, part::sparsify, options.resolution};
  return {};
}

//! Writes the support in ascending order of ids, with `entry` among them unless it is no_token. Returns the sum of the
//! weights.
[[nodiscard]] inline std::uint64_t list_entries(const support& kept, token_id entry, std::uint32_t entry_weight,
                                                std::span<token_id> ids, std::span<std::uint32_t> weights) noexcept {
  std::uint64_t listed = 0;
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    const bool take_entry = entry != no_token && next == i && (i == kept.size() || entry < kept.ids[i]);
    ids[i] = take_entry ? entry : kept.ids[next];
    weights[i] = take_entry ? entry_weight : kept.weights[next];
    next += take_entry ? 0u : 1u;
    listed += weights[i];
  }
  return listed;
}

//! Makes x^ from a support and, unless `entry` is no_token, from this additional token. The arrays are in `scratch`.
[[nodiscard]] inline result<law> make_compressed(const support& kept, token_id entry, std::uint32_t entry_weight,
                                                 const compressed_law_options& options, workspace& scratch) noexcept {
  const std::uint32_t size = kept.size() + (entry == no_token ? 0u : 1u);
  if (const status why = check_compressed(kept, size, options); !why.ok()) return why;
  const std::uint32_t others = kept.vocab_size - size;
  workspace_scope scope(scratch);
  const auto id_space = scratch.take<token_id>(size);
  const auto count_space = scratch.take<std::uint32_t>(std::size_t{size} + 1);
  const std::size_t mark = scratch.mark();  // released below
  const auto weight_space = scratch.take<std::uint32_t>(std::size_t{size} + 1);
  if (!id_space || !count_space || !weight_space) return status{errc::workspace_too_small, part::sparsify, size};
  const std::span<token_id> ids = *id_space;
  const std::span<std::uint32_t> counts = *count_space, weights = *weight_space;
  const std::uint64_t listed = list_entries(kept, entry, entry_weight, ids, weights);
  if (listed == 0) return status{errc::zero_weight, part::sparsify, size};
  if (listed > kept.total_weight) return status{errc::size_mismatch, part::sparsify, size};
  std::uint32_t tail_count = 0;
  if (options.format == value_format::lattice) {
    if (!lattice_counts(weights.first(size), {listed, kept.total_weight - listed, others}, options.resolution, counts,
                        scratch)) {
      return status{errc::workspace_too_small, part::sparsify, size};
    }
    tail_count = counts[size];
    if (others > 1) {
      for (std::uint32_t i = 0; i < size; ++i) counts[i] *= others;
    }
  } else {
    tail_count = exact_counts(weights.first(size), kept.total_weight, kept.total_weight - listed, others, counts);
  }
  scratch.rewind(mark);
  const result<law> made = make_law(ids, counts.first(size), kept.vocab_size, tail_count);
  if (made) scope.keep();
  return made;
}

}  // namespace detail

//! Returns x^ of a support. Draw from x^, send it, and verify against it; this is lossless. The arrays remain allocated
//! in `scratch`. On an error `scratch` is unchanged.
//! Errors: digest_insufficient (the support has no W), size_mismatch, empty_support, token_out_of_range,
//!         invalid_resolution, ids_not_ascending, zero_weight, workspace_too_small.
[[nodiscard]] inline result<law> compressed_law(const support& kept, const compressed_law_options& options,
                                                workspace& scratch) noexcept {
  return detail::make_compressed(kept, no_token, 0, options, scratch);
}

//! Makes a draft in the paper's order: `token` was drawn from x and is tested against x_d; x^ gives only the residual
//! after a rejection. Verify the draft with `lossy_token_rule`. If the token is not among the reading's top entries,
//! its weight is taken as 0, so any target with a positive probability of the token accepts it.
//! Errors: the errors of `compressed_law`; token_out_of_range (the token), reading_expired.
[[nodiscard]] inline result<mismatched_draft> compressed_draft(const row_summary& row, const support& kept,
                                                               token_id token, const compressed_law_options& options,
                                                               workspace& scratch) noexcept {
  if (row.expired()) return status{errc::reading_expired, part::sparsify, 0};
  if (token < 0 || static_cast<std::uint32_t>(token) >= kept.vocab_size)
    return status{errc::token_out_of_range, part::sparsify, 0};
  const law inside{kept.ids.data(), kept.weights.data(), kept.size(), 0, 1, kept.vocab_size};
  const std::span<const token_id> ids = row.top_ids();
  const law whole{ids.data(), row.top_weights().data(), static_cast<std::uint32_t>(ids.size()), 0, 1, kept.vocab_size};
  const std::uint32_t weight = whole.count(token);
  const bool apart = options.draft_entry && inside.find(token) == kept.size();
  if (kept.total_weight == 0) return status{errc::digest_insufficient, part::sparsify, 0};
  const result<law> claimed = detail::make_compressed(kept, apart ? token : no_token, weight, options, scratch);
  if (!claimed) return claimed.error();
  mismatched_draft made;
  made.token = token;
  made.claimed_law = *claimed;
  int shift = 0;  // x_d = w / W, exactly if W has at most 32 bits, otherwise rounded
  while ((kept.total_weight >> shift) > 0xFFFFFFFFu) ++shift;
  made.resolution = static_cast<std::uint32_t>(kept.total_weight >> shift);
  made.count = static_cast<std::uint32_t>((std::uint64_t{weight} + ((std::uint64_t{1} << shift) >> 1)) >> shift);
  return made;
}

SPECVERIFY_NAMESPACE_END

#endif
