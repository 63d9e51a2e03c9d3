// SPDX-License-Identifier: Apache-2.0
//! Implements the edge's half of a session. The edge draws draft tokens, sends them to the cloud, and commits tokens
//! according to the cloud's verdicts. It is a pure state machine: no I/O, no clock, no threads.
//!
//! Paper:      round protocol of Quantize-Sample-and-Verify (arXiv 2507.00605) and SQS (2510.09942); skipped tokens:
//!             U-HLM, CU-HLM (2505.11788) and 2508.12590; hidden states on request: WISV (2604.17701).
//! Guarantees: lost connections and restarts do not change the text, if the models return the same rows again. Messages
//!             of one connection must arrive in order and undamaged; otherwise use delivery/. No heap allocation after
//!             `make_edge`; noexcept.
//! Deviates:   after a round with T accepted drafts of L, the sparsifier resumes from its state after min(T + 1, L)
//!             drafts (docs/session/variants.md).
//! Cost:       O(limits of the options); only `make_edge` allocates.
//! See:        docs/algorithms/session.md, docs/session.md, tests/unit/session/edge_test.cpp,
//!             tests/session/fault_test.cpp
#ifndef SPECVERIFY_SESSION_EDGE_HPP
#define SPECVERIFY_SESSION_EDGE_HPP

#include <specverify/session/detail/make_edge.hpp>
#include <specverify/session/edge_session.hpp>
#include <specverify/sparsify/top_k.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN

//! Makes an edge from parts: a sparsifier (or a std::optional of one), a window and a skip policy, in any order.
//! Without a part, the edge uses `top_k`, `fixed_window` (the same plan every round) or `always_send`. The sparsifier
//! sets K, the window sets L and the resolution, and the options set the kind of distribution. Kinds without a support
//! (dense_lattice, fp16_row, token_only) take no sparsifier. Large buffers reserve address space; they use memory only
//! when they are written. If copying a part throws, the exception passes through and all memory is released.
//! Errors:
//! - vocab_size_missing, vocabulary_too_large, secret_missing.
//! - invalid_temperature, invalid_truncation (at_transform); vocabulary_mismatch (at_prior).
//! - invalid_argument: the option edge_options::at_* in `where` is out of range; for example, at_max_skipped if a skip
//!   policy finds attachments.max_skipped = 0.
//! - unsupported: at_format (token_and_count, which needs draws from the residual at the edge), or at_draw_from_row
//!   (the format is not top_k_tail).
//! - options_disagree (at_sparsifier): a sparsifier for a kind without a support.
//! - errors of `check(wire_format)` and of a part's `check`; out_of_memory.
template <class... Parts>
requires(!std::is_convertible_v<const Parts&, std::string_view> && ...)
    [[nodiscard]] result<edge_session> make_edge(const edge_options& options, const Parts&... parts) {
  using detail::part_kind, detail::pick_part;
  detail::explain_parts<Parts...>();
  return detail::make_edge_of(
      options, std::optional(pick_part<part_kind::sparsifier>(std::optional<top_k>(), parts...)),
      pick_part<part_kind::window>(fixed_window(), parts...), pick_part<part_kind::gate>(always_send(), parts...));
}

//! Returns the format of the messages of an edge with these parts, for `cloud_session::limits_for`.
template <class... Parts>
[[nodiscard]] wire_format format_of(const edge_options& options, const Parts&... parts) {
  using detail::part_kind, detail::pick_part;
  detail::explain_parts<Parts...>();
  const std::optional kept = pick_part<part_kind::sparsifier>(std::optional<top_k>(), parts...);
  return detail::format_of_parts(options, options.vocab_size, kept,
                                 pick_part<part_kind::window>(fixed_window(), parts...));
}

SPECVERIFY_NAMESPACE_END

#if SPECVERIFY_BODIES
#include <specverify/session/detail/edge_draft.hpp>
#include <specverify/session/detail/edge_handshake.hpp>
#include <specverify/session/detail/edge_round.hpp>
#include <specverify/session/detail/edge_start.hpp>
#include <specverify/session/detail/edge_text.hpp>
#endif

#if defined(SPECVERIFY_COMPILED)
SPECVERIFY_NAMESPACE_BEGIN

SPECVERIFY_COMPILES class detail::row_of<exec::seq_policy, float>;
SPECVERIFY_COMPILES class detail::row_of<exec::simd_policy, float>;
SPECVERIFY_COMPILES class detail::row_of<exec::seq_policy, float16_bits>;
SPECVERIFY_COMPILES class detail::row_of<exec::simd_policy, float16_bits>;
SPECVERIFY_COMPILES class detail::row_of<exec::seq_policy, bfloat16_bits>;
SPECVERIFY_COMPILES class detail::row_of<exec::simd_policy, bfloat16_bits>;
SPECVERIFY_COMPILES class detail::parts_of<top_k, fixed_window, always_send>;

SPECVERIFY_NAMESPACE_END
#endif

#endif
