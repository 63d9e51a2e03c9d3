// SPDX-License-Identifier: Apache-2.0
//! The cloud's round: take a draft, work for the engine, the verdict, the stream; its journal; the semantic rule.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_ROUND_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_ROUND_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
SPECVERIFY_BODY status cloud_session::on_draft(const detail::incoming& message) noexcept {
  const wire_context open = context();
  const bool takes = state_ == cloud_state::ready || round_is_open() || state_ == cloud_state::finished;
  if (!detail::belongs_to(open, message) || !takes) return on_other_round(message);
  if (state_ == cloud_state::ready) {
    heard_.note_new(message.flags);  // whatever number a copy of a greeting had: nobody has read a draft of this round
  } else if (const errc why = heard_.take(message.flags); why != errc::ok) {
    return drop(why);
  }
  if (state_ == cloud_state::finished) return knows_end_alone() ? tell_end() : closed(open);
  if (state_ == cloud_state::requesting) {  // the request was lost
    statistics_.repeated_answers += 1;
    return send_request();
  }
  if (round_is_open()) return {};  // asked again while the host works: one answer will do
  state_.take(message_kind::draft);
  const auto read = drafts_.read(open, terms_.format, message.bytes);
  if (!read) return fail(read.error());
  const std::uint32_t drafts = read->drafts;
  const draft_attachments& attachments = read->attachments;
  const auto skipped = static_cast<std::uint32_t>(attachments.skipped.size());
  drafts_.open(drafts, skipped);
  if (skipped >= remaining() && skipped > 0)
    return fail({errc::base_length_mismatch, part::session, place_.length + skipped});
  std::copy(attachments.skipped.begin(), attachments.skipped.end(), text_.begin() + place_.length);
  for (std::uint32_t i = 0; i < drafts; ++i)
    text_[draft_position() + i] = drafts_.token(i, detail::laws_travel(terms_));
  scoring_.keep_hidden(attachments.hidden);
  channel_ = attachments.channel;
  ask_for_rows();
  state_.enter<cloud_event::draft, cloud_state::ready>();
  return {};
}

//! Whether a draft is the one that the kept verdict was given for: an edge that drafted other tokens after a restart
//! must not commit them.
SPECVERIFY_BODY result<bool> cloud_session::repeats(const detail::incoming& message) noexcept {
  if (round_is_open()) return true;  // another round's drafts are in use, and the edge has gone on
  const auto read = drafts_.read(kept_question(), terms_.format, message.bytes);
  if (!read) return read.error();
  const std::uint32_t drafts = read->drafts;
  const draft_attachments& attachments = read->attachments;
  const std::uint32_t skipped = kept_.skipped;
  bool same = drafts == kept_.drafted && attachments.skipped.size() == skipped;
  const token_id* const then = text_.data() + kept_.base;
  for (std::uint32_t i = 0; same && i < skipped; ++i) same = then[i] == attachments.skipped[i];
  for (std::uint32_t i = 0; same && i < kept_.verdict.accepted; ++i)
    same = then[skipped + i] == drafts_.token(i, detail::laws_travel(terms_));
  return same;
}

//! Feeds what the engine has not seen of the text, of the tokens that the edge committed alone and of the drafts behind
//! them; wants the rows from the last committed token on. Drafts beyond the budget decide nothing and are not fed: the
//! engine's context need hold no more than prompt and budget. Nor is the last draft where no bonus token follows it.
//! An engine that is still at work on rows of no use comes first: rows have no number.
SPECVERIFY_BODY void cloud_session::ask_for_rows() noexcept {
  if (rows_wanted_) return;
  const std::uint32_t drafted = drafts_.size;
  const std::uint32_t room = std::max(remaining() - drafts_.skipped, std::uint32_t{1});
  const std::uint32_t fed = terms_.bonus || drafted == 0 ? std::min(drafted, room - 1) : std::min(drafted, room) - 1;
  feed(place_.length - 1, draft_position() + fed, fed + 1);
  rows_wanted_ = true;
}

SPECVERIFY_BODY verify_request cloud_session::round_request() const noexcept {
  verify_request request;
  request.stop_tokens = stop_tokens_;
  request.remaining_budget = remaining() - drafts_.skipped;
  request.bonus = terms_.bonus;
  return request;
}

//! A verdict becomes text: journaled, told to the host, sent.
SPECVERIFY_BODY status cloud_session::commit(const result<verdict>& made) noexcept {
  if (!made) return fail(made.error());
  const verdict& decided = *made;
  if (decided.outcome != verdict_outcome::decided || decided.commit_length == 0)
    return fail({errc::unsupported, part::session, 0});
  const std::uint32_t drafts = draft_position(), skipped = drafts_.skipped;
  const wire_context asked = context();
  contexts_.remember(asked);
  if (decided.next_token != no_token) text_[drafts + decided.accepted] = decided.next_token;
  kept_ = {{decided.accepted, decided.next_token, static_cast<std::uint8_t>(decided.source),
            static_cast<std::uint8_t>(decided.stop)},
           place_.hash,
           place_.round,
           place_.length,
           drafts_.size,
           skipped};
  agree(skipped + decided.commit_length);
  place_.round = detail::next_round(place_.round);
  place_.stop = decided.stop;
  count_round(decided);
  if (place_.is_over()) {
    state_.enter<cloud_event::complete>();
  } else if (detail::streams(terms_)) {
    state_.enter<cloud_event::stream>();
  } else {
    state_.enter<cloud_event::decide>();
  }
  drafts_.skipped = 0;
  return answer(asked, drafts, decided);
}

//! Tells what was committed: the edge its verdict, the host the tokens of the edge and, from `drafts` on, those behind
//! them.
SPECVERIFY_BODY status cloud_session::answer(const wire_context& asked, std::uint32_t drafts,
                                             const verdict& decided) noexcept {
  const std::uint32_t base = kept_.base;
  // The edge restarted meanwhile: it will ask for this verdict in its new epoch.
  const message_kind owed = std::exchange(owed_, message_kind::stop);
  std::size_t written = 0;
  if (owed == message_kind::stop) {
    // the last token of a stream that only this side ends comes with the reason
    const auto bytes = detail::streams(terms_) && !knows_end_alone()
                           ? encode_text(asked, terms_.format, {base, text().subspan(base)}, message_)
                           : encode_feedback(asked, terms_.format, kept_.drafted, kept_.verdict, message_);
    if (!bytes) return fail(bytes.error());
    written = bytes->size();
    count_transmission();
  }
  write_journal(base);  // before the host hears of the verdict and before it is sent
  emit_text(session_action::committed, base, drafts, {.authority = token_authority::edge});
  emit_text(session_action::committed, drafts, place_.length,
            {.source = decided.source, .stop = decided.stop, .accepted = decided.accepted});
  if (owed == message_kind::stop) send(written);
  roll_back(drafts + decided.accepted);
  if (owed != message_kind::stop) return greet(owed);
  stream_on();
  return {};
}

SPECVERIFY_BODY void cloud_session::count_round(const verdict& decided) noexcept {
  const verdict_counters& counters = decided.counters;
  const std::uint32_t skipped = drafts_.skipped;
  last_round_ = {kept_.round,         drafts_.size,
                 decided.accepted,    detail::compares(terms_) ? position_count(scoring_.mismatches) : 0,
                 counters.mismatches, counters.accepted_score};
  count_drafts(statistics_, drafts_.size, counters.evaluated, decided.accepted);
  statistics_.skipped += skipped;
  statistics_.emitted += skipped + decided.commit_length;
  statistics_.mismatches += counters.mismatches;
  statistics_.accepted_mismatches += counters.accepted_mismatches;
  statistics_.accepted_scores += score_units(counters.accepted_score);
  statistics_.largest_score = std::max(statistics_.largest_score, score_units(counters.largest_accepted_score));
  statistics_.near_ties += counters.near_ties;
  statistics_.residual_fallbacks += counters.residual_fallbacks;
  statistics_.residual_tokens +=
      decided.source == token_source::residual || decided.source == token_source::residual_fallback ? 1u : 0u;
  statistics_.bonus_tokens += decided.source == token_source::bonus ? 1u : 0u;
}

SPECVERIFY_BODY void cloud_session::stream_on() noexcept {
  if (state_ != cloud_state::streaming || rows_wanted_) return;
  drafts_.open(0, 0);
  ask_for_rows();
}

//! Rows of no use have come: the engine is free for what waited.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::drop_rows() noexcept {
  rows_stale_ = false;
  if (state_ == cloud_state::evaluating) ask_for_rows();
  stream_on();
  return {};
}

//! The edge sends the drafts of the open round again.
SPECVERIFY_BODY void cloud_session::abandon() noexcept {
  state_.enter<cloud_event::abandon>();
  drafts_.open(0, 0);
}

SPECVERIFY_BODY void cloud_session::write_journal(std::uint32_t first_position) noexcept {
  if (state_ == cloud_state::blank) return;
  cloud_snapshot now;
  now.session_id = place_.session_id;
  now.prefix_hash = place_.hash;
  now.nonce = nonce_;
  now.salt = options_.salt;
  now.terms = terms_;
  now.kept = kept_;
  now.target = target_;
  now.epoch = place_.epoch;
  now.round = place_.round;
  now.prompt_length = place_.prompt_length;
  now.length = place_.length;
  now.stop = place_.stop;
  now.next_number = next_number_;
  now.heard_number = heard_.last;
  now.heard_any = heard_.any;
  unrecorded_ = 0;
  std::array<std::byte, detail::snapshot_bytes<cloud_snapshot>()> snapshot;
  detail::store_snapshot(now, snapshot.data());
  record(first_position, snapshot);
}

// The semantic rule: ask the edge for hidden states, ask the host for scores, decide.

//! Decides, or says what is missing: scores of the host, for which the edge's hidden states may have to come first.
SPECVERIFY_BODY status cloud_session::decide_or_ask() noexcept {
  const wire_format& format = terms_.format;
  const verify_request request = round_request();
  const result<verdict> decided = with_drafts([&](const auto drafts) noexcept {
    return scoring_.decide(drafts, terms_.threshold, request, format.vocab_size);
  });
  if (!decided || decided->outcome == verdict_outcome::decided) return commit(decided);
  if (owed_ != message_kind::stop) {  // a life of the edge said hello or resume meanwhile: it drafts the round again
    abandon();
    return greet(std::exchange(owed_, message_kind::stop));
  }
  const std::size_t each = hidden_bytes(format.attachments);
  const bool on_request = each > 0 && !format.attachments.hidden_with_draft;
  scoring_.ask(decided->accepted, drafts_.size, on_request && options_.lazy, on_request ? 0 : each);
  if (!on_request) {
    want_scores();
    return {};
  }
  state_.enter<cloud_event::request>();
  return send_request();
}

SPECVERIFY_BODY status cloud_session::send_request() noexcept {
  const std::uint32_t drafted = drafts_.size;
  const std::span<const std::uint64_t> words =
      std::span<const std::uint64_t>(scoring_.asked).first((std::size_t{drafted} + 63) / 64);
  return post(encode_request(context(), terms_.format, drafted, {1, words}, message_));
}

SPECVERIFY_BODY void cloud_session::want_scores() noexcept {
  outputs_.push({.action = session_action::score,
                 .position = draft_position(),
                 .rows = position_count(scoring_.asked),
                 .bytes = scoring_.asked_hidden(hidden_bytes(terms_.format.attachments)),
                 .positions = scoring_.asked});
  state_.enter<cloud_event::score>();
}

SPECVERIFY_BODY status cloud_session::supply_scores(std::span<const double> scores, session_time) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (state_ == cloud_state::finished && stopped_) return {};  // the edge said stop while the host scored
  if (state_ != cloud_state::scoring) return {errc::unexpected_message, part::session, 0};
  if (scores.size() != position_count(scoring_.asked))
    return {errc::size_mismatch, part::session, static_cast<std::uint32_t>(scores.size())};
  journal_.clear();
  scoring_.take(scores);
  return decide_or_ask();
}

SPECVERIFY_BODY status cloud_session::on_supply(const detail::incoming& message) noexcept {
  const wire_context open = context();
  if (!detail::belongs_to(open, message) || (state_ != cloud_state::ready && !round_is_open()))
    return on_other_round(message);
  if (state_ != cloud_state::requesting) {
    if (const errc why = take_again(message.flags); why != errc::ok) return drop(why);
    if (state_ != cloud_state::ready) return {};  // asked again while the host works: one answer will do
    statistics_.repeated_answers += 1;  // the draft died with an earlier life of this cloud: once more from there
    return greet(message_kind::resume);
  }
  std::array<std::uint64_t, max_wire_draft_length / 64> words;
  const result<supply_message> read = decode_supply(open, terms_.format, drafts_.size, message.bytes, words);
  if (!read) return fail(read.error());
  const supply_message& supplied = *read;
  if (supplied.what != 1 || !std::equal(supplied.positions.begin(), supplied.positions.end(), scoring_.asked.begin())) {
    if (const errc why = heard_.take(message.flags); why != errc::ok) return drop(why);
    statistics_.repeated_answers += 1;  // what an earlier request asked for
    return send_request();
  }
  state_.take(message_kind::supply);
  heard_.note_new(message.flags);
  scoring_.keep_hidden(supplied.payload);
  want_scores();
  return {};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
