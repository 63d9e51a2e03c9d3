// SPDX-License-Identifier: Apache-2.0
//! Chooses how hidden states are sent (the protocol FH, SH or lazy) for a system that does not set it. The choice is
//! made once per text, when the text begins, from the link and from statistics of earlier scored rounds.
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

//! Returns the protocol with the least expected time in the model of the link, as a value of `run_settings::protocol`.
[[nodiscard]] inline std::string choose_protocol(const chosen_system& system, const link_settings& link,
                                                 const side_model& drafter,
                                                 const specverify::mismatch_history& history) {
  specverify::protocol_model model;
  model.format.vocab_size = drafter.vocab_size;
  model.format.hidden_size = drafter.hidden_size;
  model.allow_lazy = true;
  constexpr unsigned kind_and_check_bits = 4 + 8;
  model.format.uplink_overhead = model.format.downlink_overhead =
      static_cast<std::uint32_t>(8 * framed_bytes(1 + delivery_check_bytes) + kind_and_check_bits);
  const std::uint32_t drafts = system.shape().format.max_draft_length;
  switch (model.choose(drafts, opening_state(link), history.of(drafts))) {
    case specverify::hidden_protocol::full:
      return "fh";
    case specverify::hidden_protocol::selective:
      return "sh";
    case specverify::hidden_protocol::lazy:
      break;
  }
  return "lazy";
}

//! Adds the scored rounds of a report to the statistics for the next text's choice.
inline void record_rounds(const run_report& report, specverify::mismatch_history& history) {
  for (const auto& [drafted, mismatches, scored] : report.scored_rounds) history.record(drafted, mismatches, scored);
}

//! Returns the system of a run. If the system does not set the protocol, it gets the run's protocol.
[[nodiscard]] inline chosen_system settled_system(const run_settings& run) {
  chosen_system system(run.system);
  if (!leaves_protocol_open(system)) return system;
  const bool is_full = run.protocol == "round-trip"
                           ? specverify::round_trip_rule{}.choose(opening_state(run.link).round_trip) ==
                                 specverify::hidden_protocol::full
                           : run.protocol == "fh";
  system.set("with_draft", is_full ? 1 : 0);
  return system;
}
[[nodiscard]] inline bool sends_states_with_drafts(const chosen_system& system) {
  return system.shape().format.attachments.hidden_with_draft;
}

}  // namespace edge_cloud

#endif
