// SPDX-License-Identifier: Apache-2.0
// Computes the study for WISV's figures: heads, thresholds, and results on the test problems.
#include "wisv_study.hpp"

namespace lab {

const mismatch_set& wisv_study::mismatches() {
  if (!mismatches_) mismatches_ = collect_mismatches(context_, training_problems());
  return *mismatches_;
}

std::vector<trained_head>& wisv_study::heads() {
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

const std::array<wisv_study::tuning, wisv_study::head_count>& wisv_study::tunings() {
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
    greedy[i] = score(context_, models, problems[i], {});
    for (std::size_t h = 0; h < head_count; ++h) {
      for (std::size_t t = 0; t < candidate_thresholds.size(); ++t) {
        for (const std::size_t link : {0u, 1u})
          made[h][t][link][i] = score(context_, models, problems[i],
                                      on_link(h, candidate_thresholds[t], grid_links()[link == 0 ? poor : good]));
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

const wisv_study::test_results& wisv_study::tests() {
  if (tests_) return *tests_;
  (void)tunings();
  const std::vector<lab_problem> problems = context_.problems("test", test_problems());
  tests_.emplace();
  test_results& out = *tests_;
  out.problems = problems.size();
  const auto room = [&](auto& sets) { sets.fill(scored_set(problems.size())); };
  room(out.greedy), room(out.by_protocol), room(out.by_split);
  for (auto& sets : out.semantic) room(sets);
  for (auto& sets : out.by_threshold) room(sets);
  for (auto& sets : out.by_head) room(sets);
  for (auto& of_length : out.by_length) {
    for (auto& sets : of_length) room(sets);
  }
  out.forced.resize(problems.size());
  context_.for_each(problems.size(), [&](lab_worker&, std::size_t i) {
    problem_models models(context_.pair());
    write_tests(models, problems[i], i);
  });
  return out;
}

//! Writes test problem `i` under every setting of the study.
void wisv_study::write_tests(problem_models& models, const lab_problem& problem, std::size_t i) {
  test_results& out = *tests_;
  const auto& tuned = *tunings_;
  const auto links = grid_links();
  const double threshold = tuned[full_head].chosen;
  const auto write = [&](const semantic_settings& settings) { return score(context_, models, problem, settings); };
  for (std::size_t l = 0; l < window_lengths.size(); ++l) {
    semantic_settings settings;
    settings.draft_length = window_lengths[l];
    out.greedy[l][i] = write(settings);
    for (std::size_t link = 0; link < links.size(); ++link) {
      settings = on_link(full_head, threshold, links[link]);
      settings.draft_length = window_lengths[l];
      out.semantic[l][link][i] = write(settings);
    }
    for (const std::size_t link : {0u, 1u}) {
      const std::size_t place = link == 0 ? poor : good;
      out.by_length[l][full_head][link][i] = out.semantic[l][place][i];
      for (std::size_t h = full_head + 1; h < ablated; ++h) {
        settings = on_link(h, tuned[h].chosen, links[place]);
        settings.draft_length = window_lengths[l];
        out.by_length[l][h][link][i] = write(settings);
      }
    }
  }
  for (const std::size_t link : {0u, 1u}) {
    const specverify::channel_state& state = links[link == 0 ? poor : good];
    for (std::size_t t = 0; t < shown_thresholds.size(); ++t)
      out.by_threshold[t][link][i] = write(on_link(full_head, shown_thresholds[t], state));
    for (std::size_t h = 0; h < head_count; ++h) out.by_head[h][link][i] = write(on_link(h, tuned[h].chosen, state));
    semantic_settings split = on_link(narrow_head, tuned[narrow_head].chosen, state);
    split.split = true;
    out.by_split[link][i] = write(split);
  }
  for (const auto protocol :
       {specverify::hidden_protocol::full, specverify::hidden_protocol::selective, specverify::hidden_protocol::lazy}) {
    semantic_settings settings = on_link(full_head, threshold, links[good]);
    settings.protocol = protocol;
    settings.channel = changing_link(i);
    out.by_protocol[static_cast<std::size_t>(protocol)][i] = write(settings);
  }
  out.forced[i] = force(models, problem, threshold, tuned[narrow_head].chosen);
}

std::function<specverify::channel_state(std::uint32_t)> wisv_study::changing_link(std::size_t problem) const {
  specverify::markov_options options;
  options.low = grid_links()[poor], options.high = grid_links()[good];
  options.low_to_high = options.high_to_low = 0.5;
  options.start = specverify::markov_start::stationary;
  options.stream = static_cast<std::uint32_t>(problem);
  const auto channel = specverify::markov_channel::make(options);
  if (!channel.ok()) demand(channel.error(), "markov_channel");
  return drawn_from(channel.value(), context_.seed("wisv_link"));
}

semantic_settings wisv_study::on_link(std::size_t head, double threshold, const specverify::channel_state& link) const {
  semantic_settings made;
  made.draft_length = main_length;
  made.head = &views_[head];
  made.threshold = threshold;
  made.channel = [link](std::uint32_t) { return link; };
  return made;
}

forced_problem wisv_study::force(problem_models& models, const lab_problem& problem, double threshold,
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

//! Compares three scores of one mismatch by the narrow head: the whole head on the drafter's exact state, the whole
//! head on the state in half precision (`half`), as a message contains it, and the split head, whose part is sent as
//! int8.
void wisv_study::compare_split(const problem_models& models, std::uint32_t i, std::span<const float> half,
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

}  // namespace lab
