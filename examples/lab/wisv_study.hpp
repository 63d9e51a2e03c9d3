// SPDX-License-Identifier: Apache-2.0
//! The study behind the semantic figures, made once a run: mismatches, heads, thresholds fixed on the tuning problems, the test problems.
#ifndef SPECVERIFY_EXAMPLES_LAB_WISV_STUDY_HPP
#define SPECVERIFY_EXAMPLES_LAB_WISV_STUDY_HPP

#include "wisv_heads.hpp"
#include "wisv_rounds.hpp"

#include "measure.hpp"
#include "virtual_run.hpp"

#include <array>

namespace lab {

inline constexpr std::array<std::uint32_t, 5> window_lengths{10, 16, 24, 32, 64};
inline constexpr std::uint32_t main_length = 32;
inline constexpr double accepted_loss = 0.005;  //!< of accuracy on the tuning problems, for the choice of a threshold
//! Among these the threshold is chosen; the others are shown.
inline constexpr std::array<double, 6> candidate_thresholds{0.02, 0.05, 0.1, 0.2, 0.3, 0.5};
inline constexpr std::array<double, 12> shown_thresholds{0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1.01};

[[nodiscard]] inline specverify::channel_state semantic_link(double megabits, double milliseconds) {
  specverify::channel_state made;
  made.uplink_rate = made.downlink_rate = megabits * 1e6;
  made.uplink_loss = made.downlink_loss = 1e-3;
  made.round_trip = milliseconds * 1e-3;
  return made;
}
//! The grid of the paper: poor first, good last.
[[nodiscard]] inline std::array<specverify::channel_state, 4> grid_links() {
  return {semantic_link(20, 50), semantic_link(20, 5), semantic_link(500, 50), semantic_link(500, 5)};
}
inline constexpr std::size_t poor = 0, good = 3;  //!< places in grid_links

//! Both models over traces of one problem: what one setting asked is answered to the next.
struct problem_models {
  replayed_model drafter, target;
  explicit problem_models(const tinylm::model_pair& pair)
      : drafter(std::make_shared<model_trace>(pair.drafter)), target(std::make_shared<model_trace>(pair.target)) {}
};

struct judged_problem {
  bool solved = false;
  std::vector<semantic_round> rounds;
  std::uint64_t text = 0;  //!< checksum of the continuation
};

//! One setting over all problems of a set.
using judged_set = std::vector<judged_problem>;

[[nodiscard]] inline std::vector<double> solved_of(const judged_set& set) {
  std::vector<double> made;
  for (const judged_problem& p : set) made.push_back(p.solved ? 1 : 0);
  return made;
}
[[nodiscard]] inline std::vector<double> sums_of(const judged_set& set, std::uint32_t semantic_round::*field) {
  std::vector<double> made;
  for (const judged_problem& p : set) {
    double sum = 0;
    for (const semantic_round& r : p.rounds) sum += r.*field;
    made.push_back(sum);
  }
  return made;
}
[[nodiscard]] inline std::vector<double> rounds_of(const judged_set& set) {
  std::vector<double> made;
  for (const judged_problem& p : set) made.push_back(static_cast<double>(p.rounds.size()));
  return made;
}
[[nodiscard]] inline double accuracy_of(const judged_set& set) { return mean_of(solved_of(set)); }
[[nodiscard]] inline double tokens_per_round(const judged_set& set) { return mean_of(sums_of(set, &semantic_round::emitted)) / mean_of(rounds_of(set)); }

//! Along the target's own text: every mismatch judged under several channels, problem by problem. Nothing that one decides changes another.
struct forced_problem {
  double mismatches = 0;
  std::array<double, 2> accepted{};  //!< poor, good
};

class wisv_study {
 public:
  enum head_name : std::size_t { full_head = 0, no_channel = 1, no_relabelling = 2, head_count = 3 };
  struct test_results {
    std::size_t problems = 0;
    std::array<judged_set, window_lengths.size()> greedy;
    std::array<std::array<judged_set, 4>, window_lengths.size()> semantic;        //!< [length][link], the chosen threshold, SH
    std::array<std::array<judged_set, 2>, shown_thresholds.size()> by_threshold;  //!< [threshold][poor, good], main_length
    std::array<std::array<judged_set, 2>, head_count> by_head;                    //!< [head][poor, good], each with its own threshold
    std::array<judged_set, 3> by_protocol;                                        //!< over a link that changes: full, selective, lazy
    std::vector<forced_problem> forced;
  };
  struct tuning {
    double greedy = 0;
    std::array<std::array<double, 2>, candidate_thresholds.size()> accuracy{}, length{};  //!< [threshold][poor, good]
    double chosen = 0;
    bool found = false;  //!< some candidate was within the loss
  };

  explicit wisv_study(lab_context& context) : context_(context) {}

  [[nodiscard]] std::size_t training_problems() const { return context_.scaled<std::size_t>(4000, 200); }
  [[nodiscard]] std::size_t tuning_problems() const { return context_.scaled<std::size_t>(1000, 80); }
  [[nodiscard]] std::size_t test_problems() const { return context_.scaled<std::size_t>(2400, 120); }

  const mismatch_set& mismatches();

  std::vector<trained_head>& heads();

  //! For each head the largest candidate whose accuracy on the tuning problems is within `accepted_loss` of greedy on the good and the poor link.
  //! Decided before a test problem is read. The thresholds are set in the heads, and the heads written to the output folder.
  const std::array<tuning, head_count>& tunings();

  const test_results& tests();

  [[nodiscard]] const specverify::head_weights& weights(head_name head) const { return views_[head]; }

  //! The link of one problem: two states, the same for every protocol.
  [[nodiscard]] std::function<specverify::channel_state(std::uint32_t)> changing_link(std::size_t problem) const;

 private:
  [[nodiscard]] semantic_settings on_link(std::size_t head, double threshold, std::size_t link);

  [[nodiscard]] judged_problem judge(problem_models& models, const lab_problem& problem, const semantic_settings& settings) const;

  [[nodiscard]] forced_problem force(problem_models& models, const lab_problem& problem, double threshold) const;

  lab_context& context_;
  std::optional<mismatch_set> mismatches_;
  std::vector<trained_head> heads_;
  std::vector<specverify::head_weights> views_;
  std::optional<std::array<tuning, head_count>> tunings_;
  std::optional<test_results> tests_;
};

//! One study a context: the first figure that needs a part of it makes it.
[[nodiscard]] wisv_study& study_of(lab_context& context);

}  // namespace lab

#endif
