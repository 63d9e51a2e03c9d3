// SPDX-License-Identifier: Apache-2.0
//! How hidden states travel in a text of a system that leaves it open: settled once, when the text is opened, from the
//! link and from what the scored rounds of earlier texts were like.
#ifndef EDGE_CLOUD_PROTOCOL_CHOICE_HPP
#define EDGE_CLOUD_PROTOCOL_CHOICE_HPP

#include <specverify/codec/message.hpp>
#include <specverify/policy/protocol.hpp>

#include "frame.hpp"
#include "run_report.hpp"
#include "run_settings.hpp"
#include "side_model.hpp"
#include "systems.hpp"

namespace edge_cloud {

//! The protocol that the model of the link expects to take least time, as `run_settings::protocol` names it.
[[nodiscard]] inline std::string choose_protocol(const system_plan& plan, const link_settings& link,
                                                 const side_model& drafter,
                                                 const specverify::mismatch_history& history) {
  specverify::protocol_model model;
  model.format.vocab_size = drafter.vocab_size;
  model.format.hidden_size = drafter.hidden_size;
  model.allow_lazy = true;
  model.format.uplink_overhead = model.format.downlink_overhead =
      static_cast<std::uint32_t>(8 * framed_bytes(specverify::message_header_bytes));
  switch (model.choose(plan.draft_length, opening_state(link), history.of(plan.draft_length))) {
    case specverify::hidden_protocol::full:
      return "fh";
    case specverify::hidden_protocol::selective:
      return "sh";
    case specverify::hidden_protocol::lazy:
      break;
  }
  return "lazy";
}

//! The next text's means have these rounds in them.
inline void record_rounds(const run_report& report, specverify::mismatch_history& history) {
  for (const auto& [drafted, mismatches, scored] : report.scored_rounds) history.record(drafted, mismatches, scored);
}

//! The plan of a run: of a system that leaves the protocol open, with the run's own.
[[nodiscard]] inline system_plan settled_plan(const run_settings& run) {
  system_plan plan = system_named(run.system);
  if (plan.scored != states::chosen) return plan;
  if (run.protocol == "lazy") {
    plan.scored = states::one_by_one;
  } else if (run.protocol == "round-trip") {
    const auto protocol = specverify::round_trip_rule{}.choose(opening_state(run.link).round_trip);
    plan.scored = protocol == specverify::hidden_protocol::full ? states::with_draft : states::on_request;
  } else {
    plan.scored = run.protocol == "fh" ? states::with_draft : states::on_request;
  }
  return plan;
}

}  // namespace edge_cloud

#endif
