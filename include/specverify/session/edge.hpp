// SPDX-License-Identifier: Apache-2.0
//! The edge's half of a session: drafts, sends, commits what the cloud's verdicts say. A pure state machine: no I/O, no
//! clock, no threads.
//!
//! Paper:      round protocol of Quantize-Sample-and-Verify (arXiv 2507.00605) and SQS (2510.09942), states after a
//!             rejection as in docs/session.md. Tokens that the edge commits alone: arXiv 2505.11788 (U-HLM, CU-HLM),
//!             2508.12590. Hidden states on request: 2604.17701 (WISV).
//! Symbols:    n = length(), L = drafts of a round, T = accepted, y = the cloud's token; round r counts from 1.
//! Guarantees: the text of a run with lost, repeated, reordered or damaged messages and restarts is that of the run
//!             without; after `make` no heap allocation; noexcept. Every message that is not used is counted once.
//! Deviates:   the sparsifier resumes from states[min(T + 1, L)].
//! See:        docs/algorithms/session.md, docs/session.md, tests/unit/session/edge_test.cpp,
//!             tests/session/fault_test.cpp, examples/docs/session.cpp
#ifndef SPECVERIFY_SESSION_EDGE_HPP
#define SPECVERIFY_SESSION_EDGE_HPP

#include <specverify/session/detail/edge_draft.hpp>
#include <specverify/session/detail/edge_keep.hpp>
#include <specverify/session/edge_session.hpp>

#if defined(SPECVERIFY_COMPILED)
SPECVERIFY_NAMESPACE_BEGIN

// What src/specverify.cpp holds.
extern template class basic_edge_session<>;
extern template status edge_session::supply_row(exec::seq_policy, row_view<float>, const row_transform&,
                                                const row_extras&, session_time) noexcept;
extern template status edge_session::supply_row(exec::simd_policy, row_view<float>, const row_transform&,
                                                const row_extras&, session_time) noexcept;

SPECVERIFY_NAMESPACE_END
#else
#include <specverify/session/detail/context_bodies.hpp>
#include <specverify/session/detail/edge_ahead.hpp>
#include <specverify/session/detail/edge_answers.hpp>
#include <specverify/session/detail/edge_end.hpp>
#include <specverify/session/detail/edge_link.hpp>
#include <specverify/session/detail/edge_refusals.hpp>
#include <specverify/session/detail/edge_round.hpp>
#include <specverify/session/detail/edge_start.hpp>
#include <specverify/session/detail/edge_text.hpp>
#endif

#endif
