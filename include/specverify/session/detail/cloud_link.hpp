// SPDX-License-Identifier: Apache-2.0
//! The cloud's end of the link: classify a message, refuse, number, journal.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_LINK_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_LINK_HPP

#include <specverify/session/cloud.hpp>

SPECVERIFY_NAMESPACE_BEGIN

inline status cloud_session::drop(errc code) noexcept {
  detail::count_fault(statistics_, code);
  return {code, part::session, 0};
}

inline void cloud_session::write_journal(std::uint32_t first_position) noexcept {
  if (state_ == cloud_state::blank) return;
  now_.heard_number = heard_.last;
  now_.heard_any = heard_.any;
  if (first_position > journaled_) first_position = journaled_;  // nothing is left out
  std::size_t written = 0;
  const std::span<std::byte> space = std::span<std::byte>(record_).subspan(record_used_);
  const status done = write_journal_record(space, written, first_position, text().subspan(first_position), now_);
  SPECVERIFY_ASSERT(done.ok(), "the journal's buffer is sized for every record");
  if (!done.ok()) return;
  record_used_ += written;
  journaled_ = now_.length;
  session_output out;
  out.action = session_action::journal;
  out.bytes = space.first(written);
  outputs_.push(out);
}

inline void cloud_session::send(std::size_t written) noexcept {
  statistics_.messages_down += 1;
  statistics_.bytes_down += written;
  session_output out;
  out.action = session_action::send;
  out.bytes = std::span<const std::byte>(message_).first(written);
  outputs_.push(out);
}

inline void cloud_session::refuse(const wire_context& context, status reason) noexcept {
  wire_context numbered = context;
  numbered.transmission = now_.next_number;
  std::size_t written = 0;
  if (!encode_refuse(numbered, {reason}, message_, written).ok()) return;
  statistics_.refusals += 1;
  now_.next_number = static_cast<std::uint8_t>((now_.next_number + 1) & 15);
  write_journal(now_.length);
  send(written);
}

inline status cloud_session::fail(status why) noexcept {
  wire_context session{};
  session.session_id = now_.session_id;
  refuse(session, why);
  state_ = cloud_state::failed;
  rows_wanted_ = false;
  session_output out;
  out.action = session_action::failed;
  out.reason = why;
  outputs_.push(out);
  return why;
}

inline status cloud_session::engine_failed(status why) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  record_used_ = 0;
  return fail(why);
}

//! A damaged message: says so, and the edge asks again at once.
inline status cloud_session::on_damage(errc code) noexcept {
  detail::count_fault(statistics_, code);
  wire_context session{};
  session.session_id = state_ == cloud_state::blank ? 0 : now_.session_id;
  refuse(session, {code, part::session, 0});
  return {code, part::session, 0};
}

//! A message for a session that this process does not know. Names the message by its checksum, so that the edge knows
//! which one is meant.
inline status cloud_session::on_unknown(std::span<const std::byte>, const message_header& header) noexcept {
  detail::count_fault(statistics_, errc::unknown_session);
  errc why_not = errc::ok;
  // of an edge process that has died since
  const bool overtaken = now_.epoch != 0 && header.kind != message_kind::resume;
  // ahead of what an earlier life of this cloud may have sent
  if (!heard_.any) now_.next_number = header.flags;
  if (!overtaken && heard_.take(header.flags, why_not))
    refuse({}, {errc::unknown_session, part::session, header.checksum});
  return {errc::unknown_session, part::session, 0};
}

inline bool cloud_session::accept_epoch(const wire_context& peer, errc& why) noexcept {
  if (peer.epoch < now_.epoch) {
    why = errc::stale_epoch;
    return false;
  }
  if (peer.epoch > now_.epoch) {
    memory_.remember(context());
    now_.epoch = peer.epoch;
    heard_ = {};
    statistics_.restarts += 1;
  }
  return true;
}

//! Compares the edge's text with ours: more of it must come first.
inline void cloud_session::aim_at(const wire_context& peer) noexcept {
  if (peer.base_length > now_.length) {
    now_.target_round = peer.round;
    now_.target_length = peer.base_length;
    now_.target_hash = peer.prefix_hash;
    state_ = cloud_state::filling;
  } else if (state_ == cloud_state::filling) {
    settle();
  }
}

//! All text is there, if the prompt is.
inline void cloud_session::settle() noexcept {
  if (now_.length < now_.prompt_length) {
    state_ = cloud_state::filling;
    return;
  }
  if (now_.length > now_.prompt_length && is_stop(stop_tokens_, text_[now_.length - 1])) {
    now_.stop = stop_reason::stop_token;
  } else if (remaining() == 0) {
    now_.stop = stop_reason::budget;
  }
  state_ = now_.stop != stop_reason::none      ? cloud_state::finished
           : now_.mode == session_mode::stream ? cloud_state::streaming
                                               : cloud_state::ready;
}

inline status cloud_session::receive(std::span<const std::byte> message, session_time now) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  record_used_ = 0;
  statistics_.messages_up += 1;
  statistics_.bytes_up += message.size();
  message_header header;
  if (const status why = peek_header(message, header); !why.ok())
    return on_damage(why.code == errc::truncated ? errc::truncated : errc::checksum_mismatch);
  switch (header.kind) {
    case message_kind::hello:
      return on_hello(message, header, now);
    case message_kind::resume:
      return on_resume(message, header, now);
    case message_kind::text:
    case message_kind::draft:
    case message_kind::supply:
    case message_kind::stop:
      if (state_ == cloud_state::blank)
        return header.kind == message_kind::stop ? status{} : on_unknown(message, header);
      if (header.kind == message_kind::text) return on_text(message, header, now);
      if (header.kind == message_kind::draft) return on_draft(message, header);
      if (header.kind == message_kind::supply) return on_supply(message, header);
      break;
    default:
      break;
  }
  if (header.kind == message_kind::stop && detail::belongs_to(context(), message, header)) {
    errc why_not = errc::ok;
    if (!heard_.take(header.flags, why_not)) return drop(why_not);
    if (round_is_open() || state_ == cloud_state::failed) return {};
    state_ = cloud_state::finished;
    session_output out;
    out.action = session_action::finished;
    out.stop = now_.stop;
    out.position = now_.length;
    outputs_.push(out);
    return {};
  }
  if (const wire_context* then = memory_.find(message, header); then != nullptr) {
    return drop(heard_.look(header.flags) == detail::arrival::duplicate ? errc::duplicate
                                                                        : detail::why_stale(context(), *then));
  }
  return on_damage(errc::checksum_mismatch);
}

//! A draft or supply that is not of the open round: of the kept one, which is answered once more, of an older one, or
//! damaged.
inline status cloud_session::on_other_round(std::span<const std::byte> message, const message_header& header) noexcept {
  errc why_not = errc::ok;
  const wire_context kept{now_.session_id, now_.epoch, now_.kept_round, now_.kept_base, now_.kept_hash, 0};
  if (now_.kept_round != 0 && state_ != cloud_state::failed && detail::belongs_to(kept, message, header)) {
    if (!heard_.take(header.flags, why_not)) return drop(why_not);
    if (header.kind == message_kind::draft) {
      if (const status why = judge_repeat(kept, message); !why.ok()) return fail(why);
    }
    statistics_.repeated_answers += 1;
    return send_feedback();
  }
  if (const wire_context* then = memory_.find(message, header); then != nullptr) {
    return drop(heard_.look(header.flags) == detail::arrival::duplicate ? errc::duplicate
                                                                        : detail::why_stale(context(), *then));
  }
  return on_damage(errc::checksum_mismatch);
}

SPECVERIFY_NAMESPACE_END

#endif
