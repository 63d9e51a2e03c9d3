// SPDX-License-Identifier: Apache-2.0
//! Records texts that the target verifies token by token, with all inputs of the skip policies, so that several
//! policies can be applied to one text afterwards.
#ifndef SPECVERIFY_APPS_LAB_UI_MOMENTS_HPP
#define SPECVERIFY_APPS_LAB_UI_MOMENTS_HPP

#include "hlm_record.hpp"

#include <functional>

namespace lab {

//! One drafted token.
struct ui_moment {
  specverify::skip_observation seen{};  //!< without the attention row, which `attention` holds
  std::vector<float> attention{};
  token_id drafted = specverify::no_token;
  token_id committed = specverify::no_token;  //!< the text's token: the draft, or the one that replaced it
  double rejection = 0;                       //!< probability that the target rejects the token
  bool accepted = false;

  [[nodiscard]] double uncertainty() const { return static_cast<double>(seen.disagreements) / seen.samples; }
  [[nodiscard]] bool sent_by(const specverify::uncertainty_and_importance_gate& gate) const {
    specverify::skip_observation with = seen;
    with.attention = attention;
    return gate.send(with);
  }
};
using ui_text = std::vector<ui_moment>;

//! Records one text for each problem.
[[nodiscard]] inline std::vector<ui_text> record_ui(lab_context& context, const std::vector<lab_problem>& problems,
                                                    std::uint64_t seed) {
  std::vector<ui_text> texts(problems.size());
  const hlm_system measured{"HLM", specverify::u_hlm({-1.0})};
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    worker.drafter.want_attention();
    const auto observe = [&](const hlm_step& step, const hlm_view& view) {
      ui_moment& m = texts[i].emplace_back();
      m.seen.disagreements = step.disagreements;
      m.seen.samples = step.samples;
      m.attention.assign(view.attention.begin(), view.attention.end());
      m.drafted = step.drafted;
      m.rejection = step.rejection;
      m.accepted = step.accepted;
    };
    const hlm_text text = write_hlm_text(worker, problems[i].prompt, measured, hlm_temperature, hlm_problem_tokens,
                                         seed + i, true, observe);
    for (std::size_t t = 0; t < texts[i].size(); ++t)
      texts[i][t].committed = t < text.tokens.size() ? text.tokens[t] : tinylm::tokenizer::end_token;
  });
  return texts;
}

//! Returns how many standard deviations the k-th largest attention weight is below the largest: the least gamma at
//! which the rule as written passes. It is large for sharp rows. Rows with fewer than k weights count as having zeros.
[[nodiscard]] inline double sharpness_of(std::span<const float> attention, std::uint32_t k) {
  std::vector<float> weights(attention.begin(), attention.end());
  double mean = 0, squares = 0;
  const auto count = static_cast<double>(weights.size());
  for (const float w : weights) mean += static_cast<double>(w) / count;
  for (const float w : weights) squares += (static_cast<double>(w) - mean) * (static_cast<double>(w) - mean);
  std::sort(weights.begin(), weights.end(), std::greater<>());
  const double kth = weights.size() < k ? 0 : static_cast<double>(weights[k - 1]);
  return squares > 0 ? (static_cast<double>(weights[0]) - kth) / std::sqrt(squares / count) : 0;
}

}  // namespace lab

#endif
