// SPDX-License-Identifier: Apache-2.0
//! Defines the players of QS's rounds (a fixed action, the model-based window, or a network), and trains networks.
#ifndef SPECVERIFY_APPS_LAB_QS_PLAYERS_HPP
#define SPECVERIFY_APPS_LAB_QS_PLAYERS_HPP

#include <specverify/policy/dqn_trainer.hpp>
#include <specverify/policy/model_window.hpp>

#include "figure.hpp"
#include "qs_rounds.hpp"

#include <functional>

namespace lab {

inline constexpr specverify::action_grid paper_grid = specverify::paper_action_grid();

//! Chooses the action of each round.
using qs_player = std::function<specverify::window_action(const specverify::observation&)>;

//! Returns the network's inputs, without the semantic state if the setting hides it.
[[nodiscard]] inline specverify::dqn_features features_seen(const qs_setting& setting,
                                                            const specverify::observation& seen) {
  specverify::dqn_features made = specverify::features_of(seen);
  if (!setting.sees_text) std::fill_n(made.begin(), specverify::observed_probabilities + 2, 0.0F);
  return made;
}

[[nodiscard]] inline qs_player fixed_player(specverify::window_action action) {
  return [action](const specverify::observation&) { return action; };
}
[[nodiscard]] inline qs_player window_player(const specverify::model_window& window) {
  return [window](const specverify::observation& seen) { return window.grid[window.choose(seen)]; };
}
//! Returns a player with the weights, the grid and the inputs of the training. The weights must outlive it.
[[nodiscard]] inline qs_player network_player(const specverify::dqn_weights& network, const qs_setting& setting) {
  return [&network, shown = setting](const specverify::observation& seen) {
    return shown.grid[specverify::dqn_best(specverify::dqn_evaluate(network, features_seen(shown, seen)))];
  };
}

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

//! Returns the fixed action with the highest throughput over two passes of the texts.
[[nodiscard]] inline specverify::window_action best_action(const qs_setting& setting, std::span<const qs_text> texts,
                                                           std::span<const specverify::window_action> actions,
                                                           std::uint64_t seed) {
  specverify::window_action best{};
  double most = 0;
  for (const specverify::window_action& action : actions) {
    const double throughput = replayed_texts(setting, texts, 2, seed, fixed_player(action)).throughput();
    if (throughput > most) most = throughput, best = action;
  }
  return best;
}

//! Returns the tokens and seconds of the texts if one model writes them by itself, one pass per token.
[[nodiscard]] inline qs_played alone(std::span<const qs_text> texts, double pass_seconds) {
  qs_played made;
  for (const qs_text& text : texts) {
    made.tokens.push_back(static_cast<double>(text.size()));
    made.seconds.push_back(static_cast<double>(text.size()) * pass_seconds);
  }
  return made;
}

//! Returns tokens per second with an interval over texts.
[[nodiscard]] inline estimate speed_of(const qs_played& of, std::uint64_t seed) {
  return ratio_estimate(of.tokens, of.seconds, seed, 300);
}
//! Returns "28.8 [28.2, 29.4]", or the number alone if all texts have the same speed, as with the target alone.
[[nodiscard]] inline std::string speed_text(const estimate& e) {
  return e.high - e.low < 1e-9 * e.value ? number(e.value, 4) : interval(e.value, e.low, e.high, 4);
}
//! Returns the change of the tokens per second from `base` to `of`, text by text.
[[nodiscard]] inline estimate gain_over(const qs_played& of, const qs_played& base, std::uint64_t seed) {
  return ratio_change(of.tokens, of.seconds, base.tokens, base.seconds, seed, 300);
}

//! The environment in which a network learns: a `qs_run`. As in the authors' code, the reward of a round is half the
//! expected tokens divided by the round's time. The reward is then divided by 30, so that values are near 1. In the
//! prefix-free world the expectation also covers the positions.
class qs_environment {
 public:
  qs_environment(const qs_setting& setting, std::span<const qs_text> texts, std::uint64_t seed, bool shuffled)
      : setting_(setting),
        texts_(texts),
        run_(setting_, texts, seed),
        acceptance_(mean_acceptance(texts)),
        seed_(seed),
        shuffled_(shuffled) {}
  qs_environment(const qs_environment&) = delete;

  specverify::dqn_features reset(std::uint32_t) {
    run_.next_text();
    run_.restart_link();
    tokens_ = 0;
    seconds_ = 0;
    return features_seen(setting_, run_.seen());
  }
  specverify::dqn_step step(std::uint32_t action) {
    const qs_run::outcome round = run_.play(setting_.grid[action]);
    tokens_ += round.tokens;
    seconds_ += round.seconds;
    specverify::dqn_step made;
    made.last = round.text_ends || tokens_ >= setting_.episode_tokens;
    const specverify::window_action& a = setting_.grid[action];
    double reward =
        0.5 *
        (setting_.prefix_free ? specverify::expected_tokens(acceptance_[resolution_index(a.resolution)], a.draft_length)
                              : round.expected_tokens) /
        round.seconds;
    if (made.last && setting_.final_bonus) reward += tokens_ / seconds_;
    made.reward = static_cast<float>(reward / 30);
    if (shuffled_) {  // the reward of another round
      earned_.push_back(made.reward);
      const auto block =
          specverify::philox{}({static_cast<std::uint32_t>(earned_.size()), 0, 0, specverify::purpose::training, 5});
      made.reward =
          earned_[static_cast<std::size_t>(specverify::decision_uniform(block) * static_cast<double>(earned_.size()))];
    }
    made.next = features_seen(setting_, run_.seen());
    return made;
  }
  double evaluate(const specverify::dqn_weights& weights) const {
    const qs_player player = network_player(weights, setting_);
    return setting_.prefix_free ? prefix_free_throughput(setting_, texts_, 400, seed_ + 1, player)
                                : replayed_texts(setting_, texts_, 1, seed_ + 1, player).throughput();
  }

 private:
  qs_setting setting_;
  std::span<const qs_text> texts_;
  qs_run run_;
  qs_acceptance acceptance_;
  std::vector<float> earned_;
  std::uint64_t seed_;
  double seconds_ = 0;
  std::uint32_t tokens_ = 0;
  bool shuffled_;
};

//! Training settings of the lab: the paper's settings, but with a higher learning rate and fewer episodes, so that a
//! training takes seconds.
struct qs_training {
  std::uint32_t episodes = 300;
  std::uint32_t learn_every = 4;
  double learning_rate = 1e-3;
  double epsilon_decay = 0.98;
  std::uint32_t batch = 32;
};

[[nodiscard]] inline specverify::dqn_trainer train_dqn(const qs_setting& setting, std::span<const qs_text> texts,
                                                       std::uint64_t seed, bool shuffled, const qs_training& plan) {
  specverify::dqn_trainer_options options;
  options.seed = seed;
  options.learning_rate = plan.learning_rate;
  options.epsilon_decay = plan.epsilon_decay;
  options.batch = plan.batch;
  auto trainer = specverify::dqn_trainer::make(options);
  if (!trainer.ok()) throw std::runtime_error(specverify::message(trainer.error().code));
  qs_environment world(setting, texts, seed, shuffled);
  specverify::train(trainer.value(), world, {plan.episodes, std::max(1u, plan.episodes / 20), plan.learn_every});
  return std::move(trainer).value();
}

}  // namespace lab

#endif
