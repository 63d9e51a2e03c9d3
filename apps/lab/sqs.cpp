// SPDX-License-Identifier: Apache-2.0
// Computes the SQS figures: latency and resampling rate over temperature, a fixed threshold against a learning
// threshold, bits by formula and on the wire, and dropped mass and rejections next to the bounds. papers.hpp lists each
// paper's figures.
#include "papers.hpp"
#include "say.hpp"
#include "sqs_runs.hpp"

#include <array>

namespace lab {
namespace {

using specverify::conformal;
using specverify::conformal_update;
using specverify::top_k;

conformal threshold_rule(double target, double step, double first, conformal_update update = conformal_update::linear) {
  conformal sparsifier;
  sparsifier.target = target;
  sparsifier.step = step;
  sparsifier.first_threshold = first;
  sparsifier.update = update;
  sparsifier.max_support_size = specverify::max_vocab_size;  // as in the paper: only the budget limits the support
  return sparsifier;
}

std::string percent(double share, int digits = 3) { return number(100 * share, digits) + " %"; }

//! Runs all systems on all texts with one setting. Returns the runs by [system][text]. Texts with the same prompt get
//! the same random draws as long as the tokens are equal.
std::vector<std::vector<sqs_run>> write_all(lab_context& context, std::span<const sqs_system> systems,
                                            const sqs_setting& setting,
                                            const std::vector<std::vector<token_id>>& prompts) {
  std::vector<std::vector<sqs_run>> runs(systems.size(), std::vector<sqs_run>(prompts.size()));
  const std::uint64_t first = context.seed("sqs_texts");
  context.for_each(prompts.size(), [&](lab_worker& worker, std::size_t i) {
    for (std::size_t s = 0; s < systems.size(); ++s)
      runs[s][i] = write_sqs(systems[s], setting, prompts[i], first + i, worker);
  });
  return runs;
}

template <class Above, class Below>
estimate ratio_over(const std::vector<sqs_run>& runs, std::uint64_t seed, Above above, Below below) {
  std::vector<double> numerator, denominator;
  for (const sqs_run& run : runs) {
    numerator.push_back(above(run));
    denominator.push_back(below(run));
  }
  return ratio_estimate(numerator, denominator, seed, 400);
}

estimate latency(const std::vector<sqs_run>& runs, std::uint64_t seed) {  // milliseconds per token
  return ratio_over(
      runs, seed, [](const sqs_run& r) { return 1e3 * r.text.seconds; },
      [](const sqs_run& r) { return static_cast<double>(r.text.emitted()); });
}
// Returns the number of rejected and resampled tokens per round.
estimate resampling(const std::vector<sqs_run>& runs, std::uint64_t seed) {
  return ratio_over(
      runs, seed, [](const sqs_run& r) { return static_cast<double>(r.rejected); },
      [](const sqs_run& r) { return r.rounds(); });
}
double total(const std::vector<sqs_run>& runs, double sqs_run::*field) {
  double sum = 0;
  for (const sqs_run& run : runs) sum += run.*field;
  return sum;
}
double drafted(const std::vector<sqs_run>& runs) {
  double sum = 0;
  for (const sqs_run& run : runs) sum += static_cast<double>(run.drafted);
  return sum;
}

//! Results of one system, indexed by text.
struct sqs_sums {
  std::vector<double> milliseconds, tokens, resampled, batches, drafts;
  explicit sqs_sums(const std::vector<sqs_run>& runs) {
    for (const sqs_run& run : runs) {
      milliseconds.push_back(1e3 * run.text.seconds);
      tokens.push_back(static_cast<double>(run.text.emitted()));
      resampled.push_back(static_cast<double>(run.rejected));
      batches.push_back(run.rounds());
      drafts.push_back(static_cast<double>(run.drafted));
    }
  }
  [[nodiscard]] double latency() const { return mean_of(milliseconds) / mean_of(tokens); }
  [[nodiscard]] double a_batch() const { return mean_of(resampled) / mean_of(batches); }
  [[nodiscard]] double a_token() const { return mean_of(resampled) / mean_of(tokens); }
  [[nodiscard]] double batch() const { return mean_of(drafts) / mean_of(batches); }
};

//! Results of a fixed and a learning threshold on the same prompts and random draws.
struct sqs_rivals {
  std::string fixed_label, learned_label;
  sqs_sums fixed, learned;
  estimate time, a_batch, a_token;  //!< learning divided by fixed, minus 1

  sqs_rivals(const lab_context& context, std::string first, std::string second, const sqs_sums& a, const sqs_sums& b)
      : fixed_label(std::move(first)), learned_label(std::move(second)), fixed(a), learned(b) {
    const std::uint64_t seed = context.seed("sqs_rivals");
    time = ratio_change(b.milliseconds, b.tokens, a.milliseconds, a.tokens, seed, 400);
    a_batch = ratio_change(b.resampled, b.batches, a.resampled, a.batches, seed, 400);
    a_token = ratio_change(b.resampled, b.tokens, a.resampled, a.tokens, seed, 400);
  }
  [[nodiscard]] std::string said() const {
    return learned_label + " " + number(learned.latency(), 3) + " ms against " + number(fixed.latency(), 3) +
           " ms of " + fixed_label + ", " + change_text(time);
  }
};

// ---- Latency and resampling over temperature

void temperature_panels(lab_context& context, figure& f, const std::string& name, std::span<const sqs_system> systems,
                        sqs_setting setting, std::span<const double> temperatures,
                        const std::vector<std::vector<token_id>>& prompts, table& t,
                        std::vector<std::vector<sqs_sums>>& all) {
  panel time{name + ": latency", "temperature", "ms a token", false, false, {}, {}},
      again{name + ": resampling", "temperature", "resampled a batch", false, false, {}, {}};
  for (const sqs_system& system : systems) {
    time.add(system.label);
    again.add(system.label);
  }
  all.assign(systems.size(), {});
  for (const double temperature : temperatures) {
    setting.temperature = temperature;
    const auto runs = write_all(context, systems, setting, prompts);
    for (std::size_t s = 0; s < systems.size(); ++s) {
      const estimate milliseconds = latency(runs[s], context.seed("sqs_latency")),
                     rate = resampling(runs[s], context.seed("sqs_resampling"));
      time.curves[s].add(temperature, milliseconds.value, milliseconds.low, milliseconds.high);
      again.curves[s].add(temperature, rate.value, rate.low, rate.high);
      all[s].emplace_back(runs[s]);
      double rounds = 0, emitted = 0, wire = 0;
      for (const sqs_run& run : runs[s]) {
        rounds += run.rounds();
        emitted += static_cast<double>(run.text.emitted());
        wire += 8.0 * static_cast<double>(run.text.bytes_up());
      }
      t.rows.push_back({name, systems[s].label, number(temperature),
                        interval(milliseconds.value, milliseconds.low, milliseconds.high),
                        interval(rate.value, rate.low, rate.high), number(drafted(runs[s]) / rounds, 3),
                        number(emitted / rounds, 3), number(total(runs[s], &sqs_run::kept) / drafted(runs[s]), 3),
                        number(total(runs[s], &sqs_run::dropped) / drafted(runs[s]), 2),
                        number(total(runs[s], &sqs_run::paper_bits) / drafted(runs[s]), 4),
                        number(wire / drafted(runs[s]), 4)});
    }
  }
  f.panels.push_back(std::move(time));
  f.panels.push_back(std::move(again));
}

void run_temperature(lab_context& context, figure& f) {
  f.about =
      "Openings of held-out prose, continued by the two sessions. One temperature for both models, 25.6 ms per "
      "drafted token, 104.6 ms per verification; the downlink takes no time, as in the paper. First two "
      "panels: the paper's constants (l = 100, B = 5000, eta = 0.001, alpha = 0.0005) and the paper's code at "
      "1 Mbit/s, windows cut at 24. Last two: constants for this pair (B = 2000, alpha = 0.02, windows cut at "
      "4) and the code without zero counts at 350 kbit/s. Bands are 95 % over texts; all methods use the same "
      "prompts and draws.";
  const std::vector<double> temperatures =
      context.quick() ? std::vector<double>{0.2, 0.6, 1.0} : std::vector<double>{0.1, 0.3, 0.5, 0.7, 0.85, 1.0};
  const auto prompts = context.prose(context.scaled<std::size_t>(28, 3), 20);
  table& t = f.add_table("All settings", {"constants", "system", "T", "ms a token", "resampled a batch",
                                          "drafts a batch", "tokens a batch", "mean K", "mean dropped mass",
                                          "bits a draft, paper's formula", "bits a draft, on the wire"});
  const sqs_system paper[] = {{"K = 2", top_k{2}},
                              {"K = 8", top_k{8}},
                              {"K = 32", top_k{32}},
                              {"K = 128", top_k{128}},
                              {"C-SQS, beta_1 = 0.001", threshold_rule(5e-4, 1e-3, 1e-3)},
                              {"fixed beta = 0.001", threshold_rule(5e-4, 0, 1e-3)}};
  const sqs_system ours[] = {{"K = 2", top_k{2}},
                             {"K = 8", top_k{8}},
                             {"K = 32", top_k{32}},
                             {"C-SQS, eta = 0.02", threshold_rule(0.02, 0.02, 0.01)},
                             {"C-SQS, logarithmic", threshold_rule(0.02, 2, 0.01, conformal_update::logarithmic)},
                             {"fixed beta = 0.01", threshold_rule(0.02, 0, 0.01)}};
  sqs_setting setting;
  setting.tokens = context.scaled<std::uint32_t>(48, 24);
  std::vector<std::vector<sqs_sums>> first, second;
  temperature_panels(context, f, "paper's constants", paper, setting, temperatures, prompts, t, first);
  setting.budget = 2000;
  setting.longest_window = 4;
  setting.uplink_rate = 350e3;
  setting.paper_code = false;
  temperature_panels(context, f, "our constants", ours, setting, temperatures, prompts, t, second);
  // Compares each learning threshold with the K that was fastest at that temperature, chosen afterwards.
  const auto rivals = [&](std::span<const sqs_system> systems, const std::vector<std::vector<sqs_sums>>& of,
                          std::size_t sizes, std::size_t learned, std::size_t at) {
    std::size_t best = 0;
    for (std::size_t s = 1; s < sizes; ++s) best = of[s][at].latency() < of[best][at].latency() ? s : best;
    return sqs_rivals(context, systems[best].label, systems[learned].label, of[best][at], of[learned][at]);
  };
  table& pairs = f.add_table(
      "A learning threshold compared with the fastest K of each temperature (K chosen afterwards; changes with "
      "95 % intervals, text by text)",
      {"constants", "T", "fastest K", "against", "time a token", "resampled a batch", "resampled a token",
       "drafts a batch, both"});
  std::vector<sqs_rivals> of_paper, of_ours, of_logarithmic;
  for (std::size_t at = 0; at < temperatures.size(); ++at) {
    of_paper.push_back(rivals(paper, first, 4, 4, at));
    of_ours.push_back(rivals(ours, second, 3, 3, at));
    of_logarithmic.push_back(rivals(ours, second, 3, 4, at));
    for (const auto& [name, r] : {std::pair<const char*, const sqs_rivals&>{"paper's", of_paper.back()},
                                  {"ours", of_ours.back()},
                                  {"ours", of_logarithmic.back()}}) {
      pairs.rows.push_back({name, number(temperatures[at]), r.fixed_label, r.learned_label, change_text(r.time),
                            change_text(r.a_batch), change_text(r.a_token),
                            number(r.fixed.batch(), 3) + ", " + number(r.learned.batch(), 3)});
    }
  }
  const std::size_t last = temperatures.size() - 1;
  const auto drafts = [](const sqs_rivals& r) {
    return number(r.learned.batch(), 3) + " drafts a batch against " + number(r.fixed.batch(), 3);
  };
  for (const auto& [name, list] :
       {std::pair<const char*, const std::vector<sqs_rivals>&>{"paper's constants", of_paper},
        {"our constants", of_ours}}) {
    const sqs_rivals &cold = list[0], &hot = list[last];
    f.compare("low temperature (T = " + number(temperatures[0]) + "), " + name, "K-SQS with a well-chosen K is faster",
              cold.said(),
              by_sign(cold.time, "not met: the threshold is faster", "no difference that the interval shows", "met") +
                  "; " + drafts(cold) + ", and a draft takes 25.6 ms for any number of bits");
    f.compare("high temperature (T = " + number(temperatures[last]) + "), " + name, "C-SQS is faster", hot.said(),
              by_sign(hot.time, "met", "not met: no difference within the interval", "not met: a fixed K is faster") +
                  "; " + drafts(hot) + ", K = " + hot.fixed_label.substr(4) +
                  " is the best of the values tried at this temperature");
    f.compare(std::string("resampling at high temperature, ") + name, "C-SQS resamples less",
              number(hot.learned.a_batch(), 3) + " against " + number(hot.fixed.a_batch(), 3) + " a batch (" +
                  change_text(hot.a_batch) + "), " + number(hot.learned.a_token(), 3) + " against " +
                  number(hot.fixed.a_token(), 3) + " a token written (" + change_text(hot.a_token) + ")",
              "a batch: " + by_sign(hot.a_batch, "met", "not met, level", "not met, more") +
                  "; but a batch of any length can be resampled only once, so a short one is " + drafts(hot) +
                  "); a token written: " + by_sign(hot.a_token, "less as well", "level", "more"));
  }
  f.compare("the logarithmic update at T = " + number(temperatures[last]), "not in the paper",
            of_logarithmic[last].said(),
            by_sign(of_logarithmic[last].time, "faster than every K tried", "level with the best K",
                    "slower than the best K"));
  std::size_t best_everywhere = 0, always_best = 0;
  for (std::size_t s = 0; s < 4; ++s) {
    bool always = true;
    for (std::size_t at = 0; at < temperatures.size(); ++at)
      always = always && first[s][at].latency() <= of_paper[at].fixed.latency();
    if (always) ++best_everywhere, always_best = s;
  }
  f.compare("one K for all temperatures, the paper's constants", "not said",
            best_everywhere == 0 ? "no K is the fastest at every temperature"
                                 : paper[always_best].label + " is the fastest K at every temperature",
            best_everywhere == 0
                ? "the fastest K changes with the temperature"
                : "with a budget of bits a larger K also shortens the window, and a rejected draft costs its 25.6 ms");
  if (!context.quick()) {  // three texts are too few
    f.require("a fixed K resamples more per batch at the highest temperature than at the lowest, both constants", [&] {
      for (std::size_t s = 0; s < 4; ++s) {
        if (first[s][last].a_batch() <= first[s][0].a_batch() ||
            (s < 3 && second[s][last].a_batch() <= second[s][0].a_batch()))
          return false;
      }
      return true;
    }());
  }
  f.require("at the highest temperature the paper's C-SQS resamples less per batch than the fastest K",
            (context.quick() ? of_paper[last].a_batch.value : of_paper[last].a_batch.high) < 0,
            change_text(of_paper[last].a_batch));
  f.compare("windows at B = 5000", "up to 135 drafts at K = 2, and none for 583 <= K <= 49770 (V = 50257)",
            "cut at 24 drafts; with V = 4096 every K has a window",
            "with only a budget, far more is drafted than accepted; the paper's deadlock needs the larger vocabulary");
}

// ---- The ablation eta = 0

void run_step(lab_context& context, figure& f) {
  f.about =
      "C-SQS at temperature 0.7 for each first threshold: fixed (eta = 0), the paper's linear update (eta = "
      "0.02, alpha = 0.02) and the logarithmic one (eta = 2). B = 1000 bits in the paper's code, 350 kbit/s, "
      "windows cut at 4.";
  const std::vector<double> firsts =
      context.quick() ? std::vector<double>{1e-4, 1e-2, 0.3} : std::vector<double>{1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3};
  const auto prompts = context.prose(context.scaled<std::size_t>(28, 3), 20);
  sqs_setting setting;
  setting.budget = 1000;
  setting.longest_window = 4;
  setting.uplink_rate = 350e3;
  setting.temperature = 0.7;
  setting.tokens = context.scaled<std::uint32_t>(64, 24);
  constexpr std::array<const char*, 3> names{"eta = 0", "linear, eta = 0.02", "logarithmic, eta = 2"};
  panel time{"latency", "beta_1", "ms a token", true, false, {}, {}},
      mass{"dropped mass", "beta_1", "mean d", true, true, {}, {}},
      size{"support", "beta_1", "mean K", true, true, {}, {}};
  for (const char* name : names) time.add(name), mass.add(name), size.add(name);
  table& t = f.add_table("Against the first threshold", {"update", "beta_1", "ms a token", "resampled a batch",
                                                         "mean K", "mean dropped mass", "laws cut by the cap"});
  std::array<std::vector<double>, 3> values;
  std::array<std::vector<estimate>, 2> changes;  // linear and logarithmic, relative to fixed, by beta_1
  for (const double first : firsts) {
    const sqs_system systems[] = {{names[0], threshold_rule(0.02, 0, first)},
                                  {names[1], threshold_rule(0.02, 0.02, first)},
                                  {names[2], threshold_rule(0.02, 2, first, conformal_update::logarithmic)}};
    const auto runs = write_all(context, systems, setting, prompts);
    for (const std::size_t s : {0u, 1u})
      changes[s].push_back(sqs_rivals(context, names[0], names[s + 1], sqs_sums(runs[0]), sqs_sums(runs[s + 1])).time);
    for (std::size_t s = 0; s < names.size(); ++s) {
      const estimate milliseconds = latency(runs[s], context.seed("sqs_latency")),
                     rate = resampling(runs[s], context.seed("sqs_resampling"));
      const double dropped = total(runs[s], &sqs_run::dropped) / drafted(runs[s]),
                   kept = total(runs[s], &sqs_run::kept) / drafted(runs[s]);
      double clamped = 0;
      for (const sqs_run& run : runs[s]) clamped += static_cast<double>(run.clamped);
      time.curves[s].add(first, milliseconds.value, milliseconds.low, milliseconds.high);
      mass.curves[s].add(first, std::max(dropped, 1e-6));
      size.curves[s].add(first, kept);
      values[s].push_back(milliseconds.value);
      t.rows.push_back({names[s], number(first), interval(milliseconds.value, milliseconds.low, milliseconds.high),
                        interval(rate.value, rate.low, rate.high), number(kept, 3), number(dropped, 3),
                        percent(clamped / drafted(runs[s]))});
    }
  }
  f.panels = {time, mass, size};
  const auto spread = [](const std::vector<double>& of) {
    return *std::max_element(of.begin(), of.end()) - *std::min_element(of.begin(), of.end());
  };
  table& d = f.add_table("Time per token compared with the fixed threshold of the same beta_1 (95 %, text by text)",
                         {"beta_1", names[1], names[2]});
  for (std::size_t i = 0; i < firsts.size(); ++i)
    d.rows.push_back({number(firsts[i]), change_text(changes[0][i]), change_text(changes[1][i])});
  for (const std::size_t s : {0u, 1u}) {
    std::string faster, slower, level;
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      std::string& list = changes[s][i].high < 0 ? faster : changes[s][i].low > 0 ? slower : level;
      list += (list.empty() ? "" : ", ") + number(firsts[i]);
    }
    const auto shown = [](const std::string& list) { return list.empty() ? std::string("none") : list; };
    f.compare(
        std::string("adaptive against eta = 0, ") + names[s + 1], "adaptive is better, most clearly for small beta_1",
        "faster for beta_1 = " + shown(faster) + "; slower for " + shown(slower) + "; level for " + shown(level),
        std::string(slower.empty() ? (level.empty() ? "met at every beta_1" : "never worse, not better everywhere")
                                   : "met only in part") +
            "; from the smallest beta_1 the change is " + change_text(changes[s].front()) + ", from the largest " +
            change_text(changes[s].back()) +
            (std::fabs(changes[s].back().value) > std::fabs(changes[s].front().value)
                 ? ": clearer for large beta_1, not small"
                 : ": clearest for small beta_1"));
  }
  double fastest = 1e9;
  std::size_t whose = 0, where = 0;
  for (std::size_t s = 0; s < names.size(); ++s) {
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      if (values[s][i] < fastest) fastest = values[s][i], whose = s, where = i;
    }
  }
  f.compare(
      "the fastest setting of all", "adaptive",
      std::string(names[whose]) + " from beta_1 = " + number(firsts[where]) + ", " + number(fastest, 3) + " ms a token",
      whose == 0
          ? "not met: a fixed threshold that happens to be right is best; but with learning, beta_1 need not be known"
          : "met: no fixed threshold among those tried is faster");
  f.compare(
      "dependence on beta_1", "less with adaptation",
      "spread of the latency over beta_1: fixed " + number(spread(values[0]), 3) + ", linear " +
          number(spread(values[1]), 3) + ", logarithmic " + number(spread(values[2]), 3) + " ms a token",
      std::string(spread(values[1]) < spread(values[0]) && spread(values[2]) < spread(values[0]) ? "met" : "not met") +
          "; the column \"laws cut by the cap\" shows which supports are set by the budget instead of the threshold");
  f.require("from the largest beta_1 both updates are faster than the fixed threshold",
            context.quick() ? std::max(changes[0].back().value, changes[1].back().value) < 0
                            : std::max(changes[0].back().high, changes[1].back().high) < 0,
            change_text(changes[0].back()) + " and " + change_text(changes[1].back()));
  f.require("the latency depends less on beta_1 with either update than without",
            spread(values[1]) < spread(values[0]) && spread(values[2]) < spread(values[0]));
}

// ---- Bits

void run_bits(lab_context& context, figure& f) {
  f.about =
      "The drafter's laws along held-out prose at temperature 1, l = 100: bits per draft by the paper's "
      "formula (without the drafted token), on the wire in the paper's code, and on the wire without zero "
      "counts. Messages of 8 drafts, including kind and check.";
  constexpr std::uint32_t resolution = 100;
  constexpr std::size_t block = 8;
  const auto texts = context.prose(context.scaled<std::size_t>(40, 6), 41);
  const std::vector<std::uint32_t> sizes{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  struct sums {
    double formula = 0, paper_wire = 0, drop_formula = 0, drop_wire = 0, kept = 0, positive = 0, drafts = 0;
  };
  std::vector<std::vector<sums>> found(texts.size(), std::vector<sums>(sizes.size() + 1));
  const std::uint64_t seed = context.seed("sqs_bits");
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  const auto vocab_size = static_cast<std::uint32_t>(context.pair().drafter->vocab);
  context.for_each(texts.size(), [&](lab_worker& worker, std::size_t i) {
    using namespace specverify;
    worker.drafter.rollback(0);
    const auto length = static_cast<std::uint32_t>(texts[i].size());
    worker.drafter.feed(texts[i], length);
    law_maker make;
    for (std::size_t s = 0; s <= sizes.size(); ++s) {
      const bool learns = s == sizes.size();
      conformal sparsifier = threshold_rule(5e-4, 1e-3, 1e-3);
      conformal_state state = sparsifier.initial_state();
      auto whole = draft_block::make({block, std::uint64_t{block} * vocab_size});
      auto short_block = draft_block::make({block, std::uint64_t{block} * resolution});
      wire_format paper{law_format::sparse_paper, vocab_size, resolution, learns ? 0 : sizes[s], block, 1};
      wire_format ours{law_format::sparse_drop_zero, vocab_size, resolution, 0, block, 1};
      for (std::uint32_t n = 0; n < length; ++n) {
        top_k largest{learns ? 1 : sizes[s], true, true};
        const draft_law made = learns ? make(worker.drafter.logits(n), 1, sparsifier, state, resolution, true)
                                      : make(worker.drafter.logits(n), 1, largest, {}, resolution, true);
        if (learns) state = sparsifier.advance(state, made.kept);
        std::vector<token_id> ids(made.drafted.size);
        std::vector<std::uint32_t> counts(made.drafted.size);
        const std::uint32_t positive = demand(
            drop_zero({made.drafted.ids, made.drafted.size}, {made.drafted.counts, made.drafted.size}, ids, counts),
            "drop_zero");
        const law dropped = demand(make_law(std::span<const token_id>(ids).first(positive),
                                            std::span<const std::uint32_t>(counts).first(positive), vocab_size),
                                   "law");
        const uniform_stream draws = uniforms{source, n, static_cast<std::uint32_t>(i)}.at(purpose::draft_draw);
        detail::require(whole.value().push(draw(made.drafted, draws)));
        detail::require(short_block.value().push(draw(dropped, draws)));
        sums& at = found[i][s];
        at.kept += made.drafted.size;
        at.positive += positive;
        at.drafts += 1;
        at.formula += learns ? threshold_law_bits(vocab_size, made.drafted.size, resolution)
                             : top_k_law_bits(vocab_size, made.drafted.size, resolution);
        at.drop_formula += drop_zero_law_bits(vocab_size, positive, resolution);
        if (whole.value().size() == block || n + 1 == length) {
          const auto paper_bytes = draft_bytes(paper, whole.value().drafts(), {});
          detail::require(paper_bytes.error());
          at.paper_wire += 8.0 * static_cast<double>(*paper_bytes);
          const auto our_bytes = draft_bytes(ours, short_block.value().drafts(), {});
          detail::require(our_bytes.error());
          at.drop_wire += 8.0 * static_cast<double>(*our_bytes);
          whole.value().clear();
          short_block.value().clear();
        }
      }
    }
  });
  panel& p = f.add_panel("bits of a draft", "K", "bits");
  p.log_x = p.log_y = true;
  for (const char* name : {"paper's formula", "paper's code, on the wire", "without zero counts, formula",
                           "without zero counts, on the wire", "dense (K = V), formula"})
    p.add(name);
  table& t = f.add_table("Bits of a draft", {"support", "mean K", "mean K+", "paper's formula", "paper's code, wire",
                                             "no zeros, formula", "no zeros, wire"});
  const double dense = static_cast<double>(specverify::dense_law_bits(vocab_size, resolution));
  double worst = 0, conformal_gain = 0, dear = 0;
  for (std::size_t s = 0; s <= sizes.size(); ++s) {
    sums all;
    for (const auto& text : found) {
      all.formula += text[s].formula, all.paper_wire += text[s].paper_wire, all.drop_formula += text[s].drop_formula,
          all.drop_wire += text[s].drop_wire;
      all.kept += text[s].kept, all.positive += text[s].positive, all.drafts += text[s].drafts;
    }
    const double n = all.drafts;
    const bool learns = s == sizes.size();
    t.rows.push_back({learns ? "C-SQS, paper's constants" : "K = " + std::to_string(sizes[s]), number(all.kept / n),
                      number(all.positive / n), number(all.formula / n), number(all.paper_wire / n),
                      number(all.drop_formula / n), number(all.drop_wire / n)});
    // Bits beyond the formula: kind and check, divided among 8 drafts, the token's index, and the loss of the code.
    const double place = std::log2(std::max(1.0, all.positive / n));
    worst = std::max(worst, all.drop_wire / n - all.drop_formula / n - place);
    if (learns) {
      conformal_gain = all.formula / all.drop_wire;
      continue;
    }
    const double k = sizes[s];
    p.curves[0].add(k, std::max(all.formula / n, 1.0));
    p.curves[1].add(k, all.paper_wire / n);
    p.curves[2].add(k, all.drop_formula / n);
    p.curves[3].add(k, all.drop_wire / n);
    p.curves[4].add(k, dense);
    dear = std::max(dear, all.formula / n);
  }
  f.compare("cost of a larger support",
            "grows with K, then falls: dense costs " + number(dense) + " bits here, K = 1024 " + number(dear),
            "without zero counts, on the wire: " + t.rows[7][6] + " bits at K = " + std::to_string(sizes[7]) + ", " +
                t.rows[sizes.size() - 1][6] + " at K = " + std::to_string(sizes.back()),
            "tokens without a count cannot be drafted, so they need not be named");
  f.compare(
      "C-SQS with the paper's constants", t.rows.back()[3] + " bits by the formula",
      t.rows.back()[6] + " bits on the wire, " + number(conformal_gain, 3) + " times less",
      "the threshold falls and keeps " + t.rows.back()[1] + " tokens, of which " + t.rows.back()[2] + " get a count");
  f.require(
      "without zero counts a draft costs at most 20 bits more than its formula and the index of its token, "
      "including framing",
      worst <= 20, number(worst));
}

// ---- Bounds

struct law_stream {
  const char* name;
  double (*temperature)(std::size_t n);
};

void run_dropped(lab_context& context, figure& f) {
  f.about =
      "The threshold along held-out prose, position by position: mean dropped mass so far, and its bounds (the "
      "tight form, the appendix form (28) and the paper's (9)). In the second stream the temperature jumps "
      "between 0.3 and 1.5 every 200 tokens.";
  const auto texts = context.prose(context.scaled<std::size_t>(240, 24), 41);
  std::vector<std::vector<float>> rows;
  {
    std::vector<std::vector<std::vector<float>>> by_text(texts.size());
    context.for_each(texts.size(), [&](lab_worker& worker, std::size_t i) {
      worker.drafter.rollback(0);
      worker.drafter.feed(texts[i], static_cast<std::uint32_t>(texts[i].size()));
      for (std::uint32_t n = 0; n < texts[i].size(); ++n)
        by_text[i].emplace_back(worker.drafter.logits(n).begin(), worker.drafter.logits(n).end());
    });
    for (auto& text : by_text) std::move(text.begin(), text.end(), std::back_inserter(rows));
  }
  const auto vocab_size = static_cast<std::uint32_t>(context.pair().drafter->vocab);
  const law_stream streams[] = {{"temperature 1", [](std::size_t) { return 1.0; }},
                                {"temperature jumps", [](std::size_t n) { return n / 200 % 2 == 0 ? 0.3 : 1.5; }}};
  const std::pair<const char*, conformal> rules[] = {
      {"paper's constants", threshold_rule(5e-4, 1e-3, 1e-3)},
      {"linear, alpha = eta = 0.02", threshold_rule(0.02, 0.02, 0.01)},
      {"logarithmic, alpha = 0.02, eta = 2", threshold_rule(0.02, 2, 0.01, conformal_update::logarithmic)},
      {"horizon, c = 0.2, d = 1", specverify::horizon_schedule(0.2, 1, rows.size(), threshold_rule(0, 0, 1e-3))}};
  constexpr std::size_t count = 8;
  std::vector<std::vector<specverify::conformal_state>> states(count);
  std::vector<double> kept(count, 0.0);
  context.for_each(count, [&](lab_worker&, std::size_t job) {
    const conformal& sparsifier = rules[job % 4].second;
    law_maker make;
    specverify::conformal_state state = sparsifier.initial_state();
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const auto made = make(rows[n], streams[job / 4].temperature(n), sparsifier, state, 100);
      state = sparsifier.advance(state, made.kept);
      states[job].push_back(state);
      kept[job] += made.kept.size();
    }
  });
  table& t = f.add_table("After " + std::to_string(rows.size()) + " tokens",
                         {"stream", "rule", "alpha", "mean dropped mass", "tight bound", "appendix (28)", "paper's (9)",
                          "mean K", "last beta"});
  bool holds = true;
  double closest = 0;
  for (std::size_t job = 0; job < count; ++job) {
    const auto& [label, chosen] = rules[job % 4];
    const auto& sparsifier = chosen;  // clang 14 does not capture the binding itself
    const bool linear = sparsifier.update == conformal_update::linear;
    panel p{std::string(label) + ", " + streams[job / 4].name, "tokens N", "mean dropped mass", true, true, {}, {}};
    for (const char* name : {"measured", "tight bound", "alpha"}) p.add(name);
    if (linear) p.add("appendix (28)");
    const double first = std::fabs(sparsifier.first_threshold);
    const auto loose = [&](double n, double last) {
      return sparsifier.target + (first + 1 + last) / (sparsifier.step * n);
    };
    double next = 1;
    for (std::size_t n = 1; n <= rows.size(); ++n) {
      const double mean = specverify::mean_dropped_mass(states[job][n - 1]),
                   bound = specverify::dropped_mass_bound(sparsifier, n, vocab_size);
      holds = holds && mean <= bound + 1e-9;
      closest = std::max(closest, mean / bound);
      if (static_cast<double>(n) < next && n != rows.size()) continue;
      next *= 1.3;
      const double at = static_cast<double>(n);
      p.curves[0].add(at, std::max(mean, 1e-6));
      p.curves[1].add(at, bound);
      p.curves[2].add(at, sparsifier.target);
      if (linear) p.curves[3].add(at, std::min(1.0, loose(at, sparsifier.step)));
    }
    const double n = static_cast<double>(rows.size());
    const auto shown = [&](double last) { return linear ? number(loose(n, last)) : std::string("-"); };
    t.rows.push_back({streams[job / 4].name, label, number(sparsifier.target),
                      number(specverify::mean_dropped_mass(states[job].back()), 3),
                      number(specverify::dropped_mass_bound(sparsifier, rows.size(), vocab_size), 3),
                      shown(sparsifier.step), shown(sparsifier.step * sparsifier.target), number(kept[job] / n, 3),
                      number(states[job].back().beta, 3)});
    if (job / 4 == 0 || job % 4 == 1 || job % 4 == 2) f.panels.push_back(std::move(p));
  }
  f.require("the mean dropped mass stays below the bound at every token of every stream", holds,
            "at most " + number(closest, 3) + " of it");
  f.compare("bound after " + std::to_string(rows.size()) + " tokens, paper's constants", t.rows[0][6] + " by (9)",
            t.rows[0][4] + " by the tight form, measured " + t.rows[0][3],
            "(9) charges 1 / (eta N) for any beta_1; it reaches 2 alpha after about 2e6 tokens, the tight form after "
            "4000");
}

void run_rejections(lab_context& context, figure& f) {
  f.about =
      "Every tested draft of the texts: whether it was rejected, the distance TV(q^, p) of the law it was "
      "drawn from, and the paper's bound TV(q, p) + dropped mass + K / (4 l). All numbers are averages over "
      "the run, including thresholds.";
  const auto prompts = context.prose(context.scaled<std::size_t>(24, 3), 20);
  const sqs_system systems[] = {{"K = 2", top_k{2}},
                                {"K = 16", top_k{16}},
                                {"K = 128", top_k{128}},
                                {"C-SQS, paper's constants", threshold_rule(5e-4, 1e-3, 1e-3)},
                                {"C-SQS, logarithmic", threshold_rule(0.02, 2, 0.01, conformal_update::logarithmic)}};
  sqs_setting setting;
  setting.longest_window = 8;
  setting.tokens = context.scaled<std::uint32_t>(48, 24);
  table& t = f.add_table("Of a tested draft", {"T", "system", "tested", "rejected", "TV(q^, p)", "difference",
                                               "TV(q, p)", "dropped mass", "K / (4 l)", "bound"});
  bool below = true, equal = true;
  std::string worst;
  const std::vector<double> temperatures = context.quick() ? std::vector<double>{1.0} : std::vector<double>{0.4, 1.0};
  for (const double temperature : temperatures) {
    setting.temperature = temperature;
    const auto runs = write_all(context, systems, setting, prompts);
    panel& p = f.add_panel("temperature " + number(temperature), "", "of a tested draft");
    for (const auto& system : systems) p.x_names.push_back(system.label);
    for (const char* name : {"rejected", "TV(q^, p)", "bound"}) p.add(name);
    for (std::size_t s = 0; s < std::size(systems); ++s) {
      struct sums {
        double tested = 0, rejected = 0, apart = 0, drafter = 0, dropped = 0, lattice = 0;
      };
      std::vector<sums> by_text(prompts.size());
      context.for_each(prompts.size(), [&](lab_worker& worker, std::size_t i) {
        const sqs_run& run = runs[s][i];
        std::vector<token_id> text = prompts[i];
        text.insert(text.end(), run.text.tokens.begin(), run.text.tokens.end());
        worker.drafter.rollback(0);
        worker.target.rollback(0);
        const auto length = static_cast<std::uint32_t>(text.size());
        worker.drafter.feed(text, length);
        worker.target.feed(text, length);
        law_maker make;
        sums& at = by_text[i];
        at.rejected = static_cast<double>(run.rejected);
        for (const tested_position& position : run.tested) {
          const auto q_row = worker.drafter.logits(position.prefix - 1),
                     p_row = worker.target.logits(position.prefix - 1);
          const std::vector<double> q = law_of(q_row, temperature), wanted = law_of(p_row, temperature);
          std::vector<double> hat(q.size(), 0.0);
          const auto fill = [&](const specverify::law& made) {
            for (std::uint32_t k = 0; k < made.size; ++k)
              hat[static_cast<std::size_t>(made.ids[k])] = made.counts[k] / static_cast<double>(made.resolution);
          };
          if (const auto* fixed = std::get_if<top_k>(&systems[s].sparsifier)) {
            fill(make(q_row, temperature, top_k{fixed->support_size, true}, {}, setting.resolution).drafted);
          } else {
            fill(make(q_row, temperature, specverify::threshold{position.beta, position.kept}, {}, setting.resolution)
                     .drafted);
          }
          at.tested += 1;
          at.apart += total_variation(hat, wanted);
          at.drafter += total_variation(q, wanted);
          at.dropped += position.dropped;
          at.lattice += position.kept / (4.0 * setting.resolution);
        }
      });
      sums all;
      std::vector<double> gaps;
      for (const sums& text : by_text) {
        all.tested += text.tested, all.rejected += text.rejected, all.apart += text.apart, all.drafter += text.drafter,
            all.dropped += text.dropped;
        all.lattice += text.lattice;
        gaps.push_back(text.rejected - text.apart);
      }
      const double n = all.tested, bound = (all.drafter + all.dropped + all.lattice) / n;
      double squares = 0;
      for (const double gap : gaps) squares += (gap - mean_of(gaps)) * (gap - mean_of(gaps));
      const double count = static_cast<double>(gaps.size()),
                   error = std::sqrt(squares / (count * std::max(1.0, count - 1)));
      const bool agrees = std::fabs(mean_of(gaps)) <= 4.5 * error + 0.05;
      below = below && all.apart / n <= bound + 1e-6;
      equal = equal && agrees;
      if (!agrees) worst = systems[s].label + " at T = " + number(temperature);
      t.rows.push_back(
          {number(temperature), systems[s].label, number(n), number(all.rejected / n, 3), number(all.apart / n, 3),
           number((all.rejected - all.apart) / n, 2) + " +- " + number(1.96 * error * count / n, 2),
           number(all.drafter / n, 3), number(all.dropped / n, 2), number(all.lattice / n, 3), number(bound, 3)});
      const double x = static_cast<double>(s);
      p.curves[0].add(x, all.rejected / n);
      p.curves[1].add(x, all.apart / n);
      p.curves[2].add(x, std::min(1.0, bound));
    }
  }
  f.require("rejections agree with the sum of TV(q^, p) within 4.5 standard errors", equal, worst);
  f.require("the sum of TV(q^, p) stays below the paper's bound", below);
  f.compare("which part of the bound is loose", "not discussed",
            t.rows.back()[9] + " against " + t.rows.back()[4] + " in the last row",
            "K / (4 l) charges every kept token, including tokens without a count");
}

}  // namespace

paper sqs_paper() {
  return {"sqs",
          "Conformal Sparsification for Bandwidth-Efficient Edge-Cloud Speculative Decoding",
          "2510.09942",
          {{"sqs_temperature", "Latency and resampling against temperature", run_temperature, 45, 3},
           {"sqs_step", "A fixed threshold and a learning one", run_step, 12, 1},
           {"sqs_bits", "Bits of a draft by formula and on the wire", run_bits, 2, 1},
           {"sqs_dropped", "Dropped mass and its bounds", run_dropped, 6, 1},
           {"sqs_rejections", "Rejections and their bound", run_rejections, 10, 1}},
          "The paper's pair is GPT-Neo 125M and 1.3B on LM1B with 50257 tokens; ours has 4096. Our source does not "
          "give the uplink rate; here it is 1 Mbit/s."};
}

}  // namespace lab
