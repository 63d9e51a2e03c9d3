// SPDX-License-Identifier: Apache-2.0
//! Brackets of the normaliser at many temperatures: survivors summed exactly, the rest between the convex bounds of
//! three coarse nodes.
#ifndef SPECVERIFY_ROW_DETAIL_TEMPERED_HPP
#define SPECVERIFY_ROW_DETAIL_TEMPERED_HPP

#include <specverify/row/detail/normaliser.hpp>

#include <cmath>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint32_t temper_group = 32;  // temperatures that share one read

struct bracket {
  double lower = 0;
  double upper = 0;
};

//! The part of a row that is not summed exactly: log B(beta) is convex in the inverse temperature beta, and B is
//! bounded at three nodes.
class tempered_rest {
 public:
  //! `sums` are the coarse sums of that part at b/2, 3b/4 and b, `slack` what rounding may have added to or taken from
  //! each; `below` >= 0: every entry of the part lies at least so far under the maximum. `size`: entries of the row.
  tempered_rest(double inverse, const double* sums, const double* slack, double below, std::uint32_t size) noexcept
      : below_(below) {
    const double forbidden = (static_cast<double>(size) + kernel::lane_count) * kernel::temper_floor;
    for (std::uint32_t n = 0; n < kernel::temper_nodes; ++n) {
      at_[n] = inverse * 0.25 * static_cast<double>(n + 2);
      const double most = (sums[n] + slack[n]) * (1.0 + kernel::coarse_margin);
      const double least = (sums[n] - slack[n]) * (1.0 - kernel::coarse_margin) / kernel::coarse_excess - forbidden;
      upper_[n] = std::log(most > smallest ? most : smallest);
      lower_[n] = std::log(least > smallest ? least : smallest);
      if (!(least > smallest)) empty_ = true;
    }
    origin_ = std::log(static_cast<double>(size));
  }

  //! B(beta) for beta >= b/2.
  [[nodiscard]] bracket at(double beta) const noexcept {
    double most, least = at_[0];
    if (beta >= at_[2]) {
      most = upper_[2] - (beta - at_[2]) * below_;
      least = extended(1, 2, beta);
    } else {
      const std::uint32_t left = beta < at_[1] ? 0 : 1;
      const double share = (beta - at_[left]) / (at_[left + 1] - at_[left]);
      most = upper_[left] + share * (upper_[left + 1] - upper_[left]);
      if (left == 0) {
        const double from_origin = lower_[0] + (lower_[0] - origin_) / at_[0] * (beta - at_[0]);
        const double from_right = extended(2, 1, beta);
        least = from_origin > from_right ? from_origin : from_right;
      } else {
        const double from_left = extended(0, 1, beta);
        const double from_right = lower_[2] + (at_[2] - beta) * below_;
        least = from_left > from_right ? from_left : from_right;
      }
    }
    const double slack = 1e-9;
    return {empty_ ? 0.0 : kernel::exponential(least - slack), kernel::exponential(most + slack)};
  }

 private:
  static constexpr double smallest = 1e-290;

  // A chord of a convex function, extended past its near end, lies below the function.
  [[nodiscard]] double extended(std::uint32_t far, std::uint32_t near, double beta) const noexcept {
    return lower_[near] + (lower_[near] - upper_[far]) / (at_[near] - at_[far]) * (beta - at_[near]);
  }

  double at_[kernel::temper_nodes] = {};
  double upper_[kernel::temper_nodes] = {};
  double lower_[kernel::temper_nodes] = {};
  double below_ = 0;
  double origin_ = 0;
  bool empty_ = false;
};

//! How far under the maximum, at least, every id lies that is not among the survivors.
[[nodiscard]] inline double distance_below(const row_digest& digest, std::span<const std::uint32_t> weights) noexcept {
  std::uint32_t least = 0;
  if (!digest.survivors_complete) {
    least = kernel::weight_one;
    for (const std::uint32_t weight : weights) least = weight < least ? weight : least;
  }
  const double share = (static_cast<double>(least) + 1.0) / static_cast<double>(kernel::weight_one) * (1.0 + 0x1.0p-24);
  return share < 1.0 ? -digest.temperature * std::log(share) : 0.0;
}

//! Normalisers of a row of logits relative to its maximum, at up to `temper_group` inverse temperatures.
template <class Policy, class Scalar>
class tempered_row {
 public:
  tempered_row(Policy policy, const kernel::row_source<Scalar>& source, const row_digest& digest,
               workspace_base base) noexcept
      : policy_(policy), source_(source), maximum_(digest.maximum) {
    if (!digest.one_hot && !digest.truncated) {  // only then do survivors say something about the ids left out
      survivors_ = base.at<token_id>(digest.survivor_ids);
      below_ = survivors_.empty() ? 0.0 : distance_below(digest, base.at<std::uint32_t>(digest.survivor_weights));
    }
  }

  //! Sums over the survivors, to a relative error of kernel::tempered_margin.
  void add_survivors(const double* inverses, std::uint32_t count, double* sums) const noexcept {
    constexpr std::size_t part = 256;
    float differences[part];
    for (std::size_t first = 0; first < survivors_.size(); first += part) {
      const std::size_t filled = survivors_.size() - first < part ? survivors_.size() - first : part;
      for (std::size_t i = 0; i < filled; ++i) differences[i] = static_cast<float>(difference(survivors_[first + i]));
      kernel::add_exponentials(policy_, differences, static_cast<std::uint32_t>(filled), inverses, count, sums);
    }
  }

  //! Bounds of the rest, by one read of the row; `highest` is the largest temperature that will be asked for.
  [[nodiscard]] tempered_rest read_rest(double highest) const noexcept {
    using work = kernel::working<Scalar>;
    const float scale = kernel::coarse_scale(0.5 * highest);
    const auto reference = static_cast<work>(maximum_);
    double sums[kernel::temper_nodes], slack[kernel::temper_nodes];
    kernel::temper_sums(policy_, source_, reference, scale, sums);
    for (std::uint32_t n = 0; n < kernel::temper_nodes; ++n) slack[n] = sums[n] * 0x1.0p-17;
    for (const token_id id : survivors_) {
      const work value = source_.value(static_cast<std::uint32_t>(id));
      const kernel::tempered_weight weight(kernel::coarse_octaves(kernel::coarse_difference(value, reference), scale));
      for (std::uint32_t n = 0; n < kernel::temper_nodes; ++n) sums[n] -= static_cast<double>(weight.at[n]);
    }
    return {2.0 / highest, sums, slack, below_, source_.size};
  }

  //! Z to a relative error of kernel::tempered_margin, and exactly.
  [[nodiscard]] double quick(double inverse) const noexcept {
    return kernel::quick_sum(policy_, source_, {maximum_, inverse, false});
  }
  [[nodiscard]] double exact(double inverse) const noexcept {
    return kernel::exact_sum(policy_, source_, {maximum_, inverse, false});
  }
  [[nodiscard]] double difference(token_id id) const noexcept {
    return static_cast<double>(source_.value(static_cast<std::uint32_t>(id))) - maximum_;
  }

 private:
  Policy policy_;
  kernel::row_source<Scalar> source_;
  double maximum_;
  std::span<const token_id> survivors_{};
  double below_ = 0;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
