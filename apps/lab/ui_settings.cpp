// SPDX-License-Identifier: Apache-2.0
// Measures uncertainty with other numbers of draws N and other largest temperatures T, at all thresholds, on recorded
// texts: the paper prints no settings.
#include "hlm_record.hpp"
#include "ui_figures.hpp"

#include <array>

namespace lab {
namespace {

constexpr std::array<std::uint32_t, 4> setting_draws{5, 10, 20, 40};
constexpr std::array<double, 4> setting_temperatures{0.5, 1, 2, 4};
constexpr std::size_t setting_count = setting_draws.size() * setting_temperatures.size();
constexpr std::size_t default_setting = 2 * setting_temperatures.size() + 2;  //!< N = 20, T = 2
constexpr double setting_uploads = 0.28;  //!< share of uploads at which settings are compared
constexpr double setting_margin = 0.01;   //!< of false skips per token, stated before

struct draw_setting {
  std::uint32_t draws = 20;
  double temperature = 2;
  [[nodiscard]] std::string label() const { return "N = " + std::to_string(draws) + ", T = " + number(temperature); }
};
[[nodiscard]] draw_setting setting_at(std::size_t place) {
  return {setting_draws[place / setting_temperatures.size()],
          setting_temperatures[place % setting_temperatures.size()]};
}

//! Tokens of recorded texts, with the disagreements under each setting.
struct setting_tokens {
  hlm_record record;  //!< without uncertainty
  std::array<std::vector<double>, setting_count> uncertainty;
};

//! Measures the disagreements of one token under each setting.
void measure_settings(std::span<const float> row, token_id token, std::uint64_t seed, std::uint32_t position,
                      std::array<std::vector<double>, setting_count>& into) {
  using namespace specverify;
  const philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  std::vector<std::byte> memory;
  for (std::size_t s = 0; s < setting_count; ++s) {
    const perturbation_options options{setting_at(s).draws, setting_at(s).temperature};
    const auto vocab_size = static_cast<std::uint32_t>(row.size());
    memory.resize(perturbation_workspace_size(vocab_size));
    workspace scratch{std::span<std::byte>(memory)};
    const auto reading =
        demand(read_row(exec::simd, logits_row(row), perturbed_transform({}, options), perturbed_request(), scratch),
               "reading");
    const uniforms<philox> random{source, position, static_cast<std::uint32_t>(s)};
    into[s].push_back(demand(temperature_perturbation(reading, token, options, random), "disagreement").value());
  }
}

[[nodiscard]] setting_tokens record_settings(lab_context& context, const std::string& set, std::size_t count) {
  const auto problems = context.problems(set, count);
  const std::uint64_t seed = context.seed("ui_trace");
  std::vector<setting_tokens> texts(problems.size());
  const hlm_system system{"HLM", specverify::u_hlm({-1.0})};
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    std::uint32_t position = 0;
    (void)write_hlm_text(worker, problems[i].prompt, system, hlm_temperature, hlm_problem_tokens, seed + i, true,
                         [&](const hlm_step& step, const hlm_view& view) {
                           measure_settings(view.drafter, step.drafted, seed + i, position++, texts[i].uncertainty);
                           texts[i].record.rejection.push_back(step.rejection);
                           texts[i].record.rejected.push_back(!step.accepted);
                         });
  });
  setting_tokens made;
  made.record.texts = static_cast<std::uint32_t>(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const hlm_record& one = texts[i].record;
    made.record.text.insert(made.record.text.end(), one.rejection.size(), static_cast<std::uint32_t>(i));
    made.record.rejection.insert(made.record.rejection.end(), one.rejection.begin(), one.rejection.end());
    made.record.rejected.insert(made.record.rejected.end(), one.rejected.begin(), one.rejected.end());
    for (std::size_t s = 0; s < setting_count; ++s)
      made.uncertainty[s].insert(made.uncertainty[s].end(), texts[i].uncertainty[s].begin(),
                                 texts[i].uncertainty[s].end());
  }
  return made;
}

//! Sums over one text: tokens that are sent and rejections that are missed, for each threshold j / N.
struct threshold_sums {
  std::vector<double> sent, missed;
  double tokens = 0;
};
[[nodiscard]] std::vector<threshold_sums> sums_by_text(const setting_tokens& tokens, std::size_t s) {
  const std::uint32_t draws = setting_at(s).draws;
  std::vector<threshold_sums> made(tokens.record.texts);
  for (threshold_sums& one : made) one.sent.assign(draws + 1, 0.0), one.missed.assign(draws + 1, 0.0);
  for (std::size_t i = 0; i < tokens.record.size(); ++i) {
    threshold_sums& one = made[tokens.record.text[i]];
    const auto disagreements = static_cast<std::uint32_t>(std::lround(draws * tokens.uncertainty[s][i]));
    one.tokens += 1;
    for (std::uint32_t j = 0; j <= draws; ++j)
      (disagreements > j ? one.sent : one.missed)[j] += disagreements > j ? 1 : tokens.record.rejection[i];
  }
  return made;
}

//! Returns the false skips per token at `share` of uploads: tokens at the threshold draw whether they are sent.
[[nodiscard]] double false_skips_at(const std::vector<threshold_sums>& texts, std::span<const std::size_t> places,
                                    double share) {
  double tokens = 0;
  for (const std::size_t t : places) tokens += texts[t].tokens;
  double sent_before = 1, missed_before = 0;
  for (std::size_t j = 0; j < texts[0].sent.size(); ++j) {
    double sent = 0, missed = 0;
    for (const std::size_t t : places) sent += texts[t].sent[j] / tokens, missed += texts[t].missed[j] / tokens;
    if (sent <= share) {
      const double part = sent_before > sent ? (share - sent) / (sent_before - sent) : 0;
      return missed + part * (missed_before - missed);
    }
    sent_before = sent, missed_before = missed;
  }
  return missed_before;
}

//! Returns the false skips of setting `a` less those of `b`, at equal uploads.
[[nodiscard]] estimate fewer_false_skips(const setting_tokens& tokens, std::size_t a, std::size_t b,
                                         std::uint64_t seed) {
  const auto of_a = sums_by_text(tokens, a), of_b = sums_by_text(tokens, b);
  return bootstrap(
      of_a.size(), seed,
      [&](std::span<const std::size_t> places) {
        return false_skips_at(of_b, places, setting_uploads) - false_skips_at(of_a, places, setting_uploads);
      },
      300);
}

[[nodiscard]] double false_skips(const setting_tokens& tokens, std::size_t s, double share) {
  const auto sums = sums_by_text(tokens, s);
  std::vector<std::size_t> all(sums.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return false_skips_at(sums, all, share);
}

void draw_settings(figure& f, const setting_tokens& tokens) {
  for (const bool temperatures : {true, false}) {
    panel& p = f.add_panel(temperatures ? "False skips over uploads, N = 20" : "False skips over uploads, T = 2",
                           "share of tokens uploaded (thresholds from 1 to 0)", "false skips per token");
    for (std::size_t s = 0; s < setting_count; ++s) {
      const draw_setting of = setting_at(s);
      if (temperatures ? of.draws != 20 : std::fabs(of.temperature - 2) > 1e-9) continue;
      curve& c = p.add(of.label());
      for (int i = 0; i <= 20; ++i) c.add(i / 20.0, false_skips(tokens, s, i / 20.0));
    }
  }
}

}  // namespace

void run_ui_settings(lab_context& context, figure& f) {
  const setting_tokens tune = record_settings(context, "tune", context.scaled<std::size_t>(40, 4)),
                       test = record_settings(context, "test", context.scaled<std::size_t>(60, 6));
  const std::uint64_t seed = context.seed("ui_settings");
  std::size_t best = 0, equivalent = 0;
  table& t = f.add_table("Settings of the uncertainty",
                         {"setting", "correlation with rejection [95 %]", "AUC", "false skips at 28 %, tune",
                          "false skips at 28 %, test", "fewer than N = 20, T = 2, paired [95 %]", ""});
  for (std::size_t s = 0; s < setting_count; ++s) {
    const double tuned = false_skips(tune, s, setting_uploads);
    if (tuned < false_skips(tune, best, setting_uploads)) best = s;
    const estimate fewer = fewer_false_skips(test, s, default_setting, seed);
    const bool itself = s == default_setting;
    const std::string word = itself ? "" : against(fewer, setting_margin);
    equivalent += itself || word == "equivalent" ? 1u : 0u;
    t.rows.push_back({setting_at(s).label(),
                      detail::interval_text(detail::correlation_over_texts(test.record, test.uncertainty[s],
                                                                           test.record.rejection, seed)),
                      number(area_under_curve(test.uncertainty[s], test.record.rejected), 3), number(tuned, 3),
                      number(false_skips(test, s, setting_uploads), 3), itself ? "" : detail::interval_text(fewer),
                      word});
  }
  draw_settings(f, test);
  const estimate chosen = fewer_false_skips(test, best, default_setting, seed),
                 chosen_on_tune = fewer_false_skips(tune, best, default_setting, seed);
  if (best != default_setting)
    require_sign(f, setting_at(best).label() + " against N = 20, T = 2", chosen_on_tune, chosen);
  f.about =
      std::to_string(test.record.size()) + " tokens of " + std::to_string(test.record.texts) +
      " problems that the target verified. N draws at temperatures up to T; a token is sent if more than a share u_th "
      "of the draws differ. False skips: the probability that a token is kept although the target would reject it. "
      "Settings are compared at equal uploads (28 %; tokens at the threshold draw), with a margin of 0.01.";
  f.answer(
      "ui.settings", met_if(equivalent == setting_count),
      std::to_string(equivalent) + " of " + std::to_string(setting_count) +
          " settings are equivalent to N = 20, T = 2; the best on tune is " + setting_at(best).label() + ": " +
          detail::interval_text(chosen) + " fewer false skips per token, " + against(chosen, setting_margin),
      "met if the settings that the paper does not print do not matter; here N is from 5 to 40 and T from 0.5 to 4");
  f.require("false skips fall with uploads for N = 20, T = 2",
            false_skips(test, default_setting, 0.6) <= false_skips(test, default_setting, 0.1));
}

}  // namespace lab
