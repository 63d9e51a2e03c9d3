// SPDX-License-Identifier: Apache-2.0
//! The cloud's end of the link: classify a message, refuse, number, post.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_LINK_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_LINK_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>

SPECVERIFY_NAMESPACE_BEGIN

SPECVERIFY_BODY void cloud_session::send(std::size_t written) noexcept {
  statistics_.messages_down += 1;
  statistics_.bytes_down += written;
  outputs_.push({.action = session_action::send, .bytes = std::span<const std::byte>(message_).first(written)});
}

//! Numbers a message that was encoded, journals where this side stands, sends.
SPECVERIFY_BODY status cloud_session::post(const result<std::span<std::byte>>& encoded) noexcept {
  if (!encoded) return fail(encoded.error());
  count_transmission();
  write_journal(place_.length);
  send(encoded->size());
  return {};
}

//! Refuses the session, or one of its messages. Nothing is journaled. Of the refusals after which the edge asks again,
//! few are sent between two records: a flood gets no answers.
[[gnu::cold]] SPECVERIFY_BODY void cloud_session::refuse(const wire_context& context, status reason) noexcept {
  if (detail::ends_session(reason.code)) {
    refusal_ = reason;
  } else if (state_ != cloud_state::blank) {
    if (unrecorded_ == detail::refusals_per_record) return;
    unrecorded_ += 1;
  }
  tell(context, reason);
}

//! A refusal alone. It takes no number.
[[gnu::cold]] SPECVERIFY_BODY void cloud_session::tell(const wire_context& context, status reason) noexcept {
  wire_context numbered = context;
  numbered.transmission = next_number_;
  const auto bytes = detail::encode_refusal(numbered, reason, message_);
  if (!bytes) return;
  statistics_.refusals += 1;
  send(bytes->size());
}

SPECVERIFY_BODY status cloud_session::fail(status why) noexcept {
  // whole, and not what an encoder writes: no damage, which would be sent again
  if (!detail::ends_session(why.code)) why.code = errc::not_canonical;
  refuse(place_.end_context(), why);
  state_.enter<cloud_event::fail>();
  gone_ = false;
  rows_wanted_ = rows_stale_ = false;
  outputs_.push({.action = session_action::failed, .reason = why});
  return why;
}

SPECVERIFY_BODY status cloud_session::engine_failed(status why) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  journal_.clear();
  if (why.ok()) why = {errc::engine_failed, part::host, 0};
  return fail(why);
}

//! A damaged message: names it by the checksum that it came with, and the edge asks again at once.
SPECVERIFY_BODY status cloud_session::on_damage(errc code, std::uint32_t checksum) noexcept {
  detail::count_fault(statistics_, code);
  wire_context any_epoch{};
  if (state_ != cloud_state::blank) any_epoch.session_id = place_.session_id;
  refuse(any_epoch, {code, part::session, checksum});
  return {code, part::session, 0};
}

//! A greeting that cannot be read: damaged, or what this side does not take, which is named.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::on_unreadable(status why,
                                                                  const detail::incoming& message) noexcept {
  if (why.code == errc::truncated || why.code == errc::checksum_mismatch) return on_damage(why.code, message.checksum);
  detail::count_fault(statistics_, why.code);
  if (state_ == cloud_state::blank) refusal_ = why;
  tell(detail::end_of(detail::named_by(message)), why);
  return why;
}

//! A greeting of an epoch that is over: says where this side stands, and the edge goes on in an epoch of its own, which
//! forgets numbers. Nothing changes here and nothing is journaled: the answer has the number of the last one, which an
//! edge of the present epoch takes for a copy.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::answer_stale() noexcept {
  wire_context place = context();
  place.transmission = static_cast<std::uint8_t>((next_number_ + 15) & 15);
  if (const auto bytes = encode_resume({place}, message_)) send(bytes->size());
  return drop(errc::stale_epoch);
}

//! A question of an earlier context. One of an epoch that is over is answered like a greeting, a few times between two
//! records: who asks it has not heard of the present epoch, and would wait.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::on_late(const wire_context& then,
                                                            const detail::incoming& message) noexcept {
  if (then.epoch == place_.epoch || unrecorded_ == detail::refusals_per_record) return drop_late(then, message);
  unrecorded_ += 1;
  return answer_stale();
}

//! A greeting of another session, or of this one in another format.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::on_stranger(const wire_context& peer) noexcept {
  tell(detail::end_of(peer), {errc::unexpected_message, part::session, 0});
  return drop(errc::unexpected_message);
}

//! The session is over here, and whoever asks is told why, in the epoch of the question `asked`: it ends no other
//! life.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::closed(const wire_context& asked) noexcept {
  tell(detail::end_of(asked), refusal_.ok() ? status{errc::session_closed, part::session, 0} : refusal_);
  return drop(errc::session_closed);
}

//! A question other than a greeting to a session that has failed.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::after_failure(const detail::incoming& message) noexcept {
  const bool is_stop = message.kind == message_kind::stop;
  const wire_context* const then = is_stop ? contexts_.find_end(message) : contexts_.find(message);
  if (then != nullptr) return closed(*then);
  const bool ours = detail::belongs_to(context(), message) || detail::belongs_to(place_.end_context(), message) ||
                    (kept_.round != 0 && detail::belongs_to(kept_question(), message));
  return ours ? closed(place_.end_context()) : on_damage(errc::checksum_mismatch, message.checksum);
}

//! The edge has failed, and says why: the session ends here too, unless its next life comes, which may know no epoch
//! but that of this one: so the epoch ends here, unless it is the last one. Refusals are never answered, rubbish under
//! their name neither.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::on_refusal(const detail::incoming& message) noexcept {
  wire_context named = place_.end_context();
  if (recovers_ && !detail::belongs_to(named, message)) named = {place_.session_id, 0, 0, 0, nonce_, 0};
  if (!detail::belongs_to(named, message)) return drop(errc::checksum_mismatch);
  const result<refuse_message> read = decode_refuse(named, message.bytes);
  const bool over = state_ == cloud_state::blank || state_ == cloud_state::failed || stopped_;
  if (!read || over || !detail::ends_session(read->reason.code)) return drop(errc::unexpected_message);
  state_.take(message_kind::refuse);
  contexts_.remember(awaited());
  drafts_.open(0, 0);
  state_.enter<cloud_event::edge_failed>();
  gone_ = true;
  place_.epoch = detail::next_epoch(place_.epoch);
  heard_ = {};
  rows_stale_ = rows_wanted_;
  owed_ = message_kind::stop;
  refusal_ = read->reason;
  const status why{errc::refused_by_peer, part::session, static_cast<std::uint32_t>(refusal_.code)};
  outputs_.push({.action = session_action::failed, .reason = why});
  return why;
}

//! A message for a session that this process does not know. Names the message by its checksum, so that the edge knows
//! which one is meant: to one that has asked something else since, or again, it says nothing.
SPECVERIFY_BODY status cloud_session::on_unknown(const detail::incoming& message) noexcept {
  detail::count_fault(statistics_, errc::unknown_session);
  // ahead of what an earlier life of this cloud may have sent
  if (!heard_.any) next_number_ = message.flags;
  heard_.note(message.flags);
  refuse({}, {errc::unknown_session, part::session, message.checksum});
  return {errc::unknown_session, part::session, 0};
}

//! The context of the question that this side waits for.
SPECVERIFY_BODY wire_context cloud_session::awaited() const noexcept {
  const std::uint32_t round = state_ == cloud_state::filling ? target_.round : place_.round;
  return place_.context_at(round, place_.length, place_.hash);
}

//! The epoch of a greeting, which is answered where it is not taken. Errors: stale_epoch; those of `check_length`.
SPECVERIFY_BODY status cloud_session::accept_epoch(const wire_context& peer) noexcept {
  if (peer.epoch < place_.epoch) return answer_stale();
  if (const status why = check_length(peer); !why.ok()) return why;
  if (peer.epoch > place_.epoch) {
    contexts_.remember(awaited());
    place_.epoch = peer.epoch;
    heard_ = {};
    recovers_ = false;
    statistics_.restarts += 1;
  }
  heard_.known = false;
  return {};
}

//! Compares the edge's text with ours: the missing part must come first.
SPECVERIFY_BODY void cloud_session::aim_at(const wire_context& peer) noexcept {
  if (peer.base_length > place_.length) {
    target_ = {peer.base_length, peer.round, peer.prefix_hash, target_.handed_over};
    state_.enter<cloud_event::fill>();
    rows_stale_ = rows_wanted_;  // of a stream, whose next token the edge has
  } else if (state_ == cloud_state::filling) {
    target_ = {0, 0, 0, target_.handed_over};
    settle();
  }
}

SPECVERIFY_BODY status cloud_session::receive(std::span<const std::byte> bytes, session_time) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  journal_.clear();
  statistics_.messages_up += 1;
  statistics_.bytes_up += bytes.size();
  const result<message_header> header = peek_header(bytes);
  if (!header) return on_damage(header.error().code == errc::truncated ? errc::truncated : errc::checksum_mismatch);
  const detail::incoming message{*header, bytes};
  switch (message.kind) {
    case message_kind::hello:
      return on_hello(message);
    case message_kind::resume:
      return on_resume(message);
    case message_kind::text:
    case message_kind::draft:
    case message_kind::supply:
    case message_kind::stop:
      if (state_ == cloud_state::blank) return on_unknown(message);
      if (state_ == cloud_state::failed) return after_failure(message);
      if (message.kind == message_kind::text) return on_text(message);
      if (message.kind == message_kind::draft) return on_draft(message);
      return message.kind == message_kind::supply ? on_supply(message) : on_stop(message);
    case message_kind::refuse:
      return on_refusal(message);
    default:
      break;
  }
  if (const wire_context* then = contexts_.find(message); then != nullptr) return drop_late(*then, message);
  return on_damage(errc::checksum_mismatch, message.checksum);
}

//! The number of what does not change where this side stands. A copy is not answered, but for a life that has said
//! hello or resume and nothing new since: whose numbers count is not known then.
SPECVERIFY_BODY errc cloud_session::take_again(std::uint8_t number) noexcept {
  const errc why = heard_.classify(number);
  if (why != errc::ok && heard_.known) return why;
  if (why != errc::ok) detail::count_fault(statistics_, why);
  heard_.note_again(number);
  return errc::ok;
}

//! A draft or supply that is not of the open round: of the kept one, which is answered once more, of an older one, or
//! damaged.
SPECVERIFY_BODY status cloud_session::on_other_round(const detail::incoming& message) noexcept {
  if (kept_.round != 0 && detail::belongs_to(kept_question(), message)) {
    if (const errc why = take_again(message.flags); why != errc::ok) return drop(why);
    statistics_.repeated_answers += 1;
    if (message.kind == message_kind::draft) {
      const result<bool> same = repeats(message);
      if (!same) return fail(same.error());
      if (!*same) return send_text(kept_question(), kept_.base);
    }
    return post(encode_feedback(kept_question(), terms_.format, kept_.drafted, kept_.verdict, message_));
  }
  const wire_context* then = contexts_.find(message);
  if (then != nullptr && (then->epoch != place_.epoch || heard_.known)) return on_late(*then, message);
  // An earlier round of an edge that has forgotten the rest, or that this cloud knows from an edge: the text counts.
  wire_context earlier;
  if (!finds_text(message, earlier))
    return then != nullptr ? on_late(*then, message) : on_damage(errc::checksum_mismatch, message.checksum);
  if (const errc why = take_again(message.flags); why != errc::ok) return drop(why);
  statistics_.repeated_answers += 1;
  return send_text(earlier, earlier.base_length);
}

SPECVERIFY_NAMESPACE_END

#endif
