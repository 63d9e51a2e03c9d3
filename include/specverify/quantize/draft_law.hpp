// SPDX-License-Identifier: Apache-2.0
//! Turns a drafter's row into the quantized distribution from which the draft is drawn and which is sent.
//!
//! Use it after `read_row` with the request from `draft_law_request`. The call selects the support, computes the
//! counts, and drops zero counts unless the format sends them.
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605) and Conformal Sparsification (arXiv 2510.09942), the
//!             device's half of a round.
//! Symbols:    l = resolution, X = kept, K = size of X, q^ = drafted = counts / l, W = sum of the row's integer
//!             weights, D = sum of the rounded counts minus l.
//! Guarantees: the guarantees of the reading, the sparsifier and the quantizer. Bit-exact, except that fp16_row is
//!             near-tie in the logits. The output is exact with any sparsifier and quantizer, because the draft is
//!             drawn from the distribution that is sent. No allocation; noexcept.
//! Cost:       O(K + |D| log K), plus the sparsifier's cost; O(V) for fp16_row, and for dense_lattice if it needs
//!             closer bounds on W.
//! See:        docs/algorithms/draft_law.md, tests/unit/quantize/draft_law_test.cpp, benchmarks/bench_draft_law.cpp
#ifndef SPECVERIFY_QUANTIZE_DRAFT_LAW_HPP
#define SPECVERIFY_QUANTIZE_DRAFT_LAW_HPP

#include <specverify/distribution/fp16_law.hpp>
#include <specverify/distribution/law_format.hpp>
#include <specverify/distribution/make_law.hpp>
#include <specverify/quantize/concepts.hpp>
#include <specverify/quantize/drop_zero.hpp>
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/sparsify/compressed_law.hpp>
#include <specverify/sparsify/top_k.hpp>

SPECVERIFY_TYPES_BEGIN

struct draft_law_options {
  //! format of the message. sparse_drop_zero, sparse_paper and top_k_tail quantize the sparsifier's support;
  //! dense_lattice and fp16_row use the whole row and no sparsifier
  law_format format = law_format::sparse_drop_zero;
  std::uint32_t resolution = 100;  //!< l in [1, 2^16]; larger is finer, but costs more bits; fp16_row ignores it
};

//! All views point into the workspace of the call.
struct draft_law {
  law drafted{};   //!< q^, to draw from and to send
  support kept{};  //!< X with the weights: input of a sparsifier's `advance`; empty for fp16_row
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! Returns a sparsifier that keeps enough entries of a row to determine the dense lattice point.
[[nodiscard]] constexpr top_k dense_support(std::uint32_t vocab_size, std::uint32_t resolution) noexcept {
  return {lattice_support_size(vocab_size, resolution)};
}

//! Returns the bytes for a support, the counts and the `law` without zeros. The number of entries is bounded by the
//! bytes of workspace that the support may take.
template <class Quantizer>
[[nodiscard]] constexpr std::size_t quantized_bytes(std::uint32_t vocab_size, std::size_t support_bytes) noexcept {
  const std::size_t entries = support_bytes / (sizeof(token_id) + sizeof(std::uint32_t)) + 1;
  const auto size = static_cast<std::uint32_t>(entries < vocab_size ? entries : vocab_size);
  return support_bytes + slice_bytes<std::uint32_t>(size) + Quantizer::workspace_size(size) +
         drop_zero_workspace_size(size);
}

//! Returns the request of a format. `support` is the sparsifier's request, which is used only if the format has a
//! support.
[[nodiscard]] constexpr read_request law_request(std::uint32_t vocab_size, const read_request& support,
                                                 const draft_law_options& options) noexcept {
  read_request wanted;
  if (options.format == law_format::dense_lattice) [[unlikely]] {
    wanted = dense_support(vocab_size, options.resolution).request({}, vocab_size);
    wanted.close_total = true;
  }
  if (has_support(options.format)) wanted = support;
  wanted.exact_normaliser |= options.format == law_format::fp16_row;
  wanted.integer_total |= options.format == law_format::top_k_tail;
  return wanted;
}

}  // namespace detail

//! Returns the request that a reading must satisfy for `make_draft_law`.
template <sparsifier Sparsifier>
[[nodiscard]] constexpr read_request draft_law_request(std::uint32_t vocab_size, const Sparsifier& sparsifier,
                                                       const typename Sparsifier::state_type& state,
                                                       const draft_law_options& options = {}) noexcept {
  const bool asked = has_support(options.format);
  return detail::law_request(vocab_size, asked ? sparsifier.request(state, vocab_size) : read_request{}, options);
}

//! Returns the bytes of workspace that `make_draft_law` takes for rows of `vocab_size` entries, without the reading.
template <sparsifier Sparsifier>
[[nodiscard]] constexpr std::size_t draft_law_workspace_size(std::uint32_t vocab_size, const Sparsifier& sparsifier,
                                                             const typename Sparsifier::state_type& state,
                                                             const draft_law_options& options = {}) noexcept {
  if (options.format == law_format::fp16_row) return fp16_law_workspace_size(vocab_size);
  if (options.format == law_format::dense_lattice) {
    const top_k dense = detail::dense_support(vocab_size, options.resolution);
    return detail::quantized_bytes<lattice>(vocab_size, dense.workspace_size({}, vocab_size));
  }
  const std::size_t support_bytes = sparsifier.workspace_size(state, vocab_size);
  const std::size_t sparse = detail::quantized_bytes<sparse_lattice>(vocab_size, support_bytes);
  if (options.format != law_format::top_k_tail) return sparse;
  const std::size_t tail =
      support_bytes + compressed_law_workspace_size(static_cast<std::uint32_t>(
                          support_bytes / 8 < vocab_size ? support_bytes / 8 + 1 : std::size_t{vocab_size}));
  return tail > sparse ? tail : sparse;
}
//! Returns the bytes of workspace for a custom quantizer.
template <sparsifier Sparsifier, quantizer Quantizer>
[[nodiscard]] constexpr std::size_t draft_law_workspace_size(std::uint32_t vocab_size, const Sparsifier& sparsifier,
                                                             const typename Sparsifier::state_type& state,
                                                             const Quantizer&) noexcept {
  return detail::quantized_bytes<Quantizer>(vocab_size, sparsifier.workspace_size(state, vocab_size));
}

namespace detail {

//! Computes the dense lattice point of a row. While the bounds on W allow more than one point, closer bounds are
//! computed.
struct dense_point {
  const row_summary* row;

  [[nodiscard]] static constexpr std::size_t workspace_size(std::uint32_t support_size) noexcept {
    return lattice::workspace_size(support_size);
  }
  [[nodiscard]] result<std::span<std::uint32_t>> quantize(const support& kept, std::uint32_t resolution,
                                                          std::span<std::uint32_t> counts,
                                                          workspace& scratch) const noexcept {
    if (const weight_bounds known = row->total_bounds(); known.most / 2 > known.least) row->narrow_total();
    for (;; row->narrow_total()) {
      const auto found = lattice{}.quantize_within(kept, row->total_bounds(), resolution, counts, scratch);
      if (!found || !found->empty()) return found;
    }
  }
};

//! Returns the `law` of a support. The format determines only whether zeros stay.
template <quantizer Quantizer>
[[nodiscard]] result<law> quantized(const support& kept, const Quantizer& quantizer, const draft_law_options& options,
                                    workspace& scratch) noexcept {
  const auto room = scratch.take<std::uint32_t>(kept.size());
  if (!room) return status{errc::workspace_too_small, part::quantize, kept.size()};
  const auto counts = quantizer.quantize(kept, options.resolution, *room, scratch);
  if (!counts) return counts.error();
  const result<law> drafted = make_law(kept, *counts);
  return drafted && options.format != law_format::sparse_paper ? drop_zero(*drafted, scratch) : drafted;
}
//! Returns the `law` of a support, with the quantizer of the format.
[[nodiscard]] inline result<law> quantized(const support& kept, const row_summary& row,
                                           const draft_law_options& options, workspace& scratch) noexcept {
  if (options.format == law_format::top_k_tail) [[unlikely]]
    return compressed_law(kept, {value_format::lattice, options.resolution, true}, scratch);
  if (options.format == law_format::dense_lattice) [[unlikely]]
    return quantized(kept, dense_point{&row}, options, scratch);
  return quantized(kept, sparse_lattice{}, options, scratch);
}

//! Returns the `law` of the next draft in any format but fp16_row. `select`: calls the sparsifier, if the format has a
//! support.
template <class Select>
[[nodiscard]] result<draft_law> law_of_support(const row_summary& row, const Select& select,
                                               const draft_law_options& options, workspace& scratch) noexcept {
  const bool dense = options.format == law_format::dense_lattice;
  if (!dense && !has_support(options.format)) return status{errc::unsupported, part::quantize, 0};
  workspace_scope scope(scratch);
  const result<support> kept =
      dense ? dense_support(row.vocab_size(), options.resolution).select(row, {}, scratch) : select();
  if (!kept) return kept.error();
  const result<law> drafted = quantized(*kept, row, options, scratch);
  if (!drafted) return drafted.error();
  scope.keep();
  return draft_law{*drafted, *kept};
}

}  // namespace detail

//! Computes the `law` of the next draft with a custom quantizer. The arrays remain in `scratch`; rewind `scratch` after
//! you have pushed the draft to a block. The format has one effect: zeros stay if it is sparse_paper.
//! Errors: the errors of `select`, `quantize`, `make_law` and `drop_zero`; workspace_too_small. On an error `scratch`
//!         is unchanged.
template <sparsifier Sparsifier, quantizer Quantizer>
[[nodiscard]] result<draft_law> make_draft_law(const row_summary& row, const Sparsifier& sparsifier,
                                               const Quantizer& quantizer, const typename Sparsifier::state_type& state,
                                               const draft_law_options& options, workspace& scratch) noexcept {
  workspace_scope scope(scratch);
  const result<support> kept = sparsifier.select(row, state, scratch);
  if (!kept) return kept.error();
  const result<law> drafted = detail::quantized(*kept, quantizer, options, scratch);
  if (!drafted) return drafted.error();
  scope.keep();
  return draft_law{*drafted, *kept};
}

//! Returns the `law` of the next draft in the session's format, with the quantizer of the format. Use it like the
//! overload with a custom quantizer.
//! Errors: as for that overload; also unsupported (a format without distributions).
template <execution_policy Policy, class Scalar, sparsifier Sparsifier>
[[nodiscard]] result<draft_law> make_draft_law(const row_reading<Policy, Scalar>& row, const Sparsifier& sparsifier,
                                               const typename Sparsifier::state_type& state,
                                               const draft_law_options& options, workspace& scratch) noexcept {
  if (options.format == law_format::fp16_row) [[unlikely]] {
    const result<law> drafted = fp16_law(row, scratch);
    if (!drafted) return drafted.error();
    return draft_law{*drafted, {}};
  }
  return detail::law_of_support(
      row, [&]() noexcept { return sparsifier.select(row, state, scratch); }, options, scratch);
}

SPECVERIFY_NAMESPACE_END

#endif
