// SPDX-License-Identifier: Apache-2.0
//! The cloud's round: construction and restart, work for the engine, the verdict, the stream.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_ROUND_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_ROUND_HPP

#include <specverify/session/cloud.hpp>

#include <algorithm>

SPECVERIFY_NAMESPACE_BEGIN

inline result<cloud_session> cloud_session::make(const cloud_options& options) {
  if (const status why = check(options.largest); !why.ok()) return why;
  if (options.max_length < 2) return status{errc::invalid_argument, part::session, 0};
  if (options.text_chunk == 0) return status{errc::invalid_argument, part::session, 1};
  if (options.trial_cap == 0) return status{errc::invalid_argument, part::session, 2};
  draft_block_options space;
  space.max_length = options.largest.max_draft_length;
  space.max_entries = std::max<std::uint64_t>(1, max_draft_entries(options.largest, options.largest.max_draft_length));
  auto block = received_draft_block::make(space);
  if (!block.ok()) return block.error();
  return cloud_session(options, std::move(block).value());
}

inline cloud_session::cloud_session(const cloud_options& options, received_draft_block&& block)
    : options_(options), block_(std::move(block)) {
  const std::uint32_t drafts = options.largest.max_draft_length;
  claims_.resize(drafts);
  text_.resize(std::size_t{options.max_length} + options.largest.attachments.max_skipped + drafts + 1);
  stop_tokens_.assign(options.stop_tokens.begin(), options.stop_tokens.end());
  options_.stop_tokens = {};
  received_.resize(options.text_chunk);
  skipped_ids_.resize(options.largest.attachments.max_skipped);
  best_.resize(std::size_t{drafts} + 1);
  mismatches_.resize(position_words(drafts));
  near_ties_.resize(position_words(drafts));
  asked_.resize(position_words(drafts));
  scores_.resize(drafts);
  hidden_.resize(hidden_bytes(options.largest.attachments) * drafts);
  message_.resize(std::max(max_control_bytes(options.largest), text_bytes(options.largest, options.text_chunk)));
  record_.resize(journal_record_bytes<snapshot>(std::size_t{options.text_chunk} +
                                                options.largest.attachments.max_skipped + drafts + 1) +
                 2 * journal_record_bytes<snapshot>(0));
  decode_space_.resize(decode_draft_workspace_size(options.largest) + workspace_alignment);
  verify_space_.resize(verify_workspace_size(options.largest.vocab_size, options.transform, drafts) +
                       workspace_alignment);
}

inline status cloud_session::restore(std::span<const std::byte> journal, journal_reading* found) noexcept {
  if (state_ != cloud_state::blank || heard_.any) return {errc::unexpected_message, part::session, 0};
  snapshot last;
  journal_reading reading;
  if (const status why = read_journal(journal, std::span<token_id>(text_).first(options_.max_length), last, reading);
      !why.ok())
    return why;
  if (found != nullptr) *found = reading;
  if (reading.records == 0) return {errc::unknown_session, part::session, 0};
  if (last.length != reading.text_length ||
      last.prefix_hash != prefix_hash(std::span<const token_id>(text_).first(last.length)) ||
      last.format.vocab_size != options_.largest.vocab_size) {
    return {errc::journal_corrupt, part::session, 0};
  }
  now_ = last;
  journaled_ = now_.length;
  heard_.last = last.heard_number;
  heard_.any = last.heard_any;
  source_.key = derive_session_keys(options_.secret, now_.session_id).verdict;
  if (now_.length < now_.target_length) {
    state_ = cloud_state::filling;
    memory_.remember({now_.session_id, now_.epoch, now_.target_round, now_.length, now_.prefix_hash, 0});
  } else {
    settle();
  }
  if (now_.kept_round != 0)
    memory_.remember({now_.session_id, now_.epoch, now_.kept_round, now_.kept_base, now_.kept_hash, 0});
  statistics_.restarts += 1;
  return {};
}

//! Tokens that may still be generated.
inline std::uint32_t cloud_session::remaining() const noexcept {
  const std::uint32_t limit = now_.token_budget == 0 ? options_.max_length : now_.prompt_length + now_.token_budget;
  return limit > now_.length ? limit - now_.length : 0;
}

inline void cloud_session::append_text(std::uint32_t count) noexcept {
  now_.prefix_hash = prefix_hash(std::span<const token_id>(text_).subspan(now_.length, count), now_.prefix_hash);
  now_.length += count;
}

inline void cloud_session::roll_back(std::uint32_t length) noexcept {
  if (cached_ <= length) return;
  cached_ = length;
  statistics_.rollbacks += 1;
  session_output out;
  out.action = session_action::rollback;
  out.position = length;
  outputs_.push(out);
}

//! Feeds what the engine has not seen of the text, of the tokens that the edge committed alone and of the drafts behind
//! them; wants the rows from the last committed token on. Drafts beyond the budget decide nothing and are not fed: the
//! engine's context need hold no more than prompt and budget. Nor is the last draft where no bonus token follows it.
inline void cloud_session::want_rows(std::uint32_t drafted) noexcept {
  const std::uint32_t room = std::max(remaining() - skipped_, std::uint32_t{1});
  const std::uint32_t fed = now_.bonus || drafted == 0 ? std::min(drafted, room - 1) : std::min(drafted, room) - 1;
  const std::uint32_t end = now_.length + skipped_ + fed;
  roll_back(now_.length - 1);
  session_output out;
  out.action = session_action::evaluate;
  out.position = cached_;
  out.tokens = std::span<const token_id>(text_).subspan(cached_, end - cached_);
  out.rows = fed + 1;
  statistics_.fed_tokens += out.tokens.size();
  outputs_.push(out);
  cached_ = end;
  drafted_ = drafted;
  rows_wanted_ = true;
}

inline verify_request cloud_session::round_request() const noexcept {
  verify_request request;
  request.base_position = draft_position();
  request.round = now_.round;
  request.stop_tokens = stop_tokens_;
  request.remaining_budget = remaining() - skipped_;
  request.bonus = now_.bonus;
  return request;
}

template <class Policy, class Rows>
verdict cloud_session::decide(Policy policy, const Rows& rows) noexcept {
  const verify_request request = round_request();
  workspace scratch{std::span<std::byte>(verify_space_)};
  const token_rule sampled{options_.trial_cap};
  const greedy_rule greedy{};
  if (now_.mode == session_mode::stream || !carries_laws(now_.format.format)) {
    const std::span<const claimed_draft> claims = std::span<const claimed_draft>(claims_).first(drafted_);
    return now_.rule == wire_rule::greedy ? greedy.verify(policy, claims, rows, source_, request, scratch)
                                          : sampled.verify(policy, claims, rows, source_, request, scratch);
  }
  return now_.rule == wire_rule::greedy ? greedy.verify(policy, block_.drafts(), rows, source_, request, scratch)
                                        : sampled.verify(policy, block_.drafts(), rows, source_, request, scratch);
}

template <execution_policy Policy, row_provider Rows>
status cloud_session::supply_rows(Policy policy, const Rows& rows, session_time) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (!rows_wanted_) return {errc::unexpected_message, part::session, 0};
  record_used_ = 0;
  rows_wanted_ = false;
  if (state_ == cloud_state::finished) return {};  // the edge said stop while the engine worked
  if (now_.rule == wire_rule::semantic && now_.mode == session_mode::draft) {
    if (const status why = compare(policy, rows); !why.ok()) return fail(why);
    return judge_on();
  }
  return commit(decide(policy, rows));
}

//! A verdict becomes text: journaled, told to the host, sent.
inline status cloud_session::commit(const verdict& decided) noexcept {
  if (!decided.state.ok()) return fail(decided.state);
  if (decided.outcome != verdict_outcome::decided || decided.commit_length == 0)
    return fail({errc::unsupported, part::session, 0});
  const bool streams = now_.mode == session_mode::stream;
  const std::uint32_t base = now_.length;
  const std::uint32_t drafts = draft_position();
  const wire_context asked = context();
  memory_.remember(asked);
  if (decided.next_token != no_token) text_[drafts + decided.accepted] = decided.next_token;
  now_.kept_hash = now_.prefix_hash;
  now_.kept_base = base;
  now_.kept_round = now_.round;
  now_.kept_drafted = drafted_;
  now_.kept_skipped = skipped_;
  now_.kept = {decided.accepted, decided.next_token, static_cast<std::uint8_t>(decided.source),
               static_cast<std::uint8_t>(decided.stop)};
  append_text(skipped_ + decided.commit_length);
  now_.round += 1;
  now_.stop = decided.stop;
  const bool compared = now_.rule == wire_rule::semantic && !streams;
  last_round_ = {now_.kept_round,
                 drafted_,
                 decided.accepted,
                 compared ? position_count(mismatches_) : 0,
                 decided.counters.mismatches,
                 decided.counters.accepted_score};
  count_drafts(statistics_, drafted_, decided.counters.evaluated, decided.accepted);
  statistics_.skipped += skipped_;
  statistics_.emitted += skipped_ + decided.commit_length;
  statistics_.mismatches += decided.counters.mismatches;
  statistics_.accepted_mismatches += decided.counters.accepted_mismatches;
  statistics_.accepted_scores += score_units(decided.counters.accepted_score);
  statistics_.largest_score = std::max(statistics_.largest_score, score_units(decided.counters.largest_accepted_score));
  statistics_.near_ties += decided.counters.near_ties;
  statistics_.residual_fallbacks += decided.counters.residual_fallbacks;
  statistics_.residual_tokens +=
      decided.source == token_source::residual || decided.source == token_source::residual_fallback ? 1u : 0u;
  statistics_.bonus_tokens += decided.source == token_source::bonus ? 1u : 0u;
  state_ = now_.stop != stop_reason::none ? cloud_state::finished
           : streams                      ? cloud_state::streaming
                                          : cloud_state::ready;

  session_output alone;
  alone.action = session_action::committed;
  alone.authority = token_authority::edge;
  alone.position = base;
  alone.tokens = text().subspan(base, skipped_);
  session_output out;
  out.action = session_action::committed;
  out.position = drafts;
  out.tokens = text().subspan(drafts);
  out.accepted = decided.accepted;
  out.source = decided.source;
  out.stop = decided.stop;
  const std::uint32_t stands = drafts + decided.accepted;
  skipped_ = 0;
  if (owed_ != message_kind::stop) {  // the edge restarted meanwhile: it will ask for this verdict in its new epoch
    const message_kind kind = owed_;
    owed_ = message_kind::stop;
    write_journal(base);
    if (!alone.tokens.empty()) outputs_.push(alone);
    outputs_.push(out);
    roll_back(stands);
    return greet(kind);
  }
  std::size_t written = 0;
  const status encoded = streams ? encode_text(asked, now_.format, {base, text().subspan(base)}, message_, written)
                                 : encode_feedback(asked, now_.format, drafted_, now_.kept, message_, written);
  if (!encoded.ok()) return fail(encoded);
  now_.next_number = static_cast<std::uint8_t>((now_.next_number + 1) & 15);
  write_journal(base);  // before the host hears of the verdict and before it is sent
  if (!alone.tokens.empty()) outputs_.push(alone);
  outputs_.push(out);
  send(written);
  roll_back(stands);
  if (state_ == cloud_state::streaming) want_rows(0);
  return {};
}

//! The kept verdict once more, in the epoch of the question.
inline status cloud_session::send_feedback() noexcept {
  const wire_context asked{now_.session_id, now_.epoch,     now_.kept_round,
                           now_.kept_base,  now_.kept_hash, now_.next_number};
  std::size_t written = 0;
  if (const status why = encode_feedback(asked, now_.format, now_.kept_drafted, now_.kept, message_, written);
      !why.ok())
    return fail(why);
  now_.next_number = static_cast<std::uint8_t>((now_.next_number + 1) & 15);
  write_journal(now_.length);
  send(written);
  return {};
}

SPECVERIFY_NAMESPACE_END

#endif
