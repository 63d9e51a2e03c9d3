// SPDX-License-Identifier: Apache-2.0
//! What the edge does while the link is lost: wait, stop, or write ahead.
//!
//! A token written ahead stands at a position beyond the open round's drafts and has the counter of that position in
//! that round, which nothing else uses. Its law is the drafter's given the text shown so far. When the round is decided
//! and that text stands (every draft accepted, and the cloud's own token is the one that was shown there), the
//! positions behind it are drafted with the same counters: given the same text the same tokens come out, now with their
//! laws, and are verified like any others. Else they are retracted, and the next round draws with counters of its own.
//! Whether they stand depends on tokens before them alone, so the text's law is that of the rule.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_AHEAD_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_AHEAD_HPP

#include <specverify/session/edge.hpp>

SPECVERIFY_NAMESPACE_BEGIN

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::disconnect(session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  record_used_ = 0;
  if (state_ == edge_state::idle || state_ == edge_state::finished || state_ == edge_state::failed) return {};
  return lose_link(now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::lose_link(session_time now) noexcept {
  lost_ = true;
  if (options_.on_link_loss == link_loss::stop) return fail({errc::link_lost, part::session, attempts_});
  plan_ahead(now);
  return {};
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::link_is_back() noexcept {
  lost_ = false;
  ahead_at_.reset();
}

//! Sets a time for the next token ahead, if there may be one: a deadline, so that the host looks at its transport
//! between two of them.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::plan_ahead(session_time now) noexcept {
  const std::uint32_t position = ahead();
  const bool may = options_.on_link_loss == link_loss::continue_local && options_.mode == session_mode::draft &&
                   block_complete_ && waiting();
  const bool ended = position > prompt_length_ && is_stop(stop_tokens_, text_[position - 1]);
  if (may && !ended && position < text_limit() && position - length_ - drafted_ < options_.max_ahead) ahead_at_ = now;
}

//! The row of a token ahead.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
template <class Policy, class Scalar>
status basic_edge_session<Sparsifier, Window, Skip>::write_ahead(Policy policy, row_view<Scalar> row,
                                                                 const row_transform& transform,
                                                                 session_time now) noexcept {
  ahead_row_ = false;
  const std::uint32_t position = ahead(), block_end = length_ + drafted_;
  if (position == block_end) {
    ahead_round_ = round_;
    ahead_state_ = states_[drafted_];
  }
  token_id token = no_token;
  if (detail::carries_claims(options_.format.format)) {
    argmax_result best;
    if (const status why = argmax(policy, row, transform, best); !why.ok()) return fail(why);
    token = best.token;
  } else {
    law proposed;
    state_type state = ahead_state_;
    const random_counter counter{position, ahead_round_, 0, purpose::draft_draw, 0};
    const status made = options_.draw_from_row
                            ? drafter_.draw_foreign(policy, row, transform, window_, state, source_, counter, token)
                            : drafter_.propose(policy, row, transform, window_, state, proposed);
    if (!made.ok()) return fail(made);
    if (!options_.draw_from_row) token = draw(proposed, source_, counter).token();
    // the law at a bonus position teaches nothing (states[min(T + 1, L)])
    if (position > block_end || !options_.bonus) ahead_state_ = state;
  }
  if (static_cast<std::uint32_t>(token) >= options_.format.vocab_size)
    return fail({errc::vocabulary_mismatch, part::session, 0});
  text_[position] = token;
  shown_end_ = position + 1;
  statistics_.written_ahead += 1;
  session_output out;
  out.action = session_action::tentative;
  out.position = position;
  out.tokens = std::span<const token_id>(text_).subspan(position, 1);
  outputs_.push(out);
  if (lost_) plan_ahead(now);
  return {};
}

//! The round is decided: what was shown beyond it stands, or is forgotten.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::carry_on(bool keep) noexcept {
  carry_round_ = keep ? ahead_round_ : 0;
  carry_end_ = keep ? shown_end_ : 0;
  if (!keep) shown_end_ = 0;
}

//! A token that may have been shown already. It is the same one unless the round's plan made another law of the same
//! text.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::replace_shown(std::uint32_t position, token_id token) noexcept {
  if (position < shown_end_ && text_[position] != token) {
    shown_end_ = 0;
    retract(position);
  }
  text_[position] = token;
}

SPECVERIFY_NAMESPACE_END

#endif
