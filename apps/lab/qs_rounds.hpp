// SPDX-License-Identifier: Apache-2.0
//! Models QS as a game of rounds: texts of the embedded pair with the acceptance of every position, a link, and the
//! reward of an action (L, l), where L is the number of drafts and l is the resolution.
//!
//! There are two worlds. In the prefix-free world each drafted position is drawn from all recorded positions. A round's
//! outcome then depends only on (L, l) and the link's state, so the best policy can be found by trying all. In the
//! replayed world positions follow a recorded text, and an accepted draft is assumed to be the text's own token.
#ifndef SPECVERIFY_APPS_LAB_QS_ROUNDS_HPP
#define SPECVERIFY_APPS_LAB_QS_ROUNDS_HPP

#include <specverify/core/random.hpp>
#include <specverify/distribution/law.hpp>
#include <specverify/link/channel.hpp>
#include <specverify/link/latency.hpp>
#include <specverify/policy/dqn_trainer.hpp>
#include <specverify/policy/model_window.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/quantize/lattice.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/verify/expected_length.hpp>

#include "figure.hpp"
#include "lab_context.hpp"
#include "measure.hpp"

#include <array>

namespace lab {

//! Returns the dense lattice distribution of a row of logits, as a session with law_format::dense_lattice makes it.
class dense_quantizer {
 public:
  //! Returns q^ over the vocabulary.
  [[nodiscard]] std::vector<double> operator()(std::span<const float> logits, double temperature,
                                               std::uint32_t resolution) {
    using namespace specverify;
    const auto vocab_size = static_cast<std::uint32_t>(logits.size());
    const top_k sparsifier;  // unused, because the lattice takes the whole row
    const row_transform transform{.temperature = temperature};
    const draft_law_options options{law_format::dense_lattice, resolution};
    const read_request wanted = draft_law_request(vocab_size, sparsifier, {}, options);
    memory_.resize(std::max(memory_.size(), digest_workspace_size(vocab_size, transform, wanted) +
                                                draft_law_workspace_size(vocab_size, sparsifier, {}, options) + 64));
    workspace space{std::span<std::byte>(memory_)};
    const auto row = demand(read_row(exec::simd, logits_row<float>(logits), transform, wanted, space), "reading");
    const draft_law& made = made_ = demand(make_draft_law(row, sparsifier, {}, options, space), "quantizing");
    std::vector<double> law(vocab_size, 0.0);
    for (std::uint32_t i = 0; i < made.drafted.size; ++i)
      law[static_cast<std::size_t>(made.drafted.ids[i])] = made.drafted.counts[i] / static_cast<double>(resolution);
    return law;
  }
  //! Returns the last distribution as it is sent. It is valid until the next call.
  [[nodiscard]] const specverify::law& sent() const { return made_.drafted; }

 private:
  std::vector<std::byte> memory_;
  specverify::draft_law made_;
};

//! Returns the index of the token at u in [0, 1) of a distribution that sums to 1, or to `sum`.
[[nodiscard]] inline std::size_t token_at(std::span<const double> law, double u, double sum = 1) {
  double at = u * sum;
  std::size_t last = 0;
  for (std::size_t v = 0; v < law.size(); ++v) {
    if (!(law[v] > 0)) continue;
    last = v;
    if (at < law[v]) return v;
    at -= law[v];
  }
  return last;
}

inline constexpr std::array<std::uint32_t, 3> qs_resolutions{720, 240, 12};

//! One position of a text of the target.
struct qs_position {
  std::array<double, 3> acceptance{};  //!< sum of min(p, q^) for each of `qs_resolutions`
  float probability = 0;               //!< probability of one accepted draft in the drafter's own distribution
};

using qs_text = std::vector<qs_position>;

[[nodiscard]] inline std::size_t resolution_index(std::uint32_t resolution) {
  return resolution == 720 ? 0 : resolution == 240 ? 1 : 2;
}

//! Records texts that the target generates at a temperature, at most `tokens` tokens each, with the acceptance of the
//! drafter's tokens at each position.
[[nodiscard]] inline std::vector<qs_text> record_texts(lab_context& context, const std::vector<lab_problem>& problems,
                                                       double temperature, std::uint32_t tokens, std::uint64_t seed) {
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  std::vector<qs_text> texts(problems.size());
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    dense_quantizer quantize;
    worker.drafter.rollback(0);
    worker.target.rollback(0);
    std::vector<token_id> next = problems[i].prompt;
    for (std::uint32_t t = 0; t < tokens; ++t) {
      worker.drafter.feed(next, 1);
      worker.target.feed(next, 1);
      const std::vector<double> p = law_of(worker.target.logits(0), temperature),
                                q = law_of(worker.drafter.logits(0), temperature);
      const auto block = source({t, static_cast<std::uint32_t>(i), 0, specverify::purpose::training, 3});
      qs_position& here = texts[i].emplace_back();
      for (std::size_t k = 0; k < qs_resolutions.size(); ++k) {
        std::vector<double> both = quantize(worker.drafter.logits(0), temperature, qs_resolutions[k]);
        for (std::size_t v = 0; v < both.size(); ++v) here.acceptance[k] += both[v] = std::min(both[v], p[v]);
        if (k == 1)
          here.probability =
              static_cast<float>(q[token_at(both, specverify::decision_uniform(block, 1), here.acceptance[k])]);
      }
      next.assign(1, static_cast<token_id>(token_at(p, specverify::decision_uniform(block))));
      if (next[0] == tinylm::tokenizer::end_token) break;
    }
  });
  return texts;
}

//! Cost of a round and behaviour of the link. The papers give no computing times; these are for a small and a large OPT
//! on one GPU.
struct qs_setting {
  specverify::markov_options link = specverify::qs_paper_link();
  specverify::round_times times{8e-3, 45e-3};
  std::uint32_t vocab_size = 50272;  //!< vocabulary size of the paper, for the charged bits
  std::uint32_t episode_tokens = 52;
  bool prefix_free = true;
  bool final_bonus = false;  //!< the last round also earns the episode's throughput, as in the authors' code

  [[nodiscard]] double seconds(const specverify::window_action& action, const specverify::channel_state& state) const {
    return specverify::qs_round_time(action.draft_length, action.resolution, vocab_size, times, state);
  }
};

//! Returns a link that stays in one of the two states: low (0) or high (1).
[[nodiscard]] inline specverify::markov_options held_link(specverify::markov_options link, std::uint32_t state) {
  link.start = state == 0 ? specverify::markov_start::low : specverify::markov_start::high;
  link.low_to_high = link.high_to_low = 0;
  return link;
}

//! The state of one player's run: link, texts, observations. Two runs with the same seed get the same link.
class qs_run {
 public:
  qs_run(const qs_setting& setting, std::span<const qs_text> texts, std::uint64_t seed)
      : setting_(setting),
        texts_(texts),
        link_(made(setting.link)),
        source_{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}} {
    for (const qs_text& text : texts) pool_.insert(pool_.end(), text.begin(), text.end());
    state_ = link_.state(source_, 0, {});
    show_link();
  }

  [[nodiscard]] const specverify::observation& seen() const { return seen_; }
  [[nodiscard]] const specverify::channel_state& state() const { return state_; }

  struct outcome {
    std::uint32_t tokens = 0;
    double expected_tokens = 0;  //!< expected number of tokens, given each position's acceptance probability
    double seconds = 0;
    bool text_ends = false;
  };

  //! Plays one round. Near the end of a text it makes fewer drafts than the action allows, as a session would.
  outcome play(specverify::window_action action) {
    const std::size_t left = setting_.prefix_free ? setting_.episode_tokens : texts_[text_].size() - at_;
    if (!setting_.prefix_free)
      action.draft_length = std::max(1u, std::min(action.draft_length, static_cast<std::uint32_t>(left) - 1));
    outcome made;
    made.seconds = setting_.seconds(action, state_);
    const std::size_t k = resolution_index(action.resolution);
    std::array<double, 12> chance{};
    std::uint32_t accepted = 0;
    for (std::uint32_t i = 0; i < action.draft_length; ++i) {
      const qs_position& here = setting_.prefix_free ? drawn_position() : texts_[text_][at_ + i];
      chance[i] = here.acceptance[k];
      if (accepted == i && uniform() < chance[i]) {
        accepted += 1;
        specverify::record_accepted(seen_, here.probability);
      }
    }
    made.tokens = std::min(accepted + 1, static_cast<std::uint32_t>(left));
    made.expected_tokens = specverify::expected_tokens(std::span<const double>(chance).first(action.draft_length));
    at_ += made.tokens;
    made.text_ends = !setting_.prefix_free && at_ >= texts_[text_].size();
    specverify::record_round(seen_, action.draft_length, accepted, made.tokens, 0, action.resolution);
    state_ = link_.state(source_, ++step_, state_);
    show_link();
    return made;
  }
  //! Begins the next text. The probabilities of accepted drafts are forgotten, but the mean acceptance is kept.
  void next_text() {
    text_ = (text_ + 1) % texts_.size();
    at_ = 0;
    seen_.accepted_probability = {};
  }
  void restart_link() { state_ = link_.state(source_, 0, {}), show_link(); }

 private:
  static specverify::markov_channel made(const specverify::markov_options& options) {
    auto channel = specverify::markov_channel::make(options);
    if (!channel.ok()) throw std::runtime_error(specverify::message(channel.error().code));
    return channel.value();
  }
  double uniform() { return specverify::decision_uniform(source_({draws_++, 0, 1, specverify::purpose::training, 4})); }
  const qs_position& drawn_position() {
    return pool_[std::min(pool_.size() - 1, static_cast<std::size_t>(uniform() * static_cast<double>(pool_.size())))];
  }
  void show_link() {
    seen_.uplink_rate = static_cast<float>(state_.uplink_rate);
    seen_.uplink_state = state_.index;
  }

  const qs_setting& setting_;
  std::span<const qs_text> texts_;
  std::vector<qs_position> pool_;
  specverify::markov_channel link_;
  specverify::philox source_;
  specverify::channel_state state_{};
  specverify::observation seen_{};
  std::uint32_t step_ = 0, draws_ = 0;
  std::size_t text_ = 0, at_ = 0;
};

//! Returns the mean acceptance of a draft for each of `qs_resolutions`.
[[nodiscard]] inline std::array<double, 3> mean_acceptance(std::span<const qs_text> texts) {
  std::array<double, 3> sum{};
  double count = 0;
  for (const qs_text& text : texts) {
    for (const qs_position& here : text) {
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += here.acceptance[k];
      count += 1;
    }
  }
  for (double& s : sum) s /= count;
  return sum;
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
    return specverify::features_of(run_.seen());
  }
  specverify::dqn_step step(std::uint32_t action) {
    const qs_run::outcome round = run_.play(grid_[action]);
    tokens_ += round.tokens;
    seconds_ += round.seconds;
    specverify::dqn_step made;
    made.last = round.text_ends || tokens_ >= setting_.episode_tokens;
    const specverify::window_action& a = grid_[action];
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
    made.next = specverify::features_of(run_.seen());
    return made;
  }
  double evaluate(const specverify::dqn_weights& weights);

 private:
  qs_setting setting_;
  std::span<const qs_text> texts_;
  qs_run run_;
  std::array<double, 3> acceptance_;
  specverify::action_grid grid_ = specverify::paper_action_grid();
  std::vector<float> earned_;
  std::uint64_t seed_;
  double seconds_ = 0;
  std::uint32_t tokens_ = 0;
  bool shuffled_;
};

//! Returns the long-run tokens per second in the prefix-free world if `choose(observation)` plays `rounds` rounds.
//! Expected tokens replace drawn tokens, which is exact in this world, so only the link's states are random.
template <class Choose>
[[nodiscard]] double prefix_free_throughput(const qs_setting& setting, std::span<const qs_text> texts,
                                            std::uint32_t rounds, std::uint64_t seed, Choose choose) {
  const std::array<double, 3> acceptance = mean_acceptance(texts);
  qs_run run(setting, texts, seed);
  double tokens = 0, seconds = 0;
  for (std::uint32_t r = 0; r < rounds; ++r) {
    const specverify::window_action action = choose(run.seen());
    tokens += specverify::expected_tokens(acceptance[resolution_index(action.resolution)], action.draft_length);
    seconds += run.play(action).seconds;
  }
  return tokens / seconds;
}

//! Tokens and seconds of every text after `choose(observation)` has played all texts `passes` times.
struct qs_played {
  std::vector<double> tokens, seconds;
  [[nodiscard]] double throughput() const { return mean_of(tokens) / mean_of(seconds); }
};
template <class Choose>
[[nodiscard]] qs_played replayed_texts(const qs_setting& setting, std::span<const qs_text> texts, std::uint32_t passes,
                                       std::uint64_t seed, Choose choose) {
  qs_played made{std::vector<double>(texts.size(), 0.0), std::vector<double>(texts.size(), 0.0)};
  qs_run run(setting, texts, seed);
  for (std::size_t i = 0; i < passes * texts.size(); ++i) {
    for (bool ends = false; !ends;) {
      const qs_run::outcome round = run.play(choose(run.seen()));
      made.tokens[i % texts.size()] += round.tokens;
      made.seconds[i % texts.size()] += round.seconds;
      ends = round.text_ends;
    }
    run.next_text();
  }
  return made;
}

inline double qs_environment::evaluate(const specverify::dqn_weights& weights) {
  const auto choose = [&](const specverify::observation& seen) {
    return grid_[specverify::dqn_best(specverify::dqn_evaluate(weights, specverify::features_of(seen)))];
  };
  return setting_.prefix_free ? prefix_free_throughput(setting_, texts_, 400, seed_ + 1, choose)
                              : replayed_texts(setting_, texts_, 1, seed_ + 1, choose).throughput();
}

//! The best action for each state of the link, found by trying all pairs.
struct qs_optimum {
  specverify::window_action low{}, high{};
  double throughput = 0;
};
[[nodiscard]] inline qs_optimum best_by_state(const qs_setting& setting, const std::array<double, 3>& acceptance,
                                              double share_low, std::span<const specverify::window_action> actions,
                                              bool same = false) {
  qs_optimum best;
  const auto tokens = [&](const specverify::window_action& a) {
    return specverify::expected_tokens(acceptance[resolution_index(a.resolution)], a.draft_length);
  };
  for (const specverify::window_action& low : actions) {
    for (const specverify::window_action& high : actions) {
      if (same && !(low == high)) continue;
      const double gain = share_low * tokens(low) + (1 - share_low) * tokens(high);
      const double time = share_low * setting.seconds(low, setting.link.low) +
                          (1 - share_low) * setting.seconds(high, setting.link.high);
      if (gain / time > best.throughput) best = {low, high, gain / time};
    }
  }
  return best;
}

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

//! Compute figures; the definitions are in qs_policies.cpp and qs_network.cpp.
void run_qs_speed(lab_context& context, figure& f);
void run_qs_regret(lab_context& context, figure& f);
void run_qs_network(lab_context& context, figure& f);

}  // namespace lab

#endif
