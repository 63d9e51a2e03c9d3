// SPDX-License-Identifier: Apache-2.0
//! The cloud's end of the link: classify a message, refuse, number, post.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_LINK_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_LINK_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/detail/cloud_protocol.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

SPECVERIFY_BODY void cloud_protocol::send(std::size_t written) noexcept {
  statistics_.messages_down += 1;
  statistics_.bytes_down += written;
  emit_message(written);
}

//! Numbers the message that was encoded, journals the text from `first_position` on, sends.
SPECVERIFY_BODY void cloud_protocol::post(std::size_t written, std::uint32_t first_position) noexcept {
  count_transmission();
  write_journal(first_position);
  send(written);
}

SPECVERIFY_BODY void cloud_protocol::refuse(const wire_context& context, status reason) noexcept {
  if (ends_session(reason.code)) refusal_ = reason;
  wire_context numbered = context;
  numbered.transmission = next_number_;
  const auto bytes = encode_refuse(numbered, {reason}, message_);
  if (!bytes) return;
  statistics_.refusals += 1;
  post(bytes->size(), place_.length());
}

SPECVERIFY_BODY status cloud_protocol::fail(status why) noexcept {
  refuse(session_context(), why);
  state_ = cloud_state::failed;
  rows_wanted_ = false;
  emit_failure(why);
  return why;
}

SPECVERIFY_BODY status cloud_protocol::engine_failed(status why) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  journal_.clear();
  return fail(why);
}

//! A damaged message: says so, and the edge asks again at once.
SPECVERIFY_BODY status cloud_protocol::on_damage(errc code) noexcept {
  count_fault(statistics_, code);
  refuse(state_ == cloud_state::blank ? wire_context{} : session_context(), {code, part::session, 0});
  return {code, part::session, 0};
}

//! A message for a session that this process does not know. Names the message by its checksum, so that the edge knows
//! which one is meant.
SPECVERIFY_BODY status cloud_protocol::on_unknown(const message_header& header) noexcept {
  count_fault(statistics_, errc::unknown_session);
  // of an edge process that has died since
  const bool overtaken = place_.epoch() != 0 && header.kind != message_kind::resume;
  // ahead of what an earlier life of this cloud may have sent
  if (!heard_.any()) next_number_ = header.flags;
  if (!overtaken && heard_.take(header.flags) == errc::ok)
    refuse({}, {errc::unknown_session, part::session, header.checksum});
  return {errc::unknown_session, part::session, 0};
}

//! Errors: stale_epoch.
SPECVERIFY_BODY errc cloud_protocol::accept_epoch(const wire_context& peer) noexcept {
  if (peer.epoch < place_.epoch()) return errc::stale_epoch;
  if (peer.epoch > place_.epoch()) {
    contexts_.remember(context());
    place_.begin_epoch(peer.epoch);
    heard_ = {};
    statistics_.restarts += 1;
  }
  return errc::ok;
}

//! Compares the edge's text with ours: the missing part must come first.
SPECVERIFY_BODY void cloud_protocol::aim_at(const wire_context& peer) noexcept {
  if (peer.base_length > place_.length()) {
    target_ = text_target(peer.base_length, peer.round, peer.prefix_hash);
    state_ = cloud_state::filling;
  } else if (state_ == cloud_state::filling) {
    settle();
  }
}

SPECVERIFY_BODY status cloud_protocol::receive(std::span<const std::byte> message, session_time) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  journal_.clear();
  statistics_.messages_up += 1;
  statistics_.bytes_up += message.size();
  const result<message_header> first = peek_header(message);
  if (!first) return on_damage(first.error().code == errc::truncated ? errc::truncated : errc::checksum_mismatch);
  const message_header& header = *first;
  const bool is_stop = header.kind == message_kind::stop;
  switch (header.kind) {
    case message_kind::hello:
      return on_hello(message, header);
    case message_kind::resume:
      return on_resume(message, header);
    case message_kind::text:
    case message_kind::draft:
    case message_kind::supply:
    case message_kind::stop:
      if (state_ == cloud_state::blank) return is_stop ? status{} : on_unknown(header);
      if (header.kind == message_kind::text) return on_text(message, header);
      if (header.kind == message_kind::draft) return on_draft(message, header);
      if (header.kind == message_kind::supply) return on_supply(message, header);
      break;
    default:
      break;
  }
  if (is_stop && belongs_to(context(), message, header)) return on_stop(header);
  if (const wire_context* then = contexts_.find(message, header); then != nullptr) return drop_late(*then, header);
  return on_damage(errc::checksum_mismatch);
}

//! The edge has its text and is gone.
SPECVERIFY_BODY status cloud_protocol::on_stop(const message_header& header) noexcept {
  if (const errc why = heard_.take(header.flags); why != errc::ok) return drop(why);
  if (round_is_open() || state_ == cloud_state::failed) return {};
  state_ = cloud_state::finished;
  emit_end();
  return {};
}

//! A draft or supply that is not of the open round: of the kept one, which is answered once more, of an older one, or
//! damaged.
SPECVERIFY_BODY status cloud_protocol::on_other_round(std::span<const std::byte> message,
                                                      const message_header& header) noexcept {
  if (kept_.any() && state_ != cloud_state::failed && belongs_to(kept_.context(place_), message, header)) {
    if (const errc why = heard_.take(header.flags); why != errc::ok) return drop(why);
    statistics_.repeated_answers += 1;
    if (header.kind == message_kind::draft) {
      const result<bool> same = repeats(message);
      if (!same) return fail(same.error());
      if (!*same) return send_text(kept_.context(place_), kept_.base());
    }
    return send_feedback();
  }
  if (const wire_context* then = contexts_.find(message, header); then != nullptr) return drop_late(*then, header);
  return on_damage(errc::checksum_mismatch);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
