// SPDX-License-Identifier: Apache-2.0
// Compares a narrow head, whose first layer is computed on both sides, with the wide head on whole states.
#include "wisv_figures.hpp"

namespace lab {
namespace {

//! A head and the form in which the device sends its side.
struct split_writer {
  const char* label;
  wisv_study::head_name head;
  const std::array<scored_set, 2>* sets;  //!< poor, good
  std::size_t bytes;                      //!< of a hidden vector
};

std::vector<split_writer> split_writers(wisv_study& study) {
  using specverify::hidden_bytes, specverify::hidden_format;
  const auto& r = study.tests();
  const specverify::head_shape shape = study.weights(wisv_study::narrow_head).shape;
  const std::size_t whole = hidden_bytes(hidden_format::float16, shape.drafter_size),
                    split = hidden_bytes(hidden_format::int8, shape.width);
  return {{"whole", wisv_study::full_head, &r.by_head[wisv_study::full_head], whole},
          {"whole", wisv_study::narrow_head, &r.by_head[wisv_study::narrow_head], whole},
          {"split, int8", wisv_study::narrow_head, &r.by_split, split}};
}

void draw_split(lab_context& context, wisv_study& study, const std::vector<split_writer>& sides, figure& f) {
  const scored_set& greedy = study.tests().greedy[main_window];
  const auto width = [&](const split_writer& w) { return std::to_string(study.weights(w.head).shape.width); };
  panel& p = f.add_panel("tokens per round", "", "tokens");
  panel& q = f.add_panel("accuracy lost against greedy", "", "points");
  for (const split_writer& w : sides) p.x_names.push_back(width(w) + " " + w.label);
  q.x_names = p.x_names;
  table& t = f.add_table("heads", {"width", "drafter's side", "bytes a vector", "tau", "link", "right %", "points lost",
                                   "tokens per round", "gain"});
  for (const std::size_t link : {1u, 0u}) {
    const std::string name = link == 0 ? "poor link" : "good link";
    curve &of_length = p.add(name), &of_loss = q.add(name);
    for (std::size_t k = 0; k < sides.size(); ++k) {
      const split_writer& w = sides[k];
      const scored_set& set = (*w.sets)[link];
      const estimate lost = detail::accuracy_loss(greedy, set, context.seed("wisv_loss")),
                     gained = detail::length_gain(greedy, set, context.seed("wisv_gain"));
      of_length.add(static_cast<double>(k), tokens_per_round(set));
      of_loss.add(static_cast<double>(k), 100 * lost.value, 100 * lost.low, 100 * lost.high);
      t.rows.push_back({width(w), w.label, std::to_string(w.bytes), number(study.tunings()[w.head].chosen), name,
                        detail::points(accuracy_of(set), 4), detail::points(lost), number(tokens_per_round(set)),
                        detail::gain(gained)});
      if (k != 2) continue;
      const double most_lost = context.scaled(0.01, 0.05), upper_end = context.scaled(0.02, 0.1);
      f.require(name + ", split: accuracy lost against greedy at most " + number(100 * most_lost) +
                    " points, upper end at most " + number(100 * upper_end),
                lost.value <= most_lost && lost.high <= upper_end, detail::points(lost));
    }
  }
}

//! Compares the scores of the narrow head, whole and split, on the same mismatches.
void compare_scores(wisv_study& study, figure& f) {
  const auto& r = study.tests();
  forced_problem all;
  for (const forced_problem& one : r.forced) {
    all.mismatches += 2 * one.mismatches;  // both links
    all.split_differs += one.split_differs, all.half_differs += one.half_differs;
    all.apart = std::max(all.apart, one.apart), all.of_bound = std::max(all.of_bound, one.of_bound);
    all.largest_bound = std::max(all.largest_bound, one.largest_bound);
  }
  std::size_t other_texts = 0;
  for (std::size_t link = 0; link < 2; ++link) {
    for (std::size_t i = 0; i < r.problems; ++i)
      other_texts += r.by_split[link][i].text != r.by_head[wisv_study::narrow_head][link][i].text ? 1u : 0u;
  }
  table& d =
      f.add_table("the narrow head, whole and split, on the same mismatches along the target's texts, both links",
                  {"scores", "other decisions, split in int8", "other decisions, state in half precision",
                   "largest change of the logit, split", "largest bound", "largest change relative to its bound"});
  d.rows.push_back({number(all.mismatches, 7), number(all.split_differs, 6), number(all.half_differs, 6),
                    number(all.apart), number(all.largest_bound), number(all.of_bound)});
  f.compare("split against whole, the same head", "not in the paper",
            number(all.split_differs, 6) + " of " + number(all.mismatches, 7) + " decisions differ, " +
                std::to_string(other_texts) + " of " + std::to_string(2 * r.problems) + " texts",
            std::string(all.split_differs > 0 ? "int8 changes scores at the threshold; "
                                              : "no score is near enough to the threshold; ") +
                "sending the state in half precision changes " + number(all.half_differs, 6) + " decisions");
  f.require("no logit changes by more than the library's bound", all.of_bound <= 1,
            number(all.of_bound) + " of it at most");
  f.require("split and whole head make the same decision on at least 99 % of the mismatches",
            all.split_differs <= 0.01 * all.mismatches, number(all.split_differs, 6) + " differ");
}

}  // namespace

void run_wisv_split(lab_context& context, figure& f) {
  wisv_study& study = study_of(context);
  const auto& r = study.tests();
  const auto& tuned = study.tunings();
  const specverify::head_shape shape = study.weights(wisv_study::narrow_head).shape;
  const std::uint32_t wide = study.weights(wisv_study::full_head).shape.width;
  const std::vector<split_writer> sides = split_writers(study);
  f.about = "L = 32, " + std::to_string(r.problems) + " held-out problems. Whole: the device sends its state, " +
            std::to_string(shape.drafter_size) + " numbers in half precision. Split: it sends W_1D h^D, " +
            std::to_string(shape.width) +
            " numbers in int8 and a scale, and the cloud computes the rest. A second head of this width was trained "
            "like the first, and its threshold was chosen by the same rule. A part of the first head (" +
            std::to_string(wide) + " numbers, " +
            std::to_string(specverify::hidden_bytes(specverify::hidden_format::int8, wide)) +
            " bytes) would be larger than the state itself.";
  draw_split(context, study, sides, f);
  f.compare("bytes of a hidden vector", "4096 (2048 numbers in half precision)",
            std::to_string(sides[2].bytes) + " split against " + std::to_string(sides[0].bytes) + " whole",
            number(static_cast<double>(sides[0].bytes) / static_cast<double>(sides[2].bytes), 3) +
                " times fewer; the paper sends states whole");
  for (const std::size_t link : {1u, 0u}) {
    const scored_set &whole = r.by_head[wisv_study::full_head][link], &split = r.by_split[link];
    const estimate length = detail::length_gain(whole, split, context.seed("wisv_gain")),
                   right = paired_difference(solved_of(split), solved_of(whole), context.seed("wisv_loss"));
    f.compare(std::string("width 16 split against width 256 whole, ") + (link == 0 ? "poor link" : "good link"),
              "not in the paper", "tokens a round " + change_text(length) + ", right " + detail::points(right),
              "length " + against(length) + ", accuracy " + against(right) + "; thresholds " +
                  number(tuned[wisv_study::narrow_head].chosen) + " and " +
                  number(tuned[wisv_study::full_head].chosen));
  }
  compare_scores(study, f);
}

}  // namespace lab
