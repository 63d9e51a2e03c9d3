// SPDX-License-Identifier: Apache-2.0
// Shows the k x gamma grid of a second skip policy that uses attention, as printed and inverted, next to uncertainty
// alone and to a coin with as many uploads.
#include "ui_cells.hpp"

#include <array>

namespace lab {
namespace {

//! Returns whether no other point beats `p` in both accuracy and saving.
[[nodiscard]] bool on_the_front(const cell_study& study, const ui_point& p) {
  return std::none_of(study.points.begin(), study.points.end(), [&](const ui_point& other) {
    return other.solved.value >= p.solved.value && other.saved.value >= p.saved.value &&
           (other.solved.value > p.solved.value || other.saved.value > p.saved.value);
  });
}

//! Adds a curve of a family over `x(point)`, in ascending order.
template <class Place>
void draw_points(panel& p, const std::string& label, std::vector<const ui_point*> points, bool line, Place x) {
  std::sort(points.begin(), points.end(), [&](const ui_point* a, const ui_point* b) { return x(*a) < x(*b); });
  curve& c = p.add(label);
  c.points = !line;
  for (const ui_point* one : points) c.add(x(*one), one->solved.value, one->solved.low, one->solved.high);
}

void draw_cells(figure& f, const cell_study& study) {
  const auto share = [](const ui_point& p) { return p.share.value; };
  const auto some = [&](const std::vector<std::size_t>& members) {
    std::vector<const ui_point*> made;
    for (const std::size_t s : members) made.push_back(&study.points[s]);
    return made;
  };
  for (const bool inverted : {false, true}) {
    panel& over = f.add_panel(std::string("Accuracy over uploads, rule ") + (inverted ? "inverted" : "as written"),
                              "share of tokens uploaded, TR", "problems solved");
    draw_points(over, "uncertainty alone", some(study.gates), true, share);
    draw_points(over, "a coin", some(study.coins), true, share);
    for (const std::uint32_t k : study.ks) {
      std::vector<const ui_point*> cells;
      for (const double gamma : study.gammas) cells.push_back(&study.cell(k, gamma, inverted));
      draw_points(
          over,
          "k " + std::to_string(k) + ", gamma " + number(study.gammas.front()) + " to " + number(study.gammas.back()),
          cells, false, share);
    }
  }
  panel& plane =
      f.add_panel("Accuracy against energy saved", "energy saved against HLM, device and server", "problems solved");
  const auto saving = [](const ui_point& p) { return p.saved.value; };
  std::vector<const ui_point*> cells[2], front;
  for (const ui_point& p : study.points) {
    if (p.k != 0) cells[p.inverted ? 1 : 0].push_back(&p);
    if (on_the_front(study, p)) front.push_back(&p);
  }
  draw_points(plane, "as written", cells[0], false, saving);
  draw_points(plane, "inverted", cells[1], false, saving);
  draw_points(plane, "uncertainty alone", some(study.gates), false, saving);
  std::sort(front.begin(), front.end(), [&](const ui_point* a, const ui_point* b) { return saving(*a) < saving(*b); });
  curve& line = plane.add("Pareto front");
  for (const ui_point* p : front) line.add(p->saved.value, p->solved.value);
}

//! Draws the energy saved over the server's power, which decides what an upload costs.
void draw_power(figure& f, const cell_study& study) {
  panel& over =
      f.add_panel("Energy saved over the server's power", "power of the server in W", "share of HLM's energy");
  over.log_x = true;
  table& t = f.add_table("Energy saved by the server's power",
                         {"power in W", "U-HLM, u_th 0.2", "k 3, gamma 1.5", "k 11, gamma 0.5",
                          "k 3, gamma 1.5, inverted", "share of uploads that would save 31.6 %"});
  const ui_point* shown[] = {&study.points[study.alone], &study.cell(3, 1.5), &study.cell(11, 0.5),
                             &study.cell(3, 1.5, true)};
  for (const ui_point* p : shown) over.add(p->label);
  for (const char* label : {"paper, 31.6 %", "paper, 40.7 %", "paper, 43.6 %"}) over.add(label);
  for (const double watts : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 250.0}) {
    const round_energies energy = energies_with_server(watts);
    std::vector<std::string> cells{number(watts)};
    for (std::size_t i = 0; i < 4; ++i) {
      over.curves[i].add(watts, energy.saved(shown[i]->share.value));
      cells.push_back(number(100 * energy.saved(shown[i]->share.value), 3) + " %");
    }
    const double printed[] = {0.316, 0.407, 0.436};
    for (std::size_t i = 0; i < 3; ++i) over.curves[4 + i].add(watts, printed[i]);
    const double needed = 1 - 0.316 / energy.saved(0);  // saved(share) is linear, and 0 at a share of 1
    cells.push_back(needed >= 0 ? number(needed, 3) : "none");
    t.rows.push_back(std::move(cells));
  }
}

void show_cells(figure& f, const cell_study& study) {
  table& t = f.add_table("Grid; differences at equal uploads, paired [95 %]",
                         {"system", "solved [95 %]", "uploaded", "rejected of uploads", "energy saved",
                          "saved by the device", "less uncertainty alone", "", "less a coin", "", "on the front"});
  for (const ui_point& p : study.points) {
    const bool compared = p.k != 0 && p.share.value > 0;
    const std::string none = p.k == 0 ? "" : "uploads nothing";
    t.rows.push_back({p.label, detail::interval_text(p.solved), number(p.share.value, 3), number(p.reject.value, 3),
                      number(100 * p.saved.value, 3) + " %", number(100 * p.device_saved, 3) + " %",
                      compared ? detail::interval_text(p.over_alone) : none, compared ? against(p.over_alone) : "",
                      compared ? detail::interval_text(p.over_coin) : none, compared ? against(p.over_coin) : "",
                      on_the_front(study, p) ? "yes" : ""});
  }
}

//! Answers a row of the paper's Table I: more accurate than uncertainty alone, with more energy saved.
void answer_cell(figure& f, claim_id id, const cell_study& study, const ui_point& p, double printed) {
  const ui_point& alone = study.points[study.alone];
  const estimate more = study.over_all_uncertain(p);
  const std::string word = against(more);
  const bool as_good = word == "better" || word == "equivalent", saves = p.saved.value > alone.saved.value;
  f.answer(id, as_good && saves ? finding::met : finding::not_met,
           number(100 * p.solved.value, 3) + " % solved, " + number(100 * p.saved.value, 3) + " % saved",
           "against uncertainty alone (" + number(100 * alone.solved.value, 3) + " %, " +
               number(100 * alone.saved.value, 3) + " % saved): " + word + ", " + detail::interval_text(more) +
               "; it uploads " + number(100 * p.share.value, 3) + " % instead of " +
               number(100 * alone.share.value, 3) + " % of the tokens; the paper saves " + number(printed, 3) +
               " %; layer, heads and threshold are not in the digest");
}

void say_energy(figure& f, const cell_study& study) {
  const ui_point &alone = study.points[study.alone], &accurate = study.cell(3, 1.5), &efficient = study.cell(11, 0.5);
  f.answer("ui.energy_uncertainty", alone.saved,
           interval(100 * alone.saved.value, 100 * alone.saved.low, 100 * alone.saved.high) + " % with " +
               number(100 * alone.share.value, 3) + " % uploaded",
           "a server of 250 W and our radio: energy is nearly the share of uploads; at 10 W the same uploads save " +
               number(100 * energies_with_server(10).saved(alone.share.value), 3) +
               " %; the paper's energy model and share are not public");
  const auto speed = [](const ui_point& p) {
    return 1 / specverify::hlm_mean_round_time({}, p.share.value, ui_upload_time());
  };
  const double first = speed(alone), second = speed(accurate), third = speed(efficient);
  f.answer("ui.speed", first < second && second < third ? finding::in_sign : finding::not_met,
           number(first, 3) + ", " + number(second, 3) + ", " + number(third, 3) + " tokens/s: 1, " +
               number(second / first, 3) + " and " + number(third / first, 3) + " times U-HLM (paper: 1.03 and 1.11)",
           "passes of 25.6 and 104.6 ms over Rayleigh fading at 10 dB, while a third of a token a second needs a far "
           "slower link or device; the target alone has " +
               number(1 / specverify::round_times{}.verify_time, 3) + " tokens/s and needs no uplink");
  answer_cell(f, "ui.accurate", study, accurate, 40.7);
  answer_cell(f, "ui.efficient", study, efficient, 43.6);
}

void say_cells(figure& f, const cell_study& study) {
  const ui_point &alone = study.points[study.alone], &at_default = study.points[study.at_default];
  f.about =
      "Problems at temperature 1; a token is uploaded if more than 20 % of 20 draws disagree and its attention "
      "row (last layer, mean over heads) passes. The threshold on u is 0.2 instead of the default 0.8, because "
      "at 0.8 uncertainty by itself uploads " +
      number(100 * at_default.share.value, 3) + " % of the tokens and solves " +
      number(100 * at_default.solved.value, 3) + " %, at 0.2 " + number(100 * alone.share.value, 3) + " % and " +
      number(100 * alone.solved.value, 3) +
      " %, so that a second criterion has tokens to decide on. Equal uploads: each text draws one of two thresholds, "
      "or "
      "one of two coins, so that as many tokens are sent as by the cell; the shares alone decide, on the same "
      "problems. "
      "Energy: 10 W for drafting, 1.5 W for sending, 250 W for verifying, full laws over a Rayleigh link at 10 dB; the "
      "paper's own model is not public.";
  double least = 1, most = 0;
  std::array<int, 4> words{};
  std::array<std::array<double, 2>, 2> sums{};  // [inverted]: uploads, solved
  for (const ui_point& p : study.points) {
    if (p.k == 0) continue;
    sums[p.inverted ? 1 : 0][0] += p.share.value;
    sums[p.inverted ? 1 : 0][1] += p.solved.value;
    if (p.share.value <= 0) continue;
    least = std::min(least, p.reject.value), most = std::max(most, p.reject.value);
    const std::string word = against(p.over_alone);
    words[word == "better" ? 0 : word == "equivalent" ? 1 : word == "worse" ? 2 : 3] += 1;
  }
  const double half = static_cast<double>(study.ks.size() * study.gammas.size());
  for (auto& of_rule : sums) of_rule[0] /= half, of_rule[1] /= half;
  f.answer("ui.rejects", finding::met, number(100 * least, 3) + " to " + number(100 * most, 3) + " % of the uploads",
           "one rate for each cell of the table; the digest holds no number but a warning above 50 %");
  f.compare(
      "the grid at equal uploads, against uncertainty alone", "two signals are better",
      std::to_string(words[0]) + " cells better, " + std::to_string(words[1]) + " equivalent, " +
          std::to_string(words[2]) + " worse, " + std::to_string(words[3]) + " not shown",
      "of the cells that upload anything, both rules; single cells are read after the fact, so ui_uploads chooses "
      "one on other problems");
  f.compare("which rows are important", "sharp ones, in words",
            "as written " + number(100 * sums[0][0], 3) + " % of tokens pass both gates, inverted " +
                number(100 * sums[1][0], 3) + " % (mean over the grid)",
            "the rule passes rows with many weights near the largest; but the paper's words describe its complement, "
            "which solves " +
                number(100 * sums[1][1], 3) + " % against " + number(100 * sums[0][1], 3) + " %");
  f.require("inverted solves more problems than the rule as written (mean over the grid)", sums[1][1] > sums[0][1],
            number(sums[1][1], 3) + " and " + number(sums[0][1], 3));
}

}  // namespace

void run_ui_grid(lab_context& context, figure& f) {
  const cell_study study = measure_cells(context);
  draw_cells(f, study);
  draw_power(f, study);
  show_cells(f, study);
  say_cells(f, study);
  say_energy(f, study);
  const double most = study.points[study.alone].share.value + context.scaled(0.05, 0.15);
  f.require("no second criterion uploads more than uncertainty by itself, within the effect on the texts (5 points)",
            std::all_of(study.points.begin(), study.points.end(),
                        [&](const ui_point& p) { return p.k == 0 || p.share.value <= most; }));
  f.require("HLM saves nothing and uploads every token",
            study.points[0].share.value >= 1 && std::fabs(study.points[0].saved.value) < 1e-12);
  const double accurate = study.cell(3, 1.5).share.value, efficient = study.cell(11, 0.5).share.value;
  f.require("k = 3, gamma = 1.5 uploads at least as much as k = 11, gamma = 0.5", accurate >= efficient,
            number(accurate, 3) + ", " + number(efficient, 3));
}

}  // namespace lab
