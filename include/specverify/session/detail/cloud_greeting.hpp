// SPDX-License-Identifier: Apache-2.0
//! What the cloud does with a greeting: take a hello, take a resume, say where it stands.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_GREETING_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_GREETING_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>
#include <specverify/verify/token.hpp>

#include <algorithm>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Whether this cloud serves a session on these terms, which a hello or a journal gives: they stay within its limits,
//! and so within its buffers.
SPECVERIFY_BODY status cloud_session::check_terms(const session_terms& terms,
                                                  std::uint32_t prompt_length) const noexcept {
  const wire_format& format = terms.format;
  const cloud_limits& limits = options_.limits;
  const auto beyond = [](std::uint32_t where) { return status{errc::beyond_limit, part::session, where}; };
  if (const status why = check(format); !why.ok()) return why;
  if (format.format == law_format::token_and_count) return {errc::unsupported, part::session, options_.at_format};
  const std::uint32_t drafts = format.max_draft_length, most = options_.max_text_length;
  if (drafts > limits.max_draft_length) return beyond(options_.at_max_draft_length);
  if (max_draft_entries(format, drafts) > limits.max_law_entries) return beyond(options_.at_max_law_entries);
  if (format.attachments.max_skipped > limits.max_skipped) return beyond(options_.at_max_skipped);
  if (std::uint64_t{hidden_bytes(format.attachments)} * drafts > limits.max_hidden_bytes)
    return beyond(options_.at_max_hidden_bytes);
  if (longest_message(format, options_.text_chunk) > limits.max_message_bytes)
    return beyond(options_.at_max_message_bytes);
  if (terms.text_chunk > options_.text_chunk) return beyond(options_.at_text_chunk);
  const auto space = [&](const row_transform& transform) {
    return verify_workspace_size(format.vocab_size, transform, limits.max_draft_length);
  };
  if (detail::reads_laws(terms) && space(detail::transform_of(terms)) > space(options_.transform))
    return beyond(options_.at_truncation);
  if (prompt_length > most || terms.token_budget > most - prompt_length) return beyond(options_.at_max_text_length);
  return {};
}

SPECVERIFY_BODY status cloud_session::check_hello(const hello_message& hello) const noexcept {
  if (hello.format.vocab_size != options_.vocab_size)
    return {errc::vocabulary_mismatch, part::session, options_.at_vocab_size};
  if (hello.fingerprint_low != options_.fingerprint.low || hello.fingerprint_high != options_.fingerprint.high)
    return {errc::fingerprint_mismatch, part::session, 0};
  // What the edge says counts only as far as the format supports it: drafts with laws need an honest drafter.
  if (std::min(hello.strength, detail::strength_of(hello.format, hello.rule)) < options_.required)
    return {errc::guarantee_too_weak, part::session, 0};
  if (const status why = check_stop_tokens(stop_tokens_hash(hello)); !why.ok()) return why;
  if (hello.prompt_length == 0) return {errc::prompt_empty, part::session, 0};
  if (const status why = check_terms(hello, hello.prompt_length); !why.ok()) return why;
  if (hello.context.base_length < hello.prompt_length)
    return {errc::base_length_mismatch, part::session, hello.context.base_length};
  if (hello.context.base_length > detail::text_limit(hello.token_budget, hello.prompt_length, options_.max_text_length))
    return {errc::beyond_limit, part::session, options_.at_max_text_length};
  if (hello.context.epoch == 0) return {errc::field_out_of_range, part::session, 0};
  if (!detail::is_round(hello.context.round)) return {errc::field_out_of_range, part::session, hello.context.round};
  return {};
}

//! Text beyond the `own` tokens that this cloud has, or that are the prompt, was verified by nobody whom it knows: an
//! edge may hand it over unless the guarantee has to be unconditional.
SPECVERIFY_BODY status cloud_session::check_claim(std::uint32_t claimed, std::uint32_t own) const noexcept {
  return claimed > own && options_.required == guarantee::unconditional
             ? status{errc::unverified_text, part::session, own}
             : status{};
}

//! Refuses an edge that claims more text than there may be, or, while the cloud lacks the prompt, less than the prompt.
//! Refuses a round that no session has. The session stays as it was. A cancelled one takes no claim.
SPECVERIFY_BODY status cloud_session::check_length(const wire_context& peer) noexcept {
  if (place_.is_cancelled()) return {};
  const std::uint32_t own = place_.length, claimed = peer.base_length;
  const bool lacks_prompt = !place_.has_prompt() && claimed < place_.prompt_length;
  if ((claimed <= own && !lacks_prompt) || (state_ == cloud_state::failed && !gone_)) return {};
  status why = check_claim(claimed, std::max(own, place_.prompt_length));
  if (!detail::is_round(peer.round)) why = {errc::field_out_of_range, part::session, peer.round};
  if (lacks_prompt || claimed - own > remaining()) why = {errc::base_length_mismatch, part::session, claimed};
  if (why.ok()) return {};
  detail::count_fault(statistics_, why.code);
  tell(detail::end_of(peer), why);
  return why;
}

SPECVERIFY_BODY void cloud_session::begin_session(const hello_message& hello,
                                                  const detail::incoming& message) noexcept {
  place_ = detail::text_place{hello.context.session_id, hello.context.epoch, hello.context.round, hello.prompt_length};
  terms_ = hello;
  kept_ = {};
  target_ = {};
  nonce_ = 0;
  source_.key = derive_verdict_key(options_.secret, hello.context.session_id, options_.salt);
  next_number_ = message.flags;  // ahead of what an earlier life of this cloud may have sent
  heard_ = {};
  refusal_ = {};
  stopped_ = gone_ = false;
  state_.enter<cloud_event::meet, cloud_state::blank>();
}

SPECVERIFY_BODY status cloud_session::on_hello(const detail::incoming& message) noexcept {
  const result<hello_message> read = decode_hello(message.bytes);
  if (!read) return on_unreadable(read.error(), message);
  const hello_message& hello = *read;
  const wire_context& peer = hello.context;
  if (state_ == cloud_state::blank) {
    if (peer.session_id == place_.session_id && peer.epoch < place_.epoch) return answer_stale();
    status why = check_hello(hello);
    if (why.ok()) why = check_claim(peer.base_length, hello.prompt_length);
    if (!why.ok()) {
      refuse(detail::end_of(peer), why);
      return why;
    }
    begin_session(hello, message);
  } else if (peer.session_id != place_.session_id || !(hello.format == terms_.format)) {
    return on_stranger(peer);
  }
  const std::uint32_t epoch = place_.epoch;
  if (const status why = accept_epoch(peer); !why.ok()) return why;
  const errc why = heard_.take(message.flags);
  // In doubt an edge is told the end: a number that came before may be of a life that lists none.
  peer_lists_stops_ = stop_tokens_hash(hello).has_value() && (peer_lists_stops_ || why == errc::ok);
  return follow_greeting(peer, message, epoch, why);
}

//! An edge without a journal; the nonce is its clock. An older one is answered.
SPECVERIFY_BODY status cloud_session::accept_nonce(std::uint64_t nonce) noexcept {
  if (nonce < nonce_) return answer_stale();
  heard_.known = false;
  if (nonce == nonce_) return {};
  nonce_ = nonce;
  recovers_ = true;
  contexts_.remember(awaited());
  // ahead of every epoch that its forgotten lives can have begun; the edge begins the next one
  place_.epoch = detail::next_epoch(place_.epoch, 1024);
  heard_ = {};
  return {};
}

//! Whether a greeting finds the session open, or opens it again: for a new life of an edge that said stop and has
//! forgotten it, or that said that it failed.
SPECVERIFY_BODY bool cloud_session::reopens(std::uint32_t earlier_epoch) noexcept {
  const bool anew = place_.epoch != earlier_epoch;
  if (place_.is_cancelled()) return false;
  if (state_ == cloud_state::failed) {
    if (!gone_) return false;  // else the epoch is one that the life which failed has not begun
    gone_ = false;
    refusal_ = {};
    state_.enter<cloud_event::reopen, cloud_state::failed>();
    if (place_.length >= target_.length) settle();
  } else if (state_ == cloud_state::finished && !place_.is_over() && anew) {
    stopped_ = false;
    settle();
  }
  return true;
}

SPECVERIFY_BODY status cloud_session::on_resume(const detail::incoming& message) noexcept {
  const result<resume_message> resume = decode_resume(message.bytes);
  if (!resume) return on_unreadable(resume.error(), message);
  const wire_context& peer = resume->context;
  if (state_ == cloud_state::blank) {
    // an edge process that was not heard of before
    if (peer.session_id != place_.session_id || peer.epoch > place_.epoch) {
      place_.session_id = peer.session_id;
      place_.epoch = peer.epoch;
      heard_ = {};
    }
    return on_unknown(message);
  }
  if (peer.session_id != place_.session_id) return on_stranger(peer);
  const std::uint32_t epoch = place_.epoch;
  // of an edge that forgot its text: it has less than the prompt, or, in round 0, has not heard how much text there is
  const bool has_no_text =
      peer.base_length < place_.prompt_length || (peer.round == 0 && peer.base_length < place_.length);
  if (fills() && has_no_text) {  // nobody has the rest of the text
    detail::count_fault(statistics_, errc::unknown_session);
    tell({}, {errc::unknown_session, part::session, message.checksum});
    return {errc::unknown_session, part::session, place_.length};
  }
  if (const status why = peer.epoch != 0 ? accept_epoch(peer) : accept_nonce(peer.prefix_hash); !why.ok()) return why;
  return follow_greeting(peer, message, epoch, heard_.take(message.flags));
}

//! A greeting whose epoch was taken. `number`: what its number says.
SPECVERIFY_BODY status cloud_session::follow_greeting(const wire_context& peer, const detail::incoming& message,
                                                      std::uint32_t earlier_epoch, errc number) noexcept {
  if (number != errc::ok) return greet_again(peer, message, drop(number));
  state_.take(message.kind);
  if (!reopens(earlier_epoch)) return closed(peer);
  if (engine_works()) {
    owed_ = message.kind;
    return {};
  }
  if (state_ == cloud_state::requesting) abandon();
  if (peer.epoch != 0) aim_at(peer);
  if (message.kind == message_kind::hello || !wants_text(peer)) return greet(message.kind, peer);
  if (!has_prefix(peer)) return fail({errc::prefix_mismatch, part::session, peer.base_length});
  return send_text(peer, peer.base_length);
}

//! Whether a resume asks for text. In a stream each token is a round: any but the 0 of an edge that has not heard how
//! much text there is.
SPECVERIFY_BODY bool cloud_session::wants_text(const wire_context& peer) const noexcept {
  return peer.epoch != 0 && peer.base_length < place_.length &&
         (peer.round == place_.round || (detail::streams(terms_) && peer.round != 0));
}

//! A greeting of this epoch with a number that came before. It is a copy, or of another life of the edge, which has
//! forgotten this epoch and counts from 0: whoever it is hears where this side stands, or has the text that it asks
//! for. A verdict that the engine works on is not for another life.
[[gnu::cold]] SPECVERIFY_BODY status cloud_session::greet_again(const wire_context& peer,
                                                                const detail::incoming& message, status late) noexcept {
  heard_.note_again(message.flags);
  if (state_ == cloud_state::failed || place_.is_cancelled()) return closed(peer);
  if (engine_works()) {
    if (owed_ != message_kind::resume) owed_ = message.kind;
    return late;
  }
  if (state_ == cloud_state::requesting) abandon();
  const bool fetches = message.kind == message_kind::resume && wants_text(peer) && has_prefix(peer);
  if (const status why = fetches ? send_text(peer, peer.base_length) : greet(message.kind, peer); !why.ok()) return why;
  return late;
}

//! Says where we stand; a stream begins, or goes on, behind it. `peer`: the greeting that this answers.
SPECVERIFY_BODY status cloud_session::greet(message_kind kind, const wire_context& peer) noexcept {
  if (knows_end_alone() && peer.base_length == place_.length && peer.prefix_hash == place_.hash) return tell_end();
  status why;
  if (kind == message_kind::hello) {
    hello_message hello = hello_of(terms_);
    hello.strength = detail::strength_of(terms_.format, terms_.rule);
    why = post(encode_hello(hello, message_));
  } else {
    why = post(encode_resume({context()}, message_));
  }
  if (why.ok()) stream_on();
  return why;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
