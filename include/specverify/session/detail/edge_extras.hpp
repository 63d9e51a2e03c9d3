// SPDX-License-Identifier: Apache-2.0
//! What the edge does beside drafting: tokens that it commits alone, hidden states that it keeps, sends along or sends
//! on request.
#ifndef SPECVERIFY_SESSION_DETAIL_EDGE_EXTRAS_HPP
#define SPECVERIFY_SESSION_DETAIL_EDGE_EXTRAS_HPP

#include <specverify/session/edge.hpp>

#include <algorithm>

SPECVERIFY_NAMESPACE_BEGIN

//! Whether the token is committed here alone. Pure in (prefix, round, key): a restarted edge answers the same. The coin
//! and the measurement have counters of their own, so the draw of the token says nothing about them. `observe_skip` is
//! that of policy/skip.hpp, which whoever names a policy includes.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
template <class Policy, class Scalar>
status basic_edge_session<Sparsifier, Window, Skip>::keeps(Policy policy, row_view<Scalar> row,
                                                           const row_transform& transform, const row_extras& extras,
                                                           token_id token, skip_observation& seen,
                                                           bool& keep) noexcept {
  workspace scratch{std::span<std::byte>(skip_space_)};
  const status why =
      observe_skip(policy, skip_, row, transform, token, extras.attention, source_, length_, round_, scratch, seen);
  if (!why.ok()) return why;
  if (pending() >= options_.format.attachments.max_skipped) return {};  // the cloud must hear of them
  keep = !skip_.send(seen);
  if constexpr (requires { skip_.uncertain(seen); })
    statistics_.skipped_uncertain += keep && skip_.uncertain(seen) ? 1u : 0u;
  return {};
}

//! The token stands without the cloud, which hears of it with the next draft. The round stays open: its first draft
//! moves on by one.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::commit_alone(token_id token, session_time now) noexcept {
  const std::uint32_t position = length_;
  replace_shown(position, token);
  length_ += 1;
  sparsifier_state_ = states_[1];
  seen_.position = length_;
  note_link();
  note_end();
  statistics_.skipped += 1;
  statistics_.emitted += 1;
  write_journal(position);  // before the host hears of it
  session_output out;
  out.action = session_action::committed;
  out.authority = token_authority::edge;
  out.position = position;
  out.tokens = text().subspan(position);
  out.stop = stop_;
  outputs_.push(out);
  return stop_ != stop_reason::none ? finish(true) : begin_round(now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::keep_hidden(std::span<const float> hidden) noexcept {
  const attachment_format& format = options_.format.attachments;
  if (format.hidden == hidden_format::none) return {};
  if (hidden.empty()) return {errc::hidden_state_missing, part::session, length_ + drafted_};
  if (hidden.size() != format.hidden_size)
    return {errc::size_mismatch, part::session, static_cast<std::uint32_t>(hidden.size())};
  const std::size_t each = hidden_bytes(format);
  return encode_hidden(hidden, format.hidden, std::span<std::byte>(hidden_).subspan(each * drafted_, each));
}

//! What travels with the drafts of the open round.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
draft_attachments basic_edge_session<Sparsifier, Window, Skip>::attachments() const noexcept {
  const attachment_format& format = options_.format.attachments;
  draft_attachments made;
  made.skipped = text().subspan(base_);
  if (format.resolution_with_draft) made.resolution = resolution_;
  if (format.channel_report) made.channel = channel_;
  if (format.hidden_with_draft)
    made.hidden = std::span<const std::byte>(hidden_).first(hidden_bytes(format) * drafted_);
  return made;
}

//! The cloud asks for hidden states before it decides.
template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::on_request(std::span<const std::byte> message,
                                                                session_time now) noexcept {
  request_message request;
  if (const status why = decode_request(question_context_, options_.format, drafted_, message, asked_, request);
      !why.ok())
    return fail(why);
  link_is_back();
  if (request.what != 1 || hidden_.empty()) return fail({errc::unsupported, part::session, request.what});
  fresh_supply_ = false;
  for (std::size_t i = 0; i < request.positions.size(); ++i) {
    fresh_supply_ = fresh_supply_ || (asked_[i] & ~supplied_[i]) != 0;
    supplied_[i] |= asked_[i];
  }
  return ask(question::supply, now);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
status basic_edge_session<Sparsifier, Window, Skip>::encode_hidden_supply(std::span<std::byte> out,
                                                                          std::size_t& written) noexcept {
  const std::size_t each = hidden_bytes(options_.format.attachments);
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < drafted_; ++i) {
    if ((asked_[i / 64] >> (i % 64) & 1u) == 0) continue;
    std::copy_n(hidden_.begin() + static_cast<std::ptrdiff_t>(each * i), each,
                payload_.begin() + static_cast<std::ptrdiff_t>(used));
    used += each;
  }
  const std::span<const std::uint64_t> words =
      std::span<const std::uint64_t>(asked_).first((std::size_t{drafted_} + 63) / 64);
  return encode_supply(question_context_, options_.format, drafted_,
                       {1, words, std::span<const std::byte>(payload_).first(used)}, out, written);
}

template <sparsifier Sparsifier, window_policy Window, skip_policy Skip>
void basic_edge_session<Sparsifier, Window, Skip>::record_channel(const channel_report& channel,
                                                                  std::uint32_t uplink_state) noexcept {
  measured_channel_ = channel;
  measured_.uplink_rate = channel.uplink_rate;
  measured_.downlink_rate = channel.downlink_rate;
  measured_.round_trip = channel.round_trip;
  measured_.uplink_state = uplink_state;
  if (state_ == edge_state::idle) note_link();
}

SPECVERIFY_NAMESPACE_END

#endif
