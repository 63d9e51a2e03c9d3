// SPDX-License-Identifier: Apache-2.0
//! Lists the methods, each with name, settings and preset. Include session/systems.hpp instead of this header.
#ifndef SPECVERIFY_SESSION_DETAIL_SYSTEM_LIST_HPP
#define SPECVERIFY_SESSION_DETAIL_SYSTEM_LIST_HPP

#include <specverify/policy/dqn.hpp>
#include <specverify/policy/model_window.hpp>
#include <specverify/session/presets.hpp>

#include <string_view>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

// Each method is a struct. `settings` calls a visitor with each setting and the range of its values. A member's value
// is the setting's default; a default below the range makes the setting required. `make` returns the preset. If the
// types of the parts depend on the settings, `make` takes a function `use` and returns use(preset).

inline constexpr double most_kept_tokens = max_vocab_size, finest_lattice = max_lattice_resolution,
                        most_drafts = max_wire_draft_length;

struct target_system {
  static constexpr std::string_view name = "target", sentence = "no drafts: the cloud writes the whole text";
  constexpr void settings(const auto&) noexcept {}
  [[nodiscard]] constexpr auto make() const noexcept { return target_alone(); }
};

struct qs_system {
  static constexpr std::string_view name = "qs", sentence = "a lattice point over the whole vocabulary";
  qs_settings set{};
  constexpr void settings(const auto& visit) noexcept {
    visit("resolution", set.resolution, 1, finest_lattice, "steps of the lattice");
    visit("max_draft_length", set.max_draft_length, 1, most_drafts, "drafts per round");
  }
  [[nodiscard]] constexpr auto make() const noexcept { return qs(set); }
};

struct qs_adaptive_system {
  static constexpr std::string_view name = "qs-adaptive", sentence = "QS; a model of the link plans each round";
  model_window window{};
  constexpr void settings(const auto&) noexcept {}
  [[nodiscard]] constexpr auto make() const noexcept { return with_window(qs(), window); }
};

struct qs_dqn_system {
  static constexpr std::string_view name = "qs-dqn", sentence = "QS; a trained network plans each round";
  static constexpr bool needs_network = true;
  const dqn_weights* network = nullptr;
  constexpr void settings(const auto&) noexcept {}
  template <class Use>
  [[nodiscard]] constexpr auto make(const Use& use) const -> decltype(use(preset<>{})) {
    return network == nullptr ? use(qs_adaptive_system{}.make())  // the preset of qs-adaptive has the same shape
                              : make_with(*network, use);
  }

 private:
  template <class Use>
  [[nodiscard]] static auto make_with(const dqn_weights& weights, const Use& use) -> decltype(use(preset<>{})) {
    const auto window = dqn_window::make(weights);
    if (!window) return window.error();
    return use(with_window(qs(), *window));
  }
};

//! Adds a limit of `bits` bits per round, including the header, to a preset; 0: no limit.
template <class Preset, class Use>
[[nodiscard]] constexpr auto within_bits(const Preset& system, std::uint64_t bits, position_accounting accounting,
                                         const Use& use) {
  if (bits == 0) return use(system);
  bit_budget_window window{system.window.max_draft_length, system.window.resolution};
  window.budget = bits;
  window.overhead = 80;
  window.accounting = accounting;
  return use(with_window(system, window));
}

struct k_sqs_system {
  static constexpr std::string_view name = "k-sqs", sentence = "a lattice point on the most probable tokens";
  k_sqs_settings set{};
  std::uint64_t round_bits = 0;
  constexpr void settings(const auto& visit) noexcept {
    visit("support_size", set.support_size, 1, most_kept_tokens, "tokens of a law");
    visit("resolution", set.resolution, 1, finest_lattice, "steps of the lattice");
    visit("max_draft_length", set.max_draft_length, 1, most_drafts, "drafts per round");
    visit("paper_code", set.paper_code, 0, 1, "1: also sends counts of zero");
    visit("round_bits", round_bits, 0, 1e9, "bits per round, above 80; 0: no limit");
  }
  [[nodiscard]] constexpr auto make(const auto& use) const {
    const auto accounting = set.paper_code ? position_accounting::top_k : position_accounting::drop_zero;
    return within_bits(k_sqs(set), round_bits, accounting, use);
  }
};

struct c_sqs_system {
  static constexpr std::string_view name = "c-sqs",
                                    sentence = "a lattice point on the tokens above an adaptive threshold";
  c_sqs_settings set{};
  std::uint64_t round_bits = 0;
  constexpr void settings(const auto& visit) noexcept {
    visit("support_size", set.max_support_size, 1, most_kept_tokens, "maximum tokens of a law; V: no limit");
    visit("resolution", set.resolution, 1, finest_lattice, "steps of the lattice");
    visit("max_draft_length", set.max_draft_length, 1, most_drafts, "drafts per round");
    visit("target", set.threshold.target, 0, 1, "target of the dropped mass, alpha");
    visit("step", set.threshold.step, 0, 512, "step of the threshold, eta");
    visit("first_threshold", set.threshold.first_threshold, -1, 1, "threshold of the first law, beta");
    visit("round_bits", round_bits, 0, 1e9, "bits per round, above 80; 0: no limit");
  }
  [[nodiscard]] constexpr auto make(const auto& use) const {
    return within_bits(c_sqs(set), round_bits, position_accounting::drop_zero, use);
  }
};

struct hlm_system {
  static constexpr std::string_view name = "hlm", sentence = "all V values of a row in half precision";
  hlm_settings set{};
  constexpr void settings(const auto& visit) noexcept {
    visit("max_draft_length", set.max_draft_length, 1, most_drafts, "drafts per round");
    visit("bonus", set.bonus, 0, 1, "0: the rounds of the paper, without a bonus token");
  }
  [[nodiscard]] constexpr auto make() const noexcept { return hlm(set); }
};

struct sd_reject_system {
  static constexpr std::string_view name = "sd-reject", sentence = "HLM with several drafts per round: WISV's baseline";
  hlm_settings set{.max_draft_length = 8};
  constexpr void settings(const auto& visit) noexcept {
    visit("max_draft_length", set.max_draft_length, 1, most_drafts, "drafts per round");
  }
  [[nodiscard]] constexpr auto make() const noexcept { return hlm(set); }
};

struct rand_hlm_system {
  static constexpr std::string_view name = "rand-hlm", sentence = "HLM; sends tokens at random";
  random_skip set{};
  constexpr void settings(const auto& visit) noexcept {
    visit("send_probability", set.send_probability, 0, 1, "share of tokens to send");
  }
  [[nodiscard]] constexpr auto make() const noexcept { return rand_hlm(set); }
};

constexpr void visit_gate(auto& set, const auto& visit) noexcept {
  visit("threshold", set.threshold, 0, 1, "uncertainty above which a token is sent");
  visit("samples", set.perturbation.samples, 1, 65536, "draws that measure the uncertainty");
  visit("maximum_temperature", set.perturbation.maximum_temperature, 1e-3, 1e3, "highest temperature of these draws");
}

struct u_hlm_system {
  static constexpr std::string_view name = "u-hlm", sentence = "HLM; sends uncertain tokens";
  uncertainty_gate set{};
  constexpr void settings(const auto& visit) noexcept { visit_gate(set, visit); }
  [[nodiscard]] constexpr auto make() const noexcept { return u_hlm(set); }
};

struct ui_system {
  static constexpr std::string_view name = "ui", sentence = "HLM; sends uncertain and important tokens";
  uncertainty_and_importance_gate set{};
  constexpr void settings(const auto& visit) noexcept {
    visit_gate(set, visit);
    visit("k", set.importance.k, 1, most_kept_tokens, "rank of the attention weight that measures importance");
    visit("gamma", set.importance.gamma, -1e3, 1e3, "factor of this attention weight");
    visit("inverted", set.importance.inverted, 0, 1, "1: sends the unimportant tokens instead");
  }
  [[nodiscard]] constexpr auto make() const noexcept { return ui(set); }
};

constexpr void visit_entries(cu_hlm_settings& set, const auto& visit) noexcept {
  visit("support_size", set.support_size, 1, most_kept_tokens, "most entries of a law");
  visit("resolution", set.resolution, 1, finest_lattice, "steps of the lattice");
  visit_gate(set.skip, visit);
}

struct cu_hlm_system {
  static constexpr std::string_view name = "cu-hlm", sentence = "U-HLM; sends the largest entries and a uniform tail";
  cu_hlm_settings set{};
  constexpr void settings(const auto& visit) noexcept { visit_entries(set, visit); }
  [[nodiscard]] constexpr auto make() const noexcept { return cu_hlm(set); }
};

struct cu_hlm_online_system {
  static constexpr std::string_view name = "cu-hlm-online",
                                    sentence = "CU-HLM; sends more entries if a rejection is more likely";
  cu_hlm_settings set{};
  online_vocabulary_budget kept{};
  constexpr void settings(const auto& visit) noexcept {
    visit_entries(set, visit);
    visit("distortion", kept.size.distortion, 1e-6, 2, "maximum distance from the distribution, theta");
  }
  [[nodiscard]] constexpr auto make() const noexcept { return cu_hlm_online(set, kept); }
};

struct compressed_hlm_system {
  static constexpr std::string_view name = "compressed-hlm",
                                    sentence = "HLM; sends as many entries as a bound on the distance needs";
  compressed_hlm_settings set{};
  constexpr void settings(const auto& visit) noexcept {
    visit("support_size", set.max_support_size, 1, most_kept_tokens, "most entries of a law");
    visit("resolution", set.resolution, 1, finest_lattice, "steps of the lattice");
    visit("distortion", set.distortion, 0, 2, "maximum distance from the distribution, epsilon");
  }
  [[nodiscard]] constexpr auto make() const noexcept { return compressed_hlm(set); }
};

struct greedy_system {
  static constexpr std::string_view name = "greedy", sentence = "only token ids";
  std::uint32_t max_draft_length = 8;
  constexpr void settings(const auto& visit) noexcept {
    visit("max_draft_length", max_draft_length, 1, most_drafts, "drafts per round");
  }
  [[nodiscard]] constexpr auto make() const noexcept { return greedy(max_draft_length); }
};

struct shared_noise_system {
  static constexpr std::string_view name = "shared-noise",
                                    sentence = "only token ids; both sides draw them with the same noise";
  shared_noise_settings set{};
  constexpr void settings(const auto& visit) noexcept {
    visit("max_draft_length", set.max_draft_length, 1, most_drafts, "drafts per round");
  }
  [[nodiscard]] constexpr auto make() const noexcept { return shared_noise(set); }
};

struct wisv_system {
  static constexpr std::string_view name = "wisv",
                                    sentence = "greedy; a decision head scores mismatches by hidden states";
  wisv_settings set{};
  constexpr void settings(const auto& visit) noexcept {
    visit("hidden_size", set.hidden_size, 1, max_wire_hidden_size, "size of the drafter's hidden state");
    visit("with_draft", set.with_draft, 0, 1, "1: sends states with every draft; 0: on request");
    visit("max_draft_length", set.max_draft_length, 1, most_drafts, "drafts per round");
  }
  [[nodiscard]] constexpr auto make() const noexcept { return wisv(set); }
};

template <class... Systems>
struct system_list {};
using all_systems =
    system_list<target_system, qs_system, qs_adaptive_system, qs_dqn_system, k_sqs_system, c_sqs_system, hlm_system,
                sd_reject_system, compressed_hlm_system, rand_hlm_system, u_hlm_system, ui_system, cu_hlm_system,
                cu_hlm_online_system, greedy_system, shared_noise_system, wisv_system>;

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
