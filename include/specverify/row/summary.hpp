// SPDX-License-Identifier: Apache-2.0
//! What a reading says without its row: all that a sparsifier or quantizer sees.
//!
//! Use it to write a sparsifier; `read_row` makes it (row/reading.hpp).
//! Symbols:    w_v = integer weights (row/integer_weights.hpp), W = their sum over the row.
//! Guarantees: a view, as its reading is. W is learnt by need: bounds come with the read, closer ones or W itself by
//!             one read more each, so that a decision that the bounds settle costs none. Whatever was needed, the
//!             decision is that of W: bit-exact.
//! See:        docs/algorithms/summary.md, tests/unit/row/summary_test.cpp, examples/docs/summary.cpp
#ifndef SPECVERIFY_ROW_SUMMARY_HPP
#define SPECVERIFY_ROW_SUMMARY_HPP

#include <specverify/row/detail/total.hpp>

#include <span>

SPECVERIFY_NAMESPACE_BEGIN

class reading_access;
template <execution_policy Policy, class Scalar>
class row_reading;

//! What a reading says without its row: all that a sparsifier or quantizer sees.
class row_summary {
 public:
  [[nodiscard]] row_kind kind() const noexcept { return digest_.kind; }
  [[nodiscard]] std::uint32_t vocab_size() const noexcept { return digest_.valid_size; }
  [[nodiscard]] token_id argmax() const noexcept { return digest_.argmax; }  //!< ties to the smaller id
  //! The largest logit after bias and mask, before temperature; the largest probability of a row of those.
  [[nodiscard]] double maximum() const noexcept { return digest_.maximum; }
  [[nodiscard]] double temperature() const noexcept { return digest_.temperature; }
  [[nodiscard]] bool is_one_hot() const noexcept { return digest_.one_hot; }
  [[nodiscard]] bool is_truncated() const noexcept { return digest_.truncated; }
  //! Of the logits above -infinity, before temperature and truncation; 0 when it was not asked for.
  [[nodiscard]] double standard_deviation() const noexcept { return digest_.standard_deviation; }
  //! W, the sum of all integer weights: one more read of the row at the first call, unless `integer_total` was asked
  //! for. 0 once expired.
  [[nodiscard]] std::uint64_t total_weight() const noexcept {
    if (!total_bounds().exact()) mark().narrow(mark(), true);
    return total_bounds().least;
  }
  //! What is known of W. At first 6.2 % wide (probabilities: 1e-4; claimed blocks: as their error; a read without sums:
  //! 1 to V times the largest weight). Of logits in float or 16 bits under exec::simd 1e-4 wide after one look, or with
  //! `close_total`; about 2e-5 after one more. Elsewhere the first look is W. 0 and 0 once expired.
  [[nodiscard]] weight_bounds total_bounds() const noexcept {
    return detail::bounds_of(digest_, base_, mark(), stamp_);
  }
  //! Reads the row again for closer bounds, the third time at the latest for W itself. O(V).
  void narrow_total() const noexcept {
    if (!total_bounds().exact()) mark().narrow(mark(), false);
  }
  //! decide(W), for a decision that is the same for all totals between two where it is: asked at both ends of what is
  //! known, which narrows only while they differ. What `decide` returns is compared by ==; it is called up to seven
  //! times, once with 0 where the reading expired.
  template <class Decide>
  [[nodiscard]] auto decide_by_total(const Decide& decide) const noexcept {
    for (;; narrow_total()) {
      const weight_bounds known = total_bounds();
      const auto least = decide(known.least);
      if (known.exact() || least == decide(known.most)) return least;
    }
  }
  //! Whether the read took sums over all ids: not of claimed blocks, one-hot and truncated rows, nor where they were
  //! not wanted (`read_request::sums`).
  [[nodiscard]] bool has_coarse_sums() const noexcept { return digest_.has_coarse_sums(); }
  //! W for a support: 0 unless `integer_total` was asked for or every weight is listed.
  [[nodiscard]] std::uint64_t support_total() const noexcept {
    return digest_.total_weight > 0 || !digest_.survivors_complete ? digest_.total_weight : total_bounds().least;
  }
  //! Whether W was summed after the read.
  [[nodiscard]] bool used_exact_total() const noexcept { return !expired() && mark().summed; }
  //! Every id with weight >= this * W is among the survivors; 0: no such promise.
  [[nodiscard]] double minimum_probability() const noexcept { return digest_.minimum_probability; }
  //! Whether every id of positive integer weight is among the survivors.
  [[nodiscard]] bool survivors_complete() const noexcept { return digest_.survivors_complete; }
  //! The largest entries (integer weight descending, id ascending), listed by ascending id. Empty once expired.
  [[nodiscard]] std::span<const token_id> survivor_ids() const noexcept {
    return expired() ? std::span<const token_id>() : base_.at<token_id>(digest_.survivor_ids);
  }
  //! Their integer weights, all positive.
  [[nodiscard]] std::span<const std::uint32_t> survivor_weights() const noexcept {
    return expired() ? std::span<const std::uint32_t>() : base_.at<std::uint32_t>(digest_.survivor_weights);
  }
  //! Whether the workspace was rewound below this reading.
  [[nodiscard]] SPECVERIFY_INLINE bool expired() const noexcept { return mark().stamp != stamp_; }
  //! Whether the exact Z was asked for, or the digest's bounds of Z did not decide and closer ones were needed.
  //! Truncated rows have theirs from the start: false.
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

  // The reading's own: row_reading opens it.
  template <execution_policy Policy, class Scalar>
  friend class row_reading;

  row_digest digest_;
  workspace_base base_;
  std::uint64_t stamp_;
};

SPECVERIFY_NAMESPACE_END

#endif
