// SPDX-License-Identifier: Apache-2.0
//! Makes a cloud from options, or restores a cloud from a journal.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_START_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_START_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/cloud_session.hpp>
#include <specverify/verify/token.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

SPECVERIFY_BODY status cloud_session::check_options(const cloud_options& options) noexcept {
  if (options.vocab_size == 0) return {errc::vocab_size_missing, part::session, options.at_vocab_size};
  if (options.vocab_size > max_vocab_size) return {errc::vocabulary_too_large, part::session, options.at_vocab_size};
  if (options.secret.is_missing()) return {errc::secret_missing, part::session, options.at_secret};
  if (options.salt == 0) return {errc::salt_missing, part::session, options.at_salt};
  if (const status why = check(options.transform); !why.ok()) return {why.code, part::session, options.at_transform};
  if (options.max_text_length < 2) return {errc::invalid_argument, part::session, options.at_max_text_length};
  if (options.text_chunk == 0) return {errc::invalid_argument, part::session, options.at_text_chunk};
  if (options.trial_cap == 0) return {errc::invalid_argument, part::session, options.at_trial_cap};
  // reject limits that no hello can satisfy or no message can reach
  const cloud_limits& limits = options.limits;
  const auto wrong = [](std::uint32_t where) { return status{errc::invalid_argument, part::session, where}; };
  if (limits.max_draft_length == 0 || limits.max_draft_length > max_wire_draft_length)
    return wrong(options.at_max_draft_length);
  if (limits.max_law_entries == 0) return wrong(options.at_max_law_entries);
  const wire_format plain{.format = law_format::token_only, .vocab_size = options.vocab_size, .max_draft_length = 1};
  if (longest_message(plain, options.text_chunk) > limits.max_message_bytes) return wrong(options.at_max_message_bytes);
  const std::uint64_t body = limits.max_message_bytes - message_header_bytes;  // every message has at least this header
  if (limits.max_skipped > max_wire_skipped ||
      detail::bits_to_bytes(std::uint64_t{limits.max_skipped} * token_bits(options.vocab_size)) > body)
    return wrong(options.at_max_skipped);
  if (limits.max_hidden_bytes > body) return wrong(options.at_max_hidden_bytes);
  if (options.noise > last_noise_kind) return wrong(options.at_noise);
  for (const prior_table* table : options.priors) {
    if (table == nullptr) return wrong(options.at_priors);
    if (table->vocab_size() != options.vocab_size) return {errc::vocabulary_mismatch, part::session, options.at_priors};
  }
  return detail::check_bits_of(options.check_bits, options.at_check_bits);
}

namespace detail {

[[nodiscard]] SPECVERIFY_BODY endpoint_sizes cloud_sizes(const cloud_options& options) noexcept {
  const std::size_t round = std::size_t{options.limits.max_skipped} + options.limits.max_draft_length + 1;
  endpoint_sizes sizes;
  sizes.text = options.max_text_length + round;
  sizes.received = options.text_chunk;
  sizes.message = options.limits.max_message_bytes;
  sizes.records = journal_bytes(options.max_text_length + round, snapshot_bytes<cloud_snapshot>()) +
                  2 * journal_bytes(options.text_chunk + round, snapshot_bytes<cloud_snapshot>());
  return sizes;
}

}  // namespace detail

SPECVERIFY_BODY cloud_session::cloud_session(const cloud_options& options, received_draft_block&& block)
    : endpoint(detail::cloud_sizes(options), options.stop_tokens),
      options_(options),
      drafts_(options, std::move(block)),
      scoring_(options.limits),
      verify_space_(verify_workspace_size(options.vocab_size, options.transform, options.limits.max_draft_length)),
      priors_(options.priors.begin(), options.priors.end()) {
  options_.stop_tokens = {};
  options_.priors = {};
}

//! Checks whether this cloud can serve a session on the terms of a hello or a journal. The terms must be within the
//! limits, because the limits determine the sizes of the buffers.
SPECVERIFY_BODY status cloud_session::check_terms(const session_terms& terms,
                                                  std::uint32_t prompt_length) const noexcept {
  const wire_format& format = terms.format;
  const cloud_limits& limits = options_.limits;
  const auto beyond = [](std::uint32_t where) { return status{errc::beyond_limit, part::session, where}; };
  if (const status why = check(format); !why.ok()) return why;
  if (format.format == law_format::token_and_count) return {errc::unsupported, part::session, options_.at_format};
  const std::uint32_t drafts = format.max_draft_length, most = options_.max_text_length;
  wire_format plain = format;
  plain.ids = id_code::plain;
  if (drafts > limits.max_draft_length) return beyond(options_.at_max_draft_length);
  if (max_draft_entries(format, drafts) > limits.max_law_entries) return beyond(options_.at_max_law_entries);
  if (format.attachments.max_skipped > limits.max_skipped) return beyond(options_.at_max_skipped);
  if (std::uint64_t{hidden_bytes(format.attachments)} * drafts > limits.max_hidden_bytes)
    return beyond(options_.at_max_hidden_bytes);
  if (longest_message(plain, options_.text_chunk) > limits.max_message_bytes)
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

//! Checks whether a snapshot could follow from a hello that this cloud accepts. Errors: beyond_limit,
//! guarantee_too_weak, vocabulary_mismatch and fingerprint_mismatch, which different options can fix; unverified_text;
//! journal_corrupt if no messages can lead to the snapshot.
SPECVERIFY_BODY status cloud_session::check_snapshot(const cloud_snapshot& last,
                                                     std::span<const token_id> text) const noexcept {
  if (last.length != text.size() || last.prefix_hash != prefix_hash(text)) return detail::corrupt_snapshot();
  if (last.salt == 0 || !detail::is_round(last.round) || !detail::all_tokens_below(options_.vocab_size, text))
    return detail::corrupt_snapshot();
  if (detail::races(last.terms) && last.terms.rule != wire_rule::greedy) return detail::corrupt_snapshot();
  hello_message hello;
  static_cast<session_terms&>(hello) = last.terms;
  hello.session_id = last.session_id;
  hello.prompt_length = last.prompt_length;
  const std::uint32_t claimed = std::max(last.length, last.target.length);
  if (claimed > detail::text_limit(last.terms.token_budget, last.prompt_length, options_.max_text_length))
    return detail::corrupt_snapshot();
  if (const status why = check_session(hello); !why.ok()) {
    const bool is_of_options = why.code == errc::beyond_limit || why.code == errc::guarantee_too_weak ||
                               why.code == errc::vocabulary_mismatch || why.code == errc::fingerprint_mismatch;
    return is_of_options ? why : detail::corrupt_snapshot();
  }
  if (claimed < last.prompt_length) return detail::corrupt_snapshot();  // an edge never has only a part of the prompt
  const std::uint32_t own = last.target.handed_over ? last.prompt_length : std::max(last.length, last.prompt_length);
  if (const status why = check_claim(claimed, own); !why.ok()) return why;
  const verdict_notice& verdict = last.last;
  const bool can_be = verdict.round == 0 || (detail::is_round(verdict.round) && verdict.round <= last.round &&
                                             verdict.accepted <= last.terms.format.max_draft_length &&
                                             verdict.source < feedback_source_count);
  return can_be ? status{} : detail::corrupt_snapshot();
}

SPECVERIFY_BODY result<journal_reading> cloud_session::restore(std::span<const std::byte> journal) noexcept {
  if (state_ != cloud_state::blank) return status{errc::unexpected_message, part::session, 0};
  const std::span<token_id> space = std::span<token_id>(text_).first(options_.max_text_length);
  const auto read =
      detail::journal_to_restore(journal, detail::snapshot_bytes<cloud_snapshot>(), options_.at_journal, space);
  if (!read) return read.error();
  const journal_reading& reading = read->found;
  cloud_snapshot last;
  if (!detail::load_snapshot(last, read->last->data())) return detail::corrupt_snapshot();
  if (const status why = check_snapshot(last, read->text); !why.ok()) return why;
  place_ = detail::text_place{last.session_id, last.round, last.prompt_length};
  agree(last.length);
  place_.stop = last.stop;
  terms_ = last.terms;
  last_ = last.last;
  target_ = last.target;
  journal_.resume(last.length, reading.valid_bytes);
  options_.salt = last.salt;
  source_.key = derive_verdict_key(options_.secret, last.session_id, last.salt);
  state_.enter<cloud_event::meet, cloud_state::blank>();
  if (is_whole() || place_.is_cancelled()) settle();
  statistics_.restarts += 1;
  return reading;
}

SPECVERIFY_BODY result<cloud_session> make_cloud(const cloud_options& options) {
  if (const status why = cloud_session::check_options(options); !why.ok()) return why;
  draft_block_options space;
  space.max_draft_length = options.limits.max_draft_length;
  space.max_entries = std::min<std::uint64_t>(options.limits.max_law_entries,
                                              std::uint64_t{options.vocab_size} * space.max_draft_length);
  return detail::within_memory([&]() -> result<cloud_session> {
    auto block = received_draft_block::make(space);
    if (!block) return block.error();
    return cloud_session(options, *std::move(block));
  });
}

SPECVERIFY_BODY cloud_limits cloud_session::limits_for(const wire_format& format, std::uint32_t text_chunk) noexcept {
  const auto narrow = [](std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xffffffffu));
  };
  cloud_limits made;
  made.max_message_bytes = narrow(longest_message(format, text_chunk));
  made.max_draft_length = format.max_draft_length;
  made.max_law_entries = narrow(std::max<std::uint64_t>(1, max_draft_entries(format, format.max_draft_length)));
  made.max_skipped = format.attachments.max_skipped;
  made.max_hidden_bytes = narrow((saturating(hidden_bytes(format.attachments)) * format.max_draft_length).value);
  return made;
}

SPECVERIFY_BODY cloud_limits cloud_session::limits_for(wire_format format, const cloud_options& options) noexcept {
  if (!options.priors.empty() && format.format == law_format::token_only) format.ids = id_code::noise;
  return larger(options.limits, limits_for(format, options.text_chunk));
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
