// SPDX-License-Identifier: Apache-2.0
//! Runs systems of the HLM family on problems, and compares the problems that they solve.
#ifndef SPECVERIFY_APPS_LAB_HLM_OUTCOMES_HPP
#define SPECVERIFY_APPS_LAB_HLM_OUTCOMES_HPP

#include <specverify/link/payload.hpp>

#include "hlm_record.hpp"

namespace lab {

//! Texts that one system generated for a set of problems.
struct hlm_outcome {
  std::vector<hlm_text> texts;
  std::vector<double> solved;

  //! Returns the sum over all steps of `value(step)`.
  template <class Value>
  [[nodiscard]] double sum(Value value) const {
    double total = 0;
    for (const hlm_text& text : texts) {
      for (const hlm_step& step : text.steps) total += value(step);
    }
    return total;
  }
  [[nodiscard]] double tokens() const {
    return sum([](const hlm_step&) { return 1.0; });
  }
  [[nodiscard]] double uploads() const {
    return sum([](const hlm_step& s) { return s.sent ? 1.0 : 0.0; });
  }
  [[nodiscard]] double upload_share() const { return uploads() / std::max(1.0, tokens()); }
  [[nodiscard]] double mean_size() const {
    return sum([](const hlm_step& s) { return s.sent ? s.support_size : 0.0; }) / std::max(1.0, uploads());
  }
  [[nodiscard]] double reject_rate() const {
    return sum([](const hlm_step& s) { return s.sent && !s.accepted ? 1.0 : 0.0; }) / std::max(1.0, uploads());
  }
  //! Returns the uplink bits per token.
  [[nodiscard]] double bits(const specverify::hlm_format& format, specverify::bit_accounting accounting,
                            bool announced) const {
    return sum([&](const hlm_step& s) {
             const specverify::hlm_upload upload{s.support_size, announced,
                                                 s.draft_in_support || s.support_size == format.vocab_size, s.carried};
             return s.sent ? static_cast<double>(specverify::hlm_uplink_bits(format, upload, accounting)) : 0.0;
           }) /
           std::max(1.0, tokens());
  }
};

//! Two members of a family of systems, of which each text draws one: `more` with probability `part`.
struct upload_mixture {
  std::size_t less = 0, more = 0;
  double part = 0;
};

//! Returns the mixture of the two members with the nearest shares of uploads that sends `share` of the tokens. Outside
//! the family's range it is the nearest member.
[[nodiscard]] inline upload_mixture mixture_at(std::span<const hlm_outcome* const> family, double share) {
  std::vector<std::size_t> order(family.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return family[a]->upload_share() < family[b]->upload_share(); });
  std::size_t above = 1;
  while (above + 1 < order.size() && family[order[above]]->upload_share() < share) ++above;
  upload_mixture made{order[above - 1], order[above], 0};
  const hlm_outcome &less = *family[made.less], &more = *family[made.more];
  // (1 - part) of the texts of `less` and `part` of those of `more` have a share `share` of sent tokens.
  const double missing = share * less.tokens() - less.uploads(),
               gained = more.uploads() - less.uploads() - share * (more.tokens() - less.tokens());
  made.part = gained > 0 ? std::clamp(missing / gained, 0.0, 1.0) : 0;
  if (made.part < 1e-9) made.part = 0;  // rounding
  if (made.part > 1 - 1e-9) made.part = 1;
  return made;
}
//! Returns the share of tokens that a mixture sends.
[[nodiscard]] inline double upload_share(std::span<const hlm_outcome* const> family, const upload_mixture& mixture) {
  const hlm_outcome &less = *family[mixture.less], &more = *family[mixture.more];
  const auto mixed = [&](double a, double b) { return (1 - mixture.part) * a + mixture.part * b; };
  return mixed(less.uploads(), more.uploads()) / std::max(1.0, mixed(less.tokens(), more.tokens()));
}
//! Returns, for each problem, the probability that a mixture solves it.
[[nodiscard]] inline std::vector<double> solved_by(std::span<const hlm_outcome* const> family,
                                                   const upload_mixture& mixture) {
  const hlm_outcome &less = *family[mixture.less], &more = *family[mixture.more];
  std::vector<double> made;
  for (std::size_t i = 0; i < less.solved.size(); ++i)
    made.push_back((1 - mixture.part) * less.solved[i] + mixture.part * more.solved[i]);
  return made;
}

//! Runs several systems on the same problems with the same random numbers. All systems run on one problem before the
//! next, because they share rows.
[[nodiscard]] inline std::vector<hlm_outcome> run_hlm_systems(lab_context& context, std::span<const hlm_system> systems,
                                                              const std::vector<lab_problem>& problems,
                                                              std::uint64_t seed, bool with_attention = false) {
  std::vector<hlm_outcome> made(systems.size());
  for (hlm_outcome& one : made) {
    one.texts.resize(problems.size());
    one.solved.resize(problems.size());
  }
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    if (with_attention) worker.drafter.want_attention();
    for (std::size_t s = 0; s < systems.size(); ++s) {
      made[s].texts[i] =
          write_hlm_text(worker, problems[i].prompt, systems[s], hlm_temperature, hlm_problem_tokens, seed + i);
      made[s].solved[i] = context.solves(problems[i], made[s].texts[i].tokens) ? 1 : 0;
    }
  });
  return made;
}

//! Returns the problems that the target solves if it draws every token itself.
[[nodiscard]] inline std::vector<double> solved_by_target(lab_context& context,
                                                          const std::vector<lab_problem>& problems,
                                                          std::uint64_t seed) {
  std::vector<double> solved(problems.size());
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    worker.target.rollback(0);
    std::vector<token_id> next = problems[i].prompt, tokens;
    for (std::uint32_t t = 0; t < hlm_problem_tokens; ++t) {
      worker.target.feed(next, 1);
      const std::vector<double> y = law_of(worker.target.logits(0), hlm_temperature);
      double at = specverify::decision_uniform(
          source({t, static_cast<std::uint32_t>(i), 0, specverify::purpose::draft_draw, 1}));
      std::size_t v = 0;
      for (; v + 1 < y.size() && at >= y[v]; ++v) at -= y[v];
      if (static_cast<token_id>(v) == tinylm::tokenizer::end_token) break;
      tokens.push_back(static_cast<token_id>(v));
      next.assign(1, static_cast<token_id>(v));
    }
    solved[i] = context.solves(problems[i], tokens) ? 1 : 0;
  });
  return solved;
}

}  // namespace lab

#endif
