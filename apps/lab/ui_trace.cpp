// SPDX-License-Identifier: Apache-2.0
// Runs the skip policies on one recorded text each. Only the decision differs, so uploads must fall with k and grow
// with gamma.
#include "ui_figures.hpp"
#include "ui_moments.hpp"

#include <array>
#include <functional>

namespace lab {
namespace {

constexpr std::array<std::uint32_t, 7> trace_ks{1, 3, 5, 7, 9, 11, 15};
constexpr std::array<double, 5> trace_gammas{0.5, 1.0, 1.5, 3.0, 5.0};

//! Result of one rule on all texts.
struct trace_cell {
  double sent = 0;                //!< share of tokens
  double missed = 0;              //!< mean rejection probability of the tokens that are kept
  double tokens = 0, unlike = 0;  //!< tokens on which the library and the formula disagree
};

//! The rule by the formula: the k-th largest weight is above the largest less gamma standard deviations.
[[nodiscard]] bool important_by_formula(std::vector<float> weights, std::uint32_t k, double gamma) {
  if (weights.size() < k) return false;
  double mean = 0, squares = 0;
  for (const float w : weights) mean += static_cast<double>(w) / static_cast<double>(weights.size());
  for (const float w : weights) squares += (static_cast<double>(w) - mean) * (static_cast<double>(w) - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(weights.size()));
  std::sort(weights.begin(), weights.end(), std::greater<>());
  return static_cast<double>(weights[k - 1]) > static_cast<double>(weights[0]) * (1 + 1e-12) - gamma * deviation;
}

[[nodiscard]] trace_cell trace_rule(const std::vector<ui_text>& texts, const specverify::importance_rule& rule) {
  specverify::uncertainty_and_importance_gate gate;
  gate.threshold = ui_threshold;
  gate.importance = rule;
  trace_cell made;
  for (const ui_text& text : texts) {
    for (const ui_moment& m : text) {
      made.tokens += 1;
      const bool send = m.sent_by(gate);
      made.sent += send ? 1 : 0;
      made.missed += send ? 0 : m.rejection;
      if (rule.inverted) continue;
      const bool expected = gate.uncertain(m.seen) && important_by_formula(m.attention, rule.k, rule.gamma);
      made.unlike += expected != send ? 1 : 0;
    }
  }
  made.missed /= std::max(1.0, made.tokens - made.sent);
  made.sent /= std::max(1.0, made.tokens);
  return made;
}

}  // namespace

void run_ui_trace(lab_context& context, figure& f) {
  const auto problems = context.problems("test", context.scaled<std::size_t>(80, 8));
  const std::vector<ui_text> texts = record_ui(context, problems, context.seed("ui_trace"));
  panel& uploads = f.add_panel("Uploads", "k", "share of tokens");
  panel& missed = f.add_panel("Rejections among tokens kept", "k", "mean rejection probability");
  bool falls = true, grows = true;
  double unlike = 0, decided = 0;
  for (const bool inverted : {false, true}) {
    std::vector<double> before;
    for (const double gamma : trace_gammas) {
      const std::string label = std::string(inverted ? "inverted" : "as written") + ", gamma " + number(gamma);
      curve &shown = uploads.add(label), &lost = missed.add(label);
      for (const std::uint32_t k : trace_ks) {
        const trace_cell cell = trace_rule(texts, {k, gamma, inverted});
        shown.add(k, cell.sent);
        lost.add(k, cell.missed);
        unlike += cell.unlike;
        decided += inverted ? 0 : cell.tokens;
      }
      if (inverted) continue;
      for (std::size_t i = 0; i < shown.y.size(); ++i) {
        falls = falls && (i == 0 || shown.y[i] <= shown.y[i - 1]);
        grows = grows && (before.empty() || shown.y[i] >= before[i]);
      }
      before = shown.y;
    }
  }
  double accepted = 0, expected = 0, spread = 0;
  for (const ui_text& text : texts) {
    for (const ui_moment& m : text)
      accepted += m.accepted ? 1 : 0, expected += 1 - m.rejection, spread += m.rejection * (1 - m.rejection);
  }
  const double apart = (accepted - expected) / std::sqrt(std::max(1.0, spread));
  f.about = "Texts that the target verified token by token, with the skip policies applied afterwards (u_th = 0.2).";
  f.answer(
      "ui.rule", met_if(unlike <= 0),
      number(unlike) + " of " + number(decided, 7) + " decisions differ from the formula",
      "the library's decisions and a recomputation in double; by the digest, which does not specify layer and heads");
  f.answer("ui.test", met_if(std::fabs(apart) < 4),
           number(accepted, 6) + " accepted, " + number(expected, 6) + " expected, " + number(apart, 2) +
               " standard deviations apart",
           "expected by min(1, y_d / x_d) of each token");
  f.answer("ui.uploads", met_if(falls && grows), falls && grows ? "monotone" : "not monotone",
           "on equal texts, for the rule as written");
  f.require("uploads fall with k", falls);
  f.require("uploads grow with gamma", grows);
  f.require("the rule decides as its formula", unlike <= 0, number(unlike));
  f.require("as many tokens are accepted as expected, within 4 standard deviations", std::fabs(apart) < 4,
            number(apart, 3));
}

}  // namespace lab
