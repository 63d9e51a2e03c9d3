// SPDX-License-Identifier: Apache-2.0
//! Computes statistics for figures: means with bootstrap intervals, paired differences, correlation, area under the ROC
//! curve, distributions.
#ifndef SPECVERIFY_APPS_LAB_MEASURE_HPP
#define SPECVERIFY_APPS_LAB_MEASURE_HPP

#include <specverify/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace lab {

struct estimate {
  double value = 0;
  double low = 0;  //!< limits of the interval: the percentiles 2.5 and 97.5
  double high = 0;
};

[[nodiscard]] inline double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

//! Returns the q-quantile, q in [0, 1], linear between neighbours.
[[nodiscard]] inline double quantile_of(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

//! Returns the bootstrap interval of any statistic. `of(indices)` must compute it from a sample of indices in [0,
//! count), drawn with replacement. If samples of one text depend on each other, the indices must be indices of texts.
template <class Statistic>
[[nodiscard]] estimate bootstrap(std::size_t count, std::uint64_t seed, Statistic of, std::size_t repeats = 1000) {
  std::vector<std::size_t> places(count);
  for (std::size_t i = 0; i < count; ++i) places[i] = i;
  estimate made;
  made.value = of(std::span<const std::size_t>(places));
  if (count == 0) return made;
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  std::vector<double> values(repeats);
  for (std::size_t r = 0; r < repeats; ++r) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto block =
          source({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(r), 0, specverify::purpose::training, 0});
      places[i] = std::min(count - 1,
                           static_cast<std::size_t>(specverify::decision_uniform(block) * static_cast<double>(count)));
    }
    values[r] = of(std::span<const std::size_t>(places));
  }
  made.low = quantile_of(values, 0.025);
  made.high = quantile_of(std::move(values), 0.975);
  return made;
}

//! Returns the interval of a share that was never seen in `count` > 0 trials: the exact binomial limits at 95 %, one
//! side, [0, 1 - 0.05^(1 / count)]. A bootstrap of equal values would return an interval of no width.
[[nodiscard]] inline estimate never_seen(std::size_t count) {
  return {0, 0, 1 - std::pow(0.05, 1 / static_cast<double>(count))};
}

//! Returns the mean with a bootstrap interval. If all values are 0, the interval is the result of `never_seen`, [0,
//! high]; if all values are 1, it is [1 - high, 1].
[[nodiscard]] inline estimate mean_estimate(std::span<const double> values, std::uint64_t seed,
                                            std::size_t repeats = 1000) {
  const auto all = [&](double outcome) {
    return std::all_of(values.begin(), values.end(), [=](double v) { return v == outcome; });
  };
  if (!values.empty() && all(0)) return never_seen(values.size());
  if (!values.empty() && all(1)) return {1, 1 - never_seen(values.size()).high, 1};
  return bootstrap(
      values.size(), seed,
      [&](std::span<const std::size_t> places) {
        double sum = 0;
        for (const std::size_t i : places) sum += values[i];
        return places.empty() ? 0 : sum / static_cast<double>(places.size());
      },
      repeats);
}

//! Returns sum(numerator) / sum(denominator) with an interval: `ratio_of_sums` over texts.
[[nodiscard]] inline estimate ratio_estimate(std::span<const double> numerator, std::span<const double> denominator,
                                             std::uint64_t seed, std::size_t repeats = 1000) {
  return bootstrap(
      numerator.size(), seed,
      [&](std::span<const std::size_t> places) {
        double above = 0, below = 0;
        for (const std::size_t i : places) above += numerator[i], below += denominator[i];
        return below != 0 ? above / below : 0;
      },
      repeats);
}

//! Returns the mean of a - b over pairs, with an interval. All values must be in [0, 1], for example shares of solved
//! problems. If all pairs differ by the same c of {-1, 0, 1}, other pairs have at most the probability u of
//! `never_seen`, so the interval is [c - u (1 + c), c + u (1 - c)]: for example [-u, u] if no pair differs.
[[nodiscard]] inline estimate paired_difference(std::span<const double> a, std::span<const double> b,
                                                std::uint64_t seed, std::size_t repeats = 1000) {
  std::vector<double> difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  for (const double c : {-1.0, 0.0, 1.0}) {
    if (a.empty() || !std::all_of(difference.begin(), difference.end(), [=](double d) { return d == c; })) continue;
    const double u = never_seen(a.size()).high;
    return {c, c - u * (1 + c), c + u * (1 - c)};
  }
  return mean_estimate(difference, seed, repeats);
}

//! Returns (sum a / sum b) / (sum c / sum d) - 1 with an interval. The four spans must have the same indices.
[[nodiscard]] inline estimate ratio_change(std::span<const double> a, std::span<const double> b,
                                           std::span<const double> c, std::span<const double> d, std::uint64_t seed,
                                           std::size_t repeats = 1000) {
  return bootstrap(
      a.size(), seed,
      [&](std::span<const std::size_t> places) {
        double above = 0, below = 0, other = 0, under = 0;
        for (const std::size_t i : places) above += a[i], below += b[i], other += c[i], under += d[i];
        return below * other != 0 ? above * under / (below * other) - 1 : 0;
      },
      repeats);
}

//! Returns Pearson's correlation, or 0 if either side is constant.
[[nodiscard]] inline double correlation(std::span<const double> x, std::span<const double> y) {
  double mx = 0, my = 0;  // relative to the first value, so they are exactly 0 if a side is constant
  for (std::size_t i = 0; i < x.size(); ++i) {
    mx += (x[i] - x[0]) / static_cast<double>(x.size());
    my += (y[i] - y[0]) / static_cast<double>(y.size());
  }
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = x[i] - x[0] - mx, b = y[i] - y[0] - my;
    xy += a * b;
    xx += a * a;
    yy += b * b;
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

//! Returns the area under the ROC curve: the probability that a positive scores above a negative. Ties count half.
[[nodiscard]] inline double area_under_curve(std::span<const double> score, const std::vector<bool>& positive) {
  std::vector<std::size_t> order(score.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score[a] < score[b]; });
  double negatives_below = 0, wins = 0, positives = 0;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    double up = 0, down = 0;
    for (; j < order.size() && score[order[j]] == score[order[i]]; ++j) (positive[order[j]] ? up : down) += 1;
    wins += up * (negatives_below + down / 2);
    positives += up;
    negatives_below += down;
    i = j;
  }
  return positives > 0 && negatives_below > 0 ? wins / (positives * negatives_below) : 0.5;
}

//! Returns softmax(logits / temperature) in double; temperature 0: one-hot at the smallest argmax.
[[nodiscard]] inline std::vector<double> law_of(std::span<const float> logits, double temperature) {
  std::vector<double> law(logits.size(), 0.0);
  const auto top = static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  if (temperature < 1e-6) {
    law[top] = 1;
    return law;
  }
  double sum = 0;
  for (std::size_t i = 0; i < law.size(); ++i)
    sum += law[i] = std::exp((static_cast<double>(logits[i]) - static_cast<double>(logits[top])) / temperature);
  for (double& v : law) v /= sum;
  return law;
}

[[nodiscard]] inline double total_variation(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / 2;
}

//! Returns the Shannon entropy in bits.
[[nodiscard]] inline double entropy_of(std::span<const double> law) {
  double sum = 0;
  for (const double p : law) sum -= p > 0 ? p * std::log2(p) : 0;
  return sum;
}

}  // namespace lab

#endif
