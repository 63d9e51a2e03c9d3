// SPDX-License-Identifier: Apache-2.0
//! Provides functions that the members of a reading share: the exact normalizer Z on demand, closer bounds on Z, the
//! weight of one token, and checks of an engine's claims.
#ifndef SPECVERIFY_ROW_DETAIL_NORMALISER_HPP
#define SPECVERIFY_ROW_DETAIL_NORMALISER_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/row/detail/open.hpp>
#include <specverify/row/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] SPECVERIFY_INLINE kernel::exact_weight exact_of(const row_digest& digest) noexcept {
  return {digest.reference, 1.0 / digest.temperature, digest.kind == row_kind::probabilities};
}

//! A row and its digest, for the operations on a reading.
template <class Policy, class Scalar>
struct opened_row {
  Policy policy;
  kernel::row_source<Scalar> source;
  const row_digest& digest;
  workspace_base base;

  [[nodiscard]] bool has(token_id id) const noexcept {
    return id >= 0 && static_cast<std::uint32_t>(id) < digest.valid_size;
  }
  //! Returns the transformed logit, or the probability, of an id in range.
  [[nodiscard]] double value(token_id id) const noexcept {
    return static_cast<double>(source.value(static_cast<std::uint32_t>(id)));
  }
};
template <class Policy, class Scalar>
opened_row(Policy, kernel::row_source<Scalar>, const row_digest&, workspace_base) -> opened_row<Policy, Scalar>;

//! Returns Z in double: from the digest, from the cache, or by one more read of the row.
template <class Policy, class Scalar>
[[nodiscard]] inline double exact_normaliser(Policy policy, const kernel::row_source<Scalar>& source,
                                             const row_digest& digest, workspace_base base) noexcept {
  if (digest.normaliser > 0.0) return digest.normaliser;
  double& cached = base.first_of<reading_mark>(digest.mark)->normaliser;
  if (!(cached > 0.0)) cached = kernel::exact_sum(policy, source, exact_of(digest));
  return cached;
}

//! Sets the bounds on W from the read. Must be called before `least` and `most` are used and before Z or W is refined;
//! later calls have no effect.
inline void know_bounds(reading_mark& mark) noexcept {
  if (mark.most == 0 && mark.narrow != nullptr) mark.narrow(mark, false);
}

//! Stores a quick sum of a row for bounds on Z and W. Returns false if the sum is not usable.
[[nodiscard]] inline bool keep_quick_sum(reading_mark& mark, double sum) noexcept {
  if (!(sum > 0.0) || !kernel::is_finite(sum)) return false;
  mark.close = sum;
  return true;
}
//! Gets a quick sum for Z from the cache, or by one more read, which is much faster than the read for the exact Z.
//! Returns false if the row cannot be read in this way.
template <class Policy, class Scalar>
[[nodiscard]] inline bool take_quick_sum(reading_mark& mark, Policy policy, const kernel::row_source<Scalar>& source,
                                         const kernel::exact_weight& weight) noexcept {
  return mark.close > 0.0 || keep_quick_sum(mark, kernel::quick_total(policy, source, weight));
}
[[nodiscard]] inline normaliser_bounds quick_bounds(const reading_mark& mark) noexcept {
  return {mark.close * (1.0 - kernel::quick_error), mark.close * (1.0 + kernel::quick_error)};
}

//! Returns bounds on Z from a quick sum, for decisions that the digest's bounds leave open. A near tie stays
//! undecided. Returns the digest's bounds if the exact Z is known or takes no longer, or if Z must be compared with an
//! engine's claim.
template <class Policy, class Scalar>
[[nodiscard]] inline normaliser_bounds close_bounds(const opened_row<Policy, Scalar>& row) noexcept {
  const row_digest& digest = row.digest;
  reading_mark& mark = *row.base.template first_of<reading_mark>(digest.mark);
  if (mark.normaliser > 0.0 || digest.claimed_size != 0) return {digest.lower, digest.upper};
  know_bounds(mark);
  if (!take_quick_sum(mark, row.policy, row.source, exact_of(digest))) return {digest.lower, digest.upper};
  mark.reopened = true;
  return quick_bounds(mark);
}

//! Returns the index of an id among the kept ids of a truncated row, or the number of kept ids if it is absent.
[[nodiscard]] inline std::size_t find_kept(std::span<const token_id> ids, token_id id) noexcept {
  const std::size_t at = numeric::count_below(ids.data(), static_cast<std::uint32_t>(ids.size()), id);
  return at < ids.size() && ids[at] == id ? at : ids.size();
}

//! Returns e_v of an id in range, or 0 if the distribution excludes the id.
template <class Scalar>
[[nodiscard]] inline double weight_of(const kernel::row_source<Scalar>& source, const row_digest& digest,
                                      workspace_base base, token_id id) noexcept {
  if (digest.one_hot) [[unlikely]]
    return id == digest.argmax ? 1.0 : 0.0;
  if (digest.truncated) [[unlikely]] {
    const std::size_t at = find_kept(base.at<token_id>(digest.kept_ids), id);
    return at < digest.kept_ids.count ? base.at<double>(digest.kept_weights)[at] : 0.0;
  }
  return exact_of(digest)(static_cast<double>(source.value(static_cast<std::uint32_t>(id))));
}

template <class Policy, class Scalar>
[[nodiscard]] inline double exact_normaliser(const opened_row<Policy, Scalar>& row) noexcept {
  return exact_normaliser(row.policy, row.source, row.digest, row.base);
}

//! Returns whether the value of an id in range is a NaN or above the maximum that the engine claims for its block.
template <class Policy, class Scalar>
[[nodiscard]] inline bool above_claim(const opened_row<Policy, Scalar>& row, token_id id) noexcept {
  const std::size_t block = static_cast<std::uint32_t>(id) / row.digest.claimed_size;
  const double value = row.value(id);
  const float claimed = row.base.template first_of<float>(row.digest.lane_sums)[block];
  return kernel::is_nan(value) || value > static_cast<double>(claimed);
}

//! Returns whether Z, computed by one more read, is outside the bounds that follow from the engine's claims. Only wrong
//! claims can cause this.
[[nodiscard]] inline bool outside_claim(const row_digest& digest, double total) noexcept {
  constexpr double rounding = 0x1.0p-30;
  return digest.claimed_size != 0 && !(kernel::is_finite(total) && total >= digest.lower * (1.0 - rounding) &&
                                       total <= digest.upper * (1.0 + rounding));
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
