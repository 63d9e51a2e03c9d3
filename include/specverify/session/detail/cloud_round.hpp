// SPDX-License-Identifier: Apache-2.0
//! The cloud's round: take a draft, work for the engine, the verdict, the stream.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_ROUND_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_ROUND_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

SPECVERIFY_BODY result<received_drafts::contents> received_drafts::read(const wire_context& context,
                                                                        const wire_format& format,
                                                                        std::span<const std::byte> message) noexcept {
  if (!carries_laws(format.format)) {
    const result<claims_message> read = decode_claims(context, format, message, alone_, skipped_);
    if (!read) return read.error();
    return contents{static_cast<std::uint32_t>(read->claims.size()), read->attachments};
  }
  workspace scratch{std::span<std::byte>(decode_space_)};
  const result<draft_attachments> attachments = decode_draft(context, format, message, with_laws_, skipped_, scratch);
  if (!attachments) return attachments.error();
  std::span<const std::byte> probabilities = attachments->probabilities;
  for (std::uint32_t i = 0; !probabilities.empty(); ++i) {
    const auto units = decode_drafted_probability(probabilities.first(drafted_probability_bytes));
    if (!units) return units.error();
    of_rows_[i] = {with_laws_[i].token(), with_laws_[i].source_law(), *units, drafted_probability_unit};
    probabilities = probabilities.subspan(drafted_probability_bytes);
  }
  return contents{with_laws_.size(), *attachments};
}

}  // namespace detail

SPECVERIFY_BODY status cloud_session::on_draft(std::span<const std::byte> message,
                                               const message_header& header) noexcept {
  const wire_context open = context();
  const bool takes = state_ == cloud_state::ready || round_is_open() || state_ == cloud_state::finished;
  if (!detail::belongs_to(open, message, header) || !takes) return on_other_round(message, header);
  if (state_ == cloud_state::ready) {
    heard_.note_new(header.flags);  // whatever number a copy of a greeting had: nobody has read a draft of this round
  } else if (const errc why = heard_.take(header.flags); why != errc::ok) {
    return drop(why);
  }
  if (state_ == cloud_state::finished) return knows_end_alone() ? tell_end() : closed(open);
  if (state_ == cloud_state::requesting) {  // the request was lost
    statistics_.repeated_answers += 1;
    return send_request();
  }
  if (round_is_open()) return {};  // asked again while the host works: one answer will do
  state_.take(message_kind::draft);
  const auto read = drafts_.read(open, terms_.format, message);
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
  want_rows();
  state_.enter<cloud_event::draft, cloud_state::ready>();
  return {};
}

//! Whether a draft is the one that the kept verdict was given for: an edge that drafted other tokens after a restart
//! must not commit them.
SPECVERIFY_BODY result<bool> cloud_session::repeats(std::span<const std::byte> message) noexcept {
  if (round_is_open()) return true;  // another round's drafts are in use, and the edge has gone on
  const auto read = drafts_.read(kept_.context(place_), terms_.format, message);
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
SPECVERIFY_BODY void cloud_session::want_rows() noexcept {
  if (rows_wanted_) return;
  const std::uint32_t drafted = drafts_.size();
  const std::uint32_t room = std::max(remaining() - drafts_.skipped(), std::uint32_t{1});
  const std::uint32_t fed = terms_.bonus || drafted == 0 ? std::min(drafted, room - 1) : std::min(drafted, room) - 1;
  feed(place_.length - 1, draft_position() + fed, fed + 1);
  rows_wanted_ = true;
}

SPECVERIFY_BODY verify_request cloud_session::round_request() const noexcept {
  verify_request request;
  request.stop_tokens = stop_tokens_;
  request.remaining_budget = remaining() - drafts_.skipped();
  request.bonus = terms_.bonus;
  return request;
}

SPECVERIFY_BODY uniforms<> cloud_session::round_uniforms() const noexcept {
  return {source_, draft_position(), place_.round};
}

//! A verdict becomes text: journaled, told to the host, sent.
SPECVERIFY_BODY status cloud_session::commit(const result<verdict>& made) noexcept {
  if (!made) return fail(made.error());
  const verdict& decided = *made;
  if (decided.outcome != verdict_outcome::decided || decided.commit_length == 0)
    return fail({errc::unsupported, part::session, 0});
  const std::uint32_t base = place_.length, drafts = draft_position(), skipped = drafts_.skipped();
  const wire_context asked = context();
  contexts_.remember(asked);
  if (decided.next_token != no_token) text_[drafts + decided.accepted] = decided.next_token;
  kept_ = {{decided.accepted, decided.next_token, static_cast<std::uint8_t>(decided.source),
            static_cast<std::uint8_t>(decided.stop)},
           place_.hash,
           place_.round,
           place_.length,
           drafts_.size(),
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
  session_output alone = of_text(session_action::committed, base, drafts);
  alone.authority = token_authority::edge;
  session_output out = of_text(session_action::committed, drafts, place_.length);
  out.accepted = decided.accepted;
  out.source = decided.source;
  out.stop = decided.stop;
  drafts_.settle();
  return answer(asked, alone, out);
}

//! Tells what was committed: the edge its verdict, the host the tokens of the edge (`alone`) and those behind them.
SPECVERIFY_BODY status cloud_session::answer(const wire_context& asked, const session_output& alone,
                                             const session_output& out) noexcept {
  const std::uint32_t base = alone.position, stands = out.position + out.accepted;
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
  if (!alone.tokens.empty()) outputs_.push(alone);
  outputs_.push(out);
  if (owed == message_kind::stop) send(written);
  roll_back(stands);
  if (owed != message_kind::stop) return greet(owed);
  stream_on();
  return {};
}

SPECVERIFY_BODY void cloud_session::count_round(const verdict& decided) noexcept {
  const verdict_counters& counters = decided.counters;
  const std::uint32_t skipped = drafts_.skipped();
  last_round_ = {kept_.round,         drafts_.size(),
                 decided.accepted,    detail::compares(terms_) ? scoring_.mismatches() : 0,
                 counters.mismatches, counters.accepted_score};
  count_drafts(statistics_, drafts_.size(), counters.evaluated, decided.accepted);
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

//! The kept verdict once more, in the epoch of the question.
SPECVERIFY_BODY status cloud_session::repeat_feedback() noexcept {
  const wire_context asked = kept_.context(place_, next_number_);
  const auto bytes = encode_feedback(asked, terms_.format, kept_.drafted, kept_.verdict, message_);
  if (!bytes) return fail(bytes.error());
  post(bytes->size(), place_.length);
  return {};
}

//! Rows of no use have come: the engine is free for what waited.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::drop_rows() noexcept {
  rows_stale_ = false;
  if (state_ == cloud_state::evaluating) want_rows();
  stream_on();
  return {};
}

//! Forgets the drafts of the open round; the edge sends them again.
SPECVERIFY_BODY void cloud_session::abandon() noexcept {
  state_.enter<cloud_event::abandon>();
  drafts_.open(0, 0);
}

SPECVERIFY_BODY void cloud_session::write_journal(std::uint32_t first_position) noexcept {
  if (state_ == cloud_state::blank) return;
  cloud_snapshot now;
  now.session_id = place_.session_id;
  now.prefix_hash = place_.hash;
  now.target_hash = target_.hash;
  now.nonce = nonce_;
  now.salt = options_.salt;
  now.terms = terms_;
  now.kept = kept_.verdict;
  now.kept_hash = kept_.hash;
  now.kept_round = kept_.round;
  now.kept_base = kept_.base;
  now.kept_drafted = kept_.drafted;
  now.kept_skipped = kept_.skipped;
  now.epoch = place_.epoch;
  now.round = place_.round;
  now.prompt_length = place_.prompt_length;
  now.length = place_.length;
  now.target_length = target_.length;
  now.target_round = target_.round;
  now.stop = place_.stop;
  now.next_number = next_number_;
  now.heard_number = heard_.last();
  now.heard_any = heard_.any();
  now.handed_over = target_.handed_over;
  unrecorded_ = 0;
  std::array<std::byte, detail::snapshot_bytes<cloud_snapshot>()> snapshot;
  detail::store_snapshot(now, snapshot.data());
  record(first_position, snapshot);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
