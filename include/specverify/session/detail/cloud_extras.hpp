// SPDX-License-Identifier: Apache-2.0
//! The cloud's round under the semantic rule: ask the edge for hidden states, ask the host for scores, decide.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_EXTRAS_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_EXTRAS_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>

#include <algorithm>
#include <array>
#include <utility>

SPECVERIFY_NAMESPACE_BEGIN

//! Decides, or says what is missing: scores of the host, for which the edge's hidden states may have to come first.
SPECVERIFY_BODY status cloud_session::decide_or_ask() noexcept {
  const wire_format& format = terms_.format;
  const verify_request request = round_request();
  const result<verdict> decided =
      detail::laws_travel(terms_) ? scoring_.decide(drafts_.with_laws(), terms_.threshold, request, format.vocab_size)
                                  : scoring_.decide(drafts_.alone(), terms_.threshold, request, format.vocab_size);
  if (!decided || decided->outcome == verdict_outcome::decided) return commit(decided);
  if (owed_ != message_kind::stop) {  // a life of the edge said hello or resume meanwhile: it drafts the round again
    abandon();
    return greet(std::exchange(owed_, message_kind::stop));
  }
  const std::size_t each = hidden_bytes(format.attachments);
  const bool on_request = each > 0 && !format.attachments.hidden_with_draft;
  scoring_.ask(decided->accepted, drafts_.size(), on_request && options_.lazy, on_request ? 0 : each);
  if (!on_request) {
    want_scores();
    return {};
  }
  state_.enter<cloud_event::request>();
  return send_request();
}

SPECVERIFY_BODY status cloud_session::send_request() noexcept {
  const std::uint32_t drafted = drafts_.size();
  const std::span<const std::uint64_t> words = scoring_.asked().first((std::size_t{drafted} + 63) / 64);
  const auto bytes = encode_request(context(), terms_.format, drafted, {1, words}, message_);
  if (!bytes) return fail(bytes.error());
  post(bytes->size(), place_.length);
  return {};
}

SPECVERIFY_BODY void cloud_session::want_scores() noexcept {
  session_output out;
  out.action = session_action::score;
  out.position = draft_position();
  out.rows = scoring_.asked_count();
  out.positions = scoring_.asked();
  out.bytes = scoring_.asked_hidden(hidden_bytes(terms_.format.attachments));
  outputs_.push(out);
  state_.enter<cloud_event::score>();
}

SPECVERIFY_BODY status cloud_session::supply_scores(std::span<const double> scores, session_time) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (state_ == cloud_state::finished && stopped_) return {};  // the edge said stop while the host scored
  if (state_ != cloud_state::scoring) return {errc::unexpected_message, part::session, 0};
  if (scores.size() != scoring_.asked_count())
    return {errc::size_mismatch, part::session, static_cast<std::uint32_t>(scores.size())};
  journal_.clear();
  scoring_.take(scores);
  return decide_or_ask();
}

SPECVERIFY_BODY status cloud_session::on_supply(std::span<const std::byte> message,
                                                const message_header& header) noexcept {
  const wire_context open = context();
  if (!detail::belongs_to(open, message, header) || (state_ != cloud_state::ready && !round_is_open()))
    return on_other_round(message, header);
  if (state_ == cloud_state::requesting) return take_supply(message, header);
  if (const errc why = take_again(header.flags); why != errc::ok) return drop(why);
  if (state_ != cloud_state::ready) return {};  // asked again while the host works: one answer will do
  statistics_.repeated_answers += 1;  // the draft died with an earlier life of this cloud: once more from there
  return greet(message_kind::resume);
}

//! What was asked for, whatever its number is.
SPECVERIFY_BODY status cloud_session::take_supply(std::span<const std::byte> message,
                                                  const message_header& header) noexcept {
  const wire_context open = context();
  std::array<std::uint64_t, max_wire_draft_length / 64> words;
  const result<supply_message> read = decode_supply(open, terms_.format, drafts_.size(), message, words);
  if (!read) return fail(read.error());
  const supply_message& supplied = *read;
  if (supplied.what != 1 ||
      !std::equal(supplied.positions.begin(), supplied.positions.end(), scoring_.asked().begin())) {
    if (const errc why = heard_.take(header.flags); why != errc::ok) return drop(why);
    statistics_.repeated_answers += 1;  // what an earlier request asked for
    return send_request();
  }
  state_.take(message_kind::supply);
  heard_.note_new(header.flags);
  scoring_.keep_hidden(supplied.payload);
  want_scores();
  return {};
}

SPECVERIFY_NAMESPACE_END

#endif
