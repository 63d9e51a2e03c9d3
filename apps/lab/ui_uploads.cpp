// SPDX-License-Identifier: Apache-2.0
// Compares uncertainty alone, uncertainty with importance, and a coin at equal uploads. Settings are chosen on problems
// of `tune` by the share that they upload, and importance rules by the problems that they solve there.
#include "hlm_outcomes.hpp"
#include "ui_figures.hpp"

namespace lab {
namespace {

constexpr double equal_uploads = 0.01;  //!< systems are compared if the shares on `test` differ by at most this

//! A rule with one free setting, and the members from few to many uploads.
struct upload_family {
  std::string label;
  std::vector<std::size_t> members;  //!< places in the list of systems
};

struct upload_study {
  std::vector<hlm_system> systems;
  std::vector<upload_family> families;  //!< uncertainty alone, a coin, then rules with importance
  std::vector<hlm_outcome> tune, test;
  std::uint64_t seed = 0;

  [[nodiscard]] std::vector<const hlm_outcome*> of(const upload_family& family, bool on_test) const {
    std::vector<const hlm_outcome*> made;
    for (const std::size_t s : family.members) made.push_back(&(on_test ? test : tune)[s]);
    return made;
  }
};

//! A family at a share of uploads: the mixture was chosen on `tune`.
struct matched_family {
  bool reached = false;  //!< whether the family can upload as much
  double tune_share = 0, test_share = 0;
  std::vector<double> tune_solved, test_solved;
};
[[nodiscard]] matched_family match(const upload_study& study, const upload_family& family, double share) {
  const auto tune = study.of(family, false), test = study.of(family, true);
  const upload_mixture mixture = mixture_at(tune, share);
  matched_family made{false, upload_share(tune, mixture), upload_share(test, mixture), solved_by(tune, mixture),
                      solved_by(test, mixture)};
  made.reached = std::fabs(made.tune_share - share) < 1e-6;
  return made;
}

void list_families(lab_context& context, upload_study& study) {
  const auto add = [&](upload_family& into, hlm_preset preset) {
    into.members.push_back(study.systems.size());
    study.systems.push_back({into.label, std::move(preset)});
  };
  upload_family alone{"U-HLM", {}}, coin{"HLM and a coin", {}};
  for (const double threshold : {-1.0, 0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6, 1.0})
    add(alone, specverify::u_hlm({threshold}));
  for (const double share : {0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0}) add(coin, specverify::rand_hlm({share}));
  study.families = {alone, coin};
  const auto rule = [&](std::uint32_t k, double gamma, bool inverted) {
    upload_family made{"UI, k " + std::to_string(k) + ", gamma " + number(gamma) + (inverted ? ", inverted" : ""), {}};
    specverify::uncertainty_and_importance_gate gate;
    gate.importance = {k, gamma, inverted};
    for (const double threshold : {-1.0, 0.0, 0.1, 0.2, 0.3, 0.6, 1.0}) {
      gate.threshold = threshold;
      add(made, specverify::ui(gate));
    }
    study.families.push_back(std::move(made));
  };
  rule(3, 1.5, false);
  rule(3, 1.5, true);
  rule(11, 0.5, true);
  rule(7, 5.0, true);
  if (context.quick()) return;
  rule(11, 0.5, false);
  rule(3, 5.0, false);
}

[[nodiscard]] upload_study measure_uploads(lab_context& context) {
  upload_study study;
  study.seed = context.seed("ui_uploads");
  list_families(context, study);
  const std::size_t count = context.scaled<std::size_t>(200, 14);
  study.tune = run_hlm_systems(context, study.systems, context.problems("tune", count), study.seed, true);
  study.test = run_hlm_systems(context, study.systems, context.problems("test", count), study.seed + count, true);
  return study;
}

//! The shares of uploads: the paper's text, Table II (three rows), and Theorem 1 of this pair.
struct upload_target {
  std::string label;
  double share = 0;
};
[[nodiscard]] std::vector<upload_target> upload_targets(lab_context& context) {
  const hlm_study& record = hlm_study_of(context);
  const auto at = specverify::thresholds(record.fit, record.tune.rejectable);
  std::vector<upload_target> made{
      {"low", 0.15}, {"text of CU-HLM", 0.25}, {"Table II, distilled", 0.28}, {"Table II", 0.30}, {"high", 0.39}};
  if (!at.ok()) return made;
  const auto share_above = [&](double threshold) {
    double sent = 0, tokens = 0;
    for (std::size_t i = 0; i < record.tune.size(); ++i) {
      if (record.tune.problem_tokens[i] == 0) continue;
      sent += specverify::uncertainty_gate{threshold}.send(record.tune.seen(i)) ? 1 : 0;
      tokens += 1;
    }
    return sent / std::max(1.0, tokens);
  };
  made.push_back(
      {"Theorem 1, risk-averse, u_th " + number(at.value().risk_averse, 2), share_above(at.value().risk_averse)});
  made.push_back(
      {"Theorem 1, risk-prone, u_th " + number(at.value().risk_prone, 3), share_above(at.value().risk_prone)});
  return made;
}

//! A rule with importance at one share, and how many problems of `tune` it solves more than uncertainty alone.
struct chosen_rule {
  std::size_t family = 0;  //!< 0: none uploads as much
  double share = 0, gain = -2;
};

//! Adds the rows of one share. Returns the rule that solves the most problems of `tune` there.
chosen_rule show_target(table& t, const upload_study& study, const upload_target& target) {
  if (target.share <= 0) {
    t.rows.push_back({target.label, "0", "all", "0", "", "", "", "they are the SLM"});
    return {};
  }
  const matched_family alone = match(study, study.families[0], target.share);
  chosen_rule best;
  for (std::size_t k = 0; k < study.families.size(); ++k) {
    const matched_family one = match(study, study.families[k], target.share);
    std::vector<std::string> cells{target.label, number(target.share, 3), study.families[k].label};
    if (!one.reached) {
      cells.insert(cells.end(), {number(one.tune_share, 3) + " at most", "", "", "", ""});
      t.rows.push_back(std::move(cells));
      continue;
    }
    const double gain = mean_of(one.tune_solved) - mean_of(alone.tune_solved);
    if (k >= 2 && gain > best.gain) best = {k, target.share, gain};
    const double apart = one.test_share - alone.test_share;
    const estimate lost =
                       paired_difference(study.test[study.families[0].members[0]].solved, one.test_solved, study.seed),
                   more = paired_difference(one.test_solved, alone.test_solved, study.seed);
    cells.insert(cells.end(),
                 {number(one.test_share, 3), detail::interval_text(mean_estimate(one.test_solved, study.seed)),
                  detail::interval_text(lost), k == 0 ? "" : detail::interval_text(more),
                  k == 0                             ? ""
                  : std::fabs(apart) > equal_uploads ? "uploads differ"
                                                     : against(more)});
    t.rows.push_back(std::move(cells));
  }
  return best;
}

void draw_uploads(figure& f, const upload_study& study) {
  panel& p = f.add_panel("Accuracy over uploads", "share of tokens uploaded, TR", "problems solved");
  for (const upload_family& family : study.families) {
    std::vector<const hlm_outcome*> members = study.of(family, true);
    std::sort(members.begin(), members.end(),
              [](const hlm_outcome* a, const hlm_outcome* b) { return a->upload_share() < b->upload_share(); });
    curve& c = p.add(family.label);
    for (const hlm_outcome* one : members) {
      const estimate e = mean_estimate(one->solved, study.seed, 400);
      c.add(one->upload_share(), e.value, e.low, e.high);
    }
  }
}

//! Checks uncertainty alone against a coin at one share.
void check_coin(figure& f, const upload_study& study, double share) {
  const matched_family alone = match(study, study.families[0], share), coin = match(study, study.families[1], share);
  const estimate tuned = paired_difference(alone.tune_solved, coin.tune_solved, study.seed),
                 tested = paired_difference(alone.test_solved, coin.test_solved, study.seed);
  require_sign(f, "uncertainty alone against a coin", tuned, tested);
  f.require("uncertainty alone solves no fewer problems than a coin with as many uploads", tested.high >= 0,
            detail::interval_text(tested));
}

//! Answers for the rule and the share with the largest gain on `tune`.
void say_uploads(figure& f, const upload_study& study, const chosen_rule& best) {
  const auto over = [&](const std::vector<double>& a, const std::vector<double>& b) {
    return paired_difference(a, b, study.seed);
  };
  const matched_family alone = match(study, study.families[0], best.share),
                       both = match(study, study.families[best.family], best.share),
                       written = match(study, study.families[2], best.share);
  const std::string& label = study.families[best.family].label;
  const estimate tuned = over(both.tune_solved, alone.tune_solved), tested = over(both.test_solved, alone.test_solved);
  require_sign(f, label + " against uncertainty alone", tuned, tested);
  f.answer(
      "ui.two_signals", met_if(against(tested) == "better"),
      label + " at " + number(100 * best.share, 3) + " % uploads: " + detail::interval_text(tested) +
          " more problems than uncertainty alone, " + against(tested),
      "rule and share have the largest gain on tune (" + detail::interval_text(tuned) + "); shares on test differ by " +
          number(both.test_share - alone.test_share, 2) + "; k 3, gamma 1.5 as written " +
          (written.reached ? "solves " + detail::interval_text(over(written.test_solved, alone.test_solved)) + " more"
                           : "uploads at most " + number(100 * written.tune_share, 3) + " %"));
}

}  // namespace

void run_ui_uploads(lab_context& context, figure& f) {
  const upload_study study = measure_uploads(context);
  table& t = f.add_table(
      "Problems at equal uploads, paired [95 %]",
      {"share from", "share", "system", "uploaded on test", "solved", "less than HLM", "more than U-HLM", ""});
  const std::vector<upload_target> targets = upload_targets(context);
  chosen_rule best;
  for (const upload_target& target : targets) {
    const chosen_rule here = show_target(t, study, target);
    if (here.gain > best.gain) best = here;
  }
  draw_uploads(f, study);
  if (best.family == 0) throw std::logic_error("no rule with importance uploads any of the shares");
  say_uploads(f, study, best);
  check_coin(f, study, 0.28);
  double furthest = 0;
  for (const upload_target& target : targets) {
    const matched_family a = match(study, study.families[0], target.share),
                         b = match(study, study.families[1], target.share);
    if (a.reached && b.reached) furthest = std::max(furthest, std::fabs(a.test_share - b.test_share));
  }
  f.about =
      "HLM, uncertainty alone (U-HLM), both signals (UI) and a coin upload equal shares of the tokens. Each text draws "
      "one "
      "of two neighbouring settings; the settings and the odds are chosen on " +
      std::to_string(study.tune[0].solved.size()) +
      " problems of tune by the share alone, the free setting of UI being its threshold on u. Systems are compared on "
      "other problems, if their shares there differ by at most 0.01. The margin of equivalence is 3 points.";
  f.require("shares of U-HLM and the coin agree on other problems within 3 points (--quick: 15)",
            furthest <= context.scaled(0.03, 0.15), number(furthest, 2));
}

}  // namespace lab
