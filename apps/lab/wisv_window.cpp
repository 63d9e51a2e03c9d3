// SPDX-License-Identifier: Apache-2.0
// Computes WISV's latency over windows from 1, on the grid's links and at the rates of the testbed.
#include "wisv_figures.hpp"

namespace lab {
namespace {

constexpr std::array<std::uint32_t, 10> tried_windows{1, 2, 4, 6, 8, 12, 16, 24, 32, 64};

struct named_link {
  std::string name;
  specverify::channel_state state;
};

//! Returns the grid's links, then the rates of the testbed with a short and a long round trip.
std::vector<named_link> window_links() {
  std::vector<named_link> made;
  for (std::size_t i = 0; i < 4; ++i) made.push_back({detail::link_name(i), grid_links()[i]});
  for (const double rate : {172.0, 498.0}) {
    for (const double trip : {5.0, 50.0})
      made.push_back({number(rate) + " Mbit/s, " + number(trip) + " ms", semantic_link(rate, trip)});
  }
  return made;
}

enum window_writer : std::size_t { greedy_writer, full_writer, selective_writer, writer_count };
constexpr std::array<const char*, writer_count> window_writers{"greedy", "WISV, FH", "WISV, SH"};

//! Seconds per problem, [link][writer][window], and of the target alone per link.
struct window_times {
  std::vector<std::array<std::array<std::vector<double>, tried_windows.size()>, writer_count>> seconds;
  std::vector<std::vector<double>> alone;
};

window_times measure_windows(lab_context& context, wisv_study& study, const std::vector<named_link>& links,
                             const std::vector<lab_problem>& problems) {
  const semantic_costs costs;
  window_times made;
  made.seconds.resize(links.size());
  for (auto& of_link : made.seconds) {
    for (auto& of_writer : of_link) of_writer.fill(std::vector<double>(problems.size()));
  }
  made.alone.assign(links.size(), std::vector<double>(problems.size()));
  const double threshold = study.tunings()[wisv_study::full_head].chosen;
  context.for_each(problems.size(), [&](lab_worker&, std::size_t i) {
    problem_models models(context.pair());
    for (std::size_t w = 0; w < tried_windows.size(); ++w) {
      semantic_settings plain;
      plain.draft_length = tried_windows[w];
      const scored_problem greedy = score(context, models, problems[i], plain);
      for (std::size_t k = 0; k < links.size(); ++k) {
        semantic_settings settings = study.on_link(wisv_study::full_head, threshold, links[k].state);
        settings.draft_length = tried_windows[w];
        const scored_problem wisv = score(context, models, problems[i], settings);
        made.seconds[k][greedy_writer][w][i] = costs.greedy(greedy.rounds, links[k].state);
        made.seconds[k][full_writer][w][i] =
            costs.semantic(specverify::hidden_protocol::full, wisv.rounds, links[k].state);
        made.seconds[k][selective_writer][w][i] =
            costs.semantic(specverify::hidden_protocol::selective, wisv.rounds, links[k].state);
        made.alone[k][i] = costs.alone(emitted_of(greedy.rounds), links[k].state);
      }
    }
  });
  return made;
}

[[nodiscard]] std::size_t fastest_window(const std::array<std::vector<double>, tried_windows.size()>& seconds) {
  std::size_t best = 0;
  for (std::size_t w = 1; w < seconds.size(); ++w) best = mean_of(seconds[w]) < mean_of(seconds[best]) ? w : best;
  return best;
}

void draw_windows(const std::vector<named_link>& links, const window_times& times, figure& f) {
  for (std::size_t k = 0; k < links.size(); ++k) {
    panel& p = f.add_panel(links[k].name, "L", "s an answer");
    p.log_x = true;
    for (std::size_t s = 0; s < writer_count; ++s) {
      curve& c = p.add(window_writers[s]);
      for (std::size_t w = 0; w < tried_windows.size(); ++w) c.add(tried_windows[w], mean_of(times.seconds[k][s][w]));
    }
    curve& alone = p.add("target alone");
    for (const std::uint32_t length : {tried_windows.front(), tried_windows.back()})
      alone.add(length, mean_of(times.alone[k]));
  }
}

//! Lists the best windows, and answers whether latency falls and rises again. The window of the least latency is found
//! on the tuning problems; the test problems tell whether both ends are slower.
void answer_window(lab_context& context, const std::vector<named_link>& links, const window_times& tuned,
                   const window_times& times, figure& f) {
  table& t = f.add_table(
      "best window, found on the tuning problems, and latency on the test problems",
      {"link", "method", "L", "s an answer", "L = 1 against it", "L = 64 against it", "against the target alone"});
  std::size_t shaped = 0, rows = 0, beats_alone = 0;
  std::uint32_t least = 64, most = 1;
  const std::uint64_t seed = context.seed("wisv_window");
  for (std::size_t k = 0; k < links.size(); ++k) {
    for (std::size_t s = 0; s < writer_count; ++s) {
      const std::size_t best = fastest_window(tuned.seconds[k][s]);
      const auto& of = times.seconds[k][s];
      const std::vector<double> ones(of[best].size(), 1.0);
      const auto over = [&](const std::vector<double>& other, const std::vector<double>& base) {
        return ratio_change(other, ones, base, ones, seed, 400);
      };
      const estimate first = over(of.front(), of[best]), last = over(of.back(), of[best]),
                     alone = over(of[best], times.alone[k]);
      t.rows.push_back({links[k].name, window_writers[s], std::to_string(tried_windows[best]),
                        number(mean_of(of[best])), change_text(first), change_text(last), change_text(alone)});
      ++rows;
      shaped += first.low > 0 && last.low > 0 ? 1 : 0;
      beats_alone += alone.high < 0 ? 1 : 0;
      least = std::min(least, tried_windows[best]), most = std::max(most, tried_windows[best]);
    }
  }
  const std::string of_rows = " of " + std::to_string(rows) + " links and methods";
  f.answer(
      "wisv.window",
      shaped == rows ? finding::met
      : shaped > 0   ? finding::in_sign
                     : finding::not_met,
      "both L = 1 and L = 64 are slower than the best window on " + std::to_string(shaped) + of_rows +
          "; best L from " + std::to_string(least) + " to " + std::to_string(most),
      "the paper draws L from 10 on, where the other side of the U is hardly seen; the target alone is slower than " +
          std::to_string(beats_alone) + of_rows);
}

//! Answers Fig. 7: greedy against the protocol that the rule of the testbed picks, each at the best window, and both at
//! L = 64.
void answer_testbed(lab_context& context, const std::vector<named_link>& links, const window_times& tuned,
                    const window_times& times, figure& f) {
  table& t = f.add_table("rates of the testbed: the rule's protocol against greedy",
                         {"link", "protocol", "each at its best L", "both at L = 64"});
  const std::uint64_t seed = context.seed("wisv_testbed");
  std::size_t faster = 0, rows = 0;
  std::string at_64;
  for (std::size_t k = 4; k < links.size(); ++k) {
    const bool full =
        specverify::round_trip_rule{}.choose(links[k].state.round_trip) == specverify::hidden_protocol::full;
    const std::size_t s = full ? full_writer : selective_writer;
    const auto &wisv = times.seconds[k][s], &greedy = times.seconds[k][greedy_writer];
    const std::vector<double> ones(wisv.front().size(), 1.0);
    const estimate best = ratio_change(wisv[fastest_window(tuned.seconds[k][s])], ones,
                                       greedy[fastest_window(tuned.seconds[k][greedy_writer])], ones, seed, 400),
                   last = ratio_change(wisv.back(), ones, greedy.back(), ones, seed, 400);
    t.rows.push_back({links[k].name, window_writers[s], change_text(best), change_text(last)});
    ++rows;
    faster += best.high < 0 && last.high < 0 ? 1 : 0;
    at_64 += (at_64.empty() ? "" : "; ") + links[k].name + ": " + change_text(best);
  }
  f.answer("wisv.testbed",
           faster == rows ? finding::met
           : faster > 0   ? finding::in_sign
                          : finding::not_met,
           "each at its best window: " + at_64,
           "Fig. 7 is drawn without numbers; its round trips are not given, so a short and a long one stand for them, "
           "and the times are those of Table I, not of a Jetson");
}

}  // namespace

void run_wisv_window(lab_context& context, figure& f) {
  wisv_study& study = study_of(context);
  (void)study.tunings();
  const std::vector<named_link> links = window_links();
  const std::size_t tune_count = context.scaled<std::size_t>(200, 8), test_count = context.scaled<std::size_t>(400, 10);
  f.about = "Latency over L by the costs of the grid, " + std::to_string(test_count) +
            " test problems; the best window of each method and link is found on " + std::to_string(tune_count) +
            " tuning problems first. Target alone: " + number(1e3 * semantic_costs{}.alone_time, 3) +
            " ms a token at the server, no uplink.";
  const window_times tuned = measure_windows(context, study, links, context.problems("tune", tune_count));
  const window_times times = measure_windows(context, study, links, context.problems("test", test_count));
  draw_windows(links, times, f);
  answer_window(context, links, tuned, times, f);
  answer_testbed(context, links, tuned, times, f);
}

}  // namespace lab
