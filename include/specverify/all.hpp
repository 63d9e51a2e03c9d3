// SPDX-License-Identifier: Apache-2.0
//! Includes the headers of `specverify.hpp`, and headers for draft blocks, message codecs, link models, policies, both
//! sides of a session and the host's loop. Include it if you do not want to choose single headers. It omits testing/,
//! cuda/, device/, core/level.hpp, host/seeded.hpp, and the trainer of the decision head.
#ifndef SPECVERIFY_ALL_HPP
#define SPECVERIFY_ALL_HPP

#include <specverify/cpp20.hpp>

#include <specverify/specverify.hpp>

// rows for which the engine has a sum per block
#include <specverify/row/blocks.hpp>

// the drafts of a round, in one arena
#include <specverify/distribution/draft_block.hpp>

// measurements for skip policies
#include <specverify/uncertainty/calibration.hpp>
#include <specverify/uncertainty/importance.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>

// messages as bytes
#include <specverify/codec/bit_cost.hpp>
#include <specverify/codec/count_code.hpp>
#include <specverify/codec/draft_attachments.hpp>
#include <specverify/codec/hidden_code.hpp>
#include <specverify/codec/message.hpp>
#include <specverify/codec/prefix_hash.hpp>
#include <specverify/codec/prior_table.hpp>
#include <specverify/codec/range_coder.hpp>
#include <specverify/codec/support_code.hpp>
#include <specverify/codec/token_prior.hpp>

// link models
#include <specverify/link/channel.hpp>
#include <specverify/link/channel_trace.hpp>
#include <specverify/link/energy.hpp>
#include <specverify/link/latency.hpp>
#include <specverify/link/payload.hpp>

// the WISV head; include the trainer yourself, because it needs Eigen
#include <specverify/decision_head/features.hpp>
#include <specverify/decision_head/mlp.hpp>
#include <specverify/decision_head/relabel.hpp>
#include <specverify/decision_head/weights.hpp>

#include <specverify/policy/concepts.hpp>
#include <specverify/policy/dqn.hpp>
#include <specverify/policy/dqn_trainer.hpp>
#include <specverify/policy/model_window.hpp>
#include <specverify/policy/observation.hpp>
#include <specverify/policy/protocol.hpp>
#include <specverify/policy/resolution.hpp>
#include <specverify/policy/skip.hpp>
#include <specverify/policy/split_plan.hpp>
#include <specverify/policy/window.hpp>

#include <specverify/vocabulary/fingerprint.hpp>

// the edge and cloud state machines
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/session/journal.hpp>
#include <specverify/session/presets.hpp>
#include <specverify/session/statistics.hpp>
#include <specverify/session/systems.hpp>

// the host's loop, for either side
#include <specverify/delivery/delivered.hpp>
#include <specverify/host/host.hpp>
#include <specverify/host/rewinding.hpp>
#include <specverify/host/stop_strings.hpp>

#endif
