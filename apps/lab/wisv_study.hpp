// SPDX-License-Identifier: Apache-2.0
//! Runs the study for WISV's figures once per run: mismatches, heads, thresholds chosen on the tuning problems, and
//! results on the test problems.
#ifndef SPECVERIFY_APPS_LAB_WISV_STUDY_HPP
#define SPECVERIFY_APPS_LAB_WISV_STUDY_HPP

#include "measure.hpp"
#include "virtual_run.hpp"
#include "wisv_heads.hpp"
#include "wisv_rounds.hpp"

#include <array>

namespace lab {

inline constexpr std::array<std::uint32_t, 5> window_lengths{10, 16, 24, 32, 64};
inline constexpr std::uint32_t main_length = 32;
inline constexpr std::size_t main_window = 3;  //!< index of main_length
static_assert(window_lengths[main_window] == main_length);
inline constexpr double accepted_loss = 0.005;  //!< maximum loss of accuracy on the tuning problems for a threshold
//! The threshold is chosen among the candidates; the shown thresholds are only plotted.
inline constexpr std::array<double, 6> candidate_thresholds{0.02, 0.05, 0.1, 0.2, 0.3, 0.5};
inline constexpr std::array<double, 12> shown_thresholds{0,   0.02, 0.05, 0.1,  0.2,   0.3,
                                                         0.5, 0.7,  0.9,  0.99, 0.999, 1.01};

[[nodiscard]] inline specverify::channel_state semantic_link(double megabits, double milliseconds) {
  specverify::channel_state made;
  made.uplink_rate = made.downlink_rate = megabits * 1e6;
  made.uplink_loss = made.downlink_loss = 1e-3;
  made.round_trip = milliseconds * 1e-3;
  return made;
}
//! Returns the links of the paper's grid: poor first, good last.
[[nodiscard]] inline std::array<specverify::channel_state, 4> grid_links() {
  return {semantic_link(20, 50), semantic_link(20, 5), semantic_link(500, 50), semantic_link(500, 5)};
}
inline constexpr std::size_t poor = 0, good = 3;  //!< indices in grid_links

//! Both models with traces of one problem, so that the next setting reuses the results of earlier settings.
struct problem_models {
  replayed_model drafter, target;
  explicit problem_models(const tinylm::model_pair& pair)
      : drafter(std::make_shared<model_trace>(pair.drafter)), target(std::make_shared<model_trace>(pair.target)) {}
};

struct scored_problem {
  bool solved = false;
  std::vector<semantic_round> rounds;
  std::uint64_t text = 0;  //!< checksum of the continuation
};

//! Results of one setting on all problems of a set.
using scored_set = std::vector<scored_problem>;

[[nodiscard]] inline std::vector<double> solved_of(const scored_set& set) {
  std::vector<double> made;
  for (const scored_problem& p : set) made.push_back(p.solved ? 1 : 0);
  return made;
}
[[nodiscard]] inline std::vector<double> sums_of(const scored_set& set, std::uint32_t semantic_round::*field) {
  std::vector<double> made;
  for (const scored_problem& p : set) {
    double sum = 0;
    for (const semantic_round& r : p.rounds) sum += r.*field;
    made.push_back(sum);
  }
  return made;
}
[[nodiscard]] inline std::vector<double> rounds_of(const scored_set& set) {
  std::vector<double> made;
  for (const scored_problem& p : set) made.push_back(static_cast<double>(p.rounds.size()));
  return made;
}
[[nodiscard]] inline double accuracy_of(const scored_set& set) { return mean_of(solved_of(set)); }
[[nodiscard]] inline double tokens_per_round(const scored_set& set) {
  return mean_of(sums_of(set, &semantic_round::emitted)) / mean_of(rounds_of(set));
}

//! Scores of the mismatches along the target's own text of one problem, under several channels. The text is fixed, so
//! decisions do not influence each other.
struct forced_problem {
  double mismatches = 0;
  std::array<double, 2> accepted{};  //!< poor, good
  // The narrow head on the same mismatches, on both links: whole and split, with the device's part as int8.
  double split_differs = 0;  //!< decisions that differ from the whole head on the drafter's exact state
  double half_differs = 0;   //!< decisions that differ if the whole head gets a half-precision state
  double apart = 0;          //!< largest change of g by the split, in absolute value
  double of_bound = 0;       //!< largest ratio of |change of g| to part_bound
  double largest_bound = 0;  //!< largest part_bound
};

class wisv_study {
 public:
  enum head_name : std::size_t { full_head = 0, no_channel = 1, no_relabelling = 2, narrow_head = 3, head_count = 4 };
  static constexpr std::size_t ablated = 3;  //!< the first three heads, which have equal width
  struct test_results {
    test_results() {}  // explicit because clang does not know the implicit one in the optional below
    std::size_t problems = 0;
    std::array<scored_set, window_lengths.size()> greedy;
    //! [length][link], with the chosen threshold and the protocol SH
    std::array<std::array<scored_set, 4>, window_lengths.size()> semantic;
    //! [threshold][poor, good], with main_length
    std::array<std::array<scored_set, 2>, shown_thresholds.size()> by_threshold;
    //! [head][poor, good], each with the head's threshold
    std::array<std::array<scored_set, 2>, head_count> by_head;
    //! [length][head][poor, good] for the first three heads, each with the head's threshold
    std::array<std::array<std::array<scored_set, 2>, ablated>, window_lengths.size()> by_length;
    //! [poor, good]: the narrow head with the device part as int8
    std::array<scored_set, 2> by_split;
    //! on a changing link: full, selective, lazy
    std::array<scored_set, 3> by_protocol;
    std::vector<forced_problem> forced;
  };
  struct tuning {
    tuning() {}
    double greedy = 0;
    std::array<std::array<double, 2>, candidate_thresholds.size()> accuracy{}, length{};  //!< [threshold][poor, good]
    double chosen = 0;
    bool found = false;  //!< whether a candidate was within the accepted loss
  };

  explicit wisv_study(lab_context& context) : context_(context) {}

  [[nodiscard]] std::size_t training_problems() const { return context_.scaled<std::size_t>(4000, 100); }
  [[nodiscard]] std::size_t tuning_problems() const { return context_.scaled<std::size_t>(1000, 40); }
  [[nodiscard]] std::size_t test_problems() const { return context_.scaled<std::size_t>(2400, 60); }

  const mismatch_set& mismatches();
  std::vector<trained_head>& heads();
  //! Chooses, for each head, the largest candidate whose accuracy on the tuning problems is within `accepted_loss` of
  //! greedy on the good and the poor link, or the smallest candidate if there is none. It runs before any test problem
  //! is read, so the choice cannot depend on the test problems. The thresholds are stored in the heads, and the heads
  //! are written to the output folder.
  const std::array<tuning, head_count>& tunings();
  const test_results& tests();

  [[nodiscard]] const specverify::head_weights& weights(head_name head) const { return views_[head]; }
  //! Returns the link of one problem: two states, equal for every protocol.
  [[nodiscard]] std::function<specverify::channel_state(std::uint32_t)> changing_link(std::size_t problem) const;
  //! Returns the settings of a head on a steady link, with main_length. `heads` must have been called.
  [[nodiscard]] semantic_settings on_link(std::size_t head, double threshold,
                                          const specverify::channel_state& link) const;

 private:
  void write_tests(problem_models& models, const lab_problem& problem, std::size_t i);
  [[nodiscard]] forced_problem force(problem_models& models, const lab_problem& problem, double threshold,
                                     double narrow_threshold) const;
  void compare_split(const problem_models& models, std::uint32_t i, std::span<const float> half,
                     const specverify::channel_vector& report, double threshold, forced_problem& made) const;

  lab_context& context_;
  std::optional<mismatch_set> mismatches_;
  std::vector<trained_head> heads_;
  std::vector<specverify::head_weights> views_;
  std::optional<std::array<tuning, head_count>> tunings_;
  std::optional<test_results> tests_;
};

//! Writes a text and scores it with `solved(continuation)`.
template <class Solved>
[[nodiscard]] scored_problem score_text(problem_models& models, std::span<const token_id> prompt, Solved solved,
                                        const semantic_settings& settings) {
  semantic_text text =
      write_semantically(models.drafter, models.target, prompt, tinylm::tokenizer::end_token, settings);
  checksum sum;
  sum.add(text.continuation.data(), text.continuation.size() * sizeof(token_id));
  return {solved(text.continuation), std::move(text.rounds), sum.value()};
}

//! The same for a word problem.
[[nodiscard]] inline scored_problem score(const lab_context& context, problem_models& models,
                                          const lab_problem& problem, const semantic_settings& settings) {
  return score_text(
      models, problem.prompt, [&](std::span<const token_id> text) { return context.solves(problem, text); }, settings);
}

}  // namespace lab

#endif
