// SPDX-License-Identifier: Apache-2.0
// Computes the quality of Quantize-Sample-and-Verify over temperature, with static and with dynamic policies.
#include "qs_quality.hpp"

#include "qs_figures.hpp"
#include "qs_players.hpp"
#include "say.hpp"

namespace lab {

namespace {

constexpr std::size_t quality_target = 0, quality_drafter = 1, quality_coarse = 2, quality_fine = 3;
constexpr double quality_chance = 1e-6;  // level of each of the 30 tests of distributions of a run

//! The figure's results at each temperature.
struct quality_results {
  const lab_context& context;
  std::vector<double> temperatures;
  qs_quality_cells cells;
  estimate coarse_on_tune;  //!< S-Q at l = 12 minus the target, problem by problem, at the highest temperature

  [[nodiscard]] const std::vector<qs_quality_cell>& hottest() const { return cells.back(); }
  [[nodiscard]] double distance(std::size_t k, std::size_t w) const {
    return cells[k][w].distance / std::max(1.0, cells[k][w].tokens);
  }
  [[nodiscard]] double entropy(std::size_t k, std::size_t w) const {
    return cells[k][w].entropy / std::max(1.0, cells[k][w].tokens);
  }
  //! Problems solved by all writers of one kind, minus those of the target, over all temperatures.
  [[nodiscard]] estimate gap(bool dynamic) const {
    std::vector<double> right, wanted;
    for (const auto& row : cells) {
      for (std::size_t w = 0; w < qs_writers.size(); ++w) {
        if (!qs_writers[w].in_session() || qs_writers[w].dynamic() != dynamic) continue;
        right.insert(right.end(), row[w].right.begin(), row[w].right.end());
        wanted.insert(wanted.end(), row[quality_target].right.begin(), row[quality_target].right.end());
      }
    }
    // one sample is a problem, because the outcomes of one problem at all temperatures belong together
    const std::size_t problems = cells[0][quality_target].right.size();
    std::vector<double> ours(problems, 0.0), theirs(problems, 0.0);
    const double weight = static_cast<double>(problems) / static_cast<double>(right.size());
    for (std::size_t i = 0; i < right.size(); ++i) {
      ours[i % problems] += right[i] * weight;
      theirs[i % problems] += wanted[i] * weight;
    }
    return paired_difference(ours, theirs, context.seed("qs_quality_interval"));
  }
  //! Returns how the tokens that the dynamic (or static) methods wrote spread over cells of equal probability in the
  //! target's distribution, and the smallest p-value of any one method.
  [[nodiscard]] std::pair<place_counts, double> places(bool dynamic) const {
    std::pair<place_counts, double> made{{}, 1};
    for (const auto& row : cells) {
      for (std::size_t w = 0; w < qs_writers.size(); ++w) {
        if (!qs_writers[w].in_session() || qs_writers[w].dynamic() != dynamic) continue;
        made.first.add(row[w].in_target);
        made.second = std::min(made.second, row[w].in_target.p_value());
      }
    }
    return made;
  }
};

void draw_quality(const quality_results& of, figure& f) {
  panel& accuracy = f.add_panel("task accuracy", "temperature", "share of problems solved");
  panel& far = f.add_panel("distance to the target's distribution", "temperature", "total variation");
  panel& entropy = f.add_panel("entropy of the emitted distribution", "temperature", "bits per token");
  far.log_y = true;
  table& t = f.add_table(
      "quality", {"temperature", "system", "solved", "total variation to the target, formula", "entropy in bits",
                  "tokens", "p-value of its formula", "p-value of the target's distribution"});
  for (std::size_t w = 0; w < qs_writers.size(); ++w) {
    const qs_writer& writer = qs_writers[w];
    curve &solved = accuracy.add(writer.label), &bits = entropy.add(writer.label);
    const bool moves = !writer.in_session() && w != quality_target;  // a logarithmic axis cannot show 0
    curve* distance = moves ? &far.add(writer.label) : nullptr;
    for (std::size_t k = 0; k < of.temperatures.size(); ++k) {
      const qs_quality_cell& cell = of.cells[k][w];
      const estimate share = mean_estimate(cell.right, of.context.seed("qs_quality_interval"));
      solved.add(of.temperatures[k], share.value, share.low, share.high);
      bits.add(of.temperatures[k], of.entropy(k, w));
      if (distance != nullptr) distance->add(of.temperatures[k], of.distance(k, w));
      const bool tested = writer.in_session() || writer.samples_first();
      t.rows.push_back({number(of.temperatures[k]), writer.label, interval(share.value, share.low, share.high),
                        writer.in_session() ? "0" : number(of.distance(k, w), 3), number(of.entropy(k, w), 3),
                        number(cell.tokens, 6), tested ? number(cell.own.p_value(), 2) : "",
                        tested ? number(cell.in_target.p_value(), 2) : ""});
    }
  }
}

void say_lossless(const quality_results& of, figure& f) {
  for (const bool dynamic : {false, true}) {
    const estimate gap = of.gap(dynamic);
    const auto [places, least] = of.places(dynamic);
    const std::string word = against(gap);
    const finding found = met_if(places.p_value() >= quality_chance && word != "worse");
    const std::string ours = "problems solved, all temperatures, minus the target's: " +
                             interval(gap.value, gap.low, gap.high) +
                             "; the sessions' tokens against the target's law: p = " + number(places.p_value(), 2),
                      why = word +
                            " by a margin of 3 points; the rule keeps the distribution by construction, whatever "
                            "plans the rounds";
    if (dynamic) {
      f.answer("qs.quality_dynamic", found, ours, why);
    } else {
      f.answer("qs.quality_static", found, ours, why);
      f.answer("qs.law", met_if(places.p_value() >= quality_chance),
               "rank of the sessions' tokens in the target's law: p = " + number(places.p_value(), 2),
               "chi-square over 20 cells; the law tests of the library prove it by enumeration");
    }
    f.require(std::string("tokens written by the sessions under ") + (dynamic ? "dynamic" : "static") +
                  " Q-S follow the target's distribution (20 cells, level 1e-6, each temperature)",
              least >= quality_chance, "least p " + number(least, 2));
  }
}

void say_lossy(const quality_results& of, figure& f, bool quick) {
  const std::size_t last = of.temperatures.size() - 1;
  const auto& hot = of.hottest();
  const double coarse = of.distance(last, quality_coarse), fine = of.distance(last, quality_fine);
  const estimate lost =
      paired_difference(hot[quality_coarse].right, hot[quality_target].right, of.context.seed("qs_quality_interval"));
  double least_formula = 1;
  place_counts coarse_places;
  for (const auto& row : of.cells) {
    least_formula = std::min({least_formula, row[quality_coarse].own.p_value(), row[quality_fine].own.p_value()});
    coarse_places.add(row[quality_coarse].in_target);
  }
  const bool rises = coarse > of.distance(0, quality_coarse) && fine > of.distance(0, quality_fine);
  f.answer("qs.mismatched_law", met_if(coarse_places.p_value() < quality_chance && rises),
           "total variation at T = " + number(of.temperatures[last]) + ": " + number(coarse, 3) + " (l = 12), " +
               number(fine, 3) +
               " (l = 240); problems solved at l = 12 minus the target's: " + interval(lost.value, lost.low, lost.high),
           against(lost) +
               " by a margin of 3 points; the distance is computed, the tokens come from the lossy rule; the "
               "drafter by itself is at " +
               number(of.distance(last, quality_drafter), 3));
  bool grows = true;
  for (std::size_t w = 0; w < qs_writers.size(); ++w) grows = grows && of.entropy(last, w) > of.entropy(0, w);
  f.answer("qs.entropy", met_if(grows),
           "target alone: " + number(of.entropy(0, quality_target), 3) + " bits at T = " + number(of.temperatures[0]) +
               ", " + number(of.entropy(last, quality_target), 3) + " at T = " + number(of.temperatures[last]),
           "of the law of each emitted token; compared for all eight writers");
  f.require(
      "tokens written by the lossy rule under S-Q follow its formula (20 cells, level 1e-6, each temperature and l)",
      least_formula >= quality_chance, "least p " + number(least_formula, 2));
  f.require("by formula the distribution of S-Q is not the target's, and a coarser lattice is worse",
            coarse > fine && fine > 1e-6, number(coarse, 3) + " and " + number(fine, 3));
  if (quick) return;  // six problems are too few
  f.require("the same test detects that S-Q at l = 12 differs from the target's distribution (all temperatures)",
            coarse_places.p_value() < quality_chance, number(coarse_places.p_value(), 2));
  require_sign(f, "problems solved by S-Q at l = 12 minus the target's at the highest temperature", of.coarse_on_tune,
               lost);
}

}  // namespace

void run_qs_quality(lab_context& context, figure& f) {
  f.about =
      "Word problems written at one temperature for both models. S-Q draws the draft and quantizes afterwards; the "
      "library's lossy rule verifies it, token by token. Q-S quantizes, draws and verifies; its text comes from the "
      "two "
      "sessions: at L = 4, or with a policy that plans each round of a link that changes between 350 kbit/s and 4 "
      "Mbit/s. The network was trained on problems of tune at T = 0.4. Distance is the mean total variation between "
      "the "
      "distribution of the next token and the target's, by formula; for Q-S it is 0 by formula, so it is not a "
      "measurement. A test checks whether the written tokens follow these distributions: the rank of each token in its "
      "distribution, ordered by the difference between S-Q and target, must be uniform over 20 cells (chi-square).";
  qs_setting setting;
  setting.prefix_free = false;
  setting.times = {};
  setting.vocab_size = static_cast<std::uint32_t>(context.vocabulary().vocab_size());
  setting.link.start = specverify::markov_start::stationary;
  const auto tune = context.problems("tune", context.scaled<std::size_t>(150, 6));
  qs_training plan;
  plan.episodes = context.scaled(300u, 20u);
  const auto texts = record_texts(context, {tune.begin(), tune.begin() + static_cast<std::ptrdiff_t>(tune.size() / 3)},
                                  qs_temperature, qs_tokens, context.seed("qs_quality_tune"));
  const specverify::dqn_trainer trainer = train_dqn(setting, texts, context.seed("qs_quality_dqn"), false, plan);
  const auto link = demand(specverify::markov_channel::make(setting.link), "a link");
  quality_results of{
      context, context.quick() ? std::vector<double>{0.4, 1.0} : std::vector<double>{0.2, 0.4, 0.6, 0.8, 1.0}, {}, {}};
  constexpr std::array<std::size_t, 2> lossy{quality_target, quality_coarse};
  constexpr std::array<std::size_t, 8> all{0, 1, 2, 3, 4, 5, 6, 7};
  static_assert(all.size() == qs_writers.size());
  const qs_quality_cells tuned = measure_quality({context, "qs_quality_tune", trainer.best(), link}, tune,
                                                 std::span(&of.temperatures.back(), 1), lossy);
  of.coarse_on_tune = paired_difference(tuned[0][quality_coarse].right, tuned[0][quality_target].right,
                                        context.seed("qs_quality_interval"));
  of.cells = measure_quality({context, "qs_quality", trainer.best(), link},
                             context.problems("test", context.scaled<std::size_t>(150, 6)), of.temperatures, all);
  draw_quality(of, f);
  say_lossless(of, f);
  say_lossy(of, f, context.quick());
}

}  // namespace lab
