// SPDX-License-Identifier: Apache-2.0
// Compares uncertainty and entropy with the probability of rejection, per token and in bins.
#include "hlm_figures.hpp"
#include "hlm_record.hpp"

#include <array>

namespace lab {
namespace {

constexpr int chance_permutations = 200;

//! A score of tokens, and how well it predicts a rejection.
struct rejection_score {
  const char* label = nullptr;
  std::span<const double> score{};
  detail::binned bins{};
  estimate per_token{}, per_outcome{};  //!< correlations with the probability of a rejection, and with the draw
  double curve = 0;                     //!< AUC
};

//! What no correlation looks like: u in another order.
struct chance_scores {
  estimate per_token{};
  double mean_bins = 0, curve = 0;
  int as_large = 0;  //!< permutations whose bin means correlate at least as much as the true ones
};

//! Lines of rejection over uncertainty.
struct rejection_lines {
  specverify::linear_fit tokens{}, bins{}, entropy{}, printed{};
  specverify::uncertainty_thresholds of_tokens{}, of_bins{};
};

struct uncertainty_study {
  const hlm_record& record;
  std::array<rejection_score, 2> scores{};  //!< u, entropy
  chance_scores chance{};
  rejection_lines lines{};
  [[nodiscard]] const rejection_score& u() const { return scores[0]; }
  [[nodiscard]] const rejection_score& entropy() const { return scores[1]; }
};

void measure_scores(uncertainty_study& study, std::uint64_t seed) {
  const hlm_record& r = study.record;
  std::vector<double> rejected(r.size());
  for (std::size_t i = 0; i < r.size(); ++i) rejected[i] = r.rejected[i] ? 1 : 0;
  study.scores[0] = {"uncertainty u", r.uncertainty, detail::uncertainty_bins(r.uncertainty, r.rejection)};
  study.scores[1] = {"entropy of x", r.entropy, detail::quantile_bins(r.entropy, r.rejection)};
  for (rejection_score& one : study.scores) {
    one.per_token = detail::correlation_over_texts(r, one.score, r.rejection, seed);
    one.per_outcome = detail::correlation_over_texts(r, one.score, rejected, seed);
    one.curve = area_under_curve(one.score, r.rejected);
  }
  const std::vector<double> permuted = detail::shuffled(r.uncertainty, seed + 1);
  study.chance.per_token = detail::correlation_over_texts(r, permuted, r.rejection, seed);
  study.chance.curve = area_under_curve(permuted, r.rejected);
  for (int p = 0; p < chance_permutations; ++p) {
    const double found =
        detail::uncertainty_bins(detail::shuffled(r.uncertainty, seed + 2 + static_cast<std::uint64_t>(p)), r.rejection)
            .correlation();
    study.chance.mean_bins += found / chance_permutations;
    study.chance.as_large += found >= study.u().bins.correlation() ? 1 : 0;
  }
}

void fit_lines(uncertainty_study& study) {
  const hlm_record& r = study.record;
  rejection_lines& lines = study.lines;
  lines.tokens = demand(specverify::fit_linear(r.uncertainty, r.rejection), "fit");
  lines.bins = demand(specverify::fit_linear(study.u().bins.x, study.u().bins.y), "fit of bins");
  lines.entropy = demand(specverify::fit_linear(r.entropy, r.rejection), "fit of entropy");
  lines.printed.mean_squared_error = 1.41e-3;
  lines.printed.r_squared = 0.9774;
  lines.of_tokens = demand(specverify::thresholds(lines.tokens, r.rejectable), "thresholds");
  lines.of_bins = demand(specverify::thresholds(lines.bins, r.rejectable), "thresholds of bins");
}

//! Adds rows for the tokens of problems and of prose alone.
void add_parts(table& t, const hlm_record& r, std::uint64_t seed) {
  for (const auto& [label, of_problem] : {std::pair{"u, problems alone", 1u}, {"u, prose alone", 0u}}) {
    hlm_record part;
    part.texts = r.texts;
    std::vector<double> outcome;
    for (std::size_t i = 0; i < r.size(); ++i) {
      if (r.problem_tokens[i] != of_problem) continue;
      part.text.push_back(r.text[i]);
      part.uncertainty.push_back(r.uncertainty[i]);
      part.rejection.push_back(r.rejection[i]);
      part.rejected.push_back(r.rejected[i]);
      outcome.push_back(r.rejected[i] ? 1 : 0);
    }
    t.rows.push_back(
        {label, std::to_string(part.size()),
         detail::interval_text(detail::correlation_over_texts(part, part.uncertainty, part.rejection, seed)),
         detail::interval_text(detail::correlation_over_texts(part, part.uncertainty, outcome, seed)),
         number(detail::uncertainty_bins(part.uncertainty, part.rejection).correlation(), 3),
         number(area_under_curve(part.uncertainty, part.rejected), 3)});
  }
}

void show_scores(figure& f, const uncertainty_study& study, std::uint64_t seed) {
  const std::string tokens = std::to_string(study.record.size());
  table& t = f.add_table("Predictors of a rejection", {"score", "tokens", "per token, probability [95 %]",
                                                       "per token, outcome [95 %]", "bin means", "AUC"});
  for (const rejection_score& one : study.scores) {
    t.rows.push_back({one.label, tokens, detail::interval_text(one.per_token), detail::interval_text(one.per_outcome),
                      number(one.bins.correlation(), 3), number(one.curve, 3)});
  }
  add_parts(t, study.record, seed);
  t.rows.push_back({"u, shuffled", tokens, detail::interval_text(study.chance.per_token), "",
                    number(study.chance.mean_bins, 3) + " (mean of " + std::to_string(chance_permutations) + ")",
                    number(study.chance.curve, 3)});
}

void show_lines(figure& f, const uncertainty_study& study) {
  table& t = f.add_table("The line beta = a u + b",
                         {"fit", "a", "b", "mean squared error", "R2", "Delta", "u_th risk-prone", "u_th risk-averse"});
  const auto line = [&](const char* label, const specverify::linear_fit& of, double rejectable) {
    const auto at = specverify::thresholds(of, rejectable);
    t.rows.push_back({label, number(of.slope), number(of.intercept), number(of.mean_squared_error, 3),
                      number(of.r_squared), number(rejectable), at.ok() ? number(at.value().risk_prone) : "none",
                      at.ok() ? number(at.value().risk_averse) : "none"});
  };
  line("paper", study.lines.printed, 0.5956);
  line("ours, bin means", study.lines.bins, study.record.rejectable);
  line("ours, tokens", study.lines.tokens, study.record.rejectable);
  line("ours, tokens, on entropy (bits)", study.lines.entropy, study.record.rejectable);
}

void draw_uncertainty(figure& f, const uncertainty_study& study) {
  const auto draw_bins = [](panel& p, const detail::binned& bins) {
    curve& c = p.add("mean of tokens");
    c.points = true;
    for (std::size_t i = 0; i < bins.x.size(); ++i) c.add(bins.x[i], bins.y[i], bins.low[i], bins.high[i]);
  };
  panel& by_u =
      f.add_panel("Rejection against uncertainty", "u (20 draws, temperatures up to 2)", "rejection probability");
  draw_bins(by_u, study.u().bins);
  const rejection_lines& lines = study.lines;
  for (const auto& [label, of] :
       {std::pair{"fit of bin means", lines.bins}, {"fit of tokens", lines.tokens}, {"paper's fit", lines.printed}}) {
    curve& c = by_u.add(label);
    for (int j = 0; j <= 20; ++j) c.add(j / 20.0, specverify::expected_rejection(of, j / 20.0));
  }
  draw_bins(f.add_panel("Rejection against the drafter's entropy", "entropy in bits", "rejection probability"),
            study.entropy().bins);
  curve& share = f.add_panel("How uncertain tokens are", "u", "share of tokens").add("ours");
  for (std::size_t i = 0; i < study.u().bins.x.size(); ++i)
    share.add(study.u().bins.x[i], study.u().bins.count[i] / static_cast<double>(study.record.size()));
}

void say_uncertainty(figure& f, const uncertainty_study& study) {
  const hlm_record& r = study.record;
  const rejection_score& u = study.u();
  const rejection_lines& lines = study.lines;
  f.about = std::to_string(r.size()) + " drafted tokens of " + std::to_string(r.texts) +
            " texts (problems and prose, temperature 1), each verified by the target. Intervals are bootstrapped "
            "over texts. The bins of u are its 21 values; the bins of the entropy have equal numbers of tokens.";
  f.answer("hlm.correlation", u.per_token,
           detail::interval_text(u.per_token) + " per token, " + number(u.bins.correlation(), 3) + " of bin means",
           "the paper does not specify what it averages over");
  f.answer("hlm.line", std::fabs(lines.bins.r_squared - 0.9774) <= 0.05 ? finding::met : finding::in_sign,
           number(lines.bins.r_squared, 3) + " on bin means, " + number(lines.tokens.r_squared, 3) + " on tokens",
           "met if that of the bin means is within 0.05; the paper does not specify what it averages over");
  f.compare("slope and intercept", "0.815, -0.066",
            number(lines.bins.slope, 3) + ", " + number(lines.bins.intercept, 2) + " (bin means)",
            "slope: " + standing(lines.bins.slope, lines.printed.slope, 0.05) +
                "; another pair, whose drafter was distilled from its target: rejections at u = 1 are " +
                number(u.bins.y.back(), 3) + " on average");
  f.compare("Delta, share of tokens that are less probable under the target", "0.5956", number(r.rejectable, 3),
            standing(r.rejectable, 0.5956, 0.02) +
                "; it depends only on the pair and the texts, not on settings of the method");
  const auto printed = demand(specverify::thresholds(lines.printed, 0.5956), "the paper's thresholds");
  const bool same = std::fabs(printed.risk_averse - 0.0810) < 5e-5 && std::fabs(printed.risk_prone - 0.8117) < 5e-4;
  f.answer("hlm.thresholds", met_if(same),
           number(printed.risk_averse, 3) + ", " + number(printed.risk_prone, 4) +
               " from the paper's line and Delta; our pair: " + number(lines.of_bins.risk_averse, 3) + ", " +
               number(lines.of_bins.risk_prone, 3) + " (bin means)",
           lines.of_bins.risk_prone > 1
               ? "our line reaches Delta only beyond u = 1: the risk-prone rule lets this pair skip everything"
               : "our line reaches Delta at u = " + number(lines.of_bins.risk_prone, 3) +
                     ": the risk-prone rule skips tokens with a smaller u");
  const auto mass = [&](double from, double to) {
    double count = 0;
    for (const double at : r.uncertainty) count += at >= from - 1e-9 && at <= to + 1e-9 ? 1 : 0;
    return count / static_cast<double>(r.size());
  };
  const double low = mass(0, 0.05), middle = mass(0.45, 0.55) * 2 / 3, high = mass(0.95, 1);
  f.answer("hlm.density", met_if(low > middle && high > middle),
           number(100 * low, 3) + " % of the tokens at u = 0 and 0.05, " + number(100 * middle, 3) +
               " % at two values in the middle, " + number(100 * high, 3) + " % at 0.95 and 1",
           "a peak is met if its two values of u have more tokens than two in the middle");
}

void check_uncertainty(lab_context& context, figure& f, const uncertainty_study& study) {
  const rejection_score& u = study.u();
  const chance_scores& chance = study.chance;
  const std::size_t least = context.scaled<std::size_t>(5000, 1000);
  f.require("at least 5000 drafted tokens (--quick: 1000)", study.record.size() >= least,
            std::to_string(study.record.size()));
  f.require("correlation per token above 0.2, including the interval", u.per_token.low > 0.2,
            detail::interval_text(u.per_token));
  f.require("correlation of bin means at least 0.8", u.bins.correlation() >= context.scaled(0.8, 0.7),
            number(u.bins.correlation(), 3));
  f.require("with shuffled u there is no correlation per token",
            chance.per_token.low < 0 && chance.per_token.high > 0 && std::fabs(chance.per_token.value) < 0.05,
            detail::interval_text(chance.per_token));
  f.require("with shuffled u there is none of bin means: its mean is near 0, and fewer than 1 % reach the true one",
            std::fabs(chance.mean_bins) < 0.1 && chance.as_large * 100 < chance_permutations,
            number(chance.mean_bins, 3) + ", " + std::to_string(chance.as_large) + " of " +
                std::to_string(chance_permutations));
}

}  // namespace

void run_hlm_uncertainty(lab_context& context, figure& f) {
  const std::uint64_t seed = context.seed("hlm_uncertainty");
  uncertainty_study study{hlm_study_of(context).test};
  measure_scores(study, seed);
  fit_lines(study);
  show_scores(f, study, seed);
  show_lines(f, study);
  draw_uncertainty(f, study);
  say_uncertainty(f, study);
  check_uncertainty(context, f, study);
}

}  // namespace lab
