// SPDX-License-Identifier: Apache-2.0
//! A system of the demo in the library's words: which laws are made, how they travel, how many a round.
#ifndef EDGE_CLOUD_WIRE_PLAN_HPP
#define EDGE_CLOUD_WIRE_PLAN_HPP

#include <specverify/codec/message.hpp>
#include <specverify/policy/dqn.hpp>
#include <specverify/policy/model_window.hpp>
#include <specverify/policy/skip.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/session/output.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/online_vocabulary_budget.hpp>
#include <specverify/sparsify/top_k.hpp>

#include "systems.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
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
  demo_support support;
  demo_window window;
  std::optional<demo_gate> gate;  //!< none: every token is sent
};

//! Tokens that the edge of a skipping system may commit between two uploads; the last one of a run is sent whatever the
//! policy says.
inline constexpr std::uint32_t demo_max_skipped = 63;
//! Drafts a round at most, over all systems.
inline constexpr std::uint32_t demo_max_draft_length = 12;
//! Bits of a draft message at most, header included, of the systems with a budget; without a retry.
inline constexpr std::uint32_t demo_round_bits = 1000;

//! What travels with the drafts of a judged system, for hidden states of that many numbers.
[[nodiscard]] inline specverify::attachment_format judged_attachments(std::uint32_t hidden_size, bool with_draft) {
  return {hidden_size, specverify::hidden_format::float16, with_draft, true, 0};
}

[[nodiscard]] constexpr specverify::law_format law_format_of(upload law) {
  switch (law) {
    case upload::none:
    case upload::ids:
      break;
    case upload::fp16_row:
      return specverify::law_format::fp16_row;
    case upload::dense:
      return specverify::law_format::dense_lattice;
    case upload::sparse_paper:
      return specverify::law_format::sparse_paper;
    case upload::sparse:
      return specverify::law_format::sparse_drop_zero;
    case upload::top_k_tail:
      return specverify::law_format::top_k_tail;
  }
  return specverify::law_format::token_only;
}

//! How the drafts of the system travel.
[[nodiscard]] inline specverify::draft_format plan_format(const system_plan& system, std::uint32_t vocab_size,
                                                          std::uint32_t hidden_size) {
  specverify::draft_format made;
  made.format = law_format_of(system.law);
  made.vocab_size = vocab_size;
  made.max_draft_length = std::max(1u, system.draft_length);
  made.resolution = system.resolution;
  // a token outside the support is an entry of its own
  made.support_size = system.support_size + (system.draws_from_row() ? 1 : 0);
  if (system.judged != states::unused)
    made.attachments = judged_attachments(hidden_size, system.judged == states::with_draft);
  if (system.skip != skipping::never) made.attachments.max_skipped = demo_max_skipped;
  made.attachments.resolution_with_draft = system.changes_resolution();
  return made;
}

[[nodiscard]] inline demo_support plan_support(const system_plan& system, std::uint32_t vocab_size) {
  switch (system.support) {
    case support_rule::conformal:
      // the papers know no cap: all of V
      return specverify::conformal{.max_support_size = system.support_size > 0 ? system.support_size : vocab_size};
    case support_rule::vocabulary_budget: {
      specverify::vocabulary_budget budget;
      budget.max_support_size = system.support_size;
      return budget;
    }
    case support_rule::online_vocabulary_budget: {
      specverify::online_vocabulary_budget budget;
      budget.max_support_size = system.support_size;
      return budget;
    }
    case support_rule::top_k:
      break;
  }
  return specverify::top_k{std::max(1u, system.support_size)};
}

//! `network`: of a learned window.
[[nodiscard]] inline demo_window plan_window(const system_plan& system, std::uint32_t vocab_size,
                                             const specverify::dqn_weights* network) {
  const specverify::draft_plan largest{std::max(1u, system.draft_length), std::max(1u, system.resolution),
                                       std::max(1u, system.support_size)};
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

[[nodiscard]] inline std::optional<demo_gate> plan_gate(const system_plan& system) {
  switch (system.skip) {
    case skipping::never:
      break;
    case skipping::coin:
      return specverify::random_skip{};
    case skipping::certain:
      return specverify::uncertainty_gate{};
    case skipping::certain_or_unimportant:
      return specverify::uncertainty_and_importance_gate{};
  }
  return std::nullopt;
}

[[nodiscard]] inline wire_plan plan_wire(const system_plan& system, std::uint32_t vocab_size, std::uint32_t hidden_size,
                                         const specverify::dqn_weights* network = nullptr) {
  wire_plan made;
  if (system.law == upload::none) made.mode = specverify::session_mode::stream;
  made.format = plan_format(system, vocab_size, hidden_size);
  if (system.is_greedy())
    made.rule = system.judged == states::unused ? specverify::wire_rule::greedy : specverify::wire_rule::semantic;
  made.bonus = system.has_bonus();
  made.draw_from_row = system.draws_from_row();
  made.support = plan_support(system, vocab_size);
  made.window = plan_window(system, vocab_size, network);
  made.gate = plan_gate(system);
  return made;
}

}  // namespace edge_cloud

#endif
