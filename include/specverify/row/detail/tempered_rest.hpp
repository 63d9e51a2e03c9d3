// SPDX-License-Identifier: Apache-2.0
//! Bounds the sum of e^(beta (z - maximum)) over all but a few entries of a row. Because the log of this sum is convex
//! in beta, bounds at a few inverse temperatures beta give bounds at all of them.
//!
//! This header compiles as C++17. CUDA kernels keep the bounds in shared memory.
#ifndef SPECVERIFY_ROW_DETAIL_TEMPERED_REST_HPP
#define SPECVERIFY_ROW_DETAIL_TEMPERED_REST_HPP

#include <specverify/kernel/scalar/tempered.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint32_t temper_group = 32;  // temperatures that are decided together
inline constexpr double coldest = 1e-6;            // lower temperatures mean a point mass at the argmax
inline constexpr double tempered_slack = 2 * kernel::tempered_margin;

struct bracket {
  double lower = 0;
  double upper = 0;
};

enum class tempered_answer : std::uint8_t { miss, hit, open };

//! Decides whether drawn * Z < weight, given two bounds on Z, each of which may be off by tempered_slack.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE tempered_answer answer_within(double weight, double drawn,
                                                                            const bracket& total) noexcept {
  if (drawn * total.upper * (1.0 + tempered_slack) < weight) return tempered_answer::hit;
  return drawn * total.lower * (1.0 - tempered_slack) >= weight ? tempered_answer::miss : tempered_answer::open;
}

//! Coarse sums of a row.
struct coarse_part {
  double sum;          // sum of the envelopes of the entries other than the top entries
  double total;        // sum of the envelopes of all entries
  double shift;        // reference of the envelopes minus maximum
  double temperature;  // temperature of the envelopes
};

//! The sum over all entries other than the top entries: B(beta), the sum of e^(beta (z - maximum)) for an inverse
//! temperature beta. log B is convex in beta, and is bounded at a few nodes, one of which is beta = 0. `begin` must be
//! called first.
struct tempered_rest {
  struct node {
    double beta;
    double upper;  // upper bound on log B
    double lower;
    std::uint64_t known;  // 1: `lower` is valid. 64 bits wide, so that no byte of a node stays unwritten
  };
  static constexpr double smallest = 1e-290;
  static constexpr std::uint32_t capacity = 16;

  node nodes[capacity];
  std::uint32_t size;
  double below;

  //! Starts with at most `entries` entries, each at least `under` >= 0 below the maximum.
  SPECVERIFY_HD void begin(std::uint32_t entries, double under) noexcept {
    nodes[0] = {0, numeric::log(entries > 0 ? static_cast<double>(entries) : smallest), 0, 0};
    size = 1;
    below = under;
  }

  //! Adds the bounds lower <= B(beta) <= upper at this `beta` > 0; a lower bound of 0 has no effect, because B is
  //! positive anyway.
  SPECVERIFY_HD void learn(double beta, double lower, double upper) noexcept {
    const node found{beta, numeric::log(upper > smallest ? upper : smallest),
                     numeric::log(lower > smallest ? lower : 1.0), lower > smallest ? 1u : 0u};
    std::uint32_t at = size;
    while (nodes[at - 1].beta > beta) --at;
    if (node& same = nodes[at - 1]; same.beta == beta) {
      same.upper = found.upper < same.upper ? found.upper : same.upper;
      if (found.known != 0 && (same.known == 0 || found.lower > same.lower)) same.lower = found.lower;
      same.known |= found.known;
    } else if (size < capacity) {
      for (std::uint32_t i = size++; i > at; --i) nodes[i] = nodes[i - 1];
      nodes[at] = found;
    }
  }

  //! Adds the coarse sum of a row of `entries` ids, without the top entries.
  SPECVERIFY_HD void learn_coarse(const coarse_part& part, std::uint32_t entries) noexcept {
    const double slack = part.total * 0x1.0p-17;  // rounding of float sums over the 64 entries of a lane
    const double forbidden = (static_cast<double>(entries) + kernel::lane_count) * kernel::coarse_floor;
    const double beta = 1.0 / part.temperature;
    const double shift = kernel::exponential(part.shift * beta);
    learn(beta, shift * ((part.sum - slack) * (1.0 - kernel::coarse_margin) / kernel::coarse_excess - forbidden),
          shift * (part.sum + slack) * (1.0 + kernel::coarse_margin));
  }

  //! Adds the result of a quick read: Z at `beta`. `sum` is the sum over the top entries.
  SPECVERIFY_HD void learn_total(double beta, double total, double sum) noexcept {
    const double slack = total * tempered_slack;
    learn(beta, total - sum - slack, total - sum + slack);
  }

  //! Returns bounds on B(beta), beta > 0.
  [[nodiscard]] SPECVERIFY_HD bracket at(double beta) const noexcept {
    std::uint32_t next = 1;
    while (next < size && nodes[next].beta <= beta) ++next;
    const node& left = nodes[next - 1];
    double most = left.upper - (beta - left.beta) * below;
    bound least;
    if (next > 1) least.raise(left.known != 0, extended(nodes[next - 2], left, beta));
    if (next < size) {
      const node& right = nodes[next];
      const double share = (beta - left.beta) / (right.beta - left.beta);
      const double chord = left.upper + share * (right.upper - left.upper);
      most = chord < most ? chord : most;
      least.raise(right.known != 0, right.lower + (right.beta - beta) * below);
      if (next + 1 < size) least.raise(right.known != 0, extended(nodes[next + 1], right, beta));
    }
    constexpr double rounding = 1e-9;
    return {least.known ? kernel::exponential(least.value - rounding) : 0.0, kernel::exponential(most + rounding)};
  }

 private:
  struct bound {
    double value = 0;
    bool known = false;
    SPECVERIFY_HD void raise(bool holds, double other) noexcept {
      if (holds && (!known || other > value)) value = other;
      known = known || holds;
    }
  };

  // A chord of a convex function, extended past the near end, is below the function.
  [[nodiscard]] SPECVERIFY_HD static double extended(const node& distant, const node& close, double beta) noexcept {
    return close.lower + (close.lower - distant.upper) / (close.beta - distant.beta) * (beta - close.beta);
  }
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
