// SPDX-License-Identifier: Apache-2.0
//! Implements the member functions of an edge for a connection: handshake, received messages, deadline, refusals.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_HANDSHAKE_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_HANDSHAKE_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/edge_session.hpp>

#include <algorithm>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Sets the deadline for a response. Without a timeout there is no deadline. A deadline beyond the largest time is set
//! to the largest time.
SPECVERIFY_BODY void edge_session::await_answer() noexcept {
  deadline_.reset();
  if (options_.retry_timeout != 0) deadline_ = now_ + std::min(options_.retry_timeout, ~now_);
}

SPECVERIFY_BODY void edge_session::send(std::size_t written) noexcept {
  statistics_.messages_up += 1;
  statistics_.bytes_up += written;
  outputs_.push({.action = session_action::send, .bytes = std::span<const std::byte>(message_).first(written)});
}

//! Sends an encoded message and starts to wait for the response.
SPECVERIFY_BODY status edge_session::post(const result<std::span<std::byte>>& encoded) noexcept {
  if (!encoded) return fail(encoded.error());
  send(encoded->size());
  await_answer();
  return {};
}

SPECVERIFY_BODY status edge_session::connect() noexcept {
  state_.enter<edge_event::connect, edge_state::offline>();
  return shake_hands();
}

//! Sends a hello. Each hello has a new nonce, which the response repeats, so responses to earlier hellos can be
//! dropped.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::shake_hands() noexcept {
  if (in_vain_ == options_.retry_limit) return fail({errc::peer_timeout, part::session, in_vain_});
  in_vain_ += 1;
  statistics_.handshakes += 1;
  name_.nonce = derive_nonce(options_.secret, options_.session_id, options_.salt, now_, statistics_.handshakes);
  session_terms own = own_terms();
  own.format.ids = wanted_ids();
  own.format.check_bits = drafter_.facts.format.check_bits =
      detail::wanted_check(options_.check_bits, ordered_and_whole_);
  return post(encode_own_hello(own, nullptr, 0, options_.prior));
}

//! Begins a new handshake, which is the recovery from every fault of the connection.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::shake_again() noexcept {
  leave_connection();
  state_.enter<edge_event::shake_again>();
  return shake_hands();
}

[[gnu::cold]] SPECVERIFY_BODY void edge_session::leave_connection() noexcept {
  pieces_.close();
  deadline_.reset();
  if (state_ == edge_state::fetching_text) drop_fetch();
}

SPECVERIFY_BODY status edge_session::reconnect(session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  begin_input(now);
  if (state_ == edge_state::offline) return connect();
  return is_connected() ? shake_again() : status{};
}

SPECVERIFY_BODY status edge_session::disconnect(session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  begin_input(now);
  if (!is_connected()) return {};
  link_.lost = true;
  if (options_.on_link_loss == link_loss::stop) return fail({errc::link_lost, part::session, 0});
  leave_connection();
  state_.enter<edge_event::disconnect>();
  plan_ahead();
  return {};
}

SPECVERIFY_BODY status edge_session::tick(session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  begin_input(now);
  if (deadline_.has_value() && now >= *deadline_) {
    statistics_.timeouts += 1;
    return shake_again();
  }
  if (!ahead_.deadline.has_value() || now < *ahead_.deadline) return {};
  ahead_.deadline.reset();
  ahead_.writing = true;
  return want_row(ahead());
}

SPECVERIFY_BODY status edge_session::receive(std::span<const std::byte> message, session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  begin_input(now);
  statistics_.messages_down += 1;
  statistics_.bytes_down += message.size();
  if (!is_connected())
    return drop(state_.now() < edge_state::finished ? errc::unexpected_message : errc::session_closed);
  const result<message_kind> kind = kind_of(message);
  if (!kind) return on_misfit(kind.error());
  if (*kind == message_kind::refuse) return on_refusal(message);
  if (*kind == message_kind::hello) return on_hello(message);
  if (detail::taken_in<edge_table>(state_.now()).has(*kind)) return on_message(*kind, message);
  // the cloud sent the message before the response to the present hello, before it received this side's stop, or as
  // part of a stream after the end of the text
  const bool goes_on = state_ == edge_state::stopping && (place_.is_cancelled() || is_stream());
  if (state_ == edge_state::handshaking || goes_on) return drop(errc::unexpected_message);
  return fail({errc::unexpected_message, part::session, static_cast<std::uint32_t>(*kind)});
}

SPECVERIFY_BODY status edge_session::on_message(message_kind kind, std::span<const std::byte> message) noexcept {
  switch (kind) {
    case message_kind::text:
      return on_text(message);
    case message_kind::feedback:
      return on_feedback(message);
    case message_kind::request:
      return on_request(message);
    default:
      return on_stop(message);
  }
}

//! Handles a message that contradicts the shared state: begins a new handshake, unless one is in progress.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_misfit(status misfit) noexcept {
  statistics_.corrupt += 1;
  if (state_ != edge_state::handshaking) {
    if (const status why = shake_again(); !why.ok()) return why;
  }
  return misfit;
}

//! Handles a message that the decoder rejected, because it belongs to a different position, or because no correct cloud
//! sends it.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_unusable(status why) noexcept {
  return why.code == errc::checksum_mismatch ? on_misfit(why) : fail(why);
}

//! Checks that the cloud's hello repeats this side's terms, and that the cloud's text and round are possible. A cloud
//! with different terms would write a different text.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::check_hello(const hello_message& theirs) const noexcept {
  const auto wrong = [](errc code, std::uint32_t where) { return status{code, part::session, where}; };
  const std::uint32_t length = theirs.length, prompt = place_.prompt_length;
  if (theirs.prompt_length != prompt || detail::difference(theirs, own_terms()) != detail::term::none)
    return wrong(errc::options_disagree, 0);
  if (theirs.format.ids > wanted_ids()) return wrong(errc::options_disagree, options_.at_prior);
  if (const auto table = prior_of(theirs); table && *table != options_.prior->fingerprint())
    return wrong(errc::options_disagree, options_.at_prior);
  if (const status why = check_stop_tokens(stop_tokens_hash(theirs)); !why.ok()) return why;
  // the cloud must answer with the higher of the two rounds
  if (theirs.round < place_.round) return wrong(errc::stale_round, theirs.round);
  if (!detail::is_round(theirs.round)) return wrong(errc::field_out_of_range, theirs.round);
  if (place_.is_cancelled()) return {};
  // neither side has the rest of the prompt
  if (length < prompt && !place_.has_prompt()) return wrong(errc::unknown_session, length);
  if (length > text_limit() || (place_.is_over() && length > place_.length && !is_stream()))
    return wrong(errc::base_length_mismatch, length);
  if (length <= place_.agreed && theirs.prefix_hash != hash_at(length)) return wrong(errc::prefix_mismatch, length);
  return {};
}

[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_hello(std::span<const std::byte> message) noexcept {
  const result<hello_name> name = name_of(message);
  if (!name) return on_misfit(name.error());
  if (!(*name == name_)) return drop(errc::unexpected_message);
  // a repeated hello
  if (state_ != edge_state::handshaking) return on_misfit({errc::unexpected_message, part::session, 0});
  const result<hello_message> read = decode_hello(message);
  if (!read) return fail(read.error());
  const hello_message& theirs = *read;
  if (const status why = check_hello(theirs); !why.ok()) return fail(why);
  state_.take(message_kind::hello);
  link_is_back();
  deadline_.reset();
  noise_ = noise_of(theirs);
  std::uint8_t& check_bits = drafter_.facts.format.check_bits;  // as our hello requested
  check_bits = std::max(check_bits, theirs.format.check_bits);
  drafter_.facts.format.ids = theirs.format.ids;
  if (theirs.length > furthest_) {
    furthest_ = theirs.length;
    in_vain_ = 0;
  }
  if (place_.is_cancelled()) return in_step();
  if (theirs.length > place_.agreed && !(place_.is_over() && is_stream())) {
    begin_fetch(theirs);
    return {};
  }
  place_.round = theirs.round;
  if (theirs.length < place_.agreed) {
    state_.enter<edge_event::send_text, edge_state::handshaking>();
    pieces_.begin(theirs.length, theirs.prefix_hash, place_.agreed);
    return {};
  }
  // the text ended with a stop token that only the cloud lists, and the verdict with this token did not arrive
  const auto stop = static_cast<stop_reason>(last_verdict(theirs).stop);
  if (stop == stop_reason::stop_token && !place_.is_over() && theirs.length == place_.agreed) {
    if (place_.pending() > 0) return fail({errc::base_length_mismatch, part::session, theirs.length});
    return end();
  }
  return in_step();
}

//! Continues from this side's state when both sides have the same text.
SPECVERIFY_BODY status edge_session::in_step() noexcept {
  if (place_.is_over()) return finish();
  if (is_stream()) {
    state_.enter<edge_event::stream>();
    await_answer();
    return {};
  }
  if (drafts_.complete) return send_draft();
  state_.enter<edge_event::draft>();
  return drafts_.open ? status{} : begin_round();
}

//! Handles a refusal. Only a refusal of this connection's hello counts, because a broker can deliver refusals of
//! earlier connections.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_refusal(std::span<const std::byte> message) noexcept {
  result<refuse_message> read = decode_refuse(name_, message);
  const bool is_named = read.ok();
  if (!read) read = decode_refuse({}, message);
  if (!read) return drop(errc::unexpected_message);
  const status& reason = read->reason;
  if (reason.code == errc::no_handshake)
    return state_ == edge_state::handshaking ? drop(errc::unexpected_message) : shake_again();
  if (!is_named) return drop(errc::unexpected_message);
  state_.take(message_kind::refuse);
  if (place_.is_cancelled()) {  // the cloud no longer has the session, as the host wanted
    leave_connection();
    state_.enter<edge_event::agree>();
    write_journal(place_.length);
    emit_end();
    return {};
  }
  refusal_ = reason;
  const bool has_name = reason.code == errc::unverified_text || reason.code == errc::unknown_session;
  if (has_name) return fail({reason.code, part::session, reason.where});
  return fail({errc::refused_by_peer, part::session, static_cast<std::uint32_t>(reason.code)});
}

//! Ends the session with an error. Reports the error to the cloud unless the cloud refused the session or cannot be
//! reached.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::fail(status why) noexcept {
  const bool tells = is_connected() && refusal_.ok() && why.code != errc::link_lost;
  leave_connection();
  state_.enter<edge_event::fail>();
  ahead_.stop();
  row_wanted_ = row_stale_ = false;
  if (const std::size_t bytes = tells ? encode_refusal(why) : 0; bytes != 0) {
    statistics_.refusals += 1;
    send(bytes);
  }
  outputs_.push({.action = session_action::failed, .reason = why});
  return why;
}

SPECVERIFY_BODY status edge_session::engine_failed(status why) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (why.ok()) why = {errc::engine_failed, part::host, 0};
  return fail(why);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
