// SPDX-License-Identifier: Apache-2.0
//! What the edge's drafter knows of a complete draft: into the journal before the draft is sent, and back from there.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_KEEP_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_KEEP_HPP

#include <specverify/session/detail/round_sizes.hpp>
#include <specverify/session/edge_session.hpp>

#include <cstdint>
#include <cstring>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! The block is complete: what the drafter knows goes into the journal with the draft.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::close(session_time now) noexcept {
  if (const status why = keep_draft(beyond_known_); !why.ok()) return fail(why);
  if (kept_.any()) {
    for (std::uint32_t i = 0; i < kept_.states(); ++i) detail::store_state(states_[i], kept_.state(i));
    const std::span<std::byte> probabilities = kept_.probabilities();
    if (!probabilities.empty()) std::memcpy(probabilities.data(), probabilities_.data(), probabilities.size());
  }
  return send_draft(now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
result<journal_reading> basic_edge_session<Sparsifier, Window, Skip>::restore(std::span<const std::byte> journal,
                                                                              session_time now) noexcept {
  const result<journal_reading> read = restore_journal(journal, now);
  if (!read || !kept_.any()) return read;
  // The round that was open, as if its draft had just been made.
  const draft_plan plan = detail::cut_plan(window_.begin(link_.seen()), options_.format, drafter_.most_kept());
  drafter_.set_resolution(drafts_.resolution());
  drafter_.set_support_size(plan.support_size);
  beyond_known_ = kept_.kept().beyond != 0;
  for (std::uint32_t i = 0; i < kept_.states(); ++i) states_[i] = detail::load_state<state_type>(kept_.state(i));
  const std::span<std::byte> probabilities = kept_.probabilities();
  if (!probabilities.empty()) std::memcpy(probabilities_.data(), probabilities.data(), probabilities.size());
  return read;
}

SPECVERIFY_NAMESPACE_END

#endif
