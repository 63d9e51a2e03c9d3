// SPDX-License-Identifier: Apache-2.0
//! The edge's questions and the cloud's answers: sending, asking again, greeting, text, refusals, the journal.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_LINK_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_LINK_HPP

#include <specverify/session/edge.hpp>

#include <algorithm>

SPECVERIFY_NAMESPACE_BEGIN

template <sparsifier Sparsifier, window_policy Window>
result<basic_edge_session<Sparsifier, Window>> basic_edge_session<Sparsifier, Window>::make(const edge_options& options, const Sparsifier& rule,
                                                                                            const Window& window) {
  if (const status why = check(options.format); !why.ok()) return why;
  if (options.format.format == law_format::token_and_count) return status{errc::unsupported, part::session, 0};
  if (options.max_length < 2) return status{errc::invalid_argument, part::session, 0};
  if (options.text_chunk == 0) return status{errc::invalid_argument, part::session, 1};
  if (options.retry_limit == 0) return status{errc::invalid_argument, part::session, 2};
  const bool claims = detail::carries_claims(options.format.format);
  draft_block_options space;
  space.max_length = options.format.max_draft_length;
  space.max_entries = claims ? 1 : std::max<std::uint64_t>(1, max_draft_entries(options.format, options.format.max_draft_length));
  auto block = draft_block::make(space);
  if (!block.ok()) return block.error();
  return basic_edge_session(options, rule, window, std::move(block).value());
}

template <sparsifier Sparsifier, window_policy Window>
basic_edge_session<Sparsifier, Window>::basic_edge_session(const edge_options& options, const Sparsifier& rule, const Window& window, draft_block&& block)
    : options_(options), window_(window), drafter_(options.format, options.transform, rule), block_(std::move(block)) {
  const std::uint32_t drafts = options.format.max_draft_length;
  claims_.resize(drafts);
  text_.resize(std::size_t{options.max_length} + drafts + 1);
  stop_tokens_.assign(options.stop_tokens.begin(), options.stop_tokens.end());
  options_.stop_tokens = {};
  received_.resize(options.text_chunk);
  states_.resize(std::size_t{drafts} + 1);
  message_.resize(std::max({max_draft_bytes(options.format, drafts), max_control_bytes(options.format), text_bytes(options.format, options.text_chunk)}));
  record_.resize(journal_record_bytes<snapshot>(options.max_length) + 2 * journal_record_bytes<snapshot>(drafts + 1));
  source_.key = derive_session_keys(options.secret, options.session_id).draft;
  sparsifier_state_ = rule.initial_state();
}

template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::start(std::span<const token_id> prompt, session_time now) noexcept {
  if (state_ != edge_state::idle) return {errc::unexpected_message, part::session, 0};
  if (prompt.empty() || prompt.size() >= options_.max_length) return {errc::invalid_argument, part::session, static_cast<std::uint32_t>(prompt.size())};
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || static_cast<std::uint32_t>(prompt[i]) >= options_.format.vocab_size)
      return {errc::token_out_of_range, part::session, static_cast<std::uint32_t>(i)};
    text_[i] = prompt[i];
  }
  length_ = prompt_length_ = static_cast<std::uint32_t>(prompt.size());
  hash_ = prefix_hash(prompt);
  epoch_ = 1;
  round_ = 1;
  seen_.position = length_;
  write_journal(0);
  state_ = edge_state::greeting;
  return ask(question::hello, now);
}

template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::restore(std::span<const std::byte> journal, session_time now, journal_reading* found) noexcept {
  if (state_ != edge_state::idle) return {errc::unexpected_message, part::session, 0};
  snapshot last;
  journal_reading reading;
  if (const status why = read_journal(journal, std::span<token_id>(text_).first(options_.max_length), last, reading); !why.ok()) return why;
  if (found != nullptr) *found = reading;
  if (reading.records == 0 || last.session_id != options_.session_id) return {errc::unknown_session, part::session, 0};
  if (last.length != reading.text_length || last.prompt_length > last.length ||
      last.prefix_hash != prefix_hash(std::span<const token_id>(text_).first(last.length)) || !(last.draft_key == source_.key)) {
    return {errc::journal_corrupt, part::session, 0};
  }
  length_ = journaled_ = last.length;
  prompt_length_ = last.prompt_length;
  hash_ = last.prefix_hash;
  memory_.remember({options_.session_id, last.epoch, last.round, length_, hash_, 0});
  epoch_ = last.epoch + 1;
  round_ = last.round;
  seen_ = measured_ = last.seen;
  sparsifier_state_ = last.sparsifier;
  stop_ = last.stop;
  statistics_.restarts += 1;
  write_journal(length_);
  session_output announced;
  announced.action = session_action::committed;
  announced.position = prompt_length_;
  announced.tokens = text().subspan(prompt_length_);
  announced.stop = stop_;
  if (!announced.tokens.empty()) outputs_.push(announced);
  if (last.finished) return finish(false);
  state_ = edge_state::resuming;
  return ask(question::resume, now);
}

template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::recover(std::uint32_t prompt_length, session_time now) noexcept {
  if (state_ != edge_state::idle) return {errc::unexpected_message, part::session, 0};
  prompt_length_ = prompt_length;
  nonce_ = now;
  statistics_.restarts += 1;
  state_ = edge_state::resuming;
  return ask(question::resume, now);
}

template <sparsifier Sparsifier, window_policy Window>
void basic_edge_session<Sparsifier, Window>::write_journal(std::uint32_t first_position) noexcept {
  snapshot now{};
  now.session_id = options_.session_id;
  now.prefix_hash = hash_;
  now.seen = seen_;
  now.draft_key = source_.key;
  now.epoch = epoch_;
  now.round = round_;
  now.prompt_length = prompt_length_;
  now.length = length_;
  now.stop = stop_;
  now.finished = stop_ != stop_reason::none;
  now.sparsifier = sparsifier_state_;
  if (first_position > journaled_) first_position = journaled_;  // nothing is left out
  std::size_t written = 0;
  const std::span<std::byte> space = std::span<std::byte>(record_).subspan(record_used_);
  const status done = write_journal_record(space, written, first_position, text().subspan(first_position), now);
  SPECVERIFY_ASSERT(done.ok(), "the journal's buffer is sized for every record");
  if (!done.ok()) return;
  record_used_ += written;
  journaled_ = length_;
  session_output out;
  out.action = session_action::journal;
  out.bytes = space.first(written);
  outputs_.push(out);
}

template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::ask(question what, session_time now) noexcept {
  question_ = what;
  attempts_ = 0;
  return transmit(now);
}

template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::encode(std::size_t& written) noexcept {
  const std::span<std::byte> out(message_);
  switch (question_) {
    case question::hello: {
      hello_message hello;
      hello.context = question_context_ = context_at(round_, length_, hash_);
      hello.fingerprint_low = options_.fingerprint.low;
      hello.fingerprint_high = options_.fingerprint.high;
      hello.strength = detail::carries_claims(options_.format.format) ? guarantee::unconditional : guarantee::honest_drafter;
      hello.rule = options_.rule;
      hello.mode = static_cast<std::uint8_t>(options_.mode);
      hello.prompt_length = prompt_length_;
      hello.token_budget = text_limit() - prompt_length_;
      hello.format = options_.format;
      hello.temperature = options_.transform.temperature;
      hello.truncation = options_.transform.truncation;
      return encode_hello(hello, out, written);
    }
    case question::resume:
      question_context_ = context_at(state_ == edge_state::fetching_text ? peer_round_ : round_, length_, epoch_ == 0 ? nonce_ : hash_);
      return encode_resume({question_context_}, out, written);
    case question::text: {
      const std::uint32_t count = std::min(options_.text_chunk, length_ - peer_length_);
      question_context_ = context_at(round_, peer_length_, prefix_hash(text().first(peer_length_)));
      return encode_text(question_context_, options_.format, {peer_length_, text().subspan(peer_length_, count)}, out, written);
    }
    case question::draft:
      question_context_ = context_at(round_, length_, hash_);
      if (detail::carries_claims(options_.format.format)) {
        return encode_claims(question_context_, options_.format, std::span<const claimed_draft>(claims_).first(drafted_), out, written);
      }
      return encode_draft(question_context_, options_.format, block_.drafts(), out, written);
    case question::none:
      break;
  }
  return {errc::unexpected_message, part::session, 0};
}

template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::transmit(session_time now) noexcept {
  std::size_t written = 0;
  if (const status why = encode(written); !why.ok()) return fail(why);
  next_number_ = static_cast<std::uint8_t>((next_number_ + 1) & 15);
  memory_.remember(question_context_);
  message_header header;
  const std::span<const std::byte> bytes = std::span<const std::byte>(message_).first(written);
  if (const status why = peek_header(bytes, header); !why.ok()) return fail(why);
  question_checksum_ = header.checksum;
  if (question_ == question::draft && attempts_ == 0) open_round_.draft_bytes = written;
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

template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::ask_again(session_time now) noexcept {
  if (++attempts_ > options_.retry_limit) return fail({errc::peer_timeout, part::session, attempts_});
  statistics_.retransmissions += 1;
  if (state_ == edge_state::streaming) question_ = question::resume;
  if (attempts_ % 8 == 0 && question_ != question::hello && epoch_ != 0) {  // the cloud may not know this context: say where we stand, in a new epoch
    begin_epoch(epoch_ + 1);
    question_ = question::resume;
    state_ = edge_state::resuming;
  }
  return transmit(now);
}

//! Goes on in another epoch. Text that is being fetched and is not whole was never journaled: that begins again.
template <sparsifier Sparsifier, window_policy Window>
void basic_edge_session<Sparsifier, Window>::begin_epoch(std::uint32_t epoch) noexcept {
  if (state_ == edge_state::fetching_text) {
    length_ = fetch_start_;
    hash_ = prefix_hash(text());
  }
  epoch_ = epoch;
  if (length_ > 0) write_journal(length_);
}

template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::tick(session_time now) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (!deadline_.has_value() || now < *deadline_) return {};
  record_used_ = 0;
  statistics_.timeouts += 1;
  return ask_again(now);
}

template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::reconnect(session_time now) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
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

template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::fail(status why) noexcept {
  state_ = edge_state::failed;
  question_ = question::none;
  row_wanted_ = false;
  deadline_.reset();
  session_output out;
  out.action = session_action::failed;
  out.reason = why;
  outputs_.push(out);
  return why;
}

template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::engine_failed(status why) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  return fail(why);
}

//! The end: tells the cloud (no answer is expected) and the host.
template <sparsifier Sparsifier, window_policy Window>
status basic_edge_session<Sparsifier, Window>::finish(bool tell) noexcept {
  state_ = edge_state::finished;
  question_ = question::none;
  deadline_.reset();
  std::size_t written = 0;
  const stop_message stop{stop_ == stop_reason::stop_token ? stop_cause::stop_token : stop_cause::budget};
  if (tell && encode_stop(context_at(round_, length_, hash_), stop, message_, written).ok()) {
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
