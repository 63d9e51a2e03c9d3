// SPDX-License-Identifier: Apache-2.0
//! The cloud's half of a session: takes drafts, has the target model evaluated, verifies, answers, and can repeat every
//! answer.
//!
//! Paper:      round protocol of Quantize-Sample-and-Verify (arXiv 2507.00605) and SQS (2510.09942); semantic verdicts
//!             with hidden states sent along or on request: WISV (2604.17701).
//! Symbols:    n = length(), L = drafts of a round, T = accepted, y = the token added; round r counts from 1.
//! Guarantees: the same (session, round) gets the same verdict however often it is asked, after a restart too: uniforms
//!             are a function of (secret, session id, salt, position, round). After `make` no heap allocation;
//!             noexcept. Every message that is not used is counted once.
//! Deviates:   nothing.
//! See:        docs/algorithms/session.md, docs/session.md, tests/unit/session/cloud_test.cpp,
//!             tests/session/fault_test.cpp, examples/docs/session.cpp
#ifndef SPECVERIFY_SESSION_CLOUD_HPP
#define SPECVERIFY_SESSION_CLOUD_HPP

#include <specverify/session/cloud_session.hpp>
#include <specverify/session/detail/cloud_decide.hpp>

#if defined(SPECVERIFY_COMPILED)
SPECVERIFY_NAMESPACE_BEGIN

// What src/specverify.cpp holds.
extern template status cloud_session::supply_rows(exec::seq_policy, const row_span_provider<float>&,
                                                  session_time) noexcept;
extern template status cloud_session::supply_rows(exec::simd_policy, const row_span_provider<float>&,
                                                  session_time) noexcept;

SPECVERIFY_NAMESPACE_END
#else
#include <specverify/session/detail/cloud_answers.hpp>
#include <specverify/session/detail/cloud_end.hpp>
#include <specverify/session/detail/cloud_extras.hpp>
#include <specverify/session/detail/cloud_link.hpp>
#include <specverify/session/detail/cloud_round.hpp>
#include <specverify/session/detail/cloud_start.hpp>
#include <specverify/session/detail/cloud_text.hpp>
#include <specverify/session/detail/context_bodies.hpp>
#endif

#endif
