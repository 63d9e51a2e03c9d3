// SPDX-License-Identifier: Apache-2.0
//! The papers' systems by name: how laws travel, which tokens they keep, how many drafts a round has, which are sent.
//!
//! Use it so that K, L and l are said once: `make_edge(options, k_sqs({.support_size = 16, .max_draft_length = 4}))`.
//! By a name known at run time: session/systems.hpp.
//! Paper:      QS 2507.00605; K-SQS, C-SQS 2510.09942; HLM, Rand-HLM, U-HLM, CU-HLM 2505.11788; UI 2508.12590; WISV
//!             2604.17701.
//! Guarantees: a preset is a value; nothing is chosen by the machine or the models. `make_edge` refuses
//!             options that say what the preset says.
//! Deviates:   defaults are the papers' operating points, which belong to their models: thresholds on u above all
//!             should be chosen anew (docs/lab.md).
//! See:        docs/algorithms/presets.md, tests/unit/session/presets_test.cpp, examples/docs/presets.cpp
#ifndef SPECVERIFY_SESSION_PRESETS_HPP
#define SPECVERIFY_SESSION_PRESETS_HPP

#include <specverify/policy/skip.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/session/cloud_session.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/sparsify/vocabulary_budget.hpp>

#include <optional>

SPECVERIFY_NAMESPACE_BEGIN

//! What a session is made with, but for the host's own options.
template <sparsifier Sparsifier = top_k, skip_policy Skip = always_send, window_policy Window = fixed_window>
struct preset {
  law_format format = law_format::sparse_drop_zero;
  std::optional<Sparsifier> sparsifier{};  //!< none where no law lists a support
  Window window{};
  Skip skip{};
  attachment_format attachments{};
  wire_rule rule = wire_rule::token;
  session_mode mode = session_mode::draft;
  bool bonus = true;
  bool draw_from_row = false;
  static constexpr std::uint32_t pad_to = 1;  // the host's options say it

  //! The format of its messages; `cloud_session::limits_for` takes it.
  [[nodiscard]] constexpr wire_format format_for(std::uint32_t vocab_size) const {
    return detail::format_of_parts(*this, vocab_size, sparsifier, window);
  }
};

// The option that repeats the preset: `where` of invalid_argument.
inline constexpr std::uint32_t preset_at_format = 32;  //!< edge_options::format, or attachments
inline constexpr std::uint32_t preset_at_rule = 33;
inline constexpr std::uint32_t preset_at_bonus = 34;
inline constexpr std::uint32_t preset_at_draw_from_row = 35;

//! The options with what the preset says. Errors: invalid_argument (`where` = preset_at_*).
template <class Sparsifier, class Skip, class Window>
[[nodiscard]] constexpr result<edge_options> options_with(const edge_options& options,
                                                          const preset<Sparsifier, Skip, Window>& system) noexcept {
  const auto twice = [](std::uint32_t where) noexcept { return status{errc::invalid_argument, part::session, where}; };
  const bool says_format = options.format != edge_options{}.format || !(options.attachments == attachment_format{});
  if (says_format) return twice(preset_at_format);
  if (options.rule != wire_rule::token && options.rule != system.rule) return twice(preset_at_rule);
  if (!options.bonus && system.bonus) return twice(preset_at_bonus);
  if (options.draw_from_row && !system.draw_from_row) return twice(preset_at_draw_from_row);
  edge_options made = options;
  made.format = system.format;
  made.attachments = system.attachments;
  made.rule = system.rule;
  if (system.mode == session_mode::stream) made.mode = system.mode;
  made.bonus = system.bonus;
  made.draw_from_row = system.draw_from_row;
  return made;
}

//! An edge of the system. Errors: those of `options_with` and of `make_edge` with parts.
template <class Sparsifier, class Skip, class Window>
[[nodiscard]] result<edge_session> make_edge(const edge_options& options,
                                             const preset<Sparsifier, Skip, Window>& system) {
  const auto made = options_with(options, system);
  if (!made.ok()) return made.error();
  return make_edge(made.value(), system.sparsifier, system.window, system.skip);
}

//! The format of the messages of that edge. Errors: those of `options_with`.
template <class Sparsifier, class Skip, class Window>
[[nodiscard]] result<wire_format> format_of(const edge_options& options,
                                            const preset<Sparsifier, Skip, Window>& system) {
  const auto made = options_with(options, system);
  if (!made.ok()) return made.error();
  return format_of(made.value(), system.sparsifier, system.window);
}

//! A cloud whose buffers have room for the system's messages, and for the limits of the options if these are larger, as
//! for padding; session/cloud.hpp brings its bodies. Errors: those of `make_cloud`.
template <class Sparsifier, class Skip, class Window>
[[nodiscard]] result<cloud_session> make_cloud(const cloud_options& options,
                                               const preset<Sparsifier, Skip, Window>& system) {
  cloud_options made = options;
  const wire_format format = system.format_for(options.vocab_size);
  made.limits = larger(options.limits, cloud_session::limits_for(format, options.text_chunk));
  return make_cloud(made);
}

//! The system with a window of another kind.
template <class Sparsifier, class Skip, class Before, window_policy Window>
[[nodiscard]] constexpr preset<Sparsifier, Skip, Window> with_window(const preset<Sparsifier, Skip, Before>& system,
                                                                     const Window& window) {
  // named, since g++ 12 with -ftrivial-auto-var-init clears parts of the window in an unnamed one
  const preset<Sparsifier, Skip, Window> made{system.format, system.sparsifier,  window,
                                              system.skip,   system.attachments, system.rule,
                                              system.mode,   system.bonus,       system.draw_from_row};
  return made;
}

//! QS: a lattice point over the vocabulary.
struct qs_settings {
  std::uint32_t resolution = 240;      //!< l
  std::uint32_t max_draft_length = 4;  //!< L
};
[[nodiscard]] constexpr preset<> qs(const qs_settings& set = {}) noexcept {
  return {.format = law_format::dense_lattice, .window = {set.max_draft_length, set.resolution}};
}

//! K-SQS: a lattice point on the K most probable tokens.
struct k_sqs_settings {
  std::uint32_t support_size = 16;     //!< K
  std::uint32_t resolution = 100;      //!< l
  std::uint32_t max_draft_length = 4;  //!< L
  bool paper_code = false;             //!< counts of zero travel too
};
[[nodiscard]] constexpr preset<> k_sqs(const k_sqs_settings& set = {}) noexcept {
  return {.format = set.paper_code ? law_format::sparse_paper : law_format::sparse_drop_zero,
          .sparsifier = top_k{set.support_size},
          .window = {set.max_draft_length, set.resolution}};
}

//! C-SQS: a lattice point on the tokens above a threshold that follows the dropped mass.
struct c_sqs_settings {
  std::uint32_t max_support_size = 0;  //!< must be given; V keeps all (docs/algorithms/conformal.md says what it costs)
  std::uint32_t resolution = 100;      //!< l
  std::uint32_t max_draft_length = 4;  //!< L
  conformal threshold{};               //!< alpha, eta, beta_1; its cap is the one above
};
[[nodiscard]] constexpr preset<conformal> c_sqs(const c_sqs_settings& set) noexcept {
  conformal kept = set.threshold;
  kept.max_support_size = set.max_support_size;
  return {.sparsifier = kept, .window = {set.max_draft_length, set.resolution}};
}

//! Target: no drafts, the cloud writes alone. The baseline of every paper.
[[nodiscard]] constexpr preset<> target_alone() noexcept {
  return {.format = law_format::token_only, .window = {1}, .mode = session_mode::stream};
}

//! HLM: whole laws in half precision. The paper drafts one token a round and has no bonus token.
struct hlm_settings {
  std::uint32_t max_draft_length = 1;  //!< L
  bool bonus = true;                   //!< false: the paper's rounds
};
[[nodiscard]] constexpr preset<> hlm(const hlm_settings& set = {}) noexcept {
  return {.format = law_format::fp16_row, .window = {set.max_draft_length}, .bonus = set.bonus};
}

//! Tokens that an edge may commit between two uploads; the next one is sent whatever the gate says.
inline constexpr std::uint32_t preset_max_skipped = 63;

namespace detail {

//! The rounds of HLM with a gate: no bonus token, and room for what the edge commits alone.
template <class Skip>
[[nodiscard]] constexpr preset<top_k, Skip> gated_hlm(const Skip& skip) noexcept {
  return {.format = law_format::fp16_row,
          .window = {1},
          .skip = skip,
          .attachments = {.max_skipped = preset_max_skipped},
          .bonus = false};
}

}  // namespace detail

//! Rand-HLM: a coin decides what is sent. U-HLM: uncertain tokens are. UI: uncertain and important ones. All lossy.
[[nodiscard]] constexpr preset<top_k, random_skip> rand_hlm(const random_skip& skip = {}) noexcept {
  return detail::gated_hlm(skip);
}
[[nodiscard]] constexpr preset<top_k, uncertainty_gate> u_hlm(const uncertainty_gate& skip = {}) noexcept {
  return detail::gated_hlm(skip);
}
[[nodiscard]] constexpr preset<top_k, uncertainty_and_importance_gate> ui(
    const uncertainty_and_importance_gate& skip = {}) noexcept {
  return detail::gated_hlm(skip);
}

//! CU-HLM: U-HLM whose uploads are the k largest entries and a uniform tail. The token comes from the whole row, and is
//! tested against its probability there, which travels with it. Lossy.
struct cu_hlm_settings {
  std::uint32_t support_size = 30;  //!< k; of the online rule: at most
  std::uint32_t resolution = 255;   //!< l, of the entries
  uncertainty_gate skip{};
};
template <class Sparsifier>
[[nodiscard]] constexpr preset<Sparsifier, uncertainty_gate> cu_hlm(const cu_hlm_settings& set,
                                                                    const Sparsifier& kept) {
  return {.format = law_format::top_k_tail,
          .sparsifier = kept,
          .window = {1, set.resolution},
          .skip = set.skip,
          .attachments = {.max_skipped = preset_max_skipped},
          .bonus = false,
          .draw_from_row = true};
}
[[nodiscard]] constexpr preset<top_k, uncertainty_gate> cu_hlm(const cu_hlm_settings& set = {}) noexcept {
  return cu_hlm(set, top_k{set.support_size});
}
[[nodiscard]] constexpr preset<online_vocabulary_budget, uncertainty_gate> cu_hlm_online(
    const cu_hlm_settings& set, online_vocabulary_budget kept = {}) noexcept {
  kept.max_support_size = set.support_size;
  return cu_hlm(set, kept);
}

//! The same laws without a gate, and drawn from: as many entries as N(k) <= epsilon takes. Exact.
struct compressed_hlm_settings {
  std::uint32_t max_support_size = 1024;  //!< k at most
  std::uint32_t resolution = 255;         //!< l
  double distortion = 0.1;                //!< epsilon
};
[[nodiscard]] constexpr preset<vocabulary_budget> compressed_hlm(const compressed_hlm_settings& set = {}) noexcept {
  vocabulary_budget kept;
  kept.distortion = set.distortion;
  kept.max_support_size = set.max_support_size;
  return {.format = law_format::top_k_tail, .sparsifier = kept, .window = {1, set.resolution}, .bonus = false};
}

//! Drafts the most probable tokens and sends ids: the target's greedy text.
[[nodiscard]] constexpr preset<> greedy(std::uint32_t max_draft_length = 8) noexcept {
  return {.format = law_format::token_only, .window = {max_draft_length}, .rule = wire_rule::greedy};
}

//! WISV: greedy, and a head scores mismatches from hidden states and the channel. Lossy.
struct wisv_settings {
  std::uint32_t hidden_size = 0;       //!< d of the drafter's states; must be given
  bool with_draft = false;             //!< FH; false: on request (SH, lazy)
  std::uint32_t max_draft_length = 8;  //!< L
};
[[nodiscard]] constexpr preset<> wisv(const wisv_settings& set) noexcept {
  preset<> made = greedy(set.max_draft_length);
  made.rule = wire_rule::semantic;
  made.attachments = {set.hidden_size, hidden_format::float16, set.with_draft, true, 0};
  return made;
}

SPECVERIFY_NAMESPACE_END

#endif
