// SPDX-License-Identifier: Apache-2.0
// Computes how far policies of Quantize-Sample-and-Verify fall short of the best policy, in a world where it is known.
#include "qs_figures.hpp"
#include "qs_players.hpp"

namespace lab {

namespace {

using specverify::window_action;

constexpr std::array<window_action, 3> regret_presets{{{3, 240}, {4, 240}, {3, 12}}};

enum : std::size_t { with_reward, with_bonus, with_shuffled, reward_kinds };
enum : std::size_t {
  regret_optimum,
  regret_four = 2,
  regret_static = 4,
  regret_heuristic,
  regret_network,
  regret_bonus,
  regret_shuffled,
  regret_last,
  regret_last_bonus,
  regret_last_shuffled,
  regret_wider,
  regret_rows
};

struct regret_run {
  lab_context& context;
  qs_setting setting;
  std::vector<qs_text> texts;
  qs_acceptance acceptance{};
  qs_optimum best{}, best_static{}, best_wider{};
  std::uint32_t seeds = 1;
  //! By seed and kind of reward: the weights with the best true throughput during training, and the last weights.
  std::vector<specverify::dqn_weights> networks, last_networks;
};

regret_run prepare_regret(lab_context& context) {
  regret_run run{context, {}, {}, {}, {}, {}, {}, context.scaled(5u, 1u), {}, {}};
  const std::size_t count = context.scaled<std::size_t>(110, 12);
  run.texts = record_texts(context, prose_tasks(context, 0, count), qs_temperature, qs_tokens, context.seed("qs_tune"));
  run.acceptance = mean_acceptance(run.texts);
  run.best = best_by_state(run.setting, run.acceptance, 0.5, paper_grid.all());
  run.best_static = best_by_state(run.setting, run.acceptance, 0.5, paper_grid.all(), true);
  std::vector<window_action> wider(paper_grid.all().begin(), paper_grid.all().end());
  for (const std::uint32_t length : specverify::paper_draft_lengths) wider.push_back({length, 12});
  run.best_wider = best_by_state(run.setting, run.acceptance, 0.5, wider);
  qs_training plan;
  plan.episodes = context.scaled(300u, 30u);
  run.networks.resize(reward_kinds * run.seeds);
  run.last_networks.resize(reward_kinds * run.seeds);
  context.for_each(run.networks.size(), [&](lab_worker&, std::size_t i) {
    qs_setting here = run.setting;
    here.final_bonus = i % reward_kinds == with_bonus;
    const specverify::dqn_trainer trainer = train_dqn(here, run.texts, context.seed("qs_regret") + i / reward_kinds,
                                                      i % reward_kinds == with_shuffled, plan);
    run.networks[i] = trainer.best();
    run.last_networks[i] = trainer.weights();
  });
  return run;
}

std::vector<std::string> regret_labels(const regret_run& run) {
  const auto both = [](const qs_optimum& of) {
    return action_name(of.low) + " low, " + action_name(of.high) + " high";
  };
  std::vector<std::string> labels{"optimum " + both(run.best)};
  for (const window_action& action : regret_presets) labels.push_back("static " + action_name(action));
  labels.insert(labels.end(), {"best static " + action_name(run.best_static.low), "heuristic (model based)",
                               "DQN, best", "bonus, best", "shuffled, best", "DQN, last", "bonus, last",
                               "shuffled, last", "optimum with l = 12 too: " + both(run.best_wider)});
  return labels;
}

//! Throughput and shortfall of every row on every seed.
struct regrets {
  std::vector<std::vector<double>> speed, regret;  //!< by row and seed; regret in % of the optimum
  std::vector<double> mean, least, most;           //!< regret over the seeds

  //! Returns the lead of one row over another on the worst seed, in points of the optimum.
  [[nodiscard]] double least_lead(std::size_t of, std::size_t over) const {
    double lead = 1e9;
    for (std::size_t s = 0; s < speed[of].size(); ++s)
      lead = std::min(lead, 100 * (speed[of][s] - speed[over][s]) / speed[regret_optimum][s]);
    return lead;
  }
};

regrets measure_regret(const regret_run& run, std::uint32_t rounds) {
  regrets made;
  made.speed.assign(regret_rows, std::vector<double>(run.seeds));
  run.context.for_each(run.seeds, [&](lab_worker&, std::size_t s) {
    const auto play = [&](const qs_player& player) {
      return prefix_free_throughput(run.setting, run.texts, rounds, run.context.seed("qs_regret_link") + s, player);
    };
    const auto by_state = [&](const qs_optimum& of) {
      return play([&](const specverify::observation& seen) { return seen.uplink_state != 0 ? of.high : of.low; });
    };
    std::size_t row = 0;
    made.speed[row++][s] = by_state(run.best);
    for (const window_action& action : regret_presets) made.speed[row++][s] = play(fixed_player(action));
    made.speed[row++][s] = by_state(run.best_static);
    made.speed[row++][s] = play(window_player(heuristic_for(run.setting)));
    for (const auto* of : {&run.networks, &run.last_networks}) {
      for (std::size_t kind = 0; kind < reward_kinds; ++kind)
        made.speed[row++][s] = play(network_player((*of)[s * reward_kinds + kind], run.setting));
    }
    made.speed[row++][s] = by_state(run.best_wider);
  });
  for (const std::vector<double>& row : made.speed) {
    std::vector<double>& regret = made.regret.emplace_back(run.seeds);
    for (std::size_t s = 0; s < run.seeds; ++s) regret[s] = 100 * (1 - row[s] / made.speed[regret_optimum][s]);
    made.mean.push_back(mean_of(regret));
    made.least.push_back(*std::min_element(regret.begin(), regret.end()));
    made.most.push_back(*std::max_element(regret.begin(), regret.end()));
  }
  return made;
}

void draw_regret(const regrets& of, const std::vector<std::string>& labels, figure& f) {
  table& t = f.add_table("regret compared with the best policy that knows the state",
                         {"policy", "tokens/s", "short of the optimum in %", "least and most over the seeds"});
  panel& p = f.add_panel("short of the per-state optimum", "", "%");
  curve& bars = p.add("mean of the seeds, least and most");
  for (std::size_t j = 0; j < labels.size(); ++j) {
    t.rows.push_back({labels[j], number(mean_of(of.speed[j]), 4), number(of.mean[j], 3),
                      number(of.least[j], 3) + " to " + number(of.most[j], 3)});
    if (j == regret_optimum || j == regret_wider) continue;
    bars.add(static_cast<double>(p.x_names.size()), of.mean[j], of.least[j], of.most[j]);
    p.x_names.push_back(labels[j]);
  }
}

void say_regret(const regret_run& run, const regrets& of, figure& f) {
  const double over_static = of.mean[regret_static] - of.mean[regret_network];
  f.compare("learned over static", "+15 to +20 % at 350 kbit/s",
            number(over_static, 3) + " points over the best static (" +
                number(of.least_lead(regret_network, regret_static), 3) + " on the worst seed), " +
                number(of.mean[regret_four] - of.mean[regret_network], 3) + " over (4, 240)",
            std::string(over_static >= 15             ? "met: "
                        : of.mean[regret_static] < 15 ? "not met, and out of reach here: "
                                                      : "not met: ") +
                "the best static action is " + number(of.mean[regret_static], 3) +
                " % short of the optimum that knows the state");
  f.compare("reward at the end of an episode", "the episode's throughput, as in the code",
            number(of.mean[regret_bonus], 3) + " % short with it, " + number(of.mean[regret_network], 3) +
                " % without (best weights)",
            of.mean[regret_bonus] > of.mean[regret_network]
                ? "it rewards the end of the episode, but throughput does not; training here omits it"
                : "no harm in this run; training here omits it");
  f.compare("choosing the weights by throughput", "not said",
            "last weights are " + number(of.mean[regret_last], 3) + " % short, the best ones " +
                number(of.mean[regret_network], 3) + " %; with shuffled rewards " +
                number(of.mean[regret_last_shuffled], 3) + " and " + number(of.mean[regret_shuffled], 3) + " %",
            "of the gain of the best weights over the last ones of shuffled rewards, choosing among 20 brings " +
                number(of.mean[regret_last_shuffled] - of.mean[regret_shuffled], 3) + " points by itself, learning " +
                number(of.mean[regret_shuffled] - of.mean[regret_network], 3) + " more");
  f.compare("resolutions", "l = 720 and 240",
            "with l = 12 " + number(-of.mean[regret_wider], 3) + " % above the optimum of the grid",
            "acceptance " + number(run.acceptance[0], 4) + ", " + number(run.acceptance[1], 4) + ", " +
                number(run.acceptance[4], 4) + " at l = 720, 240, 12: the grid has no coarse action");
}

void check_regret(const regrets& of, bool quick, figure& f) {
  f.require("the heuristic is within 3 % of the optimum", of.most[regret_heuristic] <= 3,
            number(of.most[regret_heuristic], 3) + " % at most");
  double nearest = 1e9;
  for (std::size_t j = regret_static; j < regret_wider; ++j) nearest = std::min(nearest, of.least[j]);
  f.require("no policy over the grid beats the exhaustive optimum by more than the draw of the link", nearest > -0.5,
            number(nearest, 3) + " %");
  if (quick) return;  // a quick run trains too little for the others
  f.require("the DQN is within 3 % of the optimum on every seed, with its best weights and with its last",
            of.most[regret_network] <= 3 && of.most[regret_last] <= 3,
            number(of.most[regret_network], 3) + " and " + number(of.most[regret_last], 3) + " % at most");
  f.require("the DQN beats the best static action on every seed", of.least_lead(regret_network, regret_static) > 0,
            number(of.least_lead(regret_network, regret_static), 3) + " points at least");
  f.require("the DQN beats shuffled rewards on every seed, both with best and both with last weights",
            of.least_lead(regret_network, regret_shuffled) > 0 && of.least_lead(regret_last, regret_last_shuffled) > 0,
            number(of.least_lead(regret_network, regret_shuffled), 3) + " and " +
                number(of.least_lead(regret_last, regret_last_shuffled), 3) + " points at least");
  f.require("last weights of shuffled rewards fall short by more than 10 % on every seed",
            of.least[regret_last_shuffled] > 10, number(of.least[regret_last_shuffled], 3) + " % at least");
}

}  // namespace

void run_qs_regret(lab_context& context, figure& f) {
  f.about =
      "The two-state link (350 kbit/s, 4 Mbit/s, every transition 1/2) with prefix-free acceptance: each "
      "drafted position is drawn anew from the recorded positions of prose at temperature 0.4. So a policy can "
      "gain only from the link's state, and trying all 22 x 22 pairs of actions finds the optimum. Tokens "
      "count by expectation, time by each round's own rate. Five seeds for the link, and for the networks' "
      "weights, exploration and training. Training scores the weights 20 times by throughput, whatever rewards "
      "they learn from: \"best\" are the weights with the highest score, \"last\" the weights at the end. "
      "Bonus: with the reward at the end of an episode, as in the authors' code. Shuffled rewards have no "
      "information, so the gain of their best weights comes from choosing only.";
  const regret_run run = prepare_regret(context);
  const regrets of = measure_regret(run, context.scaled(20000u, 1500u));
  draw_regret(of, regret_labels(run), f);
  say_regret(run, of, f);
  check_regret(of, context.quick(), f);
}

}  // namespace lab
