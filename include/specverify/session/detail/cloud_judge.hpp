// SPDX-License-Identifier: Apache-2.0
//! The cloud's round under the semantic rule: compare, ask the edge for hidden states, ask the host for scores, decide.
#ifndef SPECVERIFY_SESSION_DETAIL_CLOUD_JUDGE_HPP
#define SPECVERIFY_SESSION_DETAIL_CLOUD_JUDGE_HPP

#include <specverify/session/cloud.hpp>

#include <algorithm>

SPECVERIFY_NAMESPACE_BEGIN

template <class Policy, class Rows>
status cloud_session::compare(Policy policy, const Rows& rows) noexcept {
  scored_ = 0;
  const verify_request request = round_request();
  if (carries_laws(now_.format.format)) return compare_greedily(policy, block_.drafts(), rows, request, comparison());
  return compare_greedily(policy, std::span<const claimed_draft>(claims_).first(drafted_), rows, request, comparison());
}

inline greedy_comparison cloud_session::comparison() noexcept { return {best_, mismatches_, near_ties_}; }

//! Decides, or says what is missing: scores of the host, for which the edge's hidden states may have to come first.
inline status cloud_session::judge_on() noexcept {
  const std::span<const double> scores = std::span<const double>(scores_).first(scored_);
  const verify_request request = round_request();
  const std::uint32_t vocab_size = now_.format.vocab_size;
  const std::span<const claimed_draft> claims = std::span<const claimed_draft>(claims_).first(drafted_);
  const result<verdict> decided =
      carries_laws(now_.format.format)
          ? decide_semantically(block_.drafts(), comparison(), scores, now_.threshold, request, vocab_size)
          : decide_semantically(claims, comparison(), scores, now_.threshold, request, vocab_size);
  if (!decided || decided->outcome == verdict_outcome::decided) return commit(decided);
  if (owed_ != message_kind::stop) {  // the edge restarted meanwhile: it drafts the round again
    const message_kind kind = owed_;
    owed_ = message_kind::stop;
    abandon();
    return greet(kind);
  }
  const std::size_t each = hidden_bytes(now_.format.attachments);
  const bool on_request = each > 0 && !now_.format.attachments.hidden_with_draft;
  std::size_t used = 0;
  std::fill(asked_.begin(), asked_.end(), std::uint64_t{0});
  for (std::uint32_t i = next_position(mismatches_, decided->accepted); i < drafted_;
       i = next_position(mismatches_, i + 1)) {
    asked_[i / 64] |= std::uint64_t{1} << (i % 64);
    if (on_request && options_.lazy) break;
    if (on_request || each == 0) continue;
    std::copy_n(hidden_.begin() + static_cast<std::ptrdiff_t>(each * i), each,
                hidden_.begin() + static_cast<std::ptrdiff_t>(used));
    used += each;
  }
  if (!on_request) {
    want_scores();
    return {};
  }
  state_ = cloud_state::requesting;
  return send_request();
}

inline status cloud_session::send_request() noexcept {
  const std::span<const std::uint64_t> words =
      std::span<const std::uint64_t>(asked_).first((std::size_t{drafted_} + 63) / 64);
  std::size_t written = 0;
  if (const status why = encode_request(context(), now_.format, drafted_, {1, words}, message_, written); !why.ok())
    return fail(why);
  now_.next_number = static_cast<std::uint8_t>((now_.next_number + 1) & 15);
  write_journal(now_.length);
  send(written);
  return {};
}

//! The vectors of the asked positions stand at the front of hidden_.
inline void cloud_session::want_scores() noexcept {
  session_output out;
  out.action = session_action::judge;
  out.position = draft_position();
  out.rows = position_count(asked_);
  out.positions = asked_;
  out.bytes = std::span<const std::byte>(hidden_).first(out.rows * hidden_bytes(now_.format.attachments));
  outputs_.push(out);
  state_ = cloud_state::judging;
}

inline status cloud_session::supply_scores(std::span<const double> scores, session_time) noexcept {
  if (!outputs_.empty()) return {errc::busy, part::session, 0};
  if (state_ != cloud_state::judging) return {errc::unexpected_message, part::session, 0};
  if (scores.size() != position_count(asked_))
    return {errc::size_mismatch, part::session, static_cast<std::uint32_t>(scores.size())};
  record_used_ = 0;
  for (const double score : scores) scores_[scored_++] = score;
  return judge_on();
}

//! Forgets the drafts of the open round; the edge sends them again.
inline void cloud_session::abandon() noexcept {
  state_ = cloud_state::ready;
  skipped_ = 0;
  drafted_ = 0;
}

inline status cloud_session::on_supply(std::span<const std::byte> message, const message_header& header) noexcept {
  const wire_context open = context();
  errc why_not = errc::ok;
  if (detail::belongs_to(open, message, header) && (state_ == cloud_state::ready || round_is_open())) {
    if (!heard_.take(header.flags, why_not)) return drop(why_not);
    if (state_ == cloud_state::ready) {  // the draft died with an earlier life of this cloud: once more from there
      statistics_.repeated_answers += 1;
      return greet(message_kind::resume);
    }
    if (state_ != cloud_state::requesting) return {};  // asked again while the host works: one answer will do
    supply_message supplied;
    std::array<std::uint64_t, max_wire_draft_length / 64> words;
    if (const status why = decode_supply(open, now_.format, drafted_, message, words, supplied); !why.ok())
      return fail(why);
    if (supplied.what != 1 || !std::equal(supplied.positions.begin(), supplied.positions.end(), asked_.begin())) {
      statistics_.repeated_answers += 1;  // what an earlier request asked for
      return send_request();
    }
    std::copy(supplied.payload.begin(), supplied.payload.end(), hidden_.begin());
    want_scores();
    return {};
  }
  return on_other_round(message, header);
}

SPECVERIFY_NAMESPACE_END

#endif
