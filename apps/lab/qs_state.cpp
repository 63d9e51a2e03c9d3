// SPDX-License-Identifier: Apache-2.0
// Measures what the state and the actions of QS's policy are worth: the semantic state where episodes mix prose and
// problems, and coarse resolutions among the actions.
#include "qs_figures.hpp"
#include "qs_players.hpp"
#include "say.hpp"

namespace lab {

namespace {

constexpr std::array<const char*, 3> state_links{"350 kbit/s", "4 Mbit/s", "350k / 4M"};

qs_setting setting_on(std::size_t link) {
  qs_setting made;
  made.prefix_free = false;
  if (link < 2) {
    made.link = held_link(made.link, static_cast<std::uint32_t>(link));
  } else {
    made.link.start = specverify::markov_start::stationary;
  }
  return made;
}

//! Returns the network with the best throughput on the texts, out of `seeds` trainings.
specverify::dqn_weights best_network(const qs_setting& setting, std::span<const qs_text> texts, std::uint64_t seed,
                                     std::uint32_t seeds, std::uint32_t episodes) {
  specverify::dqn_weights best{};
  double most = -1;
  qs_training plan;
  plan.episodes = episodes;
  for (std::uint32_t s = 0; s < seeds; ++s) {
    const specverify::dqn_trainer trainer = train_dqn(setting, texts, seed + s, false, plan);
    if (trainer.best_score() > most) most = trainer.best_score(), best = trainer.best();
  }
  return best;
}

// ---- The semantic state

//! Texts of both kinds, cut to half an episode.
struct two_kinds {
  std::vector<qs_text> prose, problems;

  //! Returns episodes of one half of each kind. Which kind comes first alternates.
  [[nodiscard]] std::vector<qs_text> mixed() const {
    std::vector<qs_text> made;
    for (std::size_t i = 0; i < prose.size(); ++i) {
      qs_text both = i % 2 == 0 ? prose[i] : problems[i];
      const qs_text& second = i % 2 == 0 ? problems[i] : prose[i];
      both.insert(both.end(), second.begin(), second.end());
      made.push_back(std::move(both));
    }
    return made;
  }
};

two_kinds record_kinds(lab_context& context, const std::string& set, std::size_t first, std::size_t count) {
  const std::uint64_t seed = context.seed("qs_state_" + set);
  return {record_texts(context, prose_tasks(context, first, count), qs_temperature, qs_tokens / 2, seed),
          record_texts(context, context.problems(set, count), qs_temperature, qs_tokens / 2, seed + 1)};
}

enum : std::size_t { state_target, state_best, state_heuristic, state_blind, state_seeing, state_kinds, state_systems };
constexpr std::array<const char*, state_systems> state_labels{"target alone",
                                                              "best static",
                                                              "heuristic",
                                                              "DQN without the semantic state",
                                                              "DQN with the whole state",
                                                              "best action of each kind"};

struct state_result {
  std::array<qs_played, state_systems> played;
  specverify::window_action best{}, of_prose{}, of_problems{};
};

//! Plays each kind with the best action of this kind. The halves are played apart, so no round holds drafts of both.
qs_played play_kinds(const qs_setting& setting, const two_kinds& texts, state_result& made, std::uint64_t seed) {
  qs_played all = replayed_texts(setting, texts.prose, 8, seed, fixed_player(made.of_prose));
  const qs_played rest = replayed_texts(setting, texts.problems, 8, seed, fixed_player(made.of_problems));
  for (std::size_t i = 0; i < all.tokens.size(); ++i) {
    all.tokens[i] += rest.tokens[i];
    all.seconds[i] += rest.seconds[i];
  }
  return all;
}

state_result measure_state(lab_context& context, std::size_t link, const two_kinds& tune, const two_kinds& test) {
  const qs_setting here = setting_on(link);
  qs_setting blind = here;
  blind.sees_text = false;
  const std::vector<qs_text> mixed_tune = tune.mixed(), mixed_test = test.mixed();
  const std::uint32_t seeds = context.scaled(3u, 1u), episodes = context.scaled(400u, 15u);
  const std::uint64_t seed = context.seed("qs_state_link"), network_seed = context.seed("qs_state_dqn");
  const auto seeing_network = best_network(here, mixed_tune, network_seed, seeds, episodes),
             blind_network = best_network(blind, mixed_tune, network_seed, seeds, episodes);
  state_result made;
  made.best = best_action(here, mixed_tune, paper_grid.all(), seed);
  made.of_prose = best_action(here, tune.prose, paper_grid.all(), seed);
  made.of_problems = best_action(here, tune.problems, paper_grid.all(), seed);
  const auto play = [&](const qs_player& player) { return replayed_texts(here, mixed_test, 8, seed, player); };
  made.played = {alone(mixed_test, here.times.verify_time),  play(fixed_player(made.best)),
                 play(window_player(heuristic_for(here))),   play(network_player(blind_network, blind)),
                 play(network_player(seeing_network, here)), play_kinds(here, test, made, seed)};
  return made;
}

void draw_state(const lab_context& context, const std::array<state_result, 3>& results, figure& f) {
  panel& p = f.add_panel("episodes of prose and problems", "", "tokens/s");
  table& t = f.add_table("tokens per second", {"link", "policy", "tokens/s", "over the best static"});
  for (const char* label : state_labels) p.add(label);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const state_result& at = results[k];
    p.x_names.emplace_back(state_links[k]);
    for (std::size_t j = 0; j < state_systems; ++j) {
      const estimate e = speed_of(at.played[j], context.seed("qs_state_interval"));
      p.curves[j].add(static_cast<double>(k), e.value, e.low, e.high);
      const std::string actions =
          j == state_best    ? " " + action_name(at.best)
          : j == state_kinds ? " (prose " + action_name(at.of_prose) + ", problems " + action_name(at.of_problems) + ")"
                             : "";
      t.rows.push_back({state_links[k], state_labels[j] + actions, speed_text(e),
                        change_text(gain_over(at.played[j], at.played[state_best], context.seed("qs_state_gain")))});
    }
  }
}

// ---- Coarse resolutions

//! Returns the actions of `lengths` at every resolution. The last one repeats until there are as many as a network has
//! outputs.
specverify::action_grid network_grid(std::span<const std::uint32_t> lengths,
                                     std::span<const std::uint32_t> resolutions) {
  specverify::action_grid grid = demand(specverify::make_action_grid(lengths, resolutions), "a grid");
  while (grid.size < specverify::dqn_actions) {
    grid.actions[grid.size] = grid.actions[grid.size - 1];
    ++grid.size;
  }
  return grid;
}

enum : std::size_t {
  coarse_target,
  paper_static,
  paper_network,
  wide_static,
  wide_heuristic,
  wide_network,
  coarse_systems
};
constexpr std::array<const char*, coarse_systems> coarse_labels{"target alone",
                                                                "best static of the paper's grid",
                                                                "DQN, paper's grid",
                                                                "best static, l = 12 to 720",
                                                                "heuristic, l = 12 to 240",
                                                                "DQN, l = 12, 24, 60"};

using coarse_row = std::array<qs_played, coarse_systems>;

struct coarse_result {
  coarse_row test, tune;
  specverify::window_action paper{}, wide{};
};

coarse_result measure_coarse(lab_context& context, std::size_t link, std::span<const qs_text> tune,
                             std::span<const qs_text> test) {
  constexpr std::array<std::uint32_t, 8> lengths{12, 8, 6, 5, 4, 3, 2, 1};
  constexpr std::array<std::uint32_t, 7> network_lengths{10, 8, 6, 5, 4, 3, 2};
  constexpr std::array<std::uint32_t, 3> coarse{60, 24, 12};
  constexpr std::array<std::uint32_t, 4> window_resolutions{240, 60, 24, 12};
  const qs_setting here = setting_on(link);
  qs_setting wide = here;
  wide.grid = network_grid(network_lengths, coarse);
  std::vector<specverify::window_action> every;
  for (const std::uint32_t length : specverify::paper_draft_lengths) {
    for (const std::uint32_t resolution : qs_resolutions) every.push_back({length, resolution});
  }
  const std::uint64_t seed = context.seed("qs_coarse_link"), network_seed = context.seed("qs_coarse_dqn");
  const std::uint32_t seeds = context.scaled(2u, 1u), episodes = context.scaled(400u, 10u);
  const auto paper_weights = best_network(here, tune, network_seed, seeds, episodes),
             wide_weights = best_network(wide, tune, network_seed, seeds, episodes);
  specverify::model_window window = heuristic_for(here);
  window.grid = demand(specverify::make_action_grid(lengths, window_resolutions), "a grid");
  coarse_result made;
  made.paper = best_action(here, tune, paper_grid.all(), seed);
  made.wide = best_action(here, tune, every, seed);
  const auto row_of = [&](std::span<const qs_text> texts) {
    const auto play = [&](const qs_player& player) { return replayed_texts(here, texts, 8, seed, player); };
    return coarse_row{
        alone(texts, here.times.verify_time), play(fixed_player(made.paper)), play(network_player(paper_weights, here)),
        play(fixed_player(made.wide)),        play(window_player(window)),    play(network_player(wide_weights, wide))};
  };
  made.tune = row_of(tune);
  made.test = row_of(test);
  return made;
}

void draw_coarse(const lab_context& context, const std::array<coarse_result, 3>& results,
                 const qs_acceptance& acceptance, figure& f) {
  panel& p = f.add_panel("coarse resolutions among the actions", "", "tokens/s");
  panel& a = f.add_panel("acceptance against bits", "bits of a draft with its token, V = 50272", "share accepted");
  table& t = f.add_table("tokens per second", {"link", "policy", "tokens/s", "over the paper's best static"});
  table& r = f.add_table("one draft", {"l", "bits with the token", "accepted"});
  curve& accepted = a.add("Q-S, prose, T = 0.4");
  a.log_x = true;
  for (std::size_t k = qs_resolutions.size(); k-- > 0;) {
    const auto bits = static_cast<double>(specverify::qs_uplink_bits(1, qs_setting{}.vocab_size, qs_resolutions[k]));
    accepted.add(bits, acceptance[k]);
    r.rows.push_back({std::to_string(qs_resolutions[k]), number(bits), number(acceptance[k], 3)});
  }
  for (const char* label : coarse_labels) p.add(label);
  for (std::size_t k = 0; k < results.size(); ++k) {
    p.x_names.emplace_back(state_links[k]);
    for (std::size_t j = 0; j < coarse_systems; ++j) {
      const estimate e = speed_of(results[k].test[j], context.seed("qs_coarse_interval"));
      p.curves[j].add(static_cast<double>(k), e.value, e.low, e.high);
      const std::string action = j == paper_static  ? " " + action_name(results[k].paper)
                                 : j == wide_static ? " " + action_name(results[k].wide)
                                                    : "";
      t.rows.push_back(
          {state_links[k], coarse_labels[j] + action, speed_text(e),
           change_text(gain_over(results[k].test[j], results[k].test[paper_static], context.seed("qs_coarse_gain")))});
    }
  }
}

}  // namespace

void run_qs_state(lab_context& context, figure& f) {
  f.about =
      "Episodes of 26 tokens of prose and 26 of a word problem, in alternating order, at temperature 0.4, recorded and "
      "replayed as in qs_speed. Drafts of problems are accepted more often, so the drafter's probabilities tell which "
      "kind comes next. One network sees the whole state, the other only the link's state; each is the best of three "
      "trainings on texts of tune. \"Best action of each kind\" is told the kind and plays the halves apart.";
  const std::size_t count = context.scaled<std::size_t>(100, 8);
  const two_kinds tune = record_kinds(context, "tune", 0, count), test = record_kinds(context, "test", count, count);
  std::array<state_result, 3> results;
  context.for_each(results.size(),
                   [&](lab_worker&, std::size_t k) { results[k] = measure_state(context, k, tune, test); });
  draw_state(context, results, f);
  const auto gain = [&](std::size_t k, std::size_t of, std::size_t over) {
    return gain_over(results[k].played[of], results[k].played[over], context.seed("qs_state_gain"));
  };
  const estimate slow = gain(0, state_seeing, state_blind), changing = gain(2, state_seeing, state_blind),
                 reach = gain(0, state_kinds, state_best), heuristic = gain(0, state_seeing, state_heuristic);
  f.answer(
      "qs.semantic_state", met_if(slow.low > 0),
      "over the same network without it, 350 kbit/s: " + change_text(slow) + ", 350k / 4M: " + change_text(changing),
      against(slow) + " and " + against(changing) + " by a margin of 3 %; drafts are accepted with " +
          number(mean_acceptance(test.problems)[1], 3) + " (problems) and " +
          number(mean_acceptance(test.prose)[1], 3) + " (prose), and a policy that is told the kind gains " +
          change_text(reach) + " over the best static");
  f.compare("the whole state against the heuristic, 350 kbit/s", "+8 to +12 %", change_text(heuristic),
            standing(heuristic, 0.08, 0.12) +
                "; the heuristic sees neither the probabilities nor the kind, but a running mean of the acceptance");
  f.require("every policy beats the target alone on every link", [&] {
    for (std::size_t k = 0; k < results.size(); ++k) {
      for (std::size_t j = state_best; j < state_systems; ++j) {
        if (!(context.quick() && (j == state_blind || j == state_seeing)) && gain(k, j, state_target).value <= 0)
          return false;
      }
    }
    return true;
  }());
}

void run_qs_coarse(lab_context& context, figure& f) {
  f.about =
      "The prose of qs_speed at temperature 0.4, with l = 12, 24 and 60 among the actions. The paper's grid has l = "
      "240 "
      "and 720. Best static actions were chosen among all on other texts (tune), and each network is the better of two "
      "trainings there, with 22 actions: its 7 lengths at each l, the last one twice.";
  const std::size_t count = context.scaled<std::size_t>(110, 8);
  const auto tune =
      record_texts(context, prose_tasks(context, 0, count), qs_temperature, qs_tokens, context.seed("qs_tune"));
  const auto test =
      record_texts(context, prose_tasks(context, count, count), qs_temperature, qs_tokens, context.seed("qs_test"));
  std::array<coarse_result, 3> results;
  context.for_each(results.size(),
                   [&](lab_worker&, std::size_t k) { results[k] = measure_coarse(context, k, tune, test); });
  draw_coarse(context, results, mean_acceptance(test), f);
  const auto gain = [&](std::size_t of, std::size_t over) {
    return gain_over(results[0].test[of], results[0].test[over], context.seed("qs_coarse_gain"));
  };
  const estimate fixed = gain(wide_static, paper_static), learned = gain(wide_network, paper_network),
                 tuned = gain_over(results[0].tune[wide_static], results[0].tune[paper_static],
                                   context.seed("qs_coarse_gain"));
  f.compare("coarse resolutions, best static, 350 kbit/s", "l = 720 and 240 alone",
            change_text(fixed) + ": " + action_name(results[0].wide) + " against " + action_name(results[0].paper),
            against(fixed) + " by a margin of 3 %: a coarse law costs few bits and loses little acceptance");
  f.compare("coarse resolutions, DQN, 350 kbit/s", "l = 720 and 240 alone", change_text(learned),
            against(learned) + " by a margin of 3 %; both networks were trained alike");
  require_sign(f, "best static with coarse resolutions over the paper's grid, 350 kbit/s", tuned, fixed);
  f.require("the heuristic over coarse resolutions beats the target alone at 350 kbit/s",
            gain(wide_heuristic, coarse_target).low > 0, change_text(gain(wide_heuristic, coarse_target)));
}

}  // namespace lab
