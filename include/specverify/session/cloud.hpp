// SPDX-License-Identifier: Apache-2.0
//! Implements the cloud's half of a session. The cloud receives drafts, verifies them with rows of the target model,
//! and sends verdicts.
//!
//! Paper:      round protocol of Quantize-Sample-and-Verify (arXiv 2507.00605) and SQS (2510.09942); semantic verdicts
//!             with hidden states: WISV (2604.17701).
//! Guarantees: each round is decided once. The journal records the verdict before the cloud sends it, and a lost
//!             verdict is sent again as text. The random numbers are a function of (secret, session id, salt, position,
//!             round). No heap allocation after `make_cloud`; noexcept.
//! Deviates:   nothing.
//! Cost:       O(limits of the options); only `make_cloud` allocates.
//! See:        docs/algorithms/session.md, docs/session.md, tests/unit/session/cloud_test.cpp,
//!             tests/session/fault_test.cpp
#ifndef SPECVERIFY_SESSION_CLOUD_HPP
#define SPECVERIFY_SESSION_CLOUD_HPP

#include <specverify/session/cloud_session.hpp>
#include <specverify/verify/coupled.hpp>
#include <specverify/verify/greedy.hpp>
#include <specverify/verify/mismatched.hpp>

#include <type_traits>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Wraps the host's rows. If a row does not have vocab_size entries, the rule gets an empty row, which every rule
//! rejects.
template <row_provider Rows>
struct rows_of_size {
  const Rows& rows;
  std::uint32_t vocab_size;
  mutable std::uint32_t other_size = 0;  // size of the rejected row
  mutable bool has_other = false;

  [[nodiscard]] auto operator()(std::uint32_t index) const noexcept {
    const auto row = rows(index);
    if (row.valid_size() == vocab_size) return row;
    other_size = row.valid_size();
    has_other = true;
    return std::remove_const_t<decltype(row)>{};
  }
  [[nodiscard]] decltype(auto) transform(std::uint32_t index) const noexcept { return rows.transform(index); }
  [[nodiscard]] std::uint32_t size() const noexcept requires sized_row_provider<Rows> { return rows.size(); }
  //! Returns the most precise error: the host's `rows.failed()`, the wrong size of a row, or `why`.
  [[nodiscard]] status named(status why) const noexcept {
    if (has_other) why = {errc::row_size_mismatch, part::session, other_size};
    if constexpr (requires {
                    { rows.failed() } -> std::same_as<status>;
                  }) {
      if (!rows.failed().ok()) why = rows.failed();
    }
    return why;
  }
};

}  // namespace detail

template <class Policy, class Rows>
result<verdict> cloud_session::decide(Policy policy, const Rows& rows) noexcept {
  const verify_request request = round_request();
  const uniforms<> random{source_, draft_position(), place_.round};
  workspace scratch{std::span<std::byte>(verify_space_)};
  const bool is_greedy = terms_.rule == wire_rule::greedy;
  if (drafts_have_laws() && terms_.format.attachments.drafted_probability && !is_greedy) {
    const std::span<const mismatched_draft> drafts = std::span(drafts_.of_rows).first(drafts_.size);
    return lossy_token_rule{options_.trial_cap}.verify(policy, drafts, rows, random, request, scratch);
  }
  return with_drafts([&](const auto drafts) noexcept {
    if (detail::races(terms_)) return coupled_rule{noise()}.verify(policy, drafts, rows, random, request, scratch);
    return is_greedy ? greedy_rule{}.verify(policy, drafts, rows, random, request, scratch)
                     : token_rule{options_.trial_cap}.verify(policy, drafts, rows, random, request, scratch);
  });
}

template <execution_policy Policy, row_provider Rows>
status cloud_session::supply_rows(Policy policy, const Rows& given, session_time) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (!wants_rows()) return {errc::unexpected_message, part::session, 0};
  journal_.clear();
  rows_wanted_ = 0;
  if (state_ == cloud_state::finished) return answer_owed();  // the edge sent stop while the engine worked
  const detail::rows_of_size<Rows> rows{given, options_.vocab_size};
  if (!detail::compares(terms_)) {
    const result<verdict> made = decide(policy, rows);
    const status why = rows.named(made.error());
    return why.ok() ? commit(made) : fail(detail::named_truncation(why, options_.at_truncation));
  }
  const verify_request request = round_request();
  const status why = rows.named(
      with_drafts([&](const auto drafts) noexcept { return scoring_.compare(policy, drafts, rows, request); }));
  if (!why.ok()) return fail(why);
  return decide_or_ask();
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#if SPECVERIFY_BODIES
#include <specverify/session/detail/cloud_handshake.hpp>
#include <specverify/session/detail/cloud_round.hpp>
#include <specverify/session/detail/cloud_start.hpp>
#include <specverify/session/detail/cloud_text.hpp>
#endif

#if defined(SPECVERIFY_COMPILED)
SPECVERIFY_NAMESPACE_BEGIN

SPECVERIFY_COMPILES status cloud_session::supply_rows(exec::seq_policy, const row_span_provider<float>&,
                                                      session_time) noexcept;
SPECVERIFY_COMPILES status cloud_session::supply_rows(exec::simd_policy, const row_span_provider<float>&,
                                                      session_time) noexcept;

SPECVERIFY_NAMESPACE_END
#endif

#endif
