// SPDX-License-Identifier: Apache-2.0
//! Implements the member functions of a cloud for a round: take a draft, request rows from the engine, send the
//! verdict, stream tokens, write the journal. It also runs the semantic rule.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_ROUND_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_ROUND_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>
#include <specverify/verify/detail/given_tokens.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

SPECVERIFY_BODY status cloud_session::on_draft(std::span<const std::byte> message) noexcept {
  const auto read = drafts_.read(place_.wire(), terms_.format, message, {prior_, text_, place_.length, noise()});
  if (!read) return on_unusable(read.error());
  state_.take(message_kind::draft);
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

//! Feeds the tokens that the engine has not seen, and requests the rows starting with the last committed token. Drafts
//! beyond the budget are not fed, because they have no effect, so the engine's context needs room only for the prompt
//! and the budget. Without a bonus token, the last draft is not fed either.
SPECVERIFY_BODY void cloud_session::ask_for_rows() noexcept {
  const std::uint32_t drafted = drafts_.size;
  const std::uint32_t room = std::max(remaining() - drafts_.skipped, std::uint32_t{1});
  const std::uint32_t fed = terms_.bonus || drafted == 0 ? std::min(drafted, room - 1) : std::min(drafted, room) - 1;
  feed(place_.length - 1, draft_position() + fed, fed + 1);
  rows_wanted_ = fed + 1;
}

SPECVERIFY_BODY verify_request cloud_session::round_request() const noexcept {
  verify_request request;
  request.stop_tokens = stop_tokens_;
  request.remaining_budget = remaining() - drafts_.skipped;
  request.bonus = terms_.bonus;
  return request;
}

SPECVERIFY_BODY status cloud_session::supply_tokens(std::span<const token_id> ids, session_time) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (!wants_rows()) return {errc::unexpected_message, part::session, 0};
  if (state_ != cloud_state::finished) {
    if (terms_.rule != wire_rule::greedy) return {errc::rows_required, part::session, 0};
    if (ids.size() != rows_wanted_) return {errc::size_mismatch, part::session, static_cast<std::uint32_t>(ids.size())};
    for (std::uint32_t i = 0; i < ids.size(); ++i) {
      if (!detail::in_vocabulary(ids[i], options_.vocab_size)) return {errc::token_out_of_range, part::session, i};
    }
  }
  journal_.clear();
  rows_wanted_ = 0;
  if (state_ == cloud_state::finished) return answer_owed();  // the edge sent stop while the engine worked
  const verify_request request = round_request();
  return commit(with_drafts([&](const auto drafts) noexcept {
    return detail::verify_given_tokens(drafts, detail::given_tokens{ids, options_.vocab_size}, request);
  }));
}

//! Commits a verdict: journals the tokens, reports them to the host, and sends the verdict to the edge.
SPECVERIFY_BODY status cloud_session::commit(const result<verdict>& made) noexcept {
  if (!made) return fail(made.error());
  const verdict& decided = *made;
  if (decided.outcome != verdict_outcome::decided || decided.commit_length == 0)
    return fail({errc::unsupported, part::session, 0});
  const std::uint32_t base = place_.length, drafts = draft_position(), round = place_.round;
  const wire_place asked = place_.wire();
  last_ = {round, static_cast<std::uint16_t>(decided.accepted), static_cast<std::uint8_t>(decided.source),
           static_cast<std::uint8_t>(decided.stop),
           draft_digest(std::span<const token_id>(text_).subspan(drafts, drafts_.size))};
  if (decided.next_token != no_token) text_[drafts + decided.accepted] = decided.next_token;
  agree(drafts_.skipped + decided.commit_length);
  place_.round = detail::next_round(round);
  place_.stop = decided.stop;
  count_round(round, decided);
  if (place_.is_over()) {
    state_.enter<cloud_event::complete>();
  } else if (detail::streams(terms_)) {
    state_.enter<cloud_event::stream>();
  } else {
    state_.enter<cloud_event::decide>();
  }
  return tell(asked, base, decided);
}

//! Reports the tokens starting at `base` to the host, and sends the verdict to the edge. If the edge has begun a new
//! handshake in the meantime, or is disconnected, the cloud's next hello contains the verdict instead.
SPECVERIFY_BODY status cloud_session::tell(const wire_place& asked, std::uint32_t base,
                                           const verdict& decided) noexcept {
  const std::uint32_t drafts = base + std::exchange(drafts_.skipped, 0), drafted = drafts_.size;
  write_journal(base);  // before the host gets the verdict, and before the verdict is sent
  emit_text(session_action::committed, base, drafts, {.authority = token_authority::edge});
  emit_text(session_action::committed, drafts, place_.length,
            {.source = decided.source, .stop = decided.stop, .accepted = decided.accepted});
  if (shaken_) {
    const feedback_message verdict{decided.accepted, decided.next_token, last_.source, last_.stop};
    const auto bytes = detail::streams(terms_)
                           ? encode_text(asked, terms_.format, terms_.text_chunk, text().subspan(base), message_)
                           : encode_feedback(asked, terms_.format, drafted, verdict, message_);
    if (const status why = post(bytes); !why.ok()) return why;
    if (detail::streams(terms_) && knows_end_alone()) pieces_.begin(place_.length, place_.hash, place_.length);
  }
  roll_back(drafts + decided.accepted);
  stream_on();
  return answer_owed();
}

SPECVERIFY_BODY void cloud_session::count_round(std::uint32_t round, const verdict& decided) noexcept {
  const verdict_counters& counters = decided.counters;
  const std::uint32_t skipped = drafts_.skipped;
  last_round_ = {round,
                 drafts_.size,
                 decided.accepted,
                 detail::compares(terms_) ? position_count(scoring_.mismatches) : 0,
                 counters.mismatches,
                 counters.accepted_score};
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
  if (state_ != cloud_state::streaming || !shaken_) return;
  drafts_.open(0, 0);
  ask_for_rows();
}

SPECVERIFY_BODY void cloud_session::write_journal(std::uint32_t first_position) noexcept {
  cloud_snapshot now;
  now.session_id = place_.session_id;
  now.prefix_hash = place_.hash;
  now.salt = options_.salt;
  now.terms = terms_;
  now.last = last_;
  now.target = target_;
  now.round = place_.round;
  now.prompt_length = place_.prompt_length;
  now.length = place_.length;
  now.stop = place_.stop;
  std::array<std::byte, detail::snapshot_bytes<cloud_snapshot>()> snapshot;
  detail::store_snapshot(now, snapshot.data());
  record(first_position, snapshot);
}

// The semantic rule: requests hidden states from the edge and scores from the host, then decides the round.

//! Decides the round, or requests the missing scores from the host. If hidden states are also missing, first requests
//! them from the edge.
SPECVERIFY_BODY status cloud_session::decide_or_ask() noexcept {
  const wire_format& format = terms_.format;
  const verify_request request = round_request();
  const result<verdict> decided = with_drafts([&](const auto drafts) noexcept {
    return scoring_.decide(drafts, terms_.threshold, request, format.vocab_size);
  });
  if (!decided || decided->outcome == verdict_outcome::decided) return commit(decided);
  const std::size_t each = hidden_bytes(format.attachments);
  const bool on_request = each > 0 && !format.attachments.hidden_with_draft;
  scoring_.ask(decided->accepted, drafts_.size, on_request && options_.lazy, on_request ? 0 : each);
  if (!on_request) {
    want_scores();
    return {};
  }
  if (!shaken_) {  // without a connection nothing can be requested; the edge will send the draft again
    state_.enter<cloud_event::abandon>();
    drafts_.open(0, 0);
    return answer_owed();
  }
  state_.enter<cloud_event::request>();
  return send_request();
}

SPECVERIFY_BODY status cloud_session::send_request() noexcept {
  const std::uint32_t drafted = drafts_.size;
  const std::span<const std::uint64_t> words =
      std::span<const std::uint64_t>(scoring_.asked).first((std::size_t{drafted} + 63) / 64);
  return post(encode_request(place_.wire(), terms_.format, drafted, {1, words}, message_));
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
  if (state_ == cloud_state::finished) return {};  // the edge's host ended the text during the scoring
  if (state_ != cloud_state::scoring) return {errc::unexpected_message, part::session, 0};
  if (scores.size() != position_count(scoring_.asked))
    return {errc::size_mismatch, part::session, static_cast<std::uint32_t>(scores.size())};
  journal_.clear();
  scoring_.take(scores);
  return decide_or_ask();
}

SPECVERIFY_BODY status cloud_session::on_supply(std::span<const std::byte> message) noexcept {
  std::array<std::uint64_t, max_wire_draft_length / 64> words;
  const result<supply_message> read = decode_supply(place_.wire(), terms_.format, drafts_.size, message, words);
  if (!read) return on_unusable(read.error());
  state_.take(message_kind::supply);
  const supply_message& supplied = *read;
  if (supplied.what != 1 || !std::equal(supplied.positions.begin(), supplied.positions.end(), scoring_.asked.begin()))
    return fail({errc::field_out_of_range, part::session, request_message::at_positions});
  scoring_.keep_hidden(supplied.payload);
  state_.enter<cloud_event::supply, cloud_state::requesting>();
  want_scores();
  return {};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
