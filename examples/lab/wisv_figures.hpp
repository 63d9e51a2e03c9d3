// SPDX-License-Identifier: Apache-2.0
//! The semantic figures, and what several of them say of a judged set.
#ifndef SPECVERIFY_EXAMPLES_LAB_WISV_FIGURES_HPP
#define SPECVERIFY_EXAMPLES_LAB_WISV_FIGURES_HPP

#include "papers.hpp"
#include "say.hpp"
#include "wisv_study.hpp"

namespace lab {

namespace detail {

[[nodiscard]] inline std::string points(double share, int digits = 3) { return number(100 * share, digits); }
[[nodiscard]] inline std::string points(const estimate& e) { return interval(100 * e.value, 100 * e.low, 100 * e.high) + " points"; }
[[nodiscard]] inline std::string gain(const estimate& e) { return interval(100 * e.value, 100 * e.low, 100 * e.high) + " %"; }
[[nodiscard]] inline const char* link_name(std::size_t link) {
  static constexpr const char* names[] = {"20 Mbit/s, 50 ms", "20 Mbit/s, 5 ms", "500 Mbit/s, 50 ms", "500 Mbit/s, 5 ms"};
  return names[link];
}

//! What item is lost in accuracy, problem by problem.
[[nodiscard]] inline estimate accuracy_loss(const judged_set& greedy, const judged_set& semantic, std::uint64_t seed) {
  return paired_difference(solved_of(greedy), solved_of(semantic), seed);
}

//! Tokens per round of `semantic` over those of `greedy`, less 1; problems are drawn together.
[[nodiscard]] inline estimate length_gain(const judged_set& greedy, const judged_set& semantic, std::uint64_t seed) {
  const std::array<std::vector<double>, 4> sums{sums_of(semantic, &semantic_round::emitted), rounds_of(semantic), sums_of(greedy, &semantic_round::emitted),
                                                rounds_of(greedy)};
  return bootstrap(greedy.size(), seed, [&](std::span<const std::size_t> places) {
    std::array<double, 4> total{};
    for (const std::size_t i : places) {
      for (std::size_t s = 0; s < 4; ++s) total[s] += sums[s][i];
    }
    return total[0] * total[3] / std::max(1.0, total[1] * total[2]) - 1;
  });
}

//! Share of accepted mismatches on the poor link less that on the good one, each in the texts that it led to.
[[nodiscard]] inline estimate acceptance_difference(const judged_set& on_poor, const judged_set& on_good, std::uint64_t seed) {
  const std::array<std::vector<double>, 4> sums{sums_of(on_poor, &semantic_round::accepted_mismatches), sums_of(on_poor, &semantic_round::judged),
                                                sums_of(on_good, &semantic_round::accepted_mismatches), sums_of(on_good, &semantic_round::judged)};
  return bootstrap(on_poor.size(), seed, [&](std::span<const std::size_t> places) {
    std::array<double, 4> total{};
    for (const std::size_t i : places) {
      for (std::size_t s = 0; s < 4; ++s) total[s] += sums[s][i];
    }
    return total[0] / std::max(1.0, total[1]) - total[2] / std::max(1.0, total[3]);
  });
}

//! The same over mismatches that both links were asked about: along the target's own text.
[[nodiscard]] inline estimate forced_difference(const std::vector<forced_problem>& forced, std::uint64_t seed) {
  return bootstrap(forced.size(), seed, [&](std::span<const std::size_t> places) {
    double more = 0, all = 0;
    for (const std::size_t i : places) more += forced[i].accepted[0] - forced[i].accepted[1], all += forced[i].mismatches;
    return more / std::max(1.0, all);
  });
}

[[nodiscard]] inline double accepted_share(const judged_set& set) {
  return mean_of(sums_of(set, &semantic_round::accepted_mismatches)) / std::max(1e-9, mean_of(sums_of(set, &semantic_round::judged)));
}

}  // namespace detail

//! wisv_figures.cpp
void run_wisv_labels(lab_context& context, figure& f);
void run_wisv_heads(lab_context& context, figure& f);
void run_wisv_accuracy(lab_context& context, figure& f);

//! wisv_links.cpp
void run_wisv_grid(lab_context& context, figure& f);
void run_wisv_protocols(lab_context& context, figure& f);
void run_wisv_sessions(lab_context& context, figure& f);
void run_wisv_ablations(lab_context& context, figure& f);

}  // namespace lab

#endif
