// SPDX-License-Identifier: Apache-2.0
//! Gives a sparsifier or quantizer the results of a reading, but no access to the row.
//!
//! Use it to write a sparsifier. The summary is the base class of the reading that `read_row` returns.
//! Symbols:    w_v = integer weights (row/integer_weights.hpp), W = sum of all w_v, V = number of ids.
//! Guarantees: a view that is valid as long as the reading is. If the known bounds on W do not decide a comparison, the
//!             row is read again, so decisions always equal the decisions for the exact W: bit-exact.
//! Cost:       O(1), or O(V) if the bounds on W do not decide; no allocation.
//! See:        docs/algorithms/summary.md, tests/unit/row/summary_test.cpp
#ifndef SPECVERIFY_ROW_SUMMARY_HPP
#define SPECVERIFY_ROW_SUMMARY_HPP

#include <specverify/row/detail/total.hpp>

#include <span>

SPECVERIFY_NAMESPACE_BEGIN

class reading_access;
template <execution_policy Policy, class Scalar>
class row_reading;

//! The part of a reading that does not need the row: everything that a sparsifier or quantizer can see.
class row_summary {
 public:
  [[nodiscard]] row_kind kind() const noexcept { return digest_.kind; }
  [[nodiscard]] std::uint32_t vocab_size() const noexcept { return digest_.valid_size; }
  [[nodiscard]] token_id argmax() const noexcept { return digest_.argmax; }  //!< ties to the smaller id
  //! Largest logit after bias and mask, before temperature; for a row of probabilities, the largest probability.
  [[nodiscard]] double maximum() const noexcept { return digest_.maximum; }
  [[nodiscard]] double temperature() const noexcept { return digest_.temperature; }
  [[nodiscard]] bool is_one_hot() const noexcept { return digest_.one_hot; }
  [[nodiscard]] bool is_truncated() const noexcept { return digest_.truncated; }
  //! Standard deviation of the logits above -infinity, before temperature and truncation; 0 if not requested.
  [[nodiscard]] double standard_deviation() const noexcept { return digest_.standard_deviation; }
  //! Returns W, the sum of all integer weights. If W is not known exactly yet, reads the row once more. Returns 0 if
  //! the reading is expired.
  [[nodiscard]] std::uint64_t total_weight() const noexcept {
    if (!total_bounds().exact()) mark().narrow(mark(), true);
    return total_bounds().least;
  }
  //! Returns the current bounds on W; both are 0 if the reading is expired. The relative width after the read is 6.2 %
  //! for logits, 1e-4 for probabilities, and about twice `error` for claimed blocks. Without sums, the bounds are 1 and
  //! V times the largest weight. For logits in float or 16 bits under exec::simd, one more read (or `close_total`)
  //! narrows the width to about 1e-4, and a second read to about 2e-5. For other rows, the first further read computes
  //! W.
  [[nodiscard]] weight_bounds total_bounds() const noexcept {
    return detail::bounds_of(digest_, base_, mark(), stamp_);
  }
  //! Reads the row again for tighter bounds on W. At the latest, the third call computes W exactly. O(V).
  void narrow_total() const noexcept {
    if (!total_bounds().exact()) mark().narrow(mark(), false);
  }
  //! Returns decide(W). `decide` must have this property: if it returns the same result for two totals, it returns this
  //! result for all totals between them. `decide` is called with both bounds on W, which are narrowed while the two
  //! results differ (by ==), but at most seven times. If the reading is expired, it is called once, with 0.
  template <class Decide>
  [[nodiscard]] auto decide_by_total(const Decide& decide) const noexcept {
    for (;; narrow_total()) {
      const weight_bounds known = total_bounds();
      const auto least = decide(known.least);
      if (known.exact() || least == decide(known.most)) return least;
    }
  }
  //! Returns whether the read computed sums over all ids. False for claimed blocks, one-hot and truncated rows, and if
  //! the sums were not requested (`read_request::sums`).
  [[nodiscard]] bool has_coarse_sums() const noexcept { return digest_.has_coarse_sums(); }
  //! Returns W if the read computed it or if the top entries include every positive weight, otherwise 0.
  [[nodiscard]] std::uint64_t support_total() const noexcept {
    return digest_.total_weight > 0 || !digest_.top_complete ? digest_.total_weight : total_bounds().least;
  }
  //! Returns whether one more read of the row computed W exactly.
  [[nodiscard]] bool used_exact_total() const noexcept { return !expired() && mark().summed; }
  //! Returns a share of W: every id whose weight is at least this share is among the top entries. 0: not guaranteed.
  [[nodiscard]] double minimum_probability() const noexcept { return digest_.minimum_probability; }
  //! Returns whether every id with a positive integer weight is among the top entries.
  [[nodiscard]] bool top_complete() const noexcept { return digest_.top_complete; }
  //! Returns the top entries (integer weight descending, id ascending), listed by ascending id. Empty if the reading is
  //! expired.
  [[nodiscard]] std::span<const token_id> top_ids() const noexcept {
    return expired() ? std::span<const token_id>() : base_.at<token_id>(digest_.top_ids);
  }
  //! Returns the integer weights of top_ids, all positive.
  [[nodiscard]] std::span<const std::uint32_t> top_weights() const noexcept {
    return expired() ? std::span<const std::uint32_t>() : base_.at<std::uint32_t>(digest_.top_weights);
  }
  //! Returns whether the workspace was rewound below this reading.
  [[nodiscard]] SPECVERIFY_INLINE bool expired() const noexcept { return mark().stamp != stamp_; }
  //! Returns whether the exact Z was computed, or a decision needed closer bounds on Z than the digest has. Always
  //! false for truncated rows, because they have the exact Z from the start.
  [[nodiscard]] bool used_exact_normaliser() const noexcept {
    return !expired() && !digest_.truncated && (mark().normaliser > 0.0 || mark().reopened);
  }

 private:
  friend reading_access;
  row_summary(const row_digest& digest, workspace_base base, std::uint64_t stamp) noexcept
      : digest_(digest), base_(base), stamp_(stamp) {}
  [[nodiscard]] SPECVERIFY_INLINE reading_mark& mark() const noexcept {
    return *base_.first_of<reading_mark>(digest_.mark);
  }

  // row_reading uses these members.
  template <execution_policy Policy, class Scalar>
  friend class row_reading;

  row_digest digest_;
  workspace_base base_;
  std::uint64_t stamp_;
};

SPECVERIFY_NAMESPACE_END

#endif
