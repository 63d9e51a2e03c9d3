// SPDX-License-Identifier: Apache-2.0
// Computes WISV's figures about labels and about the training of decision heads.
#include "wisv_figures.hpp"

namespace lab {

namespace {

void answer_labels(const mismatch_set& set, const curve& sampled, bool one_way, bool falls, figure& f) {
  const auto count = static_cast<double>(set.size());
  f.require("no link labels a mismatch that the search did not label", one_way);
  f.require("no label is kept on a link and lost on a better one", falls);
  f.answer("wisv.relabel", met_if(one_way && falls),
           "of " + detail::points(static_cast<double>(set.important_count()) / count) + " % important mismatches, " +
               number(sampled.y.front(), 3) + " % stay so at 10 Mbit/s and " + number(sampled.y.back(), 3) +
               " % at 500; one way, and never lost on a better link",
           "the constants of (28) to (31) are ours, because the paper does not print them");
  f.answer("wisv.search", met_if(set.important_count() > 0 && set.important_count() < set.size()),
           detail::points(1 - static_cast<double>(set.important_count()) / count) + " % of " +
               std::to_string(set.size()) + " mismatches do not change the answer",
           "the paper only states that the outcome is checked; the order of the search is AutoJudge's, and a "
           "replacement without effect is kept");
}

}  // namespace

//! Computes the share of important mismatches, and the labels that remain on each link.
void run_wisv_labels(lab_context& context, figure& f) {
  wisv_study& study = study_of(context);
  const mismatch_set& set = study.mismatches();
  const auto count = static_cast<double>(set.size());
  f.about = "Greedy drafts on " + std::to_string(set.episodes) + " training problems: " + std::to_string(set.size()) +
            " mismatches (" + number(count / set.episodes, 3) + " a problem), of which " +
            detail::points(static_cast<double>(set.important_count()) / count) +
            " % change the answer by AutoJudge's search. Curves: the share of mismatches that keeps the label "
            "\"reject\" on a link of that rate (loss 1e-3), "
            "sampled with common uniforms (31) and by the hard budget (29).";
  panel& p = f.add_panel("labels \"reject\"", "rate in Mbit/s", "% of mismatches");
  p.log_x = true;
  const specverify::philox source{{{static_cast<std::uint32_t>(context.seed("wisv_labels")), 1}}};
  const std::array<double, 8> rates{10, 14, 20, 40, 80, 150, 300, 500};
  bool falls = true, one_way = true;
  std::vector<std::uint8_t> before;
  curve sampled{"sampled, sum", {}, {}, {}, {}, false}, largest{"sampled, maximum", {}, {}, {}, {}, false},
      hard{"hard budget", {}, {}, {}, {}, false};
  for (const double rate : rates) {
    std::vector<std::uint8_t> all;
    std::size_t kept_maximum = 0, kept_hard = 0;
    const specverify::relabel_options by_sum;
    specverify::relabel_options by_maximum;
    by_maximum.form = specverify::smoothing::maximum;
    const double quality = specverify::link_quality(rate * 1e6, 1e-3, by_sum);
    for (std::size_t first = 0; first < set.size();) {
      const smoothed_episode episode(set, first, by_sum);
      std::vector<std::uint8_t> labels = episode.relabelled(quality, source);
      all.insert(all.end(), labels.begin(), labels.end());
      const std::uint32_t budget =
          specverify::hard_label_budget(specverify::important_count(episode.important), quality, by_sum);
      demand(specverify::label_by_budget(episode.scores, episode.important, budget, labels), "label_by_budget");
      kept_hard += specverify::important_count(labels);
      kept_maximum += specverify::important_count(smoothed_episode(set, first, by_maximum).relabelled(quality, source));
      first = episode.last;
    }
    for (std::size_t j = 0; j < all.size(); ++j) {
      one_way = one_way && all[j] <= set.important[j];
      falls = falls && (before.empty() || before[j] <= all[j]);
    }
    sampled.add(rate, 100 * static_cast<double>(specverify::important_count(all)) / count);
    largest.add(rate, 100 * static_cast<double>(kept_maximum) / count);
    hard.add(rate, 100 * static_cast<double>(kept_hard) / count);
    before = std::move(all);
  }
  p.curves = {sampled, largest, hard};
  answer_labels(set, sampled, one_way, falls, f);
}

//! Shows the training of heads, and the choice of thresholds on the tuning problems.
void run_wisv_heads(lab_context& context, figure& f) {
  wisv_study& study = study_of(context);
  const auto& tuned = study.tunings();
  const std::vector<trained_head>& heads = study.heads();
  f.about =
      "Heads of width 256, and one of width 16, on the hidden states of both models (96 and 128 numbers) and "
      "the channel; 4 channels per episode, one tenth of the episodes for validation. " +
      std::to_string(head_plan{}.epochs) + " epochs, the second half at " + number(head_plan{}.late_rate) +
      " of the rate (the library's defaults: " + std::to_string(specverify::training_options{}.epochs) + " and " +
      number(specverify::training_options{}.late_rate) +
      "), which takes half of the time. The threshold is the largest candidate whose accuracy on " +
      std::to_string(study.tuning_problems()) + " tuning problems is at most " + number(100 * accepted_loss) +
      " points below greedy on the good link (500 Mbit/s, 5 ms) and on the poor link (20 Mbit/s, 50 ms); it is "
      "fixed before any test problem is read.";
  panel& loss = f.add_panel("validation loss", "epoch", "weighted cross entropy");
  panel& area = f.add_panel("validation AUC", "epoch", "AUC");
  table& t = f.add_table("heads", {"head", "samples", "labels reject %", "AUC", "tau"});
  double least_area = 1;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    curve &of_loss = loss.add(heads[h].plan.name), &of_area = area.add(heads[h].plan.name);
    double best_area = 0;
    for (const specverify::epoch_report& e : heads[h].epochs) {
      of_loss.add(e.epoch, e.validation_loss);
      of_area.add(e.epoch, e.validation_auc);
      if (e.best) best_area = e.validation_auc;
    }
    least_area = std::min(least_area, best_area);
    t.rows.push_back({heads[h].plan.name, std::to_string(heads[h].samples), detail::points(heads[h].label_rate),
                      number(best_area), number(tuned[h].chosen)});
    f.require("the head \"" + heads[h].plan.name + "\" tells harm from harmlessness: AUC above 0.8", best_area > 0.8,
              number(best_area));
    f.require("a threshold within the loss exists for \"" + heads[h].plan.name + "\"", tuned[h].found,
              number(tuned[h].chosen));
  }
  f.answer("wisv.head", met_if(least_area > 0.8), "validation AUC " + number(least_area) + " or more of every head",
           "the paper prints neither loss nor AUC");
  const auto& main = tuned[wisv_study::full_head];
  table& c =
      f.add_table("candidates on the tuning problems, WISV (greedy: " + detail::points(main.greedy) + " % right)",
                  {"tau", "right, poor %", "right, good %", "tokens per round, poor", "tokens per round, good"});
  for (std::size_t i = 0; i < candidate_thresholds.size(); ++i) {
    c.rows.push_back({number(candidate_thresholds[i]) + (candidate_thresholds[i] == main.chosen ? " (chosen)" : ""),
                      detail::points(main.accuracy[i][0]), detail::points(main.accuracy[i][1]),
                      number(main.length[i][0]), number(main.length[i][1])});
  }
}

}  // namespace lab
