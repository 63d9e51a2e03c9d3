// SPDX-License-Identifier: Apache-2.0
//! A system of the demo in the library's words: which laws are made, how they travel, how many a round.
#ifndef EDGE_CLOUD_WIRE_PLAN_HPP
#define EDGE_CLOUD_WIRE_PLAN_HPP

#include <specverify/codec/message.hpp>
#include <specverify/policy/skip.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/session/output.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/sparsify/vocabulary_budget.hpp>

#include "systems.hpp"

#include <algorithm>
#include <variant>

namespace edge_cloud {

struct wire_plan {
  specverify::session_mode mode = specverify::session_mode::draft;
  specverify::draft_format format;
  specverify::wire_rule rule = specverify::wire_rule::token;
  bool bonus = true;
  bool draw_from_row = false;
  std::variant<specverify::top_k, specverify::conformal, specverify::vocabulary_budget> support;
  std::variant<specverify::always_send, specverify::random_skip, specverify::uncertainty_gate, specverify::uncertainty_and_importance_gate> skip;
  specverify::fixed_window window;
};

//! Tokens that the edge of a skipping system may commit between two uploads; the last one of a run is sent whatever the policy says.
inline constexpr std::uint32_t demo_max_skipped = 63;
//! Drafts a round at most, over all systems.
inline constexpr std::uint32_t demo_max_draft_length = 8;

//! What travels beside the drafts of a judged system, for hidden states of so many numbers.
[[nodiscard]] inline specverify::side_format judged_side(std::uint32_t hidden_size, bool with_draft) {
  return {hidden_size, specverify::hidden_format::float16, with_draft, true, 0};
}

[[nodiscard]] inline wire_plan plan_wire(const system_plan& system, std::uint32_t vocab_size, std::uint32_t hidden_size) {
  wire_plan made;
  if (system.law == upload::none) made.mode = specverify::session_mode::stream;
  made.format.vocab_size = vocab_size;
  made.format.max_draft_length = std::max(1u, system.draft_length);
  made.format.resolution = system.resolution;
  made.format.support_size = system.support_size;
  switch (system.law) {
    case upload::none:
    case upload::ids:
      made.format.format = specverify::law_format::token_only;
      break;
    case upload::half_row:
      made.format.format = specverify::law_format::half_row;
      break;
    case upload::dense:
      made.format.format = specverify::law_format::dense_lattice;
      break;
    case upload::sparse_paper:
      made.format.format = specverify::law_format::sparse_paper;
      break;
    case upload::sparse:
      made.format.format = specverify::law_format::sparse_drop_zero;
      break;
    case upload::top_k_tail:
      made.format.format = specverify::law_format::top_k_tail;
      break;
  }
  if (system.is_greedy()) made.rule = specverify::wire_rule::greedy;
  if (system.judged != states::unused) {
    made.rule = specverify::wire_rule::semantic;
    made.format.side = judged_side(hidden_size, system.judged == states::with_draft);
  }
  if (system.skip != skipping::never) made.format.side.max_skipped = demo_max_skipped;
  made.bonus = system.has_bonus();
  made.draw_from_row = system.draws_from_row();
  if (made.draw_from_row) made.format.support_size += 1;  // a token outside the support is an entry of its own
  if (system.skip == skipping::coin) made.skip = specverify::random_skip{};
  if (system.skip == skipping::certain) made.skip = specverify::uncertainty_gate{};
  if (system.skip == skipping::certain_or_unimportant) made.skip = specverify::uncertainty_and_importance_gate{};
  const std::uint32_t support_size = std::max(1u, system.support_size);
  made.window.plan = {made.format.max_draft_length, std::max(1u, system.resolution), support_size};
  if (system.support == support_rule::conformal) {
    made.support = specverify::conformal{};
  } else if (system.support == support_rule::vocabulary_budget) {
    specverify::vocabulary_budget budget;
    budget.max_support_size = system.support_size;
    made.support = budget;
  } else {
    made.support = specverify::top_k{support_size};
  }
  return made;
}

}  // namespace edge_cloud

#endif
