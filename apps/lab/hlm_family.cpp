// SPDX-License-Identifier: Apache-2.0
// Chooses the settings of the HLM family on tuning texts, and runs the systems.
#include "hlm_family.hpp"

#include "virtual_run.hpp"

namespace lab {
namespace {

//! Rounds of one tuning text: the sums of U over the sizes, for k*.
struct offline_text {
  std::vector<double> sums = std::vector<double>(1024, 0.0);
  std::uint32_t rounds = 0;
};

[[nodiscard]] offline_text offline_sums(lab_worker& worker, const lab_problem& problem, double threshold,
                                        std::uint64_t seed) {
  offline_text made;
  specverify::offline_calibration into{made.sums};
  const std::uint32_t vocab_size = worker.drafter.vocab_size();
  const specverify::read_request wanted{.top_entries = vocab_size, .integer_total = true};
  std::vector<std::byte> memory(specverify::digest_workspace_size(vocab_size, {}, wanted)),
      more(specverify::tail_profile_workspace_size(vocab_size));
  const auto observe = [&](const hlm_step& step, const hlm_view& view) {
    if (!step.sent) return;
    const double variation =
        total_variation(law_of(view.drafter, hlm_temperature), law_of(view.target, hlm_temperature));
    specverify::workspace space{std::span<std::byte>(memory)}, scratch{std::span<std::byte>(more)};
    const auto reading = demand(specverify::read_row(specverify::exec::simd, specverify::logits_row(view.drafter),
                                                     {.temperature = hlm_temperature}, wanted, space),
                                "reading");
    specverify::record(into, demand(specverify::make_tail_profile(reading, scratch), "profile"), variation);
  };
  (void)write_hlm_text(worker, problem.prompt, {"", specverify::u_hlm({threshold})}, hlm_temperature,
                       hlm_problem_tokens, seed, true, observe);
  made.rounds = into.rounds;
  return made;
}

//! Returns k*: the mean over the uploaded rounds of tuning texts of N(k) / TV(x, y) is at most 0.1.
void measure_offline_size(lab_context& context, family_study& study) {
  const auto problems = context.problems("tune", context.scaled<std::size_t>(30, 4));
  std::vector<offline_text> texts(problems.size());
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    texts[i] = offline_sums(worker, problems[i], study.threshold, study.seed + 7777 + i);
  });
  study.tuning = problems.size();
  study.offline_size = bootstrap(
      texts.size(), study.seed,
      [&](std::span<const std::size_t> places) {
        std::vector<double> sums(1024, 0.0);
        specverify::offline_calibration all{sums};
        for (const std::size_t t : places) {
          for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += texts[t].sums[k];
          all.rounds += texts[t].rounds;
        }
        const std::uint32_t size = specverify::calibrate_offline(all, 0.1);
        return size == 0 ? 1024.0 : static_cast<double>(size);
      },
      200);
}

}  // namespace

family_study measure_family(lab_context& context) {
  family_study study;
  const hlm_study& record = hlm_study_of(context);
  study.seed = context.seed("hlm_systems");
  study.ours.vocab_size = static_cast<std::uint32_t>(context.pair().drafter->vocab);
  study.threshold = threshold_for(record.tune, 0.252);
  measure_offline_size(context, study);
  const specverify::uncertainty_gate gate{study.threshold};
  const specverify::cu_hlm_settings fixed{.support_size = static_cast<std::uint32_t>(study.offline_size.value),
                                          .skip = gate},
      capless{.support_size = study.ours.vocab_size, .skip = gate};
  const specverify::online_vocabulary_budget fitted{.slope = record.fit.slope, .intercept = record.fit.intercept};
  study.systems = {
      {"SLM", specverify::rand_hlm({0.0})},          {"HLM", hlm_of_paper()},
      {"Rand-HLM", specverify::rand_hlm()},          {"U-HLM", specverify::u_hlm(gate)},
      {"CU-HLM offline", specverify::cu_hlm(fixed)}, {"CU-HLM online", specverify::cu_hlm_online(capless, fitted)},
      {"CU-HLM, sent law", drawn_from_sent(fixed)},  {"U-HLM, u_th 0.8", specverify::u_hlm()}};
  const auto problems = context.problems("test", context.scaled<std::size_t>(240, 20));
  study.outcomes = run_hlm_systems(context, study.systems, problems, study.seed);
  study.alone = solved_by_target(context, problems, study.seed);
  return study;
}

bool sessions_agree(lab_context& context, double threshold) {
  const auto problems = context.problems("tune", 4);
  std::vector<std::uint8_t> same(problems.size());
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    const auto preset = specverify::u_hlm({threshold});
    const std::uint64_t seed = 900 + i;
    const hlm_text text = write_hlm_text(worker, problems[i].prompt, {"", preset, true}, hlm_temperature, 48, seed);
    run_options options;
    options.prompt = problems[i].prompt;
    options.tokens = 48;
    options.session_id = seed;
    options.edge_secret = options.cloud_secret = hlm_secret;
    options.salt = hlm_salt;
    options.channel = steady({1e6, 1e6, 0, 0, 0.05, 0});
    std::vector<token_id> tokens = run_virtually(options, worker.drafter, worker.target, preset).tokens;
    if (!tokens.empty() && tokens.back() == tinylm::tokenizer::end_token) tokens.pop_back();
    same[i] = tokens == text.tokens ? 1 : 0;
  });
  return std::all_of(same.begin(), same.end(), [](std::uint8_t one) { return one == 1; });
}

}  // namespace lab
