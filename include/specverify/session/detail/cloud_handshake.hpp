// SPDX-License-Identifier: Apache-2.0
//! Implements the member functions of a cloud for a connection: handshake, received messages, refusals.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_HANDSHAKE_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_HANDSHAKE_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>
#include <specverify/verify/token.hpp>

#include <algorithm>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

SPECVERIFY_BODY void cloud_session::send(std::size_t written) noexcept {
  statistics_.messages_down += 1;
  statistics_.bytes_down += written;
  outputs_.push({.action = session_action::send, .bytes = std::span<const std::byte>(message_).first(written)});
}

SPECVERIFY_BODY status cloud_session::post(const result<std::span<std::byte>>& encoded) noexcept {
  if (!encoded) return fail(encoded.error());
  send(encoded->size());
  return {};
}

[[gnu::cold]] SPECVERIFY_BODY void cloud_session::leave_connection() noexcept {
  shaken_ = false;
  pieces_.close();
  owed_.reset();
}

//! Sends a refusal of the last hello. The state of the session does not change.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::refuse(status reason) noexcept {
  if (const std::size_t bytes = encode_refusal(reason); bytes != 0) {
    statistics_.refusals += 1;
    send(bytes);
  }
  return reason;
}

SPECVERIFY_BODY status cloud_session::fail(status why) noexcept {
  failure_ = refusal_ = why;
  state_.enter<cloud_event::fail>();
  rows_wanted_ = 0;
  leave_connection();
  static_cast<void>(refuse(why));
  outputs_.push({.action = session_action::failed, .reason = why});
  return why;
}

SPECVERIFY_BODY status cloud_session::engine_failed(status why) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  journal_.clear();
  if (why.ok()) why = {errc::engine_failed, part::host, 0};
  return fail(why);
}

SPECVERIFY_BODY status cloud_session::receive(std::span<const std::byte> message, session_time) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  journal_.clear();
  statistics_.messages_up += 1;
  statistics_.bytes_up += message.size();
  const result<message_kind> kind = kind_of(message);
  const bool is_of_before = kind.error().code == errc::unknown_version;  // version 2 may begin with a resume message
  if (is_of_before) return on_hello(message);
  if (!kind) return on_misfit(kind.error());
  if (*kind == message_kind::hello) return on_hello(message);
  if (*kind == message_kind::refuse) return on_refusal(message);
  if (state_ == cloud_state::failed) {
    static_cast<void>(refuse(failure_));
    return drop(errc::session_closed);
  }
  if (!shaken_) {
    static_cast<void>(refuse({errc::no_handshake, part::session, 0}));
    return drop(errc::no_handshake);
  }
  if (detail::taken_in<cloud_table>(state_.now()).has(*kind)) return on_message(*kind, message);
  // the edge sent the message before it received the end of the text
  if (state_ == cloud_state::closing && knows_end_alone()) return drop(errc::unexpected_message);
  return fail({errc::unexpected_message, part::session, static_cast<std::uint32_t>(*kind)});
}

SPECVERIFY_BODY status cloud_session::on_message(message_kind kind, std::span<const std::byte> message) noexcept {
  switch (kind) {
    case message_kind::text:
      return on_text(message);
    case message_kind::draft:
      return on_draft(message);
    case message_kind::supply:
      return on_supply(message);
    default:
      return on_stop(message);
  }
}

//! Handles a message that contradicts the shared state: requests a new handshake.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::on_misfit(status why) noexcept {
  statistics_.corrupt += 1;
  if (shaken_) leave_connection();  // otherwise a hello may be waiting for the engine
  static_cast<void>(refuse({errc::no_handshake, part::session, 0}));
  return why;
}

//! Handles a message that the decoder rejected, because it belongs to a different position, or because no correct edge
//! sends it.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::on_unusable(status why) noexcept {
  return why.code == errc::checksum_mismatch ? on_misfit(why) : fail(why);
}

//! Handles the edge's refusal, which contains the edge's error. A restarted edge can still begin a handshake. A refusal
//! is never answered.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::on_refusal(std::span<const std::byte> message) noexcept {
  const result<refuse_message> read = decode_refuse(name_, message);
  if (!read || !shaken_) return drop(errc::unexpected_message);
  leave_connection();
  refusal_ = read->reason;
  return {errc::refused_by_peer, part::session, static_cast<std::uint32_t>(refusal_.code)};
}

//! Checks whether a hello belongs to this session, or may begin one.
SPECVERIFY_BODY status cloud_session::check_session(const hello_message& hello) const noexcept {
  // The format limits the guarantee that an edge may claim: for example, drafts with distributions need an honest
  // drafter.
  if (std::min(hello.strength, detail::strength_of(hello.format, hello.rule)) < options_.required)
    return {errc::guarantee_too_weak, part::session, 0};
  if (const status why = check_stop_tokens(stop_tokens_hash(hello)); !why.ok()) return why;
  if (state_ != cloud_state::blank) {
    const bool same =
        hello.prompt_length == place_.prompt_length && detail::difference(hello, terms_) == detail::term::none;
    return same ? status{} : status{errc::options_disagree, part::session, 0};
  }
  if (hello.format.vocab_size != options_.vocab_size)
    return {errc::vocabulary_mismatch, part::session, options_.at_vocab_size};
  if (hello.fingerprint_low != options_.fingerprint.low || hello.fingerprint_high != options_.fingerprint.high)
    return {errc::fingerprint_mismatch, part::session, 0};
  if (hello.prompt_length == 0) return {errc::prompt_empty, part::session, 0};
  return check_terms(hello, hello.prompt_length);
}

//! Checks an edge's claim to have `claimed` tokens. This cloud has `own` tokens, at least the prompt. It cannot verify
//! the tokens after these, so it rejects them if the guarantee must be unconditional.
SPECVERIFY_BODY status cloud_session::check_claim(std::uint32_t claimed, std::uint32_t own) const noexcept {
  return claimed > own && options_.required == guarantee::unconditional
             ? status{errc::unverified_text, part::session, own}
             : status{};
}

//! Checks the round, and the length of the text, in an edge's hello. If one side lacks text, the other side must have
//! it.
SPECVERIFY_BODY status cloud_session::check_text(const hello_message& hello) const noexcept {
  const std::uint32_t length = hello.length, prompt = hello.prompt_length;
  if (!detail::is_round(hello.round)) return {errc::field_out_of_range, part::session, hello.round};
  if (length > detail::text_limit(hello.token_budget, prompt, options_.max_text_length))
    return {errc::base_length_mismatch, part::session, length};
  // neither side has the rest of the prompt
  if (length < prompt && (state_ == cloud_state::blank || !is_whole()))
    return {errc::unknown_session, part::session, place_.length};
  return check_claim(length, std::max(place_.length, prompt));
}

SPECVERIFY_BODY void cloud_session::begin_session(const hello_message& hello) noexcept {
  place_ = detail::text_place{hello.session_id, hello.round, hello.prompt_length};
  terms_ = hello;
  if (detail::races(hello) && options_.noise != noise_kind::none) terms_.noise = options_.noise;
  last_ = {};
  target_ = {};
  source_.key = derive_verdict_key(options_.secret, hello.session_id, options_.salt);
  state_.enter<cloud_event::meet, cloud_state::blank>();
}

//! Begins a new connection, in any state. The new connection replaces the previous one.
SPECVERIFY_BODY status cloud_session::on_hello(std::span<const std::byte> message) noexcept {
  const result<hello_name> name = name_of(message);
  if (!name) return on_misfit(name.error());
  statistics_.handshakes += 1;
  const hello_name before = std::exchange(name_, *name);
  if (state_ != cloud_state::blank && name->session_id != place_.session_id) {  // keep the present connection
    const status why = refuse({errc::unexpected_message, part::session, 0});
    name_ = before;
    return why;
  }
  leave_connection();
  const result<hello_message> read = decode_hello(message);
  status why = read.error();
  if (why.ok() && state_ == cloud_state::failed) why = failure_;
  if (why.ok() && place_.is_cancelled()) why = {errc::session_closed, part::session, 0};
  if (why.ok()) why = check_session(*read);
  if (why.ok()) why = check_text(*read);
  if (!why.ok()) {
    refusal_ = why;
    return refuse(why);
  }
  refusal_ = {};
  if (state_ == cloud_state::blank) begin_session(*read);
  state_.take(message_kind::hello);
  const edge_place edge{
      read->round,     read->length,    read->prefix_hash, read->format.check_bits, stop_tokens_hash(*read).has_value(),
      prior_of(*read), read->format.ids};
  if (!engine_works()) return answer(edge);
  owed_ = edge;  // the verdict comes first, because the response must have the position after the verdict
  return {};
}

//! Chooses the table that the edge's hello names, if this cloud has this table, and the edge's code of ids, if no
//! message with coded ids can be too long. Otherwise the code is `prior` if that fits, or the ids are plain.
SPECVERIFY_BODY void cloud_session::choose_prior(const edge_place& edge) noexcept {
  prior_ = nullptr;
  wire_format& format = terms_.format;
  format.ids = id_code::plain;
  if (!edge.prior.has_value()) return;
  const auto found = std::find_if(priors_.begin(), priors_.end(),
                                  [&](const prior_table* table) { return table->fingerprint() == *edge.prior; });
  if (found == priors_.end()) return;
  wire_format coded = format;
  for (const id_code code : {edge.ids, id_code::prior}) {
    coded.ids = code;
    if (longest_message(coded, options_.text_chunk) > options_.limits.max_message_bytes) continue;
    prior_ = *found;
    format.ids = code;
    return;
  }
}

//! Sends a hello with this side's position. Then the side with more text sends the missing text. If the lengths are
//! equal, both sides continue.
SPECVERIFY_BODY status cloud_session::answer(const edge_place& edge) noexcept {
  const std::uint32_t mine = place_.length;
  if (edge.length <= mine && edge.hash != hash_at(edge.length))
    return refuse(refusal_ = {errc::prefix_mismatch, part::session, edge.length});
  drafts_.open(0, 0);
  if (!is_whole() && edge.length <= mine) {  // the edge has lost text, so it has no more text to send
    target_.length = mine;
    target_.hash = place_.hash;
  }
  place_.round = std::max(place_.round, edge.round);
  shaken_ = true;
  peer_lists_stops_ = edge.lists_stops;
  choose_prior(edge);
  session_terms said = terms_;
  said.strength = detail::strength_of(terms_.format, terms_.rule);
  const std::uint8_t own_bits = detail::wanted_check(options_.check_bits, ordered_and_whole_);
  said.format.check_bits = own_bits;
  terms_.format.check_bits = std::max(own_bits, edge.check_bits);
  verdict_notice last = last_;
  last.stop = static_cast<std::uint8_t>(place_.stop);
  if (const status why = post(encode_own_hello(said, &last, noise().key, prior_)); !why.ok()) return why;
  if (edge.length > mine) {
    target_.length = edge.length;
    target_.hash = edge.hash;
    state_.enter<cloud_event::fill>();
    return {};
  }
  if (edge.length == mine) {
    in_step();
    return {};
  }
  state_.enter<cloud_event::send_text>();
  pieces_.begin(edge.length, edge.hash, mine);
  return {};
}

//! Answers the hello that arrived while the engine worked.
SPECVERIFY_BODY status cloud_session::answer_owed() noexcept {
  const std::optional<edge_place> edge = std::exchange(owed_, std::nullopt);
  return edge.has_value() ? answer(*edge) : status{};
}

//! Continues when both sides have the same text: waits for a draft, or continues the stream.
SPECVERIFY_BODY void cloud_session::in_step() noexcept {
  settle();
  stream_on();
}

//! Enters the next state when this side has all text: the session is over, the text is complete, the stream continues,
//! or a draft must arrive.
SPECVERIFY_BODY void cloud_session::settle() noexcept {
  if (place_.is_cancelled()) return state_.enter<cloud_event::agree>();
  note_end(text_limit());
  if (place_.is_over()) {
    state_.enter<cloud_event::complete>();
  } else if (detail::streams(terms_)) {
    state_.enter<cloud_event::stream>();
  } else {
    state_.enter<cloud_event::in_step>();
  }
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
