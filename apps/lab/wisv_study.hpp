// SPDX-License-Identifier: Apache-2.0
//! Runs the study for WISV's figures once per run: mismatches, heads, thresholds chosen on the tuning problems, and
//! results on the test problems.
#ifndef SPECVERIFY_APPS_LAB_WISV_STUDY_HPP
#define SPECVERIFY_APPS_LAB_WISV_STUDY_HPP

#include "wisv_heads.hpp"
#include "wisv_rounds.hpp"

#include "measure.hpp"
#include "virtual_run.hpp"

#include <array>

namespace lab {

inline constexpr std::array<std::uint32_t, 5> window_lengths{10, 16, 24, 32, 64};
inline constexpr std::uint32_t main_length = 32;
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
    //! [length][link], with the chosen threshold, SH
    std::array<std::array<scored_set, 4>, window_lengths.size()> semantic;
    //! [threshold][poor, good], with main_length
    std::array<std::array<scored_set, 2>, shown_thresholds.size()> by_threshold;
    //! [head][poor, good], each with the head's threshold
    std::array<std::array<scored_set, 2>, head_count> by_head;
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

  const mismatch_set& mismatches() {
    if (!mismatches_) mismatches_ = collect_mismatches(context_, training_problems());
    return *mismatches_;
  }

  std::vector<trained_head>& heads() {
    if (!heads_.empty()) return heads_;
    const mismatch_set& set = mismatches();
    std::vector<head_plan> plans(head_count);
    plans[full_head].name = "WISV";
    plans[no_channel].name = "without CSI", plans[no_channel].use_channel = false;
    plans[no_relabelling].name = "without relabelling", plans[no_relabelling].relabelled = false;
    plans[narrow_head].name = "WISV, width 16", plans[narrow_head].width = 16;
    for (head_plan& plan : plans) plan.seed = context_.seed("wisv_head");
    std::vector<std::optional<trained_head>> made(plans.size());
    context_.for_each(plans.size(), [&](lab_worker&, std::size_t i) { made[i] = train_head(set, plans[i]); });
    for (auto& head : made) heads_.push_back(std::move(*head));
    for (const trained_head& head : heads_) views_.push_back(head.head.view());
    return heads_;
  }

  //! Chooses, for each head, the largest candidate whose accuracy on the tuning problems is within `accepted_loss` of
  //! greedy on the good and the poor link, or the smallest candidate if there is none. It runs before any test problem
  //! is read, so the choice cannot depend on the test problems. The thresholds are stored in the heads, and the heads
  //! are written to the output folder.
  const std::array<tuning, head_count>& tunings() {
    if (tunings_) return *tunings_;
    std::vector<trained_head>& trained = heads();
    const std::vector<lab_problem> problems = context_.problems("tune", tuning_problems());
    scored_set greedy(problems.size());
    std::array<std::array<std::array<scored_set, 2>, candidate_thresholds.size()>, head_count> made;
    for (auto& of_head : made) {
      for (auto& of_threshold : of_head) of_threshold.fill(scored_set(problems.size()));
    }
    context_.for_each(problems.size(), [&](lab_worker&, std::size_t i) {
      problem_models models(context_.pair());
      greedy[i] = score(models, problems[i], {});
      for (std::size_t h = 0; h < head_count; ++h) {
        for (std::size_t t = 0; t < candidate_thresholds.size(); ++t) {
          for (const std::size_t link : {0u, 1u})
            made[h][t][link][i] =
                score(models, problems[i], on_link(h, candidate_thresholds[t], link == 0 ? poor : good));
        }
      }
    });
    tunings_.emplace();
    for (std::size_t h = 0; h < head_count; ++h) {
      tuning& out = (*tunings_)[h];
      out.greedy = accuracy_of(greedy);
      out.chosen = candidate_thresholds[0];
      for (std::size_t t = 0; t < candidate_thresholds.size(); ++t) {
        bool kept = true;
        for (const std::size_t link : {0u, 1u}) {
          out.accuracy[t][link] = accuracy_of(made[h][t][link]);
          out.length[t][link] = tokens_per_round(made[h][t][link]);
          kept = kept && out.accuracy[t][link] >= out.greedy - accepted_loss - 1e-12;
        }
        if (kept) out.chosen = candidate_thresholds[t], out.found = true;
      }
      demand(trained[h].head.set_threshold(out.chosen), "set_threshold");
      static constexpr std::array<const char*, head_count> names{"wisv_head", "wisv_head_without_csi",
                                                                 "wisv_head_without_relabelling", "wisv_head_narrow"};
      save_head(context_, trained[h], std::string(names[h]) + ".safetensors");
    }
    return *tunings_;
  }

  const test_results& tests() {
    if (tests_) return *tests_;
    const auto& tuned = tunings();
    const std::vector<lab_problem> problems = context_.problems("test", test_problems());
    tests_.emplace();
    test_results& out = *tests_;
    out.problems = problems.size();
    const auto room = [&](auto& sets) { sets.fill(scored_set(problems.size())); };
    room(out.greedy), room(out.by_protocol), room(out.by_split);
    for (auto& sets : out.semantic) room(sets);
    for (auto& sets : out.by_threshold) room(sets);
    for (auto& sets : out.by_head) room(sets);
    out.forced.resize(problems.size());
    context_.for_each(problems.size(), [&](lab_worker&, std::size_t i) {
      problem_models models(context_.pair());
      const double threshold = tuned[full_head].chosen;
      for (std::size_t l = 0; l < window_lengths.size(); ++l) {
        semantic_settings plain;
        plain.draft_length = window_lengths[l];
        out.greedy[l][i] = score(models, problems[i], plain);
        for (std::size_t link = 0; link < 4; ++link) {
          semantic_settings settings = on_link(full_head, threshold, link);
          settings.draft_length = window_lengths[l];
          out.semantic[l][link][i] = score(models, problems[i], settings);
        }
      }
      for (const std::size_t link : {0u, 1u}) {
        const std::size_t place = link == 0 ? poor : good;
        for (std::size_t t = 0; t < shown_thresholds.size(); ++t)
          out.by_threshold[t][link][i] = score(models, problems[i], on_link(full_head, shown_thresholds[t], place));
        for (std::size_t h = 0; h < head_count; ++h)
          out.by_head[h][link][i] = score(models, problems[i], on_link(h, tuned[h].chosen, place));
        semantic_settings split = on_link(narrow_head, tuned[narrow_head].chosen, place);
        split.split = true;
        out.by_split[link][i] = score(models, problems[i], split);
      }
      for (const auto protocol : {specverify::hidden_protocol::full, specverify::hidden_protocol::selective,
                                  specverify::hidden_protocol::lazy}) {
        semantic_settings settings = on_link(full_head, threshold, good);
        settings.protocol = protocol;
        settings.channel = changing_link(i);
        out.by_protocol[static_cast<std::size_t>(protocol)][i] = score(models, problems[i], settings);
      }
      out.forced[i] = force(models, problems[i], threshold, tuned[narrow_head].chosen);
    });
    return out;
  }

  [[nodiscard]] const specverify::head_weights& weights(head_name head) const { return views_[head]; }

  //! Returns the link of one problem: two states, equal for every protocol.
  [[nodiscard]] std::function<specverify::channel_state(std::uint32_t)> changing_link(std::size_t problem) const {
    specverify::markov_options options;
    options.low = grid_links()[poor], options.high = grid_links()[good];
    options.low_to_high = options.high_to_low = 0.5;
    options.start = specverify::markov_start::stationary;
    options.stream = static_cast<std::uint32_t>(problem);
    const auto channel = specverify::markov_channel::make(options);
    if (!channel.ok()) demand(channel.error(), "markov_channel");
    return drawn_from(channel.value(), context_.seed("wisv_link"));
  }

 private:
  [[nodiscard]] semantic_settings on_link(std::size_t head, double threshold, std::size_t link) {
    semantic_settings made;
    made.draft_length = main_length;
    made.head = &views_[head];
    made.threshold = threshold;
    made.channel = [state = grid_links()[link]](std::uint32_t) { return state; };
    return made;
  }

  [[nodiscard]] scored_problem score(problem_models& models, const lab_problem& problem,
                                     const semantic_settings& settings) const {
    semantic_text text =
        write_semantically(models.drafter, models.target, problem.prompt, tinylm::tokenizer::end_token, settings);
    checksum sum;
    sum.add(text.continuation.data(), text.continuation.size() * sizeof(token_id));
    return {context_.solves(problem, text.continuation), std::move(text.rounds), sum.value()};
  }

  [[nodiscard]] forced_problem force(problem_models& models, const lab_problem& problem, double threshold,
                                     double narrow_threshold) const {
    const semantic_text text =
        write_semantically(models.drafter, models.target, problem.prompt, tinylm::tokenizer::end_token, {});
    std::vector<token_id> whole = problem.prompt;
    whole.insert(whole.end(), text.continuation.begin(), text.continuation.end());
    const auto rows = static_cast<std::uint32_t>(text.continuation.size() + 1);
    models.drafter.rollback(0), models.target.rollback(0);
    models.drafter.feed(whole, rows), models.target.feed(whole, rows);
    const specverify::head_weights& head = views_[full_head];
    forced_problem made;
    for (std::uint32_t i = 0; i < rows; ++i) {
      if (argmax_of(models.drafter.logits(i)) == argmax_of(models.target.logits(i))) continue;
      made.mismatches += 1;
      std::vector<float> state;
      detail::travel(models.drafter.hidden(i), state);
      for (const std::size_t link : {0u, 1u}) {
        const specverify::channel_vector c = detail::reported(grid_links()[link == 0 ? poor : good]);
        const double rho =
            demand(specverify::head_score(head, specverify::drafter_input::hidden_state, state, models.target.hidden(i),
                                          specverify::standardise(c, head.channel)),
                   "head_score");
        made.accepted[link] += rho < threshold ? 1 : 0;
        compare_split(models, i, state, c, narrow_threshold, made);
      }
    }
    return made;
  }

  //! Compares the narrow head, whole and split, on one mismatch. `half` is the drafter's state as it is sent for the
  //! whole head.
  void compare_split(const problem_models& models, std::uint32_t i, std::span<const float> half,
                     const specverify::channel_vector& report, double threshold, forced_problem& made) const {
    const specverify::head_weights& head = views_[narrow_head];
    const specverify::channel_vector c = specverify::standardise(report, head.channel);
    const std::vector<float> part = detail::part_of(head, models.drafter.hidden(i));
    std::vector<float> received;
    detail::travel(part, received, specverify::hidden_format::int8);
    const auto logit = [&](specverify::drafter_input given, std::span<const float> from) {
      return demand(specverify::head_logit(head, given, from, models.target.hidden(i), c), "head_logit");
    };
    const double whole = logit(specverify::drafter_input::hidden_state, models.drafter.hidden(i)),
                 halved = logit(specverify::drafter_input::hidden_state, half),
                 split = logit(specverify::drafter_input::device_part, received),
                 bound = specverify::part_bound(head, part, specverify::hidden_format::int8);
    const auto accepts = [&](double g) { return specverify::sigmoid(g) < threshold; };
    made.split_differs += accepts(split) != accepts(whole) ? 1 : 0;
    made.half_differs += accepts(halved) != accepts(whole) ? 1 : 0;
    made.apart = std::max(made.apart, std::fabs(split - whole));
    made.of_bound = std::max(made.of_bound, std::fabs(split - whole) / bound);
    made.largest_bound = std::max(made.largest_bound, bound);
  }

  lab_context& context_;
  std::optional<mismatch_set> mismatches_;
  std::vector<trained_head> heads_;
  std::vector<specverify::head_weights> views_;
  std::optional<std::array<tuning, head_count>> tunings_;
  std::optional<test_results> tests_;
};

}  // namespace lab

#endif
