// SPDX-License-Identifier: Apache-2.0
//! Records the drafted tokens of texts in which the target verifies every token, and computes correlations over texts,
//! means of bins and thresholds from them.
#ifndef SPECVERIFY_APPS_LAB_HLM_RECORD_HPP
#define SPECVERIFY_APPS_LAB_HLM_RECORD_HPP

#include "hlm_rounds.hpp"
#include "say.hpp"

#include <numeric>

namespace lab {

inline constexpr double hlm_temperature = 1.0;
inline constexpr std::uint32_t hlm_problem_tokens = 64, hlm_prose_tokens = 48;

//! Drafted tokens of texts in which the target verified every token, with data of both models.
struct hlm_record {
  std::vector<std::uint32_t> text;  //!< text of each token
  std::vector<double> uncertainty, entropy, rejection, confidence;
  std::vector<bool> rejected;  //!< result of the round's acceptance draw
  double rejectable = 0;       //!< Delta: share of tokens that the target finds less likely than the drafter
  std::uint32_t texts = 0;
  std::vector<std::uint32_t> problem_tokens;  //!< 1 for a token of a problem, 0 for prose

  [[nodiscard]] std::size_t size() const { return text.size(); }
  //! Returns what a skip policy saw of token i, without attention.
  [[nodiscard]] specverify::skip_observation seen(std::size_t i) const {
    specverify::skip_observation made;
    made.samples = 20;
    made.disagreements = static_cast<std::uint32_t>(std::lround(20 * uncertainty[i]));
    return made;
  }
};

namespace detail {

//! Sums over one text. Adding the sums of several texts gives the correlation over these texts.
struct moments {
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  void add(double a, double b) { n += 1, x += a, y += b, xx += a * a, yy += b * b, xy += a * b; }
  void add(const moments& m) { n += m.n, x += m.x, y += m.y, xx += m.xx, yy += m.yy, xy += m.xy; }
  [[nodiscard]] double correlation() const {
    const double vx = n * xx - x * x, vy = n * yy - y * y;
    return vx > 0 && vy > 0 ? (n * xy - x * y) / std::sqrt(vx * vy) : 0;
  }
};

//! Returns Pearson's correlation with an interval over texts.
[[nodiscard]] inline estimate correlation_over_texts(const hlm_record& record, std::span<const double> x,
                                                     std::span<const double> y, std::uint64_t seed) {
  std::vector<moments> of_text(record.texts);
  for (std::size_t i = 0; i < record.size(); ++i) of_text[record.text[i]].add(x[i], y[i]);
  return bootstrap(record.texts, seed, [&](std::span<const std::size_t> places) {
    moments all;
    for (const std::size_t t : places) all.add(of_text[t]);
    return all.correlation();
  });
}

//! Means of y over bins of x. Bins with fewer than `least` tokens are left out.
struct binned {
  std::vector<double> x, y, count, low, high;
  [[nodiscard]] double correlation() const { return lab::correlation(x, y); }
};
[[nodiscard]] inline binned bins_of(std::span<const double> x, std::span<const double> y,
                                    std::span<const std::size_t> bin, std::size_t bins, std::size_t least) {
  std::vector<moments> sums(bins);
  for (std::size_t i = 0; i < x.size(); ++i) sums[bin[i]].add(x[i], y[i]);
  binned made;
  for (const moments& m : sums) {
    if (m.n < static_cast<double>(least)) continue;
    const double mean = m.y / m.n, spread = 1.96 * std::sqrt(std::max(0.0, m.yy / m.n - mean * mean) / m.n);
    made.x.push_back(m.x / m.n);
    made.y.push_back(mean);
    made.count.push_back(m.n);
    made.low.push_back(mean - spread);
    made.high.push_back(mean + spread);
  }
  return made;
}
//! Returns one bin for each of the 21 values of u.
[[nodiscard]] inline binned uncertainty_bins(std::span<const double> u, std::span<const double> y) {
  std::vector<std::size_t> bin(u.size());
  for (std::size_t i = 0; i < u.size(); ++i) bin[i] = static_cast<std::size_t>(std::lround(20 * u[i]));
  return bins_of(u, y, bin, 21, 10);
}
//! Returns 20 bins with the same number of tokens.
[[nodiscard]] inline binned quantile_bins(std::span<const double> x, std::span<const double> y) {
  std::vector<std::size_t> order(x.size()), bin(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  for (std::size_t i = 0; i < order.size(); ++i) bin[order[i]] = i * 20 / order.size();
  return bins_of(x, y, bin, 20, 10);
}

//! Returns a permutation that depends only on the seed.
[[nodiscard]] inline std::vector<double> shuffled(std::span<const double> values, std::uint64_t seed) {
  std::vector<double> made(values.begin(), values.end());
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  for (std::size_t i = made.size(); i > 1; --i) {
    const auto j =
        specverify::uniform_integer(source, {static_cast<std::uint32_t>(i), 0, 0, specverify::purpose::training, 0}, i);
    std::swap(made[i - 1], made[static_cast<std::size_t>(j)]);
  }
  return made;
}

//! Returns whether the value is not further from 0 than the interval is wide.
[[nodiscard]] inline bool about_zero(const estimate& e) { return std::fabs(e.value) <= e.high - e.low; }

[[nodiscard]] inline std::string interval_text(const estimate& e) { return interval(e.value, e.low, e.high); }

}  // namespace detail

//! Records texts of HLM with every token verified: problems of `set` and beginnings of prose.
[[nodiscard]] inline hlm_record record_hlm(lab_context& context, const std::string& set, std::size_t problems,
                                           std::size_t proses, std::size_t first_prose, const std::string& purpose) {
  const auto asked = context.problems(set, problems);
  auto openings = context.prose(first_prose + proses, 16);
  openings.erase(openings.begin(), openings.begin() + static_cast<std::ptrdiff_t>(first_prose));
  struct one {
    std::vector<double> u, entropy, rejection, confidence;
    std::vector<bool> rejected;
  };
  std::vector<one> texts(problems + proses);
  const hlm_system system{"HLM", specverify::u_hlm({-1.0})};  // every token is sent and measured
  const std::uint64_t seed = context.seed(purpose);
  context.for_each(texts.size(), [&](lab_worker& worker, std::size_t i) {
    const bool problem = i < problems;
    (void)write_hlm_text(worker, problem ? asked[i].prompt : openings[i - problems], system, hlm_temperature,
                         problem ? hlm_problem_tokens : hlm_prose_tokens, seed + i, true,
                         [&](const hlm_step& step, const hlm_view& view) {
                           const std::vector<double> x = law_of(view.drafter, hlm_temperature);
                           texts[i].u.push_back(step.uncertainty());
                           texts[i].entropy.push_back(entropy_of(x));
                           texts[i].rejection.push_back(step.rejection);
                           texts[i].confidence.push_back(x[static_cast<std::size_t>(step.drafted)]);
                           texts[i].rejected.push_back(!step.accepted);
                         });
  });
  hlm_record made;
  made.texts = static_cast<std::uint32_t>(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t k = 0; k < texts[i].u.size(); ++k) {
      made.text.push_back(static_cast<std::uint32_t>(i));
      made.uncertainty.push_back(texts[i].u[k]);
      made.entropy.push_back(texts[i].entropy[k]);
      made.rejection.push_back(texts[i].rejection[k]);
      made.confidence.push_back(texts[i].confidence[k]);
      made.rejected.push_back(texts[i].rejected[k]);
      made.rejectable += texts[i].rejection[k] > 0 ? 1 : 0;
      made.problem_tokens.push_back(i < problems ? 1 : 0);
    }
  }
  made.rejectable /= std::max<double>(1, static_cast<double>(made.size()));
  return made;
}

//! The records of a context: `test` for the figures, `tune` for thresholds and fits. Each is made once per context.
struct hlm_study {
  hlm_record test, tune;
  specverify::linear_fit fit{};  //!< line fitted to rejection over uncertainty on the tuning record
};
[[nodiscard]] inline const hlm_study& hlm_study_of(lab_context& context) {
  static const lab_context* whose = nullptr;
  static hlm_study study;
  if (whose != &context) {
    study.test = record_hlm(context, "test", context.scaled<std::size_t>(110, 20), context.scaled<std::size_t>(60, 10),
                            0, "hlm_test");
    study.tune = record_hlm(context, "tune", context.scaled<std::size_t>(50, 10), context.scaled<std::size_t>(30, 6),
                            120, "hlm_tune");
    const auto fit = specverify::fit_linear(study.tune.uncertainty, study.tune.rejection);
    demand(fit.error(), "fit");
    study.fit = fit.value();
    whose = &context;
  }
  return study;
}

//! Returns the threshold on u, in steps of 1/20, whose share of sent problem tokens is nearest to `share`.
[[nodiscard]] inline double threshold_for(const hlm_record& record, double share) {
  double chosen = 0, nearest = 2;
  for (int j = 0; j <= 20; ++j) {
    double sent = 0, tokens = 0;
    for (std::size_t i = 0; i < record.size(); ++i) {
      if (record.problem_tokens[i] == 0) continue;
      sent += specverify::uncertainty_gate{j / 20.0}.send(record.seen(i)) ? 1 : 0;
      tokens += 1;
    }
    const double apart = std::fabs(sent / std::max(1.0, tokens) - share);
    if (apart < nearest) nearest = apart, chosen = j / 20.0;
  }
  return chosen;
}

}  // namespace lab

#endif
