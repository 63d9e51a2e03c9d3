// SPDX-License-Identifier: Apache-2.0
//! The edge's drafter at work: makes the session, does what the protocol says is due, draws tokens from rows.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_DRAFT_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_DRAFT_HPP

#include <specverify/policy/observe_skip.hpp>
#include <specverify/session/detail/round_sizes.hpp>
#include <specverify/session/edge_session.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The `check` of a sparsifier or policy, where it has one.
template <class Options>
[[nodiscard]] constexpr status check_if_any(const Options& options) noexcept {
  if constexpr (requires {
                  { check(options) } -> std::same_as<status>;
                })
    return check(options);
  return {};
}

}  // namespace detail

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
result<basic_edge_session<Sparsifier, Window, Skip>> basic_edge_session<Sparsifier, Window, Skip>::make(
    const edge_options& options, const std::optional<Sparsifier>& sparsifier, const Window& window, const Skip& skip) {
  const detail::round_sizes<Sparsifier, Window> said(options, sparsifier, window);
  if (const status why = check_options(said.options); !why.ok()) return why;
  if (detail::gates<Skip> && options.format.attachments.max_skipped == 0)
    return status{errc::invalid_argument, part::session, options.at_max_skipped};
  if (has_support(options.format.format)) {
    if (const status why = detail::check_if_any(said.sparsifier); !why.ok()) return why;
  }
  if (const status why = detail::check_if_any(said.window); !why.ok()) return why;
  if (const status why = detail::check_if_any(skip); !why.ok()) return why;
  if (const status why = said.check(); !why.ok()) return why;
  return detail::within_memory([&]() -> result<basic_edge_session> {
    auto drafts = detail::edge_drafts::make(said.options);
    if (!drafts) return drafts.error();
    return result<basic_edge_session>(std::in_place, maker(), said.options, said.sparsifier, said.window, skip,
                                      *std::move(drafts));
  });
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
basic_edge_session<Sparsifier, Window, Skip>::basic_edge_session(maker, const edge_options& options,
                                                                 const Sparsifier& sparsifier, const Window& window,
                                                                 const Skip& skip, detail::edge_drafts&& drafts)
    : edge_protocol(options, Skip::strength, observes_probabilities, std::move(drafts),
                    detail::committed_state(sparsifier.initial_state())),
      window_(window),
      skip_(skip),
      drafter_(format_of(options), options.transform, sparsifier,
               {observes_probabilities, options.draw_from_row, detail::may_send_all(window), Skip::needs_uncertainty}),
      states_(std::size_t{options.format.max_draft_length} + 1),
      probabilities_(options.format.max_draft_length) {
  if constexpr (Skip::needs_uncertainty)
    skip_space_ = untouched_memory<std::byte>(perturbation_workspace_size(options.vocab_size) + workspace_alignment);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::receive(std::span<const std::byte> message,
                                                             session_time now) noexcept {
  return do_what_is_due(receive_message(message, now), now);
}

//! `done`: what the protocol says of the input so far.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::do_what_is_due(status done, session_time now) noexcept {
  if (due_ == detail::due::verdict) {
    renew_state();
    done = commit(now);
  }
  if (due_ == detail::due::round) done = begin_round(now);
  return due_ == detail::due::draft ? close(now) : done;
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::renew_state() noexcept {
  const bool bonus = static_cast<token_source>(verdict_.source) == token_source::bonus;
  sparsifier_state_.set(states_[resumed_state(verdict_.accepted, drafts_.size(), beyond_known_ && bonus)]);
  if constexpr (observes_probabilities) {
    for (std::uint32_t i = 0; i < verdict_.accepted; ++i) link_.accept(probabilities_[i]);
  }
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::begin_round(session_time now) noexcept {
  const draft_plan plan = detail::cut_plan(window_.begin(link_.seen()), options_.format, drafter_.most_kept());
  open_round(plan, now);
  states_[0] = sparsifier_state_.template get<state_type>();
  beyond_known_ = false;
  drafter_.set_resolution(drafts_.resolution());
  drafter_.set_support_size(plan.support_size);
  return want_next_row();
}

//! Whether the token is committed here alone: asked of the first one of a block. Pure in (prefix, round, key): a
//! restarted edge answers the same. The coin and the measurement have counters of their own, so the draw of the token
//! says nothing about them.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
template <class Policy, class Scalar>
result<detail::gate_answer> basic_edge_session<Sparsifier, Window, Skip>::ask_gate(
    const row_reading<Policy, Scalar>& row, token_id token, std::span<const float> attention) noexcept {
  if constexpr (detail::gates<Skip>) {
    if (drafts_.size() != 0) return detail::gate_answer{};
    workspace scratch{std::span<std::byte>(skip_space_)};
    const auto seen =
        observe_skip(row, skip_, token, attention, uniforms<>{source_, place_.length(), place_.round()}, scratch);
    if (!seen) return seen.error();
    const bool full = place_.pending() >= options_.format.attachments.max_skipped;  // the cloud must hear of them
    const detail::gate_answer answer{*seen, !full && !skip_.send(*seen)};
    if constexpr (requires { skip_.uncertain(*seen); })
      statistics_.skipped_uncertain += answer.keep && skip_.uncertain(*seen) ? 1u : 0u;
    return answer;
  }
  return detail::gate_answer{};
}

//! Whether the window takes the position, decided from its law alone.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
bool basic_edge_session<Sparsifier, Window, Skip>::takes(std::uint32_t position, const law& next) noexcept {
  if constexpr (!requires { requires Window::unconditional; }) {
    window_progress so_far{drafts_.size(), drafts_.charged()};
    if constexpr (!charging_window<Window>) {
      if (drafts_.size() > 0) {
        if (const auto bytes = drafts_.bytes(options_)) so_far.bits = 8 * std::uint64_t{*bytes};
      }
    }
    if (!takes_position(window_, so_far, position, next)) {
      if constexpr (requires { drafter_.sparsifier().update_on_bonus; })
        beyond_known_ = drafter_.sparsifier().update_on_bonus;
      return false;
    }
    drafts_.charge(so_far.bits);
  }
  return true;
}

//! Draws the next token of the block; no_token where the window ends before it, decided from its law alone. The first
//! one of a block may be the edge's own (`keep`): then it does not travel.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
template <class Policy, class Scalar>
result<detail::drawn_draft> basic_edge_session<Sparsifier, Window, Skip>::draw_draft(
    Policy policy, row_view<Scalar> row, const row_transform& transform, const row_extras& extras) noexcept {
  const std::uint32_t drafted = drafts_.size();
  state_type& state = states_[drafted + 1] = states_[drafted];
  if (detail::carries_claims(options_.format.format)) {
    const result<argmax_result> best = argmax(policy, row, transform);
    if (!best) return best.error();
    if constexpr (!detail::gates<Skip>) return detail::drawn_draft{best->token};
    const auto reading = drafter_.read(policy, row, transform, state);
    if (!reading) return reading.error();
    const auto answer = ask_gate(*reading, best->token, extras.attention);
    if (!answer) return answer.error();
    return detail::drawn_draft{best->token, answer->keep};
  }
  const auto reading = drafter_.read(policy, row, transform, state);
  if (!reading) return reading.error();
  const auto drawn =
      options_.draw_from_row ? draw_from_row(*reading, extras, state) : draw_from_law(*reading, extras, state);
  if (!drawn || drawn->token == no_token || drawn->keep) return drawn;
  open_round_.clamped += drafter_.is_clamped() ? 1u : 0u;
  open_round_.support_sum += drafter_.support_size();
  if constexpr (observes_probabilities) probabilities_[drafted] = drafter_.probability(drawn->token);
  return drawn;
}

//! The token from the row itself, with its probability there; the law that travels is what a rejection subtracts.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
template <class Policy, class Scalar>
result<detail::drawn_draft> basic_edge_session<Sparsifier, Window, Skip>::draw_from_row(
    const row_reading<Policy, Scalar>& row, const row_extras& extras, state_type& state) noexcept {
  const std::uint32_t position = block_end();
  const auto drawn =
      row.sample(uniforms<>{source_, position, ahead_.round_of(position, place_.round())}.at(purpose::draft_draw));
  if (!drawn) return drawn.error();
  const auto answer = ask_gate(row, drawn->token, extras.attention);
  if (!answer) return answer.error();
  if (answer->keep) {
    if (const status why = drafter_.pass(row, window_, state); !why.ok()) return why;
    return detail::drawn_draft{drawn->token, true};
  }
  const auto made =
      drafter_.claim_law(row, window_, state, {drawn->token, answer->seen.disagreements, answer->seen.samples});
  if (!made) return made.error();
  if (!takes(position, made->claimed)) return detail::drawn_draft{};
  const detail::claim claimed{drawn->token, made->claimed};
  if (const status why = drafts_.push(claimed, made->count, made->resolution); !why.ok()) return why;
  return detail::drawn_draft{drawn->token};
}

//! The token from the law that travels.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
template <class Policy, class Scalar>
result<detail::drawn_draft> basic_edge_session<Sparsifier, Window, Skip>::draw_from_law(
    const row_reading<Policy, Scalar>& row, const row_extras& extras, state_type& state) noexcept {
  const std::uint32_t position = block_end();
  const auto made = drafter_.draft(row, window_, state);
  if (!made) return made.error();
  if (!takes(position, *made)) return detail::drawn_draft{};
  const draft drawn =
      draw(*made, uniforms<>{source_, position, ahead_.round_of(position, place_.round())}.at(purpose::draft_draw));
  const auto answer = ask_gate(row, drawn.token(), extras.attention);
  if (!answer) return answer.error();
  if (answer->keep) return detail::drawn_draft{drawn.token(), true};
  if (const status why = drafts_.push(drawn); !why.ok()) return why;
  return detail::drawn_draft{drawn.token()};
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
template <execution_policy Policy, class Scalar>
status basic_edge_session<Sparsifier, Window, Skip>::supply_row(Policy policy, row_view<Scalar> row,
                                                                const row_transform& transform,
                                                                const row_extras& extras, session_time now) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (!row_wanted_) return {errc::unexpected_message, part::session, 0};
  journal_.clear();
  row_wanted_ = false;
  if (row.valid_size() > options_.vocab_size) return fail({errc::row_size_mismatch, part::session, row.valid_size()});
  if (ahead_.is_writing()) return write_ahead(policy, row, transform, now);
  const auto drawn = draw_draft(policy, row, transform, extras);
  if (!drawn) return fail(drawn.error());
  if (drawn->token == no_token) {
    close_block();
    return do_what_is_due({}, now);
  }
  if constexpr (detail::gates<Skip>) {
    if (drawn->keep) {
      sparsifier_state_.set(states_[1]);
      return do_what_is_due(commit_alone(drawn->token, now), now);
    }
  }
  return do_what_is_due(take_draft(drawn->token, extras.hidden), now);
}

//! The row of a token ahead.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
template <class Policy, class Scalar>
status basic_edge_session<Sparsifier, Window, Skip>::write_ahead(Policy policy, row_view<Scalar> row,
                                                                 const row_transform& transform,
                                                                 session_time now) noexcept {
  ahead_.written();
  const std::uint32_t position = ahead();
  const bool first = position == block_end();
  if (first) {
    ahead_.begin(place_.round());
    ahead_state_ = states_[drafts_.size()];
  }
  token_id token = no_token;
  if (detail::carries_claims(options_.format.format)) {
    const result<argmax_result> best = argmax(policy, row, transform);
    if (!best) return fail(best.error());
    token = best->token;
  } else {
    state_type state = ahead_state_;
    const auto reading = drafter_.read(policy, row, transform, state);
    if (!reading) return fail(reading.error());
    const uniform_stream draws = uniforms<>{source_, position, ahead_.drawn_in()}.at(purpose::draft_draw);
    if (options_.draw_from_row) {
      const auto drawn = reading->sample(draws);
      if (!drawn) return fail(drawn.error());
      token = drawn->token;
      if (const status why = drafter_.pass(*reading, window_, state); !why.ok()) return fail(why);
    } else {
      const auto made = drafter_.draft(*reading, window_, state);
      if (!made) return fail(made.error());
      token = draw(*made, draws).token();
    }
    // the law at a bonus position teaches nothing (states[min(T + 1, L)])
    if (!first || !options_.bonus) ahead_state_ = state;
  }
  return show_ahead(token, now);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
