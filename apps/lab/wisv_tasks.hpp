// SPDX-License-Identifier: Apache-2.0
//! Runs WISV's head and other scorers of mismatches on a task, each at the threshold and the window that the task's
//! tuning problems choose.
#ifndef SPECVERIFY_APPS_LAB_WISV_TASKS_HPP
#define SPECVERIFY_APPS_LAB_WISV_TASKS_HPP

#include "wisv_figures.hpp"
#include "wisv_scorers.hpp"

namespace lab {

struct task_problem {
  std::vector<token_id> prompt;
  std::string answer;
};

//! A task: prompts, and a rule that finds the answer in a continuation; an empty answer is never right.
struct scored_task {
  std::string name;
  std::function<std::vector<task_problem>(const std::string& set, std::size_t count)> problems;
  std::function<std::string(const std::string& continuation)> answer_of;
  std::size_t tuning = 0, testing = 0,
              rated = 0;  //!< problems: tune, test, and those of test whose mismatches are rated
};

[[nodiscard]] scored_task word_task(lab_context& context);
//! The colours of data/make_data.py: fixed wording, answers without digits.
[[nodiscard]] scored_task colour_task(lab_context& context);

//! A way to decide about mismatches. Without a head and a rule: greedy, which accepts none.
struct contender {
  std::string name;
  const specverify::head_weights* head = nullptr;
  std::optional<scorer> rule = {};
  std::vector<double> thresholds{0.0};  //!< candidates, rising
  double chosen = 0;
  bool found = true;                      //!< whether a candidate was within the accepted loss
  std::array<std::uint32_t, 2> window{};  //!< of the least latency on the tuning problems: poor, good
  std::array<bool, 2> full{};             //!< FH instead of SH: poor, good

  [[nodiscard]] bool sees_link() const { return head != nullptr; }
};

inline constexpr std::array<std::uint32_t, 8> task_windows{2, 4, 6, 8, 12, 16, 24, 32};
inline constexpr std::array<std::size_t, 2> task_links{poor, good};

//! Results of one contender on one link over the problems of a set.
struct scored_result {
  std::vector<double> solved, seconds, alone, tokens, rounds, bits;  //!< per problem; alone: the target's seconds
};

//! Chooses the threshold of each contender, as the heads' are chosen, then the window and, for a head, the protocol of
//! the least latency on each link. Returns the results on the tuning problems, [contender][poor, good].
[[nodiscard]] std::vector<std::array<scored_result, 2>> tune_contenders(lab_context& context, const scored_task& task,
                                                                        std::vector<contender>& contenders);

//! Returns the results on the test problems, [contender][poor, good].
[[nodiscard]] std::vector<std::array<scored_result, 2>> test_contenders(lab_context& context, const scored_task& task,
                                                                        const std::vector<contender>& contenders);

//! Returns the area under the ROC curve of each contender's scores against the search's labels, on test problems, with
//! intervals over problems. A head scores on the good link. Greedy: 0.5.
[[nodiscard]] std::vector<estimate> rate_contenders(lab_context& context, const scored_task& task,
                                                    const std::vector<contender>& contenders);

}  // namespace lab

#endif
