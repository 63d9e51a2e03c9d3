// SPDX-License-Identifier: Apache-2.0
//! Computes WISV's figures about labels, decision heads, and accuracy over the threshold.
#ifndef SPECVERIFY_APPS_LAB_WISV_FIGURES_HPP
#define SPECVERIFY_APPS_LAB_WISV_FIGURES_HPP

#include "papers.hpp"
#include "say.hpp"
#include "wisv_study.hpp"

namespace lab {

//! Returns the study of a context. The first figure that needs a part of the study computes this part.
[[nodiscard]] inline wisv_study& study_of(lab_context& context) {
  static const lab_context* whose = nullptr;
  static std::unique_ptr<wisv_study> study;
  if (whose != &context || !study) study = std::make_unique<wisv_study>(context);
  whose = &context;
  return *study;
}

namespace detail {

[[nodiscard]] inline std::string points(double share, int digits = 3) { return number(100 * share, digits); }
[[nodiscard]] inline std::string points(const estimate& e) {
  return interval(100 * e.value, 100 * e.low, 100 * e.high) + " points";
}
[[nodiscard]] inline std::string gain(const estimate& e) {
  return interval(100 * e.value, 100 * e.low, 100 * e.high) + " %";
}
[[nodiscard]] inline const char* link_name(std::size_t link) {
  static constexpr const char* names[] = {"20 Mbit/s, 50 ms", "20 Mbit/s, 5 ms", "500 Mbit/s, 50 ms",
                                          "500 Mbit/s, 5 ms"};
  return names[link];
}

//! Returns the loss of accuracy, paired by problem.
[[nodiscard]] inline estimate accuracy_loss(const scored_set& greedy, const scored_set& semantic, std::uint64_t seed) {
  return paired_difference(solved_of(greedy), solved_of(semantic), seed);
}

//! Returns the tokens per round of `semantic` divided by the tokens per round of `greedy`, minus 1. The bootstrap draws
//! whole problems.
[[nodiscard]] inline estimate length_gain(const scored_set& greedy, const scored_set& semantic, std::uint64_t seed) {
  const std::array<std::vector<double>, 4> sums{sums_of(semantic, &semantic_round::emitted), rounds_of(semantic),
                                                sums_of(greedy, &semantic_round::emitted), rounds_of(greedy)};
  return bootstrap(greedy.size(), seed, [&](std::span<const std::size_t> places) {
    std::array<double, 4> total{};
    for (const std::size_t i : places) {
      for (std::size_t s = 0; s < 4; ++s) total[s] += sums[s][i];
    }
    return total[0] * total[3] / std::max(1.0, total[1] * total[2]) - 1;
  });
}

//! Returns the share of accepted mismatches on the poor link minus the share on the good link, each from texts
//! generated on this link.
[[nodiscard]] inline estimate acceptance_difference(const scored_set& on_poor, const scored_set& on_good,
                                                    std::uint64_t seed) {
  const std::array<std::vector<double>, 4> sums{
      sums_of(on_poor, &semantic_round::accepted_mismatches), sums_of(on_poor, &semantic_round::scored),
      sums_of(on_good, &semantic_round::accepted_mismatches), sums_of(on_good, &semantic_round::scored)};
  return bootstrap(on_poor.size(), seed, [&](std::span<const std::size_t> places) {
    std::array<double, 4> total{};
    for (const std::size_t i : places) {
      for (std::size_t s = 0; s < 4; ++s) total[s] += sums[s][i];
    }
    return total[0] / std::max(1.0, total[1]) - total[2] / std::max(1.0, total[3]);
  });
}

//! Returns the same difference over the mismatches along the target's own text, each scored on both links.
[[nodiscard]] inline estimate forced_difference(const std::vector<forced_problem>& forced, std::uint64_t seed) {
  return bootstrap(forced.size(), seed, [&](std::span<const std::size_t> places) {
    double more = 0, all = 0;
    for (const std::size_t i : places)
      more += forced[i].accepted[0] - forced[i].accepted[1], all += forced[i].mismatches;
    return more / std::max(1.0, all);
  });
}

[[nodiscard]] inline double accepted_share(const scored_set& set) {
  return mean_of(sums_of(set, &semantic_round::accepted_mismatches)) /
         std::max(1e-9, mean_of(sums_of(set, &semantic_round::scored)));
}

}  // namespace detail

//! Computes the share of important mismatches, and the labels that remain on each link.
inline void run_wisv_labels(lab_context& context, figure& f) {
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
    for (std::size_t first = 0, last = 0; first < set.size(); first = last) {
      last = set.episode_end(first);
      const auto positions = std::span(set.position).subspan(first, last - first);
      const auto important = std::span(set.important).subspan(first, last - first);
      std::vector<double> scores(last - first);
      std::vector<std::uint8_t> labels(last - first);
      specverify::relabel_options options;
      const double quality = specverify::link_quality(rate * 1e6, 1e-3, options);
      demand(specverify::smooth(positions, important, options, scores), "smooth");
      demand(specverify::relabel({positions, important, scores, set.episode[first]}, quality, source, options, labels),
             "relabel");
      all.insert(all.end(), labels.begin(), labels.end());
      const std::uint32_t budget =
          specverify::hard_label_budget(specverify::important_count(important), quality, options);
      demand(specverify::label_by_budget(scores, important, budget, labels), "label_by_budget");
      kept_hard += specverify::important_count(labels);
      options.form = specverify::smoothing::maximum;
      demand(specverify::smooth(positions, important, options, scores), "smooth");
      demand(specverify::relabel({positions, important, scores, set.episode[first]}, quality, source, options, labels),
             "relabel");
      kept_maximum += specverify::important_count(labels);
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
  f.require("no link labels a mismatch that the search did not label", one_way);
  f.require("no label is kept on a link and lost on a better one", falls);
  f.compare("meaning of a label", "an answer changed by one replaced token",
            "the same, but replacements without effect are kept",
            "the paper only states that the outcome is checked; the order of the search is AutoJudge's");
}

//! Shows the training of heads, and the choice of thresholds on the tuning problems.
inline void run_wisv_heads(lab_context& context, figure& f) {
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
  for (std::size_t h = 0; h < heads.size(); ++h) {
    curve &of_loss = loss.add(heads[h].plan.name), &of_area = area.add(heads[h].plan.name);
    double best_area = 0;
    for (const specverify::epoch_report& e : heads[h].epochs) {
      of_loss.add(e.epoch, e.validation_loss);
      of_area.add(e.epoch, e.validation_auc);
      if (e.best) best_area = e.validation_auc;
    }
    t.rows.push_back({heads[h].plan.name, std::to_string(heads[h].samples), detail::points(heads[h].label_rate),
                      number(best_area), number(tuned[h].chosen)});
    f.require("the head \"" + heads[h].plan.name + "\" tells harm from harmlessness: AUC above 0.8", best_area > 0.8,
              number(best_area));
    f.require("a threshold within the loss exists for \"" + heads[h].plan.name + "\"", tuned[h].found,
              number(tuned[h].chosen));
  }
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

//! Computes accuracy over the threshold, and the gain in accepted length at each loss of accuracy.
inline void run_wisv_accuracy(lab_context& context, figure& f) {
  wisv_study& study = study_of(context);
  const auto& r = study.tests();
  const double chosen = study.tunings()[wisv_study::full_head].chosen;
  constexpr std::size_t at = 3;  // main_length
  static_assert(window_lengths[at] == main_length);
  f.about = std::to_string(r.problems) +
            " held-out problems, L = 32, rates up and down alike, loss 1e-3. The threshold of the checks, " +
            number(chosen) +
            ", was fixed on the tuning problems; the curves show the others. Right: the answer at the end of the "
            "text is correct. Intervals: bootstrap over problems.";
  panel& p = f.add_panel("accuracy against the threshold", "16 tau", "% right");
  panel& q = f.add_panel("tokens per round against the threshold", "16 tau", "tokens");
  panel& s = f.add_panel("accepted share of mismatches", "16 tau", "%");
  for (const std::size_t link : {1u, 0u}) {
    const std::string name = link == 0 ? "poor link" : "good link";
    curve &of_right = p.add(name), &of_length = q.add(name), &of_share = s.add(name);
    for (std::size_t i = 0; i < shown_thresholds.size(); ++i) {
      const scored_set& set = r.by_threshold[i][link];
      const estimate right = mean_estimate(solved_of(set), context.seed("wisv_right"), 400);
      of_right.add(16 * shown_thresholds[i], 100 * right.value, 100 * right.low, 100 * right.high);
      of_length.add(16 * shown_thresholds[i], tokens_per_round(set));
      of_share.add(16 * shown_thresholds[i], 100 * detail::accepted_share(set));
    }
  }
  curve& target = p.add("greedy (the target alone)");
  for (const double threshold : {shown_thresholds.front(), shown_thresholds.back()})
    target.add(16 * threshold, 100 * accuracy_of(r.greedy[at]));

  const double most_lost = context.scaled(0.01, 0.05), upper_end = context.scaled(0.02, 0.1),
               least_gain = context.scaled(0.30, 0.1), lower_end = context.scaled(0.25, 0.0);
  table& t = f.add_table("at the chosen threshold", {"link", "greedy right %", "right %", "points lost",
                                                     "tokens per round, greedy", "tokens per round", "gain"});
  const auto& greedy = r.greedy[at];
  for (const std::size_t link : {1u, 0u}) {
    const scored_set& set = r.by_head[wisv_study::full_head][link];
    const std::string name = link == 0 ? "poor link" : "good link";
    const estimate lost = detail::accuracy_loss(greedy, set, context.seed("wisv_loss")),
                   gained = detail::length_gain(greedy, set, context.seed("wisv_gain"));
    t.rows.push_back({name, detail::points(accuracy_of(greedy), 4), detail::points(accuracy_of(set), 4),
                      detail::points(lost), number(tokens_per_round(greedy)), number(tokens_per_round(set)),
                      detail::gain(gained)});
    f.require(name + ": accuracy lost against greedy at most " + number(100 * most_lost) +
                  " points, upper end at most " + number(100 * upper_end),
              lost.value <= most_lost && lost.high <= upper_end, detail::points(lost));
    f.require(name + ": tokens per round at least " + number(100 * least_gain) + " % more, lower end at least " +
                  number(100 * lower_end) + " %",
              gained.value >= least_gain && gained.low >= lower_end, detail::gain(gained));
    const double printed = link == 0 ? 14.979 / 10.128 - 1 : 13.522 / 10.128 - 1;
    f.compare(
        "tokens per round, " + name, link == 0 ? "10.13 to 14.98 (+48 %)" : "10.13 to 13.52 (+34 %)",
        number(tokens_per_round(greedy)) + " to " + number(tokens_per_round(set)) + " (" + detail::gain(gained) + ")",
        standing(gained, printed, printed) +
            "; our texts end within a few windows, and an accepted mismatch often extends a window to the end");
    const estimate won{0 - lost.value, 0 - lost.high, 0 - lost.low};
    f.compare("accuracy, " + name, link == 0 ? "80.4 % to 79.6 % (-0.8 points)" : "80.4 % to 82.8 % (+2.4 points)",
              detail::points(accuracy_of(greedy), 4) + " % to " + detail::points(accuracy_of(set), 4) + " % (" +
                  detail::points(won) + ")",
              standing(won, link == 0 ? -0.008 : 0.024) + ": " +
                  by_sign(won, "accuracy lost", "no change within the interval", "accuracy won") +
                  "; greedy misses only " + number(100 * (1 - accuracy_of(greedy)), 2) +
                  " points here, so there is little to win");
  }
  const estimate forced = detail::forced_difference(r.forced, context.seed("wisv_forced"));
  const estimate run = detail::acceptance_difference(r.by_head[wisv_study::full_head][0],
                                                     r.by_head[wisv_study::full_head][1], context.seed("wisv_run"));
  double all = 0;
  for (const forced_problem& one : r.forced) all += one.mismatches;
  table& d =
      f.add_table("accepted share of mismatches, poor link minus good link", {"over", "mismatches", "difference"});
  d.rows.push_back({"the same mismatches, along the target's own texts", number(all, 6), detail::points(forced)});
  d.rows.push_back({"the texts that each link led to",
                    number(mean_of(sums_of(r.by_head[wisv_study::full_head][0], &semantic_round::scored)) *
                               static_cast<double>(r.problems),
                           6) +
                        ", " +
                        number(mean_of(sums_of(r.by_head[wisv_study::full_head][1], &semantic_round::scored)) *
                                   static_cast<double>(r.problems),
                               6),
                    detail::points(run)});
  f.require("the poor link accepts more of the same mismatches", context.quick() ? forced.value >= 0 : forced.low > 0,
            detail::points(forced));
  bool same = true;
  for (std::size_t i = 0; i < r.problems; ++i) {
    same = same && r.by_threshold.front()[0][i].text == greedy[i].text &&
           r.by_threshold.front()[1][i].text == greedy[i].text;
    same = same && r.by_head[wisv_study::no_channel][0][i].text == r.by_head[wisv_study::no_channel][1][i].text;
  }
  f.require("tau = 0 writes the target's own texts; without CSI both links write the same", same);
  bool every_draft = true;
  for (const auto& set : r.by_threshold.back()) {
    for (const scored_problem& one : set) {
      for (const semantic_round& round : one.rounds) every_draft = every_draft && round.accepted == round.drafted;
    }
  }
  f.require("tau above 1 accepts every draft", every_draft);
  // Returns the smallest shown threshold from which on accuracy drops by more than `most`, including the interval.
  const auto breaks = [&](std::size_t link, double most) {
    std::size_t from = shown_thresholds.size();
    while (from > 0 &&
           detail::accuracy_loss(greedy, r.by_threshold[from - 1][link], context.seed("wisv_loss")).low > most)
      --from;
    return from;
  };
  const auto at_threshold = [&](std::size_t i) {
    return i == shown_thresholds.size() ? std::string("nowhere") : "from " + number(16 * shown_thresholds[i], 3);
  };
  const std::size_t poor_one = breaks(0, 0.0), good_one = breaks(1, 0.0), poor_five = breaks(0, 0.05),
                    good_five = breaks(1, 0.05);
  const double collapsed = accuracy_of(r.by_threshold.back()[0]);
  f.compare(
      "where accuracy breaks (16 tau)", "kept below 9, minus 5 points at 14 on poor links, collapse above 15 (of 16)",
      "a loss shows on the poor link " + at_threshold(poor_one) + ", on the good one " + at_threshold(good_one) +
          "; of more than 5 points " + at_threshold(poor_five) + " and " + at_threshold(good_five) +
          "; everything accepted: " + detail::points(collapsed) + " % right",
      std::string(poor_one < good_one    ? "poor link first, as in the paper"
                  : poor_one == good_one ? "both at the same threshold shown"
                                         : "good link first, unlike the paper") +
          "; thresholds shown are " + std::to_string(shown_thresholds.size()) + ", the paper's scale is not given");
  f.require("accuracy breaks on the poor link no later than on the good one (more than 5 points lost)",
            poor_five <= good_five, at_threshold(poor_five) + ", " + at_threshold(good_five));
}

}  // namespace lab

#endif
