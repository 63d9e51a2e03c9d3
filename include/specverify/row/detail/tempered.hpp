// SPDX-License-Identifier: Apache-2.0
//! Brackets of the normaliser at many temperatures: survivors summed exactly, the rest between convex bounds.
#ifndef SPECVERIFY_ROW_DETAIL_TEMPERED_HPP
#define SPECVERIFY_ROW_DETAIL_TEMPERED_HPP

#include <specverify/row/detail/normaliser.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint32_t temper_group = 32;  // temperatures that are decided together

struct bracket {
  double lower = 0;
  double upper = 0;
};

//! The part of a row that is not summed exactly: B(beta), the sum of e^(beta (z - maximum)). Its logarithm is convex in
//! the inverse temperature beta and known within bounds at a few nodes, one of which is beta = 0.
class tempered_rest {
 public:
  //! `size`: entries at most; `below` >= 0: each lies at least so far under the maximum.
  tempered_rest(std::uint32_t size, double below) noexcept : below_(below) {
    nodes_[0].upper = numeric::log(size > 0 ? static_cast<double>(size) : smallest);
  }

  //! From here on lower <= B(beta) <= upper at this `beta` > 0; a lower bound of 0 says nothing.
  void learn(double beta, double lower, double upper) noexcept {
    const node found{beta, numeric::log(upper > smallest ? upper : smallest),
                     numeric::log(lower > smallest ? lower : 1.0), lower > smallest};
    std::uint32_t at = size_;
    while (nodes_[at - 1].beta > beta) --at;
    if (node& same = nodes_[at - 1]; same.beta == beta) {
      same.upper = found.upper < same.upper ? found.upper : same.upper;
      if (found.known && (!same.known || found.lower > same.lower)) same.lower = found.lower;
      same.known = same.known || found.known;
    } else if (size_ < capacity) {
      for (std::uint32_t i = size_++; i > at; --i) nodes_[i] = nodes_[i - 1];
      nodes_[at] = found;
    }
  }

  //! B(beta), beta > 0.
  [[nodiscard]] bracket at(double beta) const noexcept {
    std::uint32_t next = 1;
    while (next < size_ && nodes_[next].beta <= beta) ++next;
    const node& left = nodes_[next - 1];
    double most = left.upper - (beta - left.beta) * below_;
    bound least;
    if (next > 1) least.raise(left.known, extended(nodes_[next - 2], left, beta));
    if (next < size_) {
      const node& right = nodes_[next];
      const double share = (beta - left.beta) / (right.beta - left.beta);
      const double chord = left.upper + share * (right.upper - left.upper);
      most = chord < most ? chord : most;
      least.raise(right.known, right.lower + (right.beta - beta) * below_);
      if (next + 1 < size_) least.raise(right.known, extended(nodes_[next + 1], right, beta));
    }
    constexpr double rounding = 1e-9;
    return {least.known ? kernel::exponential(least.value - rounding) : 0.0, kernel::exponential(most + rounding)};
  }

 private:
  struct node {
    double beta = 0;
    double upper = 0;  // of log B
    double lower = 0;
    bool known = false;  // whether `lower` is one
  };
  struct bound {
    double value = 0;
    bool known = false;
    void raise(bool holds, double other) noexcept {
      if (holds && (!known || other > value)) value = other;
      known = known || holds;
    }
  };
  static constexpr double smallest = 1e-290;
  static constexpr std::uint32_t capacity = 16;

  // A chord of a convex function, extended past its near end, lies below the function.
  [[nodiscard]] static double extended(const node& far, const node& near, double beta) noexcept {
    return near.lower + (near.lower - far.upper) / (near.beta - far.beta) * (beta - near.beta);
  }

  node nodes_[capacity];
  std::uint32_t size_ = 1;
  double below_;
};

//! How far under the maximum, at least, every id lies that is not among the survivors.
[[nodiscard]] inline double distance_below(const row_digest& digest, std::span<const std::uint32_t> weights) noexcept {
  std::uint32_t least = 0;
  if (!digest.survivors_complete) {
    least = kernel::weight_one;
    for (const std::uint32_t weight : weights) least = weight < least ? weight : least;
  }
  const double share = (static_cast<double>(least) + 1.0) / static_cast<double>(kernel::weight_one) * (1.0 + 0x1.0p-24);
  return share < 1.0 ? -digest.temperature * numeric::log(share) : 0.0;
}

//! A row of logits at inverse temperatures, relative to its maximum.
template <class Policy, class Scalar>
class tempered_row {
 public:
  explicit tempered_row(const opened_row<Policy, Scalar>& row) noexcept : row_(row) {
    if (usable()) survivors_ = row.base.template at<token_id>(row.digest.survivor_ids);
  }

  //! Adds the sums over the survivors, to a relative error of kernel::tempered_margin.
  void add_survivors(const double* inverses, std::uint32_t count, double* sums) const noexcept {
    constexpr std::size_t part = 256;
    float differences[part];
    for (std::size_t first = 0; first < survivors_.size(); first += part) {
      const std::size_t filled = survivors_.size() - first < part ? survivors_.size() - first : part;
      for (std::size_t i = 0; i < filled; ++i) differences[i] = static_cast<float>(difference(survivors_[first + i]));
      kernel::add_exponentials(row_.policy, differences, static_cast<std::uint32_t>(filled), inverses, count, sums);
    }
  }

  //! What the digest says about all other ids: the coarse sum at its temperature, and the least survivor.
  [[nodiscard]] tempered_rest rest() const noexcept {
    using work = kernel::working<Scalar>;
    const row_digest& digest = row_.digest;
    const double below = survivors_.empty()
                             ? 0.0
                             : distance_below(digest, row_.base.template at<std::uint32_t>(digest.survivor_weights));
    tempered_rest rest(digest.valid_size - static_cast<std::uint32_t>(survivors_.size()), below);
    if (!usable()) return rest;
    const kernel::envelope<work> weight{static_cast<work>(digest.reference), kernel::coarse_scale(digest.temperature),
                                        false};
    double sum = digest.coarse_total;
    for (const token_id id : survivors_)
      sum -= static_cast<double>(weight(row_.source.value(static_cast<std::uint32_t>(id))));
    const double slack = digest.coarse_total * 0x1.0p-17;  // of float sums over the 64 entries of a lane
    const double forbidden = (static_cast<double>(digest.valid_size) + kernel::lane_count) * kernel::coarse_floor;
    const double beta = 1.0 / digest.temperature;
    const double shift = kernel::exponential((digest.reference - digest.maximum) * beta);
    rest.learn(beta, shift * ((sum - slack) * (1.0 - kernel::coarse_margin) / kernel::coarse_excess - forbidden),
               shift * (sum + slack) * (1.0 + kernel::coarse_margin));
    return rest;
  }

  //! Z to a relative error of kernel::tempered_margin, and exactly.
  [[nodiscard]] double quick(double inverse) const noexcept {
    return kernel::quick_sum(row_.policy, row_.source, {row_.digest.maximum, inverse, false});
  }
  [[nodiscard]] double exact(double inverse) const noexcept {
    return kernel::exact_sum(row_.policy, row_.source, {row_.digest.maximum, inverse, false});
  }
  [[nodiscard]] double difference(token_id id) const noexcept { return row_.value(id) - row_.digest.maximum; }

 private:
  // Only then do coarse sum and survivors say something about the ids left out.
  [[nodiscard]] bool usable() const noexcept { return row_.digest.has_coarse_sums(); }

  const opened_row<Policy, Scalar>& row_;
  std::span<const token_id> survivors_{};
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
