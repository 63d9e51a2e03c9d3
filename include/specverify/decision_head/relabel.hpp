// SPDX-License-Identifier: Apache-2.0
//! Computes training labels for the decision head that depend on the link: the worse the channel, the fewer important
//! mismatches are labelled for rejection.
//!
//! Paper:      arXiv 2604.17701 (WISV), equations (28)-(31).
//! Symbols:    o_j = 1 if mismatch j is important, because keeping the draft changed the answer; a_j = label (1:
//!             reject); s_j = smoothed score; lambda = price of a label; Q = link_quality; B = label_budget. The
//!             comments of the fields define the other symbols.
//! Guarantees: a_j <= o_j, and Q = 1 gives a = o. With the same uniforms, no label rises if Q falls. No allocation;
//!             noexcept. J mismatches take O(J^2) for smoothing, O(J) per step of a bisection, and O(J B) for the hard
//!             budget. Near-tie.
//! Deviates:   the paper does not specify kappa, T_s, Q, B(c) and lambda(c), so the defaults are ours. By default a
//!             normalized sum replaces the maximum in (28), because the maximum gives every important mismatch the
//!             score 1.
//! See:        docs/algorithms/relabel.md, tests/unit/decision_head/relabel_test.cpp (T25)
#ifndef SPECVERIFY_DECISION_HEAD_RELABEL_HPP
#define SPECVERIFY_DECISION_HEAD_RELABEL_HPP

#include <specverify/core/concepts.hpp>
#include <specverify/core/numeric.hpp>
#include <specverify/core/random.hpp>
#include <specverify/decision_head/features.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

enum class smoothing : std::uint8_t { sum, maximum };

struct relabel_options {
  double decay_length = 4;      //!< kappa, tokens, > 0
  double softness = 0.1;        //!< T_s, > 0
  double minimum_share = 0.7;   //!< rho_min in [0, 1]: share of important labels that the worst link keeps
  double minimum_rate = 10e6;   //!< bit/s: Q = 0 at this rate and below
  double maximum_rate = 500e6;  //!< bit/s: Q = 1 - loss at this rate and above
  smoothing form = smoothing::sum;
};

//! The mismatches of one episode.
struct relabel_episode {
  std::span<const std::uint32_t> positions{};  //!< pos_j
  std::span<const std::uint8_t> important{};   //!< o_j
  std::span<const double> scores{};            //!< s_j, from `smooth`
  std::uint32_t number = 0;                    //!< number of the episode, so that each episode has its own uniforms
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Checks the options. Errors: invalid_argument, `where` = index of the field.
[[nodiscard]] constexpr status check(const relabel_options& options) noexcept {
  if (!numeric::is_finite(options.decay_length) || !(options.decay_length > 0))
    return detail::head_error(errc::invalid_argument, 0);
  if (!numeric::is_finite(options.softness) || !(options.softness > 0))
    return detail::head_error(errc::invalid_argument, 1);
  if (!numeric::is_finite(options.minimum_share) || options.minimum_share < 0 || options.minimum_share > 1)
    return detail::head_error(errc::invalid_argument, 2);
  if (!numeric::is_finite(options.minimum_rate) || !(options.minimum_rate > 0))
    return detail::head_error(errc::invalid_argument, 3);
  if (!numeric::is_finite(options.maximum_rate) || !(options.maximum_rate > options.minimum_rate))
    return detail::head_error(errc::invalid_argument, 4);
  if (options.form > smoothing::maximum) return detail::head_error(errc::invalid_argument, 5);
  return {};
}

//! Returns Q = (1 - eps_u) clip(ln(R_u / R_min) / ln(R_max / R_min), 0, 1), in [0, 1]. Rates in bit/s.
[[nodiscard]] inline double link_quality(double uplink_rate, double uplink_loss,
                                         const relabel_options& options = {}) noexcept {
  const double share =
      std::log(uplink_rate / options.minimum_rate) / std::log(options.maximum_rate / options.minimum_rate);
  return (1 - uplink_loss) * (share < 0 ? 0 : share > 1 ? 1 : share);
}

//! Returns B = (rho_min + (1 - rho_min) Q) * important, the number of important mismatches that stay labelled on a link
//! of quality Q. `hard_label_budget` rounds B up to an integer.
[[nodiscard]] inline double label_budget(std::uint32_t important, double quality,
                                         const relabel_options& options = {}) noexcept {
  return (options.minimum_share + (1 - options.minimum_share) * quality) * important;
}
[[nodiscard]] inline std::uint32_t hard_label_budget(std::uint32_t important, double quality,
                                                     const relabel_options& options = {}) noexcept {
  const double budget = std::ceil(label_budget(important, quality, options) - 1e-9);
  return budget >= important ? important : static_cast<std::uint32_t>(budget);
}

[[nodiscard]] constexpr std::uint32_t important_count(std::span<const std::uint8_t> important) noexcept {
  std::uint32_t count = 0;
  for (const std::uint8_t o : important) count += o != 0 ? 1u : 0u;
  return count;
}

//! Smooths the importance by (28): s_j = sum (or maximum) over m of o_m exp(-|pos_m - pos_j| / kappa), divided by the
//! largest of these values. If no mismatch is important, all s_j are 0.
//! Errors: size_mismatch (`where` = 1 important, 2 scores); errors of check(options).
[[nodiscard]] inline result<std::span<double>> smooth(std::span<const std::uint32_t> positions,
                                                      std::span<const std::uint8_t> important,
                                                      const relabel_options& options,
                                                      std::span<double> scores) noexcept {
  if (const status why = check(options); !why.ok()) return why;
  if (important.size() != positions.size()) return detail::head_error(errc::size_mismatch, 1);
  if (scores.size() != positions.size()) return detail::head_error(errc::size_mismatch, 2);
  double largest = 0;
  for (std::size_t j = 0; j < positions.size(); ++j) {
    double score = 0;
    for (std::size_t m = 0; m < positions.size(); ++m) {
      if (important[m] == 0) continue;
      const double term = std::exp(-std::fabs(static_cast<double>(positions[m]) - static_cast<double>(positions[j])) /
                                   options.decay_length);
      score = options.form == smoothing::sum ? score + term : score > term ? score : term;
    }
    scores[j] = score;
    largest = score > largest ? score : largest;
  }
  if (largest > 0) {
    for (double& score : scores) score /= largest;
  }
  return scores;
}

//! Labels the important mismatches with the `budget` largest scores (29); ties go to the smaller index.
//! Errors: size_mismatch (`where` = 1 important, 2 labels).
[[nodiscard]] inline result<std::span<std::uint8_t>> label_by_budget(std::span<const double> scores,
                                                                     std::span<const std::uint8_t> important,
                                                                     std::uint32_t budget,
                                                                     std::span<std::uint8_t> labels) noexcept {
  if (important.size() != scores.size()) return detail::head_error(errc::size_mismatch, 1);
  if (labels.size() != scores.size()) return detail::head_error(errc::size_mismatch, 2);
  for (std::uint8_t& label : labels) label = 0;
  for (std::uint32_t taken = 0; taken < budget; ++taken) {
    std::size_t best = scores.size();
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (important[j] != 0 && labels[j] == 0 && (best == scores.size() || scores[j] > scores[best])) best = j;
    }
    if (best == scores.size()) break;
    labels[best] = 1;
  }
  return labels;
}

//! Labels the important mismatches with a score above `price` (30): writes a_j = o_j 1[s_j > lambda]. Errors:
//! size_mismatch (`where` = 1 important, 2 labels).
[[nodiscard]] inline result<std::span<std::uint8_t>> label_by_price(std::span<const double> scores,
                                                                    std::span<const std::uint8_t> important,
                                                                    double price,
                                                                    std::span<std::uint8_t> labels) noexcept {
  if (important.size() != scores.size()) return detail::head_error(errc::size_mismatch, 1);
  if (labels.size() != scores.size()) return detail::head_error(errc::size_mismatch, 2);
  for (std::size_t j = 0; j < scores.size(); ++j) labels[j] = important[j] != 0 && scores[j] > price ? 1 : 0;
  return labels;
}

namespace detail {

[[nodiscard]] inline double label_chance(double score, double price, double softness) noexcept {
  const double x = (score - price) / softness;
  const double tail = std::exp(x < 0 ? x : -x);
  return (x < 0 ? tail : 1.0) / (1.0 + tail);
}

}  // namespace detail

//! Returns a price at which `label_by_price` labels at most `budget` mismatches. It labels exactly `budget` of them if
//! there are that many important mismatches and their scores are distinct. Scores must be in [0, 1].
[[nodiscard]] inline double price_of_budget(std::span<const double> scores, std::span<const std::uint8_t> important,
                                            std::uint32_t budget) noexcept {
  double low = -1, high = 1;
  const auto taken = [&](double price) {
    std::uint32_t count = 0;
    for (std::size_t j = 0; j < scores.size() && j < important.size(); ++j)
      count += important[j] != 0 && scores[j] > price ? 1u : 0u;
    return count;
  };
  if (taken(low) <= budget) return low;
  for (int step = 0; step < 80; ++step) {
    const double middle = (low + high) / 2;
    (taken(middle) > budget ? low : high) = middle;
  }
  return high;
}

//! Returns lambda(c) of (31), the root of sum o_j sigma((s_j - lambda) / T_s) = budget, by bisection. A larger budget
//! gives a lower price. If the budget allows all labels (within 1e-9) or none, there is no root, and the result is
//! minus or plus infinity.
[[nodiscard]] inline double soft_price_of_budget(std::span<const double> scores,
                                                 std::span<const std::uint8_t> important, double budget,
                                                 const relabel_options& options = {}) noexcept {
  const double infinity = std::bit_cast<double>(std::uint64_t{0x7FF0000000000000u});
  if (budget >= important_count(important) - 1e-9) return -infinity;
  if (!(budget > 0)) return infinity;
  const auto expected = [&](double price) {
    double sum = 0;
    for (std::size_t j = 0; j < scores.size() && j < important.size(); ++j)
      if (important[j] != 0) sum += detail::label_chance(scores[j], price, options.softness);
    return sum;
  };
  // outside this range the sigmoid is 0 or 1 in double precision
  double low = -50 * options.softness, high = 1 + 50 * options.softness;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (expected(middle) > budget ? low : high) = middle;
  }
  return (low + high) / 2;
}

//! Labels one episode for one channel by (31): a_j = o_j 1[U_j < sigma((s_j - lambda(c)) / T_s)]. The uniform U_j has
//! the counter {pos_j, number, 0, relabel}, which does not depend on the channel, so a worse channel never adds a
//! label.
//! Errors: size_mismatch (`where` = 1 important, 2 scores, 3 labels); invalid_argument (`where` = 6: quality outside
//! [0, 1]); errors of check(options).
template <uniform_source Source>
[[nodiscard]] result<std::span<std::uint8_t>> relabel(const relabel_episode& episode, double quality,
                                                      const Source& source, const relabel_options& options,
                                                      std::span<std::uint8_t> labels) noexcept {
  const auto& [positions, important, scores, number] = episode;
  if (const status why = check(options); !why.ok()) return why;
  if (important.size() != positions.size()) return detail::head_error(errc::size_mismatch, 1);
  if (scores.size() != positions.size()) return detail::head_error(errc::size_mismatch, 2);
  if (labels.size() != positions.size()) return detail::head_error(errc::size_mismatch, 3);
  if (!numeric::is_finite(quality) || quality < 0 || quality > 1) return detail::head_error(errc::invalid_argument, 6);
  const std::uint32_t all = important_count(important);
  const double budget = label_budget(all, quality, options);
  const bool keeps_all = budget >= all - 1e-9;
  const double price = keeps_all ? 0 : soft_price_of_budget(scores, important, budget, options);
  for (std::size_t j = 0; j < positions.size(); ++j) {
    bool chosen = important[j] != 0;
    if (chosen && !keeps_all) {
      const double uniform = decision_uniform(source(random_counter{positions[j], number, 0, purpose::relabel, 0}));
      chosen = budget > 0 && uniform < detail::label_chance(scores[j], price, options.softness);
    }
    labels[j] = chosen ? 1 : 0;
  }
  return labels;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
