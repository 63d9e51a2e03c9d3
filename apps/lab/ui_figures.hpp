// SPDX-License-Identifier: Apache-2.0
//! Computes the figures on uncertainty and importance: savings and cost of a second skip policy, which uses attention.
#ifndef SPECVERIFY_APPS_LAB_UI_FIGURES_HPP
#define SPECVERIFY_APPS_LAB_UI_FIGURES_HPP

#include <specverify/link/energy.hpp>

#include "hlm_figures.hpp"

namespace lab {

//! Threshold on u. At the default of 0.8 the embedded pair uploads too few tokens for a second skip policy to matter;
//! the figure shows the number.
inline constexpr double ui_threshold = 0.2;

//! Joules per token, in total and on the device, over a Rayleigh link at 10 dB. Every upload is a full distribution,
//! counted as in the paper.
struct ui_energy {
  double all = 0, device = 0;
};
[[nodiscard]] inline ui_energy energy_of(const hlm_outcome& outcome) {
  using namespace specverify;
  fading_options link;
  link.mean_snr = from_decibel(10);
  const round_times compute;
  energy_times times{
      compute.draft_time,
      static_cast<double>(hlm_full_bits({})) * rayleigh_channel::make(link).value().mean_seconds_per_bit(), 0,
      compute.verify_time};
  const power_options everybody;
  power_options device;
  device.verify = 0;
  const double share = outcome.upload_share();
  const auto mean = [&](const power_options& power) {
    return share * round_energy(power, times, true) + (1 - share) * round_energy(power, times, false);
  };
  return {mean(everybody), mean(device)};
}

//! Results for one point of the grid.
struct ui_point {
  std::string label;
  double solved = 0, low = 0, high = 0, saved = 0, device_saved = 0, upload_share = 0, reject_rate = 0;
};

//! Returns the points that no other point beats in both accuracy and saving.
[[nodiscard]] inline std::vector<std::size_t> pareto_front(std::span<const ui_point> points) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool beaten = std::any_of(points.begin(), points.end(), [&](const ui_point& other) {
      return other.solved >= points[i].solved && other.saved >= points[i].saved &&
             (other.solved > points[i].solved || other.saved > points[i].saved);
    });
    if (!beaten) front.push_back(i);
  }
  std::sort(front.begin(), front.end(),
            [&](std::size_t a, std::size_t b) { return points[a].saved < points[b].saved; });
  return front;
}

//! Runs the k x gamma grid, with the rule as printed and inverted, and the systems without the second skip policy.
inline void run_ui_grid(lab_context& context, figure& f) {
  using specverify::importance_rule;
  const auto problems = context.problems("test", context.scaled<std::size_t>(100, 10));
  const std::uint64_t seed = context.seed("ui_grid");
  const std::vector<std::uint32_t> ks =
      context.quick() ? std::vector<std::uint32_t>{3, 11} : std::vector<std::uint32_t>{3, 5, 7, 9, 11};
  const std::vector<double> gammas =
      // the paper's grid ends at 1.5
      context.quick() ? std::vector<double>{0.5, 1.5, 5.0} : std::vector<double>{0.5, 1.0, 1.5, 3.0, 5.0};
  std::vector<hlm_system> systems{{"HLM", hlm_of_paper()}, {"SLM", specverify::rand_hlm({0.0})}};
  for (const double threshold : {0.0, 0.2, 0.4, 0.6, 0.8, 0.9})
    systems.push_back({"U-HLM, u_th " + number(threshold), specverify::u_hlm({threshold})});
  const std::size_t first_coin = systems.size();
  for (const double share : {0.1, 0.25, 0.5})
    systems.push_back({"coin, " + number(100 * share) + " %", specverify::rand_hlm({share})});
  const std::size_t without_grid = systems.size();
  for (const bool inverted : {false, true}) {
    for (const std::uint32_t k : ks) {
      for (const double gamma : gammas) {
        specverify::uncertainty_and_importance_gate gate;
        gate.threshold = ui_threshold;
        gate.importance = importance_rule{k, gamma, inverted};
        systems.push_back({std::string(inverted ? "inverted" : "as written") + ", k " + std::to_string(k) + ", gamma " +
                               number(gamma),
                           specverify::ui(gate)});
      }
    }
  }
  const std::vector<hlm_outcome> outcomes = run_hlm_systems(context, systems, problems, seed, true);
  const ui_energy reference = energy_of(outcomes[0]);
  std::vector<ui_point> points;
  for (std::size_t s = 0; s < systems.size(); ++s) {
    const ui_energy energy = energy_of(outcomes[s]);
    const estimate e = mean_estimate(outcomes[s].solved, seed, 400);
    points.push_back({systems[s].label, e.value, e.low, e.high, specverify::energy_saving(energy.all, reference.all),
                      specverify::energy_saving(energy.device, reference.device), outcomes[s].upload_share(),
                      outcomes[s].reject_rate()});
  }
  panel& plane =
      f.add_panel("Accuracy against energy saved", "energy saved against HLM, device and server", "problems solved");
  const std::size_t half = (systems.size() - without_grid) / 2;
  const auto scatter = [&](const char* label, std::size_t from, std::size_t count) {
    curve& c = plane.add(label);
    c.points = true;
    for (std::size_t i = from; i < from + count; ++i) c.add(points[i].saved, points[i].solved);
  };
  scatter("as written", without_grid, half);
  scatter("inverted", without_grid + half, half);
  scatter("uncertainty alone, u_th 0 to 0.9", 2, first_coin - 2);
  scatter("HLM, SLM", 0, 2);
  const std::vector<std::size_t> front = pareto_front(points);
  curve& line = plane.add("Pareto front");
  for (const std::size_t i : front) line.add(points[i].saved, points[i].solved);
  // SLM uploads nothing and HLM everything, so both belong to both families.
  std::vector<const hlm_outcome*> gates{&outcomes[0], &outcomes[1]}, coins = gates;
  for (std::size_t s = 2; s < without_grid; ++s) (s < first_coin ? gates : coins).push_back(&outcomes[s]);
  panel& over = f.add_panel("Accuracy over uploads", "share of tokens uploaded, TR", "problems solved");
  for (const auto& [label, family] : {std::pair{"uncertainty alone", &gates}, {"a coin", &coins}}) {
    std::vector<const hlm_outcome*> ordered = *family;
    std::sort(ordered.begin(), ordered.end(),
              [](const hlm_outcome* a, const hlm_outcome* b) { return a->upload_share() < b->upload_share(); });
    curve& c = over.add(label);
    for (const hlm_outcome* one : ordered) c.add(one->upload_share(), mean_of(one->solved));
  }
  for (const bool inverted : {false, true}) {
    curve& c = over.add(inverted ? "two gates, inverted" : "two gates, as written");
    c.points = true;
    for (std::size_t i = without_grid + (inverted ? half : 0), end = i + half; i < end; ++i)
      c.add(points[i].upload_share, points[i].solved);
  }
  panel& uploads = f.add_panel("Uploads over the grid", "k", "share of tokens uploaded");
  for (const bool inverted : {false, true}) {
    for (std::size_t g = 0; g < gammas.size(); ++g) {
      curve& c = uploads.add(std::string(inverted ? "inverted" : "as written") + ", gamma " + number(gammas[g]));
      for (std::size_t k = 0; k < ks.size(); ++k)
        c.add(ks[k], points[without_grid + (inverted ? half : 0) + k * gammas.size() + g].upload_share);
    }
  }
  table& t = f.add_table("Grid", {"system", "solved [95 %]", "energy saved", "saved by the device", "uploaded",
                                  "rejected of uploads", "on the front"});
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ui_point& p = points[i];
    t.rows.push_back({p.label, interval(p.solved, p.low, p.high), number(100 * p.saved, 3) + " %",
                      number(100 * p.device_saved, 3) + " %", number(p.upload_share, 3), number(p.reject_rate, 3),
                      std::find(front.begin(), front.end(), i) != front.end() ? "yes" : ""});
  }
  const auto mean_over = [&](bool inverted, double ui_point::*field) {
    double sum = 0;
    for (std::size_t i = 0; i < half; ++i) sum += points[without_grid + (inverted ? half : 0) + i].*field;
    return sum / static_cast<double>(half);
  };
  const auto cell = [&](std::uint32_t k, double gamma) -> const ui_point& {
    const auto at = [](const auto& list, auto value) {
      return static_cast<std::size_t>(std::find(list.begin(), list.end(), value) - list.begin());
    };
    return points[without_grid + at(ks, k) * gammas.size() + at(gammas, gamma)];
  };
  const ui_point &accurate = cell(3, 1.5), &efficient = cell(11, 0.5), &alone = points[3],
                 &at_default = points[6];  // u_th 0.2, 0.8
  const auto place_of = [&](const ui_point& p) { return static_cast<std::size_t>(&p - points.data()); };
  f.about =
      "Problems at temperature 1; a token is uploaded if more than 20 % of 20 draws disagree and its attention "
      "row (last layer, mean over heads) passes. The threshold on u is 0.2 instead of the default 0.8, because "
      "at 0.8 uncertainty by itself uploads " +
      number(100 * at_default.upload_share, 3) + " % of the tokens and solves " + number(100 * at_default.solved, 3) +
      " %, at 0.2 " + number(100 * alone.upload_share, 3) + " % and " + number(100 * alone.solved, 3) +
      " %, so that a second criterion has tokens to decide on. Energy: 10 W for drafting, 1.5 W for sending, "
      "250 W for verifying, full laws over a Rayleigh link at 10 dB; the paper's own model is not public.";
  const auto both = [](const ui_point& p) {
    return number(100 * p.solved, 3) + " % solved, " + number(100 * p.saved, 3) + " % saved";
  };
  const auto passes = [&](const ui_point& p) {
    return "of the " + number(100 * alone.upload_share, 3) +
           " % of tokens that uncertainty alone uploads the rule as written lets about " +
           number(100 * p.upload_share / alone.upload_share, 3) + " % through";
  };
  const auto against_alone = [&](const ui_point& p) {
    return paired_difference(outcomes[place_of(p)].solved, outcomes[place_of(alone)].solved, seed, 400);
  };
  // Compares with the threshold on u at which uncertainty without attention uploads as much: a mixture of the two
  // nearest thresholds.
  const auto at_equal_uploads = [&](const ui_point& p) {
    return paired_difference(outcomes[place_of(p)].solved, solved_at(gates, p.upload_share), seed, 400);
  };
  const auto against_coin = [&](const ui_point& p) {
    return paired_difference(outcomes[place_of(p)].solved, solved_at(coins, p.upload_share), seed, 400);
  };
  const auto solved_by = [](const estimate& e) {
    return by_sign(e, "fewer problems than uncertainty alone", "as many problems as uncertainty alone",
                   "more problems than uncertainty alone");
  };
  f.compare("k = 3, gamma = 1.5 (accuracy)", "87.5 % BERTScore (U-HLM 85.8 %), 40.7 % saved", both(accurate),
            solved_by(against_alone(accurate)) + " " + detail::interval_text(against_alone(accurate)) + "; " +
                passes(accurate));
  f.compare("k = 11, gamma = 0.5 (efficiency)", "87.0 % BERTScore (U-HLM 85.8 %), 43.6 % saved", both(efficient),
            solved_by(against_alone(efficient)) + " " + detail::interval_text(against_alone(efficient)) + "; " +
                passes(efficient) + "; the paper does not specify layer and heads");
  f.compare("uncertainty alone", "85.8 % BERTScore, 31.6 % saved", both(alone) + " at u_th 0.2",
            "share saved: " + standing(alone.saved, 0.316, 0.005) + ", with " + number(100 * alone.upload_share, 3) +
                " % uploaded; the paper's share is not given");
  const ui_point& inverted = points[without_grid + half + place_of(accurate) - without_grid];
  f.compare("k = 3, gamma = 1.5, inverted", "sharp rows pass, in words", both(inverted),
            solved_by(against_alone(inverted)) + " " + detail::interval_text(against_alone(inverted)) + ", " +
                number(100 * (inverted.saved - alone.saved), 3) + " points more saved");
  const std::tuple<const char*, const ui_point*> equal[] = {{"k = 3, gamma = 1.5", &accurate},
                                                            {"k = 11, gamma = 0.5", &efficient},
                                                            {"k = 3, gamma = 1.5, inverted", &inverted}};
  for (const auto& [label, p] : equal) {
    f.compare("at equal uploads, " + std::string(label), "-",
              number(100 * p->upload_share, 3) + " % uploaded: less uncertainty alone " +
                  detail::interval_text(at_equal_uploads(*p)) + ", less a coin " +
                  detail::interval_text(against_coin(*p)) + " of the problems",
              solved_by(at_equal_uploads(*p)) + " with as many uploads; " +
                  by_sign(against_coin(*p), "fewer than a coin", "as many as a coin", "more than a coin"));
  }
  // Speed uses the link of the energy model, because the paper's link is not public. Therefore only ratios to U-HLM can
  // be compared.
  specverify::fading_options speed_link;
  speed_link.mean_snr = specverify::from_decibel(10);
  const double upload = static_cast<double>(specverify::hlm_full_bits({})) *
                        specverify::rayleigh_channel::make(speed_link).value().mean_seconds_per_bit();
  const auto speed = [&](const ui_point& p) { return 1 / specverify::hlm_mean_round_time({}, p.upload_share, upload); };
  const std::tuple<const char*, const ui_point*, double> rates[] = {{"k = 3, gamma = 1.5", &accurate, 0.37},
                                                                    {"k = 11, gamma = 0.5", &efficient, 0.40},
                                                                    {"uncertainty alone", &alone, 0.36}};
  for (const auto& [label, p, printed] : rates) {
    f.compare(std::string("speed, ") + label,
              number(printed) + " tokens/s, " + number(printed / 0.36, 3) + " times U-HLM",
              number(speed(*p), 3) + " tokens/s, " + number(speed(*p) / speed(alone), 3) + " times U-HLM",
              standing(speed(*p) / speed(alone), printed / 0.36, 0.01) +
                  " as a ratio; by the paper's passes of 25.6 and 104.6 ms over Rayleigh fading at 10 dB, while a "
                  "third of a token a second needs a far slower "
                  "link or device");
  }
  f.compare("which rows are important", "sharp ones, in words",
            "as written " + number(100 * mean_over(false, &ui_point::upload_share), 3) +
                " % of tokens pass both gates, inverted " + number(100 * mean_over(true, &ui_point::upload_share), 3) +
                " % (mean over the grid)",
            "the rule passes rows with many weights near the largest; but the paper's words describe its complement, "
            "which solves " +
                number(100 * mean_over(true, &ui_point::solved), 3) + " % against " +
                number(100 * mean_over(false, &ui_point::solved), 3) + " %");
  f.require("inverted solves more problems than the rule as written (mean over the grid)",
            mean_over(true, &ui_point::solved) > mean_over(false, &ui_point::solved),
            number(mean_over(true, &ui_point::solved), 3) + " and " + number(mean_over(false, &ui_point::solved), 3));
  f.require("no second criterion uploads more than uncertainty by itself, within the effect on the texts (5 points)",
            [&] {
              for (std::size_t i = without_grid; i < points.size(); ++i) {
                if (points[i].upload_share > alone.upload_share + context.scaled(0.05, 0.15)) return false;
              }
              return true;
            }());
  f.require("HLM saves nothing and uploads every token",
            points[0].upload_share >= 1 && std::fabs(points[0].saved) < 1e-12);
  f.require("k = 3, gamma = 1.5 uploads at least as much as k = 11, gamma = 0.5",
            accurate.upload_share >= efficient.upload_share,
            number(accurate.upload_share, 3) + ", " + number(efficient.upload_share, 3));
}

//! Runs the skip policies on one recorded text each. Only the decision differs, so uploads must fall with k and grow
//! with gamma.
inline void run_ui_trace(lab_context& context, figure& f) {
  struct moment {
    specverify::skip_observation seen{};
    std::vector<float> attention{};
    double rejection = 0;
  };
  const auto problems = context.problems("test", context.scaled<std::size_t>(80, 8));
  const std::uint64_t seed = context.seed("ui_trace");
  std::vector<std::vector<moment>> texts(problems.size());
  const hlm_system measured{"HLM", specverify::u_hlm({-1.0})};
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    worker.drafter.want_attention();
    (void)write_hlm_text(worker, problems[i].prompt, measured, hlm_temperature, hlm_problem_tokens, seed + i, true,
                         [&](const hlm_step& step, const hlm_view& view) {
                           moment& m = texts[i].emplace_back();
                           m.seen.disagreements = step.disagreements;
                           m.seen.samples = step.samples;
                           m.attention.assign(view.attention.begin(), view.attention.end());
                           m.rejection = step.rejection;
                         });
  });
  double tokens = 0;
  for (const auto& text : texts) tokens += static_cast<double>(text.size());
  const std::vector<std::uint32_t> ks{1, 3, 5, 7, 9, 11, 15};
  const std::vector<double> gammas{0.5, 1.0, 1.5, 3.0, 5.0};
  panel& uploads = f.add_panel("Uploads", "k", "share of tokens");
  panel& missed = f.add_panel("Rejections among tokens kept", "k", "mean rejection probability");
  bool falls = true, grows = true;
  for (const bool inverted : {false, true}) {
    std::vector<double> before;
    for (const double gamma : gammas) {
      std::vector<double> shares;
      curve shown, lost;
      for (const std::uint32_t k : ks) {
        specverify::uncertainty_and_importance_gate gate;
        gate.threshold = ui_threshold;
        gate.importance = specverify::importance_rule{k, gamma, inverted};
        double sent = 0, kept_rejection = 0;
        for (auto& text : texts) {
          for (moment& m : text) {
            m.seen.attention = m.attention;
            if (gate.send(m.seen)) {
              sent += 1;
            } else {
              kept_rejection += m.rejection;
            }
          }
        }
        shares.push_back(sent / tokens);
        shown.add(k, sent / tokens);
        lost.add(k, kept_rejection / std::max(1.0, tokens - sent));
      }
      for (std::size_t i = 0; i < shares.size() && !inverted; ++i) {
        falls = falls && (i == 0 || shares[i] <= shares[i - 1]);
        grows = grows && (before.empty() || shares[i] >= before[i]);
      }
      if (!inverted) before = shares;
      shown.label = lost.label = std::string(inverted ? "inverted" : "as written") + ", gamma " + number(gamma);
      uploads.curves.push_back(shown);
      missed.curves.push_back(lost);
    }
  }
  f.about = "Texts that the target verified token by token, with the skip policies applied afterwards (u_th = 0.2).";
  f.require("uploads fall with k", falls);
  f.require("uploads grow with gamma", grows);
}

}  // namespace lab

#endif
