// SPDX-License-Identifier: Apache-2.0
//! Trains decision heads from labelled mismatches: labels for random channels, training, and two ablations.
#ifndef SPECVERIFY_APPS_LAB_WISV_HEADS_HPP
#define SPECVERIFY_APPS_LAB_WISV_HEADS_HPP

#include <specverify/decision_head/relabel.hpp>
#include <specverify/decision_head/trainer.hpp>
#include <specverify/link/channel.hpp>

#include "wisv_traces.hpp"

namespace lab {

//! Channels for training. Rates and losses are drawn log-uniformly and the round trip uniformly. Uplink and downlink
//! get the same rate and the same loss.
struct channel_range {
  double lowest_rate = 10e6, highest_rate = 500e6;  // bit/s
  double lowest_loss = 1e-4, highest_loss = 1e-1;
  double shortest_trip = 5e-3, longest_trip = 50e-3;  // s
};

[[nodiscard]] inline specverify::channel_state draw_channel(const channel_range& range,
                                                            const specverify::philox& source, std::uint32_t episode,
                                                            std::uint32_t draw) {
  const auto uniform = [&](std::uint32_t lane) {
    return specverify::decision_uniform(source({episode, draw, lane, specverify::purpose::training, 0}));
  };
  const auto between = [](double low, double high, double at) { return low * std::pow(high / low, at); };
  specverify::channel_state made;
  made.uplink_rate = made.downlink_rate = between(range.lowest_rate, range.highest_rate, uniform(0));
  made.uplink_loss = made.downlink_loss = between(range.lowest_loss, range.highest_loss, uniform(1));
  made.round_trip = range.shortest_trip + (range.longest_trip - range.shortest_trip) * uniform(2);
  return made;
}

//! Settings with which a head is trained.
struct head_plan {
  std::string name;
  bool relabelled = true;   //!< false: every channel gets the labels of the search
  bool use_channel = true;  //!< false: the head does not see the channel
  std::uint32_t draws = 4;  //!< channels per episode
  std::uint32_t epochs = 10;
  double late_rate = 0.3;  //!< learning rate in the second half of the epochs
  std::uint32_t width = 256;
  std::uint64_t seed = 1;
};

struct labelled_samples {
  std::vector<std::uint32_t> state;
  std::vector<specverify::channel_vector> channel;
  std::vector<std::uint8_t> labels;

  [[nodiscard]] double rate() const {
    return static_cast<double>(std::count(labels.begin(), labels.end(), std::uint8_t{1})) /
           static_cast<double>(std::max<std::size_t>(1, labels.size()));
  }
};

//! The mismatches of one episode, first to last - 1 of the set, with smoothed scores.
struct smoothed_episode {
  smoothed_episode(const mismatch_set& set, std::size_t begin, const specverify::relabel_options& how)
      : first(begin),
        last(set.episode_end(begin)),
        number(set.episode[begin]),
        positions(std::span(set.position).subspan(first, last - first)),
        important(std::span(set.important).subspan(first, last - first)),
        options(how),
        scores(last - first) {
    demand(specverify::smooth(positions, important, options, scores), "smooth");
  }
  //! Returns the labels for a link of this quality.
  [[nodiscard]] std::vector<std::uint8_t> relabelled(double quality, const specverify::philox& source) const {
    std::vector<std::uint8_t> labels(scores.size());
    demand(specverify::relabel({positions, important, scores, number}, quality, source, options, labels), "relabel");
    return labels;
  }

  std::size_t first, last;
  std::uint32_t number;
  std::span<const std::uint32_t> positions;
  std::span<const std::uint8_t> important;
  specverify::relabel_options options;
  std::vector<double> scores;
};

//! Labels mismatches. Plans with equal seeds get equal channels, so the heads differ only by the plan.
[[nodiscard]] inline labelled_samples label_mismatches(const mismatch_set& set, const head_plan& plan) {
  const specverify::philox source{
      {{static_cast<std::uint32_t>(plan.seed), static_cast<std::uint32_t>(plan.seed >> 32)}}};
  const specverify::relabel_options options;
  labelled_samples made;
  for (std::size_t first = 0; first < set.size();) {
    const smoothed_episode episode(set, first, options);
    for (std::uint32_t draw = 0; draw < plan.draws; ++draw) {
      const specverify::channel_state link = draw_channel({}, source, episode.number, draw);
      const double quality =
          plan.relabelled ? specverify::link_quality(link.uplink_rate, link.uplink_loss, options) : 1.0;
      const std::vector<std::uint8_t> labels = episode.relabelled(quality, source);
      const auto c = demand(specverify::channel_features(link), "channel_features");
      for (std::size_t j = first; j < episode.last; ++j) made.state.push_back(static_cast<std::uint32_t>(j));
      made.channel.insert(made.channel.end(), labels.size(), c);
      made.labels.insert(made.labels.end(), labels.begin(), labels.end());
    }
    first = episode.last;
  }
  return made;
}

struct trained_head {
  head_plan plan;
  specverify::decision_head head;
  std::vector<specverify::epoch_report> epochs;
  double label_rate = 0;
  std::size_t samples = 0;
};

[[nodiscard]] inline trained_head train_head(const mismatch_set& set, const head_plan& plan) {
  const labelled_samples samples = label_mismatches(set, plan);
  specverify::training_options options;
  options.width = plan.width;
  options.epochs = plan.epochs;
  options.late_rate = plan.late_rate;
  options.use_channel = plan.use_channel;
  options.seed = plan.seed;
  auto trainer = specverify::head_trainer::make(
      options, {specverify::hidden_mode::predicting, set.drafter_size, set.target_size, set.drafter_states,
                set.target_states, set.episode, samples.state, samples.channel, samples.labels});
  if (!trainer.ok()) demand(trainer.error(), "head_trainer");
  std::vector<specverify::epoch_report> epochs;
  while (!trainer.value().finished()) epochs.push_back(trainer.value().run_epoch());
  auto head = trainer.value().head();
  if (!head.ok()) demand(head.error(), "trained head");
  return {plan, std::move(head).value(), std::move(epochs), samples.rate(), samples.state.size()};
}

//! Writes the head and the threshold to a file.
inline void save_head(const lab_context& context, const trained_head& trained, const std::string& name) {
  std::vector<std::byte> bytes(specverify::head_file_size(trained.head.view()));
  demand(specverify::write_head(trained.head.view(), bytes), "write_head");
  context.write(name, bytes);
}

}  // namespace lab

#endif
