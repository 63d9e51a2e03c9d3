// SPDX-License-Identifier: Apache-2.0
// The systems by name, as presets.
#ifndef SPECVERIFY_SRC_C_SYSTEMS_HPP
#define SPECVERIFY_SRC_C_SYSTEMS_HPP

#include "memory.hpp"

#include <specverify_c.h>
#include <specverify/session/presets.hpp>

namespace specverify_c {

namespace sv = specverify;

enum class system_kind : std::uint8_t {
  qs,
  k_sqs,
  c_sqs,
  hlm,
  u_hlm,
  rand_hlm,
  ui,
  cu_hlm,
  cu_hlm_online,
  compressed_hlm,
  greedy,
  wisv
};

template <class Number>
[[nodiscard]] constexpr Number or_else(Number given, Number usual) noexcept {
  return given == 0 ? usual : given;
}

// The systems without a gate whose supports, if any, are the K largest.
[[nodiscard]] inline sv::preset<> plain_system(system_kind kind, const specverify_system& set) noexcept {
  switch (kind) {
    case system_kind::qs: {
      const sv::qs_settings usual;
      return sv::qs({or_else(set.resolution, usual.resolution), or_else(set.max_draft_length, usual.max_draft_length)});
    }
    case system_kind::k_sqs: {
      const sv::k_sqs_settings usual;
      return sv::k_sqs({or_else(set.support_size, usual.support_size), or_else(set.resolution, usual.resolution),
                        or_else(set.max_draft_length, usual.max_draft_length), set.paper_code != 0});
    }
    case system_kind::hlm:
      return sv::hlm({or_else(set.max_draft_length, sv::hlm_settings{}.max_draft_length), set.no_bonus == 0});
    case system_kind::wisv:
      return sv::wisv({set.hidden_size, set.hidden_with_draft != 0,
                       or_else(set.max_draft_length, sv::wisv_settings{}.max_draft_length)});
    default:
      return set.max_draft_length == 0 ? sv::greedy() : sv::greedy(set.max_draft_length);
  }
}

[[nodiscard]] inline sv::preset<sv::conformal> conformal_system(const specverify_system& set) noexcept {
  sv::c_sqs_settings made;
  made.max_support_size = set.support_size;
  made.resolution = or_else(set.resolution, made.resolution);
  made.max_draft_length = or_else(set.max_draft_length, made.max_draft_length);
  made.threshold.target = or_else(set.target, made.threshold.target);
  made.threshold.step = or_else(set.step, made.threshold.step);
  made.threshold.first_threshold = or_else(set.first_threshold, made.threshold.first_threshold);
  return sv::c_sqs(made);
}

template <class Gate>
[[nodiscard]] Gate gate_of(const specverify_system& set) noexcept {
  Gate made;
  made.threshold = or_else(set.threshold, made.threshold);
  made.perturbation.samples = or_else(set.samples, made.perturbation.samples);
  return made;
}

[[nodiscard]] inline sv::preset<sv::top_k, sv::random_skip> random_system(const specverify_system& set) noexcept {
  return sv::rand_hlm({or_else(set.send_probability, sv::random_skip{}.send_probability)});
}
[[nodiscard]] inline sv::preset<sv::top_k, sv::uncertainty_and_importance_gate> important_system(
    const specverify_system& set) noexcept {
  return sv::ui(gate_of<sv::uncertainty_and_importance_gate>(set));
}
[[nodiscard]] inline sv::cu_hlm_settings claimed_settings(const specverify_system& set) noexcept {
  const sv::cu_hlm_settings usual;
  return {or_else(set.support_size, usual.support_size), or_else(set.resolution, usual.resolution),
          gate_of<sv::uncertainty_gate>(set)};
}
[[nodiscard]] inline sv::preset<sv::top_k, sv::uncertainty_gate> uncertain_system(
    system_kind kind, const specverify_system& set) noexcept {
  return kind == system_kind::cu_hlm ? sv::cu_hlm(claimed_settings(set))
                                     : sv::u_hlm(gate_of<sv::uncertainty_gate>(set));
}
[[nodiscard]] inline sv::preset<sv::online_vocabulary_budget, sv::uncertainty_gate> online_system(
    const specverify_system& set) noexcept {
  sv::online_vocabulary_budget kept;
  kept.size.distortion = or_else(set.distortion, kept.size.distortion);
  return sv::cu_hlm_online(claimed_settings(set), kept);
}
[[nodiscard]] inline sv::preset<sv::vocabulary_budget> budget_system(const specverify_system& set) noexcept {
  sv::compressed_hlm_settings made;
  made.max_support_size = or_else(set.support_size, made.max_support_size);
  made.resolution = or_else(set.resolution, made.resolution);
  made.distortion = or_else(set.distortion, made.distortion);
  return sv::compressed_hlm(made);
}

// Calls visit(preset) with the system's.
template <class Visitor>
[[nodiscard]] auto with_system(system_kind kind, const specverify_system& set, Visitor&& visit) {
  switch (kind) {
    case system_kind::c_sqs:
      return visit(conformal_system(set));
    case system_kind::u_hlm:
    case system_kind::cu_hlm:
      return visit(uncertain_system(kind, set));
    case system_kind::rand_hlm:
      return visit(random_system(set));
    case system_kind::ui:
      return visit(important_system(set));
    case system_kind::cu_hlm_online:
      return visit(online_system(set));
    case system_kind::compressed_hlm:
      return visit(budget_system(set));
    default:
      return visit(plain_system(kind, set));
  }
}

}  // namespace specverify_c

#endif
