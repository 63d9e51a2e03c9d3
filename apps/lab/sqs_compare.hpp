// SPDX-License-Identifier: Apache-2.0
//! Runs SQS systems on many texts, and compares two of them text by text.
#ifndef SPECVERIFY_APPS_LAB_SQS_COMPARE_HPP
#define SPECVERIFY_APPS_LAB_SQS_COMPARE_HPP

#include "say.hpp"
#include "sqs_runs.hpp"

namespace lab {

using prompt_list = std::vector<std::vector<token_id>>;

//! Milliseconds of a token if the target writes alone: one pass, and nothing to send up.
[[nodiscard]] inline double target_alone_ms() { return 1e3 * compute_times{}.target_pass; }

[[nodiscard]] inline specverify::conformal threshold_rule(
    double target, double step, double first,
    specverify::conformal_update update = specverify::conformal_update::linear) {
  specverify::conformal sparsifier;
  sparsifier.target = target;
  sparsifier.step = step;
  sparsifier.first_threshold = first;
  sparsifier.update = update;
  sparsifier.max_support_size = specverify::max_vocab_size;  // as in the paper: only the budget limits the support
  return sparsifier;
}

//! Runs all systems on all texts with one setting. Returns the runs by [system][text]. Texts with the same prompt get
//! the same random draws as long as the tokens are equal.
[[nodiscard]] inline std::vector<std::vector<sqs_run>> write_all(lab_context& context,
                                                                 std::span<const sqs_system> systems,
                                                                 const sqs_setting& setting,
                                                                 const prompt_list& prompts) {
  std::vector<std::vector<sqs_run>> runs(systems.size(), std::vector<sqs_run>(prompts.size()));
  const std::uint64_t first = context.seed("sqs_texts");
  context.for_each(prompts.size(), [&](lab_worker& worker, std::size_t i) {
    for (std::size_t s = 0; s < systems.size(); ++s)
      runs[s][i] = write_sqs(systems[s], setting, prompts[i], first + i, worker);
  });
  return runs;
}

template <class Above, class Below>
[[nodiscard]] estimate ratio_over(const std::vector<sqs_run>& runs, std::uint64_t seed, Above above, Below below) {
  std::vector<double> numerator, denominator;
  for (const sqs_run& run : runs) {
    numerator.push_back(above(run));
    denominator.push_back(below(run));
  }
  return ratio_estimate(numerator, denominator, seed, 400);
}

//! Returns the milliseconds per token.
[[nodiscard]] inline estimate latency(const std::vector<sqs_run>& runs, std::uint64_t seed) {
  return ratio_over(
      runs, seed, [](const sqs_run& r) { return 1e3 * r.text.seconds; },
      [](const sqs_run& r) { return static_cast<double>(r.text.emitted()); });
}
//! Returns the number of rejected and resampled tokens per round.
[[nodiscard]] inline estimate resampling(const std::vector<sqs_run>& runs, std::uint64_t seed) {
  return ratio_over(
      runs, seed, [](const sqs_run& r) { return static_cast<double>(r.rejected); },
      [](const sqs_run& r) { return r.rounds(); });
}
[[nodiscard]] inline double total(const std::vector<sqs_run>& runs, double sqs_run::*field) {
  double sum = 0;
  for (const sqs_run& run : runs) sum += run.*field;
  return sum;
}
[[nodiscard]] inline double drafted(const std::vector<sqs_run>& runs) {
  double sum = 0;
  for (const sqs_run& run : runs) sum += static_cast<double>(run.drafted);
  return sum;
}

//! Results of one system, indexed by text.
struct sqs_sums {
  std::vector<double> milliseconds, tokens, resampled, discarded, batches, drafts;
  double all_kept = 0, all_dropped = 0, all_paper_bits = 0, all_wire_bits = 0;  //!< over drafted positions
  explicit sqs_sums(const std::vector<sqs_run>& runs) {
    for (const sqs_run& run : runs) {
      milliseconds.push_back(1e3 * run.text.seconds);
      tokens.push_back(static_cast<double>(run.text.emitted()));
      resampled.push_back(static_cast<double>(run.rejected));
      discarded.push_back(static_cast<double>(run.drafted - run.accepted));
      batches.push_back(run.rounds());
      drafts.push_back(static_cast<double>(run.drafted));
      all_kept += run.kept;
      all_dropped += run.dropped;
      all_paper_bits += run.paper_bits;
      all_wire_bits += 8.0 * static_cast<double>(run.text.bytes_up());
    }
  }
  [[nodiscard]] double latency() const { return mean_of(milliseconds) / mean_of(tokens); }
  [[nodiscard]] double a_batch() const { return mean_of(resampled) / mean_of(batches); }
  //! Returns the rejected tokens of a batch with all that follow the first one: N_tot-rej.
  [[nodiscard]] double discarded_a_batch() const { return mean_of(discarded) / mean_of(batches); }
  [[nodiscard]] double a_token() const { return mean_of(resampled) / mean_of(tokens); }
  [[nodiscard]] double kept() const { return a_draft(all_kept); }
  [[nodiscard]] double dropped() const { return a_draft(all_dropped); }
  [[nodiscard]] double paper_bits() const { return a_draft(all_paper_bits); }
  [[nodiscard]] double wire_bits() const { return a_draft(all_wire_bits); }
  [[nodiscard]] double a_draft(double sum) const {
    return sum / (mean_of(drafts) * static_cast<double>(drafts.size()));
  }
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

//! Systems under one set of constants. Each system gets, at each temperature, the window of `windows` that is fastest
//! on tune.
struct sqs_block {
  std::string name;
  std::vector<sqs_system> systems;  //!< K-SQS first, by K
  std::size_t sizes = 0;            //!< number of K-SQS systems; the learning threshold is the next one
  sqs_setting setting;
  std::vector<std::uint32_t> windows;
};

//! Results of a block, by system and temperature.
struct block_result {
  std::vector<std::vector<std::uint32_t>> window;
  std::vector<std::vector<sqs_sums>> tune, test;
  std::vector<std::size_t> best_size;  //!< by temperature: K-SQS with the lowest latency on tune
};

[[nodiscard]] inline block_result measure_block(lab_context& context, const sqs_block& block,
                                                std::span<const double> temperatures, const prompt_list& tune,
                                                const prompt_list& test) {
  block_result made;
  const std::size_t count = block.systems.size();
  made.window.assign(count, {});
  made.tune.assign(count, {});
  made.test.assign(count, {});
  for (const double temperature : temperatures) {
    sqs_setting setting = block.setting;
    setting.temperature = temperature;
    std::vector<std::vector<sqs_sums>> tried;  // by window and system
    for (const std::uint32_t window : block.windows) {
      setting.longest_window = window;
      auto& row = tried.emplace_back();
      for (const auto& runs : write_all(context, block.systems, setting, tune)) row.emplace_back(runs);
    }
    for (std::size_t s = 0; s < count; ++s) {
      std::size_t best = 0;
      for (std::size_t w = 1; w < tried.size(); ++w) best = tried[w][s].latency() < tried[best][s].latency() ? w : best;
      made.window[s].push_back(block.windows[best]);
      made.tune[s].push_back(tried[best][s]);
      setting.longest_window = block.windows[best];
      made.test[s].emplace_back(write_all(context, std::span(&block.systems[s], 1), setting, test)[0]);
    }
    std::size_t best = 0;
    for (std::size_t s = 1; s < block.sizes; ++s)
      best = made.tune[s].back().latency() < made.tune[best].back().latency() ? s : best;
    made.best_size.push_back(best);
  }
  return made;
}

}  // namespace lab

#endif
