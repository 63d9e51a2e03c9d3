// SPDX-License-Identifier: Apache-2.0
//! Defines the players of QS's rounds (a fixed action, the model-based window, or a network) and the texts that they
//! play.
#ifndef SPECVERIFY_APPS_LAB_QS_PLAYERS_HPP
#define SPECVERIFY_APPS_LAB_QS_PLAYERS_HPP

#include "qs_rounds.hpp"

namespace lab {

inline constexpr double qs_temperature = 0.4;  // value in the authors' training script
inline constexpr std::uint32_t qs_tokens = 52;

//! Returns beginnings of held-out prose, without an answer.
[[nodiscard]] inline std::vector<lab_problem> prose_tasks(lab_context& context, std::size_t first, std::size_t count) {
  const auto openings = context.prose(first + count, 24);
  std::vector<lab_problem> tasks;
  for (std::size_t i = first; i < first + count; ++i) tasks.push_back({openings[i], 0});
  return tasks;
}

inline constexpr specverify::action_grid paper_grid = specverify::paper_action_grid();

//! Chooses the action of each round: a fixed action, the model-based window or a network.
struct qs_player {
  std::string label;
  specverify::window_action fixed{};
  const specverify::model_window* heuristic = nullptr;
  const specverify::dqn_weights* network = nullptr;

  [[nodiscard]] specverify::window_action operator()(const specverify::observation& seen) const {
    if (network != nullptr)
      return paper_grid[specverify::dqn_best(specverify::dqn_evaluate(*network, specverify::features_of(seen)))];
    if (heuristic != nullptr) return heuristic->grid[heuristic->choose(seen)];
    return fixed;
  }
};

//! Returns the model-based window with the costs and pass times of a setting. The window gets the rates from
//! observations.
[[nodiscard]] inline specverify::model_window heuristic_for(const qs_setting& setting) {
  specverify::model_window window;
  window.model.vocab_size = setting.vocab_size;
  window.model.times = setting.times;
  window.model.link = setting.link.low;
  return window;
}

[[nodiscard]] inline std::string action_name(const specverify::window_action& a) {
  return "(" + std::to_string(a.draft_length) + ", " + std::to_string(a.resolution) + ")";
}

}  // namespace lab

#endif
