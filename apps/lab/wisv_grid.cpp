// SPDX-License-Identifier: Apache-2.0
// Computes WISV's accepted length, rounds and latency over links and windows, next to Table I of the paper.
#include "wisv_grid.hpp"

namespace lab {
namespace {

constexpr std::array<const char*, 8> grid_writers{"greedy", "reject",   "FH",           "SH",
                                                  "lazy",   "adaptive", "testbed rule", "target alone"};
constexpr double reject_temperature = 0.5;

//! Rejection sampling at one window: results of the sessions, which do not depend on the link.
struct rejected_runs {
  std::vector<run_result> runs;
  double tokens = 0, rounds = 0;  //!< per round; per answer
};

//! Runs rejection sampling with full distributions in the sessions: half-precision rows up, both models at one
//! temperature.
rejected_runs run_rejection(lab_context& context, std::uint32_t length, std::size_t count) {
  const std::vector<lab_problem> problems = context.problems("test", count);
  rejected_runs made;
  made.runs.resize(count);
  context.for_each(count, [&](lab_worker&, std::size_t i) {
    problem_models models(context.pair());
    run_options options;
    options.prompt = problems[i].prompt;
    options.tokens = static_cast<std::uint32_t>(250 - problems[i].prompt.size());
    options.temperature = reject_temperature;
    options.session_id = context.seed("wisv_reject") + i;
    made.runs[i] = run_virtually(options, models.drafter, models.target, "sd-reject",
                                 {{"max_draft_length", static_cast<double>(length)}});
  });
  for (const run_result& one : made.runs)
    made.tokens += static_cast<double>(one.emitted()), made.rounds += static_cast<double>(one.rounds.size());
  made.tokens /= made.rounds;
  made.rounds /= static_cast<double>(count);
  return made;
}

//! Computes the seconds of one link and window.
grid_cell measure_cell(const wisv_study::test_results& r, const rejected_runs& rejected, std::size_t link,
                       std::size_t window) {
  const semantic_costs costs;
  const specverify::channel_state state = grid_links()[link];
  const std::uint32_t length = window_lengths[window];
  const scored_set &greedy = r.greedy[window], &set = r.semantic[window][link];
  grid_cell made{link, window, {}, {}, {}, {}, 0};
  specverify::protocol_model model;
  model.format = costs.format;
  specverify::mismatch_history history;
  const auto testbed = specverify::round_trip_rule{}.choose(state.round_trip);
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto adaptive = model.choose(length, state, history.of(length));
    made.full_chosen += adaptive == specverify::hidden_protocol::full ? 1 : 0;
    made.greedy_seconds.push_back(costs.greedy(greedy[i].rounds, state));
    made.full_seconds.push_back(costs.semantic(specverify::hidden_protocol::full, set[i].rounds, state));
    made.selective_seconds.push_back(costs.semantic(specverify::hidden_protocol::selective, set[i].rounds, state));
    made.seconds[by_lazy] += costs.semantic(specverify::hidden_protocol::lazy, set[i].rounds, state);
    made.seconds[by_adaptive] += costs.semantic(adaptive, set[i].rounds, state);
    made.seconds[by_testbed] += costs.semantic(testbed, set[i].rounds, state);
    made.seconds[by_none] += costs.alone(emitted_of(greedy[i].rounds), state);
    for (const semantic_round& round : set[i].rounds) history.record(length, round.mismatches, round.scored);
  }
  for (double& value : made.seconds) value /= static_cast<double>(set.size());
  made.full_chosen /= static_cast<double>(set.size());
  made.seconds[by_greedy] = mean_of(made.greedy_seconds);
  made.seconds[by_full] = mean_of(made.full_seconds);
  made.seconds[by_selective] = mean_of(made.selective_seconds);
  for (const run_result& one : rejected.runs) {
    for (const round_entry& round : one.rounds) {
      semantic_round as;
      as.drafted = round.drafted;
      made.seconds[by_reject] += costs.reject(as, state) / static_cast<double>(rejected.runs.size());
    }
  }
  return made;
}

void draw_wisv_grid(const wisv_study::test_results& r, const std::vector<rejected_runs>& rejected,
                    const std::vector<grid_cell>& cells, figure& f) {
  panel& lengths = f.add_panel("tokens per round", "L", "tokens");
  panel& rounds = f.add_panel("rounds an answer", "L", "rounds");
  for (const char* name : {"greedy", "reject"}) lengths.add(name), rounds.add(name);
  for (std::size_t l = 0; l < window_lengths.size(); ++l) {
    lengths.curves[0].add(window_lengths[l], tokens_per_round(r.greedy[l]));
    rounds.curves[0].add(window_lengths[l], mean_of(rounds_of(r.greedy[l])));
    lengths.curves[1].add(window_lengths[l], rejected[l].tokens);
    rounds.curves[1].add(window_lengths[l], rejected[l].rounds);
  }
  for (std::size_t link = 0; link < 4; ++link) {
    curve &of_length = lengths.add(std::string("WISV, ") + detail::link_name(link)),
          &of_rounds = rounds.add(std::string("WISV, ") + detail::link_name(link));
    panel& of_time = f.add_panel("latency, " + std::string(detail::link_name(link)), "L", "s");
    for (const std::size_t k : {by_greedy, by_reject, by_full, by_selective, by_lazy, by_adaptive, by_none})
      of_time.add(grid_writers[k]);
    for (const grid_cell& cell : cells) {
      if (cell.link != link) continue;
      const std::uint32_t length = window_lengths[cell.window];
      of_length.add(length, tokens_per_round(r.semantic[cell.window][link]));
      of_rounds.add(length, mean_of(rounds_of(r.semantic[cell.window][link])));
      std::size_t at = 0;
      for (const std::size_t k : {by_greedy, by_reject, by_full, by_selective, by_lazy, by_adaptive, by_none})
        of_time.curves[at++].add(length, cell.seconds[k]);
    }
  }
}

void list_grid(const wisv_study::test_results& r, const std::vector<rejected_runs>& rejected,
               const std::vector<grid_cell>& cells, figure& f) {
  std::vector<std::string> columns{"link",   "L",   "tokens per round, greedy", "reject", "WISV", "rounds, greedy",
                                   "reject", "WISV"};
  for (const char* name : grid_writers) columns.push_back(columns.size() == 8 ? "latency s, greedy" : name);
  columns.push_back("FH chosen %");
  table& t = f.add_table("grid", columns);
  for (const grid_cell& cell : cells) {
    const scored_set &greedy = r.greedy[cell.window], &set = r.semantic[cell.window][cell.link];
    std::vector<std::string> row{detail::link_name(cell.link),         std::to_string(window_lengths[cell.window]),
                                 number(tokens_per_round(greedy)),     number(rejected[cell.window].tokens),
                                 number(tokens_per_round(set)),        number(mean_of(rounds_of(greedy))),
                                 number(rejected[cell.window].rounds), number(mean_of(rounds_of(set)))};
    for (const double value : cell.seconds) row.push_back(number(value));
    row.push_back(number(100 * cell.full_chosen, 3));
    t.rows.push_back(row);
  }
}

}  // namespace

void run_wisv_grid(lab_context& context, figure& f) {
  wisv_study& study = study_of(context);
  const auto& r = study.tests();
  const std::size_t sampled = context.scaled<std::size_t>(300, 12);
  const semantic_costs costs;
  f.about = std::to_string(r.problems) + " held-out problems under the threshold " +
            number(study.tunings()[wisv_study::full_head].chosen) +
            ". Rounds, windows and mismatches are measured; latency follows the paper's model with the paper's sizes "
            "(2048 numbers of 16 bits per hidden vector, 128256 tokens, " +
            number(1e3 * costs.token_time, 5) +
            " ms per drafted token, its equations (6) and (10)). A window ends with the text. Reject: rejection "
            "sampling at temperature " +
            number(reject_temperature) + " with full laws, " + std::to_string(sampled) +
            " problems. Adaptive: chooses FH or SH once per request, from running means of the mismatches; the "
            "testbed's rule: FH above 10 ms. Target alone: the server writes the text in " +
            number(1e3 * costs.alone_time, 3) +
            " ms a token, the time to read its weights, and sends it down as it is written.";
  std::vector<rejected_runs> rejected;
  for (const std::uint32_t length : window_lengths) rejected.push_back(run_rejection(context, length, sampled));
  std::vector<grid_cell> cells;
  for (std::size_t link = 0; link < 4; ++link) {
    for (std::size_t l = 0; l < window_lengths.size(); ++l) cells.push_back(measure_cell(r, rejected[l], link, l));
  }
  draw_wisv_grid(r, rejected, cells, f);
  list_grid(r, rejected, cells, f);
  answer_grid(context, r, cells, f);
}

}  // namespace lab
