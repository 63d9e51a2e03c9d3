// SPDX-License-Identifier: Apache-2.0
//! Sums a row at many temperatures: the top entries are summed one by one, and the sum of all other entries is bounded
//! (tempered_rest.hpp).
#ifndef SPECVERIFY_ROW_DETAIL_TEMPERED_HPP
#define SPECVERIFY_ROW_DETAIL_TEMPERED_HPP

#include <specverify/row/detail/normaliser.hpp>
#include <specverify/row/detail/tempered_rest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns a lower bound on the difference between the maximum and the largest logit outside the top entries.
[[nodiscard]] inline double distance_below(const row_digest& digest, std::span<const std::uint32_t> weights) noexcept {
  std::uint32_t least = 0;
  if (!digest.top_complete) {
    least = kernel::weight_one;
    for (const std::uint32_t weight : weights) least = weight < least ? weight : least;
  }
  const double share = (static_cast<double>(least) + 1.0) / static_cast<double>(kernel::weight_one) * (1.0 + 0x1.0p-24);
  return share < 1.0 ? -digest.temperature * numeric::log(share) : 0.0;
}

//! Computes sums of e^((z - maximum) * inverse) over a row of logits, for given inverse temperatures.
template <class Policy, class Scalar>
class tempered_row {
 public:
  explicit tempered_row(const opened_row<Policy, Scalar>& row) noexcept : row_(row) {
    if (usable()) top_entries_ = row.base.template at<token_id>(row.digest.top_ids);
  }

  //! Adds the sums over the top entries, with a relative error of at most kernel::tempered_margin.
  void add_top_entries(const double* inverses, std::uint32_t count, double* sums) const noexcept {
    constexpr std::size_t part = 256;
    float differences[part];
    for (std::size_t first = 0; first < top_entries_.size(); first += part) {
      const std::size_t filled = top_entries_.size() - first < part ? top_entries_.size() - first : part;
      for (std::size_t i = 0; i < filled; ++i) differences[i] = static_cast<float>(difference(top_entries_[first + i]));
      kernel::add_exponentials(row_.policy, differences, static_cast<std::uint32_t>(filled), inverses, count, sums);
    }
  }

  //! Returns bounds on the sum over all ids that are not top entries, from the digest's coarse sum and the smallest top
  //! entry.
  [[nodiscard]] tempered_rest rest() const noexcept {
    using work = kernel::working<Scalar>;
    const row_digest& digest = row_.digest;
    const double below =
        top_entries_.empty() ? 0.0 : distance_below(digest, row_.base.template at<std::uint32_t>(digest.top_weights));
    tempered_rest rest;
    rest.begin(digest.valid_size - static_cast<std::uint32_t>(top_entries_.size()), below);
    if (!usable()) return rest;
    const kernel::envelope<work> weight{static_cast<work>(digest.reference), kernel::coarse_scale(digest.temperature),
                                        false};
    double sum = digest.coarse_total;
    for (const token_id id : top_entries_)
      sum -= static_cast<double>(weight(row_.source.value(static_cast<std::uint32_t>(id))));
    rest.learn_coarse({sum, digest.coarse_total, digest.reference - digest.maximum, digest.temperature},
                      digest.valid_size);
    return rest;
  }

  //! Return Z: `quick` with a relative error of at most kernel::tempered_margin, `exact` in double.
  [[nodiscard]] double quick(double inverse) const noexcept {
    return kernel::quick_sum(row_.policy, row_.source, {row_.digest.maximum, inverse, false});
  }
  [[nodiscard]] double exact(double inverse) const noexcept {
    return kernel::exact_sum(row_.policy, row_.source, {row_.digest.maximum, inverse, false});
  }
  [[nodiscard]] double difference(token_id id) const noexcept { return row_.value(id) - row_.digest.maximum; }

 private:
  // Returns whether the digest has coarse sums. Without these sums, the digest gives no bound for the other ids.
  [[nodiscard]] bool usable() const noexcept { return row_.digest.has_coarse_sums(); }

  const opened_row<Policy, Scalar>& row_;
  std::span<const token_id> top_entries_{};
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
