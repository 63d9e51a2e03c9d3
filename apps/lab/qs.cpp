// SPDX-License-Identifier: Apache-2.0
// Computes the quality figures of Quantize-Sample-and-Verify over temperature; the figures about policies are in
// qs_policies.cpp.
#include <specverify/testing/chi_square.hpp>
#include <specverify/verify/mismatched.hpp>

#include "papers.hpp"
#include "qs_rounds.hpp"
#include "say.hpp"
#include "virtual_run.hpp"

namespace lab {

namespace {

//! One of the methods that generate a text in the quality figure.
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

//! Returns the distribution of an emitted token if a draft from `drawn` (d) is tested as if it came from `claimed`:
//! d(v) a(v) + P(reject) res(v), where a is the acceptance probability and res the residual.
std::vector<double> emitted_law(const std::vector<double>& drawn, const std::vector<double>& claimed,
                                const std::vector<double>& p) {
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

std::vector<double> law_of_writer(const qs_writer& writer, dense_quantizer& quantize, std::span<const float> drafter,
                                  const std::vector<double>& p, double temperature) {
  if (writer.how == qs_writer::kind::target) return p;
  std::vector<double> q = law_of(drafter, temperature);
  if (writer.how == qs_writer::kind::drafter) return q;
  const std::vector<double> coarse = quantize(drafter, temperature, writer.resolution);
  return emitted_law(writer.how == qs_writer::kind::quantize_sample ? coarse : q, coarse, p);
}

//! Counts tokens in cells of equal probability. The counts are about equal if the tokens were drawn from the
//! distribution.
struct place_counts {
  std::array<std::uint64_t, 20> cells{};

  void add(double place) {
    ++cells[std::min(cells.size() - 1, static_cast<std::size_t>(place * static_cast<double>(cells.size())))];
  }
  void add(const place_counts& other) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] += other.cells[i];
  }
  [[nodiscard]] double p_value() const {
    std::array<double, 20> even{};
    even.fill(1.0 / static_cast<double>(even.size()));
    const auto tested = specverify::chi_square(cells, even);
    detail::require(tested.error());
    return tested->p_value;
  }
};

//! Returns the position of a token in [0, 1) in a distribution whose tokens are ordered by `lean`. The number u in [0,
//! 1) chooses the position among the tokens with the same `lean`.
double place_in(const std::vector<double>& law, const std::vector<double>& lean, std::size_t token, double u) {
  double below = 0, level = 0;
  for (std::size_t v = 0; v < law.size(); ++v) {
    below += lean[v] < lean[token] ? law[v] : 0;
    level += lean[v] == lean[token] ? law[v] : 0;
  }
  return below + u * level;
}

struct written {
  bool solved = false;
  double entropy = 0, distance = 0;  //!< sums over the text
  double tokens = 0;
  place_counts in_own, in_target;  //!< only of writers that draft
};

//! Draws one token of sample-then-quantize (S-Q): the token is drawn from q, sent with the quantized distribution, and
//! verified against it by the library's rule.
token_id sample_then_quantize(lab_worker& worker, const dense_quantizer& quantizer, double temperature,
                              const std::vector<double>& q, const specverify::philox& source, std::uint32_t t,
                              std::vector<std::byte>& memory) {
  using namespace specverify;
  const row_transform transform{.temperature = temperature};
  const auto token = static_cast<token_id>(token_at(q, decision_uniform(source({t, t, 0, purpose::draft_draw, 0}))));
  const mismatched_draft drafts[] = {{token, quantizer.sent()}};
  const row_view<float> rows[] = {row_of(worker.target, 0)};
  memory.resize(std::max(memory.size(), verify_workspace_size(worker.target.vocab_size(), transform, 1)));
  workspace scratch{std::span<std::byte>(memory)};
  verify_request request;
  request.remaining_budget = 1;
  const auto said =
      lossy_token_rule{}.verify(exec::simd, std::span<const mismatched_draft>(drafts),
                                row_span_provider<float>(rows, std::span<const row_transform>(&transform, 1)),
                                uniforms{source, t, t}, request, scratch);
  detail::require(said.error());
  return said->accepted == 1 ? token : said->next_token;
}

written write(lab_context& context, lab_worker& worker, const lab_problem& problem, const qs_writer& writer,
              double temperature, std::uint32_t index, std::uint32_t setting) {
  constexpr std::uint32_t budget = 110;
  const std::uint64_t seed = context.seed("qs_quality");
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  std::vector<token_id> text;
  const bool in_session = writer.how == qs_writer::kind::quantize_sample;
  if (in_session) {  // with the library's sessions and real messages
    run_options options;
    options.prompt = problem.prompt;
    options.tokens = budget;
    options.temperature = temperature;
    options.session_id = seed + index + 100000u * setting;  // settings are tested together and must share no draws
    const auto resolution = static_cast<double>(writer.resolution);
    text = run_virtually(options, worker.drafter, worker.target, "qs",
                         {{"resolution", resolution}, {"max_draft_length", 4}})
               .tokens;
  }
  written made;
  dense_quantizer quantize;
  std::vector<std::byte> memory;
  const specverify::philox of_text{
      {{static_cast<std::uint32_t>(seed) + index + 100000u * setting, static_cast<std::uint32_t>(seed >> 32)}}};
  worker.drafter.rollback(0);
  worker.target.rollback(0);
  std::vector<token_id> next = problem.prompt;
  for (std::uint32_t t = 0; t < (in_session ? text.size() : budget); ++t) {
    worker.target.feed(next, 1);
    if (writer.how != qs_writer::kind::target) worker.drafter.feed(next, 1);
    const std::vector<double> p = law_of(worker.target.logits(0), temperature);
    const std::vector<double> out = law_of_writer(
        writer, quantize, writer.how == qs_writer::kind::target ? std::span<const float>{} : worker.drafter.logits(0),
        p, temperature);
    const bool by_rule = writer.how == qs_writer::kind::sample_quantize;
    made.distance += total_variation(out, p);
    made.entropy += entropy_of(out);
    made.tokens += 1;
    if (by_rule) {
      text.push_back(sample_then_quantize(worker, quantize, temperature, law_of(worker.drafter.logits(0), temperature),
                                          of_text, t, memory));
    } else if (!in_session) {
      text.push_back(static_cast<token_id>(
          token_at(out, specverify::decision_uniform(source({t, index, 0, specverify::purpose::training, 6})))));
    }
    if (by_rule || in_session) {
      // Tokens are ordered by the difference between the distributions of S-Q and the target, because this order
      // detects S-Q with the fewest tokens.
      std::vector<double> lean(p.size());
      const std::vector<double> other =
          by_rule ? out
                  : emitted_law(law_of(worker.drafter.logits(0), temperature),
                                quantize(worker.drafter.logits(0), temperature, writer.resolution), p);
      for (std::size_t v = 0; v < p.size(); ++v)
        lean[v] = other[v] + p[v] > 0 ? (other[v] - p[v]) / (other[v] + p[v]) : 0;
      const auto token = static_cast<std::size_t>(text[t]);
      const double u = specverify::decision_uniform(source({t, index, 1 + setting, specverify::purpose::training, 6}));
      made.in_own.add(place_in(out, lean, token, u));
      made.in_target.add(place_in(p, lean, token, u));
    }
    if (text[t] == tinylm::tokenizer::end_token) break;
    next.assign(1, text[t]);
  }
  made.solved = context.solves(problem, text);
  return made;
}

void run_quality(lab_context& context, figure& f) {
  f.about =
      "Word problems written at one temperature for both models. S-Q draws the draft and quantizes afterwards; "
      "the library's lossy rule verifies it, token by token. Q-S quantizes, draws and verifies; its text comes "
      "from the two sessions (L = 4). Distance is the mean over the emitted positions of the total variation "
      "between the distribution of the next token and the target's, by formula. For Q-S the formula gives "
      "exactly the target's distribution, so it is not a measurement. Entropy is that of the same "
      "distribution. A test checks whether the written tokens follow these distributions: the rank of each "
      "token in its distribution, ordered by the difference between S-Q and target, must be uniform over 20 "
      "cells (chi-square).";
  const auto problems = context.problems("test", context.scaled<std::size_t>(150, 6));
  const std::vector<double> temperatures =
      context.quick() ? std::vector<double>{0.4, 1.0} : std::vector<double>{0.2, 0.4, 0.6, 0.8, 1.0};
  const std::size_t settings = temperatures.size() * writers.size();
  std::vector<written> all(problems.size() * settings);
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    for (std::size_t s = 0; s < settings; ++s) {
      all[i * settings + s] =
          write(context, worker, problems[i], writers[s % writers.size()], temperatures[s / writers.size()],
                static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(s));
    }
  });
  panel& accuracy = f.add_panel("task accuracy", "temperature", "share of problems solved");
  panel& distance = f.add_panel("distance to the target's distribution", "temperature", "total variation");
  panel& entropy = f.add_panel("entropy of the emitted distribution", "temperature", "bits per token");
  distance.log_y = true;
  table& t = f.add_table(
      "quality", {"temperature", "system", "solved", "total variation to the target, formula", "entropy in bits",
                  "tokens", "p-value of its formula", "p-value of the target's distribution"});
  double coarse = 0, fine = 0, drafter = 0, least_lossless = 1, least_formula = 1;
  std::vector<std::vector<double>> target_right(temperatures.size());
  place_counts lossless_places, coarse_places;  // in the target's distribution, over all temperatures
  estimate widest{}, worst_coarse{};            // Q-S and S-Q minus the target, problem by problem
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
      place_counts own, in_target;
      for (std::size_t i = 0; i < problems.size(); ++i) {
        own.add(all[i * settings + k * writers.size() + w].in_own);
        in_target.add(all[i * settings + k * writers.size() + w].in_target);
      }
      const bool quantizes_first = writers[w].how == qs_writer::kind::quantize_sample,
                 samples_first = writers[w].how == qs_writer::kind::sample_quantize;
      t.rows.push_back({number(temperatures[k]), writers[w].label, interval(share.value, share.low, share.high),
                        quantizes_first ? "0" : number(tv[k], 3), number(mean_of(all_entropy) / mean_of(tokens), 3),
                        number(mean_of(tokens) * static_cast<double>(problems.size()), 6),
                        quantizes_first || samples_first ? number(own.p_value(), 2) : "",
                        quantizes_first || samples_first ? number(in_target.p_value(), 2) : ""});
      if (writers[w].how == qs_writer::kind::target) target_right[k] = right;
      if (quantizes_first) {
        least_lossless = std::min(least_lossless, in_target.p_value());
        lossless_places.add(in_target);
        const estimate gap = paired_difference(right, target_right[k], context.seed("qs_quality_interval"));
        if (std::fabs(gap.value) >= std::fabs(widest.value)) widest = gap;
      }
      if (samples_first) {
        least_formula = std::min(least_formula, own.p_value());
        if (writers[w].resolution == 12) coarse_places.add(in_target);
      }
      const bool last = k + 1 == temperatures.size();
      if (last && samples_first && writers[w].resolution == 12)
        worst_coarse = paired_difference(right, target_right[k], context.seed("qs_quality_interval"));
      if (last && samples_first) (writers[w].resolution == 12 ? coarse : fine) = tv[k];
      if (last && writers[w].how == qs_writer::kind::drafter) drafter = tv[k];
    }
    if (*std::max_element(tv.begin(), tv.end()) > 1e-9) {  // a logarithmic axis cannot show 0
      curve& far = distance.add(writers[w].label);
      for (std::size_t k = 0; k < tv.size(); ++k) far.add(temperatures[k], tv[k]);
    }
  }
  const double chance = 1e-4;
  f.compare("Q-S against the target", "equal ROUGE-2 at all temperatures",
            "problems solved: the largest difference at any temperature is " +
                interval(widest.value, widest.low, widest.high) +
                "; the sessions' tokens against the target's law: p = " + number(lossless_places.p_value(), 2),
            by_sign(widest, "fewer problems at that temperature", "level", "more problems at that temperature") +
                (lossless_places.p_value() >= chance
                     ? std::string("; met: the tokens do not contradict the target's distribution, which the rule has "
                                   "by construction")
                     : std::string("; not met: the tokens do not follow the target's distribution")));
  f.compare("S-Q at the highest temperature", "degraded",
            "total variation " + number(coarse, 3) + " (l = 12), " + number(fine, 3) +
                " (l = 240); problems solved at l = 12 against the target: " +
                interval(worst_coarse.value, worst_coarse.low, worst_coarse.high),
            by_sign(worst_coarse, "met", "no loss of problems within the interval", "not met: more problems") +
                "; the distance is computed, the tokens come from the lossy rule; the drafter by itself is at " +
                number(drafter, 3));
  f.require(
      "tokens written by the sessions under Q-S follow the target's distribution (20 cells, level 1e-4, each "
      "temperature and l)",
      least_lossless >= chance, "least p " + number(least_lossless, 2));
  f.require(
      "tokens written by the lossy rule under S-Q follow its formula (20 cells, level 1e-4, each temperature "
      "and l)",
      least_formula >= chance, "least p " + number(least_formula, 2));
  if (!context.quick()) {
    f.require("the same test detects that S-Q at l = 12 differs from the target's distribution (all temperatures)",
              coarse_places.p_value() < chance, number(coarse_places.p_value(), 2));
  }
  f.require("by formula the distribution of S-Q is not the target's, and a coarser lattice is worse",
            coarse > fine && fine > 1e-6, number(coarse, 3) + " and " + number(fine, 3));
}

}  // namespace

paper qs_paper() {
  return {"qs",
          "Quantize-Sample-and-Verify: LLM Acceleration via Adaptive Edge-Cloud Speculative Decoding",
          "2507.00605",
          {{"qs_quality", "Quality against temperature", run_quality, 60, 1},
           {"qs_speed", "Speed over links", run_qs_speed, 25, 4},
           {"qs_regret", "How far policies fall short of the best", run_qs_regret, 45, 3},
           {"qs_network", "A network for the demo", run_qs_network, 25, 4}},
          "The policy's state, actions, network and reward are those of the authors' code. Episodes, rate and "
          "batch are smaller so that a training takes seconds (300 to 400 episodes, Adam 1e-3, batch 32, an update "
          "every fourth round, epsilon falling by 0.98). The paper gives no computing times. Here a draft takes 8 "
          "ms and a verification 45 ms; because every gain depends on these two numbers, each comparison states "
          "whether the paper's gain is met."};
}

}  // namespace lab
