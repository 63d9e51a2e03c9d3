// SPDX-License-Identifier: Apache-2.0
// Lists and runs the systems of the grid.
#include "ui_cells.hpp"

namespace lab {
namespace {

//! Returns a ratio over all tokens of the texts, with an interval over texts.
template <class Above, class Below>
[[nodiscard]] estimate ratio_of_steps(const hlm_outcome& outcome, std::uint64_t seed, Above above, Below below) {
  std::vector<double> tops, bottoms;
  for (const hlm_text& text : outcome.texts) {
    double top = 0, bottom = 0;
    for (const hlm_step& step : text.steps) top += above(step) ? 1 : 0, bottom += below(step) ? 1 : 0;
    tops.push_back(top);
    bottoms.push_back(bottom);
  }
  return ratio_estimate(tops, bottoms, seed, 400);
}

void list_systems(lab_context& context, cell_study& study) {
  study.ks = context.quick() ? std::vector<std::uint32_t>{3, 11} : std::vector<std::uint32_t>{3, 5, 7, 9, 11};
  study.gammas =  // the paper's grid ends at 1.5
      context.quick() ? std::vector<double>{0.5, 1.5, 5.0} : std::vector<double>{0.5, 1.0, 1.5, 3.0, 5.0};
  const auto add = [&](std::string label, hlm_preset preset) {
    study.systems.push_back({std::move(label), std::move(preset)});
    return study.systems.size() - 1;
  };
  study.gates = study.coins = {add("HLM", hlm_of_paper()), add("SLM", specverify::rand_hlm({0.0}))};
  for (const double threshold : {0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 0.9}) {
    study.gates.push_back(add("U-HLM, u_th " + number(threshold), specverify::u_hlm({threshold})));
    if (std::fabs(threshold - ui_threshold) < 1e-9) study.alone = study.gates.back();
    if (std::fabs(threshold - 0.8) < 1e-9) study.at_default = study.gates.back();
  }
  for (const double share : {0.05, 0.1, 0.2, 0.3, 0.5})
    study.coins.push_back(add("coin, " + number(100 * share) + " %", specverify::rand_hlm({share})));
  study.points.resize(study.systems.size());
  for (const bool inverted : {false, true}) {
    for (const std::uint32_t k : study.ks) {
      for (const double gamma : study.gammas) {
        specverify::uncertainty_and_importance_gate gate;
        gate.threshold = ui_threshold;
        gate.importance = specverify::importance_rule{k, gamma, inverted};
        add(std::string(inverted ? "inverted" : "as written") + ", k " + std::to_string(k) + ", gamma " + number(gamma),
            specverify::ui(gate));
        ui_point& p = study.points.emplace_back();
        p.k = k, p.gamma = gamma, p.inverted = inverted;
      }
    }
  }
}

}  // namespace

cell_study measure_cells(lab_context& context) {
  cell_study study;
  study.seed = context.seed("ui_grid");
  list_systems(context, study);
  const auto problems = context.problems("test", context.scaled<std::size_t>(200, 10));
  study.outcomes = run_hlm_systems(context, study.systems, problems, study.seed, true);
  const round_energies everybody = energies_at({}), device = energies_with_server(0);
  const auto gates = study.family(study.gates), coins = study.family(study.coins);
  for (std::size_t s = 0; s < study.systems.size(); ++s) {
    const hlm_outcome& one = study.outcomes[s];
    ui_point& p = study.points[s];
    p.label = study.systems[s].label;
    p.solved = mean_estimate(one.solved, study.seed, 400);
    const auto sent = [](const hlm_step& step) { return step.sent; };
    p.share = ratio_of_steps(one, study.seed, sent, [](const hlm_step&) { return true; });
    p.reject = ratio_of_steps(
        one, study.seed, [](const hlm_step& step) { return step.sent && !step.accepted; }, sent);
    p.saved = {everybody.saved(p.share.value), everybody.saved(p.share.high), everybody.saved(p.share.low)};
    p.device_saved = device.saved(p.share.value);
    if (p.k == 0) continue;
    const auto over = [&](const std::vector<const hlm_outcome*>& family) {
      return paired_difference(one.solved, solved_by(family, mixture_at(family, one.upload_share())), study.seed, 400);
    };
    p.over_alone = over(gates);
    p.over_coin = over(coins);
  }
  return study;
}

}  // namespace lab
