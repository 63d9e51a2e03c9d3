// SPDX-License-Identifier: Apache-2.0
//! How an edge comes to be: made, started, restored from its journal, recovered without one; and what it writes to the
//! journal.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_START_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_START_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/detail/edge_protocol.hpp>

#include <algorithm>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

SPECVERIFY_BODY status edge_protocol::check_options(const edge_options& options) noexcept {
  if (options.vocab_size == 0) return {errc::vocab_size_missing, part::session, options.at_vocab_size};
  if (options.vocab_size > max_vocab_size) return {errc::vocabulary_too_large, part::session, options.at_vocab_size};
  if (options.format.format == law_format::token_and_count)
    return {errc::unsupported, part::session, options.at_format};
  if (const status why = check(format_of(options)); !why.ok()) return why;
  if (options.secret.is_missing()) return {errc::secret_missing, part::session, options.at_secret};
  if (const status why = check(options.transform); !why.ok()) return {why.code, part::session, options.at_transform};
  if (options.rule == wire_rule::semantic && !(numeric::is_finite(options.threshold) && options.threshold >= 0.0))
    return {errc::invalid_argument, part::session, options.at_threshold};
  if (options.max_text_length < 2) return {errc::invalid_argument, part::session, options.at_max_text_length};
  if (options.text_chunk == 0) return {errc::invalid_argument, part::session, options.at_text_chunk};
  if (options.retry_limit == 0) return {errc::invalid_argument, part::session, options.at_retry_limit};
  return {};
}

SPECVERIFY_BODY result<edge_drafts> edge_drafts::make(const edge_options& options) {
  const wire_format format = format_of(options);
  draft_block_options space;
  space.max_draft_length = format.max_draft_length;
  space.max_entries = carries_claims(format.format)
                          ? 1
                          : std::max<std::uint64_t>(1, max_draft_entries(format, format.max_draft_length));
  if (options.draw_from_row && format.format != law_format::top_k_tail)
    return status{errc::unsupported, part::session, options.at_draw_from_row};
  // no room for the token itself
  if (options.draw_from_row && format.support_size == 1)
    return status{errc::invalid_argument, part::session, options.at_support_size};
  auto with_laws = basic_draft_block<claim>::make(space);
  if (!with_laws) return with_laws.error();
  return edge_drafts(*std::move(with_laws), format.max_draft_length);
}

[[nodiscard]] SPECVERIFY_BODY endpoint_sizes edge_sizes(const edge_options& options,
                                                        std::size_t snapshot_bytes) noexcept {
  const wire_format format = format_of(options);
  const std::uint32_t drafts = format.max_draft_length;
  endpoint_sizes sizes;
  sizes.text = std::size_t{options.max_text_length} + drafts + 1;
  sizes.received = options.text_chunk;
  sizes.message = longest_message(format, options.text_chunk);
  sizes.records =
      journal_bytes(options.max_text_length, snapshot_bytes) + 2 * journal_bytes(drafts + 1, snapshot_bytes);
  return sizes;
}

SPECVERIFY_BODY edge_protocol::edge_protocol(const edge_options& options, guarantee strength, edge_drafts&& drafts,
                                             committed_state&& state)
    : endpoint(edge_sizes(options, state.snapshot_bytes()), options.stop_tokens),
      options_(options),
      strength_(strength),
      sparsifier_state_(std::move(state)),
      drafts_(std::move(drafts)),
      hidden_(options.format.attachments, options.format.max_draft_length) {
  options_.stop_tokens = {};
  place_ = text_place(options.session_id);
  source_.key = derive_draft_key(options.secret, options.session_id);
}

SPECVERIFY_BODY status edge_protocol::start(std::span<const token_id> prompt, session_time now) noexcept {
  if (state_ != edge_state::idle) return {errc::unexpected_message, part::session, 0};
  if (prompt.empty()) return {errc::prompt_empty, part::session, options_.at_prompt};
  if (prompt.size() >= options_.max_text_length)
    return {errc::prompt_too_long, part::session, static_cast<std::uint32_t>(prompt.size())};
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || static_cast<std::uint32_t>(prompt[i]) >= options_.vocab_size)
      return {errc::token_out_of_range, part::session, static_cast<std::uint32_t>(i)};
    text_[i] = prompt[i];
  }
  const auto length = static_cast<std::uint32_t>(prompt.size());
  place_ = text_place(options_.session_id, 1, 1, length);
  place_.agree(length, text_);
  link_.stand_at(length);
  write_journal(0);
  state_ = edge_state::greeting;
  return ask(question::hello, now);
}

SPECVERIFY_BODY result<journal_reading> edge_protocol::restore(std::span<const std::byte> journal,
                                                               session_time now) noexcept {
  if (state_ != edge_state::idle) return status{errc::unexpected_message, part::session, 0};
  const std::span<token_id> space = std::span<token_id>(text_).first(options_.max_text_length);
  const auto read = read_journal_bytes(journal, sparsifier_state_.snapshot_bytes(), space);
  if (!read) return read.error();
  const journal_reading& reading = read->found;
  const std::span<const std::byte> snapshot = read->last;
  if (reading.records == 0) return status{errc::unknown_session, part::session, 0};
  const edge_snapshot_head last = committed_state::head_of(snapshot);
  if (last.session_id != options_.session_id) return status{errc::unknown_session, part::session, 0};
  if (last.length != reading.text_length || last.prompt_length > last.length || last.base_length > last.length ||
      last.prefix_hash != prefix_hash(space.first(last.base_length)) || !(last.draft_key == source_.key)) {
    return status{errc::journal_corrupt, part::session, 0};
  }
  if (last.length - last.base_length > options_.format.attachments.max_skipped)
    return status{errc::beyond_limit, part::session, options_.at_max_skipped};
  place_ = text_place(options_.session_id, last.epoch, last.round, last.prompt_length);
  place_.stand_at(last.length, last.base_length, last.prefix_hash);
  place_.end(last.stop);
  journal_.resume(last.length);
  contexts_.remember(place_.context());
  place_.begin_epoch(last.epoch + 1);
  ahead_.restore(last.carry_round, last.carry_end);
  link_.restore(last.seen, last.channel);
  sparsifier_state_.restore(snapshot);
  statistics_.restarts += 1;
  write_journal(last.length);
  announce_text();
  if (!last.finished) state_ = edge_state::resuming;
  if (const status why = last.finished ? finish(false) : ask(question::resume, now); !why.ok()) return why;
  return reading;
}

//! Tells the host what the journal has: what both sides agreed on, and what was committed here alone.
SPECVERIFY_BODY void edge_protocol::announce_text() noexcept {
  const std::uint32_t prompt = place_.prompt_length(), agreed = place_.agreed();
  session_output out = of_text(session_action::committed, prompt, std::max(agreed, prompt));
  out.stop = place_.pending() == 0 ? place_.stop() : stop_reason::none;
  if (!out.tokens.empty()) outputs_.push(out);
  out = of_text(session_action::committed, agreed, place_.length());
  out.authority = token_authority::edge;
  out.stop = place_.stop();
  if (!out.tokens.empty()) outputs_.push(out);
}

SPECVERIFY_BODY status edge_protocol::recover(std::uint32_t prompt_length, session_time now) noexcept {
  if (state_ != edge_state::idle) return {errc::unexpected_message, part::session, 0};
  place_ = text_place(options_.session_id, 0, 0, prompt_length);
  peer_.name_by(now);
  statistics_.restarts += 1;
  state_ = edge_state::resuming;
  return ask(question::resume, now);
}

SPECVERIFY_BODY void edge_protocol::write_journal(std::uint32_t first_position) noexcept {
  edge_snapshot_head now{};
  now.session_id = options_.session_id;
  now.prefix_hash = place_.hash();
  now.seen = link_.seen();
  now.channel = link_.channel();
  now.draft_key = source_.key;
  now.epoch = place_.epoch();
  now.round = place_.round();
  now.prompt_length = place_.prompt_length();
  now.length = place_.length();
  now.base_length = place_.agreed();
  now.carry_round = ahead_.carry_round();
  now.carry_end = ahead_.carry_end();
  now.stop = place_.stop();
  now.finished = place_.is_over();
  record(first_position, sparsifier_state_.with(now));
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
