// SPDX-License-Identifier: Apache-2.0
//! A system of the demo in the library's words: which laws are made, how they travel, how many a round.
#ifndef EDGE_CLOUD_WIRE_PLAN_HPP
#define EDGE_CLOUD_WIRE_PLAN_HPP

#include <specverify/codec/message.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/session/output.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/top_k.hpp>

#include "systems.hpp"

#include <algorithm>
#include <variant>

namespace edge_cloud {

struct wire_plan {
  specverify::session_mode mode = specverify::session_mode::draft;
  specverify::draft_format format;
  std::variant<specverify::top_k, specverify::conformal> support;
  specverify::fixed_window window;
};

[[nodiscard]] inline wire_plan plan_wire(const system_plan& system, std::uint32_t vocab_size) {
  wire_plan made;
  if (system.law == upload::none) made.mode = specverify::session_mode::stream;
  made.format.vocab_size = vocab_size;
  made.format.max_draft_length = std::max(1u, system.draft_length);
  made.format.resolution = system.resolution;
  made.format.support_size = system.support_size;
  switch (system.law) {
    case upload::none:
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
  }
  const std::uint32_t support_size = std::max(1u, system.support_size);
  made.window.plan = {made.format.max_draft_length, std::max(1u, system.resolution), support_size};
  if (system.support == support_rule::conformal) {
    made.support = specverify::conformal{};
  } else {
    made.support = specverify::top_k{support_size};
  }
  return made;
}

}  // namespace edge_cloud

#endif
