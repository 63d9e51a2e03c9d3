// SPDX-License-Identifier: Apache-2.0
//! What the edge does with a message: classify, greet, take text, take a refusal.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_ANSWERS_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_ANSWERS_HPP

#include <specverify/session/edge.hpp>

SPECVERIFY_NAMESPACE_BEGIN

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::drop(errc code) noexcept {
  detail::count_fault(statistics_, code);
  return {code, part::session, 0};
}

//! A damaged message: most likely the answer to the open question, so the question is asked again at once.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::on_damage(errc code, session_time now) noexcept {
  const bool streams = state_ == edge_state::streaming && !waiting();
  detail::count_fault(statistics_, code);
  if (streams || (waiting() && state_ != edge_state::streaming)) {
    if (const status why = ask_again(now); !why.ok()) return why;
  }
  return {code, part::session, 0};
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::receive(std::span<const std::byte> message,
                                                             session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  record_used_ = 0;
  statistics_.messages_down += 1;
  statistics_.bytes_down += message.size();
  message_header header;
  if (const status why = peek_header(message, header); !why.ok())
    return on_damage(why.code == errc::truncated ? errc::truncated : errc::checksum_mismatch, now);
  errc why_not = errc::ok;
  const wire_context mine = context_at(round_, base_, hash_);
  switch (header.kind) {
    case message_kind::hello:
    case message_kind::resume: {
      const bool is_hello = header.kind == message_kind::hello;
      hello_message hello;
      resume_message resume;
      const status read = is_hello ? decode_hello(message, hello) : decode_resume(message, resume);
      if (!read.ok()) return on_damage(read.code == errc::truncated ? errc::truncated : errc::checksum_mismatch, now);
      const wire_context& peer = is_hello ? hello.context : resume.context;
      if (peer.session_id != options_.session_id) return drop(errc::unexpected_message);
      if (peer.epoch < epoch_) return drop(errc::stale_epoch);
      const bool awaited = question_ == question::resume || question_ == question::text ||
                           question_ == question::supply || (is_hello && question_ == question::hello);
      if (!awaited)
        return drop(heard_.look(header.flags) == detail::arrival::duplicate ? errc::duplicate
                                                                            : errc::unexpected_message);
      if (!heard_.take(header.flags, why_not)) return drop(why_not);
      return on_greeting(peer, is_hello, now);
    }
    case message_kind::refuse:
      return on_refusal(message, header, now);
    case message_kind::feedback:
    case message_kind::request:
      if ((question_ == question::draft || question_ == question::supply) &&
          detail::belongs_to(question_context_, message, header)) {
        if (!heard_.take(header.flags, why_not)) return drop(why_not);
        return header.kind == message_kind::feedback ? on_feedback(message, now) : on_request(message, now);
      }
      break;
    case message_kind::text:
      if ((question_ == question::resume && detail::belongs_to(question_context_, message, header)) ||
          (options_.mode == session_mode::stream && state_ != edge_state::finished &&
           detail::belongs_to(mine, message, header))) {
        if (!heard_.take(header.flags, why_not)) return drop(why_not);
        return on_text(message, header, now);
      }
      break;
    default:
      break;
  }
  if (const wire_context* then = memory_.find(message, header); then != nullptr) {
    return drop(heard_.look(header.flags) == detail::arrival::duplicate ? errc::duplicate
                                                                        : detail::why_stale(mine, *then));
  }
  return on_damage(errc::checksum_mismatch, now);
}

//! The cloud said where it stands.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::on_greeting(const wire_context& peer, bool,
                                                                 session_time now) noexcept {
  link_is_back();
  if (++greetings_ > 64) return fail({errc::unexpected_message, part::session, greetings_});
  if (epoch_ == 0) {
    epoch_ = peer.epoch;
    nonce_ = 0;
  } else if (peer.epoch > epoch_) {
    if (peer.epoch >= 0xFFFF0000u) return fail({errc::field_out_of_range, part::session, peer.epoch});
    begin_epoch(peer.epoch + 1);
    state_ = edge_state::resuming;
    return ask(question::resume, now);
  }
  if (peer.base_length > peer_length_) greetings_ = 0;
  peer_length_ = peer.base_length;
  peer_round_ = peer.round;
  // nobody has the prompt
  if (length_ < prompt_length_ && peer_length_ < prompt_length_)
    return fail({errc::unknown_session, part::session, peer_length_});
  if (peer_length_ <= base_) {
    if (peer.prefix_hash != (peer_length_ == base_ ? hash_ : prefix_hash(text().first(peer_length_))))
      return fail({errc::prefix_mismatch, part::session, peer_length_});
    if (peer_length_ == base_) {
      if (peer_round_ > round_) round_ = peer_round_;
      return in_step(now);
    }
    state_ = edge_state::sending_text;
    return ask(question::text, now);
  }
  // One round ahead: the cloud holds the verdict of the round that is open here.
  if (options_.mode == session_mode::draft && round_ != 0 && peer_round_ == round_ + 1) return in_step(now);
  if (peer_length_ > text_limit() || pending() > 0)
    return fail({errc::base_length_mismatch, part::session, peer_length_});
  if (state_ != edge_state::fetching_text) {
    discard_draft();
    fetch_start_ = length_;
  }
  target_length_ = peer_length_;
  target_hash_ = peer.prefix_hash;
  state_ = edge_state::fetching_text;
  return ask(question::resume, now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::in_step(session_time now) noexcept {
  greetings_ = 0;
  announce_ = false;
  question_ = question::none;
  deadline_.reset();
  if (stop_ != stop_reason::none) return finish(true);
  if (options_.mode == session_mode::stream) {
    state_ = edge_state::streaming;
    if (options_.retry_timeout != 0) deadline_ = now + options_.retry_timeout;
    return {};
  }
  if (!block_complete_) return begin_round(now);
  state_ = edge_state::waiting;
  return ask(question::draft, now);
}

//! Text that the edge lacks (after a restart without a journal), or the stream.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::on_text(std::span<const std::byte> message,
                                                             const message_header& header, session_time now) noexcept {
  wire_context context = context_at(round_, base_, hash_);
  if (question_ == question::resume && detail::belongs_to(question_context_, message, header))
    context = question_context_;
  text_message value;
  if (const status why = decode_text(context, options_.format, message, received_, value); !why.ok()) return fail(why);
  const auto count = static_cast<std::uint32_t>(value.tokens.size());
  const bool fetches = state_ == edge_state::fetching_text;
  if (epoch_ == 0 || (!fetches && length_ < prompt_length_)) return drop(errc::unexpected_message);
  if (value.position != length_ || count == 0 || pending() > 0) return drop(errc::base_length_mismatch);
  if (count > text_limit() - length_) return fail({errc::base_length_mismatch, part::session, length_ + count});
  link_is_back();
  if (state_ != edge_state::fetching_text) fetch_start_ = length_;
  discard_draft();
  for (std::uint32_t i = 0; i < count; ++i) text_[length_ + i] = value.tokens[i];
  append_text(count);
  attempts_ = 0;
  greetings_ = 0;
  if (state_ == edge_state::fetching_text) {
    if (length_ < target_length_) return ask(question::resume, now);
    if (length_ == target_length_ && hash_ != target_hash_)
      return fail({errc::prefix_mismatch, part::session, length_});
    round_ = peer_round_;
  } else {
    round_ += count;
    statistics_.rounds += count;
  }
  seen_.round = round_;
  seen_.position = length_;
  note_end();
  write_journal(fetch_start_);
  session_output out;
  out.action = session_action::committed;
  out.position = fetch_start_ > prompt_length_ ? fetch_start_ : prompt_length_;
  out.tokens = text().subspan(out.position < length_ ? out.position : length_);
  out.source = token_source::bonus;
  out.stop = stop_;
  statistics_.emitted += out.tokens.size();
  if (!out.tokens.empty()) outputs_.push(out);
  return in_step(now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::on_refusal(std::span<const std::byte> message,
                                                                const message_header& header,
                                                                session_time now) noexcept {
  const wire_context nobody{};
  wire_context session{};
  session.session_id = options_.session_id;
  refuse_message refusal;
  errc why_not = errc::ok;
  const bool from_blank = detail::belongs_to(nobody, message, header);
  if (!from_blank && !detail::belongs_to(session, message, header)) return on_damage(errc::checksum_mismatch, now);
  if (const status why = decode_refuse(from_blank ? nobody : session, message, refusal); !why.ok())
    return on_damage(errc::checksum_mismatch, now);
  if (refusal.reason.code == errc::unknown_session) {
    if (!waiting() || refusal.reason.where != question_checksum_) return drop(errc::unknown_session);
    heard_ = {};
    if (length_ == 0) return fail({errc::unknown_session, part::session, 0});
    state_ = edge_state::greeting;
    return ask(question::hello, now);
  }
  if (!heard_.take(header.flags, why_not)) return drop(why_not);
  if (refusal.reason.code == errc::truncated || refusal.reason.code == errc::checksum_mismatch) {
    if (!waiting()) return drop(errc::unexpected_message);
    return ask_again(now);
  }
  return fail({errc::refused_by_peer, part::session, static_cast<std::uint32_t>(refusal.reason.code)});
}

SPECVERIFY_NAMESPACE_END

#endif
