// SPDX-License-Identifier: Apache-2.0
//! Generates texts of the HLM family round by round with the library's functions: draw, measure, send or keep,
//! compress, verify.
//!
//! A round drafts one token and has no bonus token. The target is fed only if the token is sent, with all tokens kept
//! since the last feed. With `as_session`, a text equals the text of a session whose id is the text's seed, with
//! `hlm_secret` on both sides. With whole distributions all tokens are equal; with the largest entries only, they can
//! differ because the session rounds to a lattice (tests/unit/apps/lab_hlm_rounds_test.cpp). The figures number rounds
//! by tokens and draw from the row itself. Systems then use equal random numbers, so texts differ only because the
//! systems send different data.
#ifndef SPECVERIFY_APPS_LAB_HLM_ROUNDS_HPP
#define SPECVERIFY_APPS_LAB_HLM_ROUNDS_HPP

#include <specverify/core/secret.hpp>
#include <specverify/policy/skip.hpp>
#include <specverify/session/presets.hpp>

#include "lab_context.hpp"

#include <functional>
#include <variant>

namespace lab {

//! One of the presets. They differ in the skip policy, in the number of entries sent, and in the distribution from
//! which the token is drawn: the row's or the sent one.
using hlm_preset = std::variant<specverify::preset<>, specverify::preset<specverify::top_k, specverify::random_skip>,
                                specverify::preset<specverify::top_k, specverify::uncertainty_gate>,
                                specverify::preset<specverify::top_k, specverify::uncertainty_and_importance_gate>,
                                specverify::preset<specverify::online_vocabulary_budget, specverify::uncertainty_gate>>;

//! Returns HLM as in the paper, without a bonus token.
[[nodiscard]] inline specverify::preset<> hlm_of_paper() { return specverify::hlm({.bonus = false}); }
//! Returns CU-HLM with one change: it draws the token from the sent distribution, so compression is lossless.
[[nodiscard]] inline auto drawn_from_sent(const specverify::cu_hlm_settings& set) {
  auto made = specverify::cu_hlm(set);
  made.draw_from_row = false;
  return made;
}
//! Returns a system that sends every token and measures none.
template <class Preset>
[[nodiscard]] specverify::preset<> all_sent(const Preset& gated) {
  return {gated.format, gated.sparsifier, gated.window,       {}, gated.attachments, gated.rule,
          gated.mode,   gated.bonus,      gated.draw_from_row};
}

struct hlm_system {
  std::string label;
  hlm_preset preset{};
  //! rounds are numbered by uploads, from 1, and tokens are drawn from half-precision rows if whole distributions are
  //! sent
  bool as_session = false;

  [[nodiscard]] bool sends_whole_laws() const {
    return std::visit([](const auto& made) { return !made.sparsifier; }, preset);
  }
  [[nodiscard]] bool draws_from_row() const {
    return std::visit([](const auto& made) { return made.draw_from_row; }, preset);
  }
};

//! Secret of both sides. The session id is the seed of the text.
inline constexpr specverify::session_secret hlm_secret =
    specverify::secret_from_hex("686c6d20686c6d20686c6d20686c6d20");
inline constexpr std::uint64_t hlm_salt = 2;

//! Result of one token.
struct hlm_step {
  specverify::token_id drafted = specverify::no_token;
  bool sent = false;
  bool accepted = false;           //!< meaningful only if `sent`
  bool draft_in_support = true;    //!< meaningful only if `sent`
  std::uint32_t support_size = 0;  //!< number of entries that were sent
  std::uint32_t carried = 0;       //!< tokens not sent earlier, whose ids are sent with this upload
  std::uint32_t disagreements = 0, samples = 0;
  double rejection = -1;  //!< (1 - y_d / x_d)+; -1 if it was not requested
  [[nodiscard]] double uncertainty() const { return samples == 0 ? 0 : static_cast<double>(disagreements) / samples; }
};

struct hlm_text {
  std::vector<specverify::token_id> tokens;
  std::vector<hlm_step> steps;
};

//! Data that `write_hlm_text` passes for a step with a target row.
struct hlm_view {
  std::span<const float> drafter{};  //!< logits
  std::span<const float> target{};
  std::span<const float> attention{};
};

//! Called for each step with a target row.
using hlm_observer = std::function<void(const hlm_step&, const hlm_view&)>;

//! Writes one text of at most `tokens` tokens. If `ask_always` is true, the target is also fed at tokens that are not
//! sent, which does not change the text.
[[nodiscard]] hlm_text write_hlm_text(lab_worker& worker, std::span<const token_id> prompt, const hlm_system& system,
                                      double temperature, std::uint32_t tokens, std::uint64_t seed,
                                      bool ask_always = false, const hlm_observer& observe = {});

}  // namespace lab

#endif
