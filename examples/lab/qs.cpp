// SPDX-License-Identifier: Apache-2.0
// Quantize-Sample-and-Verify: quality against temperature; its policies stand in qs_policies.cpp.
#include "papers.hpp"
#include "qs_rounds.hpp"
#include "virtual_run.hpp"

namespace lab {

namespace {

//! How a text is written in the quality figure.
struct qs_writer {
  const char* label;
  enum class kind : std::uint8_t { target, drafter, sample_quantize, quantize_sample } how;
  std::uint32_t resolution = 0;
};
constexpr std::array<qs_writer, 6> writers{{{"target", qs_writer::kind::target},
                                            {"drafter", qs_writer::kind::drafter},
                                            {"S-Q, l = 12", qs_writer::kind::sample_quantize, 12},
                                            {"S-Q, l = 240", qs_writer::kind::sample_quantize, 240},
                                            {"Q-S, l = 12", qs_writer::kind::quantize_sample, 12},
                                            {"Q-S, l = 240", qs_writer::kind::quantize_sample, 240}}};

//! The law of an emitted token when a draft drawn from `drawn` is tested as if it came from `claimed`: out(v) = d(v) a(v) + P(reject) res(v).
std::vector<double> emitted_law(const std::vector<double>& drawn, const std::vector<double>& claimed, const std::vector<double>& p) {
  std::vector<double> out(p.size()), residual(p.size());
  double rejected = 0, mass = 0;
  for (std::size_t v = 0; v < p.size(); ++v) {
    const double accept = claimed[v] > 0 ? std::min(1.0, p[v] / claimed[v]) : p[v] > 0 ? 1.0 : 0.0;
    out[v] = drawn[v] * accept;
    rejected += drawn[v] * (1 - accept);
    mass += residual[v] = std::max(0.0, p[v] - claimed[v]);
  }
  for (std::size_t v = 0; v < p.size(); ++v) out[v] += mass > 1e-12 ? rejected * residual[v] / mass : rejected * p[v];
  return out;
}

std::vector<double> law_of_writer(const qs_writer& writer, dense_quantizer& quantize, std::span<const float> drafter, const std::vector<double>& p,
                                  double temperature) {
  if (writer.how == qs_writer::kind::target) return p;
  std::vector<double> q = law_of(drafter, temperature);
  if (writer.how == qs_writer::kind::drafter) return q;
  const std::vector<double> coarse = quantize(drafter, temperature, writer.resolution);
  return emitted_law(writer.how == qs_writer::kind::quantize_sample ? coarse : q, coarse, p);
}

struct written {
  bool solved = false;
  double entropy = 0, distance = 0;  //!< sums over the text
  double tokens = 0;
};

written write(lab_context& context, lab_worker& worker, const lab_problem& problem, const qs_writer& writer, double temperature, std::uint32_t index) {
  constexpr std::uint32_t budget = 110;
  const std::uint64_t seed = context.seed("qs_quality");
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  std::vector<token_id> text;
  const bool in_session = writer.how == qs_writer::kind::quantize_sample;
  if (in_session) {  // the shipped sessions, bytes and all
    run_options options;
    options.prompt = problem.prompt;
    options.tokens = budget;
    options.temperature = temperature;
    options.session_id = seed + index;
    options.format.format = specverify::law_format::dense_lattice;
    options.format.resolution = writer.resolution;
    options.format.max_draft_length = 4;
    text = run_virtually(options, worker.drafter, worker.target, specverify::top_k{worker.drafter.vocab_size()},
                         specverify::fixed_window{{4, writer.resolution, worker.drafter.vocab_size()}})
               .tokens;
  }
  written made;
  dense_quantizer quantize;
  worker.drafter.rollback(0);
  worker.target.rollback(0);
  std::vector<token_id> next = problem.prompt;
  for (std::uint32_t t = 0; t < (in_session ? text.size() : budget); ++t) {
    worker.target.feed(next, 1);
    if (writer.how != qs_writer::kind::target) worker.drafter.feed(next, 1);
    const std::vector<double> p = law_of(worker.target.logits(0), temperature);
    const std::vector<double> out =
        law_of_writer(writer, quantize, writer.how == qs_writer::kind::target ? std::span<const float>{} : worker.drafter.logits(0), p, temperature);
    made.distance += total_variation(out, p);
    made.entropy += entropy_of(out);
    made.tokens += 1;
    if (!in_session)
      text.push_back(static_cast<token_id>(token_at(out, specverify::decision_uniform(source({t, index, 0, specverify::purpose::training, 6})))));
    if (text[t] == tinylm::tokenizer::end_token) break;
    next.assign(1, text[t]);
  }
  made.solved = context.solves(problem, text);
  return made;
}

void run_quality(lab_context& context, figure& f) {
  f.about =
      "Word problems written at one temperature for both models. S-Q draws the draft and quantizes afterwards: its text is sampled from its exact law. "
      "Q-S quantizes, draws, verifies: its text comes from the two sessions (L = 4). Distance is the mean over the emitted positions of the total "
      "variation between the law of the next token and the target's, by formula; entropy is that of the same law.";
  const auto problems = context.problems("test", context.scaled<std::size_t>(150, 12));
  const std::vector<double> temperatures = context.quick() ? std::vector<double>{0.4, 1.0} : std::vector<double>{0.2, 0.4, 0.6, 0.8, 1.0};
  const std::size_t settings = temperatures.size() * writers.size();
  std::vector<written> all(problems.size() * settings);
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    for (std::size_t s = 0; s < settings; ++s) {
      all[i * settings + s] = write(context, worker, problems[i], writers[s % writers.size()], temperatures[s / writers.size()], static_cast<std::uint32_t>(i));
    }
  });
  panel& accuracy = f.add_panel("task accuracy", "temperature", "share of problems solved");
  panel& distance = f.add_panel("distance to the target's law", "temperature", "total variation");
  panel& entropy = f.add_panel("entropy of the emitted law", "temperature", "bits per token");
  distance.log_y = true;
  table& t = f.add_table("quality", {"temperature", "system", "solved", "total variation to the target", "entropy in bits"});
  double lossless = 0, coarse = 0, fine = 0, drafter = 0;
  std::vector<double> gap_of_sessions;
  for (std::size_t w = 0; w < writers.size(); ++w) {
    curve &solved = accuracy.add(writers[w].label), &bits = entropy.add(writers[w].label);
    std::vector<double> tv(temperatures.size());
    for (std::size_t k = 0; k < temperatures.size(); ++k) {
      std::vector<double> right, all_distance, all_entropy, tokens;
      for (std::size_t i = 0; i < problems.size(); ++i) {
        const written& one = all[i * settings + k * writers.size() + w];
        right.push_back(one.solved ? 1 : 0);
        all_distance.push_back(one.distance);
        all_entropy.push_back(one.entropy);
        tokens.push_back(one.tokens);
      }
      const estimate share = mean_estimate(right, context.seed("qs_quality_interval"));
      solved.add(temperatures[k], share.value, share.low, share.high);
      tv[k] = mean_of(all_distance) / mean_of(tokens);
      bits.add(temperatures[k], mean_of(all_entropy) / mean_of(tokens));
      t.rows.push_back({number(temperatures[k]), writers[w].label, interval(share.value, share.low, share.high), number(tv[k], 3),
                        number(mean_of(all_entropy) / mean_of(tokens), 3)});
      const bool last = k + 1 == temperatures.size();
      if (writers[w].how == qs_writer::kind::quantize_sample) lossless = std::max(lossless, tv[k]);
      if (last && writers[w].how == qs_writer::kind::sample_quantize) (writers[w].resolution == 12 ? coarse : fine) = tv[k];
      if (last && writers[w].how == qs_writer::kind::drafter) drafter = tv[k];
    }
    if (*std::max_element(tv.begin(), tv.end()) > 1e-9) {  // what is exactly 0 has no place on a logarithmic axis
      curve& far = distance.add(writers[w].label);
      for (std::size_t k = 0; k < tv.size(); ++k) far.add(temperatures[k], tv[k]);
    }
  }
  f.compare("Q-S against the target", "equal ROUGE-2 at all temperatures", "total variation " + number(lossless, 2) + " of the laws",
            "exact: Q-S verifies the law it drew from");
  f.compare("S-Q at the highest temperature", "degraded", "total variation " + number(coarse, 3) + " (l = 12), " + number(fine, 3) + " (l = 240)",
            "law, not a score: no sampling noise; the drafter alone is at " + number(drafter, 3));
  f.require("the law of Q-S is the target's (total variation below 1e-12)", lossless < 1e-12, number(lossless, 3));
  f.require("the law of S-Q is not, and a coarser lattice is worse", coarse > fine && fine > 1e-6, number(coarse, 3) + " and " + number(fine, 3));
}

}  // namespace

paper qs_paper() {
  return {
      "qs",
      "Quantize-Sample-and-Verify: LLM Acceleration via Adaptive Edge-Cloud Speculative Decoding",
      "2507.00605",
      {{"qs_quality", "Quality against temperature", run_quality, 60, 4},
       {"qs_speed", "Speed over links", run_qs_speed, 25, 4},
       {"qs_regret", "How far policies fall short of the best", run_qs_regret, 45, 6},
       {"qs_network", "A network for the demo", run_qs_network, 25, 4}},
      "The policy's state, actions, network and reward are those of the authors' code; episodes, rate and batch are smaller so that a training takes seconds "
      "(300 to 400 episodes, Adam 1e-3, batch 32, an update every fourth round, epsilon falling by 0.98). The paper gives no computing times; with 8 ms a "
      "draft and "
      "45 ms a verification every gain moves with these two numbers; which of the paper's are met is said beside each."};
}

}  // namespace lab
