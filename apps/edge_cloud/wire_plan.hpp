// SPDX-License-Identifier: Apache-2.0
//! A system of the demo in the library's words: which laws are made, how they travel, how many a round.
#ifndef EDGE_CLOUD_WIRE_PLAN_HPP
#define EDGE_CLOUD_WIRE_PLAN_HPP

#include <specverify/codec/message.hpp>
#include <specverify/policy/dqn.hpp>
#include <specverify/policy/model_window.hpp>
#include <specverify/session/output.hpp>
#include <specverify/session/presets.hpp>

#include "systems.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <variant>

namespace edge_cloud {

using demo_support = std::variant<specverify::top_k, specverify::conformal, specverify::vocabulary_budget,
                                  specverify::online_vocabulary_budget>;
using demo_window = std::variant<specverify::fixed_window, specverify::model_window, specverify::dqn_window,
                                 specverify::bit_budget_window>;
using demo_gate =
    std::variant<specverify::random_skip, specverify::uncertainty_gate, specverify::uncertainty_and_importance_gate>;

struct wire_plan {
  specverify::session_mode mode = specverify::session_mode::draft;
  specverify::draft_format format;
  specverify::wire_rule rule = specverify::wire_rule::token;
  bool bonus = true;
  bool draw_from_row = false;
  std::optional<demo_support> support;  //!< none: no law lists one
  demo_window window;
  std::optional<demo_gate> gate;  //!< none: every token is sent
};

//! Tokens that the edge of a skipping system may commit between two uploads; the last one of a run is sent whatever the
//! policy says.
inline constexpr std::uint32_t demo_max_skipped = specverify::preset_max_skipped;
//! Drafts a round at most, over all systems.
inline constexpr std::uint32_t demo_max_draft_length = 12;
//! Bits of a draft message at most, header included, of the systems with a budget; without a retry.
inline constexpr std::uint32_t demo_round_bits = 1000;

//! What travels with the drafts of a scored system, for hidden states of that many numbers.
[[nodiscard]] inline specverify::attachment_format scored_attachments(std::uint32_t hidden_size, bool with_draft) {
  return {hidden_size, specverify::hidden_format::float16, with_draft, true, 0};
}

//! A preset in the demo's types.
template <class Sparsifier, class Skip>
[[nodiscard]] wire_plan plan_of(const specverify::preset<Sparsifier, Skip>& system, std::uint32_t vocab_size) {
  wire_plan made;
  made.format = system.format_for(vocab_size).drafts();
  made.rule = system.rule;
  made.bonus = system.bonus;
  made.draw_from_row = system.draw_from_row;
  if (system.sparsifier) made.support = *system.sparsifier;
  made.window = system.window;
  if constexpr (!std::is_same_v<Skip, specverify::always_send>) made.gate = system.skip;
  return made;
}

//! The systems that send ids alone, or nothing.
[[nodiscard]] inline wire_plan plan_of_ids(const system_plan& system, std::uint32_t vocab_size,
                                           std::uint32_t hidden_size) {
  if (system.scored != states::unused)
    return plan_of(specverify::wisv({hidden_size, system.scored == states::with_draft, system.draft_length}),
                   vocab_size);
  wire_plan made = plan_of(specverify::greedy(std::max(1u, system.draft_length)), vocab_size);
  if (system.law == upload::ids) return made;
  made.mode = specverify::session_mode::stream;
  made.rule = specverify::wire_rule::token;
  return made;
}

//! HLM's family: whole laws, and compressed ones.
[[nodiscard]] inline wire_plan plan_of_hlm(const system_plan& system, std::uint32_t vocab_size) {
  const specverify::cu_hlm_settings entries{system.support_size, system.resolution, {}};
  if (system.law == upload::top_k_tail) {
    if (system.support == support_rule::top_k) return plan_of(specverify::cu_hlm(entries), vocab_size);
    if (system.support == support_rule::online_vocabulary_budget)
      return plan_of(specverify::cu_hlm_online(entries), vocab_size);
    return plan_of(specverify::compressed_hlm({system.support_size, system.resolution}), vocab_size);
  }
  switch (system.skip) {
    case skipping::never:
      break;
    case skipping::coin:
      return plan_of(specverify::rand_hlm(), vocab_size);
    case skipping::certain:
      return plan_of(specverify::u_hlm(), vocab_size);
    case skipping::certain_or_unimportant:
      return plan_of(specverify::ui(), vocab_size);
  }
  return plan_of(specverify::hlm({system.draft_length}), vocab_size);
}

//! The preset that a system is, before a window that plans each round.
[[nodiscard]] inline wire_plan plan_of_preset(const system_plan& system, std::uint32_t vocab_size,
                                              std::uint32_t hidden_size) {
  switch (system.law) {
    case upload::none:
    case upload::ids:
      return plan_of_ids(system, vocab_size, hidden_size);
    case upload::fp16_row:
    case upload::top_k_tail:
      return plan_of_hlm(system, vocab_size);
    case upload::dense:
      return plan_of(specverify::qs({system.resolution, system.draft_length}), vocab_size);
    case upload::sparse_paper:
    case upload::sparse:
      break;
  }
  if (system.support == support_rule::conformal) {  // the paper knows no cap: all of V
    const std::uint32_t cap = system.support_size > 0 ? system.support_size : vocab_size;
    return plan_of(specverify::c_sqs({cap, system.resolution, system.draft_length, {}}), vocab_size);
  }
  return plan_of(specverify::k_sqs(
                     {system.support_size, system.resolution, system.draft_length, system.law == upload::sparse_paper}),
                 vocab_size);
}

//! A window that plans each round. `network`: of a learned one.
[[nodiscard]] inline demo_window plan_window(const system_plan& system, std::uint32_t vocab_size,
                                             const specverify::dqn_weights* network) {
  const specverify::draft_plan largest{system.draft_length, system.resolution, system.support_size};
  switch (system.window) {
    case windowing::modelled: {
      specverify::model_window made;
      // rates and round trip are those that the host records, times those of the table's modelled column
      made.model.vocab_size = vocab_size;
      return made;
    }
    case windowing::learned: {
      if (network == nullptr) throw std::logic_error("a learned window has a network");
      const auto made = specverify::dqn_window::make(*network);
      if (!made.ok()) throw std::runtime_error(specverify::message(made.error().code));
      return made.value();
    }
    case windowing::budget:
      return specverify::bit_budget_window{largest, vocab_size, demo_round_bits, 80};
    case windowing::fixed:
      break;
  }
  return specverify::fixed_window{largest};
}

[[nodiscard]] inline wire_plan plan_wire(const system_plan& system, std::uint32_t vocab_size, std::uint32_t hidden_size,
                                         const specverify::dqn_weights* network = nullptr) {
  wire_plan made = plan_of_preset(system, vocab_size, hidden_size);
  made.format.attachments.resolution_with_draft = system.changes_resolution();
  if (system.window != windowing::fixed) made.window = plan_window(system, vocab_size, network);
  return made;
}

//! How the drafts of the system travel.
[[nodiscard]] inline specverify::wire_format plan_format(const system_plan& system, std::uint32_t vocab_size,
                                                         std::uint32_t hidden_size) {
  specverify::wire_format made{plan_of_preset(system, vocab_size, hidden_size).format, vocab_size};
  made.attachments.resolution_with_draft = system.changes_resolution();
  return made;
}

}  // namespace edge_cloud

#endif
