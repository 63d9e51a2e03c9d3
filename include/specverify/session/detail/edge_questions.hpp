// SPDX-License-Identifier: Apache-2.0
//! The edge's questions: sending, asking again.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_QUESTIONS_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_QUESTIONS_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/edge_session.hpp>

#include <algorithm>
#include <cstddef>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

SPECVERIFY_BODY status edge_session::ask(question what) noexcept {
  question_.what = what;
  question_.progress();
  return transmit();
}

//! Whether the cloud's hello repeats ours: on other terms it would write another text. Its context is its own, and it
//! gives the guarantee as format and rule support it.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::check_hello(const detail::incoming& message) const noexcept {
  const result<hello_message> theirs = decode_hello(message.bytes);
  if (!theirs || theirs->prompt_length != place_.prompt_length ||
      detail::difference(*theirs, terms(place_.prompt_length)) != detail::term::none)
    return {errc::options_disagree, part::session, 0};
  return check_stop_tokens(stop_tokens_hash(*theirs));
}

SPECVERIFY_BODY result<std::span<std::byte>> edge_session::encode() noexcept {
  const std::span<std::byte> out(message_);
  question_.context = context();
  switch (question_.what) {
    case question::hello:
      return encode_hello(hello_of(terms(place_.prompt_length)), out);
    case question::resume:
      question_.context = place_.context_at(state_ == edge_state::fetching_text ? peer_.round : place_.round,
                                            place_.agreed, place_.epoch == 0 ? peer_.nonce : place_.hash, next_number_);
      return encode_resume({question_.context}, out);
    case question::text: {
      const std::uint32_t from = peer_.length, count = std::min(options_.text_chunk, place_.agreed - from);
      question_.context = place_.context_at(place_.round, from, hash_at(from), next_number_);
      return encode_text(question_.context, format(), {from, text().subspan(from, count)}, out);
    }
    case question::draft:
      if (const std::size_t ready = question_.prepared; ready != 0) {
        question_.prepared = 0;
        return out.first(ready);
      }
      if (kept_.any()) return kept_.message(question_.context, out);
      return drafts_.encode(question_.context, format(), attachments(), out);
    case question::supply:
      return encode_supply(question_.context, format(), drafts_.size, hidden_.supply(drafts_.size), out);
    case question::stop: {
      question_.context = place_.end_context(next_number_);
      const stop_cause own = place_.stop == stop_reason::stop_token ? stop_cause::stop_token : stop_cause::budget;
      const stop_cause cause = place_.is_cancelled() ? question_.cause : own;
      return encode_stop(question_.context, {cause, place_.agreed, place_.hash}, out);
    }
    case question::none:
      break;
  }
  return status{errc::unexpected_message, part::session, 0};
}

SPECVERIFY_BODY result<std::span<std::byte>> detail::edge_drafts::encode(const wire_context& context,
                                                                         const wire_format& format,
                                                                         const draft_attachments& attachments,
                                                                         std::span<std::byte> out) const noexcept {
  if (carries_claims(format.format))
    return encode_claims(context, format, std::span<const claimed_draft>(tokens_).first(size), attachments, out);
  return encode_draft(context, format, with_laws_.drafts(), attachments, out);
}

SPECVERIFY_BODY result<std::size_t> detail::edge_drafts::bytes(const wire_format& format) const noexcept {
  draft_attachments plain;
  plain.resolution = resolution;
  return draft_bytes(format, with_laws_.drafts(), plain);
}

SPECVERIFY_BODY status edge_session::transmit() noexcept {
  const result<std::span<std::byte>> bytes = encode();
  if (!bytes) return fail(bytes.error());
  const std::size_t written = bytes->size();
  contexts_.remember(question_.context);
  const result<message_header> header = peek_header(*bytes);
  if (!header) return fail(header.error());
  question_.checksum = header->checksum;
  const bool first = question_.attempts == 0;
  if (question_.what == question::draft && first) open_round_.draft_bytes = written;
  if (question_.what == question::supply && first && hidden_.fresh) open_round_.supply_bytes += written;
  if (question_.what == question::draft && open_round_.sent == 0) open_round_.sent = now_;
  send(written);
  question_.wait(now_, options_.retry_timeout);
  return {};
}

SPECVERIFY_BODY void edge_session::send(std::size_t written) noexcept {
  count_transmission();
  statistics_.messages_up += 1;
  statistics_.bytes_up += written;
  outputs_.push({.action = session_action::send, .bytes = std::span<const std::byte>(message_).first(written)});
}

[[gnu::cold]] SPECVERIFY_BODY status edge_session::ask_again() noexcept {
  question_.attempts += 1;
  question_.hurries = 0;
  const std::uint32_t attempts = question_.attempts;
  if (attempts > options_.retry_limit) return fail({errc::peer_timeout, part::session, attempts});
  statistics_.retransmissions += 1;
  if (options_.loss_after != 0 && attempts >= options_.loss_after) {
    if (const status why = lose_link(); !why.ok()) return why;
  }
  if (state_ == edge_state::streaming) question_.what = question::resume;
  if (attempts % 8 == 0) begin_anew();
  return transmit();
}

//! Damage, most likely of the answer to the open question: asks again at once, but not more often than deadlines would.
//! Where there are none, up to the retry limit: then nothing is lost, and the answer itself will come. A cloud refuses
//! so many times and no more, until it hears a question that it can use.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::hurry() noexcept {
  question_.hurries += 1;
  statistics_.retransmissions += 1;
  if (state_ == edge_state::streaming) question_.what = question::resume;
  if (options_.retry_timeout == 0 && question_.hurries % detail::refusals_per_record == 0) begin_anew();
  return transmit();
}

//! The cloud may not know this context, or take our numbers for late ones: says where we stand, in a new epoch.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::begin_anew() noexcept {
  if (place_.epoch == 0) {  // known by the next nonce
    peer_.nonce += peer_.nonce + 1 != 0 ? 1 : 0;
    return;
  }
  begin_epoch(detail::next_epoch(place_.epoch));
  if (question_.what == question::hello) return;
  question_.what = question::resume;
  state_.enter<edge_event::new_epoch>();
}

//! Text that is being fetched and is not whole was neither journaled nor told: goes back to where that began.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::forget_fetch() noexcept {
  if (state_ != edge_state::fetching_text) return;
  const std::uint32_t start = peer_.fetch_start;
  place_.stand_at(peer_.fetch_own, start, hash_at(start));
}

//! Goes on in another epoch, which forgets the numbers of the one before.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::begin_epoch(std::uint32_t epoch) noexcept {
  forget_fetch();
  place_.epoch = epoch;
  heard_ = {};
  if (place_.length > 0) write_journal(place_.length);
}

SPECVERIFY_BODY status edge_session::tick(session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  begin_input(now);
  if (const auto& deadline = question_.deadline; deadline.has_value() && now >= *deadline) {
    statistics_.timeouts += 1;
    return ask_again();
  }
  if (!ahead_.deadline.has_value() || now < *ahead_.deadline) return {};
  ahead_.deadline.reset();
  ahead_.writing = true;
  return want_row(ahead());
}

SPECVERIFY_BODY status edge_session::reconnect(session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  begin_input(now);
  if (state_ == edge_state::drafting) {
    link_.names_again = true;
    return {};
  }
  if (!question_.is_open() && state_ != edge_state::streaming) return {};
  // Of what the lost transport carried nothing is known, and the cloud may have another life: a new epoch forgets it.
  const bool greets = state_ == edge_state::greeting || state_ == edge_state::resuming;
  begin_anew();
  return greets ? ask_again() : ask(question::resume);
}

[[gnu::cold]] SPECVERIFY_BODY status edge_session::fail(status why) noexcept {
  const bool began = state_ != edge_state::idle;
  state_.enter<edge_event::fail>();
  failure_ = why;
  question_.close();
  ahead_.stop();
  row_wanted_ = false;
  if (began) tell_failure();
  outputs_.push({.action = session_action::failed, .reason = why});
  return why;
}

//! The context of a refusal that ends this life, of either side: in epoch 0 its nonce tells it from others.
[[gnu::cold]] SPECVERIFY_BODY wire_context edge_session::own_end() const noexcept {
  wire_context end = place_.end_context(next_number_);
  if (end.epoch == 0) end.prefix_hash = peer_.nonce;
  return end;
}

//! Names the failure to the cloud, unless that knows it, or the transport is gone. No answer follows.
[[gnu::cold]] SPECVERIFY_BODY void edge_session::tell_failure() noexcept {
  if (!refusal_.ok() || failure_.code == errc::link_lost) return;
  if (const auto bytes = detail::encode_refusal(own_end(), failure_, message_)) send(bytes->size());
}

SPECVERIFY_BODY status edge_session::engine_failed(status why) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (why.ok()) why = {errc::engine_failed, part::host, 0};
  return fail(why);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
