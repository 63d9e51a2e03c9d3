// SPDX-License-Identifier: Apache-2.0
//! Declares WISV's figures, and what several of them compute alike.
#ifndef SPECVERIFY_APPS_LAB_WISV_FIGURES_HPP
#define SPECVERIFY_APPS_LAB_WISV_FIGURES_HPP

#include "papers.hpp"
#include "say.hpp"
#include "wisv_costs.hpp"
#include "wisv_study.hpp"

namespace lab {

//! Returns the study of a context. The first figure that needs a part of the study computes this part.
[[nodiscard]] inline wisv_study& study_of(lab_context& context) {
  static const lab_context* whose = nullptr;
  static std::unique_ptr<wisv_study> study;
  if (whose != &context || !study) study = std::make_unique<wisv_study>(context);
  whose = &context;
  return *study;
}

namespace detail {

[[nodiscard]] inline std::string points(double share, int digits = 3) { return number(100 * share, digits); }
[[nodiscard]] inline std::string points(const estimate& e) {
  return interval(100 * e.value, 100 * e.low, 100 * e.high) + " points";
}
[[nodiscard]] inline std::string gain(const estimate& e) {
  return interval(100 * e.value, 100 * e.low, 100 * e.high) + " %";
}
[[nodiscard]] inline const char* link_name(std::size_t link) {
  static constexpr const char* names[] = {"20 Mbit/s, 50 ms", "20 Mbit/s, 5 ms", "500 Mbit/s, 50 ms",
                                          "500 Mbit/s, 5 ms"};
  return names[link];
}

//! Returns the loss of accuracy, paired by problem.
[[nodiscard]] inline estimate accuracy_loss(const scored_set& greedy, const scored_set& semantic, std::uint64_t seed) {
  return paired_difference(solved_of(greedy), solved_of(semantic), seed);
}

//! Returns the tokens per round of `semantic` divided by the tokens per round of `greedy`, minus 1. The bootstrap draws
//! whole problems.
[[nodiscard]] inline estimate length_gain(const scored_set& greedy, const scored_set& semantic, std::uint64_t seed) {
  const std::array<std::vector<double>, 4> sums{sums_of(semantic, &semantic_round::emitted), rounds_of(semantic),
                                                sums_of(greedy, &semantic_round::emitted), rounds_of(greedy)};
  return bootstrap(greedy.size(), seed, [&](std::span<const std::size_t> places) {
    std::array<double, 4> total{};
    for (const std::size_t i : places) {
      for (std::size_t s = 0; s < 4; ++s) total[s] += sums[s][i];
    }
    return total[0] * total[3] / std::max(1.0, total[1] * total[2]) - 1;
  });
}

//! Returns the share of accepted mismatches on the poor link minus the share on the good link, each from texts
//! generated on this link.
[[nodiscard]] inline estimate acceptance_difference(const scored_set& on_poor, const scored_set& on_good,
                                                    std::uint64_t seed) {
  const std::array<std::vector<double>, 4> sums{
      sums_of(on_poor, &semantic_round::accepted_mismatches), sums_of(on_poor, &semantic_round::scored),
      sums_of(on_good, &semantic_round::accepted_mismatches), sums_of(on_good, &semantic_round::scored)};
  return bootstrap(on_poor.size(), seed, [&](std::span<const std::size_t> places) {
    std::array<double, 4> total{};
    for (const std::size_t i : places) {
      for (std::size_t s = 0; s < 4; ++s) total[s] += sums[s][i];
    }
    return total[0] / std::max(1.0, total[1]) - total[2] / std::max(1.0, total[3]);
  });
}

//! Returns the same difference over the mismatches along the target's own text, each scored on both links.
[[nodiscard]] inline estimate forced_difference(const std::vector<forced_problem>& forced, std::uint64_t seed) {
  return bootstrap(forced.size(), seed, [&](std::span<const std::size_t> places) {
    double more = 0, all = 0;
    for (const std::size_t i : places)
      more += forced[i].accepted[0] - forced[i].accepted[1], all += forced[i].mismatches;
    return more / std::max(1.0, all);
  });
}

[[nodiscard]] inline double accepted_share(const scored_set& set) {
  return mean_of(sums_of(set, &semantic_round::accepted_mismatches)) /
         std::max(1e-9, mean_of(sums_of(set, &semantic_round::scored)));
}

}  // namespace detail

void run_wisv_flops(lab_context& context, figure& f);
void run_wisv_labels(lab_context& context, figure& f);
void run_wisv_heads(lab_context& context, figure& f);
void run_wisv_accuracy(lab_context& context, figure& f);
void run_wisv_grid(lab_context& context, figure& f);
void run_wisv_window(lab_context& context, figure& f);
void run_wisv_protocols(lab_context& context, figure& f);
void run_wisv_sessions(lab_context& context, figure& f);
void run_wisv_ablations(lab_context& context, figure& f);
void run_wisv_split(lab_context& context, figure& f);
void run_wisv_scorers(lab_context& context, figure& f);
void run_wisv_colours(lab_context& context, figure& f);

}  // namespace lab

#endif
