// SPDX-License-Identifier: Apache-2.0
// Trains the network of Quantize-Sample-and-Verify that plans the rounds of `edge_cloud --system qs-dqn`.
#include "qs_figures.hpp"
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

constexpr std::array<const char*, 5> network_labels{"target alone", "static (4, 240)", "best static", "heuristic",
                                                    "DQN"};

struct network_place {
  std::string name;
  qs_setting setting;
  specverify::window_action best_static{};
  std::array<qs_played, network_labels.size()> played{};
};

//! Trains networks from several seeds and returns the weights that scored best on the texts.
specverify::dqn_weights trained_network(lab_context& context, const qs_setting& setting,
                                        const std::vector<qs_text>& texts) {
  qs_training plan;
  plan.episodes = context.scaled(600u, 30u);
  const std::uint32_t seeds = context.scaled(4u, 1u);
  std::vector<specverify::dqn_weights> networks(seeds);
  std::vector<double> scores(seeds);
  context.for_each(seeds, [&](lab_worker&, std::size_t i) {
    const specverify::dqn_trainer trainer = train_dqn(setting, texts, context.seed("qs_network") + i, false, plan);
    networks[i] = trainer.best();
    scores[i] = trainer.best_score();
  });
  return networks[static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin())];
}

void play_network(const lab_context& context, network_place& at, const specverify::dqn_weights& network,
                  std::span<const qs_text> tune, std::span<const qs_text> test) {
  const std::uint64_t seed = context.seed("qs_network_link");
  at.best_static = best_action(at.setting, tune, paper_grid.all(), seed);
  const auto play = [&](const qs_player& player) { return replayed_texts(at.setting, test, 8, seed, player); };
  at.played = {alone(test, at.setting.times.verify_time), play(fixed_player({4, 240})),
               play(fixed_player(at.best_static)), play(window_player(heuristic_for(at.setting))),
               play(network_player(network, at.setting))};
}

//! Returns the lowest ratio of the network's speed to the best static window's, over the links.
double draw_network(const lab_context& context, std::span<const network_place> places, figure& f) {
  panel& p = f.add_panel("speed over the demo's links", "", "tokens/s");
  table& t = f.add_table("tokens per second", {"link", "window", "tokens/s"});
  for (const char* label : network_labels) p.add(label);
  double least = 1e9;
  for (const network_place& at : places) {
    const auto k = static_cast<double>(p.x_names.size());
    p.x_names.push_back(at.name);
    for (std::size_t j = 0; j < network_labels.size(); ++j) {
      const estimate e = speed_of(at.played[j], context.seed("qs_network_interval"));
      p.curves[j].add(k, e.value, e.low, e.high);
      t.rows.push_back(
          {at.name, network_labels[j] + (j == 2 ? " " + action_name(at.best_static) : std::string()), speed_text(e)});
    }
    least = std::min(least, at.played[4].throughput() / at.played[2].throughput());
  }
  return least;
}

}  // namespace

void run_qs_network(lab_context& context, figure& f) {
  const qs_setting setting = demo_setting(static_cast<std::uint32_t>(context.vocabulary().vocab_size()));
  f.about =
      "A network trained for the demo; its weights are written to qs_network.dqn (`edge_cloud demo --systems "
      "qs-dqn --policy FILE`). Temperature 1, the bits of a vocabulary of 4096, 25.6 ms per draft and 104.6 ms "
      "per verification, 50 ms round trip, and an uplink of 350 kbit/s or 4 Mbit/s, each next with probability "
      "1/2. Half of the texts are prose, half word problems. Some are used for training and tuning, others for "
      "the report, replayed as in qs_speed. The target alone needs no link.";
  const std::size_t count = context.scaled<std::size_t>(55, 4);
  const auto tune =
      record_texts(context, demo_tasks(context, "tune", 0, count), 1.0, qs_tokens, context.seed("qs_network_tune"));
  const auto test =
      record_texts(context, demo_tasks(context, "test", count, count), 1.0, qs_tokens, context.seed("qs_network_test"));
  const specverify::dqn_weights network = trained_network(context, setting, tune);
  save_network(context, network);
  std::array<network_place, 3> places{{{"350 kbit/s", setting}, {"4 Mbit/s", setting}, {"350k / 4M", setting}}};
  places[0].setting.link = held_link(setting.link, 0);
  places[1].setting.link = held_link(setting.link, 1);
  context.for_each(places.size(),
                   [&](lab_worker&, std::size_t k) { play_network(context, places[k], network, tune, test); });
  const double least = draw_network(context, places, f);
  if (!context.quick())
    f.require("the network is within 3 % of the best static window of each link", least > 0.97,
              number(least, 4) + " of it at least");
}

}  // namespace lab
