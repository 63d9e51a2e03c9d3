// SPDX-License-Identifier: Apache-2.0
// Evaluates WISV's head without the channel, and without relabelling, over the windows.
#include "wisv_figures.hpp"

namespace lab {
namespace {

constexpr const char* ablated_links[] = {"poor link", "good link"};

void list_ablations(lab_context& context, wisv_study& study, figure& f) {
  const auto& r = study.tests();
  const auto& tuned = study.tunings();
  panel& q = f.add_panel("accuracy lost against greedy, L = 32", "", "points");
  q.x_names = {"WISV", "without CSI", "without relabelling"};
  table& t = f.add_table("heads, L = 32", {"head", "tau", "link", "right %", "points lost", "tokens per round", "gain",
                                           "accepted mismatches %"});
  const scored_set& greedy = r.greedy[main_window];
  for (const std::size_t link : {1u, 0u}) {
    curve& of_loss = q.add(ablated_links[link]);
    for (std::size_t h = 0; h < wisv_study::ablated; ++h) {
      const scored_set& set = r.by_head[h][link];
      const estimate lost = detail::accuracy_loss(greedy, set, context.seed("wisv_loss")),
                     gained = detail::length_gain(greedy, set, context.seed("wisv_gain"));
      of_loss.add(static_cast<double>(h), 100 * lost.value, 100 * lost.low, 100 * lost.high);
      t.rows.push_back({study.heads()[h].plan.name, number(tuned[h].chosen), ablated_links[link],
                        detail::points(accuracy_of(set), 4), detail::points(lost), number(tokens_per_round(set)),
                        detail::gain(gained), detail::points(detail::accepted_share(set))});
    }
  }
  table& d = f.add_table("accepted share of mismatches, poor link minus good link, L = 32", {"head", "difference"});
  for (std::size_t h = 0; h < wisv_study::ablated; ++h) {
    d.rows.push_back({study.heads()[h].plan.name, detail::points(detail::acceptance_difference(
                                                      r.by_head[h][0], r.by_head[h][1], context.seed("wisv_run")))});
  }
}

//! What the whole head changes against an ablation at one window and link, paired by problem.
struct ablation_change {
  estimate tokens, right;
};

ablation_change change_at(lab_context& context, const wisv_study::test_results& r, std::size_t window,
                          std::size_t other, std::size_t link) {
  const scored_set &whole = r.by_length[window][wisv_study::full_head][link], &part = r.by_length[window][other][link];
  return {detail::length_gain(part, whole, context.seed("wisv_gain")),
          paired_difference(solved_of(whole), solved_of(part), context.seed("wisv_loss"))};
}

//! Draws the ablations over L and returns the windows in which the head that sees the channel is longer, per link.
std::array<std::size_t, 2> draw_windows(lab_context& context, wisv_study& study, figure& f) {
  const auto& r = study.tests();
  std::array<std::size_t, 2> longer{};
  table& t = f.add_table("WISV against its ablations over L",
                         {"link", "L", "tokens per round against no CSI", "right", "against no relabelling", "right"});
  for (const std::size_t link : {1u, 0u}) {
    panel& p = f.add_panel(std::string("tokens per round, ") + ablated_links[link], "L", "tokens");
    for (std::size_t h = 0; h < wisv_study::ablated; ++h) p.add(study.heads()[h].plan.name);
    for (std::size_t l = 0; l < window_lengths.size(); ++l) {
      for (std::size_t h = 0; h < wisv_study::ablated; ++h)
        p.curves[h].add(window_lengths[l], tokens_per_round(r.by_length[l][h][link]));
      const ablation_change channel = change_at(context, r, l, wisv_study::no_channel, link),
                            labels = change_at(context, r, l, wisv_study::no_relabelling, link);
      longer[link] += channel.tokens.low > 0 ? 1 : 0;
      t.rows.push_back({ablated_links[link], std::to_string(window_lengths[l]), change_text(channel.tokens),
                        detail::points(channel.right), change_text(labels.tokens), detail::points(labels.right)});
    }
  }
  return longer;
}

}  // namespace

void run_wisv_ablations(lab_context& context, figure& f) {
  wisv_study& study = study_of(context);
  const auto& r = study.tests();
  const auto& tuned = study.tunings();
  f.about = std::to_string(r.problems) +
            " held-out problems; every head has a threshold chosen by the same rule at L = 32, so a longer text can "
            "come from the channel or from a larger threshold; the points lost are next to it.";
  const std::array<std::size_t, 2> longer = draw_windows(context, study, f);
  list_ablations(context, study, f);
  const ablation_change on_poor = change_at(context, r, main_window, wisv_study::no_channel, 0),
                        on_good = change_at(context, r, main_window, wisv_study::no_channel, 1);
  const std::string of_windows = " of " + std::to_string(window_lengths.size()) + " windows";
  f.answer("wisv.ablation",
           longer[0] == window_lengths.size() ? finding::met
           : longer[0] > 0                    ? finding::in_sign
                                              : finding::not_met,
           "poor link: longer in " + std::to_string(longer[0]) + of_windows + ", at L = 32 " +
               change_text(on_poor.tokens) + " tokens a round, right " + detail::points(on_poor.right) +
               "; good link: longer in " + std::to_string(longer[1]) + of_windows + ", at L = 32 " +
               change_text(on_good.tokens) + ", " + detail::points(on_good.right),
           "thresholds " + number(tuned[wisv_study::full_head].chosen) + " with and " +
               number(tuned[wisv_study::no_channel].chosen) + " without the channel, " +
               number(tuned[wisv_study::no_relabelling].chosen) + " without relabelling");
  const auto share = [&](std::size_t h) {
    return detail::acceptance_difference(r.by_head[h][0], r.by_head[h][1], context.seed("wisv_run"));
  };
  const estimate seen = share(wisv_study::full_head), unseen = share(wisv_study::no_channel);
  f.require("a head that does not see the channel accepts the same on both links",
            std::fabs(unseen.value) < 1e-12 && unseen.low == unseen.high, detail::points(unseen));
  f.require("the head that sees it accepts more on the poor link (--quick: not fewer)",
            context.quick() ? seen.value >= 0 : seen.low > 0, detail::points(seen));
}

}  // namespace lab
