// SPDX-License-Identifier: Apache-2.0
//! Provides each paper's method as a preset: the distribution format, the support, the drafts per round and the skip
//! policy.
//!
//! For example, `make_edge(options, k_sqs({.support_size = 16, .max_draft_length = 4}))` makes an edge of K-SQS. If you
//! know the method's name only at run time, use session/systems.hpp.
//! Paper:      QS 2507.00605; K-SQS, C-SQS 2510.09942; HLM, Rand-HLM, U-HLM, CU-HLM 2505.11788; UI 2508.12590; WISV
//!             2604.17701.
//! Guarantees: a preset is a value. `make_edge` rejects options that contradict it.
//! Deviates:   the defaults suit the papers' models. Choose your own values, especially for thresholds on the
//!             uncertainty u (docs/lab.md).
//! Cost:       O(limits of the options); only `make_edge` and `make_cloud` allocate.
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

//! All choices for a session except the host's own options.
template <sparsifier Sparsifier = top_k, skip_policy Skip = always_send, window_policy Window = fixed_window>
struct preset {
  law_format format = law_format::sparse_drop_zero;
  std::optional<Sparsifier> sparsifier{};  //!< empty if the format lists no support
  Window window{};
  Skip skip{};
  attachment_format attachments{};
  wire_rule rule = wire_rule::token;
  session_mode mode = session_mode::draft;
  bool bonus = true;
  bool draw_from_row = false;
  noise_kind noise = noise_kind::none;
  static constexpr std::uint32_t pad_to = 1;  // the host's options set the padding

  //! Returns the format of the messages, for `cloud_session::limits_for`.
  [[nodiscard]] constexpr wire_format format_for(std::uint32_t vocab_size) const {
    return detail::format_of_parts(*this, vocab_size, sparsifier, window);
  }
};

// `where` of invalid_argument: the option that the preset must set. preset_at_rule is also for the kind of noise.
inline constexpr std::uint32_t preset_at_format = 32;  //!< edge_options::format, or attachments
inline constexpr std::uint32_t preset_at_rule = 33;
inline constexpr std::uint32_t preset_at_bonus = 34;
inline constexpr std::uint32_t preset_at_draw_from_row = 35;

//! Returns the options with the choices of the preset. Errors: invalid_argument (`where` = preset_at_*).
template <class Sparsifier, class Skip, class Window>
[[nodiscard]] constexpr result<edge_options> options_with(const edge_options& options,
                                                          const preset<Sparsifier, Skip, Window>& system) noexcept {
  const auto twice = [](std::uint32_t where) noexcept { return status{errc::invalid_argument, part::session, where}; };
  const bool says_format = options.format != edge_options{}.format || !(options.attachments == attachment_format{});
  if (says_format) return twice(preset_at_format);
  if (options.rule != wire_rule::token && options.rule != system.rule) return twice(preset_at_rule);
  if (options.noise != noise_kind::none && options.noise != system.noise) return twice(preset_at_rule);
  if (!options.bonus && system.bonus) return twice(preset_at_bonus);
  if (options.draw_from_row && !system.draw_from_row) return twice(preset_at_draw_from_row);
  edge_options made = options;
  made.format = system.format;
  made.attachments = system.attachments;
  made.rule = system.rule;
  made.noise = system.noise;
  if (system.mode == session_mode::stream) made.mode = system.mode;
  made.bonus = system.bonus;
  made.draw_from_row = system.draw_from_row;
  return made;
}

//! Makes an edge of the preset. Errors: as for `options_with`, and for `make_edge` with parts.
template <class Sparsifier, class Skip, class Window>
[[nodiscard]] result<edge_session> make_edge(const edge_options& options,
                                             const preset<Sparsifier, Skip, Window>& system) {
  const auto made = options_with(options, system);
  if (!made.ok()) return made.error();
  return make_edge(made.value(), system.sparsifier, system.window, system.skip);
}

//! Returns the format of this edge's messages. Errors: invalid_argument (`where` = preset_at_*).
template <class Sparsifier, class Skip, class Window>
[[nodiscard]] result<wire_format> format_of(const edge_options& options,
                                            const preset<Sparsifier, Skip, Window>& system) {
  const auto made = options_with(options, system);
  if (!made.ok()) return made.error();
  return format_of(made.value(), system.sparsifier, system.window);
}

//! Makes a cloud whose buffers have room for the preset's messages, or for larger limits in the options. The caller
//! must include session/cloud.hpp, which has the function bodies. Errors: as for `make_cloud`.
template <class Sparsifier, class Skip, class Window>
[[nodiscard]] result<cloud_session> make_cloud(const cloud_options& options,
                                               const preset<Sparsifier, Skip, Window>& system) {
  cloud_options made = options;
  made.limits = cloud_session::limits_for(system.format_for(options.vocab_size), options);
  return make_cloud(made);
}

//! Returns the preset with a different kind of window.
template <class Sparsifier, class Skip, class Before, window_policy Window>
[[nodiscard]] constexpr preset<Sparsifier, Skip, Window> with_window(const preset<Sparsifier, Skip, Before>& system,
                                                                     const Window& window) {
  // a named object, because g++ 12 with -ftrivial-auto-var-init clears parts of the window in a temporary
  const preset<Sparsifier, Skip, Window> made{system.format,        system.sparsifier, window,      system.skip,
                                              system.attachments,   system.rule,       system.mode, system.bonus,
                                              system.draw_from_row, system.noise};
  return made;
}

//! QS: quantizes the drafter's distribution over the whole vocabulary to counts with the sum l.
struct qs_settings {
  std::uint32_t resolution = 240;      //!< l
  std::uint32_t max_draft_length = 4;  //!< L
};
[[nodiscard]] constexpr preset<> qs(const qs_settings& set = {}) noexcept {
  return {.format = law_format::dense_lattice, .window = {set.max_draft_length, set.resolution}};
}

//! K-SQS: quantizes the distribution over the K most probable tokens to counts with the sum l.
struct k_sqs_settings {
  std::uint32_t support_size = 16;     //!< K
  std::uint32_t resolution = 100;      //!< l
  std::uint32_t max_draft_length = 4;  //!< L
  bool paper_code = false;             //!< whether counts of zero are also sent
};
[[nodiscard]] constexpr preset<> k_sqs(const k_sqs_settings& set = {}) noexcept {
  return {.format = set.paper_code ? law_format::sparse_paper : law_format::sparse_drop_zero,
          .sparsifier = top_k{set.support_size},
          .window = {set.max_draft_length, set.resolution}};
}

//! C-SQS: quantizes the distribution over the tokens above a threshold, which adapts to the dropped mass.
struct c_sqs_settings {
  std::uint32_t max_support_size = 0;  //!< required; V for no limit (docs/algorithms/conformal.md has the cost)
  std::uint32_t resolution = 100;      //!< l
  std::uint32_t max_draft_length = 4;  //!< L
  conformal threshold{};               //!< alpha, eta, beta_1; max_support_size above replaces its cap
};
[[nodiscard]] constexpr preset<conformal> c_sqs(const c_sqs_settings& set) noexcept {
  conformal kept = set.threshold;
  kept.max_support_size = set.max_support_size;
  return {.sparsifier = kept, .window = {set.max_draft_length, set.resolution}};
}

//! Target: no drafts; the cloud generates the whole text. This is the baseline of every paper.
[[nodiscard]] constexpr preset<> target_alone() noexcept {
  return {.format = law_format::token_only, .window = {1}, .mode = session_mode::stream};
}

//! HLM: sends whole distributions in half precision. The paper drafts one token per round and has no bonus token.
struct hlm_settings {
  std::uint32_t max_draft_length = 1;  //!< L
  bool bonus = true;                   //!< whether a round can end with a bonus token; the paper: false
};
[[nodiscard]] constexpr preset<> hlm(const hlm_settings& set = {}) noexcept {
  return {.format = law_format::fp16_row, .window = {set.max_draft_length}, .bonus = set.bonus};
}

//! Maximum number of tokens that an edge may skip (commit without the cloud) between two uploads. The next token is
//! always sent.
inline constexpr std::uint32_t preset_max_skipped = 63;

namespace detail {

//! The rounds of HLM with a skip policy: no bonus token, and room for skipped tokens.
template <class Skip>
[[nodiscard]] constexpr preset<top_k, Skip> gated_hlm(const Skip& skip) noexcept {
  return {.format = law_format::fp16_row,
          .window = {1},
          .skip = skip,
          .attachments = {.max_skipped = preset_max_skipped},
          .bonus = false};
}

}  // namespace detail

//! Rand-HLM sends tokens at random, U-HLM sends uncertain tokens, and UI sends tokens that are uncertain and important.
//! All three are lossy.
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

//! CU-HLM: like U-HLM, but uploads the k largest entries and a uniform tail. The token is drawn from the whole row. The
//! edge also sends the token's probability in the row, and the acceptance test uses this probability. The text is
//! lossy.
struct cu_hlm_settings {
  std::uint32_t support_size = 30;  //!< k; for the online rule, the maximum of k
  std::uint32_t resolution = 255;   //!< l, the sum of the counts of the entries
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

//! Sends the distributions of CU-HLM, but without a skip policy. Tokens are drawn from these distributions, so the text
//! is exact. k is the smallest number with N(k) <= epsilon (sparsify/vocabulary_budget.hpp).
struct compressed_hlm_settings {
  std::uint32_t max_support_size = 1024;  //!< maximum k
  std::uint32_t resolution = 255;         //!< l
  double distortion = 0.1;                //!< epsilon
};
[[nodiscard]] constexpr preset<vocabulary_budget> compressed_hlm(const compressed_hlm_settings& set = {}) noexcept {
  vocabulary_budget kept;
  kept.distortion = set.distortion;
  kept.max_support_size = set.max_support_size;
  return {.format = law_format::top_k_tail, .sparsifier = kept, .window = {1, set.resolution}, .bonus = false};
}

//! Greedy: drafts the most probable tokens and sends only ids. The text is the target's greedy text.
[[nodiscard]] constexpr preset<> greedy(std::uint32_t max_draft_length = 8) noexcept {
  return {.format = law_format::token_only, .window = {max_draft_length}, .rule = wire_rule::greedy};
}

//! Shared noise: both sides draw tokens by races over the same noise, and only ids are sent. The text equals the text
//! that the target draws with this noise, for any drafts (arXiv 2408.07978).
struct shared_noise_settings {
  std::uint32_t max_draft_length = 4;  //!< L
};
[[nodiscard]] constexpr preset<> shared_noise(const shared_noise_settings& set = {}) noexcept {
  preset<> made = greedy(set.max_draft_length);
  made.noise = noise_kind::philox;
  return made;
}

//! WISV: greedy, but a decision head scores mismatches from hidden states and the channel. The text is lossy.
struct wisv_settings {
  std::uint32_t hidden_size = 0;       //!< d, numbers in a hidden state of the drafter; required
  bool with_draft = false;             //!< FH: hidden states are sent with each draft; false: on request (SH, lazy)
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
