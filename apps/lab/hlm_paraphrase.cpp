// SPDX-License-Identifier: Apache-2.0
// Compares two measures of uncertainty on the same tokens: draws at other temperatures, and draws after paraphrased
// prompts.
#include "hlm_figures.hpp"
#include "hlm_record.hpp"

#include <array>

namespace lab {
namespace {

constexpr std::uint32_t paraphrases = 20;

//! Words of the generator of problems (models/tinylm/train/problems.py) that can stand for each other.
constexpr std::array<std::array<std::string_view, 4>, 12> synonyms{
    {{" has ", " had ", " owns ", " holds "},
     {" buys ", " gets ", " finds ", " takes "},
     {" gives ", " hands ", " sends ", " brings "},
     {" loses ", " drops ", " misses ", " sells "},
     {" boxes", " bags", " baskets", " packs"},
     {" more", " further", " extra", " new"},
     {" fewer", " less", " smaller", " below"},
     {" in all", " together", " in total", " altogether"},
     {" are left", " remain", " stay", " are kept"},
     {" loose", " single", " separate", " other"},
     {" friends", " people", " children", " others"},
     {" now?", " then?", " at last?", " in the end?"}}};

//! Draws one random number of a text's paraphrase `m`.
[[nodiscard]] double paraphrase_uniform(std::uint64_t seed, std::uint32_t place, std::uint32_t m, std::uint32_t lane) {
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  return specverify::decision_uniform(source({place, m, lane, specverify::purpose::training, 0}));
}

//! Replaces each word that has synonyms by one of the group. Counts the words that changed.
[[nodiscard]] std::string paraphrase(std::string text, std::uint64_t seed, std::uint32_t m, double& changed) {
  std::uint32_t place = 0;
  for (const auto& group : synonyms) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      const auto found = std::find_if(group.begin(), group.end(),
                                      [&](std::string_view word) { return text.compare(at, word.size(), word) == 0; });
      if (found == group.end()) continue;
      const auto pick =
          static_cast<std::size_t>(paraphrase_uniform(seed, place++, m, 0) * static_cast<double>(group.size()));
      const std::string_view chosen = group[std::min(pick, group.size() - 1)];
      text.replace(at, found->size(), chosen);
      at += chosen.size() - 2;  // a blank that ends one word may begin the next
      changed += chosen == *found ? 0 : 1;
    }
  }
  return text;
}

//! One text: u by temperatures, u by paraphrases, and the probability of a rejection, of each drafted token.
struct paraphrased_text {
  std::vector<double> temperature, prompt, rejection;
  std::vector<bool> rejected;
  double changed = 0;  //!< words replaced in all paraphrases
};

[[nodiscard]] paraphrased_text paraphrase_text(lab_context& context, lab_worker& worker, const lab_problem& problem,
                                               std::uint64_t seed) {
  paraphrased_text made;
  std::vector<token_id> drafted;
  const hlm_system system{"HLM", specverify::u_hlm({-1.0})};
  const hlm_text text = write_hlm_text(worker, problem.prompt, system, hlm_temperature, hlm_problem_tokens, seed, true,
                                       [&](const hlm_step& step, const hlm_view&) {
                                         made.temperature.push_back(step.uncertainty());
                                         made.rejection.push_back(step.rejection);
                                         made.rejected.push_back(!step.accepted);
                                         drafted.push_back(step.drafted);
                                       });
  made.prompt.assign(drafted.size(), 0.0);
  live_model model(context.pair().drafter);  // not replayed, because no other figure needs these states
  const std::string question = context.vocabulary().decode(std::span(problem.prompt).subspan(1));
  for (std::uint32_t m = 0; m < paraphrases; ++m) {
    std::vector<token_id> ids = context.vocabulary().encode(paraphrase(question, seed, m, made.changed));
    ids.insert(ids.begin(), tinylm::tokenizer::end_token);
    ids.insert(ids.end(), text.tokens.begin(), text.tokens.end());
    if (text.tokens.size() == drafted.size()) ids.pop_back();  // the last token predicts nothing here
    const auto rows = static_cast<std::uint32_t>(drafted.size());
    model.rollback(0);
    model.feed(ids, rows);
    for (std::uint32_t t = 0; t < rows; ++t) {
      const double same = law_of(model.logits(t), hlm_temperature)[static_cast<std::size_t>(drafted[t])];
      made.prompt[t] += paraphrase_uniform(seed, t, m, 1) >= same ? 1.0 / paraphrases : 0;
    }
  }
  return made;
}

}  // namespace

void run_hlm_paraphrase(lab_context& context, figure& f) {
  const auto problems = context.problems("test", context.scaled<std::size_t>(80, 8));
  const std::uint64_t seed = context.seed("hlm_test");  // the texts of hlm_uncertainty
  std::vector<paraphrased_text> texts(problems.size());
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    texts[i] = paraphrase_text(context, worker, problems[i], seed + i);
  });
  hlm_record all;  // the uncertainty in it is that of temperatures
  all.texts = static_cast<std::uint32_t>(texts.size());
  std::vector<double> by_prompt;
  double changed = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    all.text.insert(all.text.end(), texts[i].rejection.size(), static_cast<std::uint32_t>(i));
    all.uncertainty.insert(all.uncertainty.end(), texts[i].temperature.begin(), texts[i].temperature.end());
    all.rejection.insert(all.rejection.end(), texts[i].rejection.begin(), texts[i].rejection.end());
    all.rejected.insert(all.rejected.end(), texts[i].rejected.begin(), texts[i].rejected.end());
    by_prompt.insert(by_prompt.end(), texts[i].prompt.begin(), texts[i].prompt.end());
    changed += texts[i].changed / (paraphrases * static_cast<double>(texts.size()));
  }
  panel& p = f.add_panel("Rejection against uncertainty, problems", "u (20 draws)", "rejection probability");
  table& t = f.add_table("Two measures of uncertainty on the same tokens",
                         {"draws", "correlation per token [95 %]", "of bin means", "AUC", "mean u"});
  estimate found[2];
  for (const bool prompts : {false, true}) {
    const std::span<const double> u = prompts ? by_prompt : all.uncertainty;
    const detail::binned bins = detail::uncertainty_bins(u, all.rejection);
    const std::string label = prompts ? "after paraphrased prompts" : "at random temperatures";
    curve& c = p.add(label);
    for (std::size_t i = 0; i < bins.x.size(); ++i) c.add(bins.x[i], bins.y[i], bins.low[i], bins.high[i]);
    found[prompts ? 1 : 0] = detail::correlation_over_texts(all, u, all.rejection, context.seed("hlm_paraphrase"));
    t.rows.push_back({label, detail::interval_text(found[prompts ? 1 : 0]), number(bins.correlation(), 3),
                      number(area_under_curve(u, all.rejected), 3), number(mean_of(u), 3)});
  }
  f.about =
      std::to_string(all.size()) + " drafted tokens of " + std::to_string(texts.size()) +
      " problems, each verified by the target. Each prompt is paraphrased 20 times with synonyms of the problems' "
      "generator, " +
      number(changed, 2) +
      " words on average; the text so far is kept, and one token is drawn after each paraphrase at temperature 1. "
      "The paper takes its synonyms from WordNet. Its third measure is not run: the models have no dropout.";
  f.answer(
      "hlm.prompt", found[1], detail::interval_text(found[1]) + " per token",
      "temperatures on the same tokens: " + detail::interval_text(found[0]) + ", " +
          (found[0].low > found[1].high ? "higher, as in the paper" : "not shown to be higher, as it is in the paper") +
          "; draws after a paraphrase measure the draft's own probability too");
  f.require("paraphrases change at least one word of a prompt on average", changed >= 1, number(changed, 3));
  f.require("uncertainty by paraphrases correlates with rejections", found[1].low > 0, detail::interval_text(found[1]));
}

}  // namespace lab
