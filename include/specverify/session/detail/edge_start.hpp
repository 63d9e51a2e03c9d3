// SPDX-License-Identifier: Apache-2.0
//! Makes an edge and begins its session: with a new prompt (`start`), from a journal (`restore`), or after the journal
//! was lost (`recover`).
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_START_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_START_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/detail/session_terms.hpp>
#include <specverify/session/edge_session.hpp>

#include <algorithm>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

SPECVERIFY_BODY status edge_maker::check(const edge_options& options, const wire_format& format) noexcept {
  if (options.vocab_size == 0) return {errc::vocab_size_missing, part::session, options.at_vocab_size};
  if (options.vocab_size > max_vocab_size) return {errc::vocabulary_too_large, part::session, options.at_vocab_size};
  if (options.format == law_format::token_and_count) return {errc::unsupported, part::session, options.at_format};
  if (options.draw_from_row && options.format != law_format::top_k_tail)
    return {errc::unsupported, part::session, options.at_draw_from_row};
  if (options.prior != nullptr && options.format != law_format::token_only)
    return {errc::invalid_argument, part::session, options.at_prior};
  if (options.prior != nullptr && options.prior->vocab_size() != options.vocab_size)
    return {errc::vocabulary_mismatch, part::session, options.at_prior};
  const bool can_code = options.prior != nullptr && options.noise != noise_kind::none;
  if (options.ids > id_code::noise || (options.ids == id_code::noise && !can_code))
    return {errc::invalid_argument, part::session, options.at_ids};
  if (const status why = specverify::check(format); !why.ok()) return why;
  if (options.secret.is_missing()) return {errc::secret_missing, part::session, options.at_secret};
  const term_checker terms = checked(terms_of(options, format));
  if (const status why = terms.why(); !why.ok())
    return {why.code == errc::field_out_of_range ? errc::invalid_argument : why.code, part::session,
            where_of(terms.found())};
  if (options.max_text_length < 2) return {errc::invalid_argument, part::session, options.at_max_text_length};
  if (options.retry_limit == 0) return {errc::invalid_argument, part::session, options.at_retry_limit};
  const bool can_race = options.rule == wire_rule::greedy && options.format == law_format::token_only;
  if (options.noise > last_noise_kind || (options.noise != noise_kind::none && !can_race))
    return {errc::invalid_argument, part::session, options.at_noise};
  return check_bits_of(options.check_bits, options.at_check_bits);
}

SPECVERIFY_BODY result<edge_drafts> edge_drafts::make(const wire_format& format) {
  draft_block_options space;
  space.max_draft_length = format.max_draft_length;
  space.max_entries = carries_claims(format.format)
                          ? 1
                          : std::max<std::uint64_t>(1, max_draft_entries(format, format.max_draft_length));
  auto with_laws = basic_draft_block<claim>::make(space);
  if (!with_laws) return with_laws.error();
  return edge_drafts(*std::move(with_laws), format);
}

[[nodiscard]] SPECVERIFY_BODY endpoint_sizes edge_sizes(const edge_options& options,
                                                        const wire_format& format) noexcept {
  const std::uint32_t drafts = format.max_draft_length;
  endpoint_sizes sizes;
  sizes.text = std::size_t{options.max_text_length} + drafts + 1;
  sizes.received = options.text_chunk;
  sizes.message = longest_message(format, options.text_chunk);
  return sizes;
}

//! Returns the maximum bytes of the journal records that one input writes.
[[nodiscard]] SPECVERIFY_BODY std::size_t edge_records(const edge_options& options, const wire_format& format,
                                                       std::size_t snapshot_bytes,
                                                       std::size_t kept_draft_bytes) noexcept {
  return journal_bytes(options.max_text_length, snapshot_bytes) + journal_bytes(0, 0, kept_draft_bytes) +
         2 * journal_bytes(format.max_draft_length + 1, snapshot_bytes);
}

}  // namespace detail

SPECVERIFY_BODY edge_session::edge_session(const edge_options& options, const detail::parts_facts& facts,
                                           detail::held_parts&& parts, detail::edge_drafts&& drafts)
    : endpoint(detail::edge_sizes(options, facts.format), options.stop_tokens),
      options_(options),
      drafter_(options, facts, std::move(parts)),
      states_(facts.state_bytes, facts.format.max_draft_length, facts.needs_probabilities),
      drafts_(std::move(drafts)),
      hidden_(facts.format.attachments, facts.format.max_draft_length),
      kept_(options, facts.format, facts.state_bytes, facts.needs_probabilities, message_.size()),
      shown_ahead_(options.on_link_loss == link_loss::continue_local ? options.max_ahead : 0) {
  drafter_.parts->initial(states_.committed());
  drafter_.facts.format.ids = id_code::plain;  // until a handshake agrees on another code
  options_.stop_tokens = {};
  journal_ =
      detail::journal_buffer(detail::edge_records(options, facts.format, states_.snapshot_bytes(), kept_.room()));
  place_ = detail::text_place{options_.session_id};
  name_.session_id = options_.session_id;
  source_.key = derive_draft_key(options_.secret, options_.session_id);
}

SPECVERIFY_BODY result<edge_session> detail::edge_maker::make(const edge_options& options, const parts_facts& facts,
                                                              held_parts&& parts) {
  auto drafts = edge_drafts::make(facts.format);
  if (!drafts) return drafts.error();
  return edge_session(options, facts, std::move(parts), *std::move(drafts));
}

//! Checks the length of a prompt: at least one token, and fewer than max_text_length. Errors: prompt_empty,
//! prompt_too_long.
SPECVERIFY_BODY status edge_session::check_prompt(std::size_t length) const noexcept {
  if (length == 0) return {errc::prompt_empty, part::session, options_.at_prompt};
  if (length >= options_.max_text_length)
    return {errc::prompt_too_long, part::session, static_cast<std::uint32_t>(length)};
  return {};
}

SPECVERIFY_BODY status edge_session::start(std::span<const token_id> prompt, session_time now) noexcept {
  if (state_ != edge_state::idle) return {errc::unexpected_message, part::session, 0};
  begin_input(now);
  if (const status why = check_prompt(prompt.size()); !why.ok()) return why;
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || static_cast<std::uint32_t>(prompt[i]) >= options_.vocab_size)
      return {errc::token_out_of_range, part::session, static_cast<std::uint32_t>(i)};
    text_[i] = prompt[i];
  }
  const auto length = static_cast<std::uint32_t>(prompt.size());
  place_ = detail::text_place{options_.session_id, 1, length};
  agree(length);
  link_.seen.position = length;
  write_journal(0);
  state_.enter<edge_event::start, edge_state::idle>();
  return connect();
}

//! Checks whether the terms in the journal agree with the options. Errors: options_disagree.
SPECVERIFY_BODY status edge_session::check_terms(const edge_snapshot_head& last) const noexcept {
  const auto other = [](std::uint32_t where) { return status{errc::options_disagree, part::session, where}; };
  if (last.session_id != options_.session_id) return other(options_.at_session_id);
  if (!(last.draft_key == source_.key)) return other(options_.at_secret);
  const session_terms now = terms(last.prompt_length);
  if (last.terms.format.attachments.drafted_probability != now.format.attachments.drafted_probability)
    return other(options_.at_draw_from_row);
  if (last.terms.noise != now.noise) return other(options_.at_noise);
  const detail::term differs = detail::difference(last.terms, now);
  return differs == detail::term::none ? status{} : other(detail::where_of(differs));
}

//! Checks whether this session could have written the snapshot. Errors: journal_corrupt, options_disagree,
//! prompt_empty, prompt_too_long.
SPECVERIFY_BODY status edge_session::check_snapshot(const edge_snapshot_head& last,
                                                    std::span<const token_id> text) const noexcept {
  if (last.length != text.size() || last.prompt_length > last.base_length || last.base_length > last.length)
    return detail::corrupt_snapshot();
  if (const status why = check_terms(last); !why.ok()) return why;
  if (const status why = check_prompt(last.prompt_length); !why.ok()) return why;
  if (last.length > text_limit(last.prompt_length) || !detail::all_tokens_below(options_.vocab_size, text))
    return detail::corrupt_snapshot();
  if (last.prefix_hash != prefix_hash(text.first(last.base_length))) return detail::corrupt_snapshot();
  if (last.length - last.base_length > format().attachments.max_skipped) return detail::corrupt_snapshot();
  if (!detail::is_round(last.round) || last.carry_round > last.round) return detail::corrupt_snapshot();
  if ((last.carry_round == 0) != (last.carry_end == 0)) return detail::corrupt_snapshot();
  if (last.finished && last.stop == stop_reason::none) return detail::corrupt_snapshot();
  if (last.needs_no_more && last.stop != stop_reason::cancelled) return detail::corrupt_snapshot();
  if (last.seen.last_accepted > last.seen.last_drafted || last.seen.accepted > last.seen.drafted)
    return detail::corrupt_snapshot();
  return {};
}

SPECVERIFY_BODY result<journal_reading> edge_session::restore(std::span<const std::byte> journal,
                                                              session_time now) noexcept {
  if (state_ != edge_state::idle) return status{errc::unexpected_message, part::session, 0};
  begin_input(now);
  const std::span<token_id> space = std::span<token_id>(text_).first(options_.max_text_length);
  const auto read = detail::journal_to_restore(journal, states_.snapshot_bytes(), options_.at_sparsifier, space);
  if (!read) return read.error();
  const journal_reading& reading = read->found;
  edge_snapshot_head last;
  if (!detail::load_snapshot(last, read->last->data())) return detail::corrupt_snapshot();
  if (const status why = check_snapshot(last, read->text); !why.ok()) return why;
  if (!kept_.restore(read->draft, last.round, last.length)) return detail::corrupt_snapshot();
  if (last.stop != stop_reason::none) kept_.clear();  // the draft was open when the text ended, and was dropped then
  place_ = detail::text_place{options_.session_id, last.round, last.prompt_length};
  agree(last.base_length);
  place_.stand_at(last.length, last.base_length, last.prefix_hash);
  place_.stop = last.stop;
  if (last.needs_no_more) cause_ = stop_cause::finished;
  journal_.resume(last.length, reading.valid_bytes);
  ahead_.carry_round = last.carry_round;
  ahead_.carry_end = last.carry_end;
  link_.restore(last.seen, last.channel);
  states_.restore(*read->last);
  statistics_.restarts += 1;
  if (last.finished) {
    state_.enter<edge_event::restore_finished, edge_state::idle>();
  } else {
    state_.enter<edge_event::start, edge_state::idle>();
  }
  announce_text();
  restore_draft();
  if (last.finished) {
    emit_end();
  } else if (const status why = connect(); !why.ok()) {
    return why;
  }
  return reading;
}

//! Restores the journaled draft of the open round. The edge sends this draft again, even if the drafter would now draw
//! a different draft.
SPECVERIFY_BODY void edge_session::restore_draft() noexcept {
  if (!kept_.any()) return;
  const detail::kept_draft& kept = kept_.head;
  const detail::draft_record::parts parts = kept_.split();
  const std::uint32_t from = place_.length;
  for (std::uint32_t i = 0; i < kept.drafts; ++i)
    text_[from + i] = static_cast<token_id>(numeric::load_le(parts.tokens.data() + 4 * std::size_t{i}, 4));
  drafts_.restore(std::span<const token_id>(text_).subspan(from, kept.drafts), kept.resolution);
  hidden_.restore(parts.hidden);
  open_round_ = {};
  open_round_.round = kept.round;
  open_round_.clamped = kept.clamped;
  open_round_.support_sum = kept.support_sum;
  static_cast<void>(drafter_.plan(link_.seen));  // tokens drafted before the verdict must also follow this plan
  drafter_.set_resolution(kept.resolution);
  states_.load(parts, kept.beyond != 0);
  emit_text(session_action::tentative, from, from + kept.drafts);
}

//! Reports the journal's text to the host: first the tokens that both sides have, then the tokens that only the edge
//! has.
SPECVERIFY_BODY void edge_session::announce_text() noexcept {
  const std::uint32_t prompt = place_.prompt_length, agreed = place_.agreed;
  emit_text(session_action::committed, prompt, std::max(agreed, prompt),
            {.stop = place_.pending() == 0 ? place_.stop : stop_reason::none});
  emit_text(session_action::committed, agreed, place_.length,
            {.stop = place_.stop, .authority = token_authority::edge});
}

SPECVERIFY_BODY status edge_session::recover(std::uint32_t prompt_length, session_time now) noexcept {
  if (state_ != edge_state::idle) return {errc::unexpected_message, part::session, 0};
  begin_input(now);
  if (const status why = check_prompt(prompt_length); !why.ok()) return why;
  place_ = detail::text_place{options_.session_id, 1, prompt_length};
  statistics_.restarts += 1;
  state_.enter<edge_event::start, edge_state::idle>();
  return connect();
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
