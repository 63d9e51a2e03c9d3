// SPDX-License-Identifier: Apache-2.0
//! Lists scorers of mismatches that need no training and no hidden state, as rules of the lab next to WISV's head.
//!
//! Paper:   Cactus (arXiv 2604.04987): acceptance with bounded divergence. FLy (arXiv 2511.22972): entropy gate and
//!          look-ahead. The other three are ours.
//! Symbols: x, y = drafted, expected; p = the target's distribution at temperature 1; q = drafter_probability; u =
//!          uniform; H = entropy; V = vocabulary.
//! Deviates: Cactus is defined for sampled drafts. Here the drafts are greedy and a rejection commits y, so only the
//!          acceptance is used: u q(x) <= h(x). With delta = 0 this is speculative sampling's acceptance, not greedy's.
//!          FLy's window of 6 and the normalized entropy are our choice, because the paper is not at hand. A mismatch
//!          with fewer than 6 drafts after it is rejected unless the text ends.
#ifndef SPECVERIFY_APPS_LAB_WISV_SCORERS_HPP
#define SPECVERIFY_APPS_LAB_WISV_SCORERS_HPP

#include "measure.hpp"
#include "wisv_rounds.hpp"

namespace lab {

//! A scorer returns a score in [0, 1]; a mismatch is accepted if the score is below the threshold. The candidates rise,
//! and one of them is chosen on the tuning problems; a scorer without a parameter has one.
struct scorer {
  std::string name;
  std::string parameter;  //!< name of the parameter in tables; empty: none
  std::function<double(const scored_mismatch&)> score;
  std::vector<double> thresholds;
  double (*shown)(double threshold) = nullptr;  //!< parameter of a threshold; null without a parameter
  double claim_bits = 0;                        //!< bits with each draft, apart from the id
};

namespace detail {

[[nodiscard]] inline bool holds_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return '0' <= c && c <= '9'; });
}

//! Returns 1 - p(x) / p(y).
[[nodiscard]] inline double ratio_score(const scored_mismatch& m) {
  const auto logit = [&](token_id id) { return static_cast<double>(m.target[static_cast<std::size_t>(id)]); };
  return 1 - std::min(1.0, std::exp(logit(m.drafted) - logit(m.expected)));
}

//! Returns 0 if only y is more probable than x, otherwise 1.
[[nodiscard]] inline double second_score(const scored_mismatch& m) {
  const float own = m.target[static_cast<std::size_t>(m.drafted)];
  return std::count_if(m.target.begin(), m.target.end(), [&](float other) { return other > own; }) <= 1 ? 0 : 1;
}

//! Returns d / (1 + d), where d = (u q - p)+^2 / (2 p (1 - p)) is the divergence, in nats, that accepting x takes.
[[nodiscard]] inline double divergence_score(const scored_mismatch& m) {
  const double p = probability_of(m.target, m.drafted), short_of = m.uniform * m.drafter_probability - p;
  if (short_of <= 0) return 0;
  const double d = short_of * short_of / (2 * p * (1 - p));
  return p > 0 && std::isfinite(d) ? d / (1 + d) : 1;
}

//! Returns 1 - H(p) / ln V if at least `window` drafts agree after the mismatch, or all to the end of the text.
[[nodiscard]] inline double look_ahead_score(const scored_mismatch& m, std::uint32_t window) {
  const bool clean = m.agreed >= window || (!m.differs_next && m.text_ends);
  if (!clean) return 1;
  const double most = std::log2(static_cast<double>(m.target.size()));
  return std::clamp(1 - entropy_of(law_of(m.target, 1)) / most, 0.0, 1.0);
}

}  // namespace detail

inline constexpr std::uint32_t look_ahead = 6;  //!< drafts that must agree after a mismatch, FLy

[[nodiscard]] inline std::vector<scorer> untrained_scorers(const tinylm::tokenizer& vocabulary) {
  const auto digit = [&vocabulary](const scored_mismatch& m) {
    const bool any =
        detail::holds_digit(vocabulary.text_of(m.drafted)) || detail::holds_digit(vocabulary.text_of(m.expected));
    return any ? 1.0 : 0.0;
  };
  const auto ahead = [](const scored_mismatch& m) { return detail::look_ahead_score(m, look_ahead); };
  const auto rest = +[](double threshold) { return 1 - threshold; };
  const auto odds = +[](double threshold) { return threshold / (1 - threshold); };
  std::vector<double> divergences;
  for (const double delta : {1e-4, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0}) divergences.push_back(delta / (1 + delta));
  return {{"no digit", "", digit, {0.5}},
          {"probability ratio", "c", detail::ratio_score, {0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999}, rest},
          {"second choice", "", detail::second_score, {0.5}},
          {"bounded divergence", "delta", detail::divergence_score, divergences, odds, 16},
          {"look-ahead", "least entropy", ahead, {0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.999}, rest}};
}

}  // namespace lab

#endif
