// SPDX-License-Identifier: Apache-2.0
// Computes the speed of Quantize-Sample-and-Verify over the sampling temperature.
#include "qs_figures.hpp"
#include "qs_players.hpp"
#include "say.hpp"

namespace lab {

namespace {

enum : std::size_t {
  heated_target,
  heated_mismatched,
  heated_best,
  heated_heuristic,
  heated_network,
  temperature_systems
};
constexpr std::array<const char*, temperature_systems> temperature_labels{"target alone", "S-Q, best static",
                                                                          "best static", "heuristic", "DQN"};

//! Results at one temperature; places: the held link of 350 kbit/s, and the link that changes.
struct heated {
  double temperature = 0;
  qs_acceptance acceptance{}, sampled_first{};
  std::array<std::array<qs_played, temperature_systems>, 2> played;
  std::array<specverify::window_action, 2> best{}, best_mismatched{};
};
constexpr std::array<const char*, 2> heated_links{"350 kbit/s", "350k / 4M"};

heated measure_heated(lab_context& context, double temperature) {
  const std::size_t count = context.scaled<std::size_t>(60, 4);
  const auto tune = record_texts(context, prose_tasks(context, 0, count), temperature, qs_tokens,
                                 context.seed("qs_temperature_tune"));
  const auto test = record_texts(context, prose_tasks(context, count, count), temperature, qs_tokens,
                                 context.seed("qs_temperature_test"));
  heated made{temperature, mean_acceptance(test), mean_acceptance(test, &qs_position::sampled_first), {}, {}, {}};
  qs_training plan;
  plan.episodes = context.scaled(300u, 10u);
  const std::uint64_t seed = context.seed("qs_temperature_link");
  context.for_each(2, [&](lab_worker&, std::size_t k) {
    qs_setting here;
    here.prefix_free = false;
    here.link = k == 0 ? held_link(here.link, 0) : here.link;
    if (k == 1) here.link.start = specverify::markov_start::stationary;
    const specverify::dqn_trainer trainer = train_dqn(here, tune, context.seed("qs_temperature_dqn") + k, false, plan);
    qs_setting mismatched = here;
    mismatched.sample_first = true;
    made.best[k] = best_action(here, tune, paper_grid.all(), seed);
    made.best_mismatched[k] = best_action(mismatched, tune, paper_grid.all(), seed);
    const auto play = [&](const qs_setting& setting, const qs_player& player) {
      return replayed_texts(setting, test, 8, seed, player);
    };
    made.played[k] = {alone(test, here.times.verify_time), play(mismatched, fixed_player(made.best_mismatched[k])),
                      play(here, fixed_player(made.best[k])), play(here, window_player(heuristic_for(here))),
                      play(here, network_player(trainer.best(), here))};
  });
  return made;
}

void draw_heated(const lab_context& context, std::span<const heated> results, figure& f) {
  table& t = f.add_table("tokens per second", {"link", "temperature", "system", "tokens/s", "over the target alone",
                                               "accepted at l = 240, Q-S and S-Q"});
  for (std::size_t k = 0; k < heated_links.size(); ++k) {
    panel& p = f.add_panel(heated_links[k], "temperature", "tokens/s");
    for (const char* label : temperature_labels) p.add(label);
    for (const heated& at : results) {
      for (std::size_t j = 0; j < temperature_systems; ++j) {
        const estimate e = speed_of(at.played[k][j], context.seed("qs_temperature_interval"));
        p.curves[j].add(at.temperature, e.value, e.low, e.high);
        const std::string action = j == heated_best         ? " " + action_name(at.best[k])
                                   : j == heated_mismatched ? " " + action_name(at.best_mismatched[k])
                                                            : "";
        t.rows.push_back(
            {heated_links[k], number(at.temperature), temperature_labels[j] + action, speed_text(e),
             change_text(gain_over(at.played[k][j], at.played[k][heated_target], context.seed("qs_temperature_gain"))),
             number(at.acceptance[1], 3) + ", " + number(at.sampled_first[1], 3)});
      }
    }
  }
}

}  // namespace

void run_qs_temperature(lab_context& context, figure& f) {
  f.about =
      "The speeds of qs_speed at five sampling temperatures: prose continued by 52 tokens, recorded and replayed at "
      "each "
      "temperature, on the link of 350 kbit/s and on the link that changes between 350 kbit/s and 4 Mbit/s. At every "
      "temperature the fixed actions were chosen and the network was trained on other texts (tune).";
  std::vector<heated> results;
  for (const double temperature :
       context.quick() ? std::vector<double>{0.4, 1.0} : std::vector<double>{0.2, 0.4, 0.6, 0.8, 1.0})
    results.push_back(measure_heated(context, temperature));
  draw_heated(context, results, f);
  const auto gain = [&](const heated& at, std::size_t of, std::size_t over) {
    return gain_over(at.played[0][of], at.played[0][over], context.seed("qs_temperature_gain"));
  };
  const heated &cold = results.front(), &hot = results.back();
  std::string words;
  for (const heated& at : results) {
    const estimate e = gain(at, heated_network, heated_best);
    words += (words.empty() ? "" : ", ") + number(at.temperature) + " " + against(e);
  }
  f.answer("qs.speed_temperature", finding::met,
           "DQN over the target alone at 350 kbit/s: " + change_text(gain(cold, heated_network, heated_target)) +
               " at T = " + number(cold.temperature) + ", " + change_text(gain(hot, heated_network, heated_target)) +
               " at T = " + number(hot.temperature),
           "the digest gives no values; the DQN against the best fixed action by a margin of 3 %: " + words);
  f.compare(
      "S-Q over Q-S, each at its best fixed action, 350 kbit/s", "not in the digest",
      change_text(gain(cold, heated_mismatched, heated_best)) + " at T = " + number(cold.temperature) + ", " +
          change_text(gain(hot, heated_mismatched, heated_best)) + " at T = " + number(hot.temperature),
      "S-Q also draws tokens without a count and has them accepted, so its text leaves the target's distribution");
  f.require("a draft of the best fixed action is accepted less at the highest temperature than at the lowest",
            hot.acceptance[1] < cold.acceptance[1],
            number(hot.acceptance[1], 3) + " and " + number(cold.acceptance[1], 3));
  f.require("the heuristic beats the target alone at every temperature, 350 kbit/s", [&] {
    for (const heated& at : results) {
      if (gain(at, heated_heuristic, heated_target).value <= 0) return false;
    }
    return true;
  }());
}

}  // namespace lab
