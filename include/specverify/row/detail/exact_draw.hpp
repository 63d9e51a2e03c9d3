// SPDX-License-Identifier: Apache-2.0
//! Draws a token by the exact rule (row/sample.hpp). Sums of blocks find the token faster than `inverse`
//! (proposal.hpp), but `inverse` decides if rounding could make the two results differ.
#ifndef SPECVERIFY_ROW_DETAIL_EXACT_DRAW_HPP
#define SPECVERIFY_ROW_DETAIL_EXACT_DRAW_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/row/detail/proposal.hpp>

#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The weights e_v.
struct whole_weight {
  [[nodiscard]] double operator()(token_id, double weight) const noexcept { return weight; }
  void replace(std::uint32_t, std::span<double>) const noexcept {}
};

//! The weights of the residual, (scale * e_v - q(v) Z)+.
template <class Law>
class remaining_weight {
 public:
  remaining_weight(const Law& subtracted, double scale, double total) noexcept
      : law_(subtracted), scale_(scale), unit_(1.0 / static_cast<double>(subtracted.resolution)), total_(total) {}

  [[nodiscard]] SPECVERIFY_INLINE double operator()(token_id id, double weight) const noexcept {
    return weight > 0.0 ? rest(scale_ * weight, law_.count(id)) : 0.0;
  }

  //! Replaces the weights of the ids `first`, `first` + 1, ... by their remaining weights, in place.
  void replace(std::uint32_t first, std::span<double> weights) const noexcept {
    if constexpr (lists_ids) {
      if (law_.tail_count == 0) return replace_listed(first, weights);
    }
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = (*this)(static_cast<token_id>(first + i), weights[i]);
  }

 private:
  static constexpr bool lists_ids = requires(const Law& all) {
    all.ids[all.size], all.counts[all.size], all.tail_count;
  };

  [[nodiscard]] SPECVERIFY_INLINE double rest(double scaled, std::uint32_t count) const noexcept {
    const double left = kernel::left_of(scaled, static_cast<double>(count) * unit_, total_);
    return left > 0.0 ? left : 0.0;
  }

  // The weights of ids that the distribution does not list are unchanged.
  void replace_listed(std::uint32_t first, std::span<double> weights) const noexcept {
    for (double& weight : weights) weight *= scale_;
    std::uint32_t at = numeric::count_below(law_.ids, law_.size, static_cast<token_id>(first));
    for (; at < law_.size; ++at) {
      const std::size_t place = static_cast<std::uint32_t>(law_.ids[at]) - first;
      if (place >= weights.size()) return;
      weights[place] = rest(weights[place], law_.counts[at]);
    }
  }

  const Law& law_;
  double scale_, unit_, total_;
};

//! Computes the running sums of `inverse` block by block. The sums are rounded differently than in `inverse`, because
//! each block is summed by lanes.
template <class Policy, class Scalar, class Weight>
class block_walk {
 public:
  block_walk(const opened_row<Policy, Scalar>& row, const Weight& weight) noexcept : row_(row), weight_(weight) {}

  //! Returns the sum of all weights.
  [[nodiscard]] double mass() noexcept {
    double sum = 0;
    for (std::uint32_t first = 0; first < row_.source.size; first += kernel::exact_size) sum += read(first);
    return sum;
  }

  //! Returns an upper bound on the difference between the sums of this class and the sums of `inverse`. `total` must be
  //! at least the sum of all e_v.
  [[nodiscard]] double slack(double mass, double total) const noexcept {
    return static_cast<double>(row_.source.size) * 0x1.0p-51 * mass + 0x1.0p-46 * total;
  }

  //! Returns the id at which the running sum passes `target`, if it passes by more than the slack; with this margin,
  //! `inverse` returns the same id. Otherwise returns no_token.
  [[nodiscard]] token_id find(double target, double slack) noexcept {
    double sum = 0;
    for (std::uint32_t first = 0; first < row_.source.size; first += kernel::exact_size) {
      const double block = read(first);
      if (sum + block < target - slack) {
        sum += block;
        continue;
      }
      for (std::uint32_t i = 0; i < count_; ++i) {
        sum += weights_[i];
        if (sum > target + slack) return static_cast<token_id>(first + i);
        if (sum > target - slack) return no_token;
      }
    }
    return no_token;
  }

 private:
  double read(std::uint32_t first) noexcept {
    count_ = row_.source.size - first < kernel::exact_size ? row_.source.size - first : kernel::exact_size;
    kernel::working<Scalar> buffer[kernel::exact_size];
    const auto* values = kernel::load(row_.source, first, kernel::exact_size, buffer);
    kernel::exact_weights(row_.policy, values, exact_of(row_.digest), weights_);
    weight_.replace(first, std::span<double>(weights_, count_));
    double lanes[kernel::lane_count] = {};
    for (std::uint32_t i = 0; i < count_; ++i) lanes[i % kernel::lane_count] += weights_[i];
    return kernel::lane_tree(lanes);
  }

  const opened_row<Policy, Scalar>& row_;
  const Weight& weight_;
  alignas(64) double weights_[kernel::exact_size];
  std::uint32_t count_ = 0;
};

//! Draws the token of the exact rule from a row that is not truncated, id by id. Used only if sums of blocks do not
//! decide, because it is slower.
template <class Policy, class Scalar>
[[nodiscard, gnu::cold]] inline token_id serial_token(const opened_row<Policy, Scalar>& row, double uniform) noexcept {
  const whole_weight itself;
  const double mass = inverse_total(row.policy, row.source, row.digest, row.base, itself);
  return inverse(row.policy, row.source, row.digest, row.base, uniform * mass, itself);
}

//! Draws the token of the exact rule from p; returns no_token if no weight is positive.
template <class Policy, class Scalar>
[[nodiscard]] inline token_id exact_token(const opened_row<Policy, Scalar>& row, double uniform) noexcept {
  const whole_weight itself;
  if (row.digest.truncated) return inverse_of_kept(row.digest, row.base, uniform * row.digest.normaliser, itself);
  block_walk<Policy, Scalar, whole_weight> blocks(row, itself);
  const double mass = blocks.mass();
  const token_id token = blocks.find(uniform * mass, blocks.slack(mass, mass));
  return token != no_token ? token : serial_token(row, uniform);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
