// SPDX-License-Identifier: Apache-2.0
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
  judged_set greedy(problems.size());
  std::array<std::array<std::array<judged_set, 2>, candidate_thresholds.size()>, head_count> made;
  for (auto& of_head : made) {
    for (auto& of_threshold : of_head) of_threshold.fill(judged_set(problems.size()));
  }
  context_.for_each(problems.size(), [&](lab_worker&, std::size_t i) {
    problem_models models(context_.pair());
    greedy[i] = judge(models, problems[i], {});
    for (std::size_t h = 0; h < head_count; ++h) {
      for (std::size_t t = 0; t < candidate_thresholds.size(); ++t) {
        for (const std::size_t link : {0u, 1u}) made[h][t][link][i] = judge(models, problems[i], on_link(h, candidate_thresholds[t], link == 0 ? poor : good));
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
    detail::expect_ok(trained[h].head.set_threshold(out.chosen), "set_threshold");
    static constexpr std::array<const char*, head_count> names{"wisv_head", "wisv_head_without_csi", "wisv_head_without_relabelling"};
    save_head(context_, trained[h], std::string(names[h]) + ".safetensors");
  }
  return *tunings_;
}

const wisv_study::test_results& wisv_study::tests() {
  if (tests_) return *tests_;
  const auto& tuned = tunings();
  const std::vector<lab_problem> problems = context_.problems("test", test_problems());
  tests_.emplace();
  test_results& out = *tests_;
  out.problems = problems.size();
  const auto room = [&](auto& sets) { sets.fill(judged_set(problems.size())); };
  room(out.greedy), room(out.by_protocol);
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
      out.greedy[l][i] = judge(models, problems[i], plain);
      for (std::size_t link = 0; link < 4; ++link) {
        semantic_settings settings = on_link(full_head, threshold, link);
        settings.draft_length = window_lengths[l];
        out.semantic[l][link][i] = judge(models, problems[i], settings);
      }
    }
    for (const std::size_t link : {0u, 1u}) {
      const std::size_t place = link == 0 ? poor : good;
      for (std::size_t t = 0; t < shown_thresholds.size(); ++t)
        out.by_threshold[t][link][i] = judge(models, problems[i], on_link(full_head, shown_thresholds[t], place));
      for (std::size_t h = 0; h < head_count; ++h) out.by_head[h][link][i] = judge(models, problems[i], on_link(h, tuned[h].chosen, place));
    }
    for (const auto protocol : {specverify::hidden_protocol::full, specverify::hidden_protocol::selective, specverify::hidden_protocol::lazy}) {
      semantic_settings settings = on_link(full_head, threshold, good);
      settings.protocol = protocol;
      settings.channel = changing_link(i);
      out.by_protocol[static_cast<std::size_t>(protocol)][i] = judge(models, problems[i], settings);
    }
    out.forced[i] = force(models, problems[i], threshold);
  });
  return out;
}

std::function<specverify::channel_state(std::uint32_t)> wisv_study::changing_link(std::size_t problem) const {
  specverify::markov_options options;
  options.low = grid_links()[poor], options.high = grid_links()[good];
  options.low_to_high = options.high_to_low = 0.5;
  options.start = specverify::markov_start::stationary;
  options.stream = static_cast<std::uint32_t>(problem);
  const auto channel = specverify::markov_channel::make(options);
  if (!channel.ok()) detail::expect_ok(channel.error(), "markov_channel");
  return drawn_from(channel.value(), context_.seed("wisv_link"));
}

semantic_settings wisv_study::on_link(std::size_t head, double threshold, std::size_t link) {
  semantic_settings made;
  made.draft_length = main_length;
  made.head = &views_[head];
  made.threshold = threshold;
  made.channel = [state = grid_links()[link]](std::uint32_t) { return state; };
  return made;
}

judged_problem wisv_study::judge(problem_models& models, const lab_problem& problem, const semantic_settings& settings) const {
  semantic_text text = write_semantically(models.drafter, models.target, problem.prompt, tinylm::tokenizer::end_token, settings);
  checksum sum;
  sum.add(text.continuation.data(), text.continuation.size() * sizeof(token_id));
  return {context_.solves(problem, text.continuation), std::move(text.rounds), sum.value()};
}

forced_problem wisv_study::force(problem_models& models, const lab_problem& problem, double threshold) const {
  const semantic_text text = write_semantically(models.drafter, models.target, problem.prompt, tinylm::tokenizer::end_token, {});
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
      double rho = 0;
      detail::expect_ok(
          specverify::head_score(head, specverify::drafter_input::hidden_state, state, models.target.hidden(i), specverify::standardise(c, head.channel), rho),
          "head_score");
      made.accepted[link] += rho < threshold ? 1 : 0;
    }
  }
  return made;
}

wisv_study& study_of(lab_context& context) {
  static const lab_context* whose = nullptr;
  static std::unique_ptr<wisv_study> study;
  if (whose != &context || !study) study = std::make_unique<wisv_study>(context);
  whose = &context;
  return *study;
}

}  // namespace lab
