// SPDX-License-Identifier: Apache-2.0
// Computes figures about the lab itself: the time that a trace saves, and whether replayed and live models give equal
// results.
#include "papers.hpp"
#include "virtual_run.hpp"

namespace lab {

namespace {

struct cost {
  double seconds = 0;
  std::uint64_t tokens = 0, bytes = 0, rounds = 0;
  friend bool operator==(const cost& a, const cost& b) {
    return a.tokens == b.tokens && a.bytes == b.bytes && a.rounds == b.rounds;
  }
};

template <class Model>
cost write_all(lab_context& context, const std::vector<lab_problem>& problems, Model& drafter, Model& target) {
  cost sum;
  const auto begin = std::chrono::steady_clock::now();
  context.expect(problems.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    run_options options;
    options.prompt = problems[i].prompt;
    options.session_id = context.seed("trace") + i;
    const run_result made = run_virtually(options, drafter, target, "k-sqs",
                                          {{"support_size", 16}, {"resolution", 100}, {"max_draft_length", 8}});
    sum.tokens += made.tokens.size();
    sum.bytes += made.bytes_up() + made.bytes_down();
    sum.rounds += made.rounds.size();
    context.step();
  }
  sum.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return sum;
}

void run_replay(lab_context& context, figure& f) {
  f.about =
      "The same texts (K-SQS, K=16, l=100, L=8, temperature 1) four times: with live models, with an empty "
      "trace, with the full trace, and again with the rows still in memory. Sessions, codec and draws run "
      "every time; only the models' passes are replayed.";
  const auto problems = context.problems("tune", context.scaled<std::size_t>(200, 20));
  const auto drafter_trace = std::make_shared<model_trace>(context.pair().drafter),
             target_trace = std::make_shared<model_trace>(context.pair().target);
  live_model live_drafter(context.pair().drafter), live_target(context.pair().target);
  const cost live = write_all(context, problems, live_drafter, live_target);
  replayed_model first_drafter(drafter_trace), first_target(target_trace);
  const cost recording = write_all(context, problems, first_drafter, first_target);
  replayed_model drafter(drafter_trace, replay_mode::strict, false, 20000),
      target(target_trace, replay_mode::strict, false, 20000);
  const cost replayed = write_all(context, problems, drafter, target);
  const double replayed_models = drafter.counters().seconds + target.counters().seconds;
  const cost warm = write_all(context, problems, drafter, target);
  const double warm_models = drafter.counters().seconds + target.counters().seconds - replayed_models;
  const double live_models = live_drafter.counters().seconds + live_target.counters().seconds;

  panel& p = f.add_panel("seconds for " + std::to_string(problems.size()) + " texts", "", "s");
  p.x_names = {"live", "recording", "replayed", "rows in memory"};
  curve& all = p.add("in all");
  const double all_seconds[] = {live.seconds, recording.seconds, replayed.seconds, warm.seconds};
  for (std::size_t i = 0; i < 4; ++i) all.add(static_cast<double>(i), all_seconds[i]);
  curve& models = p.add("in the models");
  const double model_seconds[] = {live_models, first_drafter.counters().seconds + first_target.counters().seconds,
                                  replayed_models, warm_models};
  for (std::size_t i = 0; i < 4; ++i) models.add(static_cast<double>(i), model_seconds[i]);
  f.compare(
      "time in the models, live / replayed", "-",
      number(live_models / replayed_models, 3) + " (rows in memory: " + number(live_models / warm_models, 3) + ")",
      "a trace keeps hidden states; the product with the output layer is computed again when a row is first "
      "read");
  f.require("the four runs have the same tokens, bytes and rounds",
            live == recording && live == replayed && live == warm,
            std::to_string(live.tokens) + " tokens, " + std::to_string(live.bytes) + " bytes, " +
                std::to_string(live.rounds) + " rounds");
}

}  // namespace

paper trace_paper() {
  return {"trace",
          "How the lab works: traces",
          "",
          {{"trace_replay", "Replaying the models instead of running them", run_replay, 20, 3}},
          {}};
}

}  // namespace lab
