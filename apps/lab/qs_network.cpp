// SPDX-License-Identifier: Apache-2.0
// Trains the network of Quantize-Sample-and-Verify that plans the rounds of `edge_cloud --system qs-dqn`.
#include "papers.hpp"
#include "qs_players.hpp"

namespace lab {

namespace {

//! Returns the demo's setting: the vocabulary size, the times of the modelled column, and the demo's link in both
//! states of QS.
qs_setting demo_setting(std::uint32_t vocab_size) {
  qs_setting made;
  made.prefix_free = false;
  made.vocab_size = vocab_size;
  made.times = {};
  for (specverify::channel_state* state : {&made.link.low, &made.link.high}) {
    state->downlink_rate = 4e6;
    state->round_trip = 50e-3;
  }
  made.link.start = specverify::markov_start::stationary;
  return made;
}

//! Returns prose and word problems, `count` of each.
std::vector<lab_problem> demo_tasks(lab_context& context, const std::string& set, std::size_t first,
                                    std::size_t count) {
  std::vector<lab_problem> tasks = prose_tasks(context, first, count);
  const std::vector<lab_problem> problems = context.problems(set, count);
  tasks.insert(tasks.end(), problems.begin(), problems.end());
  return tasks;
}

void save_network(const lab_context& context, const specverify::dqn_weights& network) {
  std::vector<std::byte> bytes(specverify::dqn_file_bytes);
  if (const auto saved = specverify::write_dqn(network, bytes); !saved)
    throw std::runtime_error(specverify::message(saved.error().code));
  context.write("qs_network.dqn", bytes);
}

}  // namespace

void run_qs_network(lab_context& context, figure& f) {
  const qs_setting setting = demo_setting(static_cast<std::uint32_t>(context.vocabulary().vocab_size()));
  f.about =
      "A network trained for the demo; its weights are written to qs_network.dqn (`edge_cloud demo --systems "
      "qs-dqn --policy FILE`). Temperature 1, the bits of a vocabulary of 4096, 25.6 ms per draft and 104.6 ms "
      "per verification, 50 ms round trip, and an uplink of 350 kbit/s or 4 Mbit/s, each next with probability "
      "1/2. Half of the texts are prose, half word problems. Some are used for training and tuning, others for "
      "the report, replayed as in qs_speed.";
  const std::size_t count = context.scaled<std::size_t>(55, 6);
  const auto tune =
      record_texts(context, demo_tasks(context, "tune", 0, count), 1.0, qs_tokens, context.seed("qs_network_tune"));
  const auto test =
      record_texts(context, demo_tasks(context, "test", count, count), 1.0, qs_tokens, context.seed("qs_network_test"));
  qs_training plan;
  plan.episodes = context.scaled(600u, 40u);
  const std::uint32_t seeds = context.scaled(4u, 1u);
  std::vector<specverify::dqn_weights> networks(seeds);
  std::vector<double> scores(seeds);
  context.for_each(seeds, [&](lab_worker&, std::size_t i) {
    const specverify::dqn_trainer trainer = train_dqn(setting, tune, context.seed("qs_network") + i, false, plan);
    networks[i] = trainer.best();
    scores[i] = trainer.best_score();
  });
  const specverify::dqn_weights& network =
      networks[static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin())];
  save_network(context, network);

  const std::array<std::pair<std::string, specverify::markov_options>, 3> places{
      {{"350 kbit/s", held_link(setting.link, 0)},
       {"4 Mbit/s", held_link(setting.link, 1)},
       {"350k / 4M", setting.link}}};
  const std::array<std::string, 4> labels{"static (4, 240)", "best static", "heuristic", "DQN"};
  const specverify::model_window heuristic = heuristic_for(setting);
  std::array<std::array<qs_played, 4>, 3> played;
  std::array<specverify::window_action, 3> best_static{};
  context.for_each(places.size(), [&](lab_worker&, std::size_t k) {
    qs_setting here = setting;
    here.link = places[k].second;
    const auto play = [&](std::span<const qs_text> texts, std::uint32_t passes, const qs_player& player) {
      return replayed_texts(here, texts, passes, context.seed("qs_network_link"), player);
    };
    double most = 0;
    for (const specverify::window_action& action : paper_grid.all()) {
      const double throughput = play(tune, 2, {"", action}).throughput();
      if (throughput > most) most = throughput, best_static[k] = action;
    }
    played[k] = {play(test, 8, {"", {4, 240}}), play(test, 8, {"", best_static[k]}),
                 play(test, 8, {"", {}, &heuristic}), play(test, 8, {"", {}, nullptr, &network})};
  });

  panel& p = f.add_panel("speed over the demo's links", "", "tokens/s");
  table& t = f.add_table("tokens per second", {"link", "window", "tokens/s"});
  for (const std::string& label : labels) p.add(label);
  double least = 1e9;
  for (std::size_t k = 0; k < places.size(); ++k) {
    p.x_names.push_back(places[k].first);
    for (std::size_t j = 0; j < labels.size(); ++j) {
      const estimate e =
          ratio_estimate(played[k][j].tokens, played[k][j].seconds, context.seed("qs_network_interval"), 300);
      p.curves[j].add(static_cast<double>(k), e.value, e.low, e.high);
      t.rows.push_back({places[k].first, labels[j] + (j == 1 ? " " + action_name(best_static[k]) : ""),
                        interval(e.value, e.low, e.high, 4)});
    }
    least = std::min(least, played[k][3].throughput() / played[k][1].throughput());
  }
  if (!context.quick())
    f.require("the network is within 3 % of the best static window of each link", least > 0.97,
              number(least, 4) + " of it at least");
}

}  // namespace lab
