// SPDX-License-Identifier: Apache-2.0
//! How an edge comes to be: made, started, restored from its journal, recovered without one; and what it writes to the
//! journal.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_START_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_START_HPP

#include <specverify/session/edge.hpp>

#include <algorithm>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! What `check` says of a rule or policy that has one.
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
    const edge_options& options, const Sparsifier& rule, const Window& window, const Skip& skip) {
  if (const status why = check(options.format); !why.ok()) return why;
  if (options.format.format == law_format::token_and_count) return status{errc::unsupported, part::session, 0};
  if (options.max_length < 2) return status{errc::invalid_argument, part::session, 0};
  if (options.text_chunk == 0) return status{errc::invalid_argument, part::session, 1};
  if (options.retry_limit == 0) return status{errc::invalid_argument, part::session, 2};
  if (detail::gates<Skip> && options.format.attachments.max_skipped == 0)
    return status{errc::invalid_argument, part::session, 3};
  if (const status why = detail::check_if_any(rule); !why.ok()) return why;
  if (const status why = detail::check_if_any(window); !why.ok()) return why;
  if (const status why = detail::check_if_any(skip); !why.ok()) return why;
  if constexpr (std::is_convertible_v<Window, draft_plan>) {
    if (options.format.support_size != 0 && static_cast<draft_plan>(window).support_size == 0)
      return status{errc::invalid_argument, part::policy, 2};
  }
  const bool claims = detail::carries_claims(options.format.format);
  draft_block_options space;
  space.max_length = options.format.max_draft_length;
  space.max_entries =
      claims ? 1 : std::max<std::uint64_t>(1, max_draft_entries(options.format, options.format.max_draft_length));
  if (options.draw_from_row && options.format.format != law_format::top_k_tail)
    return status{errc::unsupported, part::session, 1};
  // no room for the token itself
  if (options.draw_from_row && options.format.support_size == 1)
    return status{errc::invalid_argument, part::session, 4};
  auto block = draft_block::make(options.draw_from_row ? draft_block_options{1, 1} : space);
  auto foreign =
      basic_draft_block<detail::foreign_draft>::make(options.draw_from_row ? space : draft_block_options{1, 1});
  if (!block.ok()) return block.error();
  if (!foreign.ok()) return foreign.error();
  return basic_edge_session(options, rule, window, skip, std::move(block).value(), std::move(foreign).value());
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
basic_edge_session<Sparsifier, Window, Skip>::basic_edge_session(const edge_options& options, const Sparsifier& rule,
                                                                 const Window& window, const Skip& skip,
                                                                 draft_block&& block,
                                                                 basic_draft_block<detail::foreign_draft>&& foreign)
    : options_(options),
      window_(window),
      skip_(skip),
      drafter_(options.format, options.transform, rule, {observes_probabilities, options.draw_from_row}),
      block_(std::move(block)),
      foreign_(std::move(foreign)) {
  const std::uint32_t drafts = options.format.max_draft_length;
  claims_.resize(drafts);
  text_.resize(std::size_t{options.max_length} + drafts + 1);
  stop_tokens_.assign(options.stop_tokens.begin(), options.stop_tokens.end());
  options_.stop_tokens = {};
  received_.resize(options.text_chunk);
  states_.resize(std::size_t{drafts} + 1);
  probabilities_.resize(drafts);
  if constexpr (Skip::needs_uncertainty)
    skip_space_.resize(perturbation_workspace_size(options.format.vocab_size) + workspace_alignment);
  hidden_.resize(hidden_bytes(options.format.attachments) * drafts);
  payload_.resize(hidden_.size());
  asked_.resize((std::size_t{drafts} + 63) / 64);
  supplied_.resize(asked_.size());
  message_.resize(std::max({max_draft_bytes(options.format, drafts), max_supply_bytes(options.format, drafts),
                            max_control_bytes(options.format), text_bytes(options.format, options.text_chunk)}));
  record_.resize(journal_record_bytes<snapshot>(options.max_length) + 2 * journal_record_bytes<snapshot>(drafts + 1));
  source_.key = derive_session_keys(options.secret, options.session_id).draft;
  sparsifier_state_ = rule.initial_state();
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::start(std::span<const token_id> prompt,
                                                           session_time now) noexcept {
  if (state_ != edge_state::idle) return {errc::unexpected_message, part::session, 0};
  if (prompt.empty() || prompt.size() >= options_.max_length)
    return {errc::invalid_argument, part::session, static_cast<std::uint32_t>(prompt.size())};
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || static_cast<std::uint32_t>(prompt[i]) >= options_.format.vocab_size)
      return {errc::token_out_of_range, part::session, static_cast<std::uint32_t>(i)};
    text_[i] = prompt[i];
  }
  length_ = prompt_length_ = static_cast<std::uint32_t>(prompt.size());
  base_ = length_;
  hash_ = prefix_hash(prompt);
  epoch_ = 1;
  round_ = 1;
  seen_.position = length_;
  write_journal(0);
  state_ = edge_state::greeting;
  return ask(question::hello, now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::restore(std::span<const std::byte> journal, session_time now,
                                                             journal_reading* found) noexcept {
  if (state_ != edge_state::idle) return {errc::unexpected_message, part::session, 0};
  snapshot last;
  journal_reading reading;
  if (const status why = read_journal(journal, std::span<token_id>(text_).first(options_.max_length), last, reading);
      !why.ok())
    return why;
  if (found != nullptr) *found = reading;
  if (reading.records == 0 || last.session_id != options_.session_id) return {errc::unknown_session, part::session, 0};
  if (last.length != reading.text_length || last.prompt_length > last.length || last.base_length > last.length ||
      last.prefix_hash != prefix_hash(std::span<const token_id>(text_).first(last.base_length)) ||
      !(last.draft_key == source_.key)) {
    return {errc::journal_corrupt, part::session, 0};
  }
  length_ = journaled_ = last.length;
  prompt_length_ = last.prompt_length;
  base_ = last.base_length;
  carry_round_ = last.carry_round;
  carry_end_ = last.carry_end;
  hash_ = last.prefix_hash;
  memory_.remember({options_.session_id, last.epoch, last.round, base_, hash_, 0});
  epoch_ = last.epoch + 1;
  round_ = last.round;
  seen_ = measured_ = last.seen;
  channel_ = measured_channel_ = last.channel;
  sparsifier_state_ = last.sparsifier;
  stop_ = last.stop;
  statistics_.restarts += 1;
  write_journal(length_);
  session_output announced;
  announced.action = session_action::committed;
  announced.position = prompt_length_;
  announced.tokens = text().subspan(prompt_length_, std::max(base_, prompt_length_) - prompt_length_);
  announced.stop = pending() == 0 ? stop_ : stop_reason::none;
  if (!announced.tokens.empty()) outputs_.push(announced);
  announced.authority = token_authority::edge;
  announced.position = base_;
  announced.tokens = text().subspan(base_);
  announced.stop = stop_;
  if (!announced.tokens.empty()) outputs_.push(announced);
  if (last.finished) return finish(false);
  state_ = edge_state::resuming;
  return ask(question::resume, now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::recover(std::uint32_t prompt_length, session_time now) noexcept {
  if (state_ != edge_state::idle) return {errc::unexpected_message, part::session, 0};
  prompt_length_ = prompt_length;
  nonce_ = now;
  statistics_.restarts += 1;
  state_ = edge_state::resuming;
  return ask(question::resume, now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::write_journal(std::uint32_t first_position) noexcept {
  snapshot now{};
  now.session_id = options_.session_id;
  now.prefix_hash = hash_;
  now.seen = seen_;
  now.channel = channel_;
  now.draft_key = source_.key;
  now.epoch = epoch_;
  now.round = round_;
  now.prompt_length = prompt_length_;
  now.length = length_;
  now.base_length = base_;
  now.carry_round = carry_round_;
  now.carry_end = carry_end_;
  now.stop = stop_;
  now.finished = stop_ != stop_reason::none;
  now.sparsifier = sparsifier_state_;
  if (first_position > journaled_) first_position = journaled_;  // nothing is left out
  std::size_t written = 0;
  const std::span<std::byte> space = std::span<std::byte>(record_).subspan(record_used_);
  const status done = write_journal_record(space, written, first_position, text().subspan(first_position), now);
  SPECVERIFY_ASSERT(done.ok(), "the journal's buffer is sized for every record");
  if (!done.ok()) return;
  record_used_ += written;
  journaled_ = length_;
  session_output out;
  out.action = session_action::journal;
  out.bytes = space.first(written);
  outputs_.push(out);
}

SPECVERIFY_NAMESPACE_END

#endif
