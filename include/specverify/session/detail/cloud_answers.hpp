// SPDX-License-Identifier: Apache-2.0
//! The cloud's answers: greet, take text, send text, take a draft.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_ANSWERS_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_ANSWERS_HPP

#include <specverify/session/cloud.hpp>

#include <algorithm>

SPECVERIFY_NAMESPACE_BEGIN

inline errc cloud_session::judge_hello(const hello_message& hello) const noexcept {
  const draft_format& format = hello.format;
  if (format.vocab_size != options_.largest.vocab_size) return errc::vocabulary_mismatch;
  if (hello.fingerprint_low != options_.fingerprint.low || hello.fingerprint_high != options_.fingerprint.high)
    return errc::fingerprint_mismatch;
  // What the edge says counts only as far as the format bears it out: drafts with laws need an honest drafter.
  if (std::min(hello.strength, detail::strength_of(format, hello.rule)) < options_.required)
    return errc::guarantee_too_weak;
  if (format.format == law_format::token_and_count) return errc::unsupported;
  if (format.max_draft_length > claims_.size() || decode_draft_workspace_size(format) > decode_space_.size())
    return errc::unsupported;
  const bool claims = format.format == law_format::token_only;
  if (!claims && max_draft_entries(format, format.max_draft_length) >
                     max_draft_entries(options_.largest, options_.largest.max_draft_length))
    return errc::unsupported;
  if (format.attachments.max_skipped > skipped_ids_.size() ||
      hidden_bytes(format.attachments) * format.max_draft_length > hidden_.size())
    return errc::unsupported;
  // padding
  if (max_control_bytes(format) > message_.size() || text_bytes(format, options_.text_chunk) > message_.size())
    return errc::unsupported;
  if (hello.prompt_length == 0 || hello.prompt_length > options_.max_length) return errc::unsupported;
  if (hello.token_budget > options_.max_length - hello.prompt_length) return errc::unsupported;
  const std::uint32_t limit = hello.token_budget == 0 ? options_.max_length : hello.prompt_length + hello.token_budget;
  return hello.context.base_length > limit ? errc::unsupported : errc::ok;
}

//! An edge that says to have more text than there may be is refused: its text would not fit.
inline status cloud_session::judge_length(const wire_context& peer) noexcept {
  if (peer.base_length <= now_.length || peer.base_length - now_.length <= remaining()) return {};
  const status reason{errc::base_length_mismatch, part::session, peer.base_length};
  detail::count_fault(statistics_, reason.code);
  wire_context session{};
  session.session_id = now_.session_id;
  refuse(session, reason);
  return reason;
}

//! The kept verdict is for the drafts that it was given for: an edge that drafted other tokens after a restart must not
//! commit them.
inline status cloud_session::judge_repeat(const wire_context& kept, std::span<const std::byte> message) noexcept {
  if (round_is_open()) return {};  // another round's drafts are in use, and the edge has gone on
  const bool claims = !carries_laws(now_.format.format);
  std::uint32_t drafts = 0;
  draft_attachments attachments;
  if (const status why = read_draft(kept, message, drafts, attachments); !why.ok()) return why;
  bool same = drafts == now_.kept_drafted && attachments.skipped.size() == now_.kept_skipped;
  const token_id* const then = text_.data() + now_.kept_base;
  for (std::uint32_t i = 0; same && i < now_.kept_skipped; ++i) same = then[i] == attachments.skipped[i];
  for (std::uint32_t i = 0; same && i < now_.kept.accepted; ++i)
    same = then[now_.kept_skipped + i] == (claims ? claims_[i].token : block_[i].token());
  return same ? status{} : status{errc::prefix_mismatch, part::session, now_.kept_base};
}

//! Takes a draft message apart: the drafts go to the claims or to the block.
inline status cloud_session::read_draft(const wire_context& context, std::span<const std::byte> message,
                                        std::uint32_t& drafts, draft_attachments& attachments) noexcept {
  if (!carries_laws(now_.format.format))
    return decode_claims(context, now_.format, message, claims_, drafts, skipped_ids_, attachments);
  workspace space{std::span<std::byte>(decode_space_)};
  if (const status why = decode_draft(context, now_.format, message, space, block_, skipped_ids_, attachments);
      !why.ok())
    return why;
  drafts = block_.size();
  return {};
}

inline status cloud_session::on_hello(std::span<const std::byte> message, const message_header& header,
                                      session_time) noexcept {
  hello_message hello;
  if (const status why = decode_hello(message, hello); !why.ok()) {
    if (why.code != errc::unknown_version)
      return on_damage(why.code == errc::truncated ? errc::truncated : errc::checksum_mismatch);
    refuse({}, why);
    return why;
  }
  const wire_context& peer = hello.context;
  errc why_not = errc::ok;
  if (state_ == cloud_state::blank) {
    if (peer.session_id == now_.session_id && peer.epoch < now_.epoch) return drop(errc::stale_epoch);
    wire_context session{};
    session.session_id = peer.session_id;
    if (const errc code = judge_hello(hello); code != errc::ok) {
      refuse(session, {code, part::session, 0});
      return {code, part::session, 0};
    }
    now_ = {};
    now_.session_id = peer.session_id;
    now_.prefix_hash = prefix_hash_seed;
    now_.format = hello.format;
    now_.temperature = hello.temperature;
    now_.truncation = hello.truncation;
    now_.epoch = peer.epoch;
    now_.round = peer.round;
    now_.prompt_length = hello.prompt_length;
    now_.token_budget = hello.token_budget;
    now_.rule = hello.rule;
    now_.threshold = hello.threshold;
    now_.bonus = hello.bonus;
    now_.mode = static_cast<session_mode>(hello.mode);
    source_.key = derive_session_keys(options_.secret, peer.session_id).verdict;
    now_.next_number = header.flags;  // ahead of what an earlier life of this cloud may have sent
    heard_ = {};
    state_ = cloud_state::filling;
  } else if (peer.session_id != now_.session_id || !(hello.format == now_.format)) {
    return drop(errc::unexpected_message);
  }
  if (!accept_epoch(peer, why_not) || !heard_.take(header.flags, why_not)) return drop(why_not);
  if (state_ == cloud_state::failed) return drop(errc::session_closed);
  if (state_ == cloud_state::evaluating || state_ == cloud_state::judging) {
    owed_ = message_kind::hello;
    return {};
  }
  if (state_ == cloud_state::requesting) abandon();
  if (const status why = judge_length(peer); !why.ok()) return why;
  aim_at(peer);
  return greet(message_kind::hello);
}

inline status cloud_session::on_resume(std::span<const std::byte> message, const message_header& header,
                                       session_time) noexcept {
  resume_message resume;
  if (const status why = decode_resume(message, resume); !why.ok())
    return on_damage(why.code == errc::truncated ? errc::truncated : errc::checksum_mismatch);
  const wire_context& peer = resume.context;
  if (state_ == cloud_state::blank) {
    // an edge process that was not heard of before
    if (peer.session_id != now_.session_id || peer.epoch > now_.epoch) {
      now_.session_id = peer.session_id;
      now_.epoch = peer.epoch;
      heard_ = {};
    }
    return on_unknown(message, header);
  }
  if (peer.session_id != now_.session_id) return drop(errc::unexpected_message);
  const std::uint32_t epoch = now_.epoch;
  errc why_not = errc::ok;
  if (peer.epoch == 0) {  // an edge without a journal; the hash is its clock
    if (peer.prefix_hash < now_.nonce) return drop(errc::stale_epoch);
    if (peer.prefix_hash > now_.nonce) {
      now_.nonce = peer.prefix_hash;
      memory_.remember(context());
      now_.epoch += 1024;  // ahead of every epoch that its forgotten lives can have begun
      heard_ = {};
      statistics_.restarts += 1;
    }
  } else if (!accept_epoch(peer, why_not)) {
    return drop(why_not);
  }
  if (!heard_.take(header.flags, why_not)) return drop(why_not);
  if (state_ == cloud_state::failed) return drop(errc::session_closed);
  if (state_ == cloud_state::evaluating || state_ == cloud_state::judging) {
    owed_ = message_kind::resume;
    return {};
  }
  if (state_ == cloud_state::requesting) abandon();
  if (peer.epoch != 0) {
    if (const status why = judge_length(peer); !why.ok()) return why;
  }
  // A new life of an edge that said stop, and has forgotten it.
  if (state_ == cloud_state::finished && now_.stop == stop_reason::none && now_.epoch != epoch) settle();
  if (peer.epoch != 0) aim_at(peer);
  const bool wants_text = peer.epoch != 0 && peer.base_length < now_.length &&
                          (peer.round == now_.round || now_.mode == session_mode::stream);
  if (!wants_text) return greet(message_kind::resume);
  if (prefix_hash(text().first(peer.base_length)) != peer.prefix_hash)
    return fail({errc::prefix_mismatch, part::session, peer.base_length});
  return send_text(peer, peer.base_length);
}

//! Says where we stand; a stream begins, or goes on, behind it.
inline status cloud_session::greet(message_kind kind) noexcept {
  std::size_t written = 0;
  status encoded;
  if (kind == message_kind::hello) {
    hello_message hello;
    hello.context = context();
    hello.fingerprint_low = options_.fingerprint.low;
    hello.fingerprint_high = options_.fingerprint.high;
    hello.strength = detail::strength_of(now_.format, now_.rule);
    hello.rule = now_.rule;
    hello.threshold = now_.threshold;
    hello.bonus = now_.bonus;
    hello.mode = static_cast<std::uint8_t>(now_.mode);
    hello.prompt_length = now_.prompt_length;
    hello.token_budget = now_.token_budget;
    hello.format = now_.format;
    hello.temperature = now_.temperature;
    hello.truncation = now_.truncation;
    encoded = encode_hello(hello, message_, written);
  } else {
    encoded = encode_resume({context()}, message_, written);
  }
  if (!encoded.ok()) return fail(encoded);
  now_.next_number = static_cast<std::uint8_t>((now_.next_number + 1) & 15);
  write_journal(now_.length);
  send(written);
  if (state_ == cloud_state::streaming && !rows_wanted_) want_rows(0);
  return {};
}

//! Text that the edge lacks, under the context of its question.
inline status cloud_session::send_text(const wire_context& asked, std::uint32_t from) noexcept {
  wire_context numbered = asked;
  numbered.transmission = now_.next_number;
  const std::uint32_t count = std::min(options_.text_chunk, now_.length - from);
  std::size_t written = 0;
  if (const status why = encode_text(numbered, now_.format, {from, text().subspan(from, count)}, message_, written);
      !why.ok())
    return fail(why);
  now_.next_number = static_cast<std::uint8_t>((now_.next_number + 1) & 15);
  write_journal(now_.length);
  send(written);
  if (state_ == cloud_state::streaming && !rows_wanted_) want_rows(0);
  return {};
}

inline status cloud_session::on_text(std::span<const std::byte> message, const message_header& header,
                                     session_time) noexcept {
  const wire_context expected{now_.session_id, now_.epoch, now_.target_round, now_.length, now_.prefix_hash, 0};
  errc why_not = errc::ok;
  if (state_ != cloud_state::filling || !detail::belongs_to(expected, message, header)) {
    const wire_context* then = memory_.find(message, header);
    wire_context earlier = expected;  // a restarted cloud knows the text, and so the context of every piece of it
    if (then == nullptr && header.base_length_low < now_.length) {
      earlier.base_length = now_.length - ((now_.length - header.base_length_low) & 0xFFFFu);
      earlier.prefix_hash = prefix_hash(text().first(earlier.base_length));
      if (detail::belongs_to(earlier, message, header)) then = &earlier;
    }
    if (then == nullptr) return on_damage(errc::checksum_mismatch);
    if (then->epoch != now_.epoch) return drop(errc::stale_epoch);
    if (!heard_.take(header.flags, why_not)) return drop(why_not);
    if (state_ != cloud_state::filling && state_ != cloud_state::ready) return drop(errc::unexpected_message);
    statistics_.repeated_answers += 1;  // we took this text already; the answer was lost
    return greet(message_kind::resume);
  }
  if (!heard_.take(header.flags, why_not)) return drop(why_not);
  text_message value;
  if (const status why = decode_text(expected, now_.format, message, received_, value); !why.ok()) return fail(why);
  const auto count = static_cast<std::uint32_t>(value.tokens.size());
  if (value.position != now_.length || count == 0 || count > now_.target_length - now_.length)
    return fail({errc::base_length_mismatch, part::session, value.position});
  if (now_.length + count == now_.target_length && prefix_hash(value.tokens, now_.prefix_hash) != now_.target_hash) {
    return fail({errc::prefix_mismatch, part::session, now_.target_length});
  }
  memory_.remember(expected);
  const std::uint32_t from = now_.length;
  for (std::uint32_t i = 0; i < count; ++i) text_[from + i] = value.tokens[i];
  append_text(count);
  if (now_.length == now_.target_length) {
    now_.round = now_.target_round;
    settle();
  }
  std::size_t written = 0;
  wire_context mine = context();
  if (state_ == cloud_state::filling) mine.round = now_.target_round;
  if (const status why = encode_resume({mine}, message_, written); !why.ok()) return fail(why);
  now_.next_number = static_cast<std::uint8_t>((now_.next_number + 1) & 15);
  write_journal(from);
  session_output out;
  out.action = session_action::committed;
  out.position = from;
  out.tokens = text().subspan(from);
  out.stop = now_.stop;
  outputs_.push(out);
  send(written);
  if (state_ == cloud_state::streaming && !rows_wanted_) want_rows(0);
  return {};
}

inline status cloud_session::on_draft(std::span<const std::byte> message, const message_header& header) noexcept {
  const wire_context open = context();
  errc why_not = errc::ok;
  if (detail::belongs_to(open, message, header) && (state_ == cloud_state::ready || round_is_open())) {
    if (!heard_.take(header.flags, why_not)) return drop(why_not);
    if (state_ == cloud_state::requesting) {  // the request was lost
      statistics_.repeated_answers += 1;
      return send_request();
    }
    if (round_is_open()) return {};  // asked again while the host works: one answer will do
    draft_attachments attachments;
    if (const status why = read_draft(open, message, drafted_, attachments); !why.ok()) return fail(why);
    skipped_ = static_cast<std::uint32_t>(attachments.skipped.size());
    if (skipped_ >= remaining() && skipped_ > 0)
      return fail({errc::base_length_mismatch, part::session, now_.length + skipped_});
    const bool claims = !carries_laws(now_.format.format);
    std::copy(attachments.skipped.begin(), attachments.skipped.end(), text_.begin() + now_.length);
    for (std::uint32_t i = 0; i < drafted_; ++i)
      text_[draft_position() + i] = claims ? claims_[i].token : block_[i].token();
    std::copy(attachments.hidden.begin(), attachments.hidden.end(), hidden_.begin());
    channel_ = attachments.channel;
    want_rows(drafted_);
    state_ = cloud_state::evaluating;
    return {};
  }
  return on_other_round(message, header);
}

SPECVERIFY_NAMESPACE_END

#endif
