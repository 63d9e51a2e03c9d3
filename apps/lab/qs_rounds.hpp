// SPDX-License-Identifier: Apache-2.0
//! Models QS as a game of rounds: texts of the bundled pair with the acceptance of every position, a link, and the
//! reward of an action (L, l), where L is the number of drafts and l is the resolution.
//!
//! There are two worlds. In the prefix-free world each drafted position is drawn from all recorded positions. A round's
//! outcome then depends only on (L, l) and the link's state, so the best policy can be found by trying all. In the
//! replayed world positions follow a recorded text, and an accepted draft is assumed to be the text's own token.
#ifndef SPECVERIFY_APPS_LAB_QS_ROUNDS_HPP
#define SPECVERIFY_APPS_LAB_QS_ROUNDS_HPP

#include <specverify/link/channel.hpp>
#include <specverify/link/latency.hpp>
#include <specverify/policy/observation.hpp>
#include <specverify/policy/resolution.hpp>
#include <specverify/verify/expected_length.hpp>

#include "qs_texts.hpp"

namespace lab {

//! Cost of a round and behaviour of the link. The papers give no computing times; these are for a small and a large OPT
//! on one GPU.
struct qs_setting {
  specverify::markov_options link = specverify::qs_paper_link();
  specverify::round_times times{8e-3, 45e-3};
  std::uint32_t vocab_size = 50272;  //!< vocabulary size of the paper, for the charged bits
  std::uint32_t episode_tokens = 52;
  bool prefix_free = true;
  bool final_bonus = false;   //!< the last round also earns the episode's throughput, as in the authors' code
  bool sample_first = false;  //!< S-Q: drafts are drawn before quantization, which leaves the target's distribution
  specverify::action_grid grid = specverify::paper_action_grid();  //!< actions of a network, 22
  bool sees_text = true;  //!< whether a network sees the drafter's probabilities (the semantic state)

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
    if (setting.prefix_free) {
      for (const qs_text& text : texts) pool_.insert(pool_.end(), text.begin(), text.end());
    }
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
      chance[i] = setting_.sample_first ? here.sampled_first[k] : here.acceptance[k];
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

//! Returns the long-run tokens per second in the prefix-free world if `choose(observation)` plays `rounds` rounds.
//! Expected tokens replace drawn tokens, which is exact in this world, so only the link's states are random.
template <class Choose>
[[nodiscard]] double prefix_free_throughput(const qs_setting& setting, std::span<const qs_text> texts,
                                            std::uint32_t rounds, std::uint64_t seed, Choose choose) {
  const qs_acceptance acceptance = mean_acceptance(texts);
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

//! The best action for each state of the link, found by trying all pairs.
struct qs_optimum {
  specverify::window_action low{}, high{};
  double throughput = 0;
};
[[nodiscard]] inline qs_optimum best_by_state(const qs_setting& setting, const qs_acceptance& acceptance,
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

}  // namespace lab

#endif
