// SPDX-License-Identifier: Apache-2.0
// Compares WISV's head with scorers that need no training, on word problems and on a task of fixed wording.
#include "wisv_tasks.hpp"

namespace lab {
namespace {

constexpr std::array<const char*, 2> task_link_names{"poor link", "good link"};
constexpr std::size_t head_place = 1;  //!< of the head in the contenders; greedy stands first

using scored_results = std::vector<std::array<scored_result, 2>>;

std::vector<contender> add_scorers(lab_context& context, std::vector<contender> made) {
  for (scorer& one : untrained_scorers(context.vocabulary())) {
    contender& added = made.emplace_back();
    added.name = one.name;
    added.thresholds = one.thresholds;
    added.rule = std::move(one);
  }
  return made;
}

contender head_contender(const std::string& name, const specverify::head_weights& head) {
  contender made;
  made.name = name;
  made.head = &head;
  made.thresholds.assign(candidate_thresholds.begin(), candidate_thresholds.end());
  return made;
}

//! Difference of a contender and the head on one link: change of latency and difference in accuracy.
struct scored_difference {
  estimate latency, right;
};

scored_difference difference_of(lab_context& context, const scored_result& one, const scored_result& head) {
  const std::vector<double> ones(one.seconds.size(), 1.0);
  const std::uint64_t seed = context.seed("wisv_scorer");
  return {ratio_change(one.seconds, ones, head.seconds, ones, seed, 400),
          paired_difference(one.solved, head.solved, seed)};
}

std::string parameter_of(const contender& one) {
  if (one.head != nullptr) return "tau " + number(one.chosen);
  if (!one.rule || one.rule->shown == nullptr) return "none";
  return one.rule->parameter + " " + number(one.rule->shown(one.chosen), 3) + (one.found ? "" : " (loses more)");
}

void list_scorers(lab_context& context, const std::vector<contender>& contenders, const scored_results& tested,
                  const std::vector<estimate>& areas, figure& f) {
  table& t = f.add_table("test problems, each at the window of the least latency on the tuning problems",
                         {"scorer", "parameter", "link", "L", "sends", "right %", "points lost", "tokens per round",
                          "bytes up a token", "s an answer", "against the target alone", "AUC"});
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    const contender& one = contenders[k];
    for (std::size_t link = 0; link < 2; ++link) {
      const scored_result &result = tested[k][link], &greedy = tested[0][link];
      const std::vector<double> ones(result.seconds.size(), 1.0);
      const estimate lost = paired_difference(greedy.solved, result.solved, context.seed("wisv_scorer")),
                     alone = ratio_change(result.seconds, ones, result.alone, ones, context.seed("wisv_scorer"), 400);
      const char* sends = one.sees_link()                        ? (one.full[link] ? "FH" : "SH")
                          : one.rule && one.rule->claim_bits > 0 ? "ids, q"
                                                                 : "ids";
      t.rows.push_back({one.name, parameter_of(one), task_link_names[link], std::to_string(one.window[link]), sends,
                        detail::points(mean_of(result.solved), 4), k == 0 ? "0" : detail::points(lost),
                        number(mean_of(result.tokens) / mean_of(result.rounds)),
                        number(mean_of(result.bits) / 8 / mean_of(result.tokens)), number(mean_of(result.seconds)),
                        change_text(alone), k == 0 ? "" : interval(areas[k].value, areas[k].low, areas[k].high)});
    }
  }
}

void draw_scorers(lab_context& context, const std::vector<contender>& contenders, const scored_results& tested,
                  const std::vector<estimate>& areas, figure& f) {
  panel& time = f.add_panel("latency at the best window", "", "s an answer");
  panel& lost = f.add_panel("accuracy lost against greedy", "", "points");
  panel& area = f.add_panel("mismatches that matter told from others", "", "AUC");
  for (const contender& one : contenders) time.x_names.push_back(one.name);
  lost.x_names = area.x_names = time.x_names;
  time.x_names.push_back("target alone");
  for (std::size_t link = 0; link < 2; ++link) {
    curve &of_time = time.add(task_link_names[link]), &of_loss = lost.add(task_link_names[link]);
    for (std::size_t k = 0; k < contenders.size(); ++k) {
      const auto at = static_cast<double>(k);
      of_time.add(at, mean_of(tested[k][link].seconds));
      const estimate e = paired_difference(tested[0][link].solved, tested[k][link].solved, context.seed("wisv_scorer"));
      of_loss.add(at, 100 * e.value, 100 * e.low, 100 * e.high);
    }
    of_time.add(static_cast<double>(contenders.size()), mean_of(tested[0][link].alone));
  }
  curve& of_area = area.add("AUC");
  for (std::size_t k = 0; k < contenders.size(); ++k)
    of_area.add(static_cast<double>(k), areas[k].value, areas[k].low, areas[k].high);
}

//! States each scorer against the head: what the tuning problems show, then what the test problems show.
void state_order(lab_context& context, const std::vector<contender>& contenders, const scored_results& tuned,
                 const scored_results& tested, figure& f) {
  table& t = f.add_table(
      "against WISV's head; margins of 3 % and 3 points",
      {"scorer", "link", "latency, tune", "latency, test", "verdict", "right, tune", "right, test", "verdict"});
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    if (k == head_place) continue;
    for (std::size_t link = 0; link < 2; ++link) {
      const scored_difference before = difference_of(context, tuned[k][link], tuned[head_place][link]),
                              after = difference_of(context, tested[k][link], tested[head_place][link]);
      t.rows.push_back({contenders[k].name, task_link_names[link], change_text(before.latency),
                        change_text(after.latency), against(reversed(after.latency)), detail::points(before.right),
                        detail::points(after.right), against(after.right)});
      const std::string who = contenders[k].name + " against the head, " + task_link_names[link];
      require_sign(f, who + ", latency", before.latency, after.latency);
      require_sign(f, who + ", problems right", before.right, after.right);
    }
  }
}

//! Returns the fastest contender that loses no more than the margin, by the interval, on a link.
std::size_t fastest_safe(lab_context& context, const scored_results& tested, std::size_t link) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < tested.size(); ++k) {
    const estimate lost =
        paired_difference(tested[0][link].solved, tested[k][link].solved, context.seed("wisv_scorer"));
    if (lost.high < margin_of_equivalence && mean_of(tested[k][link].seconds) < mean_of(tested[best][link].seconds))
      best = k;
  }
  return best;
}

void compare_scorers(lab_context& context, const scored_task& task, std::vector<contender>& contenders, figure& f) {
  const scored_results tuned = tune_contenders(context, task, contenders);
  const scored_results tested = test_contenders(context, task, contenders);
  const std::vector<estimate> areas = rate_contenders(context, task, contenders);
  f.about = "Task: " + task.name + ". Thresholds and windows are chosen on " + std::to_string(task.tuning) +
            " tuning problems (the largest threshold that loses at most " + number(100 * accepted_loss) +
            " points on both links, then the fastest window), and signs are stated there before the " +
            std::to_string(task.testing) + " test problems are read. AUC: scores of the mismatches of " +
            std::to_string(task.rated) +
            " test problems against the search's labels. Costs are those of the grid. Distributions are taken at "
            "temperature 1; bounded divergence (Cactus) and look-ahead (FLy) as in wisv_scorers.hpp.";
  draw_scorers(context, contenders, tested, areas, f);
  list_scorers(context, contenders, tested, areas, f);
  state_order(context, contenders, tuned, tested, f);
  for (std::size_t link = 0; link < 2; ++link) {
    const std::size_t best = fastest_safe(context, tested, link);
    const scored_difference gap = difference_of(context, tested[best][link], tested[head_place][link]);
    f.compare(std::string("fastest scorer that loses less than 3 points, ") + task_link_names[link],
              "the trained head; no other scorer is tried",
              contenders[best].name + ", " + number(mean_of(tested[best][link].seconds), 3) + " s an answer, head " +
                  number(mean_of(tested[head_place][link].seconds), 3) + " s, target alone " +
                  number(mean_of(tested[best][link].alone), 3) + " s",
              best == head_place
                  ? "the head is the fastest"
                  : "against the head: latency " + change_text(gap.latency) + ", " + against(reversed(gap.latency)) +
                        "; right " + detail::points(gap.right) + ", " + against(gap.right));
  }
}

//! Trains a head on mismatches of the colours, with the settings of the main head.
trained_head colour_head(lab_context& context, const scored_task& task) {
  std::vector<std::vector<token_id>> prompts;
  for (task_problem& one : task.problems("train", context.scaled<std::size_t>(1000, 60)))
    prompts.push_back(std::move(one.prompt));
  head_plan plan;
  plan.name = "WISV's head";
  plan.seed = context.seed("wisv_colours");
  return train_head(search_mismatches(context, prompts, task.answer_of), plan);
}

}  // namespace

void run_wisv_scorers(lab_context& context, figure& f) {
  wisv_study& study = study_of(context);
  (void)study.heads();
  std::vector<contender> contenders =
      add_scorers(context, {contender{"greedy"}, head_contender("WISV's head", study.weights(wisv_study::full_head))});
  compare_scorers(context, word_task(context), contenders, f);
}

void run_wisv_colours(lab_context& context, figure& f) {
  wisv_study& study = study_of(context);
  (void)study.heads();
  const scored_task task = colour_task(context);
  const trained_head own = colour_head(context, task);
  const specverify::head_weights weights = own.head.view();
  std::vector<contender> contenders =
      add_scorers(context, {contender{"greedy"}, head_contender("WISV's head", weights),
                            head_contender("head of word problems", study.weights(wisv_study::full_head))});
  compare_scorers(context, task, contenders, f);
}

}  // namespace lab
