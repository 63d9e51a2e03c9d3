// SPDX-License-Identifier: Apache-2.0
//! What the edge does with a message: classify, greet, take a request or a verdict.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_ANSWERS_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_ANSWERS_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/edge_session.hpp>

SPECVERIFY_NAMESPACE_BEGIN

//! A damaged message: most likely the answer to the open question, so the question is asked again at once.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_damage(errc code) noexcept {
  const bool streams = state_ == edge_state::streaming && !question_.is_open();
  detail::count_fault(statistics_, code);
  const bool waits = streams || (question_.is_open() && state_ != edge_state::streaming);
  if (waits && question_.may_hurry(options_.retry_timeout, options_.retry_limit)) {
    if (const status why = hurry(); !why.ok()) return why;
  }
  return {code, part::session, 0};
}

//! The number of an answer to the open question. Without timers it counts whatever that is: nobody would ask again.
SPECVERIFY_BODY errc edge_session::take_number(std::uint8_t number) noexcept {
  const errc why = heard_.take(number);
  if (why == errc::ok || options_.retry_timeout != 0) return why;
  heard_.note(number);
  return errc::ok;
}

//! Whether a message other than a greeting or a refusal is of the open question, or of the stream.
SPECVERIFY_BODY bool edge_session::is_answer(const detail::incoming& message) const noexcept {
  const question asked = question_.what;
  bool fits = false;
  switch (message.kind) {
    case message_kind::feedback:
    case message_kind::request:
      fits = asked == question::draft || asked == question::supply;
      break;
    case message_kind::text:
      fits = asked == question::draft || asked == question::resume;
      break;
    case message_kind::stop:
      return question_.is_open() && place_.epoch != 0 && detail::belongs_to(place_.end_context(), message);
    default:
      return false;
  }
  if (fits && detail::belongs_to(question_.context, message)) return true;
  if (asked == question::stop) return false;
  const bool has_text = message.kind == message_kind::text || message.kind == message_kind::feedback;
  return has_text && options_.mode == session_mode::stream && state_ != edge_state::finished &&
         detail::belongs_to(context(), message);
}

SPECVERIFY_BODY status edge_session::on_answer(const detail::incoming& message) noexcept {
  const question asked = question_.what;
  const bool streams = options_.mode == session_mode::stream;
  if (streams) {
    // Of a stream any number may be lost in a row; what fits the text is taken, and fits no more.
    heard_.note(message.flags);
  } else if (const errc why = take_number(message.flags); why != errc::ok) {
    return drop(why);
  }
  switch (message.kind) {
    case message_kind::feedback:
      return streams ? on_last(message) : on_feedback(message);
    case message_kind::request:
      return on_request(message);
    case message_kind::stop:
      return on_stop(message);
    default:
      return asked == question::draft ? on_other_drafts() : on_text(message);
  }
}

SPECVERIFY_BODY status edge_session::receive(std::span<const std::byte> bytes, session_time now) noexcept {
  if (is_busy()) return {errc::busy, part::session, 0};
  begin_input(now);
  statistics_.messages_down += 1;
  statistics_.bytes_down += bytes.size();
  const result<message_header> header = peek_header(bytes);
  if (!header) return on_damage(header.error().code == errc::truncated ? errc::truncated : errc::checksum_mismatch);
  const detail::incoming message{*header, bytes};
  if (state_ == edge_state::failed) return after_failure(message);
  if (message.kind == message_kind::hello || message.kind == message_kind::resume) return on_greeting(message);
  if (message.kind == message_kind::refuse) return on_refusal(message);
  if (is_answer(message)) return on_answer(message);
  if (const wire_context* then = contexts_.find(message); then != nullptr) return drop_late(*then, message);
  // a stream that has not heard of the end: its next texts follow some that were not read
  const bool goes_on = options_.mode == session_mode::stream && question_.what == question::stop;
  if (goes_on && (message.kind == message_kind::text || message.kind == message_kind::feedback))
    return drop(errc::unexpected_message);
  return on_damage(errc::checksum_mismatch);
}

//! A greeting that cannot be read. It is damaged, or of another version, or has a field that must be known and is not:
//! as an answer such a one ends the session by its name.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_unreadable(status why, const detail::incoming& message) noexcept {
  if (why.code == errc::truncated || why.code == errc::checksum_mismatch) return on_damage(why.code);
  const wire_context peer = detail::named_by(message);
  if (peer.session_id != options_.session_id) return drop(errc::unexpected_message);
  if (peer.epoch < place_.epoch) return drop(errc::stale_epoch);
  const bool is_answer = awaits(message.kind == message_kind::hello, peer);
  return is_answer ? fail(why) : drop(errc::unexpected_message);
}

//! Whether this side waits to hear where the cloud stands. Of a newer epoch, whatever it has asked.
[[gnu::cold]] SPECVERIFY_BODY bool edge_session::awaits(bool is_hello, const wire_context& peer) const noexcept {
  const question asked = question_.what;
  // The cloud heard another greeting of this epoch while it worked: the verdict, or the token of a stream, is there and
  // was not sent, or the round was given up. A timer would ask for it.
  const bool unasked = options_.retry_timeout == 0, is_further = peer.base_length > place_.length;
  if (asked == question::draft && peer.epoch == place_.epoch)
    return unasked && (is_further || (peer.base_length == place_.agreed && peer.round == place_.round));
  if (is_overtaken(peer)) return question_.is_open();
  if (asked == question::none) return unasked && is_further && state_ == edge_state::streaming;
  const bool is_here = peer.base_length >= place_.agreed;
  if (is_hello) return asked == question::hello || (unasked && asked == question::supply && is_here);
  const bool is_news = peer.base_length != peer_.length || peer.round != peer_.round;
  switch (asked) {
    case question::resume:
      return state_ != edge_state::fetching_text || is_news || unasked;
    case question::supply:
      return is_here;
    case question::text:  // the piece that was sent made it longer
      return is_news;
    case question::stop:
      return peer.base_length != place_.agreed || peer.prefix_hash != place_.hash;
    default:
      return false;
  }
}

[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_greeting(const detail::incoming& message) noexcept {
  const bool is_hello = message.kind == message_kind::hello;
  const result<wire_context> read = detail::greeting_context(message.bytes, message.kind);
  if (!read) return on_unreadable(read.error(), message);
  const wire_context& peer = *read;
  if (peer.session_id != options_.session_id) return drop(errc::unexpected_message);
  if (peer.epoch < place_.epoch) return drop(errc::stale_epoch);
  const question asked = question_.what;
  const bool overtaken = is_overtaken(peer);
  if (!awaits(is_hello, peer))
    return drop(heard_.classify(message.flags) == errc::duplicate ? errc::duplicate : errc::unexpected_message);
  // a new epoch forgets the numbers of this one
  if (const errc why = overtaken ? errc::ok : take_number(message.flags); why != errc::ok) return drop(why);
  if (const status why = is_hello ? check_hello(message) : status{}; !why.ok()) return fail(why);
  state_.take(message.kind);
  link_is_back();
  peer_.greetings += 1;
  if (peer_.greetings > 64) return fail({errc::unexpected_message, part::session, peer_.greetings});
  if (place_.epoch == 0) {  // the text is fetched in an epoch of its own, whoever the cloud has heard of before
    place_.epoch = detail::next_epoch(peer.epoch);
    heard_ = {};
    peer_.nonce = 0;
    // Of a cloud that is being filled, or what it said in another life of this edge: it may have more by now.
    if (peer.base_length < place_.prompt_length || place_.is_over()) return ask(question::resume);
  } else if (overtaken) {
    begin_epoch(detail::next_epoch(peer.epoch));
    if (asked != question::hello) state_.enter<edge_event::new_epoch>();
    return ask(asked == question::hello ? asked : question::resume);
  }
  return follow_greeting(peer);
}

//! The round of a cloud that has at least the text of this edge: a round of a session, and none that is over here.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::check_round(std::uint32_t round) const noexcept {
  if (round < place_.round) return {errc::stale_round, part::session, round};
  return detail::is_round(round) ? status{} : status{errc::field_out_of_range, part::session, round};
}

//! The cloud has no text beyond what both agreed on: in step, or it lacks some.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::follow_shorter(const wire_context& peer) noexcept {
  const std::uint32_t length = peer.base_length;
  if (peer.prefix_hash != hash_at(length)) return fail({errc::prefix_mismatch, part::session, length});
  if (length < place_.agreed) {
    state_.enter<edge_event::send_text>();
    return ask(question::text);
  }
  if (const status why = check_round(peer.round); !why.ok()) return fail(why);
  place_.round = peer.round;
  return in_step();
}

//! Compares the cloud's text with ours: sends what it lacks, fetches what we lack.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::follow_greeting(const wire_context& peer) noexcept {
  const std::uint32_t length = peer.base_length;
  if (length > peer_.furthest) {
    peer_.furthest = length;
    peer_.greetings = 0;
  }
  peer_.length = length;
  peer_.round = peer.round;
  if (place_.is_cancelled()) return finish(true);
  if (state_ == edge_state::fetching_text && length <= place_.agreed) {  // it was aimed beyond what the cloud has
    forget_fetch();
    state_.enter<edge_event::drop_fetch, edge_state::fetching_text>();
  }
  // nobody has the prompt
  if (!place_.has_prompt() && length < place_.prompt_length)
    return fail({errc::unknown_session, part::session, length});
  if (length <= place_.agreed) return follow_shorter(peer);
  // A stream that went on behind the end: the cloud compares what both have.
  if (place_.is_over() && options_.mode == session_mode::stream) return finish(true);
  // One round ahead: the cloud holds the verdict of the draft that is open here. Where that draft is forgotten, another
  // one would not be the same: the text is fetched.
  if (options_.mode == session_mode::draft && place_.round != 0 && peer.round == detail::next_round(place_.round) &&
      drafts_.complete)
    return in_step();
  if (length > text_limit() || length < place_.length || place_.is_over())
    return fail({errc::base_length_mismatch, part::session, length});
  if (const status why = check_round(peer.round); !why.ok()) return fail(why);
  if (state_ != edge_state::fetching_text) {
    discard_draft();
    peer_.fetch_start = place_.agreed;
    peer_.fetch_own = place_.length;
    place_.stand_at(place_.agreed, place_.agreed,
                    place_.hash);  // the cloud repeats what was committed here alone
  }
  peer_.target_length = peer_.length;
  peer_.target_hash = peer.prefix_hash;
  state_.enter<edge_event::fetch_text>();
  return ask(question::resume);
}

SPECVERIFY_BODY status edge_session::in_step() noexcept {
  link_.names_again = false;
  question_.close();
  if (place_.is_over()) return finish(true);
  peer_.progress();
  if (options_.mode == session_mode::stream) {
    state_.enter<edge_event::stream>();
    question_.wait(now_, options_.retry_timeout);
    return {};
  }
  if (!drafts_.complete) return begin_round();
  state_.enter<edge_event::send_draft>();
  return ask(question::draft);
}

//! The cloud asks for hidden states before it decides.
[[gnu::cold]] SPECVERIFY_BODY status edge_session::on_request(const detail::incoming& message) noexcept {
  const result<request_message> request =
      decode_request(question_.context, format(), drafts_.size, message.bytes, hidden_.asked);
  if (!request) return fail(request.error());
  state_.take(message_kind::request);
  link_is_back();
  if (request->what != 1 || hidden_.empty()) return fail({errc::unsupported, part::session, request->what});
  hidden_.note_request(request->positions.size());
  return ask(question::supply);
}

SPECVERIFY_BODY status edge_session::on_feedback(const detail::incoming& message) noexcept {
  if (const status why = take_verdict(message); !why.ok()) return why;
  // sparsifier and window learn what became of the drafts
  const bool bonus = static_cast<token_source>(verdict_.source) == token_source::bonus;
  states_.commit(verdict_.accepted, drafts_.size, bonus);
  for (const float probability : states_.probabilities(verdict_.accepted)) record_accepted(link_.seen, probability);
  return commit();
}

//! Into `verdict_`, if the session can have it.
SPECVERIFY_BODY status edge_session::take_verdict(const detail::incoming& message) noexcept {
  const result<feedback_message> read = decode_feedback(question_.context, format(), drafts_.size, message.bytes);
  if (!read) return fail(read.error());
  state_.take(message_kind::feedback);
  verdict_ = *read;
  const std::uint32_t emitted = verdict_.accepted + (verdict_.next_token != no_token ? 1u : 0u);
  if (verdict_.accepted > drafts_.size || emitted == 0 || emitted > text_limit() - place_.length)
    return fail({errc::field_out_of_range, part::session, verdict_.accepted});
  open_round_.feedback_bytes = message.bytes.size();
  return {};
}

SPECVERIFY_NAMESPACE_END

#endif
