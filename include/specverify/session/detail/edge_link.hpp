// SPDX-License-Identifier: Apache-2.0
//! The edge's questions: sending, asking again, the end.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_LINK_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_LINK_HPP

#include <specverify/session/edge.hpp>

#include <algorithm>

SPECVERIFY_NAMESPACE_BEGIN

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::ask(question what, session_time now) noexcept {
  question_ = what;
  attempts_ = 0;
  return transmit(now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::encode(std::size_t& written) noexcept {
  const std::span<std::byte> out(message_);
  switch (question_) {
    case question::hello: {
      hello_message hello;
      hello.context = question_context_ = context_at(round_, base_, hash_);
      hello.fingerprint_low = options_.fingerprint.low;
      hello.fingerprint_high = options_.fingerprint.high;
      hello.strength = options_.draw_from_row
                           ? guarantee::lossy
                           : std::min(Skip::strength, detail::strength_of(options_.format, options_.rule));
      hello.rule = options_.rule;
      hello.threshold = options_.rule == wire_rule::semantic ? options_.threshold : 0.0;
      hello.bonus = options_.bonus;
      hello.mode = static_cast<std::uint8_t>(options_.mode);
      hello.prompt_length = prompt_length_;
      hello.token_budget = text_limit() - prompt_length_;
      hello.format = options_.format;
      hello.temperature = options_.transform.temperature;
      hello.truncation = options_.transform.truncation;
      return encode_hello(hello, out, written);
    }
    case question::resume:
      question_context_ =
          context_at(state_ == edge_state::fetching_text ? peer_round_ : round_, base_, epoch_ == 0 ? nonce_ : hash_);
      return encode_resume({question_context_}, out, written);
    case question::text: {
      const std::uint32_t count = std::min(options_.text_chunk, base_ - peer_length_);
      question_context_ = context_at(round_, peer_length_, prefix_hash(text().first(peer_length_)));
      return encode_text(question_context_, options_.format, {peer_length_, text().subspan(peer_length_, count)}, out,
                         written);
    }
    case question::draft:
      question_context_ = context_at(round_, base_, hash_);
      if (detail::carries_claims(options_.format.format)) {
        return encode_claims(question_context_, options_.format,
                             std::span<const claimed_draft>(claims_).first(drafted_), out, written, attachments());
      }
      if (options_.draw_from_row)
        return encode_draft(question_context_, options_.format, foreign_.drafts(), out, written, attachments());
      return encode_draft(question_context_, options_.format, block_.drafts(), out, written, attachments());
    case question::supply:
      question_context_ = context_at(round_, base_, hash_);
      return encode_hidden_supply(out, written);
    case question::none:
      break;
  }
  return {errc::unexpected_message, part::session, 0};
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::transmit(session_time now) noexcept {
  std::size_t written = 0;
  if (const status why = encode(written); !why.ok()) return fail(why);
  next_number_ = static_cast<std::uint8_t>((next_number_ + 1) & 15);
  memory_.remember(question_context_);
  message_header header;
  const std::span<const std::byte> bytes = std::span<const std::byte>(message_).first(written);
  if (const status why = peek_header(bytes, header); !why.ok()) return fail(why);
  question_checksum_ = header.checksum;
  if (question_ == question::draft && attempts_ == 0) open_round_.draft_bytes = written;
  if (question_ == question::supply && attempts_ == 0 && fresh_supply_) open_round_.supply_bytes += written;
  if (question_ == question::draft && open_round_.sent == 0) open_round_.sent = now;
  statistics_.messages_up += 1;
  statistics_.bytes_up += written;
  session_output out;
  out.action = session_action::send;
  out.bytes = bytes;
  outputs_.push(out);
  deadline_.reset();
  if (options_.retry_timeout != 0) deadline_ = now + options_.retry_timeout;
  return {};
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::ask_again(session_time now) noexcept {
  if (++attempts_ > options_.retry_limit) return fail({errc::peer_timeout, part::session, attempts_});
  statistics_.retransmissions += 1;
  if (options_.loss_after != 0 && attempts_ >= options_.loss_after) {
    if (const status why = lose_link(now); !why.ok()) return why;
  }
  if (state_ == edge_state::streaming) question_ = question::resume;
  // the cloud may not know this context: say where we stand, in a new epoch
  if (attempts_ % 8 == 0 && question_ != question::hello && epoch_ != 0) {
    begin_epoch(epoch_ + 1);
    question_ = question::resume;
    state_ = edge_state::resuming;
  }
  return transmit(now);
}

//! Goes on in another epoch. Text that is being fetched and is not whole was never journaled: that begins again.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::begin_epoch(std::uint32_t epoch) noexcept {
  if (state_ == edge_state::fetching_text) {
    length_ = base_ = fetch_start_;
    hash_ = prefix_hash(text());
  }
  epoch_ = epoch;
  if (length_ > 0) write_journal(length_);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::tick(session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  record_used_ = 0;
  if (deadline_.has_value() && now >= *deadline_) {
    statistics_.timeouts += 1;
    return ask_again(now);
  }
  if (!ahead_at_.has_value() || now < *ahead_at_) return {};
  ahead_at_.reset();
  ahead_row_ = true;
  return want_row(ahead());
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::reconnect(session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  record_used_ = 0;
  if (state_ == edge_state::drafting) {
    announce_ = true;
    return {};
  }
  if (state_ == edge_state::greeting || state_ == edge_state::resuming) return ask_again(now);
  if (!waiting() && state_ != edge_state::streaming) return {};
  state_ = edge_state::resuming;
  return ask(question::resume, now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::fail(status why) noexcept {
  state_ = edge_state::failed;
  question_ = question::none;
  row_wanted_ = ahead_row_ = false;
  deadline_.reset();
  ahead_at_.reset();
  session_output out;
  out.action = session_action::failed;
  out.reason = why;
  outputs_.push(out);
  return why;
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::engine_failed(status why) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  return fail(why);
}

//! The end: tells the cloud (no answer is expected) and the host.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::finish(bool tell) noexcept {
  state_ = edge_state::finished;
  question_ = question::none;
  deadline_.reset();
  ahead_at_.reset();
  std::size_t written = 0;
  const stop_message stop{stop_ == stop_reason::stop_token ? stop_cause::stop_token : stop_cause::budget};
  if (tell && encode_stop(context_at(round_, base_, hash_), stop, message_, written).ok()) {
    next_number_ = static_cast<std::uint8_t>((next_number_ + 1) & 15);
    statistics_.messages_up += 1;
    statistics_.bytes_up += written;
    session_output out;
    out.action = session_action::send;
    out.bytes = std::span<const std::byte>(message_).first(written);
    outputs_.push(out);
  }
  session_output out;
  out.action = session_action::finished;
  out.stop = stop_;
  out.position = length_;
  outputs_.push(out);
  return {};
}

SPECVERIFY_NAMESPACE_END

#include <specverify/session/detail/edge_answers.hpp>

#endif
