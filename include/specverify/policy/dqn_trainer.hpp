// SPDX-License-Identifier: Apache-2.0
//! Trains the network of policy/dqn.hpp by double deep Q-learning.
//!
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605) with the settings of the authors' code; double Q-learning:
//!             van Hasselt, Guez, Silver (arXiv 1509.06461); Adam: Kingma, Ba (arXiv 1412.6980).
//! Symbols:    s, a, r, s' = state, action, reward and next state of a round; Q = a network's value of an action;
//!             target = r + discount * Q_target(s', argmax_a Q_online(s', a)), but r at the end of an episode. The loss
//!             is the mean of (Q_online(s, a) - target)^2.
//! Guarantees: the same build, seed, options and environment give the same weights, bit for bit.
//! Deviates:   the environment must charge each round at that round's link rate, which avoids a defect of the authors'
//!             code.
//! Cost:       O(batch * weights) per update; only `make` allocates.
//! See:        docs/algorithms/dqn.md, tests/unit/policy/dqn_trainer_test.cpp
#ifndef SPECVERIFY_POLICY_DQN_TRAINER_HPP
#define SPECVERIFY_POLICY_DQN_TRAINER_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/random.hpp>
#include <specverify/policy/detail/dqn_batch.hpp>
#include <specverify/policy/dqn.hpp>

#include <cmath>
#include <concepts>
#include <utility>
#include <vector>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

struct dqn_trainer_options {
  std::uint64_t seed = 1;
  double learning_rate = 1e-4;    //!< learning rate of Adam, in [1e-12, 1]
  double discount = 0.1;          //!< in [0, 1); the paper's code uses 0.99 for plain DQN
  std::uint32_t batch = 64;       //!< 1..4096
  std::uint32_t replay = 10000;   //!< maximum transitions in memory, from `batch` to 2^24
  std::uint32_t copy_every = 30;  //!< updates between copies of the online network to the target network, >= 1
  double epsilon_start = 1;       //!< probability of a random action, in [0, 1]
  double epsilon_end = 0.01;      //!< in [0, epsilon_start]
  double epsilon_decay = 0.998;   //!< factor per episode, in (0, 1]
  bool double_network = true;     //!< false: the target network also chooses the action (plain DQN)
};

//! Experience from one round.
struct dqn_transition {
  dqn_features state{};
  dqn_features next{};
  float reward = 0;
  std::uint32_t action = 0;
  bool last = false;  //!< whether the episode ended with this round
};

//! Result of a round, as an environment reports it.
struct dqn_step {
  dqn_features next{};
  float reward = 0;
  bool last = false;
};

struct dqn_training {
  std::uint32_t episodes = 80000;
  std::uint32_t evaluate_every = 250;  //!< episodes between greedy evaluations, >= 1
  std::uint32_t learn_every = 1;       //!< rounds between updates, >= 1
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! The environment of the trainer: `reset` must begin an episode and return the first state, `step` must play a round,
//! and `evaluate` must return a score for the weights. A higher score is better.
template <class Environment>
concept dqn_environment = requires(Environment& environment, std::uint32_t episode, std::uint32_t action,
                                   const dqn_weights& weights) {
  { environment.reset(episode) } -> std::same_as<dqn_features>;
  { environment.step(action) } -> std::same_as<dqn_step>;
  { environment.evaluate(weights) } -> std::convertible_to<double>;
};

class dqn_trainer {
 public:
  //! Returns a trainer. Errors: invalid_argument (`where` = index of the option).
  [[nodiscard]] static result<dqn_trainer> make(const dqn_trainer_options& options = {}) {
    const auto within = [](double x, double low, double high) {
      return numeric::is_finite(x) && x >= low && x <= high;
    };
    const auto bad = [](std::uint32_t where) { return status{errc::invalid_argument, part::policy, where}; };
    if (!within(options.learning_rate, 1e-12, 1)) return bad(1);
    if (!within(options.discount, 0, 0.999999)) return bad(2);
    if (options.batch == 0 || options.batch > 4096) return bad(3);
    if (options.replay < options.batch || options.replay > (1u << 24)) return bad(4);
    if (options.copy_every == 0) return bad(5);
    if (!within(options.epsilon_start, 0, 1)) return bad(6);
    if (!within(options.epsilon_end, 0, options.epsilon_start)) return bad(7);
    if (!within(options.epsilon_decay, 1e-12, 1)) return bad(8);
    return dqn_trainer(options);
  }

  [[nodiscard]] const dqn_weights& weights() const noexcept { return *online_; }
  //! Returns the weights with the highest score in `consider`, or the current weights before the first call.
  [[nodiscard]] const dqn_weights& best() const noexcept { return considered_ ? *best_ : *online_; }
  [[nodiscard]] double best_score() const noexcept { return best_score_; }
  [[nodiscard]] double epsilon() const noexcept { return epsilon_; }
  [[nodiscard]] std::uint32_t updates() const noexcept { return updates_; }
  [[nodiscard]] double last_loss() const noexcept { return last_loss_; }

  //! Continues from other weights. Errors: value_not_finite.
  [[nodiscard]] status set_weights(const dqn_weights& weights) noexcept {
    if (const status why = check(weights); !why.ok()) return why;
    *online_ = *target_ = weights;
    return {};
  }

  //! Returns a random action with probability epsilon, otherwise the best action.
  [[nodiscard]] std::uint32_t act(const dqn_features& state) noexcept {
    const random_counter counter{acts_++, episodes_, 0, purpose::policy_exploration, 0};
    if (decision_uniform(source_(counter), 1) < epsilon_)
      return static_cast<std::uint32_t>(uniform_integer(source_, counter, dqn_actions));
    return dqn_best(dqn_evaluate(*online_, state));
  }
  //! Keeps a transition. Returns false and keeps nothing if the network does not have the action, or if the reward is
  //! not finite.
  bool remember(const dqn_transition& transition) noexcept {
    if (transition.action >= dqn_actions || !numeric::is_finite(transition.reward)) return false;
    memory_[static_cast<std::size_t>(remembered_ % memory_.size())] = transition;
    remembered_ += 1;
    return true;
  }
  //! Updates the network once, from a random batch. Returns false if fewer transitions than a batch are in memory.
  bool learn() noexcept;
  //! Ends an episode: multiplies epsilon by epsilon_decay, but not below epsilon_end.
  void end_episode() noexcept {
    episodes_ += 1;
    epsilon_ *= options_.epsilon_decay;
    if (epsilon_ < options_.epsilon_end) epsilon_ = options_.epsilon_end;
  }
  //! Keeps the current weights if their score is the highest so far. A score that is NaN or infinite is ignored.
  void consider(double score) noexcept {
    if (!numeric::is_finite(score) || (considered_ && score <= best_score_)) return;
    considered_ = true;
    best_score_ = score;
    *best_ = *online_;
  }

 private:
  using shared_weights = std::vector<dqn_weights>;  // on the heap, because weights are too large for a stack

  explicit dqn_trainer(const dqn_trainer_options& options)
      : options_(options),
        source_{{{static_cast<std::uint32_t>(options.seed), static_cast<std::uint32_t>(options.seed >> 32)}}},
        storage_(6),
        memory_(options.replay),
        actions_(options.batch),
        slopes_(options.batch),
        picks_(options.batch),
        targets_(options.batch),
        batch_(detail::dqn_batch::make(options.batch).value()),
        epsilon_(options.epsilon_start) {
    point();
    for (const dqn_layer& layer : dqn_layers) {  // weights and biases are uniform in +-1 / sqrt(inputs)
      const double bound = 1 / std::sqrt(static_cast<double>(layer.inputs));
      for (std::uint32_t i = layer.offset; i < layer.end(); ++i) {
        const double u = decision_uniform(source_(random_counter{i, 0, 0, purpose::training, 1}));
        online_->values[i] = static_cast<float>((2 * u - 1) * bound);
      }
    }
    *target_ = *online_;
  }
  void point() noexcept {
    online_ = &storage_[0];
    target_ = &storage_[1];
    best_ = &storage_[2];
    gradient_ = &storage_[3];
    first_ = &storage_[4];
    second_ = &storage_[5];
  }
  [[nodiscard]] const dqn_transition& sampled(std::uint32_t i) const noexcept { return memory_[picks_[i]]; }
  //! Writes one member of each sampled transition, `state` or `next`, to the inputs of the batch.
  void put_inputs(dqn_features dqn_transition::*which) noexcept;
  //! Computes the target of each sampled transition.
  void set_targets() noexcept;
  void step_adam() noexcept;

  dqn_trainer_options options_;
  philox source_;
  shared_weights storage_;
  std::vector<dqn_transition> memory_;
  std::vector<std::uint32_t> actions_;
  std::vector<float> slopes_;
  std::vector<std::uint32_t> picks_;
  std::vector<float> targets_;
  detail::dqn_batch batch_;
  dqn_weights *online_ = nullptr, *target_ = nullptr, *best_ = nullptr, *gradient_ = nullptr, *first_ = nullptr,
              *second_ = nullptr;
  std::uint64_t remembered_ = 0;
  double epsilon_ = 1;
  double best_score_ = 0;
  double last_loss_ = 0;
  std::uint32_t episodes_ = 0;
  std::uint32_t acts_ = 0;
  std::uint32_t updates_ = 0;
  bool considered_ = false;
};

inline void dqn_trainer::put_inputs(dqn_features dqn_transition::*which) noexcept {
  for (std::uint32_t i = 0; i < options_.batch; ++i) {
    for (std::uint32_t k = 0; k < dqn_inputs; ++k) batch_.input(i)[k] = (sampled(i).*which)[k];
  }
}

inline void dqn_trainer::set_targets() noexcept {
  const std::uint32_t count = options_.batch;
  const auto best_of = [](const float* values) {
    std::uint32_t best = 0;
    for (std::uint32_t a = 1; a < dqn_actions; ++a) best = values[a] > values[best] ? a : best;
    return best;
  };
  const float discount = static_cast<float>(options_.discount);
  if (discount > 0) {
    put_inputs(&dqn_transition::next);
    if (options_.double_network) {
      batch_.forward(*online_, count);
      for (std::uint32_t i = 0; i < count; ++i) actions_[i] = best_of(batch_.values(i));
    }
    batch_.forward(*target_, count);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool goes_on = discount > 0 && !sampled(i).last;
    const std::uint32_t next_action = goes_on ? (options_.double_network ? actions_[i] : best_of(batch_.values(i))) : 0;
    targets_[i] = sampled(i).reward + (goes_on ? discount * batch_.values(i)[next_action] : 0.0f);
  }
}

inline bool dqn_trainer::learn() noexcept {
  if (remembered_ < options_.batch) return false;
  const std::uint64_t held = remembered_ < memory_.size() ? remembered_ : memory_.size();
  const std::uint32_t count = options_.batch;
  for (std::uint32_t i = 0; i < count; ++i) {
    picks_[i] = static_cast<std::uint32_t>(
        uniform_integer(source_, random_counter{i, updates_, 0, purpose::training, 2}, held));
  }
  set_targets();
  put_inputs(&dqn_transition::state);
  batch_.forward(*online_, count);
  double loss = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    actions_[i] = sampled(i).action;
    const float error = batch_.values(i)[actions_[i]] - targets_[i];
    loss += static_cast<double>(error) * static_cast<double>(error);
    slopes_[i] = 2.0f * error / static_cast<float>(count);
  }
  last_loss_ = loss / count;
  gradient_->values.fill(0);
  batch_.backward(*online_, actions_, slopes_, *gradient_);
  updates_ += 1;
  step_adam();
  if (updates_ % options_.copy_every == 0) *target_ = *online_;
  return true;
}

inline void dqn_trainer::step_adam() noexcept {
  const double step = static_cast<double>(updates_);
  const double correction = std::sqrt(1 - std::pow(0.999, step)) / (1 - std::pow(0.9, step));
  const float rate = static_cast<float>(options_.learning_rate * correction);
  const float floor = static_cast<float>(1e-8 * std::sqrt(1 - std::pow(0.999, step)));
  float* weight = online_->values.data();
  const float* slope = gradient_->values.data();
  float *mean = first_->values.data(), *square = second_->values.data();
  for (std::uint32_t i = 0; i < dqn_parameters; ++i) {
    mean[i] = 0.9f * mean[i] + 0.1f * slope[i];
    square[i] = 0.999f * square[i] + 0.001f * slope[i] * slope[i];
    weight[i] -= rate * mean[i] / (std::sqrt(square[i]) + floor);
  }
}

//! Trains on episodes of the environment. Every `evaluate_every` episodes, and at the end, the environment scores the
//! weights, and the trainer keeps the weights with the best score.
template <dqn_environment Environment>
void train(dqn_trainer& trainer, Environment& environment, const dqn_training& plan) {
  std::uint32_t rounds = 0;
  for (std::uint32_t episode = 0; episode < plan.episodes; ++episode) {
    dqn_transition made;
    made.state = environment.reset(episode);
    while (!made.last) {
      made.action = trainer.act(made.state);
      const dqn_step played = environment.step(made.action);
      made.next = played.next;
      made.reward = played.reward;
      made.last = played.last;
      trainer.remember(made);
      if (++rounds % plan.learn_every == 0) trainer.learn();
      made.state = made.next;
    }
    trainer.end_episode();
    if ((episode + 1) % plan.evaluate_every == 0 || episode + 1 == plan.episodes)
      trainer.consider(environment.evaluate(trainer.weights()));
  }
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
