// SPDX-License-Identifier: Apache-2.0
//! Defines the request for a read of a row (`read_request`) and the result of the read, the row statistics
//! (`row_digest`).
//!
//! The statistics are enough to sample, to test drafts, to select top entries and to quantize.
//! Symbols:    z_v = logit after bias and mask; T = temperature; V = number of ids; `reference` = a logit near the
//!             maximum; e_v = e^((z_v - reference) / T), or the probability of v; Z = sum of e_v, so the distribution
//!             is e_v / Z; w(v) = a fast approximation of e_v; W = sum of the integer weights w_v
//!             (row/integer_weights.hpp).
//! Guarantees: O(V); no allocation; noexcept. A digest is a trivially copyable value that holds offsets into the
//!             caller's workspace. It is valid until the workspace is rewound or the row changes. Argmax, top entries
//!             and W are bit-exact, and so are the coarse sums without -ffast-math. Subnormal logits stay in order,
//!             even if the program flushes them to 0. Always lower <= Z <= upper: upper / lower <= 1.0617 for logits
//!             with sums, about 1 + 2^-14 for probabilities (unless the sum is near 2^-126 V), and about V without
//!             sums. Claimed blocks have other bounds (row/blocks.hpp).
//! Deviates:   for a truncated row, the workspace holds the kept ids and their e_v, and Z is exact. Ids whose integer
//!             weight is 0 (below 2^-32 of the largest) are never top entries, and a truncation always removes them.
//! See:        docs/algorithms/digest.md (the order of the sums), kernel/scalar/digest.hpp,
//!             tests/unit/row/digest_test.cpp, benchmarks/bench_digest.cpp
#ifndef SPECVERIFY_ROW_DIGEST_HPP
#define SPECVERIFY_ROW_DIGEST_HPP

#include <specverify/core/execution.hpp>
#include <specverify/core/views.hpp>
#include <specverify/core/workspace.hpp>
#include <specverify/kernel/block_source.hpp>
#include <specverify/row/detail/share.hpp>

#include <span>

SPECVERIFY_TYPES_BEGIN

//! Results that `read_row` must compute in addition to the argmax, the coarse sums and the bounds on Z. The default is
//! enough to sample and to test drafts. For a sparsifier, pass the request that its `request` returns, for example
//! `{.top_entries = 16}`; without top entries, `select` returns digest_insufficient. If W or Z is missing, a reading
//! computes it at the first use by one more read.
struct read_request {
  //! gather at least this number of the largest entries (by descending integer weight, then ascending id)
  std::uint32_t top_entries = 0;
  //! in [0, 1]: gather every id with w_v >= minimum_probability * W, up to rounding; 0: off
  double minimum_probability = 0;
  bool integer_total = false;  //!< compute W during the read; otherwise at the first use
  //! compute bounds on W with a relative width of about 1e-4 in the same read, for decisions that depend on W. No
  //! effect unless logits in float or 16 bits are read with sums under exec::simd
  bool close_total = false;
  bool exact_normaliser = false;  //!< compute Z in double; otherwise only bounds
  //! compute the standard deviation of the logits; one more read, rows of logits only
  bool standard_deviation = false;
  //! compute the sums that draws and tests need. If false, the read takes half as long, but the first operation that
  //! needs the sums reads the row again, once, and gives the same results. `false` has no effect on rows of
  //! probabilities, on truncated rows, or together with minimum_probability or exact_normaliser
  bool sums = true;
};

//! Bounds on W: least <= W <= most.
struct weight_bounds {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  [[nodiscard]] SPECVERIFY_INLINE constexpr bool exact() const noexcept { return least == most; }
};

//! An engine's claims about a row of logits, in blocks of `block_size` neighbouring ids; the last block may be shorter.
//! Used by row/blocks.hpp.
struct row_blocks {
  std::uint32_t block_size = 1024;  //!< 64 .. 1024, a multiple of 64
  std::span<const float> maxima{};  //!< largest logit of each block after bias and mask; -infinity: no id allowed
  std::span<const float> sums{};    //!< sums of e^((z - maximum) / T); ignored if the maximum is -infinity
  double error = 0x1.0p-10;         //!< limit for the relative error of a sum, [0, 1/2]
};

struct row_digest {
  row_kind kind = row_kind::logits;
  bool one_hot = false;            //!< the temperature is below 1e-6: the distribution is a point mass at argmax
  bool truncated = false;          //!< only kept_ids have a positive probability
  bool top_complete = false;       //!< every id with a positive integer weight is among the top entries
  std::uint32_t valid_size = 0;    //!< ids of the row
  token_id argmax = no_token;      //!< ties to the smaller id
  std::uint32_t claimed_size = 0;  //!< ids per block if an engine claimed the sums (row/blocks.hpp), otherwise 0
  double temperature = 1;
  double maximum = 0;       //!< z of argmax
  double reference = 0;     //!< reference logit of e_v
  double coarse_total = 0;  //!< sum of w(v)
  double lower = 0;         //!< lower <= Z
  double upper = 0;         //!< Z <= upper
  double normaliser = 0;    //!< Z, or 0 if only bounds are known
  //! population standard deviation of the z above -infinity, before temperature and truncation; 0 if not requested
  double standard_deviation = 0;
  double minimum_probability = 0;  //!< all ids with at least this probability are top entries; 0: not guaranteed
  std::uint64_t total_weight = 0;  //!< W, or 0 if the read did not compute it
  workspace_slice lane_sums{};     //!< float, 16 per block of 1024 ids; claimed blocks: one maximum per block
  workspace_slice block_sums{};    //!< double, one per block
  workspace_slice top_ids{};       //!< token_id, ascending
  workspace_slice top_weights{};   //!< uint32 integer weights of top_ids, positive
  workspace_slice kept_ids{};      //!< truncated rows: token_id, ascending
  workspace_slice kept_weights{};  //!< truncated rows: double e_v
  workspace_slice mark{};          //!< one reading_mark, followed by the data for reading the row again

  //! Returns whether the coarse sums cover all ids and were computed here, not claimed by an engine.
  [[nodiscard]] SPECVERIFY_INLINE constexpr bool has_coarse_sums() const noexcept {
    return lane_sums.count != 0 && !one_hot && !truncated && claimed_size == 0;
  }
  //! Returns whether the read did not compute the sums. lane_sums and block_sums are then empty, but their space is
  //! reserved.
  [[nodiscard]] SPECVERIFY_INLINE constexpr bool leaves_sums() const noexcept {
    return lane_sums.count == 0 && !one_hot;
  }
};
static_assert(std::is_trivially_copyable_v<row_digest>);

SPECVERIFY_TYPES_END

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::size_t marked_row_size = 384;  // bytes of a mark with its row and digest

//! Number of elements in each array of a digest.
struct digest_layout {
  std::uint32_t blocks = 0;
  std::uint32_t wanted = 0;    // requested top entries
  std::uint32_t capacity = 0;  // candidates held while gathering
  std::uint32_t kept = 0;      // truncated rows: maximum number of ids
  std::uint32_t weights = 0;   // truncated rows: candidates held during truncation
  std::uint32_t tops = 0;      // largest values of lanes, for gathering

  [[nodiscard]] constexpr std::size_t bytes() const noexcept {
    return slice_bytes<float>(std::size_t{blocks} * kernel::lane_count) + slice_bytes<double>(blocks) +
           2 * slice_bytes<std::uint32_t>(capacity) + slice_bytes<token_id>(weights) + slice_bytes<double>(kept) +
           slice_bytes<std::uint32_t>(weights) + slice_bytes<float>(tops) + slice_bytes<std::byte>(marked_row_size) +
           workspace_alignment;
  }
};

[[nodiscard, gnu::noinline]] constexpr digest_layout layout_of(std::uint32_t vocab_size, const row_transform& transform,
                                                               const read_request& request) noexcept {
  digest_layout layout;
  layout.blocks = kernel::block_count(vocab_size);
  layout.wanted = request.top_entries < vocab_size ? request.top_entries : vocab_size;
  const std::uint32_t above = request.minimum_probability > 0 ? most_above(request.minimum_probability, vocab_size) : 0;
  const std::uint32_t most = layout.wanted > above ? layout.wanted : above;
  const std::uint64_t roomy = most == 0 ? 0 : std::uint64_t{most} * 2 + 1024;
  layout.capacity = roomy < vocab_size ? static_cast<std::uint32_t>(roomy) : vocab_size;
  if (transform.truncation.active()) {
    const std::uint32_t count = transform.truncation.top_k;
    const std::uint64_t listed = std::uint64_t{count} * 2 + 1024;
    layout.kept = count != 0 && count < vocab_size ? count : vocab_size;
    layout.weights = layout.kept == count && listed < vocab_size ? static_cast<std::uint32_t>(listed) : vocab_size;
  }
  if (transform.truncation.active() || layout.capacity > 0)
    layout.tops = (kernel::block_count(vocab_size, kernel::top_size) + layout.blocks) * kernel::lane_count;
  return layout;
}

}  // namespace detail

//! Returns the bytes of workspace that `read_row` needs. Pure; O(1).
[[nodiscard]] constexpr std::size_t digest_workspace_size(std::uint32_t vocab_size, const row_transform& transform,
                                                          const read_request& request) noexcept {
  return detail::layout_of(vocab_size, transform, request).bytes();
}

SPECVERIFY_NAMESPACE_END

#endif
