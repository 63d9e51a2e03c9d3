// SPDX-License-Identifier: Apache-2.0
// The compiled library: what SPECVERIFY_COMPILED leaves out of other units. Link it to units with the same flags;
// others find no symbols (the inline namespace names the instruction set and the arithmetic).
#ifndef SPECVERIFY_COMPILED
#define SPECVERIFY_COMPILED
#endif
#include <specverify/session/cloud.hpp>
#include <specverify/session/detail/cloud_answers.hpp>
#include <specverify/session/detail/cloud_end.hpp>
#include <specverify/session/detail/cloud_extras.hpp>
#include <specverify/session/detail/cloud_link.hpp>
#include <specverify/session/detail/cloud_round.hpp>
#include <specverify/session/detail/cloud_start.hpp>
#include <specverify/session/detail/cloud_text.hpp>
#include <specverify/session/detail/context_bodies.hpp>
#include <specverify/session/detail/edge_ahead.hpp>
#include <specverify/session/detail/edge_answers.hpp>
#include <specverify/session/detail/edge_draft.hpp>
#include <specverify/session/detail/edge_end.hpp>
#include <specverify/session/detail/edge_link.hpp>
#include <specverify/session/detail/edge_refusals.hpp>
#include <specverify/session/detail/edge_round.hpp>
#include <specverify/session/detail/edge_start.hpp>
#include <specverify/session/detail/edge_text.hpp>
#include <specverify/session/edge.hpp>

SPECVERIFY_NAMESPACE_BEGIN

template class detail::row_of<exec::seq_policy, float>;
template class detail::row_of<exec::simd_policy, float>;
template class detail::parts_of<top_k, fixed_window, always_send>;
template status cloud_session::supply_rows(exec::seq_policy, const row_span_provider<float>&, session_time) noexcept;
template status cloud_session::supply_rows(exec::simd_policy, const row_span_provider<float>&, session_time) noexcept;

SPECVERIFY_NAMESPACE_END
